//! Does every learner agree, round by round, with the independent reference?
//!
//! `tests/vectors/` holds copies of the vectors in `../shared/vectors`, which plain scripts compute from the papers'
//! formulas. A new learner's vector needs no code here: copy its file and its stream.

use crate::support::harness;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use cognate::algorithms::LossNorm;
use cognate::fit::Kind;
use cognate::run::Draws;
use cognate::run::RoundReport;
use cognate::{LearnerConfig, Model, Part, QueryConfig, REGISTRY, Support, TaskId};
use serde::Deserialize;
use serde_json::{Value, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

/// What a vector file holds. An unknown key is refused, since it would go unchecked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    name: String,
    stream: String,
    tasks: usize,
    features: usize,
    simultaneous: bool,
    /// Passes over the stream; one if left out.
    #[serde(default = "one")]
    passes: u32,
    learner: Value,
    /// Which labels are asked for; all if left out.
    #[serde(default)]
    query: QueryConfig,
    #[serde(rename = "note")]
    _note: Option<String>,
    expected: Expected,
}

fn one() -> u32 {
    1
}

/// What is compared; a vector may hold more, which its learner's own tests check.
#[derive(Deserialize)]
struct Expected {
    margins: Option<Vec<f64>>,
    mistaken_lines: Option<Vec<usize>>,
    mistake_count: Option<usize>,
    mistakes_per_task: Option<Vec<u64>>,
    weights: Option<Vec<Vec<f64>>>,
    #[serde(rename = "A_inverse", alias = "R")]
    relation: Option<Vec<Vec<f64>>>,
    /// How far the run stays from taking another branch.
    smallest_decision_gap: f64,
    support_tasks_from_1: Option<Vec<usize>>,
    /// Coefficients of the supports: labels, or (aI + G)^-1 y.
    #[serde(alias = "support_labels")]
    dual_coefficients: Option<Vec<f64>>,
    cumulative_shared_loss: Option<f64>,
    /// For a query: a label is asked for when its draw is below its probability.
    draws: Option<Vec<f64>>,
    probabilities: Option<Vec<f64>>,
    asked: Option<Vec<u8>>,
    queries: Option<u64>,
    /// What all tasks share, and the parts of each.
    #[serde(alias = "global")]
    u: Option<Vec<f64>>,
    #[serde(rename = "P")]
    individual: Option<Vec<Vec<f64>>>,
    #[serde(rename = "Q")]
    outlier: Option<Vec<Vec<f64>>>,
}

/// Files of a folder with the given extension, by stem.
fn files(folder: &Path, extension: &str) -> BTreeMap<String, PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path))
        .collect()
}

