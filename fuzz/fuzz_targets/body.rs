//! Arbitrary bytes as the body of a request to the server. The first byte says of which.
//!
//! Nothing may panic. What is refused says what and where; what is taken is the same when it comes back from the log, and can be
//! learnt or predicted, or is refused by the model.
#![no_main]

use std::cell::RefCell;

use cognate::{Model, RunConfig};
use cognate_server::body::{Purpose, Reading, labels};
use cognate_server::entry::{Change, Entry, Key};
use cognate_server::examples::Examples;
use libfuzzer_sys::fuzz_target;

const MOST_FEATURES: usize = 50;

thread_local! {
    static MODEL: RefCell<Model> = RefCell::new(Model::new(&RunConfig::default()).expect("the default config is valid"));
}

fn check(examples: &Examples, purpose: Purpose) {
    let rows: Result<Vec<_>, _> = examples.reader().collect();
    let rows = rows.expect("what was read is whole");
    assert_eq!(rows.len(), examples.count);
    let key = Some(Key { key: [1; 16], body: [2; 8] });
    let change = match purpose {
        Purpose::Learn => Change::Learn(examples.clone()),
        Purpose::Predict => Change::Remember("team/".to_owned(), examples.clone()),
    };
    let entry = Entry { time: 1, key, change };
    assert!(Entry::from_bytes(&entry.to_bytes()).as_ref() == Ok(&entry), "the log gives something else back");
    MODEL.with_borrow(|model| {
        for row in rows.iter().take(20) {
            assert!(row.features.len() <= MOST_FEATURES);
            if let Ok(predicted) = model.predict_row(row.task, row.features.as_features()) {
                assert!(!predicted.margin.is_nan());
            }
            assert!(purpose == Purpose::Predict || row.label.is_some(), "learnt without a label");
        }
    });
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, body)) = data.split_first() else { return };
    let purpose = if choice & 1 == 0 { Purpose::Learn } else { Purpose::Predict };
    let reading = Reading { purpose, max_features: MOST_FEATURES, takes_unknown: true };
    let read = match choice >> 1 & 3 {
        0 => reading.json(body),
        1 => reading.lines(body),
        2 => {
            match labels(body) {
                Ok(labels) => assert!(labels.iter().all(|(id, label)| !id.is_empty() && label.is_finite())),
                Err(failure) => assert!(!failure.message.is_empty()),
            }
            return;
        }
        _ => {
            // The log is checked by its sums, but what was written by a later version is refused, not a panic.
            if let Ok(entry) = Entry::from_bytes(body) {
                assert!(Entry::from_bytes(&entry.to_bytes()).as_ref() == Ok(&entry));
            }
            return;
        }
    };
    match read {
        Ok(examples) => check(&examples, purpose),
        Err(failure) => {
            assert!(!failure.message.is_empty() && failure.code.status() >= 400, "{failure:?}");
        }
    }
});
