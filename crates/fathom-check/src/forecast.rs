//! How many states are still to come, as far as the sizes of layers tell?
//!
//! Layers of most models grow, and shrink again. Nine guesses are made of what comes behind the last one: a parabola and a line through the logarithms of the last half, third, quarter and sixth of the
//! sizes, and the layers on the way up that were smaller than the last one is. Where the guesses are few or far apart nobody knows, and nothing is said. What is said is their median, and
//! how far they spread, half as much again in both directions. `cargo xtask estimate` holds it against spaces whose sizes are known; the table is in the book.
//!
//! Memory: `PROFILE_MAX` numbers. Of more layers, neighbours are taken together.

/// The sizes of the layers so far.
///
/// ```
/// use fathom_check::forecast::Profile;
///
/// let mut profile = Profile::default();
/// for states in [1, 4, 16, 60, 200, 500, 900, 1_100, 1_000] {
///     profile.push(states);
/// }
/// assert_eq!(profile.forecast(), None);
/// for states in [800, 550, 330, 180, 90] {
///     profile.push(states);
/// }
/// let forecast = profile.forecast().expect("an end is in sight");
/// assert!(forecast.low < 80.0 && forecast.high > 80.0);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Sums of so many layers each; the last may have fewer.
    sums: Vec<u64>,
    /// Layers per sum, as a power of two.
    fold: u32,
    layers: u64,
    states: u64,
}

/// How many states are still to be found: probably, and from how few to how many.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// The least.
    pub low: f64,
    /// Probably.
    pub likely: f64,
    /// The most.
    pub high: f64,
}

impl Forecast {
    /// What is known for sure.
    pub fn exactly(states: f64) -> Forecast {
        Forecast { low: states, likely: states, high: states }
    }

    /// So many more.
    #[must_use]
    pub fn plus(self, states: f64) -> Forecast {
        Forecast { low: self.low + states, likely: self.likely + states, high: self.high + states }
    }

    /// How many seconds that takes at so many states per second.
    #[must_use]
    pub fn over(self, rate: f64) -> Forecast {
        Forecast { low: self.low / rate, likely: self.likely / rate, high: self.high / rate }
    }
}

/// Sums that are kept. With half as many a bend of the curve is seen too late; with twice as many the same estimates cost twice the time.
const PROFILE_MAX: usize = 256;
/// Fewer layers say nothing.
const LAYERS_MIN: usize = 12;
/// The shares of the profile that curves are put through, and the fewest sizes for one.
const PARTS: [usize; 4] = [2, 3, 4, 6];
const WINDOW_MIN: usize = 6;
/// Guesses that must agree that there is an end. With four, one BEEM instance in 26 was off by more than a factor of two in all.
const GUESSES_MIN: usize = 5;
/// How much farther than the guesses spread the truth may lie. With 1.25 it lay outside of what was told twice as often, of 26 BEEM instances.
const WIDENING: f64 = 1.5;
/// The states of a space, at most and at least, by how much they may differ for a forecast to be worth telling.
const SPREAD_MAX: f64 = 3.0;
/// How many times what is known a guess may be: what is larger is no end in sight.
const GROWTH_MAX: f64 = 8.0;

impl Profile {
    /// Adds the next layer.
    pub fn push(&mut self, states: u64) {
        if self.layers.is_multiple_of(1 << self.fold) {
            if self.sums.len() == PROFILE_MAX {
                self.sums = self.sums.chunks(2).map(|pair| pair.iter().sum()).collect();
                self.fold += 1;
            }
            self.sums.push(0);
        }
        if let Some(last) = self.sums.last_mut() {
            *last += states;
        }
        self.layers += 1;
        self.states += states;
    }

    /// How many layers there are.
    pub fn layers(&self) -> u64 {
        self.layers
    }

    /// What comes behind the last layer; none if nobody knows.
    pub fn forecast(&self) -> Option<Forecast> {
        let whole = self.layers >> self.fold;
        let sums = &self.sums[..usize::try_from(whole).unwrap_or(usize::MAX).min(self.sums.len())];
        if sums.len() < LAYERS_MIN {
            return None;
        }
        let known = self.states as f64;
        let mut guesses = guesses(sums, known * GROWTH_MAX);
        if guesses.len() < GUESSES_MIN {
            return None;
        }
        guesses.sort_by(f64::total_cmp);
        let (low, high) = (guesses[0] / WIDENING, guesses[guesses.len() - 1] * WIDENING);
        let likely = guesses[guesses.len() / 2];
        ((known + high) / (known + low) <= SPREAD_MAX).then_some(Forecast { low, likely, high })
    }
}

/// What may come behind these sizes, as far as there is an end to it below that limit.
fn guesses(sizes: &[u64], limit: f64) -> Vec<f64> {
    let logarithms: Vec<f64> = sizes.iter().map(|&size| (size as f64 + 0.5).ln()).collect();
    let mut guesses = Vec::new();
    for part in PARTS {
        let window = (sizes.len() / part).max(WINDOW_MIN);
        let sums = Sums::of(&logarithms[sizes.len() - window..]);
        for curve in [sums.parabola().filter(|curve| curve.bend < 0.0), sums.line()] {
            let falls = curve.filter(|curve| curve.bend < 0.0 || curve.slope < 0.0);
            guesses.extend(falls.and_then(|curve| curve.sum_from_here(limit, 8 * sizes.len())));
        }
    }
    guesses.extend(mirrored(sizes));
    guesses
}