fn vectors() -> Vec<Vector> {
    let read = |(stem, path): (String, PathBuf)| {
        let vector: Vector = serde_json::from_slice(&fs::read(&path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(vector.name, stem);
        vector
    };
    let mut files = files(&folder(), "json");
    // Of another form, with evictions: tests/it/budget.rs.
    assert!(files.remove("budget").is_some());
    // A fit, without rounds: tests/it/convex.rs.
    assert!(files.remove("batch").is_some());
    let vectors: Vec<Vector> = files.into_iter().map(read).collect();
    assert!(!vectors.is_empty());
    vectors
}

/// The learner's config; panics if it is not registered.
fn learner(vector: &Vector) -> LearnerConfig {
    serde_json::from_value(vector.learner.clone()).unwrap_or_else(|error| panic!("{}: {error}", vector.name))
}

/// A vector and the run that is compared with it.
struct Comparison<'a> {
    vector: &'a Vector,
    model: &'a Model,
    reports: &'a [RoundReport],
}

impl Comparison<'_> {
    fn close(&self, what: &str, found: f64, expected: f64) {
        let gap = (found - expected).abs();
        assert!(
            gap <= 1e-9 * (1.0 + expected.abs()),
            "{}: {what} is {found}, expected {expected}",
            self.vector.name
        );
    }

    /// The task that the vector's row `row` is about.
    fn task(&self, row: usize) -> TaskId {
        self.model.tasks().find(&(row + 1).to_string()).unwrap()
    }

    fn margins(&self, expected: &[f64]) {
        assert_eq!(self.reports.len(), expected.len(), "{}", self.vector.name);
        for (line, (report, expected)) in self.reports.iter().zip(expected).enumerate() {
            self.close(&format!("the margin of line {line}"), report.margin, *expected);
        }
    }

    fn mistaken_lines(&self, expected: &[usize]) {
        let mistaken = self.reports.iter().enumerate().filter(|(_, report)| report.mistake);
        let lines: Vec<usize> = mistaken.map(|(line, _)| line).collect();
        assert_eq!(lines, expected, "{}", self.vector.name);
    }

    fn mistakes_per_task(&self, expected: &[u64]) {
        assert_eq!(self.vector.tasks, expected.len());
        let count = |row| self.model.metrics().task(self.task(row)).mistakes;
        let counts: Vec<u64> = (0..expected.len()).map(count).collect();
        assert_eq!(counts, expected, "{}", self.vector.name);
    }

    fn weights(&self, expected: &[Vec<f64>]) {
        assert_eq!(self.vector.tasks, expected.len());
        for (row, expected) in expected.iter().enumerate() {
            let weights = self.model.learner().as_inspect().weights(self.task(row));
            self.vector_of(&format!("task {row}"), weights, expected);
        }
    }

    fn vector_of(&self, what: &str, found: Vec<(u32, f64)>, expected: &[f64]) {
        assert_eq!(self.vector.features, expected.len());
        let found: BTreeMap<u32, f64> = found.into_iter().collect();
        for (feature, expected) in expected.iter().enumerate() {
            let weight = found.get(&(feature as u32)).copied().unwrap_or(0.0);
            self.close(&format!("the weight of {what}, feature {feature}"), weight, *expected);
        }
    }

    fn part(&self, part: Part, row: usize, expected: &[f64]) {
        let found = self.model.learner().as_inspect().part(part, self.task(row)).unwrap();
        self.vector_of(&format!("task {row}, {part:?} part"), found, expected);
    }

    /// Checks that norms are those of the parts, and that outliers are the tasks with an outlier part.
    fn norms(&self, shared: &[f64], individual: &[Vec<f64>], outlier: &[Vec<f64>]) {
        let norm = |weights: &[f64]| weights.iter().map(|weight| weight * weight).sum::<f64>().sqrt();
        let tasks: Vec<TaskId> = (0..self.vector.tasks).map(|row| self.task(row)).collect();
        let parts = self.model.learner().as_inspect().parts(&tasks).unwrap();
        assert_eq!((individual.len(), outlier.len()), (self.vector.tasks, self.vector.tasks));
        for (row, (p, q)) in individual.iter().zip(outlier).enumerate() {
            let found = parts[row];
            self.close("the norm of u", found.shared, norm(shared));
            self.close(&format!("the norm of p of task {row}"), found.individual, norm(p));
            self.close(&format!("the norm of q of task {row}"), found.outlier, norm(q));
            assert_eq!(found.outlier_active, norm(q) > 0.0, "{}", self.vector.name);
        }
    }

    fn supports(&self) -> Vec<Support> {
        let supports = self.model.learner().as_inspect().supports().unwrap();
        let lines: Vec<usize> = supports.iter().map(|support| support.example as usize - 1).collect();
        assert_eq!(Some(lines), self.vector.expected.mistaken_lines, "{}", self.vector.name);
        supports
    }

    fn support_tasks(&self, expected: &[usize]) {
        let tasks: Vec<TaskId> = self.supports().iter().map(|support| support.task).collect();
        let expected: Vec<TaskId> = expected.iter().map(|task| self.task(task - 1)).collect();
        assert_eq!(tasks, expected, "{}", self.vector.name);
    }

    fn coefficients(&self, expected: &[f64]) {
        let supports = self.supports();
        assert_eq!(supports.len(), expected.len(), "{}", self.vector.name);
        for (at, (support, expected)) in supports.iter().zip(expected).enumerate() {
            self.close(&format!("the coefficient of support {at}"), support.coefficient, *expected);
        }
    }

    /// The sum over the rounds of the norm of the hinge losses.
    fn shared_loss(&self, expected: f64) {
        let norm = &self.vector.learner["shared-loss-perceptron"]["norm"];
        let norm: LossNorm = serde_json::from_value(norm.clone()).unwrap();
        let round = |reports: &[RoundReport]| {
            let losses: Vec<f64> = reports.iter().map(|x| (1.0 - x.label * x.margin).max(0.0)).collect();
            norm.of(&losses)
        };
        self.close("the shared loss", self.reports.chunks(self.vector.tasks).map(round).sum(), expected);
    }

    fn asked(&self, expected: &[u8]) {
        let asked: Vec<u8> = self.reports.iter().map(|report| u8::from(report.queried)).collect();
        assert_eq!(asked, expected, "{}", self.vector.name);
        let idle = self.reports.iter().all(|report| report.queried || !report.updated);
        assert!(idle, "{}: a label that was not asked for was learnt", self.vector.name);
    }

    /// Only those that follow from the margin alone: where R is learnt, its earlier values are gone.
    fn probabilities(&self, expected: &[f64]) {
        let query = self.vector.query;
        assert_eq!(self.reports.len(), expected.len(), "{}", self.vector.name);
        if matches!(query, QueryConfig::Margin(_)) {
            for (line, (report, expected)) in self.reports.iter().zip(expected).enumerate() {
                let found =
                    query
                        .probability(self.model.learner().as_inspect(), report.task, report.margin, &|| None);
                self.close(&format!("the probability of line {line}"), found, *expected);
            }
        }
    }

    fn relation(&self, expected: &[Vec<f64>]) {
        assert_eq!(self.vector.tasks, expected.len());
        for (to, row) in expected.iter().enumerate() {
            for (from, expected) in row.iter().enumerate() {
                let found = self.model.learner().as_inspect().relation(self.task(to), self.task(from));
                self.close(&format!("R[{to}, {from}]"), found, *expected);
            }
        }
    }
}

