//! Which examples wait for a person's label, and what have people said? All of it follows from the log.
//!
//! What is asked for is kept by its worth, from 0 to 1: how uncertain the prediction was when the example came. A queue that is full
//! drops the least worthy item of the task with more than its quota, or of all. A tenth of all that comes is drawn at random, whatever
//! the model thinks of it, and stays by chance alone: its answers estimate the error without bias.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::examples::{ExampleReader, Examples, Row};
use crate::queue_entry::{Answered, ItemId};
use crate::tokens::digest;

/// Answers that are held back until as many have come after them, of the same person.
pub(crate) const HELD: usize = 10;
/// Milliseconds after which an answer is not held back any longer.
pub(crate) const HOLD: u64 = 30_000;
/// Answers that were learnt and can still be told apart from new ones, or be taken back.
const REMEMBERED: usize = 1000;
/// One of so many examples is drawn at random.
const SAMPLED: u64 = 10;
/// A task may hold one of so many places of a full queue.
const QUOTA: usize = 10;
/// How often an item is put at the end before it is dropped.
const SKIPS: u8 = 3;

/// An example that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// Whose ids its id is one of.
    pub whose: String,
    /// Its task.
    pub task: String,
    /// The example, without its label.
    #[serde(with = "serde_bytes")]
    pub example: Vec<u8>,
    /// The margin when it came.
    pub margin: f64,
    /// How uncertain that was, from 0 to 1.
    pub worth: f64,
    /// Whether it was drawn at random.
    pub random: bool,
    /// When it came, in milliseconds since 1970.
    pub time: u64,
    /// How often people have put it at the end.
    pub skips: u8,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// The entry of the answer.
    pub answer: u64,
    /// The item that it is about.
    pub id: ItemId,
    /// That item.
    pub item: Item,
    /// The label.
    pub label: f64,
    /// Who said so.
    pub by: String,
    /// When, in milliseconds since 1970.
    pub time: u64,
    /// The entry with which it was learnt; 0 before.
    pub learnt: u64,
}

/// What the answers to items drawn at random say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Answers.
    pub answers: u64,
    /// Those that contradict the prediction of when the item came.
    pub mistakes: u64,
}

/// The queue of a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Queue {
    items: BTreeMap<ItemId, Item>,
    held: VecDeque<Said>,
    said: VecDeque<Said>,
    /// What the random items say.
    pub sample: Sample,
    /// Answers that were learnt.
    pub learnt: u64,
    /// Items that were dropped since others were worth more, or people skipped them.
    pub dropped: u64,
    /// Items that wait already, to the last bit.
    pub twins: u64,
    #[serde(skip)]
    index: Index,
    /// Answers that a later entry of the log takes back.
    #[serde(skip)]
    pub(super) retracted: BTreeSet<u64>,
}

/// What is looked up in a queue; it follows from the items.
#[derive(Debug, Clone, Default, PartialEq)]
struct Index {
    by_worth: BTreeSet<(u64, ItemId)>,
    of_task: BTreeMap<String, BTreeSet<(u64, ItemId)>>,
    by_chance: BTreeSet<(u64, ItemId)>,
    named: BTreeMap<(String, String), ItemId>,
    twins: BTreeMap<[u8; 8], u32>,
}

/// A number that follows from an item and a purpose, and from nothing else.
fn draw(id: ItemId, purpose: u8) -> u64 {
    let hash = digest(&[&[purpose], &id.seq.to_le_bytes(), &id.at.to_le_bytes()]);
    u64::from_le_bytes(std::array::from_fn(|at| hash[at]))
}

/// Whether an example is drawn at random.
pub(super) fn is_sampled(id: ItemId) -> bool {
    draw(id, 1).is_multiple_of(SAMPLED)
}

/// A number from 0 to 1 that decides whether an example is asked for.
pub(super) fn chance(id: ItemId) -> f64 {
    (draw(id, 2) >> 11) as f64 / (1_u64 << 53) as f64
}

fn row(example: &[u8]) -> Option<Row<'_>> {
    ExampleReader::new(example).next().and_then(Result::ok)
}

