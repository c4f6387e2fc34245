//! ROM17's learners as the paper writes them: dense vectors, everything scaled on every round.

use crate::support::samples::Sample;

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

fn hinge(sample: &Sample, margin: f64) -> f64 {
    (1.0 - sample.label * margin).max(0.0)
}

/// Learns whole rounds.
pub(crate) trait Plain {
    fn margin(&self, sample: &Sample) -> f64;

    /// Learns a round whose margins were these.
    fn learn(&mut self, round: &[Sample], margins: &[f64]);

    /// Margins of examples in rounds of `size`.
    fn rounds(&mut self, samples: &[Sample], size: usize) -> Vec<f64> {
        let mut all = Vec::new();
        for round in samples.chunks(size) {
            let margins: Vec<f64> = round.iter().map(|sample| self.margin(sample)).collect();
            self.learn(round, &margins);
            all.extend(margins);
        }
        all
    }

    fn one_by_one(&mut self, samples: &[Sample]) -> Vec<f64> {
        self.rounds(samples, 1)
    }
}

/// Algorithm 1.
pub(crate) struct Pgd {
    u: Vec<f64>,
    p: Vec<Vec<f64>>,
    q: Vec<Vec<f64>>,
    eta: f64,
    penalties: [f64; 3],
    mean: bool,
}

impl Pgd {
    pub(crate) fn new(
        tasks: usize,
        features: usize,
        eta: f64,
        alpha: f64,
        beta: f64,
        gamma: f64,
        mean: bool,
    ) -> Self {
        let zeros = vec![0.0; features];
        let own = vec![zeros.clone(); tasks];
        Self { u: zeros, p: own.clone(), q: own, eta, penalties: [alpha, beta, gamma], mean }
    }
}

impl Plain for Pgd {
    fn margin(&self, sample: &Sample) -> f64 {
        let Sample { task, x, .. } = sample;
        dot(&self.u, x) + dot(&self.p[*task], x) + dot(&self.q[*task], x)
    }

    fn learn(&mut self, round: &[Sample], margins: &[f64]) {
        let [alpha, beta, gamma] = self.penalties;
        let eta_u = if self.mean { self.eta / self.p.len() as f64 } else { self.eta };
        for (sample, margin) in round.iter().zip(margins) {
            if hinge(sample, *margin) == 0.0 {
                continue;
            }
            let (p, q) = (&mut self.p[sample.task], &mut self.q[sample.task]);
            for (at, x) in sample.x.iter().enumerate() {
                self.u[at] += eta_u * sample.label * x;
                p[at] = (p[at] + self.eta * sample.label * x) / (1.0 + beta * self.eta);
                q[at] += self.eta * sample.label * x;
            }
            let length = norm(q);
            let kept = if length > 0.0 { (1.0 - self.eta * gamma / length).max(0.0) } else { 0.0 };
            q.iter_mut().for_each(|q| *q *= kept);
        }
        self.u.iter_mut().for_each(|u| *u /= 1.0 + alpha * eta_u);
    }
}

/// Algorithm 2, with averages as (14) to (16) write them.
pub(crate) struct Rda {
    t: f64,
    average: Vec<f64>,
    own: Vec<Vec<f64>>,
    kappa: f64,
    penalties: [f64; 3],
}

impl Rda {
    pub(crate) fn new(tasks: usize, features: usize, kappa: f64, alpha: f64, beta: f64, gamma: f64) -> Self {
        let zeros = vec![0.0; features];
        Self {
            t: 0.0,
            own: vec![zeros.clone(); tasks],
            average: zeros,
            kappa,
            penalties: [alpha, beta, gamma],
        }
    }
}

impl Plain for Rda {
    fn margin(&self, sample: &Sample) -> f64 {
        if self.t == 0.0 {
            return 0.0;
        }
        let [alpha, beta, gamma] = self.penalties;
        let (theta, own) = (self.kappa * self.t.sqrt(), &self.own[sample.task]);
        let length = norm(own);
        let kept = if length > 0.0 { (1.0 - gamma / length).max(0.0) } else { 0.0 };
        let weight = |at: usize| {
            let u = -self.average[at] / (alpha + theta / self.t);
            let p = -own[at] / (beta + theta / self.t);
            u + p - kept * self.t * own[at] / theta
        };
        sample.x.iter().enumerate().map(|(at, x)| weight(at) * x).sum()
    }

    fn learn(&mut self, round: &[Sample], margins: &[f64]) {
        self.t += 1.0;
        let old = (self.t - 1.0) / self.t;
        self.average.iter_mut().chain(self.own.iter_mut().flatten()).for_each(|average| *average *= old);
        for (sample, margin) in round.iter().zip(margins) {
            if hinge(sample, *margin) > 0.0 {
                for (at, x) in sample.x.iter().enumerate() {
                    self.average[at] -= sample.label * x / self.t;
                    self.own[sample.task][at] -= sample.label * x / self.t;
                }
            }
        }
    }
}

/// COML as in the errata.
pub(crate) struct Collaborative {
    global: Vec<f64>,
    own: Vec<Vec<f64>>,
    shares: [f64; 2],
    steps: [f64; 2],
}

impl Collaborative {
    pub(crate) fn new(tasks: usize, features: usize, own: f64, global: f64, c: f64, c_global: f64) -> Self {
        let zeros = vec![0.0; features];
        Self { own: vec![zeros.clone(); tasks], global: zeros, shares: [own, global], steps: [c, c_global] }
    }
}

impl Plain for Collaborative {
    fn margin(&self, sample: &Sample) -> f64 {
        dot(&self.own[sample.task], &sample.x)
    }

    fn learn(&mut self, round: &[Sample], _: &[f64]) {
        let ([e1, e2], [c, c_global]) = (self.shares, self.steps);
        for sample in round {
            let (x, label) = (&sample.x, sample.label);
            let squared = dot(x, x);
            let move_by = |weights: &mut [f64], step: f64| {
                weights.iter_mut().zip(x).for_each(|(weight, x)| *weight += step * label * x);
            };
            if squared > 0.0 {
                let step = (hinge(sample, dot(&self.global, x)) / squared).min(c_global);
                move_by(&mut self.global, step);
            }
            let own = &mut self.own[sample.task];
            for (own, global) in own.iter_mut().zip(&self.global) {
                *own = (e1 * *own + e2 * global) / (e1 + e2);
            }
            if squared > 0.0 {
                let step = ((e1 + e2) * hinge(sample, dot(own, x)) / squared).min(c) / (e1 + e2);
                move_by(own, step);
            }
        }
    }
}
