//! Does the tree have everything that a learner, or a format, needs? What is missing is named with its path.
//!
//! [`LEARNER`] and [`FORMAT`] are the whole list: the checks below demand it, and CONTRIBUTING.md must state it in the
//! same words and the same order.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use cognate::algorithms::Protocol;
use cognate::{LearnerConfig, Model, REGISTRY, RunConfig};
use serde_json::Value;

use crate::conformance::SUBJECTS;

/// Something that every learner, or every format, must have.
struct Demand {
    what: &'static str,
    /// Where it belongs; `<name>` stands for the name with `_` in place of `-`.
    path: &'static str,
    /// Whether the tree has it for this name.
    met: fn(&Tree, &str) -> bool,
}

/// What a learner needs, in the order in which one would write it.
const LEARNER: [Demand; 7] = [
    Demand {
        what: "algorithm file",
        path: "crates/cognate/src/algorithms/<name>.rs",
        met: |tree, name| tree.algorithms.contains(name),
    },
    Demand {
        what: "registry row",
        path: "crates/cognate/src/algorithms/mod.rs",
        met: |_, name| LearnerConfig::from_id(name).is_some(),
    },
    Demand {
        what: "vector",
        path: "crates/cognate/tests/vectors/<name>*.json",
        met: |tree, name| tree.vectors.contains(name),
    },
    Demand {
        what: "fixture of the current format version",
        path: "crates/cognate/tests/fixtures/v<version>-<name>*.cog",
        met: |tree, name| tree.fixtures.contains(name),
    },
    Demand {
        what: "conformance row",
        path: "crates/cognate/tests/it/conformance.rs",
        // A batch learner has no rounds, and no protocol to keep: tests/it/convex.rs.
        met: |tree, name| tree.conforming.contains(name) || is_batch(name),
    },
    Demand {
        what: "row in the table of learners",
        path: "<learners>",
        met: |tree, name| tree.learners.lines().any(|line| line.starts_with(&format!("| `{name}` |"))),
    },
    Demand {
        what: "name in the schema",
        path: "schema/config.schema.json",
        met: |tree, name| choices(&tree.schema, "LearnerConfig").contains(name),
    },
];

/// What a format needs, in the order in which one would write it.
const FORMAT: [Demand; 5] = [
    Demand {
        what: "parser file",
        path: "crates/cognate/src/stream/<name>*.rs",
        met: |tree, name| {
            // Files of two words begin with the format: csv_rows.rs.
            tree.parsers.iter().any(|parser| parser == name || parser.starts_with(&format!("{name}-")))
        },
    },
    Demand {
        what: "row in the enum `Format`",
        path: "crates/cognate/src/stream/config.rs",
        met: |_, name| formats().contains(name),
    },
    Demand {
        what: "section",
        path: "docs/formats.md",
        met: |tree, name| {
            let headings = tree.formats.lines().filter(|line| line.starts_with('#'));
            headings.into_iter().any(|heading| heading.contains(&format!("`{name}`")))
        },
    },
    Demand {
        what: "fuzz seed",
        path: "fuzz/seeds/formats/<name>*",
        met: |tree, name| tree.seeds.iter().any(|seed| seed == name || seed.starts_with(&format!("{name}-"))),
    },
    Demand {
        what: "name in the schema",
        path: "schema/config.schema.json",
        met: |tree, name| choices(&tree.schema, "Format").contains(name),
    },
];

/// What the tree holds for learners and formats.
struct Tree {
    /// Files of src/algorithms.
    algorithms: BTreeSet<String>,
    /// Learners with numbers from an independent computation.
    vectors: BTreeSet<String>,
    /// Learners with a model in today's format.
    fixtures: BTreeSet<String>,
    /// Today's format version.
    version: u32,
    /// Learners whose defaults the conformance checks cover.
    conforming: BTreeSet<String>,
    /// Path and text of the file with the table of learners.
    learners_path: &'static str,
    learners: String,
    /// Files of src/stream in which a line parser is written.
    parsers: BTreeSet<String>,
    /// docs/formats.md.
    formats: String,
    /// Seeds of the fuzz target `formats`.
    seeds: BTreeSet<String>,
    /// The schema as it is in the repository.
    schema: Value,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Files of a folder, in order.
fn files(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.is_file());
    paths.sort();
    paths
}

/// Files of a folder with an extension, by their stems with `-` in place of `_`.
fn names(folder: &str, extension: &str) -> BTreeMap<String, PathBuf> {
    let of_kind = |path: &PathBuf| path.extension().is_some_and(|found| found == extension);
    let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().replace('_', "-");
    files(folder).into_iter().filter(of_kind).map(|path| (name(&path), path)).collect()
}

