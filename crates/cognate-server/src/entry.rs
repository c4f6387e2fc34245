//! What is an entry of the log? What one request changes.
//!
//! ```text
//! kind   u8      1 learn, 2 label, 3 remember, 4 forget, 5 queue
//! time   u64     when the request came, in milliseconds since 1970
//! key    u8      1 if a key follows: 16 bytes, and 8 bytes of a hash of the body
//! rest           learn: examples
//!                label: whose they are, ids of which nothing is remembered, ids learnt before, examples
//!                remember: whose they are, examples
//!                forget: task
//!                queue: what `queue_entry` says
//! ```
//!
//! A text is a count of bytes and UTF-8, ids are a count and so many texts, examples are a count and then what `examples` says.

use crate::examples::{Bytes, ExampleReader, Examples, NotWhole, push_count, push_text};
use crate::queue_entry::QueueChange;

/// What tells a request that is sent again from another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Of the client.
    pub key: [u8; 16],
    /// Of what was sent under it.
    pub body: [u8; 8],
}

/// What one request changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// When it came, in milliseconds since 1970.
    pub time: u64,
    /// By what it is known again.
    pub key: Option<Key>,
    /// What it changes.
    pub change: Change,
}

/// A change.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Examples are learnt; those without a label are predicted, and may be asked for.
    Learn(Examples),
    /// Remembered examples got their labels, and are learnt.
    Label(String, Examples, Told),
    /// Predicted examples are remembered for their labels.
    Remember(String, Examples),
    /// A task is forgotten.
    Forget(String),
    /// People answer what they are asked.
    Queue(QueueChange),
}

/// Ids of a request of labels that taught nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    /// Those of which nothing is remembered.
    pub unknown: Vec<String>,
    /// Those whose example was learnt before.
    pub again: Vec<String>,
}

impl Change {
    /// How many examples it teaches.
    pub fn learnt(&self) -> usize {
        match self {
            Self::Learn(examples) | Self::Label(_, examples, _) => examples.count,
            Self::Queue(QueueChange::Release(answers)) => answers.len(),
            Self::Remember(..) | Self::Forget(_) | Self::Queue(_) => 0,
        }
    }
}

const LEARN: u8 = 1;
const LABEL: u8 = 2;
const REMEMBER: u8 = 3;
const FORGET: u8 = 4;
const QUEUE: u8 = 5;

fn push_examples(bytes: &mut Vec<u8>, examples: &Examples) {
    push_count(bytes, examples.count as u64);
    bytes.extend_from_slice(&examples.bytes);
}

impl Entry {
    /// As it is in the log.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Self { time, key, change } = self;
        let (kind, room) = match change {
            Change::Learn(examples) => (LEARN, examples.bytes.len()),
            Change::Label(_, examples, _) => (LABEL, examples.bytes.len()),
            Change::Remember(_, examples) => (REMEMBER, examples.bytes.len()),
            Change::Forget(task) => (FORGET, task.len()),
            Change::Queue(_) => (QUEUE, 0),
        };
        let mut bytes = Vec::with_capacity(room + 64);
        bytes.push(kind);
        bytes.extend_from_slice(&time.to_le_bytes());
        bytes.push(u8::from(key.is_some()));
        if let Some(Key { key, body }) = key {
            bytes.extend_from_slice(key);
            bytes.extend_from_slice(body);
        }
        match change {
            Change::Learn(examples) => push_examples(&mut bytes, examples),
            Change::Label(whose, examples, Told { unknown, again }) => {
                push_text(&mut bytes, whose);
                for ids in [unknown, again] {
                    push_count(&mut bytes, ids.len() as u64);
                    ids.iter().for_each(|id| push_text(&mut bytes, id));
                }
                push_examples(&mut bytes, examples);
            }
            Change::Remember(whose, examples) => {
                push_text(&mut bytes, whose);
                push_examples(&mut bytes, examples);
            }
            Change::Forget(task) => push_text(&mut bytes, task),
            Change::Queue(change) => change.push(&mut bytes),
        }
        bytes
    }

    /// Reads what was written.
    ///
    /// # Errors
    /// When it was not written by this program, or an earlier one.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, NotWhole> {
        let mut rest = Bytes(bytes);
        let (kind, time) = (rest.byte()?, rest.u64()?);
        let key = match rest.byte()? {
            0 => None,
            1 => Some(Key { key: rest.array()?, body: rest.array()? }),
            _ => return Err(NotWhole),
        };
        let whose = match kind {
            LABEL | REMEMBER => rest.text()?.to_owned(),
            _ => String::new(),
        };
        let change = match kind {
            LEARN => Change::Learn(examples(rest)?),
            LABEL => {
                let told = Told { unknown: texts(&mut rest)?, again: texts(&mut rest)? };
                Change::Label(whose, examples(rest)?, told)
            }
            REMEMBER => Change::Remember(whose, examples(rest)?),
            FORGET => {
                let task = rest.text()?.to_owned();
                if !rest.0.is_empty() {
                    return Err(NotWhole);
                }
                Change::Forget(task)
            }
            QUEUE => Change::Queue(QueueChange::read(rest)?),
            _ => return Err(NotWhole),
        };
        Ok(Self { time, key, change })
    }
}

