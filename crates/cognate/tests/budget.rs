//! Learners in fixed memory: do they agree, eviction by eviction, with the independent reference, and reduce to what they
//! should?

use std::fs;
use std::path::{Path, PathBuf};

use cognate::{Example, Learner, LearnerConfig, SparseView, Support, TaskId, Tasks};
use serde::Deserialize;
use serde_json::{Value, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

/// `budget.json`: runs, and the small functions on their own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vectors {
    cases: Vec<Case>,
    interaction: Vec<Value>,
    /// Unit tests of the Forgetron look at these.
    #[serde(rename = "psi")]
    _psi: Value,
    #[serde(rename = "max_phi")]
    _max_phi: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    stream: String,
    tasks: usize,
    simultaneous: bool,
    learner: Value,
    expected: Expected,
}

/// Rounds are counted from 0; lists are in slot order.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    margins: Vec<f64>,
    mistakes: Vec<usize>,
    n_mistakes: usize,
    f_measure: f64,
    active: Vec<usize>,
    beta: Value,
    /// Round, slot, evicted round.
    evictions: Vec<[usize; 3]>,
    projections: Vec<usize>,
    #[serde(rename = "c_G")]
    c: f64,
    evict_slots: Option<Vec<usize>>,
    c2: Option<f64>,
    phi: Option<Vec<f64>>,
    #[serde(rename = "Q")]
    damage: Option<Vec<f64>>,
    safety: Safety,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Safety {
    smallest_nonzero_margin: f64,
    smallest_decision_gap: Option<f64>,
}

fn vectors() -> Vectors {
    serde_json::from_slice(&fs::read(folder().join("budget.json")).unwrap()).unwrap()
}

/// A line of a stream.
struct Line {
    task: TaskId,
    label: f64,
    indices: Vec<u32>,
    values: Vec<f64>,
}

impl Line {
    fn example(&self) -> Example<'_> {
        let features = SparseView::try_new(&self.indices, &self.values).unwrap();
        Example { task: self.task, features, label: self.label }
    }
}

/// `label qid:task index:value …`, from 1.
fn read(stream: &str) -> Vec<Line> {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let label = words.next().unwrap().parse().unwrap();
        let task: u32 = words.next().unwrap().strip_prefix("qid:").unwrap().parse().unwrap();
        let entries = words.map(|word| word.split_once(':').unwrap());
        let (indices, values) = entries
            .map(|(index, value)| (index.parse::<u32>().unwrap() - 1, value.parse::<f64>().unwrap()))
            .unzip();
        Line { task: TaskId(task - 1), label, indices, values }
    };
    fs::read_to_string(folder().join(stream)).unwrap().lines().map(line).collect()
}

fn build(learner: &Value, tasks: usize) -> Learner {
    let config: LearnerConfig =
        serde_json::from_value(learner.clone()).unwrap_or_else(|error| panic!("{learner}: {error}"));
    config.build(&Tasks::numbered(tasks)).unwrap_or_else(|error| panic!("{learner}: {error}"))
}

fn close(what: &str, found: f64, expected: f64) {
    let gap = (found - expected).abs();
    assert!(gap <= 1e-9 * (1.0 + expected.abs()), "{what} is {found}, expected {expected}");
}

/// What became of the examples kept in one round.
#[derive(Default)]
struct Changes {
    evictions: Vec<[usize; 3]>,
    projections: Vec<usize>,
}

impl Changes {
    fn see(&mut self, round: usize, before: &[Support], after: &[Support], updated: bool) {
        let added = after.len() > before.len();
        for (slot, (old, new)) in before.iter().zip(after).enumerate() {
            if old.example != new.example {
                assert!(!added && new.example as usize == round + 1);
                self.evictions.push([round, slot, old.example as usize - 1]);
            }
        }
        if updated && !added && self.evictions.last().is_none_or(|last| last[0] != round) {
            self.projections.push(round);
        }
    }
}

#[test]
fn every_vector_agrees() {
    let vectors = vectors();
    assert_eq!(vectors.cases.len(), 38);
    for case in &vectors.cases {
        check(case);
    }
}

