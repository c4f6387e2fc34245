//! The methods of LR11's tables, and how each is tuned.

use cognate::SparseView;
use cognate::stream::Memory;
use serde_json::{Value, json};

use super::streams::Set;
use crate::Lab;
use crate::data;
use crate::runs::{Passed, Way, mistakes, pass, rearranged, shuffled, steps};

/// Rows of the tables, the paper's first.
pub(super) const STL: usize = 0;
pub(super) const IPL: usize = 1;
pub(super) const CMTL: usize = 2;
pub(super) const BATCHOPT: usize = 3;
pub(super) const COV: usize = 4;
pub(super) const LOG: usize = 5;
pub(super) const VON: usize = 6;
/// How many are the paper's.
pub(super) const METHODS: usize = 7;
const COV_KEPT: usize = 7;
const LOG_KEPT: usize = 8;
const LOG_A: usize = 9;
const CMTL_CHOSEN: usize = 10;
const BATCHOPT_CHOSEN: usize = 11;
pub(super) const COV_CONTROL: usize = 12;
pub(super) const LOG_CONTROL: usize = 13;

const NAMES: [&str; 14] = [
    "STL",
    "IPL",
    "CMTL",
    "BATCHOPT",
    "OMTLCOV",
    "OMTLLOG",
    "OMTLVON",
    "OMTLCOV, trace kept",
    "OMTLLOG, trace kept",
    "OMTLLOG, A multiplies",
    "CMTL, b chosen",
    "BATCHOPT, start chosen",
    "IPL, step of OMTLCOV",
    "IPL, step of OMTLLOG",
];

/// The rows whose steps two others take over.
fn paced_by(at: usize) -> Option<usize> {
    match at {
        COV_CONTROL => Some(COV),
        LOG_CONTROL => Some(LOG),
        _ => None,
    }
}

/// A row of a table.
#[derive(Clone)]
pub(super) struct Row {
    at: usize,
    pub(super) name: &'static str,
    way: Way,
    /// The learner whose steps those of `way` follow.
    paced_by: Option<Way>,
}

impl Row {
    /// The same with labels asked for: by the relation where one is learnt, else by a fixed parameter. The control has
    /// no such form.
    pub(super) fn asking(mut self) -> Option<Self> {
        let relation = matches!(self.at, COV..=LOG_A);
        self.way.query = if relation { json!("relation") } else { json!({ "margin": { "b": 1.0 } }) };
        self.paced_by.is_none().then_some(self)
    }

    /// The same with R moving from this share of the stream on.
    pub(super) fn primed(&self, epoch: f64) -> Self {
        let mut row = self.clone();
        for way in std::iter::once(&mut row.way).chain(&mut row.paced_by) {
            if let Some(parameters) = way.learner.get_mut("relation-perceptron") {
                parameters["priming"] = json!(percent(epoch));
            }
        }
        row
    }

    /// One pass over a shuffle.
    pub(super) fn pass(&self, lab: &Lab, stream: &Memory, seed: u64) -> anyhow::Result<Passed> {
        let Some(pace) = &self.paced_by else { return pass(lab, &self.way, shuffled(stream, seed)) };
        // A Perceptron's prediction does not depend on the length of an example, and its step does.
        let stream = rearranged(stream, seed);
        let steps = steps(lab, pace, stream.clone())?;
        let scaled =
            |at: usize, row: SparseView<'_>| row.iter().map(|(x, value)| (x, steps[at] * value)).collect();
        pass(lab, &self.way, data::changed(&stream, scaled)?)
    }
}

fn percent(epoch: f64) -> String {
    format!("{}%", (100.0 * epoch).round())
}

/// How parameters are chosen, in words.
pub(super) fn tuning(lab: &Lab) -> String {
    format!("parameters by mistakes on {} other shuffles", tuning_seeds(lab).count())
}

/// The shuffles for tuning, none of which is reported.
fn tuning_seeds(lab: &Lab) -> std::ops::RangeInclusive<u64> {
    101..=lab.choose(101, 103)
}

/// What R is multiplied with at first; it says how long the step is once R has become a function of the weights.
fn starts(lab: &Lab) -> Vec<f64> {
    lab.choose(vec![0.3, 10.0, 100.0], vec![0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0])
}

