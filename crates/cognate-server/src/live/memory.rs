//! What is remembered beside the model: examples that wait for their labels, and answers to requests that may come again.
//!
//! All of it is bounded, the oldest goes first, and all of it follows from the log, so that a restart changes nothing.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::entry::Key;
use crate::examples::Examples;

/// Requests whose answers are remembered.
const ANSWERS: usize = 10_000;
/// Margins in remembered answers, in all.
const MARGINS: usize = 1 << 20;
/// Bytes of remembered examples per example that may wait, on average: many small ones, or fewer large ones.
const BYTES_EACH: usize = 2048;

/// An answer to a request that taught something.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Answer {
    /// The entry of the log.
    pub seq: u64,
    /// Margins of the examples before learning.
    pub margins: Vec<f64>,
    /// How many of the examples had no label, and were only predicted.
    #[serde(default)]
    pub unlabelled: usize,
    /// Ids without a remembered example.
    pub unknown: Vec<String>,
    /// Ids whose example was learnt before.
    pub again: Vec<String>,
}

/// What is remembered of an example that was predicted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Waiting {
    order: u64,
    /// The example without its label; empty once it was learnt.
    #[serde(with = "serde_bytes")]
    example: Vec<u8>,
}

/// Examples that were predicted, by whose they are and id.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Pending {
    known: BTreeMap<(String, String), Waiting>,
    /// In the order in which they came.
    order: BTreeMap<u64, (String, String)>,
    next: u64,
    bytes: usize,
    /// How many went before their labels came.
    dropped: u64,
    /// How many wait.
    waiting: usize,
}

/// What became of an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// Its example.
    Example(Vec<u8>),
    /// Its example was learnt before.
    Again,
    /// Nothing is known of it.
    Unknown,
}

/// What is remembered beside a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Memory {
    pending: Pending,
    answers: BTreeMap<[u8; 16], ([u8; 8], Answer)>,
    /// Keys in the order in which they came.
    keys: VecDeque<[u8; 16]>,
    margins: usize,
}

impl Memory {
    /// The answer that was given to a request; an error if the key came with another body.
    pub(crate) fn answer(&self, key: &Key) -> Option<Result<&Answer, ()>> {
        let (body, answer) = self.answers.get(&key.key)?;
        Some(if *body == key.body { Ok(answer) } else { Err(()) })
    }

    /// Remembers an answer.
    pub(crate) fn remember_answer(&mut self, key: &Key, answer: &Answer) {
        self.margins += answer.margins.len();
        if let Some((_, before)) = self.answers.insert(key.key, (key.body, answer.clone())) {
            self.margins -= before.margins.len();
        } else {
            self.keys.push_back(key.key);
        }
        while self.keys.len() > ANSWERS || (self.margins > MARGINS && self.keys.len() > 1) {
            let Some(oldest) = self.keys.pop_front() else { break };
            if let Some((_, gone)) = self.answers.remove(&oldest) {
                self.margins -= gone.margins.len();
            }
        }
    }

    /// Remembers examples, all of which have ids, for their labels; at most so many.
    pub(crate) fn remember(&mut self, whose: &str, examples: &Examples, most: usize) {
        let mut reader = examples.reader();
        while let Ok(Some((row, bytes))) = reader.next_with_bytes() {
            if let Some(id) = row.id {
                self.pending.remember(whose, id, bytes);
            }
        }
        self.pending.shrink(most);
    }

    /// What is known of an id.
    pub(crate) fn find(&self, whose: &str, id: &str) -> Found {
        match self.pending.known.get(&(whose.to_owned(), id.to_owned())) {
            None => Found::Unknown,
            Some(waiting) if waiting.example.is_empty() => Found::Again,
            Some(waiting) => Found::Example(waiting.example.clone()),
        }
    }

    /// The label of an example has come: it is kept in mind that it was learnt, and nothing else.
    pub(crate) fn labelled(&mut self, whose: &str, id: &str, most: usize) {
        self.pending.remember(whose, id, &[]);
        self.pending.shrink(most);
    }

    /// Forgets all examples of a task that wait.
    pub(crate) fn forget(&mut self, is_of_task: impl Fn(&[u8]) -> bool) {
        let gone: Vec<u64> = self
            .pending
            .known
            .values()
            .filter(|waiting| is_of_task(&waiting.example))
            .map(|waiting| waiting.order)
            .collect();
        gone.into_iter().for_each(|order| drop(self.pending.remove(order)));
    }

    /// Examples that wait for their labels.
    pub(crate) fn waiting(&self) -> usize {
        self.pending.waiting
    }

