//! How did the whole model do along the way? A curve of bounded length, beside the counts of its life.

use serde::{Deserialize, Serialize};

/// Most points of the curve.
const POINTS: usize = 256;

/// Mistakes after every so many examples of what is learnt here.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Course {
    examples: u64,
    mistakes: u64,
    /// Between two points; 0 before the first example.
    stride: u64,
    points: Vec<u64>,
}

impl Course {
    pub(super) fn count(&mut self, mistake: bool) {
        self.stride = self.stride.max(1);
        self.examples += 1;
        self.mistakes += u64::from(mistake);
        if self.examples.is_multiple_of(self.stride) {
            self.points.push(self.mistakes);
            if self.points.len() >= POINTS {
                self.stride *= 2;
                self.points = self.points.iter().copied().skip(1).step_by(2).collect();
            }
        }
    }

    /// Examples, and mistakes among them, at up to so many places, the last one at the end.
    pub fn curve(&self, most: usize) -> Vec<[u64; 2]> {
        let every = self.points.len().div_ceil(most.max(1)).max(1);
        let at = |(at, mistakes): (usize, &u64)| [(at as u64 + 1) * self.stride, *mistakes];
        let mut curve: Vec<[u64; 2]> =
            self.points.iter().enumerate().skip(every - 1).step_by(every).map(at).collect();
        // Of few examples an error says little: what is left over joins the last point.
        if self.examples > 0 && curve.last().is_none_or(|last| last[0] < self.examples) {
            if curve.len() > 1
                && curve.last().is_some_and(|last| self.examples - last[0] < self.stride * every as u64 / 2)
            {
                curve.pop();
            }
            curve.push([self.examples, self.mistakes]);
        }
        curve
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_bounded_and_ends_with_the_last_example() {
        let mut course = Course::default();
        assert!(course.curve(10).is_empty());
        for at in 0..10_007_u64 {
            course.count(at.is_multiple_of(4));
            let curve = course.curve(64);
            assert!(curve.len() <= 66 && curve.last().unwrap()[0] == at + 1);
            assert!(curve.windows(2).all(|pair| pair[0][0] < pair[1][0]));
        }
        for [examples, mistakes] in course.curve(64) {
            assert_eq!(mistakes, examples.div_ceil(4));
        }
    }
}
