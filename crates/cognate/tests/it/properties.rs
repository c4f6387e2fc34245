//! Do invariants survive random input?

use cognate::internal::Symmetric;
use cognate::stream::{
    Batch, Input, Labels, Normalize, ReadOptions, Stream, StreamConfig, StreamError, write_example,
};
use cognate::{BIAS_FEATURE, LARGEST_VALUE};
use cognate::{Example, LearnerConfig, Model, RunConfig, SparseView, TaskId, Tasks};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::json;

/// An example that owns what it holds, tasks by name.
#[derive(Debug, Clone)]
struct Owned {
    task: String,
    features: Vec<(u32, f64)>,
    label: f64,
}

impl Owned {
    /// For comparing to the last bit; every NaN label is "none".
    fn bits(&self) -> (String, Vec<(u32, u64)>, Option<bool>) {
        let features = self.features.iter().map(|(feature, value)| (*feature, value.to_bits())).collect();
        let label = if self.label.is_nan() { None } else { Some(self.label > 0.0) };
        (self.task.clone(), features, label)
    }

    fn write(&self, out: &mut Vec<u8>) {
        let (indices, values): (Vec<u32>, Vec<f64>) = self.features.iter().copied().unzip();
        let features = SparseView::try_new(&indices, &values).unwrap();
        let example = Example::new(TaskId(0), features, self.label);
        write_example(out, &self.task, example).unwrap();
    }
}

/// Reads text to its end or its first error, checking everything that a learner relies on.
fn read(text: &[u8], config: &RunConfig, options: &ReadOptions) -> (Vec<Owned>, Option<StreamError>) {
    let input = Input::Bytes { name: "text".to_owned(), bytes: text.into() };
    let mut reader = config.reader(vec![input], options.clone()).unwrap();
    let (mut tasks, mut batch, mut found) = (Tasks::open(), Batch::default(), Vec::new());
    loop {
        if let Err(error) = reader.fill(&mut batch) {
            return (found, Some(error));
        }
        if batch.is_empty() {
            return (found, None);
        }
        for name in batch.new_tasks() {
            tasks.meet(name).unwrap();
        }
        for Example { task, features, label, .. } in batch.examples() {
            SparseView::try_new(features.indices(), features.values()).unwrap();
            let unlabelled = label.is_nan() && options.labels != Labels::Required;
            assert!(label.to_bits() == 1.0_f64.copysign(label).to_bits() || unlabelled, "label {label}");
            // Whose an example without a label is may be asked.
            let is_asked = unlabelled && task == TaskId(u32::MAX);
            assert!(task.index() < tasks.len() || is_asked);
            let task = if is_asked { "?".to_owned() } else { tasks.name(task).to_owned() };
            found.push(Owned { task, features: features.iter().collect(), label });
        }
    }
}

/// The features of a text of one line, or the message.
fn read_line(line: &str) -> Result<Vec<(u32, f64)>, String> {
    match read(line.as_bytes(), &RunConfig::default(), &ReadOptions::default()) {
        (mut found, None) => Ok(found.remove(0).features),
        (_, Some(error)) => Err(error.to_string()),
    }
}

/// Every number that a feature can have, the odd ones often.
fn finite() -> impl Strategy<Value = f64> {
    let odd = [0.0, 1.0, 5e-324, f64::MIN_POSITIVE, 1e149, 1e150, 1e-150, 0.1, 1e22, 9_007_199_254_740_993.0];
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits).prop_filter("valid", |value| value.abs() <= LARGEST_VALUE),
        prop::sample::select(odd.to_vec()),
        prop::sample::select(odd.to_vec()).prop_map(|value| -value),
        (-1000_i32..1000).prop_map(|value| f64::from(value) / 64.0),
    ]
}

fn features() -> impl Strategy<Value = Vec<(u32, f64)>> {
    let index = prop_oneof![0..20_u32, 0..BIAS_FEATURE];
    btree_map(index, finite(), 0..8).prop_map(|map| map.into_iter().collect())
}

/// Any name that a file can hold: no blanks, no control characters.
fn task_name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[^ [:cntrl:]]{1,12}",
        "[0-9]{1,11}",
        "0*[1-9]{1,3}",
        Just("qid:7".to_owned()),
        Just("#".to_owned()),
    ]
}

/// Any name that a config can hold.
fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[ab]", 2 => task_name(), 1 => ".{0,3}"]
}

fn owned() -> impl Strategy<Value = Owned> {
    let label = prop::sample::select(vec![1.0, -1.0, f64::NAN]);
    (task_name(), features(), label).prop_map(|(task, features, label)| Owned { task, features, label })
}