impl Tree {
    fn read() -> Self {
        let mut algorithms: BTreeSet<String> =
            names("crates/cognate/src/algorithms", "rs").into_keys().collect();
        assert!(algorithms.remove("mod"), "the registry itself");
        let version = version(&Model::new(&RunConfig::default()).unwrap().to_bytes());
        let is_parser = |path: &Path| fs::read_to_string(path).unwrap().contains("impl LineParser for");
        let parsers = names("crates/cognate/src/stream", "rs");
        // The table is in a file of its own, or in the README.
        let learners_path =
            ["docs/learners.md", "README.md"].into_iter().find(|path| root().join(path).exists());
        let learners_path = learners_path.unwrap();
        let seeds = files("fuzz/seeds/formats");
        Self {
            algorithms,
            vectors: vectors(),
            fixtures: fixtures(version),
            version,
            conforming: conforming(),
            learners_path,
            learners: read(learners_path),
            parsers: parsers.into_iter().filter(|(_, path)| is_parser(path)).map(|(name, _)| name).collect(),
            formats: read("docs/formats.md"),
            seeds: seeds
                .iter()
                .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
                .collect(),
            schema: serde_json::from_str(&read("schema/config.schema.json")).unwrap(),
        }
    }

    /// One message for each thing that is missing.
    fn missing(&self, kind: &str, name: &str, demands: &[Demand]) -> Vec<String> {
        let unmet = demands.iter().filter(|demand| !(demand.met)(self, name));
        let path = |demand: &Demand| {
            let path = demand.path.replace("<name>", &name.replace('-', "_"));
            path.replace("<version>", &self.version.to_string()).replace("<learners>", self.learners_path)
        };
        unmet.map(|demand| format!("{kind} `{name}`: no {}: {}", demand.what, path(demand))).collect()
    }
}

/// The learners that the vectors name.
fn vectors() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (name, path) in names("crates/cognate/tests/vectors", "json") {
        let vector: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let learners = learners_of(&vector);
        if learners.is_empty() {
            // A fit has a form of its own, without a config; tests/it/convex.rs reads it.
            assert_eq!(name, "batch", "{}: names no learner", path.display());
            found.extend(REGISTRY.iter().filter(|about| is_batch(about.id)).map(|about| about.id.to_owned()));
        }
        found.extend(learners);
    }
    found
}

/// The learners that a vector, or a case of it, names.
fn learners_of(vector: &Value) -> Vec<String> {
    let cases = vector["cases"].as_array().into_iter().flatten().chain([vector]);
    let configs = cases.filter_map(|case| case.get("learner"));
    configs
        .map(|config| {
            let config: LearnerConfig =
                serde_json::from_value(config.clone()).unwrap_or_else(|error| panic!("{config}: {error}"));
            config.id().to_owned()
        })
        .collect()
}

/// The format version of a model file.
fn version(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes[8..12].try_into().unwrap())
}

/// The learners of the fixtures of a format version, according to the files.
fn fixtures(wanted: u32) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for path in names("crates/cognate/tests/fixtures", "cog").into_values() {
        let bytes = fs::read(&path).unwrap();
        if version(&bytes) == wanted {
            let model =
                Model::from_bytes(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            found.insert(model.learner().about().id.to_owned());
        }
    }
    found
}

/// The learners whose defaults are checked.
fn conforming() -> BTreeSet<String> {
    let configs = SUBJECTS.iter().map(|(_, config)| serde_json::from_str::<LearnerConfig>(config).unwrap());
    let defaults = configs.filter(|config| LearnerConfig::from_id(config.id()).as_ref() == Some(config));
    defaults.map(|config| config.id().to_owned()).collect()
}

fn is_batch(name: &str) -> bool {
    REGISTRY.iter().any(|about| about.id == name && about.protocol == Protocol::Batch)
}

/// The names that a choice in the schema offers, with or without parameters.
fn choices(schema: &Value, choice: &str) -> BTreeSet<String> {
    let variants = schema["$defs"][choice]["oneOf"].as_array().into_iter().flatten();
    let name =
        |variant: &Value| variant["required"][0].as_str().or(variant["const"].as_str()).map(str::to_owned);
    variants.filter_map(name).collect()
}

/// The formats of the enum.
fn formats() -> BTreeSet<String> {
    let formats = choices(&cognate::config::schema(), "Format");
    assert!(
        formats.contains("svm"),
        "the schema of a config has the formats under `Format`; found {formats:?}"
    );
    formats
}

#[test]
fn every_learner_has_all_that_a_learner_needs() {
    let tree = Tree::read();
    // A learner that has a file but is not registered counts too.
    let mut names = tree.algorithms.clone();
    names.extend(REGISTRY.iter().map(|about| about.id.to_owned()));
    let missing: Vec<String> =
        names.iter().flat_map(|name| tree.missing("learner", name, &LEARNER)).collect();
    assert!(missing.is_empty(), "see \"Add a learner\" in CONTRIBUTING.md\n{}", missing.join("\n"));
}

#[test]
fn every_format_has_all_that_a_format_needs() {
    let tree = Tree::read();
    let missing: Vec<String> =
        formats().iter().flat_map(|name| tree.missing("format", name, &FORMAT)).collect();
    assert!(missing.is_empty(), "see \"Add a format\" in CONTRIBUTING.md\n{}", missing.join("\n"));
}

