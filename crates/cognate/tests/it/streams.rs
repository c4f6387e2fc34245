//! Orders, passes, threads, rounds: does a stream give the examples it should, and does a run give the same model?

use crate::support::model_files::alike;
use crate::support::samples;
use std::collections::BTreeMap;
use std::io::Write;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use crate::support::readers::{plain_reader, reader_for};
use crate::support::samples::{samples, text};
use cognate::run::{Observer, Progress, RoundReport, RunOptions, Serve};
use cognate::stream::{Batch, Input, Memory, Order, ReadOptions, Reader};
use cognate::{Example, LearnerConfig, Metrics, Model, RunConfig, Stream, TaskId, Tasks};
use serde_json::{Value, json};

fn bytes(text: &str) -> Input {
    Input::Bytes { name: "text".to_owned(), bytes: text.as_bytes().into() }
}

fn reader(text: &str, skip_bad: u64) -> Reader {
    let options = ReadOptions::default().skip_bad(skip_bad);
    RunConfig::default().reader(vec![bytes(text)], options).unwrap()
}

fn memory(text: &str) -> Memory {
    reader(text, 0).into_memory().unwrap()
}

/// Everything that one pass gives: task, label, features.
fn drain(stream: &mut dyn Stream) -> Result<Vec<String>, String> {
    let (mut tasks, mut batch, mut found) = (Tasks::open(), Batch::default(), Vec::new());
    loop {
        stream.fill(&mut batch).map_err(|error| error.to_string())?;
        if batch.is_empty() {
            return Ok(found);
        }
        for name in batch.new_tasks() {
            tasks.meet(name).unwrap();
        }
        for example in batch.examples() {
            let features: Vec<(u32, f64)> = example.features.iter().collect();
            found.push(format!("{} {} {features:?}", tasks.name(example.task), example.label));
        }
    }
}

/// A text whose line n has the feature n, with the given tasks.
fn numbered(tasks: &[&str]) -> String {
    let lines = tasks.iter().enumerate().map(|(at, task)| format!("+1 task:{task} {}:1\n", at + 1));
    lines.collect()
}

/// The line numbers, from 1, in the order in which a stream over [`numbered`] gives them.
fn order(stream: &mut dyn Stream) -> Vec<u32> {
    let (mut batch, mut lines) = (Batch::default(), Vec::new());
    loop {
        stream.fill(&mut batch).unwrap();
        if batch.is_empty() {
            return lines;
        }
        lines.extend(batch.examples().map(|example| example.features.indices()[0] + 1));
    }
}

fn model(config: &Value) -> Model {
    let config: RunConfig = serde_json::from_value(config.clone()).unwrap();
    Model::new(&config).unwrap()
}

fn options(passes: u32, threads: usize) -> RunOptions {
    let threads = NonZeroUsize::new(threads).unwrap();
    RunOptions { passes, threads, ..RunOptions::default() }
}

fn learn(model: &mut Model, stream: &mut dyn Stream) -> Result<Progress, String> {
    model.learn(stream, &options(1, 1), &mut ()).map_err(|error| error.to_string())
}

#[test]
fn file_order_is_the_order_of_the_lines() {
    let text = numbered(&["a"; 700]);
    let expected: Vec<u32> = (1..=700).collect();
    assert_eq!(order(&mut reader(&text, 0)), expected);
    assert_eq!(order(&mut memory(&text).ordered(Order::File, 3, false)), expected);
}

#[test]
fn shuffling_permutes_by_seed_anew_each_pass() {
    let text = numbered(&["a"; 700]);
    let shuffled = |seed: u64| {
        let mut stream = memory(&text).ordered(Order::Shuffle, seed, false);
        let first = order(&mut stream);
        stream.rewind().unwrap();
        (first, order(&mut stream))
    };
    let (first, second) = shuffled(3);
    assert_eq!(shuffled(3), (first.clone(), second.clone()));
    let (other, _) = shuffled(4);
    assert!(first != second && first != other);
    for mut order in [first, second, other] {
        assert!(!order.is_sorted());
        order.sort_unstable();
        assert_eq!(order, (1..=700).collect::<Vec<_>>());
    }
}

