//! Learners in fixed memory: do they agree, eviction by eviction, with the independent reference, and do they reduce to
//! what they should?

use std::fs;
use std::path::{Path, PathBuf};

use cognate::algorithms::CostClass;
use cognate::bounds::{Certificate, Comparator, Theorems, Transcript};
use cognate::internal::generator;
use cognate::{Example, Learner, LearnerConfig, REGISTRY, SparseView, Support, TaskId, Tasks};
use rand::RngExt as _;
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
    /// The Forgetron's unit tests check these two.
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
        Example::new(self.task, features, self.label)
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
    // Any closer, and rounding would decide.
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
        // The reference's F counts a margin of 0 as wrong for either label.
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

const LEARNERS: [&str; 4] =
    ["budget-random", "budget-forgetron", "budget-projectron", "budget-shared-projectron"];

#[test]
fn every_learner_on_a_budget_is_tested_here() {
    let budgeted = REGISTRY.iter().filter(|about| about.cost_class == CostClass::Budget);
    assert_eq!(budgeted.map(|about| about.id).collect::<Vec<_>>(), LEARNERS);
}

/// Related tasks on a few dense features, one label in ten flipped.
fn noisy(tasks: u32, features: u32, count: usize) -> Vec<Line> {
    let mut rng = generator(11, 0);
    let line = |_| {
        let task = rng.random_range(0..tasks);
        let values: Vec<f64> = (0..features).map(|_| rng.random_range(-1.0..1.0)).collect();
        let teacher = |at: usize| (at as f64).cos() + 0.4 * ((at as u32 * (task + 2)) as f64).cos();
        let score: f64 = values.iter().enumerate().map(|(at, value)| value * teacher(at)).sum();
        let label = if (score >= 0.0) == rng.random_bool(0.1) { -1.0 } else { 1.0 };
        Line { task: TaskId(task), label, indices: (0..features).collect(), values }
    };
    (0..count).map(line).collect()
}

fn margins(learner: &mut Learner, lines: &[Line]) -> Vec<f64> {
    lines.iter().map(|line| learner.as_learn_one().learn(line.example()).margin).collect()
}

/// A threshold so small and a budget so large that nothing is projected and nothing evicted.
#[test]
fn a_budget_above_the_mistakes_is_no_budget() {
    let lines = noisy(5, 12, 400);
    let edges = json!([["1", "2"], ["2", "3"], ["3", "1"], ["4", "5"]]);
    for (graph, interaction) in [
        (json!("complete"), json!({"graph": {"edges": "complete"}})),
        (json!("disconnected"), json!("independent")),
        (json!({"edges": edges}), json!({"graph": {"edges": edges}})),
        (json!({"edges": [["1", "2"], ["2", "3"]]}), json!({"graph": {"edges": [["1", "2"], ["2", "3"]]}})),
    ] {
        let kernel = json!({"gaussian": {"gamma": 0.5}});
        let unlimited = json!({"kernel-perceptron": {"interaction": interaction, "kernel": kernel}});
        let mut unlimited = build(&unlimited, 5);
        let expected = margins(&mut unlimited, &lines);
        let mistakes = unlimited.as_inspect().supports().unwrap().len();
        for id in LEARNERS {
            let mut parameters = json!({"graph": graph, "kernel": kernel, "budget": mistakes});
            if id.contains("projectron") {
                parameters["threshold"] = json!(1e-6);
            }
            let mut learner = build(&json!({ id: parameters }), 5);
            for (round, (found, expected)) in margins(&mut learner, &lines).iter().zip(&expected).enumerate()
            {
                close(&format!("{id} on {graph}: margin {round}"), *found, *expected);
            }
            // One slot fewer makes a difference.
            parameters["budget"] = json!(mistakes - 1);
            let mut smaller = build(&json!({ id: parameters }), 5);
            margins(&mut smaller, &lines);
            assert_eq!(smaller.as_inspect().supports().unwrap().len(), mistakes - 1, "{id}");
        }
    }
}

/// Without edges, tasks are like examples of one learner that have no features in common: nothing is shared but the
/// budget.
#[test]
fn a_disconnected_graph_is_separate_learners_that_share_a_budget() {
    let lines = noisy(4, 6, 600);
    let apart: Vec<Line> = lines
        .iter()
        .map(|line| Line {
            task: TaskId(0),
            label: line.label,
            indices: line.indices.iter().map(|index| index + 100 * line.task.0).collect(),
            values: line.values.clone(),
        })
        .collect();
    for id in &LEARNERS[..3] {
        let mut parameters = json!({"graph": "disconnected", "budget": 15});
        if *id == "budget-forgetron" {
            parameters["bound"] = json!(6.0);
        }
        let config = json!({ *id: parameters });
        let found = margins(&mut build(&config, 4), &lines);
        let expected = margins(&mut build(&config, 1), &apart);
        for (round, (found, expected)) in found.iter().zip(&expected).enumerate() {
            close(&format!("{id}: margin {round}"), *found, *expected);
        }
    }
}

