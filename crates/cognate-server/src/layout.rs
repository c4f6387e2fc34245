//! Where is each task in the plane? Tasks that teach each other much lie close together.
//!
//! Landmark multidimensional scaling: the squared distance of two tasks is 2 (1 - r), with r how alike they are, from -1 to 1. At most
//! 200 landmarks lie where the two largest axes of their centred distances put them; every other task lies where its distances to
//! the landmarks say. No randomness: the same distances give the same points. A new picture is turned, mirrored and moved onto the
//! last one, so that points do not jump.

use std::collections::BTreeMap;

/// Tasks whose distances to each other are looked at.
const LANDMARKS: usize = 200;
/// Steps until an axis stands still, at most.
const STEPS: usize = 300;

/// A point of the plane.
pub type Point = [f64; 2];

/// Points of so many tasks, given how alike two of them are; the first ones are the landmarks.
pub fn layout(tasks: usize, alike: impl Fn(usize, usize) -> f64) -> Vec<Point> {
    let marks = tasks.min(LANDMARKS);
    if marks == 0 {
        return Vec::new();
    }
    let distance = |one: usize, other: usize| {
        let alike = alike(one, other);
        if one == other {
            0.0
        } else {
            2.0 * (1.0 - if alike.is_finite() { alike.clamp(-1.0, 1.0) } else { 0.0 })
        }
    };
    let squares: Vec<Vec<f64>> =
        (0..marks).map(|one| (0..marks).map(|other| distance(one, other)).collect()).collect();
    let means: Vec<f64> = squares.iter().map(|row| row.iter().sum::<f64>() / marks as f64).collect();
    let mean = means.iter().sum::<f64>() / marks as f64;
    let mut centred: Vec<Vec<f64>> = (0..marks)
        .map(|one| {
            (0..marks).map(|other| -0.5 * (squares[one][other] - means[one] - means[other] + mean)).collect()
        })
        .collect();
    let axes = [first_axis(&mut centred, 0), first_axis(&mut centred, 1)];
    let place = |task: usize| {
        axes.each_ref().map(|(size, axis)| {
            if *size <= 1e-12 {
                return 0.0;
            }
            let against = |mark: usize| means[mark] - distance(task, mark);
            0.5 * (0..marks).map(|mark| axis[mark] * against(mark)).sum::<f64>() / size.sqrt()
        })
    };
    (0..tasks).map(place).collect()
}

/// The largest axis of a symmetric matrix and its size, which is taken out of the matrix. The entry that is largest points up.
fn first_axis(matrix: &mut [Vec<f64>], turn: usize) -> (f64, Vec<f64>) {
    let count = matrix.len();
    // A start that no axis is at right angles to: numbers without a pattern, always the same.
    let mut axis: Vec<f64> = (0..count).map(|at| scattered((at + turn * LANDMARKS) as u64)).collect();
    let mut size = 0.0;
    for _ in 0..STEPS {
        let next: Vec<f64> =
            matrix.iter().map(|row| row.iter().zip(&axis).map(|(a, b)| a * b).sum()).collect();
        let length = next.iter().map(|value| value * value).sum::<f64>().sqrt();
        if length <= 1e-12 {
            return (0.0, vec![0.0; count]);
        }
        let settled = (length - size).abs() <= 1e-12 * length;
        size = length;
        axis = next.into_iter().map(|value| value / length).collect();
        if settled {
            break;
        }
    }
    let largest = axis
        .iter()
        .copied()
        .fold(0.0, |most: f64, value| if value.abs() > most.abs() { value } else { most });
    if largest < 0.0 {
        axis.iter_mut().for_each(|value| *value = -*value);
    }
    for (row, one) in matrix.iter_mut().zip(&axis) {
        row.iter_mut().zip(&axis).for_each(|(entry, other)| *entry -= size * one * other);
    }
    (size, axis)
}

