//! Model files: are damaged ones refused, and do those of earlier releases still load?
//!
//! `tests/fixtures/` holds models of every released format version. They must load for ever, so a released one is
//! never rewritten. `COGNATE_BLESS=1 cargo test -p cognate --test it snapshots` writes those that are missing:
//! a new format version gets new names, beside the old files.

use std::fs;
use std::path::Path;

use crate::support::figure1::Figure1;
use crate::support::harness;
use crate::support::matrices::{Matrix, coupled, graph, inverse};
use crate::support::model_files::{
    FORMAT_VERSION, alike, assembled, fixture, fixture_of, released, sections,
};
use crate::support::readers::{input, reader_for};
use crate::support::texts::{LINES, texts};
use cognate::internal::generator;
use cognate::run::RunOptions;
use cognate::{Model, SnapshotError, SparseView};
use rand::RngExt;
use serde_json::{Value, json};

const FEATURES: usize = 6;
const TASKS: usize = 3;

/// What a fixture was learnt with, and the R that it stands for.
#[derive(Clone)]
struct Fixture {
    name: &'static str,
    tasks: [&'static str; TASKS],
    config: Value,
    r: Matrix,
    /// Margins of the tasks on [`probe`], computed in exact fractions by a separate script.
    margins: [f64; TASKS],
}

fn fixtures() -> [Fixture; 3] {
    let rows = json!([[2.0, -0.5, 0.25], [-0.5, 1.5, 0.0], [0.25, 0.0, 1.0]]);
    let edges = json!([["ann", "bob"], ["bob", "7", 0.5]]);
    [
        Fixture {
            name: "perceptron-coupled",
            tasks: ["ann", "bob", "7"],
            config: json!({"learner": {"perceptron": {"interaction": {"coupled": {"b": 2.5}}}}}),
            r: inverse(&coupled(TASKS, 2.5)),
            margins: [0.427_083_333_333_333_3, 0.355_654_761_904_761_9, -0.938_988_095_238_095_2],
        },
        Fixture {
            name: "perceptron-graph",
            tasks: ["ann", "bob", "7"],
            config: json!({"learner": {"perceptron": {"interaction": {"graph": {"edges": edges}}}}}),
            r: inverse(&graph(TASKS, &[(0, 1, 1.0), (1, 2, 0.5)])),
            margins: [1.414_772_727_272_727_3, 0.610_795_454_545_454_6, -2.463_068_181_818_181_7],
        },
        Fixture {
            name: "perceptron-matrix",
            tasks: ["1", "2", "3"],
            config: json!({
                "features": FEATURES,
                "learner": {"perceptron": {"interaction": {"matrix": {"rows": rows}}}},
            }),
            r: inverse(&serde_json::from_value(rows).unwrap()),
            margins: [0.304_411_764_705_882_3, 0.226_470_588_235_294_12, -3.107_352_941_176_470_7],
        },
    ]
}

/// Task, x and label of 60 examples: multiples of 1/8 from a linear congruential generator. Every task comes early,
/// so that R is that of three tasks from the first update of the third task on.
fn examples() -> Vec<(usize, Vec<f64>, f64)> {
    let mut state = 12_345_u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    (0..60)
        .map(|at| {
            let task = if at < 3 { at } else { draw(3) as usize };
            let x: Vec<f64> = (0..FEATURES).map(|_| (draw(17) as f64 - 8.0) / 8.0).collect();
            (task, x, if draw(2) == 0 { 1.0 } else { -1.0 })
        })
        .collect()
}

fn probe() -> Vec<f64> {
    vec![1.0, -0.5, 0.25, 2.0, 0.0, -1.0]
}

fn text(tasks: &[&str]) -> String {
    let line = |(task, x, label): (usize, Vec<f64>, f64)| {
        let features = x.iter().enumerate().filter(|(_, x)| **x != 0.0);
        let features: Vec<String> = features.map(|(at, x)| format!("{}:{x}", at + 1)).collect();
        format!("{label} task:{} {}", tasks[task], features.join(" "))
    };
    let lines: Vec<String> = examples().into_iter().map(line).collect();
    lines.join("\n")
}

/// The model that a fixture is.
fn learnt(fixture: &Fixture) -> Model {
    let mut model = harness::model(&fixture.config);
    harness::learn(&mut model, &text(&fixture.tasks));
    model
}

fn small_model() -> Model {
    learnt(&fixtures()[0])
}

#[test]
fn released_models_load_and_predict_as_ever() {
    let of_every_version = |kept: Fixture| (1..=FORMAT_VERSION).map(move |version| (kept.clone(), version));
    for (kept, version) in fixtures().into_iter().flat_map(of_every_version) {
        fixture_of(kept.name, &learnt(&kept));
        let model = released(&fixture(version, kept.name));
        let (mut naive, mut mistakes) = (Figure1::new(kept.r.clone(), FEATURES), 0);
        // The coupled model met its tasks on the way: K was 1, then 2, and 3 from the third example on.
        let growing = kept.name.contains("coupled");
        for (at, (task, x, label)) in examples().into_iter().enumerate() {
            if growing && at < TASKS {
                naive.grow(inverse(&coupled(at + 1, 2.5)));
            }
            let margin = naive.margin(task, &x);
            mistakes += u64::from(naive.update(task, &x, label, margin));
        }
        let indices: Vec<u32> = (0..FEATURES as u32).collect();
        let probe = probe();
        let view = SparseView::try_new(&indices, &probe).unwrap();
        for (task, name) in kept.tasks.iter().enumerate() {
            let margin = model.learner().as_predict().margin(model.tasks().find(name).unwrap(), view);
            for expected in [naive.margin(task, &probe), kept.margins[task]] {
                let close = (margin - expected).abs() <= 1e-12 * (1.0 + expected.abs());
                assert!(close, "{} of version {version}, task {name}: {margin} is not {expected}", kept.name);
            }
        }
        assert_eq!((model.rounds(), model.metrics().total().mistakes), (60, mistakes), "{}", kept.name);
        assert_eq!(model.learner().as_inspect().tasks(), TASKS);
    }
}

/// When this fails, the format has changed: a new version number and new fixtures are due, and the old ones stay.
#[test]
fn todays_writer_writes_the_released_bytes() {
    for kept in fixtures() {
        let model = learnt(&kept);
        let path = fixture_of(&format!("sums-{}", kept.name), &model);
        assert!(fs::read(&path).unwrap() == model.to_bytes(), "{} is written otherwise now", kept.name);
        for version in 1..=FORMAT_VERSION {
            let loaded = Model::load(fixture(version, kept.name)).unwrap();
            assert!(alike(&loaded.to_bytes(), &model.to_bytes()), "{} comes back otherwise", kept.name);
            // What was not counted then is unknown, not 0.
            assert_eq!(loaded.metrics().total().constant_error(), None);
            assert_eq!(loaded.metrics().learnt().examples(), 0);
        }
    }
}

/// The header tells formats and namings apart, and the same text gives the same bytes.
#[test]
fn models_of_every_format_and_naming_are_written_and_read_as_ever() {
    for text in texts() {
        // The first models of `csv` did not say what columns hold.
        let since = if text.name == "csv" { "-columns" } else { "" };
        let (name, mut today) = (format!("text-{}{since}", text.name), text.model());
        learn_text(&mut today, &text.text(0..LINES / 2));
        let mut kept = released(&fixture_of(&name, &today));
        assert!(alike(&kept.to_bytes(), &today.to_bytes()), "{name} is written otherwise now");
        learn_text(&mut kept, &text.text(LINES / 2..LINES));
        learn_text(&mut today, &text.text(LINES / 2..LINES));
        assert!(alike(&kept.to_bytes(), &today.to_bytes()), "{name} goes on otherwise");
    }
}

/// A model that does not say what columns hold finds out, and is then the model of today.
#[test]
fn models_of_csv_without_kinds_of_columns_go_on_as_ever() {
    let text = texts().into_iter().find(|text| text.name == "csv").unwrap();
    let mut old = released(&fixture(2, "text-csv"));
    let mut today = text.model();
    learn_text(&mut today, &text.text(0..LINES / 2));
    assert!(!alike(&old.to_bytes(), &today.to_bytes()), "the old one has no columns");
    learn_text(&mut old, &text.text(LINES / 2..LINES));
    learn_text(&mut today, &text.text(LINES / 2..LINES));
    assert!(alike(&old.to_bytes(), &today.to_bytes()));
}

/// Learns text in the model's own format.
fn learn_text(model: &mut Model, text: &str) {
    let mut reader = reader_for(model, vec![input(text)]);
    model.learn(&mut reader, &RunOptions::default(), &mut ()).unwrap();
}

/// Configs whose models are kept beside those of `perceptron`, by file.
const OTHERS: [(&str, &str); 22] = [
    ("adaptive-hinge", r#"{"adaptive": {"interaction": "independent", "loss": "hinge"}}"#),
    (
        "adaptive-edges",
        r#"{"adaptive": {"interaction": {"graph": {"edges": [["ann", "bob"]]}}, "intercept": false}}"#,
    ),
    ("perceptron-auto", r#"{"perceptron": {"interaction": {"coupled": {"b": "auto"}}}}"#),
    ("p-norm", r#"{"p-norm-perceptron": {"p": 3.5}}"#),
    ("kernel-gaussian", r#"{"kernel-perceptron": {"interaction": "pairwise", "kernel": "gaussian"}}"#),
    ("second-order", r#"{"second-order-perceptron": {"a": 0.5}}"#),
    ("relation-auto", r#""relation-perceptron""#),
    ("relation-covariance", r#"{"relation-perceptron": {"relation": "covariance", "priming": 10}}"#),
    ("relation-von-neumann", r#"{"relation-perceptron": {"relation": "von-neumann", "priming": 10}}"#),
    ("relation-scale-free-factors", r#"{"relation-perceptron": {"relation": "scale-free"}}"#),
    ("schatten", r#"{"schatten-perceptron": {"p": 3}}"#),
    ("schatten-polynomial", r#"{"schatten-perceptron": {"kernel": "polynomial"}}"#),
    ("budget-random", r#"{"budget-random": {"budget": 10, "kernel": "gaussian", "seed": 5}}"#),
    ("budget-forgetron", r#"{"budget-forgetron": {"budget": 10}}"#),
    (
        "budget-projectron",
        r#"{"budget-projectron": {"budget": 10, "graph": {"edges": [["ann", "bob"]]}, "kernel": "gaussian"}}"#,
    ),
    ("budget-shared-projectron", r#"{"budget-shared-projectron": {"budget": 10, "kernel": "gaussian"}}"#),
    ("shared-loss", r#"{"shared-loss-perceptron": {"p": 2, "c": 0.5, "norm": "l2"}}"#),
    ("passive-aggressive", r#"{"passive-aggressive": {"variant": "pa2", "c": 0.5}}"#),
    ("collaborative", r#"{"collaborative": {"own": 1, "global": 0.5, "c": 0.5, "c-global": 0.2}}"#),
    ("rom-pgd", r#"{"rom-pgd": {"eta": 0.1, "alpha": 0.1, "beta": 0.5, "gamma": 0.3}}"#),
    ("rom-pgd-auto", r#"{"rom-pgd": {"eta": "auto", "gamma": 0}}"#),
    ("rom-rda", r#"{"rom-rda": {"kappa": 2, "alpha": 0.05, "beta": 0.1, "gamma": 0.01}}"#),
];

/// The same of what is as it is since version 2.
const SINCE_2: [(&str, &str); 3] = [
    ("adaptive-forget", r#"{"adaptive": {"forget": 50}}"#),
    ("adaptive-again", r#"{"adaptive": {"groups": 2}}"#),
    ("collaborative-auto", r#""collaborative""#),
];

/// Processors may round these learners' matrix products differently, so predictions are compared, not bytes.
#[test]
fn models_of_the_other_learners_load_and_predict_as_ever() {
    let names = fixtures()[0].tasks;
    let others = OTHERS.map(|other| (1, other)).into_iter().chain(SINCE_2.map(|other| (2, other)));
    for (first, (file, learner)) in others {
        let learner: serde_json::Value = serde_json::from_str(learner).unwrap();
        let mut today = harness::model(&json!({"learner": learner}));
        harness::learn(&mut today, &text(&names));
        fixture_of(file, &today);
        for version in first..=FORMAT_VERSION {
            let released = released(&fixture(version, file));
            let indices: Vec<u32> = (0..FEATURES as u32).collect();
            let probe = probe();
            let view = SparseView::try_new(&indices, &probe).unwrap();
            for name in names {
                let margin = |model: &Model| {
                    model.learner().as_predict().margin(model.tasks().find(name).unwrap(), view)
                };
                let (then, now) = (margin(&released), margin(&today));
                let close = (then - now).abs() <= tolerance(file) * (1.0 + now.abs());
                assert!(then != 0.0 && close, "{file} of version {version}: {then}, {now}");
            }
        }
        for cut in 0..today.to_bytes().len() {
            assert!(Model::from_bytes(&today.to_bytes()[..cut]).is_err(), "{file} cut after {cut} bytes");
        }
    }
}

/// How far margins of older models may be from those that they had: own weights of `adaptive` are rounded to 21 binary digits now.
fn tolerance(file: &str) -> f64 {
    if file.starts_with("adaptive") { 1e-5 } else { 1e-9 }
}

/// Models of learners that have changed since, with the margins printed by the program that wrote them.
const BEFORE: [(&str, [(&str, f64); 3]); 9] = [
    // Their mixture started from the mean of all members, trusted otherwise, and did not know what it had seen.
    (
        "adaptive-doubts",
        [
            ("ann", 0.013_171_030_434_203_299),
            ("bob", 0.255_251_150_100_384_35),
            ("7", -0.135_676_354_859_812_55),
        ],
    ),
    (
        "adaptive-groups",
        [
            ("ann", 0.036_797_803_540_765_06),
            ("bob", 0.218_409_768_417_270_94),
            ("7", 0.026_554_528_595_271_035),
        ],
    ),
    // Keeps the whole correlation matrix of its tasks, not factors.
    (
        "relation-scale-free",
        [
            ("ann", 1.340_543_456_796_332_6),
            ("bob", 0.091_449_013_410_301_11),
            ("7", -3.117_610_488_007_189_3),
        ],
    ),
    // Knows nothing of what sets tasks apart.
    (
        "adaptive",
        [("ann", 0.206_354_476_289_362_1), ("bob", 0.139_262_815_942_048), ("7", -0.321_817_278_908_744)],
    ),
    // Its sides are 1 or -1, and it does not know the usual size of features.
    (
        "adaptive-trust",
        [
            ("ann", 0.170_797_925_050_580_25),
            ("bob", 0.104_634_530_561_128_62),
            ("7", -0.244_492_147_902_922_12),
        ],
    ),
    (
        "adaptive-independent",
        [
            ("ann", 2.178_686_580_764_914_7),
            ("bob", -1.682_702_974_004_688_6),
            ("7", -0.886_342_568_862_298_8),
        ],
    ),
    // Learnt from every example, in one group.
    (
        "adaptive-side",
        [
            ("ann", 0.013_171_030_434_203_188),
            ("bob", 0.255_251_150_100_384_57),
            ("7", -0.135_676_354_859_812_72),
        ],
    ),
    (
        "adaptive-alone",
        [
            ("ann", 2.172_767_368_874_020_6),
            ("bob", -1.128_793_648_549_143_2),
            ("7", -1.692_798_788_179_358_7),
        ],
    ),
    (
        "adaptive-graph",
        [
            ("ann", 1.527_648_587_822_319_2),
            ("bob", -0.670_323_423_955_129_1),
            ("7", -2.163_881_764_286_096_6),
        ],
    ),
];

#[test]
fn models_of_before_predict_as_ever() {
    let indices: Vec<u32> = (0..FEATURES as u32).collect();
    let probe = probe();
    let view = SparseView::try_new(&indices, &probe).unwrap();
    for (file, margins) in BEFORE {
        // No learner makes such models any more: those of later versions are the first ones, loaded and saved.
        fixture_of(file, &Model::load(fixture(1, file)).unwrap());
        for version in 1..=FORMAT_VERSION {
            let path = fixture(version, file);
            let model = Model::load(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            for (name, then) in margins {
                let now = model.learner().as_predict().margin(model.tasks().find(name).unwrap(), view);
                let close = (then - now).abs() <= tolerance(file);
                assert!(close, "{}, {name}: {then}, {now}", path.display());
            }
        }
    }
}

/// The draws of a seed must stay what they are, or resumed runs would ask for other labels.
#[test]
fn a_model_that_asks_for_some_labels_is_written_and_asks_as_ever() {
    let mut today = harness::model(&json!({
        "stream": {"seed": 7},
        "learner": {"perceptron": {"interaction": {"coupled": {"b": 2.5}}}},
        "query": {"margin": {"b": 0.5}},
    }));
    let labelled = text(&fixtures()[0].tasks);
    // Every fourth line is repeated without its label.
    let lines: Vec<String> = (0..)
        .zip(labelled.lines())
        .map(|(at, line)| match (at % 4, line.split_once(' ')) {
            (3, Some((_, rest))) => format!("{line}\n? {rest}"),
            _ => line.to_owned(),
        })
        .collect();
    harness::learn(&mut today, &lines.join("\n"));
    fixture_of("perceptron-query", &today);
    for version in 1..=FORMAT_VERSION {
        let released = released(&fixture(version, "perceptron-query"));
        assert!(alike(&released.to_bytes(), &today.to_bytes()));
        let metrics = released.metrics();
        assert_eq!((released.rounds(), metrics.total().examples, metrics.unlabelled()), (75, 60, 15));
        assert_eq!((metrics.total().queries, metrics.asked()), (39, 9));
        assert_eq!(json!(released.config())["query"], json!({"margin": {"b": 0.5}}));
        assert_eq!(released.config().seed, Some(7));
    }
}

#[test]
fn the_same_stream_gives_the_same_bytes() {
    for fixture in fixtures() {
        assert!(learnt(&fixture).to_bytes() == learnt(&fixture).to_bytes());
    }
}

fn refusal(bytes: &[u8]) -> SnapshotError {
    match Model::from_bytes(bytes) {
        Err(error) => error,
        Ok(_) => panic!("{} bytes that are no model were loaded", bytes.len()),
    }
}

#[test]
fn every_truncation_is_refused() {
    for fixture in fixtures() {
        let bytes = learnt(&fixture).to_bytes();
        for length in 0..bytes.len() {
            let error = refusal(&bytes[..length]);
            let clear = if length == 0 {
                matches!(error, SnapshotError::Foreign)
            } else {
                matches!(error, SnapshotError::Truncated { .. })
            };
            assert!(clear, "cut to {length} of {} bytes: {error}", bytes.len());
        }
        // Cut at the other end, and with one byte missing.
        for at in 0..bytes.len() {
            refusal(&bytes[at + 1..]);
            refusal(&[&bytes[..at], &bytes[at + 1..]].concat());
        }
    }
}

#[test]
fn ten_thousand_random_alterations_are_refused() {
    let mut rng = generator(1, 3);
    for fixture in fixtures() {
        let whole = learnt(&fixture).to_bytes();
        let length = whole.len();
        for _ in 0..10_000 {
            let mut bytes = whole.clone();
            match rng.random_range(0..5) {
                // One bit; one byte; several bytes.
                0 => bytes[rng.random_range(0..length)] ^= 1 << rng.random_range(0..8),
                1 => bytes[rng.random_range(0..length)] ^= rng.random_range(1..=255_u8),
                2 => {
                    for _ in 0..rng.random_range(2..20) {
                        bytes[rng.random_range(0..length)] = rng.random();
                    }
                }
                // Two blocks change places; a block is repeated.
                3 => {
                    let size = rng.random_range(1..length / 2);
                    let (left, right) = bytes.split_at_mut(length / 2);
                    let (from, to) =
                        (rng.random_range(0..=left.len() - size), rng.random_range(0..=right.len() - size));
                    left[from..from + size].swap_with_slice(&mut right[to..to + size]);
                }
                _ => {
                    let size = rng.random_range(1..length / 2);
                    let from = rng.random_range(0..length - size);
                    bytes.copy_within(from..from + size, rng.random_range(0..length - size));
                }
            }
            if bytes != whole {
                refusal(&bytes);
            }
        }
    }
}

#[test]
fn the_file_is_laid_out_as_documented() {
    let bytes = small_model().to_bytes();
    assert!(assembled(FORMAT_VERSION, &sections(&bytes)) == bytes);
    let header: Value = serde_json::from_slice(&sections(&bytes)[0]).unwrap();
    assert_eq!(header["learner"], "perceptron");
    assert_eq!(header["tasks"], json!(["ann", "bob", "7"]));
    assert_eq!(header["rounds"], 60);
}

#[test]
fn a_later_version_is_refused_naming_both() {
    let bytes = small_model().to_bytes();
    let mut parts = sections(&bytes);
    let later = refusal(&assembled(3, &parts)).to_string();
    assert_eq!(later, "the model has format version 3; this program reads versions 1 to 2");
    assert!(matches!(refusal(&assembled(0, &parts)), SnapshotError::Version { found: 0, known: 2 }));
    let mut header: Value = serde_json::from_slice(&parts[0]).unwrap();
    header["min_reader"] = json!(7);
    parts[0] = serde_json::to_vec(&header).unwrap();
    let later = refusal(&assembled(FORMAT_VERSION, &parts)).to_string();
    assert_eq!(later, "the model has format version 7; this program reads versions 1 to 2");
}

/// Fields that a later program added to the same format version.
#[test]
fn unknown_header_fields_are_ignored() {
    let mut parts = sections(&small_model().to_bytes());
    let mut header: Value = serde_json::from_slice(&parts[0]).unwrap();
    header["colour"] = json!("blue");
    parts[0] = serde_json::to_vec(&header).unwrap();
    assert!(
        Model::from_bytes(&assembled(FORMAT_VERSION, &parts)).unwrap().to_bytes() == small_model().to_bytes()
    );
}

#[test]
fn whole_sections_in_the_wrong_place_are_refused() {
    let [one, two, three] = fixtures().map(|fixture| sections(&learnt(&fixture).to_bytes()));
    for mixed in [
        [&one[0], &one[2], &one[1]],
        [&one[1], &one[0], &one[2]],
        [&one[0], &two[1], &one[2]],
        [&two[0], &one[1], &one[2]],
        [&three[0], &one[1], &one[2]],
    ] {
        let error = refusal(&assembled(FORMAT_VERSION, &mixed.map(Clone::clone)));
        assert!(matches!(error, SnapshotError::Inconsistent(_)), "{error}");
    }
}

#[test]
fn headers_that_contradict_the_rest_are_refused() {
    let parts = sections(&small_model().to_bytes());
    for (key, value) in [
        ("learner", json!("nobody")),
        ("tasks", json!(["ann", "bob"])),
        ("tasks", json!(["ann", "bob", "bob"])),
        ("tasks", json!(["ann", "bob", ""])),
        ("tasks", json!(["ann", "bob", "7", "more"])),
        ("declared_tasks", json!(2)),
        ("declared_tasks", json!(u64::MAX)),
        ("rounds", json!(-1)),
        ("config", json!({})),
    ] {
        let mut header: Value = serde_json::from_slice(&parts[0]).unwrap();
        header[key] = value.clone();
        let header = serde_json::to_vec(&header).unwrap();
        let error = refusal(&assembled(FORMAT_VERSION, &[header, parts[1].clone(), parts[2].clone()]));
        assert!(matches!(error, SnapshotError::Inconsistent(_)), "{key} = {value}: {error}");
    }
}

/// A query that no learner can have, and labels asked for of lines that were never read.
#[test]
fn queries_and_counts_that_cannot_be_are_refused() {
    let whole = sections(&small_model().to_bytes());
    let with = |part: usize, section: Vec<u8>| {
        let mut parts = whole.clone();
        parts[part] = section;
        refusal(&assembled(FORMAT_VERSION, &parts)).to_string()
    };
    let mut header: Value = serde_json::from_slice(&whole[0]).unwrap();
    header["config"]["query"] = json!({"margin": {"b": -1.0}});
    assert_eq!(
        with(0, serde_json::to_vec(&header).unwrap()),
        "the model contradicts itself: config: query.margin.b: must be positive and finite, got -1"
    );
    let mut counts = whole[2].clone();
    // A map of one entry becomes one of two.
    counts[0] += 1;
    counts.extend(b"\xa5asked\x01");
    assert_eq!(with(2, counts), "the model contradicts itself: the counts are impossible");
}

/// Features without a weight look it up in slot 0: a weight there would be that of every unknown feature.
/// The models in `tests/breakers/` have one, and valid checksums.
#[test]
fn a_weight_for_features_never_seen_is_refused() {
    for file in ["slot0-pa.cog", "slot0-perceptron-coupled.cog", "slot0-rom-rda.cog"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/breakers").join(file);
        let error = refusal(&fs::read(path).unwrap()).to_string();
        assert_eq!(
            error,
            "the model contradicts itself: a task's slots are not increasing, from 1 to the number of features",
            "{file}"
        );
    }
}

#[test]
fn foreign_files_are_refused() {
    for foreign in [
        &b"PNG\r\n"[..],
        b"+1 qid:1 1:1\n",
        &[0; 100],
        b"cognate\0aaaaaaaaaaaaaaaaaaaaaaaa",
        &[0x1f, 0x8b, 8, 0],
    ] {
        assert_eq!(
            refusal(foreign).to_string(),
            "not a cognate model: it does not begin with the magic bytes `COGNATE`"
        );
    }
    let mut bytes = small_model().to_bytes();
    bytes.extend(b"\n");
    assert_eq!(refusal(&bytes).to_string(), "the model has 1 bytes after its end");
}
