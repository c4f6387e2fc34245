//! Model files: their contents byte by byte; `file` writes them so that a crash leaves a complete one.
//!
//! All numbers are little-endian.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | magic `COGNATE` and a zero byte |
//! | 4 | format version, now 2 |
//! | 8 + n + 4 | header: length n, JSON, CRC-32 of everything before it |
//! | 8 + n + 4 | learner: length n, MessagePack with field names, CRC-32 of length and bytes |
//! | 8 + n + 4 | counts: the same |
//!
//! The header holds the learner's id, the resolved config, the tasks by name and the rounds learnt. No clock, host
//! or path enters the file: the same stream and seed give the same bytes.
//!
//! Version 1 differs in the config alone, which `version_1` reads.

mod file;
mod lock;
mod version_1;

pub use file::{check_replaceable, replace_file};
pub use lock::ModelLock;

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::algorithms::check_state_of_pairs;
use crate::class_weight::ClassCounts;
use crate::error::SnapshotError;
use crate::feature_names::{FeatureNames, Naming};
use crate::metrics::Metrics;
use crate::model::{Model, ModelConfig};
use crate::stream::{ColumnKinds, Given, LabelNames};
use crate::tasks::Tasks;

const MAGIC: &[u8; 8] = b"COGNATE\0";
/// Version that is written, and the latest that is read.
pub const FORMAT_VERSION: u32 = 2;
/// Bytes before the header's text.
const PREAMBLE: usize = 8 + 4 + 8;

/// The readable part of a model file. Unknown fields are ignored, so that later writers may add some.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    /// Oldest format version whose readers understand this file.
    min_reader: u32,
    learner: String,
    config: ModelConfig,
    /// Number of tasks that was declared.
    declared_tasks: Option<u64>,
    tasks: Vec<String>,
    /// What columns of `csv` hold, as far as it is known.
    #[serde(default, skip_serializing_if = "ColumnKinds::is_empty")]
    columns: ColumnKinds,
    /// What the stream calls its labels, where that is not -1 and 1.
    #[serde(default, skip_serializing_if = "LabelNames::is_empty")]
    labels: LabelNames,
    /// Names of features in the order in which they were met, where they are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    feature_names: Vec<String>,
    /// Their slots, where they were hashed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    feature_slots: Vec<u32>,
    #[serde(deserialize_with = "crate::count::saved")]
    rounds: u64,
    /// Labels learnt, where classes are balanced by them.
    #[serde(default, skip_serializing_if = "ClassCounts::is_zero")]
    class_counts: ClassCounts,
    /// The margin from which on the label +1 is predicted, if it was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    threshold: Option<f64>,
}

impl Model {
    /// The whole model as bytes, even where it has diverged and [`Self::from_bytes`] would refuse them; see
    /// [`Self::to_loadable_bytes`].
    ///
    /// # Panics
    /// Never: everything in a model can be written.
    pub fn to_bytes(&self) -> Vec<u8> {
        let header = Header {
            min_reader: 2,
            learner: self.config.learner.id().to_owned(),
            config: self.config.clone(),
            declared_tasks: self.tasks.limit().map(|limit| limit as u64),
            // Tasks of a round that is still to come have a name, but nothing was learnt of them.
            tasks: self.tasks.names().take(self.learner.as_inspect().tasks()).map(str::to_owned).collect(),
            columns: self.columns.clone(),
            labels: self.labels.clone(),
            feature_names: self.names.iter().map(|(name, _)| name.to_owned()).collect(),
            feature_slots: match self.names.naming() {
                Naming::Hashed { .. } => self.names.iter().map(|(_, slot)| slot).collect(),
                Naming::Numbered | Naming::Kept => Vec::new(),
            },
            rounds: self.rounds,
            class_counts: self.class_counts.clone(),
            threshold: self.threshold,
        };
        let header = serde_json::to_vec(&header).expect("a header is plain JSON");
        let metrics = rmp_serde::to_vec_named(&self.metrics.state()).expect("counts are plain MessagePack");
        let mut bytes = Vec::new();
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        // The header's checksum covers the magic and the version too.
        push_section(&mut bytes, 0, &header);
        for section in [self.learner.to_bytes(), metrics] {
            let start = bytes.len();
            push_section(&mut bytes, start, &section);
        }
        bytes
    }