/// A number from -1 to 1 that looks like nothing else (SplitMix64).
fn scattered(at: u64) -> f64 {
    let mut mixed = (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// Turns, mirrors and moves points onto those that the same names had last, as well as it goes.
pub fn align(points: &mut [(String, Point)], last: &BTreeMap<String, Point>) {
    let known: Vec<(Point, Point)> =
        points.iter().filter_map(|(name, point)| last.get(name).map(|before| (*point, *before))).collect();
    if known.len() < 2 {
        return;
    }
    let mean = |pick: fn(&(Point, Point)) -> Point| {
        let sum = known.iter().map(pick).fold([0.0; 2], |sum, point| [sum[0] + point[0], sum[1] + point[1]]);
        sum.map(|value| value / known.len() as f64)
    };
    let (from, to) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let mut h = [[0.0; 2]; 2];
    for (new, old) in &known {
        for a in 0..2 {
            for b in 0..2 {
                h[a][b] += (new[a] - from[a]) * (old[b] - to[b]);
            }
        }
    }
    // The best turn, and the best one after a mirror; whichever brings the points closer.
    let (turn, mirror) =
        ((h[0][0] + h[1][1]).hypot(h[0][1] - h[1][0]), (h[0][0] - h[1][1]).hypot(h[0][1] + h[1][0]));
    let (sign, angle) = if mirror > turn {
        (-1.0, (h[0][1] + h[1][0]).atan2(h[0][0] - h[1][1]))
    } else {
        (1.0, (h[0][1] - h[1][0]).atan2(h[0][0] + h[1][1]))
    };
    let (sine, cosine) = angle.sin_cos();
    for (_, point) in points.iter_mut() {
        let [x, y] = [point[0] - from[0], sign * (point[1] - from[1])];
        *point = [cosine * x - sine * y + to[0], sine * x + cosine * y + to[1]];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(one: Point, other: Point) -> f64 {
        (one[0] - other[0]).hypot(one[1] - other[1])
    }

    /// Tasks on a circle, alike by their angle: the plane holds them exactly.
    fn circle(count: usize) -> impl Fn(usize, usize) -> f64 {
        move |one, other| {
            let angle = |at: usize| at as f64 * std::f64::consts::TAU / count as f64;
            (angle(one) - angle(other)).cos()
        }
    }

    #[test]
    fn distances_that_a_plane_can_hold_are_held_also_beyond_the_landmarks() {
        for count in [3, 12, 500] {
            let (points, alike) = (layout(count, circle(count)), circle(count));
            for (one, other) in [(0, 1), (1, 2), (0, count / 2), (count - 1, 1)] {
                let wanted = (2.0 * (1.0 - alike(one, other))).max(0.0).sqrt();
                let found = distance(points[one], points[other]);
                // Of 500, the landmarks are the first 200, which are not the whole circle.
                assert!((found - wanted).abs() < 1e-6, "{count}: {one}, {other}: {found} for {wanted}");
            }
            assert_eq!(points, layout(count, circle(count)));
        }
    }

    #[test]
    fn few_tasks_and_tasks_that_are_all_alike_have_points() {
        assert!(layout(0, |_, _| 1.0).is_empty());
        assert_eq!(layout(1, |_, _| 1.0), [[0.0; 2]]);
        assert!(layout(4, |_, _| 1.0).iter().all(|point| *point == [0.0; 2]));
        assert!(layout(4, |_, _| f64::NAN).iter().flatten().all(|value| value.is_finite()));
    }

    #[test]
    fn a_picture_that_was_turned_and_mirrored_is_put_back() {
        let points = layout(12, circle(12));
        let last: BTreeMap<String, Point> =
            points.iter().enumerate().map(|(at, point)| (at.to_string(), *point)).collect();
        for (sign, angle) in [(1.0, 0.0_f64), (1.0, 2.0), (-1.0, 1.0), (-1.0, -2.5)] {
            let (sine, cosine) = angle.sin_cos();
            let moved =
                |[x, y]: Point| [cosine * x - sine * sign * y + 3.0, sine * x + cosine * sign * y - 1.0];
            let mut turned: Vec<(String, Point)> =
                points.iter().enumerate().map(|(at, point)| (at.to_string(), moved(*point))).collect();
            turned.push(("new".to_owned(), [0.0; 2]));
            align(&mut turned, &last);
            for (name, point) in &turned[..12] {
                assert!(distance(*point, last[name]) < 1e-9, "{sign} {angle} {name}");
            }
        }
    }
}
