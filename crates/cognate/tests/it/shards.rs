//! Do shards learn by the schedule, whatever the threads, the batches and the breaks?

use std::fs;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use cognate::run::{Observer, Progress, RoundReport, RunOptions, UnlabelledReport};
use cognate::stream::Labels;
use cognate::{Input, Metrics, Model, ReadOptions, RunConfig, Tasks};
use rand::RngExt;
use serde_json::{Value, json};

/// All learners that take shards, in forms that share something, nothing and everything.
const LEARNERS: [&str; 6] = [
    r#"{"perceptron": {"interaction": {"coupled": {"b": 3}}}}"#,
    r#"{"perceptron": {"interaction": "independent"}}"#,
    r#"{"perceptron": {"interaction": "pooled"}}"#,
    r#"{"perceptron": {"interaction": "pairwise"}}"#,
    r#"{"passive-aggressive": {"scope": "global"}}"#,
    r#"{"passive-aggressive": {"scope": "individual", "variant": "pa2"}}"#,
];

fn config(learner: &Value, shards: &Value) -> RunConfig {
    serde_json::from_value(json!({ "learner": learner, "shards": shards })).unwrap()
}

fn parsed(learner: &str) -> Value {
    serde_json::from_str(learner).unwrap()
}

/// Margins, in the order of the stream.
#[derive(Default)]
struct Margins(Vec<f64>);

impl Observer for Margins {
    fn observe(&mut self, report: &RoundReport, _: &Tasks, _: &Metrics) {
        self.0.push(report.margin);
    }

    fn observe_unlabelled(&mut self, report: &UnlabelledReport<'_>, _: &Tasks, _: &Metrics) {
        self.0.push(report.margin);
    }

    fn batch_done(&mut self, _: Progress, _: &Model) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Learns a text; gives its margins.
fn learn(model: &mut Model, text: &str, threads: usize) -> Vec<f64> {
    let input = Input::Bytes { name: "text".to_owned(), bytes: text.as_bytes().into() };
    let mut reader = model.reader(vec![input], ReadOptions::default().labels(Labels::Optional)).unwrap();
    let threads = NonZeroUsize::new(threads).unwrap();
    let mut margins = Margins::default();
    model.learn(&mut reader, &RunOptions { threads, ..RunOptions::default() }, &mut margins).unwrap();
    margins.0
}

/// Lines of tasks that come one after the other, some of them without labels.
fn lines(count: usize, tasks: u32, features: u32, seed: u64) -> Vec<String> {
    let mut rng = cognate::internal::generator(seed, 0);
    let line = |at: usize| {
        let task = rng.random_range(0..tasks.min(2 + at as u32 / 4));
        let mut sum = 0.0;
        let values: Vec<String> = (1..=features)
            .filter_map(|index| {
                let value = (rng.random::<f64>() - 0.5) * 2.0;
                sum += value * f64::from(1 + index % 5) + value * f64::from(task % 3);
                rng.random_bool(0.8).then(|| format!("{index}:{value}"))
            })
            .collect();
        let label = if at % 17 == 3 {
            "?"
        } else if sum > 0.0 {
            "+1"
        } else {
            "-1"
        };
        format!("{label} task:t{task} {}\n", values.join(" "))
    };
    (0..count).map(line).collect()
}

#[test]
fn margins_are_those_of_the_plain_reference() {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/shards");
    let text = fs::read_to_string(folder.join("stream.svm")).unwrap();
    let mut compared = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let case: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let mut model = Model::new(&config(&case["learner"], &case["shards"])).unwrap();
        let margins = learn(&mut model, &text, 2);
        let expected: Vec<f64> = serde_json::from_value(case["margins"].clone()).unwrap();
        assert!(case["smallest_margin"].as_f64().unwrap() > 1e-7, "no label hangs on rounding");
        assert_eq!(margins.len(), expected.len());
        for (line, (found, expected)) in margins.iter().zip(&expected).enumerate() {
            let place = format!("{}: line {}: {found}, {expected}", path.display(), line + 1);
            assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{place}");
        }
        let report = model.learner().as_inspect().shards().unwrap();
        assert_eq!(json!([report.rounds, report.scaled]), json!([case["rounds"], case["scaled"]]));
        compared += 1;
    }
    assert_eq!(compared, 8);
}

