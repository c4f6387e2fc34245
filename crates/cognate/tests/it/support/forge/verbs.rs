//! Everything that can be done with a model that was loaded.

use cognate::run::RunOptions;
use cognate::stream::{Features, Input, Labels, ReadOptions};
use cognate::{BIAS_FEATURE, Model, Part, SparseView, TaskId};

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Refused,
    /// Loaded, and every verb works.
    Accepted,
    /// The same, but with numbers so extreme that a margin, or a state after more examples, is not finite. Saving such
    /// a state is refused.
    Overflowing,
}

/// Loads a file and, if that succeeds, tries every verb; panics, naming the broken promise, when one is broken.
pub(crate) fn examine(bytes: &[u8]) -> Verdict {
    let model = match Model::from_bytes(bytes) {
        Ok(model) => model,
        Err(error) => {
            assert!(!error.to_string().is_empty(), "a refusal says why");
            return Verdict::Refused;
        }
    };
    let saved = model.to_bytes();
    assert_same(&model, "as loaded");
    let finite = look(&model);
    assert!(model.to_bytes() == saved, "looking at a model changed it");
    let lasting = learn(&model, finite);
    forget(&model);
    read(&model);
    if let Ok(unlearnt) = model.unlearnt() {
        assert_same(&unlearnt, "unlearnt");
    }
    if finite && lasting { Verdict::Accepted } else { Verdict::Overflowing }
}

/// Saving and loading change nothing.
fn assert_same(model: &Model, what: &str) {
    let saved = model.to_bytes();
    let again =
        Model::from_bytes(&saved).unwrap_or_else(|error| panic!("{what}: saved, not loaded: {error}"));
    let second = again.to_bytes();
    let place = saved.iter().zip(&second).position(|(one, other)| one != other);
    assert!(saved == second, "{what}: loading and saving changed the model, first at byte {place:?}");
}

/// Tasks that are known, the last one, and one that is new.
fn some_tasks(model: &Model) -> Vec<TaskId> {
    let tasks = model.learner().as_inspect().tasks() as u64;
    let mut some: Vec<u64> = (0..tasks.min(3)).chain(tasks.checked_sub(1)).chain([tasks]).collect();
    some.dedup();
    some.into_iter().filter(|task| *task < u64::from(u32::MAX)).map(|task| TaskId(task as u32)).collect()
}

/// Everything that changes nothing; whether all margins are finite.
fn look(model: &Model) -> bool {
    let (predict, inspect) = (model.learner().as_predict(), model.learner().as_inspect());
    let tasks = some_tasks(model);
    let mut finite = true;
    for task in &tasks {
        let weights = inspect.weights(*task);
        assert!(weights.windows(2).all(|pair| pair[0].0 < pair[1].0), "weights are listed by feature");
        let known = weights.first().map_or(5, |pair| pair.0);
        for feature in [0, 1, 12, known, BIAS_FEATURE - 1, BIAS_FEATURE] {
            let x = SparseView::try_new(std::slice::from_ref(&feature), &[1.0]).expect("a view");
            finite &= predict.margin(*task, x).is_finite();
        }
        let nothing = SparseView::try_new(&[], &[]).expect("a view");
        finite &= predict.margin(*task, nothing).is_finite();
        for other in &tasks {
            let relation = inspect.relation(*task, *other);
            assert!(!relation.is_nan(), "a relation is NaN");
        }
        assert!(!inspect.influence(*task).is_nan(), "an influence is NaN");
        for part in [Part::Shared, Part::Individual, Part::Outlier] {
            inspect.part(part, *task);
        }
    }
    inspect.supports();
    inspect.strengths();
    inspect.parts(&tasks);
    inspect.remarks();
    inspect.heap_bytes();
    inspect.probability(0.5);
    if let Ok(export) = model.export() {
        tasks.iter().for_each(|task| drop(export.task(*task)));
    }
    let x = SparseView::try_new(&[0, 3], &[1.0, -1e3]).expect("two features");
    for task in &tasks {
        let variance = model.learner().as_predict().variance(*task, x).unwrap_or(0.0);
        assert!(variance.is_finite() && variance >= 0.0, "a variance is {variance}");
    }
    for name in model.tasks().sorted().into_iter().take(3).map(|task| model.tasks().name(task)) {
        model.explain(name).expect("a task that is there is explained");
    }
    let total = model.metrics().total();
    assert!(
        [total.error(), total.f1(), total.precision(), total.recall()].iter().all(|rate| rate.is_finite())
    );
    for unusual in model.unusual() {
        assert!(!unusual.to_string().is_empty(), "a finding says what was found");
    }
    model.run_config().validate().expect("a model's config is valid");
    finite
}

/// Learning ends well or with an error; whether what was learnt can be saved.
fn learn(model: &Model, finite: bool) -> bool {
    let mut lasting = true;
    let first = model.tasks().names().next().unwrap_or("a").to_owned();
    let choices =
        [Features::Nothing, Features::Numbered(&[(0, 1.0), (3, -0.5)]), Features::Named(&[("a", 1.0)])];
    for features in choices {
        if let Ok(answer) = model.predict_row(Some(&first), features) {
            assert!(answer.margin.is_finite(), "an answer is {}", answer.margin);
        }
        let mut copy = model.clone();
        let mut good = finite;
        for (task, label) in [(first.as_str(), 1.0), ("unheard of", -1.0), (first.as_str(), -1.0)] {
            good &= copy.learn_one(task, features, label).is_ok();
        }
        if good {
            match Model::from_bytes(&copy.to_bytes()) {
                Ok(_) => assert_same(&copy, "after learning"),
                Err(_) => {
                    assert!(copy.to_loadable_bytes().is_err(), "what does not load is not saved");
                    lasting = false;
                }
            }
        }
    }
    lasting
}

/// Each of the first tasks is forgotten, or that is refused.
fn forget(model: &Model) {
    let names: Vec<String> = model.tasks().names().take(3).map(str::to_owned).collect();
    for name in names {
        let mut copy = model.clone();
        if copy.forget_task(&name).is_ok() {
            assert!(copy.tasks().find(&name).is_none(), "a task that was forgotten is there");
            assert_same(&copy, "without a task");
        }
    }
}

/// Text in the model's own format is learnt and predicted, or refused.
fn read(model: &Model) {
    let text = match model.config().format.id() {
        "vw" => "1 'a| x y:0.5\n-1 'b| z\n",
        "csv" => "task,label,x\na,1,2\nb,-1,3\n",
        "jsonl" => "{\"task\": \"a\", \"label\": 1, \"features\": {\"x\": 1}}\n",
        _ => "1 task:a 1:1 4:-2\n-1 task:b 2:1\n",
    };
    let input = || vec![Input::Bytes { name: "text".to_owned(), bytes: text.as_bytes().into() }];
    if let Ok(mut reader) = model.prediction_reader(input(), ReadOptions::default()) {
        let one = std::num::NonZeroUsize::MIN;
        let _ = model.predict(&mut reader, one, &mut |answers| {
            assert!(answers.iter().all(|(_, margin)| margin.is_finite()), "an answer is not finite");
            std::ops::ControlFlow::Continue(())
        });
    }
    if let Ok(mut reader) = model.reader(input(), ReadOptions::default().labels(Labels::Optional)) {
        let _ = model.clone().learn(&mut reader, &RunOptions::default(), &mut ());
    }
}
