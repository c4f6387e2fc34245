//! MP10 Figure 1 written out: an explicit R, K dense weight vectors, all of them updated at every mistake.

use super::matrices::Matrix;

pub(crate) struct Figure1 {
    r: Matrix,
    features: usize,
    pub(crate) weights: Vec<Vec<f64>>,
    /// What was learnt: task, instance, label.
    mistakes: Vec<(usize, Vec<f64>, f64)>,
}

impl Figure1 {
    pub(crate) fn new(r: Matrix, features: usize) -> Self {
        Self { weights: vec![vec![0.0; features]; r.len()], r, features, mistakes: Vec::new() }
    }

    /// `w_i'x`.
    pub(crate) fn margin(&self, task: usize, x: &[f64]) -> f64 {
        self.weights[task].iter().zip(x).map(|(w, x)| w * x).sum()
    }

    /// If the margin is a mistake: `w_j += y R[j, i] x` for every j.
    pub(crate) fn update(&mut self, task: usize, x: &[f64], label: f64, margin: f64) -> bool {
        let mistake = label * margin <= 0.0;
        if mistake {
            self.add(task, x, label);
            self.mistakes.push((task, x.to_vec(), label));
        }
        mistake
    }

    fn add(&mut self, task: usize, x: &[f64], label: f64) {
        for (weights, row) in self.weights.iter_mut().zip(&self.r) {
            for (weight, x) in weights.iter_mut().zip(x) {
                *weight += label * row[task] * x;
            }
        }
    }

    /// K has grown: the weights become what the same mistakes would have made of them under the new R.
    pub(crate) fn grow(&mut self, r: Matrix) {
        self.weights = vec![vec![0.0; self.features]; r.len()];
        self.r = r;
        for (task, x, label) in self.mistakes.clone() {
            self.add(task, &x, label);
        }
    }
}
