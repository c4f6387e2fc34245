//! Forged model files: structured changes of good ones, with right checksums.
//!
//! A case follows from its number and the models that it starts from, so that what a long run finds can be tried again.
//! Used by the tests of the library and by `cargo xtask fuzz --forge`.

mod changes;
mod draws;
mod value;
mod verbs;

use std::fs;
use std::path::Path;

use cognate::stream::Features;
use cognate::{Model, REGISTRY, RunConfig};
use draws::Draws;
use value::Value;
pub(crate) use verbs::{Verdict, examine};

/// A good model, taken apart.
#[derive(Debug, Clone)]
struct Parts {
    version: u32,
    /// Header, learner and counts.
    sections: [Value; 3],
}

/// Makes forged models out of good ones.
#[derive(Debug)]
pub(crate) struct Forger {
    models: Vec<Parts>,
    words: Vec<String>,
}

impl Forger {
    /// Starts from the models in a folder, and from one of every learner with more tasks.
    pub(crate) fn new(fixtures: &Path) -> Self {
        let mut paths: Vec<_> = fs::read_dir(fixtures)
            .unwrap_or_else(|error| panic!("{}: {error}", fixtures.display()))
            .map(|entry| entry.expect("an entry of the folder").path())
            .filter(|path| path.extension().is_some_and(|end| end == "cog"))
            .collect();
        paths.sort();
        let mut files: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).expect("a fixture")).collect();
        files.extend(crowds());
        let mut models: Vec<Parts> = files.iter().map(|bytes| taken_apart(bytes)).collect();
        let mut words = Vec::new();
        for value in models.iter_mut().flat_map(|model| &mut model.sections) {
            changes::each_mut(value, &mut |key, value| {
                words.push(key.to_owned());
                if let Value::Text(text) = value {
                    words.push(text.clone());
                }
            });
        }
        words.sort();
        words.dedup();
        Self { models, words }
    }

    /// Number of models that are changed.
    pub(crate) fn models(&self) -> usize {
        self.models.len()
    }

    /// Ids of the learners that they have.
    pub(crate) fn learners(&self) -> Vec<String> {
        let id = |model: &Parts| match &model.sections[0] {
            Value::Map(entries) => entries.iter().find_map(|entry| match entry {
                (Value::Text(key), Value::Text(id)) if key == "learner" => Some(id.clone()),
                _ => None,
            }),
            _ => None,
        };
        self.models.iter().filter_map(id).collect()
    }

    /// The file of a case.
    pub(crate) fn forge(&self, case: u64) -> Vec<u8> {
        let mut draws = Draws::new(case);
        let draws = &mut draws;
        let mut parts = draws.one_of(&self.models).clone();
        let other = draws.one_of(&self.models);
        let most = 1 + draws.below(4);
        for _ in 0..=draws.below(most) {
            match draws.below(24) {
                0 => changes::declare_tasks(draws, &mut parts.sections),
                1 => changes::change_everywhere(draws, &mut parts.sections),
                2 => {
                    let section = draws.below(3) as usize;
                    parts.sections[section] = other.sections[section].clone();
                }
                drawn => {
                    let section = [0, 0, 0, 1, 1, 1, 1, 2][drawn as usize % 8];
                    let (value, others) = (&mut parts.sections[section], &other.sections[section]);
                    changes::change_somewhere(draws, value, &self.words, others);
                }
            }
        }
        put_together(&parts)
    }
}

/// A model of every learner that learns from streams: several tasks, met or declared.
fn crowds() -> Vec<Vec<u8>> {
    let learners = REGISTRY.iter().filter(|about| about.protocol != cognate::algorithms::Protocol::Batch);
    let declared = learners.flat_map(|about| [None, Some(20)].map(|declared| (about.id, declared)));
    declared.map(|(id, declared)| crowd(id, declared).to_bytes()).collect()
}

fn crowd(id: &str, declared: Option<u32>) -> Model {
    let mut config = serde_json::json!({"learner": {id: {}}});
    if let Some(declared) = declared {
        config["tasks"] = declared.into();
    }
    if id.starts_with("budget-") {
        config["learner"][id]["budget"] = 8.into();
    }
    let config: RunConfig = serde_json::from_value(config).expect("a config");
    let mut model = Model::new(&config).expect("a config that makes a model");
    let mut draws = Draws::new(7);
    for at in 0..48 {
        let features: Vec<(u32, f64)> =
            (0..6).filter(|_| draws.below(2) == 0).map(|feature| (feature * 3, 1.0)).collect();
        let (task, label) = (format!("t{}", at % 8), if draws.below(2) == 0 { 1.0 } else { -1.0 });
        model.learn_one(&task, Features::Numbered(&features), label).expect("an example that is learnt");
    }
    model
}

fn taken_apart(bytes: &[u8]) -> Parts {
    let version = u32::from_le_bytes(bytes[8..12].try_into().expect("four bytes"));
    let mut rest = &bytes[12..];
    let mut next = || {
        let (length, after) = rest.split_first_chunk::<8>().expect("a length");
        let (section, after) = after.split_at(u64::from_le_bytes(*length) as usize);
        rest = &after[4..];
        section
    };
    let header = serde_json::from_slice(next()).expect("a header of JSON");
    let mut packed = || rmp_serde::from_slice(next()).expect("a section of MessagePack");
    Parts { version, sections: [header, packed(), packed()] }
}

fn put_together(parts: &Parts) -> Vec<u8> {
    let packed = |value: &Value| rmp_serde::to_vec(value).expect("a tree can be packed");
    let [header, learner, counts] = &parts.sections;
    // What JSON cannot write, such as a key that is no text, is left out.
    let header = serde_json::to_vec(header).unwrap_or_default();
    let mut file = b"COGNATE\0".to_vec();
    file.extend(parts.version.to_le_bytes());
    let mut covered = 0;
    for section in [header, packed(learner), packed(counts)] {
        file.extend((section.len() as u64).to_le_bytes());
        file.extend(section);
        let checksum = crc32fast::hash(&file[covered..]);
        file.extend(checksum.to_le_bytes());
        covered = file.len();
    }
    file
}
