//! What does the log say about the label queue?
//!
//! ```text
//! kind   u8      1 answer, 2 release, 3 skip, 4 come back, 5 undo, 6 retract
//! rest           answer: seq and place of the item (u64, count), whose, by (texts), margin (f64), random (u8), one labelled example
//!                release: a count, and so many numbers of answers (u64)
//!                skip, come back: seq and place of the item
//!                undo, retract: number of the answer (u64)
//! ```
//!
//! An answer has everything that learning it needs: nothing that people have said depends on what the queue holds when the log is
//! read again.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::examples::{Bytes, ExampleReader, Examples, NotWhole, push_count, push_text};

/// What an item of the queue is known by: the entry that brought it, and its place in the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ItemId {
    /// The entry.
    pub seq: u64,
    /// The place, from 0.
    pub at: u32,
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.seq, self.at)
    }
}

impl ItemId {
    /// Reads what was shown.
    pub fn parse(text: &str) -> Option<Self> {
        let (seq, at) = text.split_once('-')?;
        let id = Self { seq: seq.parse().ok()?, at: at.parse().ok()? };
        // `+1-01` is another way to write it, and not what was shown.
        (id.to_string() == text).then_some(id)
    }
}

/// An answer of a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// The item.
    pub id: ItemId,
    /// Whose ids the item's id is one of.
    pub whose: String,
    /// Who answered.
    pub by: String,
    /// The margin when the item came.
    pub margin: f64,
    /// Whether it was drawn at random.
    pub random: bool,
    /// The example with its label.
    pub example: Examples,
}

/// What changes the queue.
#[derive(Debug, Clone, PartialEq)]
pub enum QueueChange {
    /// A person answers; it is held back for a while.
    Answer(Answered),
    /// Answers, by their entries, are learnt.
    Release(Vec<u64>),
    /// An item goes to the end.
    Skip(ItemId),
    /// An item that was skipped comes back.
    ComeBack(ItemId),
    /// An answer that was held back is taken back.
    Undo(u64),
    /// An answer that was learnt is taken back: whoever replays the log leaves it out.
    Retract(u64),
}

fn push_item(bytes: &mut Vec<u8>, id: ItemId) {
    bytes.extend_from_slice(&id.seq.to_le_bytes());
    push_count(bytes, u64::from(id.at));
}

fn item(rest: &mut Bytes<'_>) -> Result<ItemId, NotWhole> {
    Ok(ItemId { seq: rest.u64()?, at: u32::try_from(rest.count()?).map_err(|_| NotWhole)? })
}

impl QueueChange {
    /// As it is in the log.
    pub(crate) fn push(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Answer(Answered { id, whose, by, margin, random, example }) => {
                bytes.push(1);
                push_item(bytes, *id);
                push_text(bytes, whose);
                push_text(bytes, by);
                bytes.extend_from_slice(&margin.to_le_bytes());
                bytes.push(u8::from(*random));
                bytes.extend_from_slice(&example.bytes);
            }
            Self::Release(answers) => {
                bytes.push(2);
                push_count(bytes, answers.len() as u64);
                answers.iter().for_each(|answer| bytes.extend_from_slice(&answer.to_le_bytes()));
            }
            Self::Skip(id) => {
                bytes.push(3);
                push_item(bytes, *id);
            }
            Self::ComeBack(id) => {
                bytes.push(4);
                push_item(bytes, *id);
            }
            Self::Undo(answer) => {
                bytes.push(5);
                bytes.extend_from_slice(&answer.to_le_bytes());
            }
            Self::Retract(answer) => {
                bytes.push(6);
                bytes.extend_from_slice(&answer.to_le_bytes());
            }
        }
    }

    /// Reads what was written, all of it.
    pub(crate) fn read(mut rest: Bytes<'_>) -> Result<Self, NotWhole> {
        let change = match rest.byte()? {
            1 => return answered(rest).map(Self::Answer),
            2 => {
                let count = rest.count()?;
                Self::Release((0..count).map(|_| rest.u64()).collect::<Result<_, _>>()?)
            }
            3 => Self::Skip(item(&mut rest)?),
            4 => Self::ComeBack(item(&mut rest)?),
            5 => Self::Undo(rest.u64()?),
            6 => Self::Retract(rest.u64()?),
            _ => return Err(NotWhole),
        };
        if rest.0.is_empty() { Ok(change) } else { Err(NotWhole) }
    }
}

fn answered(mut rest: Bytes<'_>) -> Result<Answered, NotWhole> {
    let (id, whose, by) = (item(&mut rest)?, rest.text()?.to_owned(), rest.text()?.to_owned());
    let margin = Some(rest.f64()?).filter(|margin| margin.is_finite()).ok_or(NotWhole)?;
    let random = match rest.byte()? {
        0 => false,
        1 => true,
        _ => return Err(NotWhole),
    };
    let mut reader = ExampleReader::new(rest.0);
    let (row, bytes) = reader.next_with_bytes()?.ok_or(NotWhole)?;
    if row.label.is_none() || bytes.len() != rest.0.len() {
        return Err(NotWhole);
    }
    Ok(Answered { id, whose, by, margin, random, example: Examples { bytes: bytes.to_vec(), count: 1 } })
}
