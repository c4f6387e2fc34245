//! Arbitrary bytes into the loader of model files. The first byte says how the rest is taken: as it is, or as a model
//! whose lengths and checksums are corrected first, so that the code behind those checks is reached.
//!
//! Nothing may panic. What loads must predict, learn, and be the same after another save and load.
#![no_main]

use cognate::{Example, SparseView};
use cognate::{Features, Model, TaskId};
use libfuzzer_sys::fuzz_target;

/// The same file with valid lengths and checksums.
fn repaired(bytes: &[u8]) -> Vec<u8> {
    let (start, mut rest) = bytes.split_at(bytes.len().min(12));
    let mut file = start.to_vec();
    let mut covered = 0;
    for _ in 0..3 {
        let Some((length, after)) = rest.split_first_chunk::<8>() else { break };
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX).min(after.len());
        let (section, after) = after.split_at(length);
        file.extend((length as u64).to_le_bytes());
        file.extend(section);
        let checksum = crc32fast::hash(&file[covered..]);
        file.extend(checksum.to_le_bytes());
        covered = file.len();
        rest = &after[after.len().min(4)..];
    }
    file
}

fn exercise(mut model: Model) {
    let saved = model.to_bytes();
    let again = Model::from_bytes(&saved).expect("a model that was loaded and saved loads");
    assert!(again.to_bytes() == saved, "loading and saving changed the model");
    let zero = SparseView::try_new(&[], &[]).expect("a view");
    let unit = SparseView::try_new(&[0], &[1.0]).expect("a view");
    let tasks = model.learner().as_inspect().tasks();
    for task in (0..tasks.min(8) as u32 + 1).map(TaskId) {
        for x in [zero, unit] {
            let margin = model.learner().as_predict().margin(task, x);
            assert!(!margin.is_nan(), "a margin is NaN");
        }
        model.learner().as_inspect().weights(task);
        assert!(!model.learner().as_inspect().relation(task, TaskId(0)).is_nan());
        assert!(!model.learner().as_inspect().influence(task).is_nan());
    }
    for features in [Features::Nothing, Features::Numbered(&[(0, 1.0)]), Features::Named(&[("a", 1.0)])] {
        let _ = model.predict_row(None, features);
        // What is refused or dropped changes nothing; what is learnt need not be finite.
        let _ = model.rows().push(Some("a"), features, Some(1.0));
        assert!(model.to_bytes() == saved, "predicting, or giving up, changed the model");
        let _ = model.clone().learn_one("a", features, 1.0);
    }
    let mut learner = model.learner().clone();
    if let Some(learner) = learner.as_online() {
        for label in [1.0, -1.0] {
            learner.learn(Example::new(TaskId(0), unit, label));
        }
        learner.skip(TaskId(0));
    }
    model = again;
    assert!(model.to_bytes() == saved, "a copy's learning changed the model");
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = data.split_first() else { return };
    let repaired = if choice & 1 == 0 { bytes.to_vec() } else { repaired(bytes) };
    match Model::from_bytes(&repaired) {
        Ok(model) => exercise(model),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
