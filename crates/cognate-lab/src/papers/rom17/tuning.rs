//! How ROM17's learners are tuned: by mistakes on a stream that is not reported.

use std::collections::BTreeMap;

use cognate::stream::Memory;
use serde_json::{Map, Value, json};

use crate::Lab;
use crate::data;
use crate::runs::{Way, shuffled, tuned};

use super::{COML, COML_2, MULTI, OMTL, PA, PA_GLOBAL, PA_I, PA_I_GLOBAL, PGD, PT, PT_GLOBAL};

/// What is made as small as possible, of candidates on the stream for tuning.
pub(super) type Measure<'a> = dyn Fn(&[Way]) -> anyhow::Result<Vec<u64>> + 'a;

/// Powers of ten, both ends included.
pub(super) fn powers(from: i32, to: i32) -> Vec<f64> {
    (from..=to).map(|power| 10_f64.powi(power)).collect()
}

/// The parameters of a learner and the values to choose from.
pub(super) struct Grid {
    id: &'static str,
    axes: Vec<(&'static str, Vec<Value>)>,
}

fn values(numbers: &[f64]) -> Vec<Value> {
    numbers.iter().map(|number| json!(number)).collect()
}

impl Grid {
    fn penalties(id: &'static str, first: &'static str, powers_of_first: &[f64]) -> Self {
        let penalty = |name| (name, values(&powers(-6, 3)));
        Self {
            id,
            axes: vec![(first, values(powers_of_first)), penalty("alpha"), penalty("beta"), penalty("gamma")],
        }
    }

    /// ROM-PGD's, as in the paper.
    pub(super) fn pgd() -> Self {
        Self::penalties("rom-pgd", "eta", &powers(-6, -1))
    }

    /// ROM-RDA's, as in the paper.
    pub(super) fn rda() -> Self {
        Self::penalties("rom-rda", "kappa", &powers(-3, 3))
    }

    /// Ours for ROM-PGD with steps that follow from the data.
    pub(super) fn pgd_auto() -> Self {
        let gammas = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8];
        Self { id: "rom-pgd", axes: vec![("eta", vec![json!("auto")]), ("gamma", values(&gammas))] }
    }

    /// COML's: only the ratio of `own` and `global` matters, and with it the step's cap c / (own + global).
    fn collaborative(lab: &Lab) -> Self {
        let (global, steps) = lab.choose(
            (vec![0.001, 0.03, 0.3], powers(-3, 0)),
            (vec![0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0], powers(-5, 1)),
        );
        let steps = values(&steps);
        let axes = vec![
            ("own", values(&[1.0])),
            ("global", values(&global)),
            ("c", steps.clone()),
            ("c-global", steps),
        ];
        Self { id: "collaborative", axes }
    }

    fn way(&self, at: &[usize], simultaneous: bool) -> Way {
        let values =
            self.axes.iter().zip(at).map(|((name, values), at)| ((*name).to_owned(), values[*at].clone()));
        let parameters: Map<String, Value> = values.collect();
        Way { simultaneous, ..Way::new(json!({ self.id: parameters })) }
    }

    /// The best combination found by searching along one axis after the other, repeatedly until none is better, from
    /// several starting points; in quick runs once from the middle.
    pub(super) fn best(&self, lab: &Lab, simultaneous: bool, measure: &Measure<'_>) -> anyhow::Result<Way> {
        let mut known: BTreeMap<Vec<usize>, u64> = BTreeMap::new();
        let mut best: Option<(u64, Vec<usize>)> = None;
        for quarters in lab.choose(vec![2], vec![2, 1, 3]) {
            let mut at: Vec<usize> =
                self.axes.iter().map(|(_, values)| values.len() * quarters / 4).collect();
            loop {
                let before = at.clone();
                for axis in 0..self.axes.len() {
                    let measure = |points: &[Vec<usize>]| {
                        measure(&points.iter().map(|at| self.way(at, simultaneous)).collect::<Vec<_>>())
                    };
                    at = self.best_along(axis, &at, &mut known, measure)?;
                }
                if lab.quick || at == before {
                    break;
                }
            }
            let end = (known[&at], at);
            best = Some(best.map_or_else(|| end.clone(), |best| best.min(end.clone())));
        }
        let (_, at) = best.expect("there is a beginning");
        Ok(self.way(&at, simultaneous))
    }

    /// The first of the best along an axis; `measure` is called for what is not known yet.
    fn best_along(
        &self,
        axis: usize,
        at: &[usize],
        known: &mut BTreeMap<Vec<usize>, u64>,
        measure: impl Fn(&[Vec<usize>]) -> anyhow::Result<Vec<u64>>,
    ) -> anyhow::Result<Vec<usize>> {
        let along = |value: usize| {
            let mut other = at.to_vec();
            other[axis] = value;
            other
        };
        let all: Vec<Vec<usize>> = (0..self.axes[axis].1.len()).map(along).collect();
        let new: Vec<Vec<usize>> = all.iter().filter(|at| !known.contains_key(*at)).cloned().collect();
        let found = measure(&new)?;
        known.extend(new.into_iter().zip(found));
        Ok(all.into_iter().min_by_key(|at| known[at]).unwrap_or_else(|| at.to_vec()))
    }
}

