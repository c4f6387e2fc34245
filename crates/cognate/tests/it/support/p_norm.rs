//! MP10 section 4.1 written out: an explicit R, the whole compound vector, its gradient recomputed for every margin.

use super::matrices::Matrix;

pub(crate) struct PNorm {
    p: f64,
    r: Matrix,
    /// v, one row per task.
    v: Matrix,
    /// What was learnt: task, instance, label.
    mistakes: Vec<(usize, Vec<f64>, f64)>,
}

impl PNorm {
    pub(crate) fn new(p: f64, r: Matrix, features: usize) -> Self {
        Self { p, v: vec![vec![0.0; features]; r.len()], r, mistakes: Vec::new() }
    }

    /// The gradient of (1/2) |v|_p^2, one row per task.
    fn gradient(&self) -> Matrix {
        let largest = self.v.iter().flatten().fold(0.0_f64, |most, v| most.max(v.abs()));
        if largest == 0.0 {
            return self.v.clone();
        }
        let powers: f64 = self.v.iter().flatten().map(|v| (v.abs() / largest).powf(self.p)).sum();
        let norm = largest * powers.powf(1.0 / self.p);
        let entry = |v: &f64| norm * (v.abs() / norm).powf(self.p - 1.0) * v.signum();
        self.v.iter().map(|row| row.iter().map(entry).collect()).collect()
    }

    /// sum_j R[j, i] g_j.
    pub(crate) fn weights(&self, task: usize) -> Vec<f64> {
        let gradient = self.gradient();
        let weight = |at: usize| (0..self.r.len()).map(|j| self.r[j][task] * gradient[j][at]).sum();
        (0..self.v[task].len()).map(weight).collect()
    }

    pub(crate) fn margin(&self, task: usize, x: &[f64]) -> f64 {
        self.weights(task).iter().zip(x).map(|(w, x)| w * x).sum()
    }

    /// If the margin is a mistake: `v_j += y R[j, i] x` for every j.
    pub(crate) fn update(&mut self, task: usize, x: &[f64], label: f64, margin: f64) {
        if label * margin <= 0.0 {
            self.add(task, x, label);
            self.mistakes.push((task, x.to_vec(), label));
        }
    }

    fn add(&mut self, task: usize, x: &[f64], label: f64) {
        for (v, row) in self.v.iter_mut().zip(&self.r) {
            v.iter_mut().zip(x).for_each(|(v, x)| *v += label * row[task] * x);
        }
    }

    /// K has grown: v becomes what the same mistakes would have made of it under the new R.
    pub(crate) fn grow(&mut self, r: Matrix, features: usize) {
        self.v = vec![vec![0.0; features]; r.len()];
        self.r = r;
        for (task, x, label) in self.mistakes.clone() {
            self.add(task, &x, label);
        }
    }
}
