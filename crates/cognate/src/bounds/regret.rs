//! ROM17's theorems: what a run of `rom-pgd` or `rom-rda` paid, beside what any fixed W would have paid.
//!
//! W is a u, and p_i and q_i of each task; task i has u + p_i + q_i. What is paid is loss and penalties,
//!
//! ```text
//! F(W) = sum of hinge losses + T alpha/2 |u|^2 + sum_i n_i (beta/2 |p_i|^2 + gamma |q_i|)
//! ```
//!
//! over T rounds, by W_t as it was before round t. n_i is T for `rom-rda`. Algorithm 1 leaves p_i and q_i alone, penalties
//! and all, where task i has no loss: so for `rom-pgd` n_i is the number of rounds in which it has one, and then Lemma 2 holds
//! for Algorithm 1 as it stands. With G_t the gradient of the losses of round t in all three parts, and G_* the longest:
//!
//! ```text
//! Theorem 3 (rom-pgd), before eta is chosen:  paid <= F(W) + |W|^2 / eta + eta/2 sum_t |G_t|^2
//!   which for the best eta is                        F(W) + G_* |W| sqrt(2 T)
//! Theorem 6 (rom-rda), with D^2 = |W|^2 / 2:  paid <= F(W) + (kappa |W|^2 / 2 + G_*^2 / kappa) sqrt(T)
//! ```
//!
//! The regret is paid - F(W). A comparator is one vector per task; it is divided into u, p_i and q_i where that costs least:
//! p_i and q_i are then shares of w_i - u, and u a mean of the w_i. The comparator found in hindsight makes the whole
//! right-hand side least, which is a sum of hinge losses and squares, and of gamma n_i |q_i|: dual coordinate ascent.

use super::comparator::{Comparator, merge_dot};
use super::geometry::combine;
use super::transcript::Transcript;
use super::{BoundError, Formula, Parts, Scope};
use crate::algorithms::{RomPgdConfig, RomRdaConfig, UStep};
use crate::choice::Tunable;
use crate::example::{Example, SparseView};
use crate::table::IndexMap;

/// Which theorem, and the parameters that it is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Regret {
    step: Step,
    alpha: f64,
    beta: f64,
    gamma: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Gradient { eta: f64 },
    Averaging { kappa: f64 },
}

/// Walks over the stream for the comparator.
const PASSES: usize = 60;

/// Turns of dividing a comparator into its parts.
const TURNS: usize = 100;

/// What the penalties of the right-hand side are: `shared/2 |u|^2 + own_i/2 |p_i|^2 + edge_i |q_i| + rest/2 |q_i|^2`.
struct Weighing {
    shared: f64,
    own: Vec<f64>,
    edge: Vec<f64>,
    rest: f64,
}

/// Squared lengths of the three parts of a comparator, and what F makes of them.
#[derive(Debug, Clone, Copy)]
struct Divided {
    squared: f64,
    penalty: f64,
}

impl Regret {
    pub(super) fn of_gradient(config: &RomPgdConfig) -> Result<Self, BoundError> {
        let RomPgdConfig { eta, alpha, beta, gamma, u_step } = *config;
        let Tunable::Fixed(eta) = eta else {
            let expected = "Theorem 3 is for one length of a step, a number";
            return Err(BoundError::Parameter { name: "eta", found: "auto".to_owned(), expected });
        };
        if u_step == UStep::Mean {
            let expected = "Theorem 3 is for the sum of the gradients: with their mean Lemma 2 fails";
            return Err(BoundError::Parameter { name: "u-step", found: "mean".to_owned(), expected });
        }
        Ok(Self { step: Step::Gradient { eta }, alpha, beta, gamma })
    }

    pub(super) fn of_averaging(config: &RomRdaConfig) -> Self {
        let RomRdaConfig { kappa, alpha, beta, gamma } = *config;
        Self { step: Step::Averaging { kappa }, alpha, beta, gamma }
    }

    pub(super) fn is_gradient(self) -> bool {
        matches!(self.step, Step::Gradient { .. })
    }

    /// That the run is one the theorem speaks of.
    pub(super) fn check(transcript: &Transcript) -> Result<(), BoundError> {
        let mut examples = (0..transcript.len()).map(|at| transcript.example(at));
        let expected = "the theorem is for examples of weight 1 without an offset";
        match examples.find(|example| example.weight != 1.0 || example.offset != 0.0) {
            None => Ok(()),
            Some(Example { weight, offset, .. }) => {
                let found = format!("weight {weight}, offset {offset}");
                Err(BoundError::Parameter { name: "examples", found, expected })
            }
        }
    }