fn texts(rest: &mut Bytes<'_>) -> Result<Vec<String>, NotWhole> {
    let count = rest.count()?;
    (0..count).map(|_| rest.text().map(str::to_owned)).collect()
}

/// All that is left, as examples, each of which is whole.
fn examples(mut rest: Bytes<'_>) -> Result<Examples, NotWhole> {
    let count = rest.count()?;
    let mut reader = ExampleReader::new(rest.0);
    let mut found = 0_u64;
    while reader.next_with_bytes()?.is_some() {
        found += 1;
    }
    let count = usize::try_from(count).ok().filter(|_| count == found).ok_or(NotWhole)?;
    Ok(Examples { bytes: rest.0.to_vec(), count })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::{Row, RowFeatures};
    use crate::queue_entry::{Answered, ItemId};
    use cognate::model::Beside;

    #[test]
    fn entries_are_read_back_and_cut_ones_refused() {
        let mut examples = Examples::default();
        let features = RowFeatures::Named(vec![("offer", 1.0)]);
        let (task, label, id) = (Some("alice"), Some(1.0), Some("m-1"));
        examples.push(&Row { task, label, id, beside: Beside::default(), features });
        let told = Told { unknown: vec!["m-2".to_owned()], again: vec!["m-3".to_owned(), String::new()] };
        let key = Some(Key { key: [7; 16], body: [9; 8] });
        let id = ItemId { seq: 7, at: 300 };
        let (whose, by) = ("team/".to_owned(), "anna".to_owned());
        let answered = Answered { id, whose, by, margin: -0.25, random: true, example: examples.clone() };
        for change in [
            QueueChange::Answer(answered),
            QueueChange::Release(vec![1, 300]),
            QueueChange::Skip(id),
            QueueChange::ComeBack(id),
            QueueChange::Undo(9),
            QueueChange::Retract(u64::MAX),
        ] {
            let entry = Entry { time: 7, key: None, change: Change::Queue(change) };
            let bytes = entry.to_bytes();
            assert_eq!(Entry::from_bytes(&bytes), Ok(entry));
            for at in 0..bytes.len() {
                assert_eq!(Entry::from_bytes(&bytes[..at]), Err(NotWhole), "cut at {at}");
            }
            assert_eq!(Entry::from_bytes(&[&bytes[..], &[0]].concat()), Err(NotWhole));
        }
        for (key, change) in [
            (key, Change::Learn(examples.clone())),
            (None, Change::Label("team/".to_owned(), examples.clone(), told)),
            (None, Change::Remember(String::new(), examples)),
            (None, Change::Forget("alice".to_owned())),
        ] {
            let entry = Entry { time: 1_700_000_000_000, key, change };
            let bytes = entry.to_bytes();
            assert_eq!(Entry::from_bytes(&bytes), Ok(entry));
            for at in 0..bytes.len() {
                assert_eq!(Entry::from_bytes(&bytes[..at]), Err(NotWhole), "cut at {at}");
            }
            let longer = [&bytes[..], &[0]].concat();
            assert_eq!(Entry::from_bytes(&longer), Err(NotWhole));
            assert_eq!(Entry::from_bytes(&[&[9], &bytes[1..]].concat()), Err(NotWhole), "an unknown kind");
        }
    }
}