#[test]
fn interleaving_takes_the_tasks_in_turn() {
    // Lines 1 2 3 6 are of a, 4 of b, 5 7 of c.
    let text = numbered(&["a", "a", "a", "b", "c", "a", "c"]);
    let mut stream = memory(&text).ordered(Order::Interleave, 1, false);
    assert_eq!(order(&mut stream), [1, 4, 5, 2, 7, 3, 6]);
    stream.rewind().unwrap();
    assert_eq!(order(&mut stream), [1, 4, 5, 2, 7, 3, 6]);
    let uneven = drain(&mut memory(&text).ordered(Order::Interleave, 1, true)).unwrap_err();
    assert_eq!(
        uneven,
        "the stream: task b has 1 examples but task a has 4; a simultaneous stream needs equally many of each"
    );
}

#[test]
fn shuffled_rounds_stay_together() {
    let text = numbered(&["a", "b", "c"].repeat(100));
    let lines = order(&mut memory(&text).ordered(Order::Shuffle, 5, true));
    assert!(!lines.is_sorted());
    for round in lines.chunks(3) {
        assert!(round[0] % 3 == 1 && round[1] == round[0] + 1 && round[2] == round[0] + 2, "{round:?}");
    }
    let ungrouped = drain(&mut memory(&numbered(&["a", "b", "b", "b"])).ordered(Order::Shuffle, 5, true));
    let message = ungrouped.unwrap_err();
    assert!(message.contains("has task b twice and lacks a"), "{message}");
}

/// Rounds of the tasks a, b and c, every second one in reverse order.
fn rounds_of_three(rounds: usize) -> String {
    let mut samples = samples(7, 3, 20, 3 * rounds);
    for (at, sample) in samples.iter_mut().enumerate() {
        sample.task = at % 3;
    }
    samples.chunks_mut(3).step_by(2).for_each(<[_]>::reverse);
    text(&samples, |task| ["a", "b", "c"][task].to_owned())
}