/// A config, and how its streams are read.
fn reading() -> impl Strategy<Value = (RunConfig, ReadOptions)> {
    let normalize = prop::sample::select(vec![Normalize::None, Normalize::L2]);
    let clip = prop::option::of(prop::sample::select(vec![1e-300, 0.5, 1.0, 1e300]));
    let bias = prop::option::of(finite());
    let labels = prop::sample::select(vec![Labels::Required, Labels::Optional, Labels::Kept]);
    let features = prop::option::of(prop_oneof![1..10_u32, Just(u32::MAX)]);
    let skip_bad = prop::sample::select(vec![0_u64, 1, u64::MAX]);
    (normalize, clip, bias, labels, features, skip_bad).prop_map(
        |(normalize, clip, bias, labels, features, skip_bad)| {
            let stream = StreamConfig { normalize, clip, bias, ..StreamConfig::default() };
            let config = RunConfig { features, stream, ..RunConfig::default() };
            (config, ReadOptions::default().labels(labels).skip_bad(skip_bad))
        },
    )
}

/// Bytes that are nearly lines.
fn scrambled() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("+1 ".to_owned()),
        Just("-1".to_owned()),
        Just("0 ".to_owned()),
        Just(" qid:7 ".to_owned()),
        Just(" task:".to_owned()),
        Just("\r\n".to_owned()),
        Just("\n".to_owned()),
        Just("#".to_owned()),
        Just(":".to_owned()),
        Just("1e999".to_owned()),
        Just("?".to_owned()),
        Just(" 4294967296:1".to_owned()),
        "[0-9.eE+-]{0,30}",
        "[0-9]{1,10}:[0-9.-]{1,9} ",
        ".{0,4}",
    ];
    prop_oneof![
        vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes()),
        vec(any::<u8>(), 0..200),
        vec(prop::sample::select(b"+-01:. #qidtask\n\r\t\0\xff".to_vec()), 0..300),
    ]
}

/// The largest absolute value, and the Euclidean norm in units of it.
fn norm(features: &[(u32, f64)]) -> (f64, f64) {
    let largest = features.iter().fold(0.0_f64, |largest, (_, value)| largest.max(value.abs()));
    let scaled = features.iter().map(|(_, value)| (value / largest).powi(2)).sum::<f64>().sqrt();
    (largest, if largest > 0.0 { scaled } else { 0.0 })
}