/// Tasks that are met on the way scale R of the complete graph; what is projected and evicted does not change.
#[test]
fn tasks_met_on_the_way_are_as_declared_ones_at_the_end() {
    let lines = noisy(6, 8, 500);
    for id in LEARNERS {
        let config: LearnerConfig =
            serde_json::from_value(json!({id: {"budget": 20, "kernel": "gaussian"}})).unwrap();
        let (mut declared, mut met) =
            (config.build(&Tasks::numbered(6)).unwrap(), config.build(&Tasks::open()).unwrap());
        let signs = |margins: Vec<f64>| -> Vec<bool> { margins.iter().map(|margin| *margin > 0.0).collect() };
        assert_eq!(signs(margins(&mut declared, &lines)), signs(margins(&mut met, &lines)), "{id}");
        for line in &lines[..20] {
            let margin = |learner: &Learner| learner.as_predict().margin(line.task, line.example().features);
            close(id, margin(&met), margin(&declared));
        }
    }
}

/// A hundred thousand tasks on the complete graph: R is a formula, and only tasks that erred have coefficients.
#[test]
fn many_tasks_take_no_table() {
    for id in LEARNERS {
        let mut parameters = json!({"graph": "complete", "kernel": "gaussian", "budget": 50});
        if id.contains("projectron") {
            parameters["threshold"] = json!(1e-4);
        }
        let config: LearnerConfig = serde_json::from_value(json!({ id: parameters })).unwrap();
        let mut learner = config.build(&Tasks::counted(100_000)).unwrap();
        let mut lines = noisy(1, 5, 400);
        lines.iter_mut().enumerate().for_each(|(at, line)| line.task = TaskId(at as u32 * 250));
        margins(&mut learner, &lines);
        assert_eq!(learner.as_inspect().supports().unwrap().len(), 50, "{id}");
        let held = learner.as_inspect().heap_bytes();
        assert!(held < 4 << 20, "{id}: {held} bytes");
        if let Learner::BudgetSharedProjectron(shared) = &learner {
            assert!(shared.set_count() <= 401);
        }
    }
}

#[test]
fn bad_parameters_are_refused_with_the_reason() {
    let problem = |run: Value| {
        let mut config: cognate::RunConfig = match serde_json::from_value(run) {
            Ok(config) => config,
            Err(error) => return error.to_string(),
        };
        let checked = config.read_files().map_err(|error| error.to_string()).and_then(|()| {
            let model = config.validate().and_then(|()| cognate::Model::new(&config).map(drop));
            model.map_err(|error| error.to_string())
        });
        checked.unwrap_err()
    };
    for id in LEARNERS {
        let with = |name: &str, value: Value| problem(json!({"learner": {id: {name: value}}}));
        assert_eq!(
            with("budget", json!(0)),
            format!("learner.{id}.budget: must be at least 1 example, got 0")
        );
        let tiny = with("budget", json!("100B"));
        assert!(
            tiny.starts_with(&format!("learner.{id}.budget: must hold one example of one feature, "))
                && tiny.ends_with("B, got 100B"),
            "{tiny}"
        );
        for wrong in [json!(-1), json!(2.5), json!("many"), json!("64")] {
            let message = with("budget", wrong);
            assert!(
                message.contains("expected a number of examples, or of bytes like \"64MB\""),
                "{message}"
            );
        }
        if id.contains("projectron") {
            for wrong in [0.0, -0.5] {
                let expected = format!("learner.{id}.threshold: must be positive and finite, got {wrong}");
                assert_eq!(with("threshold", json!(wrong)), expected);
            }
        }
        let edges = |edges: Value| with("graph", json!({"edges": edges}));
        let path = format!("learner.{id}.graph.edges");
        assert_eq!(
            edges(json!([["a", "a"]])),
            format!("{path}: the edge \"a\" - \"a\" joins a task to itself")
        );
        assert_eq!(
            edges(json!([["a", "b"], ["b", "a"]])),
            format!("{path}: the edge \"b\" - \"a\" is given twice")
        );
        assert!(
            edges(json!([["a", "b", -1]]))
                .starts_with(&format!("{path}: the edge \"a\" - \"b\" has the weight -1"))
        );
        let unknown = json!({"tasks": ["a", "b"], "learner": {id: {"graph": {"edges": [["a", "c"]]}}}});
        assert_eq!(problem(unknown), format!("{path}: task \"c\" is not one of the 2 declared tasks"));
        let missing = with("graph", json!({"file": "no/such/graph.txt"}));
        assert!(missing.starts_with("no/such/graph.txt: "), "{missing}");
        assert!(
            with("graph", json!("star")).starts_with("unknown variant `star`, expected one of `complete`")
        );
    }
    let bound = problem(json!({"learner": {"budget-forgetron": {"bound": 0}}}));
    assert_eq!(bound, "learner.budget-forgetron.bound: must be positive and finite, got 0");
}