/// The layers on the way up that were smaller than the last ones are; none if there is no way down yet.
fn mirrored(sizes: &[u64]) -> Option<f64> {
    let peak = (0..sizes.len()).max_by_key(|&at| sizes[at])?;
    let last = sizes.iter().rev().take(3).sum::<u64>() / 3;
    let smaller = sizes[..peak].iter().filter(|&&size| size < last).sum::<u64>();
    (peak + 1 < sizes.len()).then_some(smaller as f64)
}

/// A curve through logarithms: level, slope and bend at the last of them.
#[derive(Clone, Copy, Debug)]
struct Curve {
    level: f64,
    slope: f64,
    bend: f64,
}

impl Curve {
    /// The sum of what the curve says comes next, until it says that nothing does; none if that is not in sight.
    fn sum_from_here(self, limit: f64, layers_max: usize) -> Option<f64> {
        let mut sum = 0.0;
        for ahead in 1..layers_max {
            let ahead = ahead as f64;
            let size = (self.level + self.slope * ahead + self.bend * ahead * ahead).exp();
            sum += size;
            if size < 0.5 || size < sum * 1e-6 {
                return Some(sum);
            }
            if sum.is_nan() || sum > limit {
                return None;
            }
        }
        None
    }
}

/// Sums over the points of a window, for least squares. Places run from just above -1 to 0, so that their powers stay of one size.
struct Sums {
    points: f64,
    powers: [f64; 5],
    values: [f64; 3],
}

impl Sums {
    fn of(values: &[f64]) -> Sums {
        let points = values.len() as f64;
        let mut sums = Sums { points, powers: [0.0; 5], values: [0.0; 3] };
        for (number, value) in values.iter().enumerate() {
            let place = (number as f64 + 1.0 - points) / points;
            for power in 0..5 {
                let weight = place.powi(power as i32);
                sums.powers[power] += weight;
                if let Some(sum) = sums.values.get_mut(power) {
                    *sum += weight * value;
                }
            }
        }
        sums
    }

    fn line(&self) -> Option<Curve> {
        let ([one, x, xx, ..], [y, xy, _]) = (self.powers, self.values);
        let slope = (one * xy - x * y) / (one * xx - x * x);
        let curve = Curve { level: (y - slope * x) / one, slope: slope / self.points, bend: 0.0 };
        curve.slope.is_finite().then_some(curve)
    }

    /// By Cramer's rule.
    fn parabola(&self) -> Option<Curve> {
        let ([one, x, xx, xxx, xxxx], values) = (self.powers, self.values);
        let columns = [[one, x, xx], [x, xx, xxx], [xx, xxx, xxxx]];
        let all = determinant(columns);
        let with = |column: usize| {
            let mut replaced = columns;
            replaced[column] = values;
            determinant(replaced) / all
        };
        let [level, slope, bend] = [with(0), with(1), with(2)];
        let curve = Curve { level, slope: slope / self.points, bend: bend / (self.points * self.points) };
        (level.is_finite() && slope.is_finite() && bend.is_finite()).then_some(curve)
    }
}

fn determinant([[a, b, c], [d, e, f], [g, h, i]]: [[f64; 3]; 3]) -> f64 {
    a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Layers of a bell of that many states around a layer, with that width.
    fn bell(layer: u64, states: f64, centre: f64, width: f64) -> u64 {
        let distance = (layer as f64 - centre) / width;
        (states * (-distance * distance / 2.0).exp()) as u64
    }

    #[test]
    fn a_bell_is_told_from_its_peak_on() {
        let sizes: Vec<u64> = (0..100).map(|layer| bell(layer, 1e6, 50.0, 12.0)).collect();
        let all: u64 = sizes.iter().sum();
        let mut profile = Profile::default();
        for (layer, &size) in sizes.iter().enumerate() {
            profile.push(size);
            let Some(forecast) = profile.forecast() else {
                assert!(layer < 60, "nothing is said at layer {layer}");
                continue;
            };
            let left = (all - profile.states) as f64;
            assert!(forecast.low <= forecast.likely && forecast.likely <= forecast.high);
            if left > 0.02 * all as f64 {
                assert!(forecast.low <= left && left <= forecast.high, "layer {layer}: {forecast:?}, {left}");
            }
        }
    }

    #[test]
    fn of_what_only_grows_nothing_is_said() {
        let mut profile = Profile::default();
        for layer in 0..40 {
            profile.push(1 << (layer / 2));
            assert_eq!(profile.forecast(), None, "layer {layer}");
        }
        let mut constant = Profile::default();
        (0..2000).for_each(|_| constant.push(1000));
        assert_eq!(constant.forecast(), None);
    }

    #[test]
    fn many_layers_are_taken_together() {
        let (mut many, mut few) = (Profile::default(), Profile::default());
        for layer in 0..80_000 {
            many.push(bell(layer, 1e4, 60_000.0, 12_000.0));
        }
        for layer in 0..80 {
            few.push(bell(layer, 1e7, 60.0, 12.0));
        }
        assert!(many.sums.len() <= PROFILE_MAX && many.layers() == 80_000);
        let (many, few) = (many.forecast().unwrap(), few.forecast().unwrap());
        assert!((0.5..2.0).contains(&(many.likely / few.likely)), "{many:?}, {few:?}");
    }
}
