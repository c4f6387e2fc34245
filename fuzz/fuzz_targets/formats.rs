//! Arbitrary bytes into the parsers of named features. The first byte chooses format and options, the rest is the file.
//!
//! Nothing may panic; every example must be valid for a learner; names must be numbered without gaps; and what was read
//! must come back to the bit when it is written as JSON lines and read again.
#![no_main]

use cognate::SparseView;
use cognate::run::RunOptions;
use cognate::stream::{
    Batch, CsvConfig, Format, HashedConfig, Input, Labels, NamingConfig, Normalize, ReadOptions, Stream, StreamConfig,
    VwConfig,
};
use cognate::{Example, Model, RunConfig, TaskId, Tasks};
use libfuzzer_sys::fuzz_target;

/// Task, features by name and label (none for NaN), to the bit.
type Row = (String, Vec<(String, u64)>, Option<u64>);

/// How a text is read, and whether for learning or only for predicting, which needs no column of labels.
struct Reading {
    config: RunConfig,
    options: ReadOptions,
    predicts: bool,
}

fn reading(choice: u8) -> Reading {
    let bit = |at: u8| choice & 1 << at != 0;
    let task_namespace = (bit(4) && !bit(3)).then(|| "u".to_owned());
    let format = match choice & 3 {
        0 => Format::Vw(VwConfig { task_namespace }),
        1 => Format::Csv(CsvConfig::default()),
        2 => jsonl(),
        _ => Format::default(),
    };
    let hashed = bit(2) && format.has_names();
    let naming = if hashed {
        NamingConfig::Hashed(HashedConfig { bits: 3, names: !bit(4) })
    } else {
        NamingConfig::default()
    };
    let stream = StreamConfig { format, naming, one_vs_all: bit(3), ..StreamConfig::default() };
    let features = (bit(6) && !hashed).then_some(6);
    let labels = if bit(5) { Labels::Optional } else { Labels::Required };
    Reading {
        config: RunConfig { features, stream, ..RunConfig::default() },
        options: ReadOptions::default().labels(labels).skip_bad(if bit(7) { u64::MAX } else { 0 }),
        predicts: bit(5),
    }
}

fn jsonl() -> Format {
    Format::Jsonl(Default::default())
}

/// A model that knows the names of a text, as far as it can be read.
fn model_of(input: &Input, reading: &Reading) -> Model {
    // Scaled, so that margins stay finite; names do not depend on it.
    let stream = StreamConfig { normalize: Normalize::L2, ..reading.config.stream.clone() };
    let config = RunConfig { stream, ..reading.config.clone() };
    let mut model = Model::new(&config).expect("the config is good");
    let mut reader = model.reader(vec![input.clone()], reading.options.clone()).expect("the format fits");
    let _ = model.learn(&mut reader, &RunOptions::default(), &mut ());
    let saved = model.to_bytes();
    let loaded = Model::from_bytes(&saved).expect("what has learnt is a whole model");
    assert!(loaded.to_bytes() == saved, "saving and loading changed the model");
    model
}

/// Everything up to the end or the first error, and whether there was one.
fn read(text: &[u8], reading: &Reading) -> (Vec<Row>, bool) {
    let input = Input::Bytes { name: "fuzz".to_owned(), bytes: text.into() };
    let (model, options) = (model_of(&input, reading), reading.options.clone());
    let names = model.names().by_feature();
    let (reader, mut tasks) = if reading.predicts {
        (model.prediction_reader(vec![input], options), model.tasks().clone())
    } else {
        (reading.config.reader(vec![input], options), Tasks::open())
    };
    let mut reader = reader.expect("the format fits");
    let (mut batch, mut rows) = (Batch::default(), Vec::new());
    loop {
        if let Err(error) = reader.fill(&mut batch) {
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
            let named = features.iter().map(|(feature, value)| {
                let name = names.names(feature).next().map_or_else(|| feature.to_string(), str::to_owned);
                (name, value.to_bits())
            });
            // By name, not by number: names are numbered as they are met, even in lines that give no example yet.
            let mut named: Vec<(String, u64)> = named.collect();
            named.sort_unstable();
            rows.push((name.to_owned(), named, (!label.is_nan()).then(|| label.to_bits())));
        }
    }
}

/// A JSON text.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out + "\""
}

fn write(rows: &[Row]) -> String {
    let line = |(task, features, label): &Row| {
        let features: Vec<String> = features
            .iter()
            .map(|(name, bits)| format!("{}:{:?}", quoted(name), f64::from_bits(*bits)))
            .collect();
        let label = label.map_or("null".to_owned(), |bits| f64::from_bits(bits).to_string());
        format!("{{\"task\":{},\"label\":{label},\"features\":{{{}}}}}\n", quoted(task), features.join(","))
    };
    rows.iter().map(line).collect()
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, text)) = data.split_first() else { return };
    let reading = reading(*choice);
    let (rows, _) = read(text, &reading);
    if reading.config.stream.naming == NamingConfig::default() && reading.config.stream.format.has_names() {
        let stream = StreamConfig { format: jsonl(), ..StreamConfig::default() };
        let config = RunConfig { stream, ..RunConfig::default() };
        let options = ReadOptions::default().labels(Labels::Optional);
        let plain = Reading { config, options, predicts: false };
        let (again, failed) = read(write(&rows).as_bytes(), &plain);
        assert!(!failed, "what was read and written was refused");
        assert!(again == rows, "what was read and written came back otherwise");
    }
});
