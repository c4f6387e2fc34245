//! Simultaneous rounds, resumed: whatever graph names tasks that never come, the model is that of an unbroken run.

use cognate::algorithms::Protocol;
use cognate::internal::generator;
use cognate::run::RunOptions;
use cognate::stream::{Input, ReadOptions};
use cognate::{Model, REGISTRY, RunConfig, RunError};
use rand::seq::SliceRandom as _;
use rand::{Rng, RngExt as _};
use serde_json::{Value, json};

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const ROUNDS: usize = 5;
const STREAMS_PER_LEARNER: u64 = 400;

/// A graph of some tasks, in any order; the rounds are of others as well.
fn graph(rng: &mut impl Rng) -> Value {
    let mut names = NAMES;
    names.shuffle(rng);
    let pairs = rng.random_range(1..=3);
    let edges: Vec<[&str; 2]> = names.chunks(2).take(pairs).map(|pair| [pair[0], pair[1]]).collect();
    json!({ "graph": { "edges": edges } })
}

/// The config of a learner on rounds of these tasks; none where it takes no such graph.
fn config(id: &str, rounds_of: &[&str], rng: &mut impl Rng) -> RunConfig {
    let (graph, query) = (graph(rng), json!({ "margin": { "b": 1.0 } }));
    let learners = [json!({ id: { "interaction": graph } }), json!({ id: graph }), json!(id)];
    let takes = |learner: &Value| {
        let config = json!({ "learner": learner, "stream": { "simultaneous": true } });
        serde_json::from_value::<RunConfig>(config).ok().filter(|config| Model::new(config).is_ok())
    };
    let plain = rng.random_bool(0.1);
    let mut config = learners.iter().skip(if plain { 2 } else { 0 }).find_map(takes).unwrap();
    if rng.random_bool(0.3) {
        let asking = RunConfig { query: serde_json::from_value(query).unwrap(), ..config.clone() };
        config = Some(asking).filter(|asking| Model::new(asking).is_ok()).unwrap_or(config);
    }
    if rng.random_bool(0.3) {
        // Declared, every task must come; some that are declared never do.
        let mut tasks = rounds_of.to_vec();
        tasks.extend(NAMES.iter().filter(|name| !rounds_of.contains(name)).take(rng.random_range(0..2)));
        let declared = RunConfig { tasks: serde_json::from_value(json!(tasks)).unwrap(), ..config.clone() };
        config = Some(declared).filter(|declared| Model::new(declared).is_ok()).unwrap_or(config);
    }
    config
}

/// Rounds of one example of each task, in any order.
fn rounds(tasks: &[&str], rng: &mut impl Rng) -> Vec<String> {
    let mut round = || {
        let mut tasks = tasks.to_vec();
        tasks.shuffle(rng);
        let mut line = |task: &str| {
            let label = if rng.random_bool(0.5) { "+1" } else { "-1" };
            let values = [0; 3].map(|_| rng.random_range(-1.0..1.0));
            format!("{label} task:{task} 1:{} 2:{} {}:1\n", values[0], values[1], rng.random_range(3..9))
        };
        tasks.iter().map(|task| line(task)).collect::<String>()
    };
    (0..ROUNDS).map(|_| round()).collect()
}

fn learn(model: &mut Model, text: &str) -> Result<(), RunError> {
    let input = Input::Bytes { name: "text".to_owned(), bytes: text.as_bytes().into() };
    let mut reader = model.reader(vec![input], ReadOptions::default()).unwrap();
    model.learn(&mut reader, &RunOptions::default(), &mut ()).map(|_| ())
}

#[test]
fn cut_at_any_round_is_unbroken_even_where_a_graph_names_a_task_that_never_comes() {
    let (mut compared, mut with_absent) = (0, 0);
    let learners = REGISTRY.iter().filter(|about| about.protocol != Protocol::Batch);
    for (number, about) in learners.enumerate() {
        for stream in 0..STREAMS_PER_LEARNER {
            let mut rng = generator(number as u64, stream);
            let mut tasks = NAMES;
            tasks.shuffle(&mut rng);
            let tasks = &tasks[..rng.random_range(1..=NAMES.len())];
            let config = config(about.id, tasks, &mut rng);
            let context = serde_json::to_string(&config).unwrap();
            let rounds = rounds(tasks, &mut rng);
            let mut unbroken = Model::new(&config).unwrap();
            let learnt = learn(&mut unbroken, &rounds.concat());
            with_absent += usize::from(unbroken.tasks().len() > tasks.len());
            for cut in 1..ROUNDS {
                let mut first = Model::new(&config).unwrap();
                let begun = learn(&mut first, &rounds[..cut].concat());
                assert_eq!(begun.is_ok(), learnt.is_ok(), "{context}, cut {cut}");
                if begun.is_err() {
                    continue;
                }
                let mut resumed = Model::from_bytes(&first.to_loadable_bytes().unwrap()).unwrap();
                learn(&mut resumed, &rounds[cut..].concat())
                    .unwrap_or_else(|error| panic!("{context}, cut {cut}: {error}"));
                assert!(resumed.to_bytes() == unbroken.to_bytes(), "{context}, cut {cut}: the model differs");
                compared += 1;
            }
        }
    }
    assert!(
        compared > 20_000 && with_absent > 2000,
        "{compared} compared, {with_absent} with an absent task"
    );
}

/// The round that is missing a task is refused after a resume as before it, by the names of those that are in rounds.
#[test]
fn a_resumed_round_lacks_only_tasks_that_came_before() {
    let config = json!({
        "learner": { "perceptron": { "interaction": { "graph": { "edges": [["absent", "a"], ["b", "c"]] } } } },
        "stream": { "simultaneous": true },
    });
    let mut model = crate::support::harness::model(&config);
    learn(&mut model, "+1 task:a 1:1\n-1 task:b 1:1\n").unwrap();
    let mut resumed = Model::from_bytes(&model.to_bytes()).unwrap();
    let error = learn(&mut resumed, "+1 task:b 1:1\n").unwrap_err().to_string();
    assert!(error.contains("ends after 1 of 2 tasks and lacks a;"), "{error}");
    let error = learn(&mut resumed, "+1 task:c 1:1\n").unwrap_err().to_string();
    assert!(error.contains("has task c, which the rounds before it lack"), "{error}");
    learn(&mut resumed, "+1 task:b 1:1\n-1 task:a 1:1\n").unwrap();
    assert_eq!(resumed.rounds(), 2);
}