    /// What |W|^2 / 2 costs beside F.
    fn price(self, rounds: f64) -> f64 {
        match self.step {
            Step::Gradient { eta } => 2.0 / eta,
            Step::Averaging { kappa } => kappa * rounds.sqrt(),
        }
    }

    /// n_i.
    fn counts(self, transcript: &Transcript, scope: Scope) -> Vec<f64> {
        let rounds = transcript.rounds().count() as f64;
        if !self.is_gradient() {
            return vec![rounds; transcript.tasks()];
        }
        let mut counts = vec![0.0; transcript.tasks()];
        for at in 0..transcript.len() {
            if scope == Scope::Everything || transcript.hinge(at) > 0.0 {
                counts[transcript.example(at).task.index()] += 1.0;
            }
        }
        counts
    }

    fn weighing(self, transcript: &Transcript, scope: Scope) -> Weighing {
        let (rounds, counts) = (transcript.rounds().count() as f64, self.counts(transcript, scope));
        let rest = self.price(rounds);
        Weighing {
            shared: self.alpha * rounds + rest,
            own: counts.iter().map(|count| self.beta * count + rest).collect(),
            edge: counts.iter().map(|count| self.gamma * count).collect(),
            rest,
        }
    }

    /// Divides a comparator into its parts, where that costs least.
    fn divide(self, transcript: &Transcript, comparator: &Comparator, scope: Scope) -> Divided {
        let (weighing, counts) = (self.weighing(transcript, scope), self.counts(transcript, scope));
        let Weighing { shared, own, edge, rest } = weighing;
        let vectors = comparator.vectors();
        let squares: Vec<f64> = vectors.iter().map(|vector| merge_dot(vector, vector)).collect();
        let mut shares = vec![0.0; vectors.len()];
        let mut divided = Divided { squared: 0.0, penalty: 0.0 };
        for _ in 0..TURNS {
            let pulls: Vec<f64> = own.iter().zip(&shares).map(|(own, share)| own * (1.0 - share)).collect();
            let whole = shared + pulls.iter().sum::<f64>();
            let mean = combine(1, |_| {
                vectors.iter().zip(&pulls).map(|(vector, pull)| (pull / whole, &vector[..])).collect()
            });
            let u = mean.vector(0);
            let length = merge_dot(u, u);
            divided = Divided {
                squared: length,
                penalty: self.alpha / 2.0 * transcript.rounds().count() as f64 * length,
            };
            let before = shares.clone();
            for (task, vector) in vectors.iter().enumerate() {
                let apart = (squares[task] - 2.0 * merge_dot(vector, u) + length).max(0.0).sqrt();
                let share = if apart > 0.0 {
                    (own[task] - edge[task] / apart).max(0.0) / (own[task] + rest)
                } else {
                    0.0
                };
                let (p, q) = ((1.0 - share) * apart, share * apart);
                divided.squared += p * p + q * q;
                divided.penalty += counts[task] * (self.beta / 2.0 * p * p + self.gamma * q);
                shares[task] = share;
            }
            let moved = shares.iter().zip(&before).map(|(now, then)| (now - then).abs()).fold(0.0, f64::max);
            if moved < 1e-12 {
                break;
            }
        }
        divided
    }

    /// The sum of `|G_t|^2`, and the largest of them.
    fn gradients(transcript: &Transcript, scope: Scope) -> (f64, f64) {
        let (mut sum, mut largest) = (0.0, 0.0_f64);
        for (round, _) in transcript.rounds() {
            let squared = match scope {
                Scope::Mistakes => {
                    let mut shared = IndexMap::<f64>::default();
                    let mut own = 0.0;
                    for at in round.filter(|at| transcript.hinge(*at) > 0.0) {
                        let Example { features, label, .. } = transcript.example(at);
                        own += features.norm_squared();
                        features.iter().for_each(|(feature, value)| *shared.entry(feature) += label * value);
                    }
                    2.0 * own + shared.sorted().iter().map(|pair| pair.1 * pair.1).sum::<f64>()
                }
                Scope::Everything => {
                    let lengths = round.map(|at| transcript.example(at).features.norm_squared());
                    let (own, length) =
                        lengths.fold((0.0, 0.0), |(own, length), x| (own + x, length + x.sqrt()));
                    2.0 * own + length * length
                }
            };
            sum += squared;
            largest = largest.max(squared);
        }
        (sum, largest)
    }