#[test]
fn every_vector_agrees() {
    for vector in vectors() {
        let config = json!({
            "tasks": vector.tasks,
            "features": vector.features,
            "stream": {"simultaneous": vector.simultaneous},
            "learner": learner(&vector),
            "query": vector.query,
        });
        let mut model = harness::model(&config);
        let text = fs::read_to_string(folder().join(&vector.stream)).unwrap();
        let reports = match vector.expected.draws.clone() {
            None => harness::learn_passes(&mut model, &text, vector.passes),
            Some(draws) => harness::learn_by(&mut model, &text, Draws::Given(draws)),
        };
        let comparison = Comparison { vector: &vector, model: &model, reports: &reports };
        let Expected {
            margins,
            mistaken_lines,
            mistake_count,
            mistakes_per_task,
            weights,
            relation,
            smallest_decision_gap,
            support_tasks_from_1,
            dual_coefficients,
            cumulative_shared_loss,
            draws,
            probabilities,
            asked,
            queries,
            u,
            individual,
            outlier,
        } = &vector.expected;
        // Any closer, and rounding would decide.
        assert!(*smallest_decision_gap > 1e-8, "{}", vector.name);
        let real = learner(&vector).kind() == Kind::Regression;
        assert!(margins.is_some() && mistaken_lines.is_some() != real, "{}", vector.name);
        if let Some(margins) = margins {
            comparison.margins(margins);
        }
        if let Some(lines) = mistaken_lines {
            comparison.mistaken_lines(lines);
        }
        if let Some(count) = mistake_count {
            assert_eq!(model.metrics().total().mistakes, *count as u64, "{}", vector.name);
        }
        if let Some(counts) = mistakes_per_task {
            comparison.mistakes_per_task(counts);
        }
        if let Some(weights) = weights {
            comparison.weights(weights);
        }
        if let Some(relation) = relation {
            comparison.relation(relation);
        }
        if let Some(tasks) = support_tasks_from_1 {
            comparison.support_tasks(tasks);
        }
        if let Some(coefficients) = dual_coefficients {
            comparison.coefficients(coefficients);
        }
        if let Some(loss) = cumulative_shared_loss {
            comparison.shared_loss(*loss);
        }
        // A vector with a query must have all four of these, one without it none.
        let said = [draws.is_some(), probabilities.is_some(), asked.is_some(), queries.is_some()];
        assert_eq!(said, [!vector.query.is_all(); 4], "{}", vector.name);
        if let Some(probabilities) = probabilities {
            comparison.probabilities(probabilities);
        }
        if let Some(asked) = asked {
            comparison.asked(asked);
        }
        if let Some(queries) = queries {
            assert_eq!(model.metrics().total().queries, *queries, "{}", vector.name);
        }
        if let Some(u) = u {
            comparison.part(Part::Shared, 0, u);
        }
        for (part, rows) in [(Part::Individual, individual), (Part::Outlier, outlier)] {
            let rows = rows.iter().flatten().enumerate();
            rows.for_each(|(row, expected)| comparison.part(part, row, expected));
        }
        if let (Some(u), Some(individual), Some(outlier)) = (u, individual, outlier) {
            comparison.norms(u, individual, outlier);
        }
    }
}

