//! A line whose features have names: gathered first, and given numbers when the whole line is known to be good.

use std::collections::BTreeMap;

use super::batch::Batch;
use super::error::{Problem, shown};
use super::feature_hash::feature_hash;
use super::given::NameSource;
use super::labels::{meet_class, meet_task};
use super::svm::{Bad, Parsed};
use crate::example::is_valid;
use crate::feature_names::{FeatureLimit, FeatureNames, Naming};
use crate::tasks::Tasks;

/// What a line is about, and the byte where it says so.
pub(crate) enum Target<'a> {
    /// An example of a task.
    Task { name: &'a str, at: usize, label: f64 },
    /// An example of every class, positive for this one; without a class none is known to be the right one.
    Class { name: Option<&'a str>, at: usize },
}

/// What becomes of a feature that comes twice in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeats {
    /// The line is bad.
    Refused,
    /// Values are added.
    Added,
}

/// The features of a line.
#[derive(Debug, Clone)]
pub(crate) struct NamedLine {
    repeats: Repeats,
    /// All names, one after the other.
    text: String,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// Where the name begins in the text, where its part without a namespace does, and where it ends.
    start: usize,
    local: usize,
    end: usize,
    /// Hash of the namespace.
    seed: u32,
    /// The byte of the buffer where the feature stands.
    at: usize,
    value: f64,
    /// Its number, once it has one.
    feature: u32,
}

impl NamedLine {
    pub(crate) fn new(repeats: Repeats) -> Self {
        Self { repeats, text: String::new(), entries: Vec::new() }
    }

    /// What becomes of repeated features from now on.
    pub(crate) fn set_repeats(&mut self, repeats: Repeats) {
        self.repeats = repeats;
    }

    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.entries.clear();
        self.text.shrink_to(LARGEST_KEPT);
        self.entries.shrink_to(LARGEST_KEPT);
    }

    /// Adds a feature called by the parts of its name, one after the other; a hash is of the last one in the namespace
    /// whose hash is `seed`.
    pub(crate) fn push(&mut self, namespace: &[&str], name: &[&str], seed: u32, at: usize, value: f64) {
        let start = self.text.len();
        namespace.iter().for_each(|part| self.text.push_str(part));
        let local = self.text.len();
        name.iter().for_each(|part| self.text.push_str(part));
        let end = self.text.len();
        self.entries.push(Entry { start, local, end, seed, at, value, feature: 0 });
    }

    /// Puts the example into the batch; a line that is bad after all leaves neither a name nor a task behind.
    pub(crate) fn finish(
        &mut self,
        target: &Target<'_>,
        batch: &mut Batch,
        tasks: &mut Tasks,
        names: &mut FeatureNames,
    ) -> Result<Parsed, Bad> {
        let known = names.len();
        let parsed = self.number(names).and_then(|()| match target {
            Target::Task { name, at, label } => {
                let task = meet_task(tasks, name).map_err(|problem| (*at, problem))?;
                Ok(Parsed::Example { task, label: *label })
            }
            Target::Class { name, at } => {
                let own = name.map(|name| meet_class(tasks, name)).transpose();
                Ok(Parsed::Classes { own: own.map_err(|problem| (*at, problem))? })
            }
        });
        if parsed.is_err() || names.is_frozen() {
            names.keep_first(known);
        }
        if parsed.is_ok() {
            names.copy_new(known, &mut batch.new_names);
            batch.indices.extend(self.entries.iter().map(|entry| entry.feature));
            batch.values.extend(self.entries.iter().map(|entry| entry.value));
        }
        parsed
    }

    /// Puts the features into the batch; if one is bad after all no name is left behind.
    pub(crate) fn place(&mut self, batch: &mut Batch, names: &mut NameSource<'_>) -> Result<(), Bad> {
        match names {
            NameSource::Learning(names) => {
                let known = names.len();
                self.number(names).inspect_err(|_| names.keep_first(known))?;
            }
            NameSource::Looking(names) => self.look_up(names)?,
        }
        batch.indices.extend(self.entries.iter().map(|entry| entry.feature));
        batch.values.extend(self.entries.iter().map(|entry| entry.value));
        Ok(())
    }

    /// Gives the features their numbers, in whose order they come; equal ones become one, or are refused.
    fn number(&mut self, names: &mut FeatureNames) -> Result<(), Bad> {
        self.number_by(names.naming(), |name, hash| names.meet(name, hash))
    }

    /// The same where nothing is learnt: names that are not known get the numbers that they would be met with.
    fn look_up(&mut self, names: &FeatureNames) -> Result<(), Bad> {
        let mut strangers = BTreeMap::new();
        self.number_by(names.naming(), |name, hash| match names.look(name, hash) {
            Some(feature) => Ok(feature),
            None => match strangers.get(name) {
                Some(feature) => Ok(*feature),
                None => {
                    let feature = names.next_number(strangers.len())?;
                    strangers.insert(name.to_owned(), feature);
                    Ok(feature)
                }
            },
        })
    }

    fn number_by(
        &mut self,
        naming: Naming,
        mut number: impl FnMut(&str, &dyn Fn() -> u32) -> Result<u32, FeatureLimit>,
    ) -> Result<(), Bad> {
        let text = &self.text;
        for entry in &mut self.entries {
            let name = &text[entry.start..entry.end];
            let (local, end, seed) = (entry.local, entry.end, entry.seed);
            let hash = || feature_hash(&text.as_bytes()[local..end], seed);
            entry.feature = number(name, &hash).map_err(|limit| {
                let name = shown(name.as_bytes());
                (entry.at, Problem::UnknownFeature { name, declared: limit.declared })
            })?;
        }
        if !self.entries.is_sorted_by(|a, b| a.feature < b.feature) {
            self.entries.sort_by_key(|entry| entry.feature);
            self.merge(naming)?;
        }
        Ok(())
    }

    /// Adds up entries of one feature: the same name again, or names that share a slot.
    fn merge(&mut self, naming: Naming) -> Result<(), Bad> {
        let text = &self.text;
        let name = |entry: &Entry| &text[entry.start..entry.end];
        if self.repeats == Repeats::Refused {
            let hashed = matches!(naming, Naming::Hashed { .. });
            for group in self.entries.chunk_by_mut(|a, b| a.feature == b.feature) {
                // Where slots are shared, equal names need not be neighbours.
                if hashed && group.len() > 2 {
                    group.sort_by(|a, b| name(a).cmp(name(b)).then(a.at.cmp(&b.at)));
                }
                if let Some(pair) = group.windows(2).find(|pair| name(&pair[0]) == name(&pair[1])) {
                    return Err((pair[1].at, Problem::Repeated { name: shown(name(&pair[1]).as_bytes()) }));
                }
            }
        }
        let mut bad = None;
        self.entries.dedup_by(|next, sum| {
            let same = next.feature == sum.feature;
            if same {
                sum.value += next.value;
                if !is_valid(sum.value) {
                    bad = Some((next.at, Problem::Value { found: shown(sum.value.to_string().as_bytes()) }));
                }
            }
            same
        });
        bad.map_or(Ok(()), Err)
    }
}

/// Bytes, and entries, that outlive a line.
const LARGEST_KEPT: usize = 1 << 20;