#[test]
fn of_a_learner_that_nobody_wrote_everything_is_missing() {
    let tree = Tree::read();
    let (version, learners) = (tree.version, tree.learners_path);
    let expected = [
        "learner `no-body`: no algorithm file: crates/cognate/src/algorithms/no_body.rs".to_owned(),
        "learner `no-body`: no registry row: crates/cognate/src/algorithms/mod.rs".to_owned(),
        "learner `no-body`: no vector: crates/cognate/tests/vectors/no_body*.json".to_owned(),
        format!(
            "learner `no-body`: no fixture of the current format version: \
             crates/cognate/tests/fixtures/v{version}-no_body*.cog"
        ),
        "learner `no-body`: no conformance row: crates/cognate/tests/it/conformance.rs".to_owned(),
        format!("learner `no-body`: no row in the table of learners: {learners}"),
        "learner `no-body`: no name in the schema: schema/config.schema.json".to_owned(),
    ];
    assert_eq!(tree.missing("learner", "no-body", &LEARNER), expected);
}

#[test]
fn of_a_format_that_nobody_wrote_everything_is_missing() {
    let expected = [
        "format `morse`: no parser file: crates/cognate/src/stream/morse*.rs",
        "format `morse`: no row in the enum `Format`: crates/cognate/src/stream/config.rs",
        "format `morse`: no section: docs/formats.md",
        "format `morse`: no fuzz seed: fuzz/seeds/formats/morse*",
        "format `morse`: no name in the schema: schema/config.schema.json",
    ];
    assert_eq!(Tree::read().missing("format", "morse", &FORMAT), expected);
}

/// One thing at a time is taken away: that thing is named, and nothing else.
#[test]
fn what_is_taken_away_is_named_alone() {
    type Thief = fn(&mut Tree);
    let learner: [(&str, Thief); 6] = [
        ("algorithm file", |tree| tree.algorithms.retain(|name| name != "perceptron")),
        ("vector", |tree| tree.vectors.retain(|name| name != "perceptron")),
        ("fixture of the current format version", |tree| tree.fixtures.retain(|name| name != "perceptron")),
        ("conformance row", |tree| tree.conforming.retain(|name| name != "perceptron")),
        ("row in the table of learners", |tree| {
            tree.learners = tree.learners.replace("| `perceptron` |", "| |");
        }),
        ("name in the schema", |tree| tree.schema = Value::Null),
    ];
    let format: [(&str, Thief); 4] = [
        ("parser file", |tree| tree.parsers.retain(|parser| !parser.starts_with("csv"))),
        ("section", |tree| tree.formats = tree.formats.replace("`csv`", "csv")),
        ("fuzz seed", |tree| tree.seeds.retain(|seed| !seed.starts_with("csv"))),
        ("name in the schema", |tree| tree.schema = Value::Null),
    ];
    let learners = learner.map(|thief| ("learner", "perceptron", &LEARNER[..], thief));
    let formats = format.map(|thief| ("format", "csv", &FORMAT[..], thief));
    for (kind, name, demands, (what, steal)) in learners.into_iter().chain(formats) {
        let mut tree = Tree::read();
        steal(&mut tree);
        let missing = tree.missing(kind, name, demands);
        let [alone] = &missing[..] else { panic!("without its {what}: {missing:?}") };
        assert!(alone.starts_with(&format!("{kind} `{name}`: no {what}: ")), "{alone}");
    }
}

/// The numbered points of a section of CONTRIBUTING.md, each in one line.
fn points(text: &str, section: &str) -> Vec<String> {
    let (_, rest) =
        text.split_once(&format!("## {section}\n")).unwrap_or_else(|| panic!("no section {section:?}"));
    let mut points: Vec<String> = Vec::new();
    for line in rest.lines().take_while(|line| !line.starts_with("## ")) {
        let number = line.split_once(". ").filter(|(number, _)| number.parse::<u32>().is_ok());
        match (number, points.last_mut()) {
            (Some((_, point)), _) => points.push(point.to_owned()),
            (None, Some(point)) if line.starts_with("   ") => *point += &format!(" {}", line.trim()),
            _ => {}
        }
    }
    points
}

#[test]
fn contributing_lists_exactly_what_is_demanded() {
    let text = read("CONTRIBUTING.md");
    for (section, demands) in [("Add a learner", &LEARNER[..]), ("Add a format", &FORMAT[..])] {
        let points = points(&text, section);
        let told: Vec<&str> =
            points.iter().map(|point| point.split_once(": ").map_or("", |(told, _)| told)).collect();
        let path = |demand: &Demand| demand.path.replace("<learners>", "docs/learners.md");
        let expected: Vec<String> =
            demands.iter().map(|demand| format!("**{}**, `{}`", demand.what, path(demand))).collect();
        assert_eq!(told, expected, "the points of \"{section}\" against the demands of this test");
    }
}