#[test]
fn every_learner_has_a_file_a_registry_row_and_a_vector() {
    let registered: BTreeSet<String> = REGISTRY.iter().map(|about| about.id.to_owned()).collect();
    let mut tested: BTreeSet<String> =
        vectors().iter().map(|vector| learner(vector).id().to_owned()).collect();
    let budget: Value = serde_json::from_slice(&fs::read(folder().join("budget.json")).unwrap()).unwrap();
    let cases = budget["cases"].as_array().unwrap().iter();
    tested.extend(cases.flat_map(|case| case["learner"].as_object().unwrap().keys().cloned()));
    tested.insert("convex".to_owned());
    let algorithms = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/algorithms");
    let mut written: BTreeSet<String> = files(&algorithms, "rs").into_keys().collect();
    assert!(written.remove("mod"));
    let written: BTreeSet<String> = written.iter().map(|stem| stem.replace('_', "-")).collect();
    assert_eq!(written, registered, "files of src/algorithms against the registry");
    assert_eq!(tested, registered, "vectors against the registry");
}

#[test]
fn every_interaction_has_a_vector() {
    let named: BTreeSet<String> = vectors()
        .iter()
        .filter_map(|vector| match &vector.learner["perceptron"]["interaction"] {
            Value::String(name) => Some(name.clone()),
            Value::Object(choice) => choice.keys().next().cloned(),
            _ => None,
        })
        .collect();
    let all = ["coupled", "graph", "independent", "matrix", "pairwise", "pooled"];
    assert_eq!(named.iter().map(String::as_str).collect::<Vec<_>>(), all);
}

#[test]
#[expect(clippy::print_stderr, reason = "a test says when it could not look")]
fn the_copies_are_those_of_the_shared_folder() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors");
    if !shared.is_dir() {
        eprintln!("skipped: {} is not there", shared.display());
        return;
    }
    // These are made by the scripts beside them.
    let made = [
        "adaptive_",
        "matrix_auto",
        "passive_aggressive_",
        "relation_",
        "shared_kernel_",
        "stream_again",
        "stream_rare",
    ];
    let copied = |path: &&PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        !made.iter().any(|prefix| name.starts_with(prefix))
    };
    let (json, svm) = (files(&folder(), "json"), files(&folder(), "svm"));
    for path in json.values().chain(svm.values()).filter(copied) {
        let original = shared.join(path.file_name().unwrap());
        assert!(
            fs::read(path).unwrap() == fs::read(&original).unwrap(),
            "{} differs from {}",
            path.display(),
            original.display()
        );
    }
}
