//! Labels that are asked for, labels that are not, and labels that are missing.

use crate::support::harness;
use crate::support::samples;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use crate::support::samples::samples;
use cognate::algorithms::Protocol;
use cognate::run::Draws;
use cognate::run::{Observer, Progress, RoundReport, RunOptions, Serve, UnlabelledReport};
use cognate::stream::{Input, Labels, Memory, Order, ReadOptions, Reader};
use cognate::{
    Example, LearnerConfig, Metrics, Model, REGISTRY, RunConfig, SparseView, Stream, TaskId, Tasks,
};
use serde_json::{Value, json};

const TASKS: usize = 4;

/// Learners that take one example at a time, with their defaults and other interactions.
fn one_task_learners() -> Vec<LearnerConfig> {
    let ids = REGISTRY.iter().filter(|about| about.protocol == Protocol::OneTask).map(|about| about.id);
    let mut learners: Vec<LearnerConfig> = ids.map(|id| LearnerConfig::from_id(id).unwrap()).collect();
    for interaction in [
        json!("independent"),
        json!({"coupled": {"b": "auto"}}),
        json!({"graph": {"edges": [["1", "2"], ["2", "4"]]}}),
    ] {
        let learner = json!({"perceptron": {"interaction": interaction}});
        learners.push(serde_json::from_value(learner).unwrap());
    }
    learners
}

/// Related tasks named from 1; every task in its turn, so that rounds are whole.
fn stream(seed: u64, count: usize) -> String {
    let mut samples = samples(seed, TASKS, 8, count);
    samples.iter_mut().enumerate().for_each(|(at, sample)| sample.task = at % TASKS);
    samples::text(&samples, |task| (task + 1).to_string())
}

fn config(learner: &LearnerConfig, query: &Value) -> Value {
    json!({"tasks": TASKS, "learner": learner, "query": query})
}

/// What decides about an example, to the bit.
fn decisions(reports: &[RoundReport]) -> Vec<(u64, u64, bool, bool)> {
    reports.iter().map(|x| (x.round, x.margin.to_bits(), x.updated, x.queried)).collect()
}

/// Everything in a model but its config.
fn state(model: &Model) -> (Vec<String>, u64, Metrics) {
    let weights = (0..model.tasks().len() as u32).map(|task| {
        let weights = model.learner().as_inspect().weights(TaskId(task)).into_iter();
        format!("{:?}", weights.map(|(feature, weight)| (feature, weight.to_bits())).collect::<Vec<_>>())
    });
    (weights.collect(), model.rounds(), model.metrics().clone())
}

/// Sees lines without a label too.
#[derive(Default)]
struct Watch {
    reports: Vec<RoundReport>,
    /// Round, margin, whether asked for, and the line.
    unlabelled: Vec<(u64, f64, bool, Option<String>)>,
}

impl Observer for Watch {
    fn observe(&mut self, report: &RoundReport, _: &Tasks, _: &Metrics) {
        self.reports.push(*report);
    }

    fn observe_unlabelled(&mut self, report: &UnlabelledReport<'_>, _: &Tasks, _: &Metrics) {
        assert!(report.example.label.is_nan());
        let text = report.text.map(|text| String::from_utf8(text.to_vec()).unwrap());
        self.unlabelled.push((report.round, report.margin, report.queried, text));
    }