#[test]
fn one_shard_is_the_learner_of_one_stream() {
    let text = lines(400, 20, 8, 1).concat();
    for learner in LEARNERS.map(parsed) {
        let bytes = [json!({}), json!({ "count": 1 })].map(|shards| {
            let mut model = Model::new(&config(&learner, &shards)).unwrap();
            learn(&mut model, &text, 2);
            assert_eq!(model.learner().as_inspect().shards(), None);
            model.to_bytes()
        });
        assert_eq!(bytes[0], bytes[1]);
        assert!(!String::from_utf8_lossy(&bytes[0]).contains("shard"));
    }
}

#[test]
fn tasks_that_share_nothing_do_not_notice_shards() {
    let text = lines(400, 20, 8, 2).concat();
    for learner in [LEARNERS[1], LEARNERS[5]].map(parsed) {
        let margins = [json!({}), json!({ "count": 7, "mix": 30 })]
            .map(|shards| learn(&mut Model::new(&config(&learner, &shards)).unwrap(), &text, 2));
        assert_eq!(margins[0], margins[1]);
    }
}

/// Rounds are long enough here for several threads to take part.
#[test]
fn threads_batches_and_breaks_do_not_matter() {
    let lines = lines(2500, 60, 30, 3);
    for learner in LEARNERS.map(parsed) {
        for shards in
            [json!({ "count": 5, "mix": 900 }), json!({ "count": 16 }), json!({ "count": 2, "mix": 1 })]
        {
            let fresh = || Model::new(&config(&learner, &shards)).unwrap();
            let mut whole = fresh();
            let margins = learn(&mut whole, &lines.concat(), 1);
            for threads in [2, 4] {
                let mut other = fresh();
                assert_eq!(learn(&mut other, &lines.concat(), threads), margins, "{learner} {shards}");
                assert!(other.to_bytes() == whole.to_bytes(), "{learner} {shards}: {threads} threads");
            }
            // Breaks within rounds, and a line that is learnt alone.
            let (mut broken, mut found, mut start) = (fresh(), Vec::new(), 0);
            for end in [1, 2, 700, 701, 1800, 2500] {
                found.extend(learn(&mut broken, &lines[start..end].concat(), 1 + start % 2));
                broken = Model::from_bytes(&broken.to_bytes()).unwrap();
                start = end;
            }
            assert_eq!(found, margins, "{learner} {shards}");
            assert_eq!(counts_aside(&broken), counts_aside(&whole), "{learner} {shards}");
        }
    }
}

/// What a model predicts, and how its rounds went: counts of examples seen again follow runs.
fn counts_aside(model: &Model) -> (Vec<f64>, String) {
    let names: Vec<String> = model.tasks().names().map(str::to_owned).chain(["nobody".to_owned()]).collect();
    let x = [(1_u32, 1.0), (2, -0.5), (7, 2.0)];
    let margins = names.iter().map(|task| model.predict_one(task, &x[..]).unwrap().margin).collect();
    (margins, format!("{:?}", model.learner().as_inspect().shards()))
}

