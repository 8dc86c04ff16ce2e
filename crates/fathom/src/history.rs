//! How did a search go on over time? Points that pages draw: not more than a picture can show, however long it takes.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fathom_check::folder::gauge::Gauge;
use fathom_check::machine;
use fathom_search::task::Progress;
use serde::Serialize;

/// A moment of a search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Since the command began.
    pub seconds: f64,
    /// The layer that is being expanded.
    pub layer: u64,
    /// States so far.
    pub states: u64,
    /// Steps so far that led to a state that was known.
    pub duplicates: u64,
    /// Bytes taken from the data budget.
    pub memory: u64,
    /// Bytes of files, if the search has any.
    pub disk: Option<u64>,
    /// Bytes that went to devices and came from them, if the system tells.
    pub io: Option<u64>,
}

/// What is known of a search's course.
#[derive(Debug)]
pub struct History {
    began: Instant,
    course: Mutex<Course>,
}

#[derive(Debug)]
struct Course {
    points: Vec<Point>,
    every: Duration,
    next: Instant,
}

/// A picture has no room for more.
const POINTS_MAX: usize = 400;
/// The first points are so far apart; whenever there are too many, every other one goes and the distance doubles.
const FIRST_DISTANCE: Duration = Duration::from_millis(20);

impl Default for History {
    fn default() -> History {
        let began = Instant::now();
        let course = Course { points: Vec::new(), every: FIRST_DISTANCE, next: began };
        History { began, course: Mutex::new(course) }
    }
}

impl History {
    /// Notes how far a search is, if it is time to.
    pub fn note(&self, progress: &Progress, gauge: &Gauge) {
        let now = Instant::now();
        let mut course = self.course.lock().unwrap_or_else(PoisonError::into_inner);
        if now < course.next {
            return;
        }
        course.next = now + course.every;
        let known = progress.transitions.saturating_sub(progress.states);
        course.add(Point {
            seconds: now.duration_since(self.began).as_secs_f64(),
            layer: progress.layer,
            states: progress.states,
            duplicates: known,
            memory: progress.budget_used,
            disk: gauge.look().map(|seen| seen.used),
            io: machine::device_bytes(),
        });
    }

    /// All points, in order.
    pub fn points(&self) -> Vec<Point> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner).points.clone()
    }
}

impl Course {
    fn add(&mut self, point: Point) {
        self.points.push(point);
        if self.points.len() > POINTS_MAX {
            let mut place = 0;
            self.points.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.every *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_never_too_many_points_and_the_first_stays() {
        let mut course = Course { points: Vec::new(), every: FIRST_DISTANCE, next: Instant::now() };
        for moment in 0..10_000u32 {
            let seconds = f64::from(moment);
            course.add(Point {
                seconds,
                layer: 0,
                states: 0,
                duplicates: 0,
                memory: 0,
                disk: None,
                io: None,
            });
            assert!(course.points.len() <= POINTS_MAX);
        }
        assert_eq!(course.points[0].seconds, 0.0);
        assert!(course.points.is_sorted_by_key(|point| point.seconds as u64));
        assert!(course.every > FIRST_DISTANCE);
    }
}