proptest! {
    // Nothing is written into the source tree: a case that failed belongs in a test of its own.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_back_to_the_bit(examples in vec(owned(), 0..20)) {
        let mut text = Vec::new();
        for example in &examples {
            example.write(&mut text);
        }
        let options = ReadOptions::default().labels(Labels::Optional);
        let (found, error) = read(&text, &RunConfig::default(), &options);
        prop_assert!(error.is_none(), "{}", error.unwrap());
        let bits = |examples: &[Owned]| examples.iter().map(Owned::bits).collect::<Vec<_>>();
        prop_assert_eq!(bits(&found), bits(&examples));
    }

    /// However many digits an index and its value have, alone on a line or before another feature.
    #[test]
    fn numbers_of_any_length_are_read_whole(
        index in prop_oneof![1_u32..100, 100_000_u32..100_000_000, 1_u32..u32::MAX - 2],
        value in "-?[0-9]{1,3}\\.[0-9]{0,17}",
        more: bool,
    ) {
        let text = format!("+1 {index}:{value}{}\n", if more { " 4294967290:1" } else { "" });
        let (found, error) = read(text.as_bytes(), &RunConfig::default(), &ReadOptions::default());
        prop_assert!(error.is_none() || (more && index >= 4_294_967_290), "{text}: {error:?}");
        if error.is_none() {
            let bits = value.parse::<f64>().unwrap().to_bits();
            let (feature, found) = found[0].features[0];
            prop_assert_eq!((feature, found.to_bits()), (index - 1, bits));
        }
    }

    #[test]
    fn no_bytes_make_the_reader_panic(text in scrambled(), (config, options) in reading()) {
        let (examples, error) = read(&text, &config, &options);
        let lines = text.split(|byte| *byte == b'\n').count();
        prop_assert!(examples.len() <= lines);
        if let Some(StreamError::Bad { place, .. }) = error {
            prop_assert!(place.line >= 1 && place.line <= lines as u64 && place.column >= 1);
        }
    }

    #[test]
    fn what_was_read_can_be_written_and_read_again(text in scrambled()) {
        let options = ReadOptions::default().labels(Labels::Optional).skip_bad(u64::MAX);
        let (examples, _) = read(&text, &RunConfig::default(), &options);
        let mut written = Vec::new();
        for example in &examples {
            example.write(&mut written);
        }
        let (again, error) = read(&written, &RunConfig::default(), &options);
        prop_assert!(error.is_none());
        let bits = |examples: &[Owned]| examples.iter().map(Owned::bits).collect::<Vec<_>>();
        prop_assert_eq!(bits(&again), bits(&examples));
    }

    #[test]
    fn values_are_parsed_as_the_standard_library_does(
        value in prop_oneof![
            "[+-]?[0-9]{0,9}(\\.[0-9]{0,9})?",
            "[+-]?[0-9]{0,25}(\\.[0-9]{0,25})?([eE][+-]?[0-9]{0,4})?",
            "[+-]?0?\\.0{0,30}[0-9]{1,20}(e-?[0-9]{1,3})?",
            "[+-]?(inf|nan|infinity|NaN|x|1_0|1\\.1\\.1|--1|0x1)",
            any::<u64>().prop_map(|bits| f64::from_bits(bits).to_string()),
            any::<u64>().prop_map(|bits| format!("{:e}", f64::from_bits(bits))),
        ],
        after in prop::sample::select(vec!["", " ", "\n", "\r\n", " 9:1", "\t# 2:7"]),
    ) {
        let found = read_line(&format!("+1 3:{value}{after}"));
        match value.parse::<f64>() {
            Ok(expected) if expected.abs() <= LARGEST_VALUE => {
                let found = found.map_err(TestCaseError::fail)?;
                prop_assert_eq!((found[0].0, found[0].1.to_bits()), (2, expected.to_bits()));
            }
            _ => prop_assert!(found.is_err(), "{:?} became {:?}", value, found),
        }
    }

    #[test]
    fn indices_are_whole_numbers_in_range(index in "0{0,3}[0-9]{1,12}") {
        let found = read_line(&format!("+1 {index}:0.5"));
        match index.parse::<u64>().unwrap() {
            number if (1..=u64::from(BIAS_FEATURE)).contains(&number) => {
                prop_assert_eq!(found, Ok(vec![(number as u32 - 1, 0.5)]));
            }
            _ => prop_assert!(found.unwrap_err().contains("found feature index ")),
        }
    }

    #[test]
    fn scaling_reaches_the_length_asked_for(features in features(), clip in prop::option::of(1e-3..1e3)) {
        let mut text = Vec::new();
        Owned { task: "a".to_owned(), features: features.clone(), label: 1.0 }.write(&mut text);
        let (largest, relative) = norm(&features);
        for normalize in [Normalize::None, Normalize::L2] {
            let stream = StreamConfig { normalize, clip, ..StreamConfig::default() };
            let config = RunConfig { stream, ..RunConfig::default() };
            let (found, error) = read(&text, &config, &ReadOptions::default());
            prop_assert!(error.is_none());
            let found = &found[0].features;
            let length = if normalize == Normalize::L2 && largest > 0.0 { 1.0 } else { largest * relative };
            let wanted = length.min(clip.unwrap_or(f64::INFINITY));
            if largest == 0.0 || (normalize == Normalize::None && wanted >= length) {
                let bits = |features: &[(u32, f64)]| features.iter().map(|pair| pair.1.to_bits()).collect::<Vec<_>>();
                prop_assert_eq!(bits(found), bits(&features), "nothing was to be scaled");
                continue;
            }
            let (new_largest, new_relative) = norm(found);
            let reached = new_largest * new_relative;
            prop_assert!((reached - wanted).abs() <= 1e-9 * wanted, "{reached}, not {wanted}, from {features:?}");
            for ((before, old), (after, new)) in features.iter().zip(found) {
                let (old, new) = (old / largest, new / new_largest);
                // Small entries beside large ones may lose digits to underflow.
                let close = (old - new).abs() <= 1e-9 * old.abs() + 1e-15;
                prop_assert!(before == after && close, "the direction changed: {old} became {new}");
            }
        }
    }

    #[test]
    fn an_inverse_is_refused_or_right(
        size in 1_usize..6,
        entries in vec(prop_oneof![4 => -2.0..2.0_f64, 1 => finite()], 36),
        scale in prop::sample::select(vec![1.0, 1e-300, 1e-160, 1e160, 1e300]),
    ) {
        let entry = |i: usize, j: usize| {
            let value = scale * entries[6 * i.max(j) + i.min(j)] + if i == j { 3.0 * scale } else { 0.0 };
            value.clamp(-f64::MAX, f64::MAX)
        };
        let rows: Vec<Vec<f64>> = (0..size).map(|i| (0..size).map(|j| entry(i, j)).collect()).collect();
        let Ok(inverse) = Symmetric::try_from_rows(&rows).and_then(|a| a.try_inverse()) else {
            return Ok(());
        };
        for (i, row) in rows.iter().enumerate() {
            prop_assert!(inverse.entry(i, i) > 0.0, "R[{i}, {i}] = {}", inverse.entry(i, i));
            for j in 0..size {
                prop_assert!(inverse.entry(i, j).is_finite());
                prop_assert!(inverse.entry(i, j).to_bits() == inverse.entry(j, i).to_bits());
                // (A R)_ij relative to the size of what was summed; condition numbers go up to 1e13.
                let terms = || row.iter().enumerate().map(|(k, entry)| entry * inverse.entry(k, j));
                let (sum, size) = (terms().sum::<f64>(), terms().map(f64::abs).sum::<f64>());
                let expected = f64::from(u8::from(i == j));
                prop_assert!((sum - expected).abs() <= 1e-2 * (1.0 + size), "(A R)[{i}, {j}] = {sum}");
            }
        }
    }

    #[test]
    fn what_is_not_symmetric_is_refused(size in 2_usize..6, at in (0_usize..6, 0_usize..6), by in 1e-6..10.0_f64) {
        let (i, j) = (at.0 % size, (at.0 + 1 + at.1 % (size - 1)) % size);
        let mut rows: Vec<Vec<f64>> = (0..size).map(|i| (0..size).map(|j| if i == j { 9.0 } else { 1.0 }).collect()).collect();
        prop_assert!(Symmetric::try_from_rows(&rows).is_ok());
        rows[i][j] += by;
        let error = Symmetric::try_from_rows(&rows).unwrap_err().to_string();
        prop_assert!(error.contains("the matrix must be symmetric"), "{error}");
    }

    /// (I + L) 1 = 1, so the rows of R sum to 1; I + L has no positive entry off its diagonal, so R has no negative one.
    #[test]
    fn the_r_of_a_graph_is_an_average(
        edges in btree_map((0_u32..9, 0_u32..9), 0.01..100.0_f64, 1..20),
        extra in 0_u32..3,
    ) {
        let pairs = edges.iter().filter(|((i, j), _)| i < j);
        let list: Vec<_> = pairs.map(|((i, j), weight)| json!([i, j, weight])).collect();
        let names: Vec<String> = (0..9 + extra).map(|task| task.to_string()).collect();
        let config = json!({"tasks": names, "learner": {"perceptron": {"interaction": {"graph": {"edges": list}}}}});
        let config: RunConfig = serde_json::from_value(config).unwrap();
        let model = Model::new(&config).unwrap();
        let relation = |i, j| model.learner().as_inspect().relation(TaskId(i), TaskId(j));
        let tasks = names.len() as u32;
        for i in 0..tasks {
            let sum: f64 = (0..tasks).map(|j| relation(i, j)).sum();
            prop_assert!((sum - 1.0).abs() < 1e-9, "row {i} sums to {sum}");
            for j in 0..tasks {
                prop_assert!(relation(i, j) >= -1e-12 && relation(i, j) <= relation(j, j) + 1e-12);
                prop_assert!(relation(i, j).to_bits() == relation(j, i).to_bits());
            }
        }
    }

    /// Every interaction builds or is refused; what builds can be saved and predicts.
    #[test]
    fn no_interaction_makes_the_config_panic(
        b in finite(),
        rows in vec(vec(finite(), 0..4), 0..4),
        edges in vec((any_name(), any_name(), finite()), 0..4),
    ) {
        for interaction in [
            json!({"coupled": {"b": b}}),
            json!({"matrix": {"rows": rows}}),
            json!({"graph": {"edges": edges}}),
        ] {
            let learner = json!({"perceptron": {"interaction": interaction}});
            let learner: LearnerConfig = serde_json::from_value(learner).unwrap();
            let config = RunConfig { learner, ..RunConfig::default() };
            if let Ok(model) = Model::new(&config) {
                let restored = Model::from_bytes(&model.to_bytes());
                prop_assert!(restored.is_ok(), "{}", restored.unwrap_err());
                let zero = SparseView::try_new(&[], &[]).unwrap();
                prop_assert!(model.learner().as_predict().margin(TaskId(0), zero) == 0.0);
            }
        }
    }
}
