//! A model remembers its config: does the config that it gives back make the same model?

use cognate::config::TasksConfig;
use cognate::{Model, ModelConfig, ReadOptions, RunConfig};
use proptest::prelude::*;
use serde_json::{Value, json};

fn formats() -> impl Strategy<Value = Value> {
    let name = || prop::option::of("[a-z]{1,3}");
    let csv = (name(), name(), prop::collection::vec("[a-z]{1,3}", 0..3)).prop_map(|(task, label, texts)| {
        let mut csv = serde_json::Map::new();
        csv.extend(task.map(|name| ("task-column".to_owned(), json!(name))));
        csv.extend(label.map(|name| ("label-column".to_owned(), json!(name))));
        csv.extend((!texts.is_empty()).then(|| ("categorical".to_owned(), json!(texts))));
        json!({"csv": csv})
    });
    let vw = name().prop_map(|name| match name {
        Some(name) => json!({"vw": {"task-namespace": name}}),
        None => json!("vw"),
    });
    prop_oneof![Just(json!("svm")), Just(json!("jsonl")), csv, vw]
}

fn namings() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!("auto")),
        Just(json!("numbered")),
        Just(json!("named")),
        (1..=31_u32, any::<bool>())
            .prop_map(|(bits, names)| json!({"hashed": {"bits": bits, "names": names}})),
    ]
}

fn run_configs() -> impl Strategy<Value = RunConfig> {
    let scaling =
        (prop::sample::select(vec!["none", "l2"]), prop::option::of(0.1..9.0), prop::option::of(-9.0..9.0));
    let stream = (formats(), namings(), any::<bool>(), scaling, any::<bool>(), any::<u64>(), 1..9_u32);
    let learner = prop::sample::select(vec![
        json!("perceptron"),
        json!({"perceptron": {"interaction": "pooled"}}),
        json!("adaptive"),
        json!({"kernel-perceptron": {"kernel": "gaussian"}}),
    ]);
    let query = prop::sample::select(vec![json!("all"), json!({"margin": {"b": 0.5}}), json!("relation")]);
    let tasks = prop_oneof![
        Just(None),
        (1..9_u32).prop_map(|count| Some(TasksConfig::Count(count))),
        prop::collection::btree_set("[a-z0-9]{1,3}", 1..4)
            .prop_map(|names| Some(TasksConfig::Names(names.into_iter().collect()))),
    ];
    (stream, learner, query, tasks, prop::option::of(1..99_u32)).prop_map(
        |(
            (format, naming, one_vs_all, scaling, simultaneous, seed, passes),
            learner,
            query,
            tasks,
            features,
        )| {
            let stream = json!({
                "format": format, "naming": naming, "one-vs-all": one_vs_all,
                "normalize": scaling.0, "clip": scaling.1, "bias": scaling.2,
                "simultaneous": simultaneous, "seed": seed, "passes": passes, "order": "shuffle",
            });
            let config = json!({"stream": stream, "learner": learner, "query": query});
            RunConfig { tasks, features, ..serde_json::from_value(config).unwrap() }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Given back its own config, a model remembers the same.
    #[test]
    fn a_model_gives_back_the_config_that_it_remembers(config in run_configs()) {
        let kept = ModelConfig::of(&config);
        // Also as text.
        let written = serde_json::to_string(&kept).unwrap();
        prop_assert_eq!(&serde_json::from_str::<ModelConfig>(&written).unwrap(), &kept);
        let Ok(model) = Model::new(&config) else { return Ok(()) };
        prop_assert_eq!(model.config(), &kept);
        let back = model.run_config();
        prop_assert_eq!(&ModelConfig::of(&back), &kept);
        prop_assert_eq!(ModelConfig::of(&back).to_run(model.tasks()), back.clone());
        prop_assert_eq!(&back.tasks, &config.tasks);
        // Both configs make the same model, and it can be saved.
        let again = Model::new(&back).unwrap();
        prop_assert!(again.to_bytes() == model.to_bytes());
        prop_assert!(Model::from_bytes(&model.to_bytes()).unwrap().to_bytes() == model.to_bytes());
        // Readers of both agree on what can be read.
        let readers = [config.reader(Vec::new(), ReadOptions::default()), model.reader(Vec::new(), ReadOptions::default())];
        prop_assert!(readers[0].is_ok() == readers[1].is_ok());
    }
}