    fn batch_done(&mut self, _: Progress, _: &Model) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

fn reader(model: &Model, text: &str, labels: Labels) -> Reader {
    let input = Input::Bytes { name: "text".to_owned(), bytes: text.as_bytes().into() };
    model.reader(vec![input], ReadOptions::default().labels(labels)).unwrap()
}

/// A model learns text whose lines need no label.
fn learn(model: &mut Model, text: &str, threads: usize) -> Watch {
    let mut watch = Watch::default();
    let mut reader = reader(model, text, Labels::Kept);
    let options = RunOptions { threads: NonZeroUsize::new(threads).unwrap(), ..RunOptions::default() };
    model.learn(&mut reader, &options, &mut watch).unwrap_or_else(|error| panic!("{error}"));
    watch
}

#[test]
fn asking_almost_surely_is_asking_always_to_the_bit() {
    let text = stream(1, 300);
    for learner in one_task_learners() {
        for simultaneous in [false, true] {
            let run = |query: Value| {
                let mut config = config(&learner, &query);
                config["stream"] = json!({"simultaneous": simultaneous});
                let mut model = harness::model(&config);
                let reports = harness::learn(&mut model, &text);
                (decisions(&reports), state(&model))
            };
            let all = run(json!("all"));
            assert!(
                all.0.iter().all(|(.., queried)| *queried) && all.0.iter().any(|(_, _, updated, _)| *updated)
            );
            assert!(run(json!({"margin": {"b": 1e300}})) == all, "{learner:?}, simultaneous: {simultaneous}");
            assert!(run(json!({"relation": {"scale": 1e300}})) == all, "{learner:?}, {simultaneous}");
        }
    }
}

#[test]
fn a_smaller_b_asks_for_fewer_labels() {
    let text = stream(2, 1200);
    for learner in one_task_learners() {
        for query in ["margin", "relation"] {
            let parameter = if query == "margin" { "b" } else { "scale" };
            let queries = [100.0, 3.0, 0.3, 0.03, 0.001].map(|b| {
                let mut model = harness::model(&config(&learner, &json!({query: {parameter: b}})));
                harness::learn(&mut model, &text);
                let total = *model.metrics().total();
                assert_eq!(total.examples, 1200, "every round counts");
                assert!(total.updates <= total.queries);
                let tasks = (0..TASKS as u32).map(|task| model.metrics().task(TaskId(task)).queries);
                assert_eq!(tasks.sum::<u64>(), total.queries);
                total.queries
            });
            assert!(queries.windows(2).all(|pair| pair[0] > pair[1]), "{learner:?} {query}: {queries:?}");
            assert!(queries[0] > 1000 && queries[4] < 200, "{learner:?} {query}: {queries:?}");
        }
    }
}

#[test]
fn only_labels_asked_for_are_learnt_and_mistakes_count_all_the_same() {
    let text = stream(3, 400);
    for learner in one_task_learners() {
        let mut model = harness::model(&config(&learner, &json!({"margin": {"b": 0.2}})));
        let reports = harness::learn(&mut model, &text);
        assert!(reports.iter().all(|report| report.queried || !report.updated));
        assert!(reports.iter().any(|report| report.mistake && !report.queried), "{learner:?}");
        let mistakes = reports.iter().filter(|report| report.mistake).count() as u64;
        assert_eq!(model.metrics().total().mistakes, mistakes);
        // Labels that were not asked for have no influence: flip them.
        let flipped: Vec<String> = (text.lines().zip(&reports))
            .map(|(line, report)| match (report.queried, line.strip_prefix("+1")) {
                (true, _) => line.to_owned(),
                (false, Some(rest)) => format!("-1{rest}"),
                (false, None) => line.replacen("-1", "+1", 1),
            })
            .collect();
        let mut other = harness::model(&config(&learner, &json!({"margin": {"b": 0.2}})));
        let again = harness::learn(&mut other, &flipped.join("\n"));
        assert!(decisions(&again) == decisions(&reports), "{learner:?}");
        assert!(state(&other).0 == state(&model).0, "{learner:?}");
    }
}

#[test]
fn a_resumed_run_asks_as_the_unbroken_one() {
    let text = stream(4, 300);
    let lines: Vec<&str> = text.lines().collect();
    // Some lines without a label: they take draws too.
    let lines: Vec<String> = (0..)
        .zip(lines)
        .map(
            |(at, line)| {
                if at % 5 == 3 { line.split_once(' ').unwrap().1.to_owned() } else { line.to_owned() }
            },
        )
        .collect();
    for learner in one_task_learners() {
        for query in [json!({"margin": {"b": 0.3}}), json!("relation")] {
            let config = config(&learner, &query);
            let mut unbroken = harness::model(&config);
            let whole = learn(&mut unbroken, &lines.join("\n"), 2);
            for cut in [0, 1, 77, 150, 299, 300] {
                let mut model = harness::model(&config);
                let first = learn(&mut model, &lines[..cut].join("\n"), 1);
                let mut resumed = Model::from_bytes(&model.to_bytes()).unwrap();
                let second = learn(&mut resumed, &lines[cut..].join("\n"), 1);
                let found = [decisions(&first.reports), decisions(&second.reports)].concat();
                assert!(found == decisions(&whole.reports), "{learner:?} {query}, cut after {cut}");
                let found = [first.unlabelled, second.unlabelled].concat();
                assert!(found == whole.unlabelled, "{learner:?} {query}, cut after {cut}");
                assert!(resumed.to_bytes() == unbroken.to_bytes(), "{learner:?} {query}, cut after {cut}");
            }
        }
    }
}

#[test]
fn the_seed_is_that_of_the_stream_and_the_model_keeps_it() {
    let text = stream(5, 300);
    let queried = |seed: u64| {
        let config = json!({"stream": {"seed": seed}, "query": {"margin": {"b": 0.2}}});
        let mut model = harness::model(&config);
        let reports = harness::learn(&mut model, &text);
        assert_eq!(Model::from_bytes(&model.to_bytes()).unwrap().config().seed, Some(seed));
        reports.iter().map(|report| report.queried).collect::<Vec<_>>()
    };
    assert!(queried(1) == queried(1) && queried(1) != queried(2));
    let plain = harness::model(&json!({"stream": {"seed": 9}}));
    assert_eq!(plain.config().seed, None, "without draws there is no seed to keep");
}

/// To tasks that share nothing it makes no difference whether they share rounds; draws go by the place in the stream.
#[test]
fn simultaneous_rounds_of_independent_tasks_are_rounds_of_one() {
    let text = stream(6, 400);
    let run = |simultaneous: bool| {
        let config = json!({
            "tasks": TASKS,
            "stream": {"simultaneous": simultaneous},
            "learner": {"perceptron": {"interaction": "independent"}},
            "query": {"margin": {"b": 0.2}},
        });
        let mut model = harness::model(&config);
        let reports = harness::learn(&mut model, &text);
        let decided: Vec<_> = reports.iter().map(|x| (x.margin.to_bits(), x.updated, x.queried)).collect();
        assert_eq!(model.rounds(), if simultaneous { 100 } else { 400 });
        (decided, state(&model).0)
    };
    assert!(run(true) == run(false));
}

#[test]
fn margins_of_a_round_come_before_its_updates() {
    let text = stream(7, 400);
    for learner in one_task_learners() {
        let mut config = config(&learner, &json!({"margin": {"b": 0.5}}));
        config["stream"] = json!({"simultaneous": true});
        let mut model = harness::model(&config);
        let lines: Vec<&str> = text.lines().collect();
        let mut skipped = 0;
        for round in lines.chunks(TASKS) {
            let before = model.learner().clone();
            let reports = harness::learn(&mut model, &round.join("\n"));
            for (line, report) in round.iter().zip(&reports) {
                let features: Vec<(u32, f64)> = line
                    .split(' ')
                    .skip(2)
                    .map(|feature| {
                        let (index, value) = feature.split_once(':').unwrap();
                        (index.parse::<u32>().unwrap() - 1, value.parse().unwrap())
                    })
                    .collect();
                let (indices, values): (Vec<u32>, Vec<f64>) = features.into_iter().unzip();
                let features = SparseView::try_new(&indices, &values).unwrap();
                let margin = before.as_predict().margin(report.task, features);
                assert_eq!(margin.to_bits(), report.margin.to_bits(), "{learner:?}");
                skipped += u32::from(!report.queried);
            }
        }
        assert!((20..380).contains(&skipped), "{learner:?}: {skipped} of 400 labels not asked for");
    }
}

#[test]
fn the_hardest_of_a_round_may_go_unasked() {
    let config = json!({"tasks": TASKS, "query": {"margin": {"b": 0.05}}});
    let mut model = harness::model(&config);
    let mut watch = Watch::default();
    let mut reader = reader(&model, &stream(8, 400), Labels::Required);
    let options = RunOptions { serve: Serve::from(Order::Adversarial), ..RunOptions::default() };
    model.learn(&mut reader, &options, &mut watch).unwrap();
    let total = model.metrics().total();
    assert_eq!((total.examples, model.rounds()), (100, 100));
    assert!((1..100).contains(&total.queries), "{}", total.queries);
    assert!(watch.reports.iter().all(|report| report.queried || !report.updated));
}

#[test]
fn learners_of_whole_rounds_need_every_label() {
    for about in REGISTRY.iter().filter(|about| about.protocol == Protocol::AllTasks) {
        for query in ["margin", "relation"] {
            let config = json!({"learner": about.id, "query": query});
            let config: RunConfig = serde_json::from_value(config).unwrap();
            let message = format!(
                "query: must be `all`: `{}` learns from all tasks of a round at once and needs all their labels",
                about.id
            );
            assert_eq!(Model::new(&config).unwrap_err().to_string(), message);
            let mut model = harness::model(&json!({"learner": about.id}));
            assert_eq!(model.set_query(config.query, 1).unwrap_err().to_string(), message);
            assert!(model.config().query.is_all());
        }
    }
    let config: RunConfig = serde_json::from_value(json!({"query": {"margin": {"b": 0}}})).unwrap();
    let message = "query.margin.b: must be positive and finite, got 0";
    assert_eq!(Model::new(&config).unwrap_err().to_string(), message);
}

#[test]
fn lines_without_a_label_are_predicted_and_change_nothing_else() {
    let text = stream(9, 200);
    let streams = REGISTRY.iter().filter(|about| about.protocol != Protocol::Batch);
    let all = streams.map(|about| LearnerConfig::from_id(about.id).unwrap());
    for learner in all.chain(one_task_learners()) {
        let config = json!({"tasks": TASKS, "learner": learner});
        let mut plain = harness::model(&config);
        let expected = harness::learn(&mut plain, &text);
        // Each example is repeated without its label, written `?` or left out.
        let doubled: Vec<String> = (0..)
            .zip(text.lines())
            .map(|(at, line)| {
                let rest = line.split_once(' ').unwrap().1;
                format!("{line}\n{}{rest}", if at % 2 == 0 { "? " } else { "  " })
            })
            .collect();
        let mut model = harness::model(&config);
        let watch = learn(&mut model, &doubled.join("\n"), 1);
        let bits = |reports: &[RoundReport]| -> Vec<(u64, bool)> {
            reports.iter().map(|report| (report.margin.to_bits(), report.updated)).collect()
        };
        assert!(bits(&watch.reports) == bits(&expected), "{learner:?}");
        assert_eq!(model.metrics().total(), plain.metrics().total());
        assert_eq!((model.metrics().unlabelled(), model.metrics().asked(), model.rounds()), (200, 200, 400));
        assert_eq!(state(&model).0, state(&plain).0);
        let (round, margin, queried, line) = &watch.unlabelled[7];
        assert!((*round, *queried) == (16, true) && margin.is_finite());
        assert_eq!(line.as_deref(), Some(text.lines().nth(7).unwrap().split_once(' ').unwrap().1));
        assert!(watch.unlabelled[6].3.as_deref().unwrap().starts_with("? task:3 "));
    }
}

#[test]
fn a_task_of_which_only_unlabelled_lines_are_known_is_met() {
    let mut model = harness::model(&json!({"learner": "perceptron"}));
    learn(&mut model, "+1 task:a 1:1\ntask:b 1:1\n", 1);
    assert_eq!(model.tasks().names().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!((model.learner().as_inspect().tasks(), model.metrics().tasks_met()), (2, 1));
    let again = Model::from_bytes(&model.to_bytes()).unwrap();
    assert!(again.to_bytes() == model.to_bytes());
}

#[test]
fn kept_lines_survive_another_order() {
    let text = "? task:a 1:1 # one\ntask:b 2:1\n+1 task:a 3:1\n  ? 4:1\r\n";
    let model = harness::model(&json!({}));
    let memory = reader(&model, text, Labels::Kept).into_memory().unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let mut model = model.clone();
        let mut watch = Watch::default();
        let mut stream = memory.clone().ordered(Order::Shuffle, seed, false);
        model.learn(&mut stream, &RunOptions::default(), &mut watch).unwrap();
        let lines: Vec<String> = watch.unlabelled.into_iter().map(|(.., line)| line.unwrap()).collect();
        let mut sorted = lines.clone();
        sorted.sort();
        assert_eq!(sorted, ["? 4:1", "? task:a 1:1 # one", "task:b 2:1"]);
        seen.insert(lines);
    }
    assert!(seen.len() > 3, "20 seeds give {} orders", seen.len());
}

#[test]
fn a_stream_from_memory_may_lack_labels_and_has_no_lines() {
    let mut memory = Memory::new();
    let features = SparseView::try_new(&[2], &[1.0]).unwrap();
    for label in [1.0, f64::NAN] {
        memory.push("a", Example::new(TaskId(0), features, label));
    }
    let (mut model, mut watch) = (harness::model(&json!({"learner": "perceptron"})), Watch::default());
    model.learn(&mut memory, &RunOptions::default(), &mut watch).unwrap();
    assert_eq!(watch.unlabelled, [(2, 1.0, true, None)]);
}

#[test]
fn a_round_needs_all_its_labels() {
    let text = "+1 task:a 1:1\n-1 task:b 1:1\n+1 task:a 1:1\n? task:b 1:1\n";
    let message = |stream: &mut dyn Stream, serve: Serve, simultaneous: bool| {
        let mut model = harness::model(&json!({"stream": {"simultaneous": simultaneous}}));
        let options = RunOptions { serve, ..RunOptions::default() };
        let error = model.learn(stream, &options, &mut ()).unwrap_err();
        assert_eq!(model.metrics().unlabelled(), 0);
        error.to_string()
    };
    let fresh = || reader(&harness::model(&json!({})), text, Labels::Kept);
    assert_eq!(
        message(&mut fresh(), Serve::All, true),
        "text:4: round 2 has no label for task b; a simultaneous stream needs the labels of all its examples"
    );
    assert_eq!(
        message(&mut fresh(), Serve::Hardest, false),
        "text:4: round 2 has no label for task b; a stream in adversarial order needs the labels of all its examples"
    );
}

#[test]
fn draws_may_be_given() {
    let text = "+1 1:1\n+1 1:1\n+1 1:1\n+1 1:1\n+1 1:1\n";
    let mut model = harness::model(
        &json!({"query": "margin", "learner": {"perceptron": {"interaction": "independent"}}}),
    );
    // The first has margin 0, the others 1 and so probability 1/2.
    let draws = Draws::Given(vec![0.999, 0.499, 0.5, 0.0]);
    let queried: Vec<bool> = harness::learn_by(&mut model, text, draws).iter().map(|x| x.queried).collect();
    assert_eq!(queried, [true, true, false, true, true], "after the last draw every label is asked for");
}

/// With a sum over all tasks for each example, this would take hours.
#[test]
fn a_hundred_thousand_tasks_are_asked_as_fast_as_ten() {
    for interaction in ["coupled", "pairwise", "independent", "pooled"] {
        let learner = json!({"perceptron": {"interaction": interaction}});
        let mut model = harness::model(&json!({"learner": learner, "query": "relation"}));
        let mut memory = Memory::new();
        let features = SparseView::try_new(&[0], &[1.0]).unwrap();
        for at in 0..200_000 {
            let label = if at % 7 == 0 { -1.0 } else { 1.0 };
            memory.push(&(at % 100_000).to_string(), Example::new(TaskId(0), features, label));
        }
        model.learn(&mut memory, &RunOptions::default(), &mut ()).unwrap();
        assert_eq!(model.learner().as_inspect().tasks(), 100_000);
        // Rows of R add up to 1 where A is I plus a Laplacian.
        let expected = if interaction == "pooled" { 100_000.0 } else { 1.0 };
        let influence = model.learner().as_inspect().influence(TaskId(7));
        assert!((influence - expected).abs() < 1e-9 * expected, "{interaction}: {influence}");
    }
}

/// Two tasks that know features of their own, and a third that knows nothing.
const APART: &str = "+1 task:ape 1:1\n-1 task:ape 2:1\n+1 task:bee 3:2\n-1 task:bee 4:2\n+1 task:cow 5:0\n";

fn apart(query: &Value) -> Model {
    let mut model =
        harness::model(&json!({"learner": {"perceptron": {"interaction": "independent"}}, "query": query}));
    learn(&mut model, APART, 1);
    model
}

/// Where the task of a line is unknown, the task whose margin is surest answers, and nothing is learnt.
#[test]
fn the_surest_task_answers_for_an_unknown_one() {
    for threads in [1, 2] {
        let mut model = apart(&json!("all"));
        let before = state(&model).0;
        let mut watch = Answers::default();
        // ape is sure of the first two, bee of the third and, with 1 - 4 of lead, of the fourth; nobody of the last.
        let text = "task:? 1:1\n? task:? 2:1\ntask:? 4:1\n? task:? 1:1 4:2\n? task:? 9:1\n";
        let mut reader = reader(&model, text, Labels::Kept);
        let options = RunOptions { threads: NonZeroUsize::new(threads).unwrap(), ..RunOptions::default() };
        model.learn(&mut reader, &options, &mut watch).unwrap();
        let expected = [
            ("ape", 1.0, 1.0),
            ("ape", -1.0, 1.0),
            ("bee", -2.0, 2.0),
            ("bee", -4.0, 3.0),
            ("ape", 0.0, 0.0),
        ];
        let expected: Vec<_> =
            expected.map(|(task, margin, lead)| (task.to_owned(), margin, Some(lead))).into();
        assert_eq!(watch.0, expected);
        assert_eq!((state(&model).0, model.rounds(), model.tasks().len()), (before, 10, 3));
    }
}

/// Task, margin and lead of what has no label.
#[derive(Default)]
struct Answers(Vec<(String, f64, Option<f64>)>);

impl Observer for Answers {
    fn observe(&mut self, _: &RoundReport, _: &Tasks, _: &Metrics) {}