/// The stream on which parameters are chosen: a shuffle, in quick runs of a quarter of the examples.
pub(super) fn tuning_stream(lab: &Lab, stream: &Memory) -> Memory {
    if !lab.quick {
        return shuffled(stream, 0);
    }
    let mut some = Memory::new();
    stream.examples().step_by(4).for_each(|(task, example)| some.push(task, example));
    shuffled(&some, 0)
}

/// The mistakes on a stream; the largest number if a run diverges.
fn mistakes<'a>(lab: &'a Lab, what: &'a str, stream: &'a Memory) -> Box<Measure<'a>> {
    Box::new(move |ways| crate::runs::mistakes(lab, what, ways, stream))
}

/// The mistakes on some tasks of a stream.
fn mistakes_on<'a>(
    lab: &'a Lab,
    what: &'a str,
    stream: &'a Memory,
    wanted: &'a (dyn Fn(&str) -> bool + Sync),
) -> Box<Measure<'a>> {
    Box::new(move |ways| {
        lab.pool.all(what, ways, |way| {
            let passed = crate::runs::pass(lab, way, stream.clone())?;
            let (tasks, metrics) = (passed.model.tasks(), passed.model.metrics());
            let some = tasks.sorted().into_iter().filter(|task| wanted(tasks.name(*task)));
            Ok(some.map(|task| metrics.task(task).mistakes).sum())
        })
    })
}

/// The candidates for the relation of OMTL-B: the paper's three rules and when R begins to move.
fn relations(lab: &Lab) -> Vec<Value> {
    let (log_det, von_neumann) =
        lab.choose((powers(-3, -2), powers(-4, -3)), (powers(-5, -2), powers(-6, -3)));
    let mut all = Vec::new();
    for priming in ["10%", "50%", "auto"] {
        let rule = |rule: &str, eta: f64| json!({ "relation-perceptron": { "relation": rule, "eta": eta, "priming": priming } });
        all.push(json!({ "relation-perceptron": { "relation": "covariance", "priming": priming } }));
        all.extend(log_det.iter().map(|eta| rule("log-det", *eta)));
        all.extend(von_neumann.iter().map(|eta| rule("von-neumann", *eta)));
    }
    all
}

/// A learner of the paper, tuned by online error on a stream, and a note on what was chosen.
fn tuned_way(lab: &Lab, name: &str, stream: &Memory, simultaneous: bool) -> anyhow::Result<(Way, String)> {
    let tasks = data::task_names(stream).len();
    let fixed = |learner: Value| vec![Way { simultaneous, ..Way::new(learner) }];
    let perceptron = |interaction: Value| json!({ "perceptron": { "interaction": interaction } });
    let passive =
        |scope: &str, variant: &str| json!({ "passive-aggressive": { "scope": scope, "variant": variant } });
    let search =
        |grid: Grid| grid.best(lab, simultaneous, &*mistakes(lab, name, stream)).map(|way| vec![way]);
    let ways: Vec<Way> = match name {
        PT => fixed(perceptron(json!("independent"))),
        PT_GLOBAL => fixed(perceptron(json!("pooled"))),
        PA => fixed(passive("individual", "pa")),
        PA_GLOBAL => fixed(passive("global", "pa")),
        PA_I => fixed(passive("individual", "pa1")),
        PA_I_GLOBAL => fixed(passive("global", "pa1")),
        MULTI => [0, 1, 2, 3, 5, 8, 12, 20, 30]
            .into_iter()
            .filter(|b| *b <= tasks)
            .flat_map(|b| fixed(perceptron(json!({ "coupled": { "b": b } }))))
            .collect(),
        OMTL => relations(lab).into_iter().flat_map(fixed).collect(),
        COML => search(Grid::collaborative(lab))?,
        COML_2 => {
            let related = |task: &str| task != "5";
            let measure = mistakes_on(lab, name, stream, &related);
            vec![Grid::collaborative(lab).best(lab, simultaneous, &*measure)?]
        }
        PGD => search(Grid::pgd())?,
        _ => search(Grid::rda())?,
    };
    let at = if ways.len() > 1 { tuned(lab, name, &ways, stream)? } else { 0 };
    let chosen = format!("{name} {}", ways[at].learner);
    Ok((ways[at].clone(), chosen))
}

/// The chosen ways of some learners.
pub(super) fn tuned_ways(
    lab: &Lab,
    names: &[&str],
    stream: &Memory,
    simultaneous: bool,
) -> anyhow::Result<(Vec<Way>, String)> {
    let (mut ways, mut chosen) = (Vec::new(), Vec::new());
    for name in names {
        let (way, parameters) = tuned_way(lab, name, stream, simultaneous)?;
        if ![PT, PT_GLOBAL, PA, PA_GLOBAL, PA_I, PA_I_GLOBAL].contains(name) {
            chosen.push(parameters);
        }
        ways.push(way);
    }
    Ok((ways, chosen.join("; ")))
}
