//! How is a figure drawn? Bars by category and curves, as SVG without anything else.

use std::fmt::Write;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 96.0;
/// Told apart by those who see few colours (Okabe and Ito).
const COLOURS: [&str; 6] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9"];

/// Values of one kind: of bars one per category, of a curve its points.
pub(crate) struct Series<T> {
    pub(crate) name: String,
    pub(crate) values: Vec<T>,
}

/// How heights grow.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Scale {
    Linear,
    Logarithmic,
}

/// Bars side by side in each category; what is missing (`None`) leaves a gap.
pub(crate) fn bars(
    title: &str,
    categories: &[String],
    series: &[Series<Option<f64>>],
    scale: Scale,
) -> String {
    let values = series.iter().flat_map(|series| series.values.iter().flatten().copied());
    let heights = Heights::of(values, scale);
    let mut out = begin(title, series.iter().map(|series| series.name.as_str()), &heights);
    let group = (WIDTH - LEFT - RIGHT) / categories.len().max(1) as f64;
    let width = group * 0.8 / series.len().max(1) as f64;
    for (number, category) in categories.iter().enumerate() {
        let left = LEFT + group * number as f64;
        for (which, one) in series.iter().enumerate() {
            let Some(value) = one.values.get(number).copied().flatten() else { continue };
            let (x, y) = (left + group * 0.1 + width * which as f64, heights.y(value));
            let height = HEIGHT - BOTTOM - y;
            let colour = COLOURS[which % COLOURS.len()];
            let _ = writeln!(
                out,
                r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="{colour}"><title>{}: {}, {value:.4}</title></rect>"#,
                escaped(category),
                escaped(&one.name)
            );
        }
        let (x, y) = (left + group / 2.0, HEIGHT - BOTTOM + 14.0);
        let _ = writeln!(
            out,
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="end" transform="rotate(-40 {x:.1} {y:.1})">{}</text>"#,
            escaped(category)
        );
    }
    out + "</svg>\n"
}

#[allow(dead_code, reason = "for papers that have curves")]
/// Curves through points (x, y).
pub(crate) fn curves(title: &str, x_name: &str, series: &[Series<(f64, f64)>], scale: Scale) -> String {
    let points = || series.iter().flat_map(|series| series.values.iter().copied());
    let heights = Heights::of(points().map(|point| point.1), scale);
    let (first, last) = points()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), (x, _)| (least.min(x), most.max(x)));
    let span = if last > first { last - first } else { 1.0 };
    let mut out = begin(title, series.iter().map(|series| series.name.as_str()), &heights);
    for (which, one) in series.iter().enumerate() {
        let place = |(x, y): &(f64, f64)| {
            format!("{:.1},{:.1}", LEFT + (x - first) / span * (WIDTH - LEFT - RIGHT), heights.y(*y))
        };
        let line: Vec<String> = one.values.iter().map(place).collect();
        let colour = COLOURS[which % COLOURS.len()];
        let _ = writeln!(
            out,
            r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2"/>"#,
            line.join(" ")
        );
    }
    let y = HEIGHT - BOTTOM + 18.0;
    let middle = LEFT + (WIDTH - LEFT - RIGHT) / 2.0;
    let _ = writeln!(out, r#"<text x="{LEFT}" y="{y}">{}</text>"#, short(first));
    let _ = writeln!(out, r#"<text x="{middle}" y="{y}" text-anchor="middle">{}</text>"#, escaped(x_name));
    let _ = writeln!(out, r#"<text x="{}" y="{y}" text-anchor="end">{}</text>"#, WIDTH - RIGHT, short(last));
    out + "</svg>\n"
}

/// Where a value stands.
struct Heights {
    least: f64,
    most: f64,
    scale: Scale,
}

impl Heights {
    fn of(values: impl Iterator<Item = f64>, scale: Scale) -> Heights {
        let (least, most) = values
            .filter(|value| value.is_finite() && (scale == Scale::Linear || *value > 0.0))
            .fold((f64::INFINITY, 0f64), |(least, most), value| (least.min(value), most.max(value)));
        let most = if most > 0.0 { most } else { 1.0 };
        match scale {
            Scale::Linear => Heights { least: 0.0, most, scale },
            // Whole decades, and at least one.
            Scale::Logarithmic => {
                let (low, high) = (least.min(most).log10().floor(), most.log10().ceil());
                Heights { least: 10f64.powf(low), most: 10f64.powf(high.max(low + 1.0)), scale }
            }
        }
    }

    fn y(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => value / self.most,
            Scale::Logarithmic => {
                (value.max(self.least) / self.least).log10() / (self.most / self.least).log10()
            }
        };
        HEIGHT - BOTTOM - share.clamp(0.0, 1.0) * (HEIGHT - BOTTOM - TOP)
    }

    /// Values that lines are drawn at.
    fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => (0..=4).map(|quarter| self.most * f64::from(quarter) / 4.0).collect(),
            Scale::Logarithmic => {
                let decades = (self.most / self.least).log10().round() as i32;
                (0..=decades).map(|decade| self.least * 10f64.powi(decade)).collect()
            }
        }
    }
}