/// A graph without edges is `disconnected`, to the last bit.
#[test]
fn an_empty_graph_is_a_disconnected_one() {
    let lines = noisy(3, 6, 200);
    for id in LEARNERS {
        let run = |graph: Value| {
            let mut learner = build(&json!({id: {"graph": graph, "budget": 10}}), 3);
            margins(&mut learner, &lines).into_iter().map(f64::to_bits).collect::<Vec<_>>()
        };
        assert_eq!(run(json!({"edges": []})), run(json!("disconnected")), "{id}");
    }
}

/// A budget in bytes is kept, even if the longest examples come last and features never come again.
#[test]
fn bytes_are_not_exceeded() {
    let bytes = 200_000;
    for id in LEARNERS {
        let mut learner = build(&json!({id: {"budget": format!("{bytes}B"), "kernel": "gaussian"}}), 3);
        let (mut rng, mut most) = (generator(5, 0), 0);
        for round in 0..6_000_u32 {
            let length = if round < 3_000 { 5 } else { 40 };
            let indices: Vec<u32> = (0..length).map(|at| round * 40 + at).collect();
            let values: Vec<f64> = indices.iter().map(|_| rng.random_range(-1.0..1.0)).collect();
            let label = if rng.random_bool(0.5) { 1.0 } else { -1.0 };
            let line = Line { task: TaskId(round % 3), label, indices, values };
            learner.as_learn_one().learn(line.example());
            let held = learner.as_inspect().heap_bytes();
            assert!(held <= bytes, "{id}: {held} bytes in round {round}");
            most = most.max(learner.as_inspect().supports().unwrap().len());
        }
        let kept = learner.as_inspect().supports().unwrap().len();
        assert!(most > 60 && kept > 30 && kept < most, "{id}: {most} short ones, {kept} long ones");
        // An example larger than the whole budget teaches nothing, and a remark says so.
        assert!(learner.as_inspect().remarks().is_empty());
        let (indices, values) = ((0..10_000).collect(), vec![1.0; 10_000]);
        let huge = Line { task: TaskId(0), label: 1.0, indices, values };
        assert!(!learner.as_learn_one().update(huge.example(), 0.0), "{id}");
        assert_eq!(learner.as_inspect().supports().unwrap().len(), kept, "{id}");
        let remark = "1 mistaken examples were not kept: each is larger than the whole budget of 200kB";
        assert_eq!(learner.as_inspect().remarks(), [remark], "{id}");
    }
}

/// With a hundred thousand tasks, examples are short under the multitask kernel; a larger threshold keeps none.
#[test]
fn a_threshold_that_keeps_nothing_is_told() {
    let config: LearnerConfig =
        serde_json::from_value(json!({"budget-projectron": {"kernel": "gaussian"}})).unwrap();
    let mut learner = config.build(&Tasks::counted(100_000)).unwrap();
    margins(&mut learner, &noisy(3, 4, 50));
    let remarks = learner.as_inspect().remarks();
    assert!(
        remarks[0].starts_with("nothing was learnt: the longest mistaken example has the length 0.00447")
    );
    assert!(
        remarks[0].ends_with("within the threshold of 0.01; a smaller threshold keeps it"),
        "{remarks:?}"
    );
}

/// Two tasks with examples of length 1, whose labels follow one vector with a margin, except one in twenty.
fn nearly_separable(count: usize) -> Vec<Line> {
    let mut lines = noisy(2, 4, 4 * count);
    for line in &mut lines {
        let length = line.values.iter().map(|value| value * value).sum::<f64>().sqrt();
        line.values.iter_mut().for_each(|value| *value /= length);
        line.label = line.values[0].signum();
    }
    lines.retain(|line| line.values[0].abs() > 0.5);
    lines.truncate(count);
    lines.iter_mut().step_by(20).for_each(|line| line.label = -line.label);
    lines
}