    /// Reads a model from bytes, refusing anything that is not a whole, unaltered model.
    ///
    /// # Errors
    /// When the bytes are not a model, of a later version, cut off, damaged, or contradict themselves.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let magic = &bytes[..bytes.len().min(MAGIC.len())];
        if !MAGIC.starts_with(magic) || bytes.is_empty() {
            return Err(SnapshotError::Foreign);
        }
        if bytes.len() < PREAMBLE {
            return Err(SnapshotError::Truncated { found: bytes.len() as u64, expected: PREAMBLE as u64 });
        }
        let version = u32::from_le_bytes(bytes[8..12].try_into().expect("four bytes"));
        if version > FORMAT_VERSION || version == 0 {
            return Err(SnapshotError::Version { found: version, known: FORMAT_VERSION });
        }
        let mut sections = Sections { bytes, at: 12, covered: 0 };
        let header = sections.next("header")?;
        let learner = sections.next("learner")?;
        let metrics = sections.next("counts")?;
        if sections.at < bytes.len() {
            return Err(SnapshotError::Trailing { extra: (bytes.len() - sections.at) as u64 });
        }
        let read = if version == 1 { version_1::read(header) } else { serde_json::from_slice(header) };
        let header: Header = read.map_err(|error| SnapshotError::Inconsistent(format!("header: {error}")))?;
        if header.min_reader > FORMAT_VERSION {
            return Err(SnapshotError::Version { found: header.min_reader, known: FORMAT_VERSION });
        }
        Self::assemble(header, learner, metrics)
    }

    fn assemble(header: Header, learner_state: &[u8], metrics: &[u8]) -> Result<Self, SnapshotError> {
        let inconsistent = |message: String| SnapshotError::Inconsistent(message);
        if header.learner != header.config.learner.id() {
            return Err(inconsistent(format!("learner {:?} with another's config", header.learner)));
        }
        let mut tasks = Tasks::named(header.tasks.iter().map(String::as_str))
            .map_err(|name| inconsistent(format!("task {name:?} is empty or listed twice")))?;
        tasks.set_limit(match header.declared_tasks {
            None => None,
            Some(limit) if limit >= tasks.len() as u64 && u32::try_from(limit).is_ok() => {
                Some(limit as usize)
            }
            Some(limit) => {
                return Err(inconsistent(format!("{limit} tasks are declared, {} named", tasks.len())));
            }
        });
        // What a user may not write, a file may not say.
        let run = header.config.to_run(&tasks);
        let checked = run.validate().and_then(|()| run.declared_tasks());
        checked.map_err(|error| inconsistent(format!("config: {error}")))?;
        let names = restore_names(&header)?;
        check_state_of_pairs(header.config.learner.about(), tasks.count(), learner_state)?;
        let built = header.config.build(&tasks);
        let mut learner = built.map_err(|error| inconsistent(error.to_string()))?;
        learner.restore(learner_state)?;
        if learner.as_inspect().tasks() != tasks.count() {
            return Err(inconsistent("the learner has another number of tasks".to_owned()));
        }
        let metrics =
            rmp_serde::from_slice(metrics).map_err(|error| inconsistent(format!("counts: {error}")))?;
        let metrics = Metrics::restore(tasks.len(), header.config.learner.kind(), &metrics)?;
        if !header.class_counts.are_possible(tasks.len()) {
            return Err(inconsistent("the counts of classes are impossible".to_owned()));
        }
        if let Some(problem) = header.labels.problem() {
            return Err(inconsistent(problem));
        }
        let (rounds, given) = (header.rounds, Given::new(header.config.learner.kind()));
        let Header { config, columns, labels, class_counts, threshold, .. } = header;
        Ok(Self {
            config,
            tasks,
            columns,
            labels,
            names,
            learner,
            metrics,
            rounds,
            class_counts,
            threshold,
            given,
        })
    }

    /// Writes the model atomically: the file is at every moment either the old one or the new one, complete, and one
    /// that [`Self::load`] takes.
    ///
    /// Mode and owner of an existing file are kept, the owner where that is permitted; a link still leads to the file.
    ///
    /// # Errors
    /// When the model has diverged and would not load again, or the folder or the disk cannot be written; the old file is
    /// then untouched.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SnapshotError> {
        file::write_atomically(path.as_ref(), &self.to_loadable_bytes()?)
    }

    /// As [`Self::to_bytes`], once [`Self::from_bytes`] has taken the bytes: a whole model is made of them, and dropped.
    ///
    /// # Errors
    /// When the model has diverged: something in it is not finite.
    pub fn to_loadable_bytes(&self) -> Result<Vec<u8>, SnapshotError> {
        let bytes = self.to_bytes();
        Self::from_bytes(&bytes).map_err(SnapshotError::before_saving)?;
        Ok(bytes)
    }

    /// Checks that a model can be written there, with an empty temporary file.
    ///
    /// # Errors
    /// When the folder is missing or cannot be written, or the path is something other than a file.
    pub fn check_target(path: &Path) -> Result<(), SnapshotError> {
        file::check_target(path)
    }

    /// Reads a model file.
    ///
    /// # Errors
    /// As [`Self::from_bytes`], and when the file cannot be read.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, SnapshotError> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|source| file::io_error(path, "cannot read the model", source))?;
        Self::from_bytes(&bytes)
    }
}

