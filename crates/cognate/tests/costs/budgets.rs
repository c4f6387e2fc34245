//! Does a model with a budget in bytes hold no more, whatever tasks come?

use std::sync::atomic::Ordering;

use cognate::algorithms::CostClass;
use cognate::run::RunOptions;
use cognate::stream::{Input, ReadOptions};
use cognate::{Model, REGISTRY, RunConfig, RunError};
use serde_json::json;

use crate::counting::{HELD, alone};

/// A line per task: numbers far apart, so that they are in no array, or names.
fn text(tasks: u32, named: bool) -> String {
    let line = |task: u32| {
        let name = if named { format!("task:user-{task:011}") } else { format!("qid:{}", task * 99_991) };
        let label = if task.is_multiple_of(2) { '+' } else { '-' };
        format!("{label}1 {name} {}:1 {}:0.5 {}:-1\n", 1 + task % 9, 10 + task % 70, 100 + task)
    };
    (1..=tasks).map(line).collect()
}

/// A model that has learnt a text, and the bytes that it holds.
fn learnt(id: &str, budget: &str, text: &str) -> Result<(Model, usize), RunError> {
    let config = json!({"learner": {id: {"budget": budget, "kernel": "gaussian"}}});
    let config: RunConfig = serde_json::from_value(config).unwrap();
    let before = HELD.load(Ordering::Relaxed);
    let mut model = Model::new(&config).unwrap();
    let input = Input::Bytes { name: "text".to_owned(), bytes: text.as_bytes().into() };
    let mut reader = model.reader(vec![input], ReadOptions::default()).unwrap();
    model.learn(&mut reader, &RunOptions::default(), &mut ())?;
    drop(reader);
    Ok((model, HELD.load(Ordering::Relaxed) - before))
}

#[test]
fn a_budget_in_bytes_holds_with_thousands_of_tasks_or_names_the_least_that_does() {
    let _alone = alone();
    let ids = REGISTRY.iter().filter(|about| about.cost_class == CostClass::Budget).map(|about| about.id);
    let ids: Vec<&str> = ids.collect();
    assert!(ids.len() >= 4, "{ids:?}");
    for id in ids {
        for named in [false, true] {
            let text = text(5_000, named);
            // Whatever fits is learnt, up to the task that does not.
            let Err(RunError::SmallBudget { learner, tasks, least }) = learnt(id, "64kB", &text) else {
                panic!("{id}: tasks that take more than the budget are not refused");
            };
            assert!(learner == id && tasks > 150, "{id}: {tasks} tasks");
            assert!(least.to_string().ends_with('B'), "{id}: {least}");
            for budget in [2_000_000, 3_000_000] {
                let (model, held) = learnt(id, &format!("{budget}B"), &text).unwrap();
                let supports = model.learner().as_inspect().supports();
                assert!(supports.is_some_and(|supports| !supports.is_empty()), "{id}: nothing kept");
                assert_eq!(model.tasks().len(), 5_000);
                assert!(held <= budget, "{id}, named: {named}: {held} bytes of {budget}");
            }
        }
    }
}