    /// Examples that went before their labels came.
    pub(crate) fn dropped(&self) -> u64 {
        self.pending.dropped
    }

    /// Bytes held, about.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.pending.bytes + self.margins * size_of::<f64>() + self.keys.len() * 96
    }
}

impl Pending {
    fn remember(&mut self, whose: &str, id: &str, example: &[u8]) {
        let name = (whose.to_owned(), id.to_owned());
        let size = |example: &[u8]| example.len() + 2 * (name.0.len() + name.1.len()) + 128;
        match self.known.get(&name) {
            // A label that comes for it again is told so; a prediction that comes again changes nothing.
            Some(before) if before.example.is_empty() => return,
            Some(before) => drop(self.remove(before.order)),
            None => {}
        }
        let order = self.next;
        self.next += 1;
        self.bytes += size(example);
        self.waiting += usize::from(!example.is_empty());
        self.order.insert(order, name.clone());
        self.known.insert(name, Waiting { order, example: example.to_vec() });
    }

    fn remove(&mut self, order: u64) -> Option<Waiting> {
        let name = self.order.remove(&order)?;
        let gone = self.known.remove(&name)?;
        self.bytes -= gone.example.len() + 2 * (name.0.len() + name.1.len()) + 128;
        self.waiting -= usize::from(!gone.example.is_empty());
        Some(gone)
    }

    /// Drops the oldest until there are no more than this many, and none larger than that many should be.
    fn shrink(&mut self, most: usize) {
        while self.known.len() > most
            || (self.bytes > most.saturating_mul(BYTES_EACH) && !self.known.is_empty())
        {
            let Some((&oldest, _)) = self.order.first_key_value() else { return };
            if self.remove(oldest).is_some_and(|gone| !gone.example.is_empty()) {
                self.dropped += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::{Row, RowFeatures};
    use cognate::model::Beside;

    fn example(id: &str) -> Examples {
        let mut examples = Examples::default();
        let features = RowFeatures::Numbered(vec![(1, 0.5)]);
        examples.push(&Row {
            task: Some("a"),
            label: None,
            id: Some(id),
            beside: Beside::default(),
            features,
        });
        examples
    }

    #[test]
    fn an_example_waits_until_its_label_comes_once() {
        let mut memory = Memory::default();
        memory.remember("", &example("m-1"), 10);
        assert_eq!(memory.find("", "m-1"), Found::Example(example("m-1").bytes));
        assert_eq!(memory.find("other/", "m-1"), Found::Unknown, "ids of others are not seen");
        memory.labelled("", "m-1", 10);
        assert_eq!((memory.find("", "m-1"), memory.waiting()), (Found::Again, 0));
        memory.remember("", &example("m-1"), 10);
        assert_eq!(memory.find("", "m-1"), Found::Again, "it was learnt");
    }

    #[test]
    fn the_oldest_goes_first_and_is_counted() {
        let mut memory = Memory::default();
        for at in 0..25 {
            memory.remember("", &example(&format!("m-{at}")), 10);
        }
        assert_eq!((memory.waiting(), memory.dropped()), (10, 15));
        assert_eq!(memory.find("", "m-14"), Found::Unknown);
        assert!(matches!(memory.find("", "m-15"), Found::Example(_)));
        memory.forget(|bytes| !bytes.is_empty());
        assert_eq!((memory.waiting(), memory.pending.bytes), (0, 0));
        let large = "x".repeat(3 * BYTES_EACH);
        (0..10).for_each(|at| memory.remember("", &example(&format!("{at}{large}")), 10));
        assert!(memory.waiting() < 4, "{}", memory.waiting());
    }

    #[test]
    fn answers_are_bounded_and_know_their_bodies() {
        let mut memory = Memory::default();
        let key = |at: u32| {
            let mut key = Key { key: [0; 16], body: [1; 8] };
            key.key[..4].copy_from_slice(&at.to_le_bytes());
            key
        };
        for at in 0..ANSWERS as u32 + 5 {
            memory.remember_answer(&key(at), &Answer { seq: u64::from(at), ..Answer::default() });
        }
        assert!(memory.answer(&key(4)).is_none());
        assert_eq!(memory.answer(&key(5)).unwrap().unwrap().seq, 5);
        assert!(memory.answer(&Key { body: [2; 8], ..key(5) }).unwrap().is_err());
        let long = Answer { margins: vec![0.0; MARGINS + 1], ..Answer::default() };
        memory.remember_answer(&key(1 << 20), &long);
        assert_eq!(memory.keys.len(), 1);
    }
}
