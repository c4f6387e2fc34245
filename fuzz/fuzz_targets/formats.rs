//! Arbitrary bytes into the parsers of named features. The first byte chooses format and options, the rest is the file.
//!
//! Nothing may panic; every example must be one that a learner can trust; a model's worth of names must be numbered
//! without gaps; and what was read must come back to the bit when it is written as JSON lines and read again.
#![no_main]

use cognate::SparseView;
use cognate::stream::{Batch, Format, Input, Labels, Reader, ReaderOptions, Reading, Stream};
use cognate::{Example, Tasks};
use libfuzzer_sys::fuzz_target;

/// Task, features by name and label (none for NaN), to the bit.
type Row = (String, Vec<(String, u64)>, Option<u64>);

fn options(choice: u8) -> ReaderOptions {
    let bit = |at: u8| choice & 1 << at != 0;
    let format = match choice & 3 {
        0 => Format::Vw,
        1 => Format::Csv,
        2 => Format::Jsonl,
        _ => Format::Svm,
    };
    let hashed = bit(2) && format != Format::Svm;
    ReaderOptions {
        reading: Reading {
            format,
            task_namespace: (bit(4) && format == Format::Vw && !bit(3)).then(|| "u".to_owned()),
            bits: hashed.then_some(3),
            names: !(hashed && bit(4)),
            one_vs_all: bit(3),
            ..Reading::default()
        },
        labels: if bit(5) { Labels::Optional } else { Labels::Required },
        label_column_may_miss: bit(5),
        features: (bit(6) && !hashed).then_some(6),
        skip_bad: if bit(7) { u64::MAX } else { 0 },
        ..ReaderOptions::default()
    }
}

/// Everything up to the end or the first error, and whether there was one.
fn read(text: &[u8], options: &ReaderOptions) -> (Vec<Row>, bool) {
    let input = Input::Bytes { name: "fuzz".to_owned(), bytes: text.into() };
    let mut reader = Reader::new(vec![input], Tasks::open(), options.clone());
    let (mut tasks, mut batch, mut rows) = (Tasks::open(), Batch::default(), Vec::new());
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
        let names = reader.names().by_feature();
        for Example { task, features, label } in batch.examples() {
            SparseView::try_new(features.indices(), features.values()).expect("examples are checked");
            assert!(task.index() < tasks.len() && (label.is_nan() || label.abs() == 1.0));
            let named = features.iter().map(|(feature, value)| {
                let name = names.names(feature).next().map_or_else(|| feature.to_string(), str::to_owned);
                (name, value.to_bits())
            });
            // By name, not by number: names are numbered as they are met, also in lines that are no example of any class yet.
            let mut named: Vec<(String, u64)> = named.collect();
            named.sort_unstable();
            rows.push((tasks.name(task).to_owned(), named, (!label.is_nan()).then(|| label.to_bits())));
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
    let options = options(*choice);
    let (rows, _) = read(text, &options);
    if options.reading.bits.is_none() && options.reading.format != Format::Svm {
        let reading = Reading { format: Format::Jsonl, ..Reading::default() };
        let plain = ReaderOptions { reading, labels: Labels::Optional, ..ReaderOptions::default() };
        let (again, failed) = read(write(&rows).as_bytes(), &plain);
        assert!(!failed, "what was read and written was refused");
        assert!(again == rows, "what was read and written came back otherwise");
    }
});