/// The hardest example is found here by computing the three margins of every round.
#[test]
fn an_adversary_serves_the_hardest_example_of_every_round() {
    let stream = rounds_of_three(200);
    let adversarial = RunOptions { serve: Serve::Hardest, ..options(1, 1) };
    for b in [json!(2), json!("auto")] {
        let learner = json!({"perceptron": {"interaction": {"coupled": {"b": b}}}});
        let config =
            json!({"tasks": ["a", "b", "c"], "stream": {"order": "adversarial"}, "learner": learner});
        let mut found = model(&config);
        let mut seen = Served::default();
        let mut reader = reader_for(&found, vec![bytes(&stream)]);
        found.learn(&mut reader, &adversarial, &mut seen).unwrap();

        let config: LearnerConfig = serde_json::from_value(learner).unwrap();
        let mut learner = config.build(found.tasks()).unwrap();
        let held = memory(&stream);
        let examples: Vec<(&str, Example<'_>)> = held.examples().collect();
        for (round, examples) in examples.chunks(3).enumerate() {
            let mut by_task: Vec<Example<'_>> = examples
                .iter()
                .map(|(name, example)| Example { task: found.tasks().find(name).unwrap(), ..*example })
                .collect();
            by_task.sort_by_key(|example| example.task);
            let margins =
                by_task.iter().map(|example| learner.as_predict().margin(example.task, example.features));
            let signed: Vec<f64> =
                margins.zip(&by_task).map(|(margin, example)| margin * example.label).collect();
            let smallest = signed.iter().copied().fold(f64::INFINITY, f64::min);
            let hardest = by_task[signed.iter().position(|one| *one == smallest).unwrap()];
            let outcome = learner.as_learn_one().learn(hardest);
            assert_eq!(seen.reports[round].task, hardest.task, "round {round}: {signed:?}");
            assert_eq!(seen.reports[round].margin.to_bits(), outcome.margin.to_bits());
        }
        assert_eq!((found.rounds(), found.metrics().total().examples, seen.reports.len()), (200, 200, 200));
        let served = (0..3).map(|task| found.metrics().task(TaskId(task)).examples).collect::<Vec<_>>();
        assert!(served.iter().all(|count| *count > 20) && served.iter().sum::<u64>() == 200, "{served:?}");
    }
}

#[test]
fn an_adversary_needs_rounds_and_goes_on_where_it_stopped() {
    let adversarial = |threads| RunOptions { serve: Serve::Hardest, ..options(1, threads) };
    let mut ungrouped = model(&json!({}));
    let tasks = numbered(&["a", "b", "c", "b", "b", "a"]);
    let error = ungrouped.learn(&mut reader(&tasks, 0), &adversarial(1), &mut ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "text:5: round 2 has task b twice and lacks a, c; \
         a stream in adversarial order has one example of every task per round"
    );
    assert_eq!(ungrouped.rounds(), 1, "what came before is learnt");

    let stream = rounds_of_three(200);
    let declared = json!({"tasks": ["a", "b", "c"]});
    let mut whole = model(&declared);
    let mut all = reader_for(&whole, vec![bytes(&stream)]);
    whole.learn(&mut all, &adversarial(2), &mut ()).unwrap();
    let lines: Vec<&str> = stream.split_inclusive('\n').collect();
    for cut in [3, 30, 300] {
        let mut halves = model(&declared);
        for part in [lines[..cut].concat(), lines[cut..].concat()] {
            let mut reader = reader_for(&halves, vec![bytes(&part)]);
            halves.learn(&mut reader, &adversarial(1), &mut ()).unwrap();
            halves = Model::from_bytes(&halves.to_bytes()).unwrap();
        }
        assert!(halves.to_bytes() == whole.to_bytes(), "cut after {cut} lines");
    }
    // With tasks met on the way, those that were never served are met again.
    let mut met = model(&json!({}));
    for (part, rounds) in [(lines[..3].concat(), 1), (lines[3..].concat(), 200)] {
        let mut reader = reader_for(&met, vec![bytes(&part)]);
        met.learn(&mut reader, &adversarial(1), &mut ()).unwrap();
        assert_eq!(met.rounds(), rounds);
        met = Model::from_bytes(&met.to_bytes()).unwrap();
    }
}

#[test]
fn an_adversary_and_simultaneous_rounds_exclude_each_other() {
    let both: RunConfig =
        serde_json::from_value(json!({"stream": {"order": "adversarial", "simultaneous": true}})).unwrap();
    let refused = both.validate().unwrap_err().to_string();
    assert!(refused.starts_with("stream.order: `adversarial` serves one example of a round"), "{refused}");
}

#[test]
fn two_passes_are_the_file_twice() {
    let text = text(&samples(1, 4, 10, 600), |task| format!("t{task}"));
    let config = json!({});
    let (mut twice, mut passes, mut held) = (model(&config), model(&config), model(&config));
    learn(&mut twice, &mut reader(&text.repeat(2), 0)).unwrap();
    passes.learn(&mut reader(&text, 0), &options(2, 1), &mut ()).unwrap();
    held.learn(&mut memory(&text), &options(2, 1), &mut ()).unwrap();
    assert!(twice.to_bytes() == passes.to_bytes());
    assert!(twice.to_bytes() == held.to_bytes());
    assert_eq!(twice.rounds(), 1200);
}

type Make<'a> = &'a dyn Fn(&Model) -> Box<dyn Stream>;

#[test]
fn two_threads_are_one_thread_to_the_byte() {
    let text = text(&samples(2, 6, 30, 3000), |task| format!("t{task}"));
    let in_turn: Vec<&str> = ["a", "b", "c"].repeat(500);
    let graph = json!({"perceptron": {"interaction": {"graph": {"edges": [["t4", "t1"], ["t2", "t9"]]}}}});
    let cases: [(Value, u32, Make<'_>); 4] = [
        (json!({}), 1, &|_| Box::new(reader(&text, 0))),
        (json!({}), 3, &|_| Box::new(memory(&text).ordered(Order::Shuffle, 9, false))),
        (json!({"learner": graph}), 2, &|model| Box::new(reader_for(model, vec![bytes(&text)]))),
        (json!({"stream": {"simultaneous": true}}), 2, &|_| Box::new(reader(&numbered(&in_turn), 0))),
    ];
    for (config, passes, make) in cases {
        let run = |threads: usize| {
            let mut model = model(&config);
            let mut stream = make(&model);
            let progress = model.learn(&mut *stream, &options(passes, threads), &mut ()).unwrap();
            assert_eq!(model.metrics().total().examples % 1500, 0);
            (model.to_bytes(), progress)
        };
        let one = run(1);
        for threads in [2, 2, 2, 7] {
            assert!(run(threads) == one, "{threads} threads, {config}");
        }
    }
}

/// What comes before a bad line is learnt, however far ahead was read.
#[test]
fn a_bad_line_comes_after_the_good_ones_before_it() {
    let good = text(&samples(3, 4, 10, 1000), |task| format!("t{task}"));
    let bad = format!("{good}+1 qid:1 2:1 2:2\n{good}");
    let mut expected = model(&json!({}));
    learn(&mut expected, &mut reader(&good, 0)).unwrap();
    for threads in [1, 2] {
        let mut model = model(&json!({}));
        let failed = model.learn(&mut reader(&bad, 0), &options(1, threads), &mut ());
        assert_eq!(
            failed.unwrap_err().to_string(),
            "text:1001:14: feature index 2 after 2; indices must increase"
        );
        assert!(model.to_bytes() == expected.to_bytes());
    }
}

#[test]
fn bad_lines_are_skipped_up_to_the_limit_in_every_pass() {
    let good = text(&samples(4, 3, 10, 500), |task| format!("t{task}"));
    let bad = format!("{good}+7 1:1\n+1 1:1 2:1 2:1\n{good}+1 task:new 1:1 2:nan\n");
    let mut expected = model(&json!({}));
    expected.learn(&mut reader(&good.repeat(2), 0), &options(2, 1), &mut ()).unwrap();
    let mut skipping = model(&json!({}));
    let progress = skipping.learn(&mut reader(&bad, 3), &options(2, 1), &mut ()).unwrap();
    // A bad line leaves nothing behind, neither features nor a task.
    assert!(skipping.to_bytes() == expected.to_bytes());
    // The same three lines are bad in both passes.
    assert_eq!(progress.skipped, 3);
    let mut held = reader(&bad, 3).into_memory().unwrap();
    let progress = model(&json!({})).learn(&mut held, &options(2, 1), &mut ()).unwrap();
    assert_eq!(progress.skipped, 3);
    let failed = learn(&mut model(&json!({})), &mut reader(&bad, 2)).unwrap_err();
    assert_eq!(failed, "text:1003:19: found value \"nan\"; expected a finite number of at most 1e150");
}

#[test]
fn compression_is_seen_through() {
    let text = text(&samples(5, 3, 10, 2000), |task| format!("t{task}"));
    let plain = drain(&mut reader(&text, 0)).unwrap();
    let mut packed: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    packed.insert("gzip", gzip.finish().unwrap());
    #[cfg(feature = "zstd")]
    packed.insert("zstd", zstd::encode_all(text.as_bytes(), 1).unwrap());
    for (name, packed) in packed {
        let read = |packed: &[u8]| {
            let input = Input::Bytes { name: name.to_owned(), bytes: packed.into() };
            drain(&mut plain_reader(vec![input]))
        };
        assert!(packed.len() < text.len());
        assert!(read(&packed).unwrap() == plain, "{name}");
        // Two compressed members in a row are one file.
        assert_eq!(read(&packed.repeat(2)).unwrap().len(), 2 * plain.len(), "{name}");
        for cut in [5, packed.len() / 2, packed.len() - 1] {
            let failed = read(&packed[..cut]).unwrap_err();
            assert!(failed.starts_with(&format!("{name}: ")), "{failed}");
        }
    }
}

#[test]
fn several_inputs_are_one_stream() {
    let (one, two) = ("+1 task:a 1:1", "-1 task:b 2:1\r\n\n# nothing\n  \t\n+1 task:a 3:1 # end");
    let read = |inputs: Vec<Input>| drain(&mut plain_reader(inputs));
    let joined = format!("{one}\n{two}");
    let expected = ["a 1 [(0, 1.0)]", "b -1 [(1, 1.0)]", "a 1 [(2, 1.0)]"];
    assert_eq!(read(vec![bytes(&joined)]).unwrap(), expected);
    assert_eq!(read(vec![bytes(one), bytes(""), bytes(two)]).unwrap(), expected);
    let gone = Input::File("no/such/file".into());
    let failed = read(vec![bytes(one), gone]).unwrap_err();
    assert!(failed.starts_with("no/such/file: "), "{failed}");
}

/// Learns a simultaneous stream whose tasks were not declared.
fn simultaneous(tasks: &[&str]) -> (Model, Result<Progress, String>) {
    let mut model = model(&json!({"stream": {"simultaneous": true}}));
    let result = learn(&mut model, &mut reader(&numbered(tasks), 0));
    (model, result)
}

#[test]
fn a_stream_that_cannot_be_grouped_is_refused_with_the_place() {
    let message = |tasks: &[&str]| simultaneous(tasks).1.unwrap_err();
    let every = "a simultaneous stream has one example of every task per round";
    assert_eq!(
        message(&["a", "b", "c", "b", "b", "a"]),
        format!("text:5: round 2 has task b twice and lacks a, c; {every}")
    );
    assert_eq!(
        message(&["a", "b", "c", "b"]),
        format!("text: round 2 ends after 1 of 3 tasks and lacks a, c; {every}")
    );
    // A task first met after the first round makes every round before it too short.
    let late = message(&["a", "b", "b", "a", "c", "a", "b", "c"]);
    assert!(late.starts_with("text:5: round 3 has task c"), "{late}");
}

/// Updates come in the order of the tasks, so the order of the lines leaves no trace.
#[test]
fn the_order_of_the_lines_in_a_round_does_not_matter_to_the_byte() {
    let mut samples = samples(6, 3, 20, 600);
    for (at, sample) in samples.iter_mut().enumerate() {
        sample.task = at % 3;
    }
    let mut turned = samples.clone();
    turned.chunks_mut(3).for_each(<[_]>::reverse);
    let learnt = |samples: &[samples::Sample]| {
        let config = json!({"tasks": ["t0", "t1", "t2"], "stream": {"simultaneous": true}});
        let mut model = model(&config);
        let text = text(samples, |task| format!("t{task}"));
        let mut reader = reader_for(&model, vec![bytes(&text)]);
        learn(&mut model, &mut reader).unwrap();
        assert_eq!(model.rounds(), 200);
        model.to_bytes()
    };
    // What was guessed from the labels so far, and sums over all tasks, follow the lines.
    assert!(alike(&learnt(&samples), &learnt(&turned)));
}

#[test]
fn rounds_of_one_task_are_its_examples() {
    let (model, result) = simultaneous(&["a"; 5]);
    result.unwrap();
    assert_eq!((model.rounds(), model.metrics().total().examples), (5, 5));
}

/// The rounds before the bad one are learnt, and what is left can be saved and resumed.
#[test]
fn a_model_is_whole_after_a_stream_that_could_not_be_grouped() {
    for tasks in
        [&["a", "b", "c", "b", "b"][..], &["a", "b", "a", "c"], &["a", "b", "c", "a"], &["a", "b", "a"]]
    {
        let (model, result) = simultaneous(tasks);
        assert!(result.is_err(), "{tasks:?}");
        assert_eq!(model.rounds(), 1);
        let restored = Model::from_bytes(&model.to_bytes()).unwrap_or_else(|e| panic!("{tasks:?}: {e}"));
        assert!(restored.to_bytes() == model.to_bytes());
    }
}

/// Keeps every report.
#[derive(Default)]
struct Served {
    reports: Vec<RoundReport>,
}

impl Observer for Served {
    fn observe(&mut self, report: &RoundReport, _: &Tasks, _: &Metrics) {
        self.reports.push(*report);
    }

    fn batch_done(&mut self, _: Progress, _: &Model) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Stops after the first batch.
struct Stop;

impl Observer for Stop {
    fn observe(&mut self, _: &RoundReport, _: &Tasks, _: &Metrics) {}

    fn batch_done(&mut self, _: Progress, _: &Model) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

#[test]
fn a_model_is_whole_after_the_observer_stopped_the_run() {
    // Batches end in the middle of rounds of 7, and of the first round of 1000.
    for tasks in [7, 1000] {
        let names: Vec<String> = (0..tasks).map(|task| format!("t{task}")).collect();
        let names: Vec<&str> = names.iter().cycle().take(3500).map(String::as_str).collect();
        for (simultaneous, threads) in [(false, 1), (false, 2), (true, 1), (true, 2)] {
            let mut model = model(&json!({"stream": {"simultaneous": simultaneous}}));
            let text = numbered(&names);
            model
                .learn(&mut reader(&text, 0), &options(1, threads), &mut Stop)
                .unwrap_or_else(|error| panic!("{tasks} tasks, {simultaneous}: {error}"));
            assert!(model.rounds() < 3500 / tasks as u64 || !simultaneous);
            let restored = Model::from_bytes(&model.to_bytes()).unwrap();
            assert!(restored.to_bytes() == model.to_bytes());
        }
    }
}
