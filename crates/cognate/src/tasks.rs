//! The tasks of a run: their names, their numbers, and whether more may come.

use std::cmp::Ordering;

use hashbrown::HashMap;

use crate::example::TaskId;
use crate::table::{IndexMap, SecretState};

/// Names and numbers of tasks, declared or added as they occur.
///
/// A name that is a plain decimal number and the same number given as `qid:` are one task; nothing is
/// hashed, so two tasks never collide.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    /// All names, one after the other.
    text: String,
    /// Where each name ends.
    ends: Vec<usize>,
    /// Number to id + 1.
    by_number: IndexMap<u32>,
    by_name: HashMap<Box<str>, u32, SecretState>,
    limit: Option<usize>,
    /// Whether `?` is no name, but says that the task is not known.
    has_unknown: bool,
}

/// The name of a task that is not known.
const UNKNOWN: &str = "?";

/// A task beyond the declared ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("only {declared} tasks were declared")]
pub struct TaskLimit {
    /// How many tasks were declared.
    pub declared: usize,
}

impl Tasks {
    /// No task yet; any number may be added.
    pub fn open() -> Self {
        Self::default()
    }

    /// Exactly `count` tasks, named as they occur.
    pub fn counted(count: usize) -> Self {
        Self { limit: Some(count), ..Self::default() }
    }

    /// Exactly `count` tasks with the names `1`, `2`, ….
    pub fn numbered(count: usize) -> Self {
        let mut tasks = Self::counted(count);
        tasks.name_by_number();
        tasks
    }

    /// Exactly these tasks.
    ///
    /// # Errors
    /// Returns a name that is empty or given twice.
    pub fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, &'a str> {
        let mut tasks = Self::default();
        for name in names {
            if name.is_empty() || tasks.find(name).is_some() {
                return Err(name);
            }
            tasks.push(name);
        }
        tasks.limit = Some(tasks.len());
        Ok(tasks)
    }

    /// Number of tasks that have a name.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether no task has a name yet.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Declared number of tasks, if there is one.
    pub fn limit(&self) -> Option<usize> {
        self.limit
    }

    /// K as far as it is known: the declared number, or else the number of tasks so far.
    pub fn count(&self) -> usize {
        self.limit.unwrap_or(0).max(self.len())
    }

    /// Name of a task; empty if it has none yet.
    pub fn name(&self, task: TaskId) -> &str {
        let at = task.index();
        let start = if at == 0 { 0 } else { self.ends.get(at - 1).copied().unwrap_or(self.text.len()) };
        let end = self.ends.get(at).copied().unwrap_or(self.text.len());
        &self.text[start..end]
    }

    /// All names in order of number.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|at| self.name(TaskId(at as u32)))
    }

    /// The task of a name.
    pub fn find(&self, name: &str) -> Option<TaskId> {
        match plain_number(name) {
            Some(number) => self.by_number.get(number).checked_sub(1).map(TaskId),
            None => self.by_name.get(name).copied().map(TaskId),
        }
    }

    /// The task of a number, as in `qid:7`.
    #[inline]
    pub fn find_number(&self, number: u32) -> Option<TaskId> {
        let known = if number == u32::MAX { 0 } else { self.by_number.get(number) };
        known.checked_sub(1).map(TaskId)
    }

    /// Asks for what is known of a number that will be looked up soon.
    #[inline]
    pub(crate) fn prefetch_number(&self, number: u32) {
        self.by_number.prefetch(number);
    }

    /// The task of a name, which may be new.
    ///
    /// # Errors
    /// When the name is new and all declared tasks have names.
    pub fn meet(&mut self, name: &str) -> Result<TaskId, TaskLimit> {
        match self.find(name) {
            Some(task) => Ok(task),
            None if self.has_unknown && name == UNKNOWN => Ok(TaskId::UNKNOWN),
            None => self.admit().map(|()| self.push(name)),
        }
    }

    /// The same of a name that is one, even if it is `?`.
    pub(crate) fn meet_as_named(&mut self, name: &str) -> Result<TaskId, TaskLimit> {
        self.find(name).map_or_else(|| self.admit().map(|()| self.push(name)), Ok)
    }

    /// From here on `?` is no name, unless it has been one before: it is [`TaskId::UNKNOWN`].
    pub(crate) fn allow_unknown(&mut self) {
        self.has_unknown = true;
    }

    /// The task of a name, which may be new, even beyond the declared number.
    pub(crate) fn meet_any(&mut self, name: &str) -> TaskId {
        self.find(name).unwrap_or_else(|| self.push(name))
    }

    /// The task of a number, which may be new.
    ///
    /// # Errors
    /// As [`Self::meet`].
    #[inline]
    pub fn meet_number(&mut self, number: u32) -> Result<TaskId, TaskLimit> {
        match self.find_number(number) {
            Some(task) => Ok(task),
            None => self.meet(&number.to_string()),
        }
    }

    /// Tasks as a person would list them: numbers by size, then names by letter, numbers within names by size
    /// (`t2` before `t10`).
    pub fn sorted(&self) -> Vec<TaskId> {
        // Every number is read once; names come after all of them.
        let number = |task: TaskId| plain_number(self.name(task)).map_or(u64::MAX, u64::from);
        let mut order: Vec<(u64, TaskId)> =
            (0..self.len() as u32).map(|task| (number(TaskId(task)), TaskId(task))).collect();
        order.sort_by(|(number, one), (of_other, other)| {
            number.cmp(of_other).then_with(|| natural_order(self.name(*one), self.name(*other)))
        });
        order.into_iter().map(|(_, task)| task).collect()
    }

    /// Bytes held.
    pub fn heap_bytes(&self) -> usize {
        let names: usize = self.by_name.keys().map(|name| name.len() + size_of::<(Box<str>, u32)>()).sum();
        self.text.capacity() + self.ends.capacity() * size_of::<usize>() + self.by_number.heap_bytes() + names
    }

    /// Sets how many tasks there may be, if that is limited.
    pub(crate) fn set_limit(&mut self, limit: Option<usize>) {
        self.limit = limit;
    }

    /// Forgets all names but the first ones; costs as much as there are others.
    pub(crate) fn keep_first(&mut self, count: usize) {
        for at in (count..self.len()).rev() {
            let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
            let name = &self.text[start..];
            match plain_number(name) {
                Some(number) => *self.by_number.entry(number) = 0,
                None => drop(self.by_name.remove(name)),
            }
            self.text.truncate(start);
            self.ends.truncate(at);
        }
    }

    /// Forgets the name of a task; those after it move one number down.
    pub(crate) fn remove(&mut self, task: TaskId) {
        let mut kept = Self { limit: self.limit, ..Self::default() };
        for (at, name) in self.names().enumerate() {
            if at != task.index() {
                kept.push(name);
            }
        }
        *self = kept;
    }

    /// Gives the remaining declared tasks the names `1`, `2`, ….
    pub(crate) fn name_by_number(&mut self) {
        for number in 1..=self.limit.unwrap_or(0) {
            let name = number.to_string();
            if self.find(&name).is_none() && self.admit().is_ok() {
                self.push(&name);
            }
        }
    }

    fn admit(&self) -> Result<(), TaskLimit> {
        match self.limit {
            Some(declared) if self.len() >= declared => Err(TaskLimit { declared }),
            _ => Ok(()),
        }
    }

    fn push(&mut self, name: &str) -> TaskId {
        let id = self.len() as u32;
        match plain_number(name) {
            Some(number) => *self.by_number.entry(number) = id + 1,
            None => drop(self.by_name.insert(name.into(), id)),
        }
        self.text.push_str(name);
        self.ends.push(self.text.len());
        TaskId(id)
    }
}

