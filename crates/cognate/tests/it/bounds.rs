//! Do mistakes stay within the theorem on streams whose comparator is known?
//!
//! MP10 Theorem 1: run with an interaction matrix A on instances of length 1, the Perceptron makes
//!
//! ```text
//! m <= L + D + sqrt(D L),   D = max_i (A^-1)_ii u'(A x I)u,   L = sum over the mistaken rounds of max(0, 1 - y u_i'x)
//! ```
//!
//! mistakes, whatever `u = (u_1, …, u_K)` is. The streams are made from vectors `w_1, …, w_K` of length 1, so every
//! u = s w is a comparator whose right-hand side can be computed. Each test checks that no s breaks the bound. It
//! also checks that the bound is not vacuous. For that L is summed over all rounds, which can only increase it but
//! needs no knowledge of the mistakes (u = 0 would "promise" the m that was found): the best s must promise fewer
//! mistakes than there are examples, and at most [`SLACK`] times those that were made.
//!
//! The formulas here are written from the paper; the certificates of `cognate::bounds` must have the same numbers.

use crate::support::matrices::{Matrix, coupled, graph, inverse};
use cognate::bounds::{Certificate, Comparator, Theorems, Transcript};
use cognate::run::{Observer, Progress, RoundReport, RunOptions};
use cognate::stream::Memory;
use cognate::stream::synthetic::{Related, Synthetic};
use cognate::{Metrics, Model, RunConfig, Tasks};
use serde_json::{Value, json};

const TASKS: usize = 8;
const K: f64 = TASKS as f64;

/// The bound is at most this many times the mistakes. On streams that no adversary chose, Perceptrons stay well
/// below their bound.
const SLACK: f64 = 6.0;

/// Scales s of the comparators u = s w: from "all loss" to "all length".
const SCALES: [f64; 12] = [0.01, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.7, 10.0, 15.0, 30.0, 300.0];

/// A stream and what is needed to compute its losses.
struct Case {
    made: Synthetic,
    name: String,
    /// Task from 0, x, label.
    examples: Vec<(usize, Vec<f64>, f64)>,
}

impl Case {
    fn new(name: &str, config: &Related) -> Self {
        let made = config.generate();
        let example = |(task, example): (&str, cognate::Example<'_>)| {
            (task.parse::<usize>().unwrap() - 1, example.features.values().to_vec(), example.label)
        };
        let examples: Vec<_> = made.stream.examples().map(example).collect();
        for (_, x, _) in &examples {
            assert!((dot(x, x) - 1.0).abs() < 1e-12, "the theorem is for instances of length 1");
        }
        Self { made, name: format!("{name}, seed {}", config.seed), examples }
    }

    /// The same examples in rounds of one per task, as long as every task has one.
    fn rounds(&self) -> Memory {
        let mut of_task = vec![Vec::new(); TASKS];
        self.made.stream.examples().for_each(|(name, example)| {
            of_task[name.parse::<usize>().unwrap() - 1].push((name, example));
        });
        let mut stream = Memory::new();
        for round in 0..of_task.iter().map(Vec::len).min().unwrap() {
            of_task.iter().for_each(|examples| stream.push(examples[round].0, examples[round].1));
        }
        stream
    }

    /// u = s w.
    fn comparator(&self, scale: f64) -> Vec<Vec<f64>> {
        self.made.truth.iter().map(|w| w.iter().map(|entry| scale * entry).collect()).collect()
    }

    /// A Perceptron that has learnt nothing.
    fn model(interaction: &Value) -> Model {
        let names: Vec<String> = (1..=TASKS).map(|task| task.to_string()).collect();
        let config = json!({"tasks": names, "learner": {"perceptron": {"interaction": interaction}}});
        let config: RunConfig = serde_json::from_value(config).unwrap();
        Model::new(&config).unwrap()
    }

    /// The library's account of the run.
    fn certified(&self, interaction: &Value) -> (Theorems, Transcript) {
        let mut model = Self::model(interaction);
        let mut stream = self.made.stream.clone().numbered_as(model.tasks());
        let transcript = Transcript::record(&mut model, &mut stream, &RunOptions::default()).unwrap();
        (Theorems::of(&model.config().learner, model.tasks(), None).unwrap(), transcript)
    }

