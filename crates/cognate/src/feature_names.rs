//! The features of a run by name: which number each has, kept exactly or hashed.
//!
//! Exactly, every name has a number of its own, in the order in which names are met: nothing collides, and memory
//! follows the names that were met. Hashed to b bits, names that share one of 2^b slots are one feature, because that was
//! asked for; the names may still be kept, to explain a model.

use hashbrown::HashTable;
use std::hash::BuildHasher;

use crate::example::BIAS_FEATURE;
use crate::table::SecretState;

/// How names get their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Naming {
    /// Features have numbers and no names.
    #[default]
    Numbered,
    /// A number for every name.
    Kept,
    /// The slot that a name hashes to.
    Hashed {
        /// 2^bits slots.
        bits: u32,
        /// Whether names are remembered all the same.
        names: bool,
    },
}

/// Names and numbers of features.
#[derive(Debug, Clone, Default)]
pub struct FeatureNames {
    naming: Naming,
    /// Largest number of names, if names are kept.
    limit: Option<u32>,
    list: NameList,
    /// Positions in `list`, by name.
    table: HashTable<u32>,
    hasher: SecretState,
    frozen: bool,
}

/// Names with the features they stand for, in the order in which they were met.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NameList {
    text: String,
    ends: Vec<usize>,
    /// The feature of each name.
    features: Vec<u32>,
}

/// A name beyond the number of features that was declared, or beyond the largest number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FeatureLimit {
    /// Largest number of features.
    pub declared: u32,
}

impl NameList {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn name(&self, at: usize) -> &str {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[start..self.ends[at]]
    }

    /// Names with their features.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        (0..self.len()).map(|at| (self.name(at), self.features[at]))
    }

    pub(crate) fn push(&mut self, name: &str, feature: u32) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
        self.features.push(feature);
    }

    pub(crate) fn clear(&mut self) {
        self.truncate(0);
    }

    fn truncate(&mut self, length: usize) {
        self.ends.truncate(length);
        self.features.truncate(length);
        self.text.truncate(self.ends.last().copied().unwrap_or(0));
    }
}

impl FeatureNames {
    /// No name yet; `declared` is the number of features, if known.
    pub fn new(naming: Naming, declared: Option<u32>) -> Self {
        Self { naming, limit: declared, ..Self::default() }
    }

    /// The same names for a stream that is only predicted: new ones get numbers for their line, and are forgotten after it.
    #[must_use]
    pub fn frozen(mut self) -> Self {
        self.frozen = true;
        self
    }

    pub(crate) fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// How names get their numbers.
    pub fn naming(&self) -> Naming {
        self.naming
    }

    /// Number of names that are remembered.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether no name is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Names with their features, in the order in which they were met.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.list.iter()
    }

    /// Number of features that stand for more than one name.
    pub fn shared(&self) -> usize {
        let index = self.by_feature();
        let features = |at: &u32| self.list.features[*at as usize];
        index.order.chunk_by(|a, b| features(a) == features(b)).filter(|chunk| chunk.len() > 1).count()
    }

    /// The names ordered by feature, to be looked up.
    pub fn by_feature(&self) -> NamesByFeature<'_> {
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        order.sort_by_key(|at| self.list.features[*at as usize]);
        NamesByFeature { list: &self.list, order }
    }

    /// The feature of a name, which may be new; `hash` is its hash.
    ///
    /// # Errors
    /// When the name is new and there are as many features as were declared.
    pub(crate) fn meet(&mut self, name: &str, hash: impl FnOnce() -> u32) -> Result<u32, FeatureLimit> {
        let slot = match self.naming {
            Naming::Numbered | Naming::Kept => None,
            Naming::Hashed { bits, names } => {
                let slot = hash() & ((1 << bits) - 1);
                if !names {
                    return Ok(slot);
                }
                Some(slot)
            }
        };
        let key = self.hasher.hash_one(name);
        if let Some(at) = self.table.find(key, |at| self.list.name(*at as usize) == name) {
            return Ok(self.list.features[*at as usize]);
        }
        let feature = match slot {
            Some(slot) => slot,
            None => self.next_number(0)?,
        };
        self.insert(key, name, feature);
        Ok(feature)
    }

    /// The number that the next name would get, were `more` others met before it.
    pub(crate) fn next_number(&self, more: usize) -> Result<u32, FeatureLimit> {
        let declared = self.limit.unwrap_or(u32::MAX).min(BIAS_FEATURE);
        let next = self.len() + more;
        if next >= declared as usize { Err(FeatureLimit { declared }) } else { Ok(next as u32) }
    }

    /// The feature of a name, where it has one without being met; `hash` is its hash.
    pub(crate) fn look(&self, name: &str, hash: impl FnOnce() -> u32) -> Option<u32> {
        match self.naming {
            Naming::Numbered | Naming::Kept => self.known(name),
            Naming::Hashed { bits, .. } => Some(hash() & ((1 << bits) - 1)),
        }
    }

    /// Takes over a name that another dictionary, which began as this one, has met; false where it did not begin so.
    #[must_use]
    pub(crate) fn adopt(&mut self, name: &str, feature: u32) -> bool {
        let fits = self.known(name).is_none()
            && match self.naming {
                Naming::Numbered => false,
                Naming::Kept => feature as usize == self.len(),
                Naming::Hashed { bits, names } => names && feature < 1 << bits,
            };
        if fits {
            self.insert(self.hasher.hash_one(name), name, feature);
        }
        fits
    }

    /// The feature of a name that is remembered.
    pub fn known(&self, name: &str) -> Option<u32> {
        let key = self.hasher.hash_one(name);
        let at = self.table.find(key, |at| self.list.name(*at as usize) == name)?;
        Some(self.list.features[*at as usize])
    }

    fn insert(&mut self, key: u64, name: &str, feature: u32) {
        let at = self.len() as u32;
        self.list.push(name, feature);
        let (list, hasher) = (&self.list, &self.hasher);
        self.table.insert_unique(key, at, |at| hasher.hash_one(list.name(*at as usize)));
    }

    /// Forgets all names but the first ones.
    pub(crate) fn keep_first(&mut self, count: usize) {
        for at in (count..self.len()).rev() {
            let key = self.hasher.hash_one(self.list.name(at));
            if let Ok(entry) = self.table.find_entry(key, |found| *found as usize == at) {
                entry.remove();
            }
        }
        if count < self.len() {
            self.list.truncate(count);
        }
    }

    /// Names from `known` on, as a batch carries them.
    pub(crate) fn copy_new(&self, known: usize, to: &mut NameList) {
        for at in known..self.len() {
            to.push(self.list.name(at), self.list.features[at]);
        }
    }

    /// Bytes held.
    pub fn heap_bytes(&self) -> usize {
        let NameList { text, ends, features } = &self.list;
        text.capacity()
            + ends.capacity() * size_of::<usize>()
            + features.capacity() * size_of::<u32>()
            + self.table.allocation_size()
    }
}

