//! Small matrices as rows, written from their definitions in MP10 and inverted by elimination.

pub(crate) type Matrix = Vec<Vec<f64>>;

/// MP10 (5): A = 1/K [[a, -b, …], [-b, a, …], …] with a = K + b (K - 1).
pub(crate) fn coupled(tasks: usize, b: f64) -> Matrix {
    let k = tasks as f64;
    let entry = |i, j| if i == j { (k + b * (k - 1.0)) / k } else { -b / k };
    (0..tasks).map(|i| (0..tasks).map(|j| entry(i, j)).collect()).collect()
}

/// MP10 section 3.3: A = I + L of a graph with weighted edges between tasks numbered from 0.
pub(crate) fn graph(tasks: usize, edges: &[(usize, usize, f64)]) -> Matrix {
    let mut a = coupled(tasks, 0.0);
    for (i, j, weight) in edges {
        a[*i][*i] += weight;
        a[*j][*j] += weight;
        a[*i][*j] -= weight;
        a[*j][*i] -= weight;
    }
    a
}

/// The inverse, by Gauss-Jordan elimination with row pivots.
pub(crate) fn inverse(matrix: &Matrix) -> Matrix {
    let size = matrix.len();
    let mut left = matrix.clone();
    let mut right = coupled(size, 0.0);
    for column in 0..size {
        let largest = |a: &usize, b: &usize| left[*a][column].abs().total_cmp(&left[*b][column].abs());
        let pivot = (column..size).max_by(largest).unwrap();
        assert!(left[pivot][column].abs() > 1e-12, "singular");
        left.swap(column, pivot);
        right.swap(column, pivot);
        let scale = left[column][column];
        for row in 0..size {
            if row == column {
                continue;
            }
            let factor = left[row][column] / scale;
            for at in 0..size {
                left[row][at] -= factor * left[column][at];
                right[row][at] -= factor * right[column][at];
            }
        }
        left[column].iter_mut().for_each(|entry| *entry /= scale);
        right[column].iter_mut().for_each(|entry| *entry /= scale);
    }
    right
}
