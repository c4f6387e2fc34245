//! A learning curve in bounded memory: evenly spaced points, with the spacing doubled when there are too many.

/// A point: mistakes and labels asked for after a number of examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CurvePoint {
    /// Examples so far.
    pub examples: u64,
    /// Mistakes among them.
    pub mistakes: u64,
    /// Labels asked for among them.
    pub queries: u64,
}

/// A learning curve with a limited number of points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Curve {
    points: Vec<CurvePoint>,
    most: usize,
    stride: u64,
    last: CurvePoint,
}

impl Curve {
    /// A curve of at most `most` points, at least 2.
    pub fn new(most: usize) -> Self {
        Self { points: Vec::new(), most: most.max(2), stride: 1, last: CurvePoint::default() }
    }

    /// Counts an example.
    #[inline]
    pub fn count(&mut self, mistake: bool, queried: bool) {
        self.last.examples += 1;
        self.last.mistakes += u64::from(mistake);
        self.last.queries += u64::from(queried);
        if self.last.examples.is_multiple_of(self.stride) {
            self.points.push(self.last);
            if self.points.len() >= self.most {
                self.stride *= 2;
                let stride = self.stride;
                self.points.retain(|point| point.examples % stride == 0);
            }
        }
    }

    /// The points, ending with the last example counted.
    pub fn points(&self) -> Vec<CurvePoint> {
        let mut points = self.points.clone();
        if points.last() != Some(&self.last) && self.last.examples > 0 {
            points.push(self.last);
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_keeps_its_ends_and_its_size() {
        let mut curve = Curve::new(16);
        (0..1000).for_each(|at| curve.count(at % 3 == 0, at % 10 == 0));
        let points = curve.points();
        assert!(points.len() <= 17 && points.len() >= 8, "{}", points.len());
        assert_eq!(points.last(), Some(&CurvePoint { examples: 1000, mistakes: 334, queries: 100 }));
        assert!(points.windows(2).all(|pair| pair[0].examples < pair[1].examples));
        assert!(Curve::new(4).points().is_empty());
    }
}