/// Names by feature.
#[derive(Debug)]
pub struct NamesByFeature<'a> {
    list: &'a NameList,
    /// Positions in the list, by feature, then in the order of meeting.
    order: Vec<u32>,
}

impl<'a> NamesByFeature<'a> {
    /// The names of a feature: none where it has none, several where names share it.
    pub fn names(&self, feature: u32) -> impl ExactSizeIterator<Item = &'a str> {
        let of = |at: &u32| self.list.features[*at as usize];
        let start = self.order.partition_point(|at| of(at) < feature);
        let end = start + self.order[start..].partition_point(|at| of(at) == feature);
        let list = self.list;
        self.order[start..end].iter().copied().map(|at| list.name(at as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_number_of_its_own() {
        let mut names = FeatureNames::new(Naming::Kept, Some(3));
        let mut meet = |name: &str| names.meet(name, || unreachable!("nothing is hashed"));
        assert_eq!([meet("b"), meet("a"), meet("b"), meet("")], [Ok(0), Ok(1), Ok(0), Ok(2)]);
        assert_eq!(meet("c"), Err(FeatureLimit { declared: 3 }));
        names.keep_first(1);
        assert_eq!((names.known("a"), names.known("b"), names.len()), (None, Some(0), 1));
        assert_eq!(names.meet("c", || 0), Ok(1));
        assert_eq!(names.by_feature().names(1).collect::<Vec<_>>(), ["c"]);
        assert_eq!((names.by_feature().names(2).len(), names.shared()), (0, 0));
    }

    #[test]
    fn hashed_names_share_slots_and_are_told_apart_while_they_are_kept() {
        let mut names = FeatureNames::new(Naming::Hashed { bits: 4, names: true }, None);
        assert_eq!([names.meet("a", || 0x15), names.meet("b", || 0x25)], [Ok(5), Ok(5)]);
        assert_eq!([names.meet("c", || 0x26), names.meet("a", || 0x15)], [Ok(6), Ok(5)]);
        assert_eq!(names.by_feature().names(5).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((names.len(), names.shared()), (3, 1));
        let mut bare = FeatureNames::new(Naming::Hashed { bits: 31, names: false }, None);
        assert_eq!((bare.meet("a", || u32::MAX), bare.len(), bare.heap_bytes()), (Ok(0x7fff_ffff), 0, 0));
    }

    #[test]
    fn a_million_names_come_and_go() {
        let mut names = FeatureNames::new(Naming::Kept, None);
        for round in 0..3_u32 {
            for at in 0..100_000_u32 {
                assert_eq!(names.meet(&format!("name {}", at * (round + 1)), || 0), Ok(at));
            }
            let (kept, per_name) = (names.len(), names.heap_bytes() / names.len());
            assert!(kept == 100_000 && per_name < 60, "{per_name} bytes per name");
            names.keep_first(0);
        }
        assert!(names.is_empty() && names.known("name 1").is_none());
    }
}