    fn observe_unlabelled(&mut self, report: &UnlabelledReport<'_>, tasks: &Tasks, _: &Metrics) {
        self.0.push((tasks.name(report.example.task).to_owned(), report.margin, report.lead));
    }

    fn batch_done(&mut self, _: Progress, _: &Model) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// A query asks by the lead, and the line that is asked for is the one that was read.
#[test]
fn a_task_is_asked_for_where_no_task_is_surer_than_the_others() {
    let text = "? task:? 1:2 3:1\n? task:? 1:2\n";
    let mut model = apart(&json!("all"));
    let mut answers = Answers::default();
    let mut reader = reader(&model, text, Labels::Kept);
    model.learn(&mut reader, &RunOptions::default(), &mut answers).unwrap();
    assert_eq!(answers.0.iter().map(|answer| answer.2).collect::<Vec<_>>(), [Some(0.0), Some(2.0)]);
    // With so small a b a label is asked for where the lead is 0, and nowhere else; at first all margins are 0.
    let all = format!("{APART}{text}");
    let mut model = harness::model(&json!({
        "learner": {"perceptron": {"interaction": "independent"}}, "query": {"margin": {"b": 1e-9}},
    }));
    let asked: Vec<_> = learn(&mut model, &all, 1).unlabelled;
    let asked: Vec<(bool, Option<&str>)> =
        asked.iter().map(|(_, _, asked, text)| (*asked, text.as_deref())).collect();
    assert_eq!(asked, [(true, Some("? task:? 1:2 3:1")), (false, Some("? task:? 1:2"))]);
}

#[test]
fn predictions_answer_for_unknown_tasks_too() {
    let model = apart(&json!("all"));
    let input = Input::Bytes {
        name: "text".to_owned(),
        bytes: "? task:? 4:1\n+1 task:ape 1:1\n+1 task:? 1:1\n".as_bytes().into(),
    };
    let mut reader = model.prediction_reader(vec![input], ReadOptions::default()).unwrap();
    let mut found = Vec::new();
    model
        .predict(&mut reader, NonZeroUsize::MIN, &mut |predictions| {
            found.extend(
                predictions
                    .iter()
                    .map(|(example, margin)| (predictions.task_name(example.task).to_owned(), margin)),
            );
            ControlFlow::Continue(())
        })
        .unwrap();
    let expected = [("bee", -2.0), ("ape", 1.0), ("ape", 1.0)];
    assert_eq!(found, expected.map(|(task, margin)| (task.to_owned(), margin)));
}

#[test]
fn an_unknown_task_that_cannot_be_answered_is_refused() {
    let refused = |config: Value, text: &str| {
        let mut model = harness::model(&config);
        let mut reader = reader(&model, text, Labels::Kept);
        model.learn(&mut reader, &RunOptions::default(), &mut ()).unwrap_err().to_string()
    };
    let early = refused(json!({}), "? task:? 1:1\n");
    assert_eq!(early, "round 1, line 1: the task is unknown (`?`), and the model knows no task yet");
    let real =
        refused(json!({"learner": {"adaptive": {"loss": "squares"}}}), "1.5 task:a 1:1\n? task:? 1:1\n");
    assert!(real.contains("where labels are classes only"), "{real}");
    let rounds = json!({"stream": {"simultaneous": true}});
    let together = refused(rounds, "+1 task:a 1:1\n? task:? 1:1\n");
    assert!(together.contains("answered one by one, in the order of the file"), "{together}");
    let shuffled =
        reader(&harness::model(&json!({})), "+1 task:a 1:1\n? task:? 1:1\n", Labels::Kept).into_memory();
    assert!(shuffled.unwrap_err().to_string().contains("in the order of the file"));
}