fn check(case: &Case) {
    let (name, expected) = (&case.name, &case.expected);
    // Closer than this, rounding would decide and the comparison would be luck.
    assert!(expected.safety.smallest_nonzero_margin > 1e-6, "{name}");
    assert!(expected.safety.smallest_decision_gap.is_none_or(|gap| gap > 1e-6), "{name}");
    assert!(!case.simultaneous);
    let mut learner = build(&case.learner, case.tasks);
    if let (Learner::BudgetRandom(random), Some(slots)) = (&mut learner, &expected.evict_slots) {
        random.give_draws(slots);
    }
    let (mut mistakes, mut changes, mut shrinking) = (Vec::new(), Changes::default(), 0);
    let mut hits = 0;
    let lines = read(&case.stream);
    assert_eq!(lines.len(), expected.margins.len(), "{name}");
    for (round, (line, margin)) in lines.iter().zip(&expected.margins).enumerate() {
        let before = learner.as_inspect().supports().unwrap();
        let outcome = learner.as_learn_one().learn(line.example());
        close(&format!("{name}: the margin of round {round}"), outcome.margin, *margin);
        if line.label * outcome.margin <= 0.0 {
            mistakes.push(round);
        }
        let after = learner.as_inspect().supports().unwrap();
        let evicted = changes.evictions.len();
        changes.see(round, &before, &after, outcome.updated);
        if let Learner::BudgetForgetron(forgetron) = &learner
            && changes.evictions.len() > evicted
        {
            let phi = expected.phi.as_ref().unwrap()[shrinking];
            close(&format!("{name}: phi of round {round}"), forgetron.shrunk(), phi);
            let damage = expected.damage.as_ref().unwrap()[shrinking];
            close(&format!("{name}: Q of round {round}"), forgetron.damage(), damage);
            shrinking += 1;
        }
        // The reference's F has a margin of 0 wrong for either label.
        hits += usize::from(line.label * outcome.margin > 0.0 && line.label > 0.0);
    }
    assert_eq!((mistakes.len(), &mistakes), (expected.n_mistakes, &expected.mistakes), "{name}");
    assert_eq!(changes.evictions, expected.evictions, "{name}");
    assert_eq!(changes.projections, expected.projections, "{name}");
    let f = 2.0 * hits as f64 / (2 * hits + mistakes.len()) as f64;
    close(&format!("{name}: F"), f, expected.f_measure);
    let supports = learner.as_inspect().supports().unwrap();
    let active: Vec<usize> = supports.iter().map(|support| support.example as usize - 1).collect();
    assert_eq!(active, expected.active, "{name}");
    check_state(case, &learner, &supports);
}

fn check_state(case: &Case, learner: &Learner, supports: &[Support]) {
    let (name, expected) = (&case.name, &case.expected);
    let largest =
        (0..case.tasks as u32).map(|task| learner.as_inspect().relation(TaskId(task), TaskId(task)));
    close(&format!("{name}: c"), largest.fold(0.0, f64::max).sqrt(), expected.c);
    if let Learner::BudgetForgetron(forgetron) = learner {
        close(&format!("{name}: c^2"), forgetron.square_bound(), expected.c2.unwrap());
    }
    if let Learner::BudgetSharedProjectron(shared) = learner {
        let sets: Vec<Vec<f64>> = serde_json::from_value(expected.beta.clone()).unwrap();
        assert_eq!(sets.len(), case.tasks);
        for (task, set) in sets.iter().enumerate() {
            let found = shared.coefficients(TaskId(task as u32));
            assert_eq!(found.len(), set.len());
            for (at, (found, expected)) in found.iter().zip(set).enumerate() {
                close(&format!("{name}: task {task}'s coefficient {at}"), *found, *expected);
            }
        }
    } else {
        let coefficients: Vec<f64> = serde_json::from_value(expected.beta.clone()).unwrap();
        assert_eq!(coefficients.len(), supports.len());
        for (at, (support, expected)) in supports.iter().zip(coefficients).enumerate() {
            close(&format!("{name}: coefficient {at}"), support.coefficient, expected);
        }
    }
}

#[test]
fn relations_of_graphs_agree() {
    let vectors = vectors();
    assert_eq!(vectors.interaction.len(), 3);
    for case in &vectors.interaction {
        let tasks = case["tasks"].as_u64().unwrap() as usize;
        let graph =
            if case["graph"].is_array() { json!({"edges": case["graph"]}) } else { case["graph"].clone() };
        let learner = build(&json!({"budget-random": {"graph": graph}}), tasks);
        let relation: Vec<Vec<f64>> = serde_json::from_value(case["A_inverse"].clone()).unwrap();
        for (to, row) in relation.iter().enumerate() {
            for (from, expected) in row.iter().enumerate() {
                let found = learner.as_inspect().relation(TaskId(to as u32), TaskId(from as u32));
                assert!((found - expected).abs() < 1e-12, "R[{to}, {from}] is {found}, expected {expected}");
                assert_eq!(found == 0.0, *expected == 0.0, "unrelated tasks have an exact zero");
            }
        }
    }
}