#[test]
fn weights_explain_margins_within_a_round() {
    let text = lines(300, 12, 8, 4).concat();
    for learner in LEARNERS.map(parsed) {
        let mut model = Model::new(&config(&learner, &json!({ "count": 4, "mix": 77 }))).unwrap();
        learn(&mut model, &text, 1);
        let inspect = model.learner().as_inspect();
        let shared = inspect.shared_vectors();
        for task in model.tasks().names() {
            let task = model.task(task).unwrap();
            let mut sum = [0.0; 10];
            let own = inspect.own_weights(task);
            own.own.iter().for_each(|(feature, weight)| sum[*feature as usize] += weight);
            for (vector, factor) in shared.iter().zip(&own.factors) {
                vector.weights.iter().for_each(|(feature, weight)| sum[*feature as usize] += factor * weight);
            }
            let mut whole = [0.0; 10];
            inspect.weights(task).iter().for_each(|(feature, weight)| whole[*feature as usize] += weight);
            for feature in 1..=8_u32 {
                let margin = model.predict_one(model.tasks().name(task), &[(feature, 1.0)]).unwrap().margin;
                assert!((margin - sum[feature as usize]).abs() < 1e-12, "{learner}");
                assert!((margin - whole[feature as usize]).abs() < 1e-12, "{learner}");
            }
        }
    }
}

#[test]
fn a_task_can_be_forgotten_within_a_round() {
    let text = lines(300, 12, 8, 5).concat();
    for learner in LEARNERS.map(parsed) {
        let mut model = Model::new(&config(&learner, &json!({ "count": 3, "mix": 77 }))).unwrap();
        learn(&mut model, &text, 1);
        let before = model.learner().as_inspect().shards().unwrap();
        model.forget_task("t1").unwrap();
        let after = model.learner().as_inspect().shards().unwrap();
        assert_eq!(after.rounds, before.rounds + 1, "{learner}: the round is over");
        // The round is over now, and nothing else changes for the others.
        let margins = |model: &Model| counts_aside(model).0;
        let margins_before = margins(&model);
        model.forget_task("t2").unwrap();
        assert_eq!(model.learner().as_inspect().shards().unwrap().rounds, after.rounds, "{learner}");
        let names: Vec<String> = model.tasks().names().map(str::to_owned).collect();
        assert!(!names.contains(&"t1".to_owned()) && !names.contains(&"t2".to_owned()));
        let kept = margins(&model);
        assert!(kept.len() + 1 == margins_before.len());
        let found = |margin: &f64| margins_before.iter().any(|known| (known - margin).abs() < 1e-12);
        assert!(kept[..kept.len() - 1].iter().all(found), "{learner}: {kept:?} {margins_before:?}");
        model = Model::from_bytes(&model.to_bytes()).unwrap();
        learn(&mut model, &text, 2);
    }
}

#[test]
fn what_is_wrong_with_shards_is_said() {
    let problems = |json: Value| {
        let config: RunConfig = serde_json::from_value(json).unwrap();
        Model::new(&config).unwrap_err().to_string()
    };
    let of = |learner: Value, shards: Value| problems(json!({ "learner": learner, "shards": shards }));
    assert_eq!(
        of(json!("perceptron"), json!({ "count": 0 })),
        "shards.count: must be from 1 to 65536, got 0"
    );
    assert_eq!(
        of(json!("perceptron"), json!({ "count": 4, "mix": 0 })),
        "shards.mix: must be \"auto\" or at least 1, got 0; 1 mixes after every example"
    );
    assert_eq!(
        of(json!("perceptron"), json!({ "mix": 10 })),
        "shards.mix: there is one shard, which has nothing to mix; set the number of shards as well"
    );
    assert_eq!(
        problems(json!({ "tasks": 3, "learner": "perceptron", "shards": { "count": 4 } })),
        "shards.count: 4 shards for 3 declared tasks; at most one per task"
    );
    let auto = json!({ "perceptron": { "interaction": { "coupled": { "b": "auto" } } } });
    let graph = json!({ "perceptron": { "interaction": { "graph": { "edges": [["a", "b"]] } } } });
    for learner in [auto, graph, json!("adaptive"), json!("relation-perceptron"), json!("convex")] {
        let message = of(learner.clone(), json!({ "count": 2 }));
        assert!(message.contains("learns in one shard only: "), "{learner}: {message}");
    }
    for about in cognate::REGISTRY {
        let refused = Model::new(&config(&json!(about.id), &json!({ "count": 2 }))).is_err();
        assert_eq!(refused, !about.shardable, "{}", about.id);
    }
}