/// The names of features that a header lists.
fn restore_names(header: &Header) -> Result<FeatureNames, SnapshotError> {
    let inconsistent = |message: String| Err(SnapshotError::Inconsistent(message));
    let config = &header.config;
    let naming = config.naming.decided().unwrap_or_default();
    let mut names = FeatureNames::new(naming, header.config.features);
    let slots = match naming {
        Naming::Hashed { names: true, .. } => header.feature_names.len(),
        Naming::Numbered | Naming::Kept | Naming::Hashed { .. } => 0,
    };
    if header.feature_slots.len() != slots {
        return inconsistent(format!("{} slots of features, expected {slots}", header.feature_slots.len()));
    }
    let nameless = matches!(naming, Naming::Numbered | Naming::Hashed { names: false, .. });
    if nameless && !header.feature_names.is_empty() {
        return inconsistent("features have names, though none are kept".to_owned());
    }
    for (at, name) in header.feature_names.iter().enumerate() {
        if names.known(name).is_some() {
            return inconsistent(format!("feature {name:?} is listed twice"));
        }
        let slot = header.feature_slots.get(at).copied();
        match names.meet(name, || slot.unwrap_or_default()) {
            Ok(feature) if slot.is_none_or(|slot| slot == feature) => {}
            Ok(_) => return inconsistent(format!("feature {name:?} lies beyond the slots there are")),
            Err(limit) => {
                return inconsistent(format!("feature {name:?} is beyond the {} declared", limit.declared));
            }
        }
    }
    Ok(names)
}

/// Appends length, bytes, and the checksum of everything from `covered` on.
fn push_section(out: &mut Vec<u8>, covered: usize, section: &[u8]) {
    out.extend_from_slice(&(section.len() as u64).to_le_bytes());
    out.extend_from_slice(section);
    let checksum = crc32fast::hash(&out[covered..]);
    out.extend_from_slice(&checksum.to_le_bytes());
}

/// Reads sections one after the other.
struct Sections<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Start of what the next checksum covers.
    covered: usize,
}

impl<'a> Sections<'a> {
    fn next(&mut self, part: &'static str) -> Result<&'a [u8], SnapshotError> {
        let found = self.bytes.len() as u64;
        let cut = |expected: u64| SnapshotError::Truncated { found, expected };
        let start = self.at + 8;
        let length = self.bytes.get(self.at..start).ok_or_else(|| cut(start as u64))?;
        let length = u64::from_le_bytes(length.try_into().expect("eight bytes"));
        let end = (start as u64).saturating_add(length);
        let stop = end.saturating_add(4);
        if stop > found {
            return Err(cut(stop));
        }
        let (end, stop) = (end as usize, stop as usize);
        let expected = u32::from_le_bytes(self.bytes[end..stop].try_into().expect("four bytes"));
        let checksum = crc32fast::hash(&self.bytes[self.covered..end]);
        if checksum != expected {
            return Err(SnapshotError::Damaged { part, found: checksum, expected });
        }
        (self.at, self.covered) = (stop, stop);
        Ok(&self.bytes[start..end])
    }
}