/// The candidates of a method, with R moving in the second half of the stream.
pub(super) fn candidates(lab: &Lab, at: usize, tasks: usize) -> Vec<Value> {
    let perceptron = |interaction: Value| json!({ "perceptron": { "interaction": interaction } });
    let relation = |more: Value| {
        let mut parameters = json!({ "priming": percent(0.5) });
        if let (Some(all), Value::Object(more)) = (parameters.as_object_mut(), more) {
            all.extend(more);
        }
        json!({ "relation-perceptron": parameters })
    };
    let rescaled = |rule: &str| relation(json!({ "relation": rule }));
    // As printed: nothing keeps the trace, and nothing is mixed in.
    let printed = |rule: &str, start: f64| {
        relation(json!({ "relation": rule, "trace": "none", "shrink": 0.0, "start": start }))
    };
    let starting = |rule: &'static str| -> Vec<Value> {
        let all = starts(lab);
        all.into_iter().map(|start| printed(rule, start)).chain([rescaled(rule)]).collect()
    };
    let kept = |rule: &str, etas: &[f64]| -> Vec<Value> {
        etas.iter().map(|eta| relation(json!({ "relation": rule, "eta": eta }))).collect()
    };
    let literal = |rule: &str, etas: &[f64]| -> Vec<Value> {
        let with = |eta| relation(json!({ "relation": rule, "multiplier": "a", "start": 1.0, "eta": eta }));
        etas.iter().map(with).collect()
    };
    let upwards: &[f64] = lab.choose(&[1e-3, 1e-2], &[1e-4, 1e-3, 1e-2, 1e-1]);
    let downwards: &[f64] = lab.choose(&[1e-5, 1e-4], &[1e-6, 1e-5, 1e-4, 1e-3, 1e-2]);
    match at {
        STL => vec![perceptron(json!("pooled"))],
        IPL | COV_CONTROL | LOG_CONTROL => vec![perceptron(json!("independent"))],
        // (2.2): 2/(K+1) for the task itself, 1/(K+1) for the others.
        CMTL => vec![perceptron(json!("pairwise"))],
        CMTL_CHOSEN => [1, 4, 16, tasks].map(|b| perceptron(json!({ "coupled": { "b": b } }))).to_vec(),
        // Algorithm 1 starts at trace 1, which (3.10) keeps.
        BATCHOPT => {
            vec![relation(json!({ "relation": "batch-optimal", "trace": "start", "shrink": 0.0 }))]
        }
        BATCHOPT_CHOSEN => starting("batch-optimal"),
        COV => starting("covariance"),
        COV_KEPT => vec![rescaled("covariance")],
        LOG => [kept("log-det", upwards), literal("log-det", downwards)].concat(),
        LOG_KEPT => kept("log-det", upwards),
        LOG_A => literal("log-det", downwards),
        _ => [kept("von-neumann", upwards), literal("von-neumann", downwards)].concat(),
    }
}

/// The tuned rows of a set, and a note on what was chosen.
pub(super) fn tuned_rows(lab: &Lab, set: &Set) -> anyhow::Result<(Vec<Row>, String)> {
    let tasks = data::task_names(&set.train).len();
    let tuning: Vec<Memory> = tuning_seeds(lab).map(|seed| shuffled(&set.train, seed)).collect();
    let mut rows: Vec<Row> = Vec::new();
    let mut chosen = Vec::new();
    for (at, name) in NAMES.into_iter().enumerate() {
        let all: Vec<Way> = candidates(lab, at, tasks).into_iter().map(Way::new).collect();
        let key = format!("LR11, {} by {name}, chosen", set.name);
        let best =
            if all.len() > 1 { lab.known.or_make(&key, || fewest(lab, name, &all, &tuning))? } else { 0 };
        let way = all[best].clone();
        if all.len() > 1 {
            chosen.push(format!("{name} {}", way.learner));
        }
        let paced_by = paced_by(at).map(|of| rows[of].way.clone());
        rows.push(Row { at, name, way, paced_by });
    }
    Ok((rows, format!("{}: {}.", set.name, chosen.join("; "))))
}

/// The way with the fewest mistakes on some streams together.
fn fewest(lab: &Lab, name: &str, ways: &[Way], streams: &[Memory]) -> anyhow::Result<usize> {
    let mut sums = vec![0_u64; ways.len()];
    for stream in streams {
        let found = mistakes(lab, name, ways, stream)?;
        sums.iter_mut().zip(found).for_each(|(sum, found)| *sum = sum.saturating_add(found));
    }
    Ok((0..ways.len()).min_by_key(|at| sums[*at]).unwrap_or(0))
}