/// By what an example of the same task and features is known.
fn twin(item: &Item) -> [u8; 8] {
    let mut plain = Examples::default();
    if let Some(row) = row(&item.example) {
        plain.push(&Row { id: None, label: None, beside: cognate::model::Beside::default(), ..row });
    }
    let hash = digest(&[&plain.bytes]);
    std::array::from_fn(|at| hash[at])
}

impl Index {
    fn add(&mut self, id: ItemId, item: &Item) {
        if item.random {
            self.by_chance.insert((draw(id, 3), id));
        } else {
            self.by_worth.insert((item.worth.to_bits(), id));
            self.of_task.entry(item.task.clone()).or_default().insert((item.worth.to_bits(), id));
        }
        if let Some(name) = row(&item.example).and_then(|row| row.id) {
            self.named.insert((item.whose.clone(), name.to_owned()), id);
        }
        *self.twins.entry(twin(item)).or_default() += 1;
    }

    fn remove(&mut self, id: ItemId, item: &Item) {
        self.by_chance.remove(&(draw(id, 3), id));
        self.by_worth.remove(&(item.worth.to_bits(), id));
        if let Some(of_task) = self.of_task.get_mut(&item.task) {
            of_task.remove(&(item.worth.to_bits(), id));
            if of_task.is_empty() {
                self.of_task.remove(&item.task);
            }
        }
        if let Some(name) = row(&item.example).and_then(|row| row.id) {
            let name = (item.whose.clone(), name.to_owned());
            if self.named.get(&name) == Some(&id) {
                self.named.remove(&name);
            }
        }
        let twin = twin(item);
        if let Some(count) = self.twins.get_mut(&twin) {
            *count -= 1;
            if *count == 0 {
                self.twins.remove(&twin);
            }
        }
    }
}

impl Queue {
    /// After it was read: what is looked up is made again.
    pub(super) fn restore(&mut self) {
        self.index = Index::default();
        for (id, item) in &self.items {
            self.index.add(*id, item);
        }
    }

    /// Items that wait.
    pub fn items(&self) -> &BTreeMap<ItemId, Item> {
        &self.items
    }

    /// Answers that are held back, in the order in which they came.
    pub fn held(&self) -> &VecDeque<Said> {
        &self.held
    }

    /// Answers that were learnt, the last ones.
    pub fn said(&self) -> &VecDeque<Said> {
        &self.said
    }

    /// Bytes held, about.
    pub fn heap_bytes(&self) -> usize {
        let of = |item: &Item| 2 * item.example.len() + 4 * item.task.len() + item.whose.len() + 320;
        let said = self.held.iter().chain(&self.said);
        self.items.values().map(of).sum::<usize>() + said.map(|said| of(&said.item) + 64).sum::<usize>()
    }

    /// Takes an item; at most so many.
    pub(super) fn admit(&mut self, id: ItemId, item: Item, most: usize) {
        if most == 0 {
            return;
        }
        if !item.random && self.index.twins.contains_key(&twin(&item)) {
            self.twins += 1;
            return;
        }
        self.insert(id, item);
        let most_random = most.div_ceil(SAMPLED as usize);
        while self.index.by_chance.len() > most_random {
            let Some((_, last)) = self.index.by_chance.last().copied() else { break };
            self.drop_item(last);
        }
        while self.items.len() > most {
            let over = |of: &BTreeSet<(u64, ItemId)>| of.len() > most.div_ceil(QUOTA);
            let task = self.items.get(&id).map(|item| item.task.as_str());
            let own = task.and_then(|task| self.index.of_task.get(task)).filter(|of| over(of));
            let least = own.unwrap_or(&self.index.by_worth).first().copied();
            let Some((_, least)) = least.or_else(|| self.index.by_chance.last().copied()) else { break };
            self.drop_item(least);
        }
    }

    fn insert(&mut self, id: ItemId, item: Item) {
        self.take(id);
        self.index.add(id, &item);
        self.items.insert(id, item);
    }

    fn take(&mut self, id: ItemId) -> Option<Item> {
        let item = self.items.remove(&id)?;
        self.index.remove(id, &item);
        Some(item)
    }