/// Title, legend, axis.
fn begin<'a>(title: &str, names: impl Iterator<Item = &'a str>, heights: &Heights) -> String {
    let mut out = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12" role="img" aria-label="{0}">
<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>
<text x="{LEFT}" y="20" font-size="15">{0}</text>
"#,
        escaped(title)
    );
    let mut x = LEFT;
    for (which, name) in names.enumerate() {
        let colour = COLOURS[which % COLOURS.len()];
        let _ = writeln!(out, r#"<rect x="{x:.0}" y="30" width="12" height="12" fill="{colour}"/>"#);
        let _ = writeln!(out, r#"<text x="{:.0}" y="40">{}</text>"#, x + 17.0, escaped(name));
        x += 40.0 + 7.0 * name.chars().count() as f64;
    }
    for tick in heights.ticks() {
        let y = heights.y(tick);
        let right = WIDTH - RIGHT;
        let _ = writeln!(out, r##"<line x1="{LEFT}" x2="{right}" y1="{y:.1}" y2="{y:.1}" stroke="#ccc"/>"##);
        let (x, y) = (LEFT - 6.0, y + 4.0);
        let _ = writeln!(out, r#"<text x="{x}" y="{y:.1}" text-anchor="end">{}</text>"#, short(tick));
    }
    out
}

/// A number in few characters.
fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 1e9 => format!("{:.3}G", value / 1e9),
        size if size >= 1e6 => format!("{:.3}M", value / 1e6),
        size if size >= 1e4 => format!("{:.1}k", value / 1e3),
        size if size >= 10.0 => format!("{value:.0}"),
        size if size >= 0.01 => format!("{value:.2}"),
        _ => format!("{value:.0e}"),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_stand_at_their_heights_and_texts_are_escaped() {
        let series = [Series { name: "a < b".to_owned(), values: vec![Some(1.0), None, Some(0.5)] }];
        let categories = ["x", "y", "z"].map(str::to_owned);
        let drawn = bars("t & u", &categories, &series, Scale::Linear);
        let rect = |height: f64| format!("height=\"{height:.1}\"");
        let full = HEIGHT - BOTTOM - TOP;
        assert!(drawn.contains(&rect(full)) && drawn.contains(&rect(full / 2.0)), "{drawn}");
        assert_eq!(drawn.matches("<title>").count(), 2, "what is missing is a gap");
        assert!(drawn.contains("t &amp; u") && drawn.contains("a &lt; b"), "{drawn}");
    }

    #[test]
    fn decades_are_of_one_height() {
        let heights = Heights::of([3.0, 250.0].into_iter(), Scale::Logarithmic);
        assert_eq!(heights.ticks().len(), 4, "1, 10, 100, 1000");
        let step = heights.y(1.0) - heights.y(10.0);
        assert!((heights.y(10.0) - heights.y(100.0) - step).abs() < 1e-9, "{step}");
    }
}