    /// Runs the Perceptron; returns the positions of its mistakes.
    fn mistakes(&self, interaction: &Value) -> Vec<usize> {
        let mut model = Self::model(interaction);
        let mut stream = self.made.stream.clone().numbered_as(model.tasks());
        let mut mistakes = Mistakes::default();
        model.learn(&mut stream, &RunOptions::default(), &mut mistakes).unwrap();
        assert_eq!(mistakes.rounds, self.examples.len());
        mistakes.positions
    }

    /// L of Theorem 1.
    fn loss(&self, u: &[Vec<f64>], mistakes: &[usize]) -> f64 {
        let hinge = |at: &usize| {
            let (task, x, label) = &self.examples[*at];
            (1.0 - label * dot(&u[*task], x)).max(0.0)
        };
        mistakes.iter().map(hinge).sum()
    }

    /// Checks m <= L + D + sqrt(D L) for every scale, with D from `complexity`; returns the best right-hand side.
    fn check(&self, interaction: &Value, complexity: impl Fn(&[Vec<f64>]) -> f64) -> f64 {
        let mistakes = self.mistakes(interaction);
        let everything: Vec<usize> = (0..self.examples.len()).collect();
        let (m, n) = (mistakes.len() as f64, everything.len() as f64);
        let mut best = f64::INFINITY;
        let (theorems, transcript) = self.certified(interaction);
        assert_eq!((transcript.mistakes(), transcript.len()), (mistakes.len(), everything.len()));
        for scale in SCALES {
            let u = self.comparator(scale);
            let complexity = complexity(&u);
            let bound = |loss: f64| loss + complexity + (complexity * loss).sqrt();
            let promised = bound(self.loss(&u, &mistakes));
            for certificate in theorems.certify(&transcript, &Comparator::dense(&u)).unwrap() {
                assert!(certificate.holds && certificate.found == m, "{certificate:?}");
                check_numbers(&certificate, complexity, promised, bound(self.loss(&u, &everything)));
            }
            assert!(
                m <= promised * (1.0 + 1e-12),
                "{}, {interaction}: {m} mistakes, bound {promised} at u = {scale} w",
                self.name
            );
            best = best.min(bound(self.loss(&u, &everything)));
        }
        assert!(best < n, "{}, {interaction}: the bound {best} is vacuous on {n} examples", self.name);
        assert!(best <= SLACK * m, "{}, {interaction}: bound {best}, but {m} mistakes", self.name);
        best
    }
}

/// Checks that a certificate has the numbers of the formula. If R's diagonal is not constant, the tasks with mistakes
/// may have smaller rates than the largest.
fn check_numbers(certificate: &Certificate, complexity: f64, promised: f64, in_advance: f64) {
    let at_most = |found: f64, expected: f64| found <= expected * (1.0 + 1e-9);
    if certificate.name == "Theorem 1, mean rate" {
        assert!(at_most(certificate.bound, promised) && at_most(certificate.complexity, complexity));
    } else {
        assert_close(certificate.complexity, complexity);
        assert_close(certificate.bound, promised);
    }
    assert_close(certificate.in_advance, in_advance);
    assert_eq!(certificate.formula, "L + D + sqrt(D L)");
}

/// Where the mistakes are.
#[derive(Default)]
struct Mistakes {
    rounds: usize,
    positions: Vec<usize>,
}

impl Observer for Mistakes {
    fn observe(&mut self, report: &RoundReport, _: &Tasks, _: &Metrics) {
        if report.mistake {
            self.positions.push(self.rounds);
        }
        self.rounds += 1;
    }