/// Compares names by letter, but whole numbers within them by size. Names that differ in leading zeros alone are
/// compared as text, so that different names are never equal.
fn natural_order(one: &str, other: &str) -> Ordering {
    let (mut a, mut b) = (one, other);
    while let (Some(x), Some(y)) = (a.chars().next(), b.chars().next()) {
        let order = if x.is_ascii_digit() && y.is_ascii_digit() {
            let (digits, more_digits) = (leading_digits(a), leading_digits(b));
            (a, b) = (&a[digits.len()..], &b[more_digits.len()..]);
            let (x, y) = (digits.trim_start_matches('0'), more_digits.trim_start_matches('0'));
            // Any number of digits: the longer number is the larger one.
            x.len().cmp(&y.len()).then_with(|| x.cmp(y))
        } else {
            (a, b) = (&a[x.len_utf8()..], &b[y.len_utf8()..]);
            x.cmp(&y)
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    a.len().cmp(&b.len()).then_with(|| one.cmp(other))
}

/// The digits that a text begins with.
fn leading_digits(text: &str) -> &str {
    &text[..text.bytes().take_while(u8::is_ascii_digit).count()]
}

/// The number that a name spells in its shortest decimal form.
fn plain_number(name: &str) -> Option<u32> {
    let digits = name.len() <= 10 && name.bytes().all(|byte| byte.is_ascii_digit());
    let shortest = name == "0" || !name.starts_with('0');
    let number = if digits && shortest { name.parse().ok() } else { None };
    number.filter(|number| *number != u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_met_last_is_forgotten_and_may_be_met_again() {
        let mut tasks = Tasks::open();
        let names = ["7", "alice", "12", "bob", "3"];
        for name in names {
            tasks.meet(name).unwrap();
        }
        tasks.keep_first(9);
        assert_eq!(tasks.len(), 5);
        tasks.keep_first(2);
        assert_eq!(tasks.names().collect::<Vec<_>>(), ["7", "alice"]);
        assert_eq!(
            names.map(|name| tasks.find(name).map(|task| task.0)),
            [Some(0), Some(1), None, None, None]
        );
        assert_eq!(tasks.meet("3"), Ok(TaskId(2)));
        assert_eq!(tasks.meet("12"), Ok(TaskId(3)));
        assert_eq!((tasks.name(TaskId(2)), tasks.find_number(12)), ("3", Some(TaskId(3))));
        tasks.keep_first(0);
        assert!(tasks.is_empty() && tasks.find("7").is_none());
    }

    #[test]
    fn numbers_and_names_are_one_space_without_collisions() {
        let mut tasks = Tasks::open();
        assert_eq!(tasks.meet_number(7), Ok(TaskId(0)));
        assert_eq!(tasks.meet("7"), Ok(TaskId(0)));
        assert_eq!(tasks.meet("07"), Ok(TaskId(1)));
        assert_eq!(tasks.meet("alice"), Ok(TaskId(2)));
        assert_eq!(tasks.meet_number(u32::MAX), Ok(TaskId(3)));
        assert_eq!(tasks.meet("4294967295"), Ok(TaskId(3)));
        assert_eq!(tasks.meet("99999999999999999999"), Ok(TaskId(4)));
        assert_eq!(
            tasks.names().collect::<Vec<_>>(),
            ["7", "07", "alice", "4294967295", "99999999999999999999"]
        );
        assert_eq!((tasks.find("8"), tasks.find("bob")), (None, None));
    }

    #[test]
    fn declared_tasks_are_all_there_are() {
        let mut tasks = Tasks::counted(2);
        assert_eq!((tasks.count(), tasks.len()), (2, 0));
        assert_eq!((tasks.meet("b"), tasks.meet("a")), (Ok(TaskId(0)), Ok(TaskId(1))));
        assert_eq!(tasks.meet("c"), Err(TaskLimit { declared: 2 }));
        assert_eq!(Tasks::named(["x", "y", "x"]).unwrap_err(), "x");
        assert_eq!(Tasks::numbered(3).names().collect::<Vec<_>>(), ["1", "2", "3"]);
    }

    #[test]
    fn a_task_that_is_removed_leaves_its_number_to_the_next() {
        let mut tasks = Tasks::open();
        for name in ["b", "10", "9", "a"] {
            tasks.meet(name).unwrap();
        }
        tasks.remove(TaskId(1));
        assert_eq!(tasks.names().collect::<Vec<_>>(), ["b", "9", "a"]);
        assert_eq!(
            (tasks.find("10"), tasks.find("9"), tasks.find("a")),
            (None, Some(TaskId(1)), Some(TaskId(2)))
        );
        assert_eq!(tasks.meet("10"), Ok(TaskId(3)));
    }

    #[test]
    fn listing_sorts_numbers_by_size_then_names() {
        let mut tasks = Tasks::open();
        for name in ["b", "10", "9", "a"] {
            tasks.meet(name).unwrap();
        }
        let names: Vec<_> = tasks.sorted().into_iter().map(|task| tasks.name(task).to_owned()).collect();
        assert_eq!(names, ["9", "10", "a", "b"]);
    }

    #[test]
    fn listing_sorts_numbers_within_names_by_size() {
        let listed = [
            "9",
            "10",
            "007",
            "99999999999999999998",
            "99999999999999999999",
            "t",
            "t01",
            "t1",
            "t2",
            "t2-a9",
            "t2-a10",
            "t10",
            "t10b",
            "t99999999999999999999",
            "ü1",
            "ü10",
        ];
        let mut tasks = Tasks::open();
        for name in listed.iter().rev() {
            tasks.meet(name).unwrap();
        }
        let names: Vec<_> = tasks.sorted().into_iter().map(|task| tasks.name(task).to_owned()).collect();
        assert_eq!(names, listed);
    }

    #[test]
    fn natural_order_is_an_order() {
        let names = ["a", "a0", "a00", "a1", "a01", "a1a", "a01a", "a10", "a-1", "1a", "", "a1é", "é", "a 2"];
        for one in names {
            for two in names {
                assert_eq!(natural_order(one, two), natural_order(two, one).reverse(), "{one:?} {two:?}");
                assert_eq!(natural_order(one, two) == Ordering::Equal, one == two, "{one:?} {two:?}");
                for three in names {
                    let is_up = natural_order(one, two).is_lt() && natural_order(two, three).is_lt();
                    assert!(!is_up || natural_order(one, three).is_lt(), "{one:?} {two:?} {three:?}");
                }
            }
        }
    }
}