    pub(super) fn parts(self, transcript: &Transcript, u: &Comparator, scope: Scope) -> Parts {
        let rounds = transcript.rounds().count() as f64;
        let (sum, largest) = Self::gradients(transcript, scope);
        let Divided { squared, penalty } = self.divide(transcript, u, scope);
        let mut details =
            vec![("penalties of W", penalty), ("|W|^2", squared), ("G_*", largest.sqrt()), ("T", rounds)];
        let constant = match self.step {
            Step::Gradient { eta } => {
                details.push(("at the best eta", (2.0 * largest * squared * rounds).sqrt()));
                eta / 2.0 * sum
            }
            Step::Averaging { kappa } => largest / kappa * rounds.sqrt(),
        };
        let complexity = self.price(rounds) / 2.0 * squared;
        Parts { complexity, constant, formula: Formula::Sum, details }
    }

    /// What F makes of a comparator beside its hinge losses.
    pub(super) fn penalty(self, transcript: &Transcript, u: &Comparator, scope: Scope) -> f64 {
        self.divide(transcript, u, scope).penalty
    }

    /// The comparator with the least right-hand side in advance.
    pub(super) fn hindsight(self, transcript: &Transcript) -> Comparator {
        let weighing = self.weighing(transcript, Scope::Everything);
        let tasks = transcript.tasks();
        let mut ascent = Ascent {
            transcript,
            weighing,
            alphas: vec![0.0; transcript.len()],
            sums: (0..tasks).map(|_| IndexMap::default()).collect(),
            total: IndexMap::default(),
            squares: vec![0.0; tasks],
        };
        for _ in 0..PASSES {
            let moved: f64 = (0..transcript.len()).map(|at| ascent.step(at)).sum();
            if moved <= 1e-9 * transcript.len() as f64 {
                break;
            }
        }
        ascent.comparator()
    }

    /// Loss and penalties of the run itself.
    pub(super) fn paid(self, transcript: &Transcript) -> f64 {
        let losses: f64 = (0..transcript.len()).map(|at| transcript.hinge(at)).sum();
        let penalties = match self.step {
            Step::Gradient { eta } => self.paid_by_gradients(transcript, eta),
            Step::Averaging { kappa } => self.paid_by_averages(transcript, kappa),
        };
        losses + penalties
    }

    /// Penalties along Algorithm 1.
    fn paid_by_gradients(self, transcript: &Transcript, eta: f64) -> f64 {
        let mut u = Part::default();
        let mut own: Vec<[Part; 2]> = (0..transcript.tasks()).map(|_| Default::default()).collect();
        let mut paid = 0.0;
        for (round, _) in transcript.rounds() {
            paid += self.alpha / 2.0 * u.squared;
            let lost: Vec<usize> = round.filter(|at| transcript.hinge(*at) > 0.0).collect();
            for at in lost {
                let Example { task, features, label, .. } = transcript.example(at);
                let [p, q] = &mut own[task.index()];
                paid += self.beta / 2.0 * p.squared + self.gamma * q.squared.sqrt();
                u.add(features, eta * label);
                p.add(features, eta * label);
                p.scale(1.0 / (1.0 + self.beta * eta));
                q.add(features, eta * label);
                let norm = q.squared.sqrt();
                q.scale(if norm > 0.0 { (1.0 - eta * self.gamma / norm).max(0.0) } else { 0.0 });
            }
            u.scale(1.0 / (1.0 + self.alpha * eta));
        }
        paid
    }

    /// Penalties along Algorithm 2.
    fn paid_by_averages(self, transcript: &Transcript, kappa: f64) -> f64 {
        let mut all = Part::default();
        let mut own: Vec<Part> = (0..transcript.tasks()).map(|_| Part::default()).collect();
        let mut paid = 0.0;
        for (before, (round, _)) in transcript.rounds().enumerate() {
            if before > 0 {
                let t = before as f64;
                let theta = kappa * t.sqrt();
                let squared = |part: &Part, penalty: f64| part.squared / (penalty * t + theta).powi(2);
                paid += self.alpha / 2.0 * squared(&all, self.alpha);
                for part in &own {
                    paid += self.beta / 2.0 * squared(part, self.beta);
                    paid += self.gamma * (part.squared.sqrt() - self.gamma * t).max(0.0) / theta;
                }
            }
            for at in round.filter(|at| transcript.hinge(*at) > 0.0) {
                let Example { task, features, label, .. } = transcript.example(at);
                all.add(features, label);
                own[task.index()].add(features, label);
            }
        }
        paid
    }
}