    fn batch_done(&mut self, _: Progress, _: &Model) -> std::ops::ControlFlow<()> {
        std::ops::ControlFlow::Continue(())
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm_squared(a: &[f64]) -> f64 {
    dot(a, a)
}

fn distance_squared(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// `u'(A x I)u = sum over i, j of A_ij u_i'u_j`, for any A.
fn quadratic(a: &Matrix, u: &[Vec<f64>]) -> f64 {
    let pairs = (0..u.len()).flat_map(|i| (0..u.len()).map(move |j| (i, j)));
    pairs.map(|(i, j)| a[i][j] * dot(&u[i], &u[j])).sum()
}

/// `max_i R_ii`.
fn largest_diagonal(r: &Matrix) -> f64 {
    (0..r.len()).map(|i| r[i][i]).fold(0.0, f64::max)
}

/// D of Theorem 1.
fn theorem_1(a: &Matrix, u: &[Vec<f64>]) -> f64 {
    largest_diagonal(&inverse(a)) * quadratic(a, u)
}

fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9 * (1.0 + expected.abs()), "{found} is not {expected}");
}

/// The centroid of the tasks, and `VAR[u] = 1/K sum_i |u_i - ubar|^2`.
fn centroid_and_variance(u: &[Vec<f64>]) -> (Vec<f64>, f64) {
    let k = u.len() as f64;
    let centroid: Vec<f64> = (0..u[0].len()).map(|at| u.iter().map(|u| u[at]).sum::<f64>() / k).collect();
    let variance = u.iter().map(|u| distance_squared(u, &centroid)).sum::<f64>() / k;
    (centroid, variance)
}

/// Related and unrelated tasks, separable with a margin, noisy, and with an outlier.
fn cases() -> Vec<Case> {
    (1..=3).flat_map(cases_of_seed).collect()
}

fn cases_of_seed(seed: u64) -> Vec<Case> {
    let base = Related { tasks: TASKS, features: 15, examples: 4000, ..Related::default() };
    let kinds = [
        ("separable", Related { margin: 0.2, ..base.clone() }),
        ("close and separable", Related { margin: 0.2, spread: 0.05, ..base.clone() }),
        ("unrelated and separable", Related { margin: 0.2, outliers: TASKS, ..base.clone() }),
        ("an outlier", Related { margin: 0.2, outliers: 1, ..base.clone() }),
        ("noisy", Related { margin: 0.1, flips: 0.05, ..base.clone() }),
        ("noisy without margin", Related { flips: 0.1, ..base }),
    ];
    kinds.map(|(name, kind)| Case::new(name, &Related { seed, ..kind })).into()
}

/// A symmetric positive definite matrix without structure, and not far from the identity.
fn arbitrary() -> Matrix {
    let entry = |i: usize, j: usize| if i == j { 1.5 } else { 0.15 * ((i * j + i + j) as f64).sin() };
    (0..TASKS).map(|i| (0..TASKS).map(|j| entry(i, j)).collect()).collect()
}

#[test]
fn theorem_1_holds_for_any_matrix() {
    let a = arbitrary();
    for case in cases() {
        case.check(&json!({"matrix": {"rows": a}}), |u| theorem_1(&a, u));
        // A = I: K Perceptrons, sum_i |u_i|^2.
        case.check(&json!("independent"), |u| u.iter().map(|u| norm_squared(u)).sum());
    }
}

/// Corollary 3: `D = 2/(K+1) (sum_i |u_i|^2 + sum_{i<j} |u_i - u_j|^2)`, with A as in (4).
#[test]
fn corollary_3_holds_for_pairwise() {
    let entry = |i, j| if i == j { K } else { -1.0 };
    let a: Matrix = (0..TASKS).map(|i| (0..TASKS).map(|j| entry(i, j)).collect()).collect();
    let corollary_3 = |u: &[Vec<f64>]| {
        let lengths: f64 = u.iter().map(|u| norm_squared(u)).sum();
        let pairs = (0..TASKS).flat_map(|j| (0..j).map(move |i| (i, j)));
        let distances: f64 = pairs.map(|(i, j)| distance_squared(&u[i], &u[j])).sum();
        2.0 * (lengths + distances) / (K + 1.0)
    };
    for case in cases() {
        let u = case.comparator(3.0);
        assert_close(corollary_3(&u), theorem_1(&a, &u));
        case.check(&json!("pairwise"), corollary_3);
    }
    // For equal tasks it is 2K/(K+1) times the Perceptron's bound |u|^2, not that bound itself (errata).
    let equal = vec![vec![0.6, 0.8]; TASKS];
    assert_close(corollary_3(&equal), 2.0 * K / (K + 1.0));
}

/// Corollary 4: `D = (b+K)/((1+b)K) (sum_i |u_i|^2 + b K VAR[u])`, with A as in (5).
fn corollary_4(b: f64, u: &[Vec<f64>]) -> f64 {
    let lengths: f64 = u.iter().map(|u| norm_squared(u)).sum();
    let (_, variance) = centroid_and_variance(u);
    (b + K) / ((1.0 + b) * K) * (lengths + b * K * variance)
}

#[test]
fn corollary_4_holds_for_coupled() {
    for case in cases() {
        for b in [0.0, 0.5, 1.0, 4.0, K, 40.0] {
            let u = case.comparator(3.0);
            assert_close(corollary_4(b, &u), theorem_1(&coupled(TASKS, b), &u));
            case.check(&json!({"coupled": {"b": b}}), |u| corollary_4(b, u));
        }
    }
}

/// The optimal b is `max{0, sqrt((K-1) |ubar|^2 / VAR[u]) - 1}`, the -1 outside the root (errata); there D is
/// `sum_i |u_i|^2` if b = 0, else `(|ubar| + sqrt(K-1) sqrt(VAR[u]))^2`.
#[test]
fn corollary_4_holds_at_its_optimal_b() {
    let (mut shared, mut unshared) = (0, 0);
    for case in cases() {
        let u = case.comparator(1.0);
        let (centroid, variance) = centroid_and_variance(&u);
        let length = norm_squared(&centroid).sqrt();
        let b = (((K - 1.0) * length * length / variance).sqrt() - 1.0).max(0.0);
        let lengths: f64 = u.iter().map(|u| norm_squared(u)).sum();
        let root = length + (K - 1.0).sqrt() * variance.sqrt();
        assert_close(corollary_4(b, &u), if b == 0.0 { lengths } else { root * root });
        for other in [0.0, 0.1, 1.0, 5.0, 0.9 * b, 1.1 * b + 0.01, 1000.0] {
            assert!(corollary_4(b, &u) <= corollary_4(other, &u) * (1.0 + 1e-12), "{b} against {other}");
        }
        let best = case.check(&json!({"coupled": {"b": b}}), |u| corollary_4(b, u));
        let alone = case.check(&json!("independent"), |u| corollary_4(0.0, u));
        if case.name.starts_with("close") {
            assert!(3.0 * best < alone, "{}: sharing is promised to help", case.name);
        }
        let (theorems, transcript) = case.certified(&json!({"coupled": {"b": 1.0}}));
        let coupling = theorems.best_coupling(&transcript, &Comparator::dense(&u)).unwrap();
        assert_close(coupling.b, b);
        assert_close(coupling.complexity, corollary_4(b, &u));
        shared += usize::from(b > 1.0);
        unshared += usize::from(b == 0.0);
    }
    assert!(shared > 0, "no stream calls for sharing");
    assert!(unshared > 0, "no stream calls for tasks on their own");
}

/// A comparator found in hindsight promises about as few mistakes as the vectors that made the labels, or fewer.
#[test]
fn hindsight_is_as_good_as_the_truth() {
    let interactions = ["independent", "pooled", "pairwise", "coupled"].map(|name| json!(name));
    let names: Vec<_> = (1..TASKS).map(|task| [task.to_string(), (task + 1).to_string()]).collect();
    let others = [json!({"graph": {"edges": names}}), json!({"matrix": {"rows": arbitrary()}})];
    for case in cases_of_seed(1) {
        for interaction in interactions.iter().chain(&others) {
            let (theorems, transcript) = case.certified(interaction);
            let u = theorems.hindsight(&transcript).unwrap();
            let found = theorems.certify(&transcript, &u).unwrap();
            assert!(found.iter().all(|certificate| certificate.holds), "{}, {found:?}", case.name);
            let of_truth = SCALES.map(|scale| {
                let u = Comparator::dense(&case.comparator(scale));
                theorems.certify(&transcript, &u).unwrap()[0].in_advance
            });
            let best = of_truth.into_iter().fold(f64::INFINITY, f64::min);
            assert!(found[0].in_advance <= 1.05 * best, "{}, {interaction}: {found:?}, {best}", case.name);
            assert!(found[0].in_advance < transcript.len() as f64 || *interaction == json!("pooled"));
            if *interaction == json!("coupled") {
                assert_eq!(u, theorems.hindsight(&transcript).unwrap(), "nothing is random");
            }
        }
    }
}

/// With tasks met on the way and with rounds of all tasks, the rate is that of the moment and of all mistakes together.
#[test]
fn theorem_1_holds_when_tasks_are_met_on_the_way_and_in_rounds_of_all_tasks() {
    for case in cases_of_seed(2) {
        for interaction in [json!("pairwise"), json!({"coupled": {"b": 20.0}}), json!("independent")] {
            for simultaneous in [false, true] {
                let config = json!({
                    "stream": {"simultaneous": simultaneous},
                    "learner": {"perceptron": {"interaction": interaction}},
                });
                let config: RunConfig = serde_json::from_value(config).unwrap();
                let mut model = Model::new(&config).unwrap();
                let mut stream = if simultaneous { case.rounds() } else { case.made.stream.clone() };
                let transcript = Transcript::record(&mut model, &mut stream, &RunOptions::default()).unwrap();
                let theorems = Theorems::of(&model.config().learner, model.tasks(), None).unwrap();
                let u = theorems.hindsight(&transcript).unwrap();
                for scale in [0.0, 0.3, 1.0, 3.0] {
                    for certificate in theorems.certify(&transcript, &u.scaled(scale)).unwrap() {
                        assert!(certificate.holds, "{}, {interaction}: {certificate:?}", case.name);
                    }
                }
            }
        }
    }
}

/// Corollary 5: `D = c_G (sum_i |u_i|^2 + sum over the edges of |u_i - u_j|^2)`, `c_G = max_i (I + L)^-1_ii`.
#[test]
fn corollary_5_holds_for_graphs() {
    let name = |task: usize| (task + 1).to_string();
    let clique: Vec<_> = (0..TASKS).flat_map(|j| (0..j).map(move |i| (i, j))).collect();
    let cycle: Vec<_> = (0..TASKS).map(|i| (i, (i + 1) % TASKS)).collect();
    let star: Vec<_> = (1..TASKS).map(|i| (0, i)).collect();
    let bipartite: Vec<_> = (0..3).flat_map(|i| (3..TASKS).map(move |j| (i, j))).collect();
    let halves: Vec<_> = clique.iter().copied().filter(|(i, j)| i / 4 == j / 4).collect();
    // c_G in closed form: sum_j v_ji^2 / (1 + lambda_j) over the eigenvalues of L.
    let angle = |j: usize| 2.0 * std::f64::consts::PI * j as f64 / K;
    let of_cycle = (0..TASKS).map(|j| 1.0 / (3.0 - 2.0 * angle(j).cos())).sum::<f64>() / K;
    // Star: eigenvalues 0, 1 (K - 2 times) and K; for a leaf, v^2 sums to 1/K, 1 - 1/(K-1) and 1/(K (K-1)).
    let of_star = 1.0 / K + (1.0 - 1.0 / (K - 1.0)) / 2.0 + 1.0 / (K * (K - 1.0)) / (K + 1.0);
    for (edges, c_g) in [
        (clique, Some(2.0 / (K + 1.0))),
        (cycle, Some(of_cycle)),
        (star, Some(of_star)),
        (bipartite, None),
        // Not connected, so lambda_2 = 0: two cliques of 4 (errata).
        (halves, Some(2.0 / 5.0)),
    ] {
        let weighted: Vec<_> = edges.iter().map(|(i, j)| (*i, *j, 1.0)).collect();
        let a = graph(TASKS, &weighted);
        let found = largest_diagonal(&inverse(&a));
        if let Some(c_g) = c_g {
            assert_close(found, c_g);
        }
        let corollary_5 = |u: &[Vec<f64>]| {
            let lengths: f64 = u.iter().map(|u| norm_squared(u)).sum();
            let distances: f64 = edges.iter().map(|(i, j)| distance_squared(&u[*i], &u[*j])).sum();
            found * (lengths + distances)
        };
        let listed: Vec<_> = edges.iter().map(|(i, j)| [name(*i), name(*j)]).collect();
        for case in cases() {
            let u = case.comparator(3.0);
            assert_close(corollary_5(&u), theorem_1(&a, &u));
            case.check(&json!({"graph": {"edges": listed}}), corollary_5);
        }
    }
}