fn certificate(learner: &Value, lines: &[Line], comparator: &[Vec<f64>]) -> Certificate {
    let config: LearnerConfig = serde_json::from_value(learner.clone()).unwrap();
    let tasks = Tasks::numbered(2);
    let theorems = Theorems::of(&config, &tasks, None).unwrap();
    let (mut learner, mut transcript) = (config.build(&tasks).unwrap(), Transcript::new(2));
    for line in lines {
        let margin = learner.as_learn_one().learn(line.example()).margin;
        transcript.push_round([(line.example(), margin)]);
    }
    theorems.certify(&transcript, &Comparator::dense(comparator)).unwrap().remove(0)
}

/// The comparator found in hindsight is not much worse than the one that made the labels.
#[test]
fn good_comparators_are_found_in_hindsight() {
    let lines = nearly_separable(500);
    for (learner, s) in [("budget-random", 2.0), ("budget-forgetron", 1.0)] {
        let config: LearnerConfig = serde_json::from_value(json!({learner: {"budget": 100}})).unwrap();
        let theorems = Theorems::of(&config, &Tasks::numbered(2), None).unwrap();
        let (mut learner, mut transcript) = (config.build(&Tasks::numbered(2)).unwrap(), Transcript::new(2));
        for line in &lines {
            let margin = learner.as_learn_one().learn(line.example()).margin;
            transcript.push_round([(line.example(), margin)]);
        }
        let found = theorems.hindsight(&transcript).unwrap();
        let at = |u: &Comparator| theorems.certify(&transcript, u).unwrap().remove(0);
        let (given, found) = (at(&Comparator::dense(&vec![vec![s, 0.0, 0.0, 0.0]; 2])), at(&found));
        assert!(found.in_advance <= given.in_advance * 1.05 && found.holds, "{found:?}, {given:?}");
    }
}

/// MB12 Theorem 2, its formula computed here: B = 100, c^2 = 2/3 (complete graph of two tasks).
#[test]
fn the_forgetron_keeps_theorem_2() {
    let lines = nearly_separable(3_000);
    // u'Au = |u_1|^2 + |u_2|^2 + |u_1 - u_2|^2 = 2 s^2; the longest allowed has s = 1.013.
    let u = |s: f64| vec![vec![s, 0.0, 0.0, 0.0]; 2];
    let learner = json!({"budget-forgetron": {"budget": 100}});
    let told = certificate(&learner, &lines, &u(1.0));
    let loss = told.loss;
    assert_eq!(told.name, "MB12 Theorem 2");
    close("the bound", told.bound, 4.0 * loss + 101.0 / (2.0 * 101_f64.ln()));
    assert!(told.holds && told.found > 100.0 && told.bound < lines.len() as f64, "{told:?}");
    let beyond = certificate(&learner, &lines, &u(1.1));
    assert!(beyond.bound.is_infinite(), "a comparator that is too long has no bound: {beyond:?}");
}

/// MB12 Theorem 1 is about the mean over the draws.
#[test]
fn the_randomized_budget_keeps_theorem_1_on_the_mean() {
    let lines = nearly_separable(4_000);
    let (mut mistakes, mut bound) = (0.0, 0.0);
    for seed in 0..20 {
        let learner = json!({"budget-random": {"budget": 100, "seed": seed}});
        let told = certificate(&learner, &lines, &vec![vec![2.0, 0.0, 0.0, 0.0]; 2]);
        assert_eq!(told.name, "MB12 Theorem 1");
        // c^2 = 2/3, U^2 = 8, so e = 2 sqrt(16/3) / 10.
        let e = 2.0 * (16.0_f64 / 3.0).sqrt() / 10.0;
        close("the bound", told.bound, (told.loss + e * (500.0 + 25.0 * (100.0_f64 / 3.0).ln())) / (1.0 - e));
        mistakes += told.found / 20.0;
        bound = told.bound;
    }
    assert!(mistakes > 100.0 && mistakes <= bound && bound < lines.len() as f64, "{mistakes}, {bound}");
}

#[test]
fn theorems_speak_of_what_they_are_about() {
    let refused = |learner: Value| {
        let config: LearnerConfig = serde_json::from_value(learner).unwrap();
        Theorems::of(&config, &Tasks::numbered(2), None).map(drop).unwrap_err().to_string()
    };
    assert_eq!(
        refused(json!({"budget-forgetron": {"budget": 83}})),
        "budget: 83; Theorem 2 is for a number of more than 83 examples"
    );
    assert_eq!(
        refused(json!({"budget-random": {"budget": "1MB"}})),
        "budget: \"1MB\"; Theorem 1 is for a number of examples"
    );
    assert!(refused(json!("budget-projectron")).starts_with("no bound is known for `budget-projectron`"));
}