/// A vector that examples are added to, with its squared length; a factor beside it.
#[derive(Debug)]
struct Part {
    values: IndexMap<f64>,
    factor: f64,
    squared: f64,
}

impl Default for Part {
    fn default() -> Self {
        Self { values: IndexMap::default(), factor: 1.0, squared: 0.0 }
    }
}

/// A smaller factor is multiplied into the vector.
const LEAST_FACTOR: f64 = 1e-30;

impl Part {
    fn add(&mut self, x: SparseView<'_>, step: f64) {
        let dot: f64 = x.iter().map(|(feature, value)| self.values.get(feature) * value).sum();
        let squared = self.squared + 2.0 * step * self.factor * dot + step * step * x.norm_squared();
        self.squared = squared.max(0.0);
        x.iter().for_each(|(feature, value)| *self.values.entry(feature) += step / self.factor * value);
    }

    fn scale(&mut self, factor: f64) {
        if factor == 0.0 {
            *self = Self::default();
            return;
        }
        self.factor *= factor;
        self.squared *= factor * factor;
        if self.factor < LEAST_FACTOR {
            let mut values = IndexMap::default();
            for (feature, value) in self.values.sorted() {
                *values.entry(feature) = self.factor * value;
            }
            (self.values, self.factor) = (values, 1.0);
        }
    }
}

/// Dual coordinate ascent for the right-hand side: with v_i the sum of alpha y x over the examples of task i and v that of all,
/// u = v / shared, p_i = v_i / own_i, q_i = max(0, 1 - edge_i / |v_i|) v_i / rest.
struct Ascent<'a> {
    transcript: &'a Transcript,
    weighing: Weighing,
    alphas: Vec<f64>,
    sums: Vec<IndexMap<f64>>,
    total: IndexMap<f64>,
    /// |v_i|^2.
    squares: Vec<f64>,
}

impl Ascent<'_> {
    /// What v_i is multiplied by in p_i + q_i.
    fn own_factor(&self, task: usize) -> f64 {
        let Weighing { own, edge, rest, .. } = &self.weighing;
        let norm = self.squares[task].sqrt();
        let outlier = if norm > edge[task] { (1.0 - edge[task] / norm) / rest } else { 0.0 };
        1.0 / own[task] + outlier
    }

    /// A step in the coordinate of one example that makes the dual no smaller; says how long it was.
    fn step(&mut self, at: usize) -> f64 {
        let Example { task, features, label, .. } = self.transcript.example(at);
        let task = task.index();
        let length = features.norm_squared();
        if length == 0.0 {
            return 0.0;
        }
        let Weighing { shared, own, edge, rest } = &self.weighing;
        // The curvature is at most this: q_i has none while it stays 0.
        let near = self.squares[task].sqrt() + length.sqrt() > edge[task];
        let curvature = length * (1.0 / shared + 1.0 / own[task] + if near { 1.0 / rest } else { 0.0 });
        let dot = |sum: &IndexMap<f64>| -> f64 {
            features.iter().map(|(feature, value)| sum.get(feature) * value).sum()
        };
        let own_dot = dot(&self.sums[task]);
        let margin = dot(&self.total) / shared + self.own_factor(task) * own_dot;
        let wanted = (self.alphas[at] + (1.0 - label * margin) / curvature).clamp(0.0, 1.0);
        let change = (wanted - self.alphas[at]) * label;
        self.alphas[at] = wanted;
        if change != 0.0 {
            let squared = self.squares[task] + 2.0 * change * own_dot + change * change * length;
            self.squares[task] = squared.max(0.0);
            for (feature, value) in features.iter() {
                *self.sums[task].entry(feature) += change * value;
                *self.total.entry(feature) += change * value;
            }
        }
        change.abs()
    }

    fn comparator(&self) -> Comparator {
        let sums: Vec<_> = self.sums.iter().map(IndexMap::sorted).collect();
        let total = self.total.sorted();
        combine(sums.len(), |task| {
            vec![(1.0 / self.weighing.shared, &total[..]), (self.own_factor(task), &sums[task][..])]
        })
    }
}
