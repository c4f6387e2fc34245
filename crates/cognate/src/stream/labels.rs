//! Labels and classes as every format writes them.

use super::batch::NO_LABEL;
use super::error::{Problem, shown};
use super::number::parse_f64;
use super::reader::Labels;
use crate::example::{TaskId, is_valid};
use crate::tasks::Tasks;

/// The labels that a stream may have, and which it has used.
#[derive(Debug, Clone)]
pub(crate) struct LabelRule {
    labels: Labels,
    seen_minus_one: bool,
    seen_zero: bool,
}

impl LabelRule {
    pub(crate) fn new(labels: Labels) -> Self {
        Self { labels, seen_minus_one: false, seen_zero: false }
    }

    /// Forgets which labels were seen: another stream begins.
    pub(crate) fn restart(&mut self) {
        (self.seen_minus_one, self.seen_zero) = (false, false);
    }

    /// Whether an example may be without a label.
    #[inline]
    pub(crate) fn may_miss(&self) -> bool {
        self.labels != Labels::Required
    }

    /// Whether a number can be a label.
    pub(crate) fn is_label(&self, number: f64) -> bool {
        match self.labels {
            Labels::Real => is_valid(number),
            Labels::Required | Labels::Optional | Labels::Kept => number.abs() == 1.0 || number == 0.0,
        }
    }

    /// The label that a token writes: -1, 0, +1, any number where labels are real, or NaN for none.
    #[inline]
    pub(crate) fn read(&self, token: &[u8]) -> Result<f64, Problem> {
        match token {
            b"+1" | b"1" => Ok(1.0),
            b"-1" => Ok(-1.0),
            b"0" => Ok(0.0),
            b"?" if self.may_miss() => Ok(NO_LABEL),
            token => match parse_f64(token) {
                Some(number) if self.is_label(number) => Ok(number),
                _ => Err(Problem::Label { found: shown(token) }),
            },
        }
    }

    /// Turns 0 into -1, and refuses 0 and -1 in one stream, unless labels are real.
    #[inline]
    pub(crate) fn accept(&mut self, label: f64) -> Result<f64, Problem> {
        if self.labels == Labels::Real {
            return Ok(label);
        }
        if label == 0.0 {
            if self.seen_minus_one {
                return Err(Problem::MixedLabels { found: "0", before: "-1" });
            }
            self.seen_zero = true;
            return Ok(-1.0);
        }
        if label == -1.0 {
            if self.seen_zero {
                return Err(Problem::MixedLabels { found: "-1", before: "0" });
            }
            self.seen_minus_one = true;
        }
        Ok(label)
    }
}

/// Name of the task of lines that name none.
pub(crate) const UNNAMED_TASK: &str = "default";

/// The name of a class, from the label of `--one-vs-all`: whole numbers in their shortest form, anything else as it is.
pub(crate) fn class_name(token: &str) -> String {
    match parse_f64(token.as_bytes()) {
        Some(number) if number.fract() == 0.0 && number.abs() < 1e15 => format!("{}", number as i64),
        _ => token.to_owned(),
    }
}

/// Whether a task or a class can have this name: control characters upset terminals, and line ends files.
pub(crate) fn is_task_name(name: &str) -> bool {
    !name.is_empty() && !name.bytes().any(|byte| byte.is_ascii_control())
}

/// The task of a name, or why there is none.
pub(crate) fn meet_task(tasks: &mut Tasks, name: &str) -> Result<TaskId, Problem> {
    tasks.meet(name).map_err(|limit| unknown_task(tasks, name, limit.declared))
}

/// Classes that may be met on the way: a line is an example of each, so time follows lines times classes.
pub(crate) const MOST_CLASSES: usize = 1000;

/// The class of a name, or why there is none.
pub(crate) fn meet_class(tasks: &mut Tasks, name: &str) -> Result<TaskId, Problem> {
    if tasks.limit().is_none() && tasks.len() >= MOST_CLASSES && tasks.find(name).is_none() {
        return Err(Problem::ManyClasses { name: shown(name.as_bytes()), limit: MOST_CLASSES });
    }
    meet_task(tasks, name)
}

/// A name that is none of the tasks declared.
pub(crate) fn unknown_task(tasks: &Tasks, name: &str, declared: usize) -> Problem {
    let known = tasks.names().take(8).map(str::to_owned).collect();
    let name = if name == UNNAMED_TASK { name.to_owned() } else { shown(name.as_bytes()) };
    Problem::UnknownTask { name, declared, known }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_by_number_and_by_name() {
        for (token, name) in
            [("3", "3"), ("+3", "3"), ("3.0", "3"), ("-1", "-1"), ("0.5", "0.5"), ("03", "3"), ("cat", "cat")]
        {
            assert_eq!(class_name(token), name);
        }
    }
}