    fn drop_item(&mut self, id: ItemId) {
        self.dropped += u64::from(self.take(id).is_some());
    }

    /// A person has answered.
    pub(super) fn hold(&mut self, answer: u64, said: Answered, time: u64) {
        let Answered { id, whose, by, margin, random, example } = said;
        let Some(row) = row(&example.bytes) else { return };
        let label = row.label.unwrap_or(f64::NAN);
        let mut plain = Examples::default();
        let task = row.task.unwrap_or("default").to_owned();
        plain.push(&Row { label: None, ..row });
        let from_answer =
            Item { whose, task, example: plain.bytes, margin, worth: 0.0, random, time, skips: 0 };
        let item = self.take(id).unwrap_or(from_answer);
        self.held.push_back(Said { answer, id, item, label, by, time, learnt: 0 });
    }

    /// Answers that need not be held back any longer.
    pub(super) fn due(&self, now: u64) -> Vec<u64> {
        let mut after: BTreeMap<&str, usize> = BTreeMap::new();
        let mut due = Vec::new();
        for said in self.held.iter().rev() {
            let later = after.entry(&said.by).or_default();
            // A clock may go backwards: nothing is held back for ever.
            let is_old = now >= said.time.saturating_add(HOLD) || said.time > now.saturating_add(HOLD);
            if *later >= HELD || is_old {
                due.push(said.answer);
            }
            *later += 1;
        }
        due.reverse();
        due
    }

    /// Milliseconds until the next answer need not be held back any longer.
    pub(super) fn until_due(&self, now: u64) -> Option<u64> {
        self.held.iter().map(|said| said.time.saturating_add(HOLD).saturating_sub(now)).min()
    }

    /// An answer is held back no longer.
    pub(super) fn release(&mut self, answer: u64, seq: u64) -> Option<&Said> {
        let at = self.held.iter().position(|said| said.answer == answer)?;
        let said = self.held.remove(at)?;
        self.said.push_back(Said { learnt: seq, ..said });
        if self.said.len() > REMEMBERED {
            self.said.pop_front();
        }
        self.said.back()
    }

    /// An answer was learnt, with this in mind.
    pub(super) fn count(&mut self, random: bool, mistake: bool) {
        self.learnt += 1;
        if random {
            self.sample.answers += 1;
            self.sample.mistakes += u64::from(mistake);
        }
    }

    /// An answer is taken back: its item waits again.
    pub(super) fn take_back(&mut self, answer: u64) {
        let is_it = |said: &Said| said.answer == answer;
        let said = match self.held.iter().position(is_it) {
            Some(at) => self.held.remove(at),
            None => self.said.iter().position(is_it).and_then(|at| self.said.remove(at)),
        };
        if let Some(Said { id, item, .. }) = said {
            self.insert(id, item);
        }
    }

    /// An item goes to the end, and after some times it is dropped.
    pub(super) fn skip(&mut self, id: ItemId) {
        let Some(item) = self.items.get_mut(&id) else { return };
        item.skips += 1;
        if item.skips >= SKIPS {
            self.drop_item(id);
        }
    }

    /// An item was skipped by mistake.
    pub(super) fn come_back(&mut self, id: ItemId) {
        if let Some(item) = self.items.get_mut(&id) {
            item.skips = item.skips.saturating_sub(1);
        }
    }

    /// The label of an example has come in another way.
    pub(super) fn labelled(&mut self, whose: &str, name: &str) {
        if let Some(id) = self.index.named.get(&(whose.to_owned(), name.to_owned())).copied() {
            self.take(id);
        }
    }

    /// A task is forgotten, and all that was said about it.
    pub(super) fn forget(&mut self, task: &str) {
        let gone: Vec<ItemId> =
            self.items.iter().filter(|(_, item)| item.task == task).map(|(id, _)| *id).collect();
        gone.into_iter().for_each(|id| drop(self.take(id)));
        self.held.retain(|said| said.item.task != task);
        self.said.retain(|said| said.item.task != task);
    }
}
