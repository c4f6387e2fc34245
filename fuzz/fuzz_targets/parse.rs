//! Arbitrary bytes into the reader. The first byte chooses how it reads, the rest is the file.
//!
//! Nothing may panic; every example must be valid for a learner; what was read unscaled must come back to the bit when
//! it is written and read again.
#![no_main]

use cognate::SparseView;
use cognate::stream::{
    Batch, Input, Labels, Normalize, Preprocess, ReadOptions, Stream, StreamConfig, write_example,
};
use cognate::{Example, RunConfig, TaskId, Tasks};
use libfuzzer_sys::fuzz_target;

/// Task, features and label (none for NaN), to the bit.
type Row = (String, Vec<(u32, u64)>, Option<u64>);

fn reading(choice: u8) -> (RunConfig, ReadOptions) {
    let bit = |at: u8| choice & 1 << at != 0;
    let stream = StreamConfig {
        normalize: if bit(0) { Normalize::L2 } else { Normalize::None },
        clip: bit(1).then_some(0.5),
        bias: bit(2).then_some(-1.0),
        ..StreamConfig::default()
    };
    let labels = match (bit(3), bit(7)) {
        (false, _) => Labels::Required,
        (true, false) => Labels::Optional,
        (true, true) => Labels::Kept,
    };
    let skip_bad = match choice >> 5 & 3 {
        0 => 0,
        1 => 2,
        _ => u64::MAX,
    };
    let config = RunConfig { features: bit(4).then_some(20), stream, ..RunConfig::default() };
    (config, ReadOptions::default().labels(labels).skip_bad(skip_bad))
}

/// Everything up to the end or the first error, and whether there was one.
fn read(text: &[u8], config: &RunConfig, options: &ReadOptions) -> (Vec<Row>, bool) {
    let input = Input::Bytes { name: "fuzz".to_owned(), bytes: text.into() };
    let mut reader = config.reader(vec![input], options.clone()).expect("the config is good");
    let (mut tasks, mut batch, mut rows) = (Tasks::open(), Batch::default(), Vec::new());
    loop {
        if let Err(error) = reader.fill(&mut batch) {
            // Messages quote the input, so they are made too.
            assert!(!error.to_string().is_empty());
            return (rows, true);
        }
        if batch.is_empty() {
            return (rows, false);
        }
        for name in batch.new_tasks() {
            tasks.meet(name).expect("open tasks take any name");
        }
        for Example { task, features, label, .. } in batch.examples() {
            SparseView::try_new(features.indices(), features.values()).expect("examples are checked");
            assert!(label.is_nan() || label.abs() == 1.0);
            // Whose an example without a label is may be asked.
            let name = if label.is_nan() && task == TaskId(u32::MAX) { "?" } else { tasks.name(task) };
            let bits = features.iter().map(|(feature, value)| (feature, value.to_bits())).collect();
            rows.push((name.to_owned(), bits, (!label.is_nan()).then(|| label.to_bits())));
        }
    }
}

fn write(rows: &[Row]) -> Vec<u8> {
    let mut text = Vec::new();
    for (task, features, label) in rows {
        let (indices, values): (Vec<u32>, Vec<f64>) =
            features.iter().map(|(feature, bits)| (*feature, f64::from_bits(*bits))).unzip();
        let features = SparseView::try_new(&indices, &values).expect("examples are checked");
        let label = label.map_or(f64::NAN, f64::from_bits);
        write_example(&mut text, task, Example::new(TaskId(0), features, label))
            .expect("memory takes it");
    }
    text
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, text)) = data.split_first() else { return };
    let (config, options) = reading(*choice);
    let (rows, _) = read(text, &config, &options);
    if config.stream.preprocess() == Preprocess::default() {
        let (again, failed) = read(&write(&rows), &config, &options);
        assert!(!failed, "what was read and written was refused");
        assert!(again == rows, "what was read and written came back otherwise");
    }
});
