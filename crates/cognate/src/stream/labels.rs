//! Labels and classes as every format writes them.

use super::batch::NO_LABEL;
use super::error::{Problem, shown};
use super::label_names::{LabelNames, truth};
use super::number::parse_f64;
use super::reader::Labels;
use crate::algorithms::{LearnerConfig, Unfit};
use crate::example::{TaskId, is_valid};
use crate::fit::Kind;
use crate::tasks::Tasks;

/// The labels that a stream may have, and which it has used.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "what has come, each of them on its own")]
pub(crate) struct LabelRule {
    labels: Labels,
    /// Whether a label may be any number, which is kept as it is.
    real: bool,
    seen_minus_one: bool,
    seen_zero: bool,
    /// Whether labels have come as true or false, and as numbers.
    seen_truth: bool,
    seen_number: bool,
    /// What the label +1 is called, if labels have names; the other name is the first other that comes.
    positive: Option<String>,
    names: LabelNames,
    /// Whether names have come since they were last asked for.
    news: bool,
    /// Who learns real labels, or needs times: not every example is for every learner.
    learner: Option<Box<LearnerConfig>>,
}

impl LabelRule {
    pub(crate) fn new(labels: Labels, kind: Kind) -> Self {
        let real = labels == Labels::Real || kind == Kind::Regression;
        let names = LabelNames::default();
        let (positive, learner) = (None, None);
        Self {
            labels,
            real,
            seen_minus_one: false,
            seen_zero: false,
            seen_truth: false,
            seen_number: false,
            positive,
            names,
            news: false,
            learner,
        }
    }

    /// The same where the label +1 has a name; `known` are the names used so far.
    #[must_use]
    pub(crate) fn named(self, positive: Option<&str>, known: &LabelNames) -> Self {
        Self { positive: positive.map(str::to_owned), names: known.clone(), ..self }
    }

    /// The same where lines that the learner cannot learn are bad.
    #[must_use]
    pub(crate) fn learnt_by(self, learner: Option<&LearnerConfig>) -> Self {
        let picky = |learner: &&LearnerConfig| learner.kind() == Kind::Regression || learner.needs_times();
        Self { learner: learner.filter(picky).cloned().map(Box::new), ..self }
    }

    /// Checks that an example with a label has a time, where its learner needs one.
    pub(crate) fn check_time(&self, has_time: bool, has_label: bool) -> Result<(), Problem> {
        let needed = has_label && self.learner.as_ref().is_some_and(|learner| learner.needs_times());
        if needed && !has_time { Err(Problem::Unfit(Unfit::NoTime)) } else { Ok(()) }
    }

    /// Forgets which labels were seen: another stream begins.
    pub(crate) fn restart(&mut self) {
        (self.seen_minus_one, self.seen_zero) = (false, false);
        (self.seen_truth, self.seen_number) = (false, false);
    }

    /// What the stream calls its labels, if there is news of it.
    pub(crate) fn take_news(&mut self) -> Option<&LabelNames> {
        std::mem::take(&mut self.news).then_some(&self.names)
    }

    /// Whether an example may be without a label.
    #[inline]
    pub(crate) fn may_miss(&self) -> bool {
        self.labels != Labels::Required
    }

    /// Whether a number can be a label.
    fn is_label(&self, number: f64) -> bool {
        if self.real { is_valid(number) } else { number.abs() == 1.0 || number == 0.0 }
    }

    /// The label that a token writes: -1, 0, +1, any number where labels are real, or NaN for none.
    #[inline]
    pub(crate) fn read(&self, token: &[u8]) -> Result<f64, Problem> {
        match token {
            _ if self.positive.is_some() => self.read_named(token),
            b"+1" | b"1" => Ok(1.0),
            b"-1" => Ok(-1.0),
            b"0" => Ok(0.0),
            b"?" if self.may_miss() => Ok(NO_LABEL),
            token => {
                let number = parse_f64(token).or_else(|| truth(token).map(|(truth, _)| f64::from(truth)));
                let label = number.filter(|number| self.is_label(*number));
                label.ok_or_else(|| self.no_label(shown(token)))
            }
        }
    }

    /// The label that a number is, of a row that is not read from text.
    pub(crate) fn take(&mut self, number: f64) -> Result<f64, Problem> {
        if !self.is_label(number) {
            return Err(self.no_label(number.to_string()));
        }
        self.accept(number, b"")
    }

    fn no_label(&self, found: String) -> Problem {
        if self.real { Problem::RealLabel { found } } else { Problem::Label { found } }
    }

    /// The label that a name is.
    #[cold]
    fn read_named(&self, token: &[u8]) -> Result<f64, Problem> {
        let positive = self.positive.as_deref().unwrap_or_default();
        let Some(name) = std::str::from_utf8(token).ok().filter(|name| is_task_name(name)) else {
            return Err(Problem::LabelName { found: shown(token) });
        };
        match &self.names.negative {
            _ if name == "?" && self.may_miss() => Ok(NO_LABEL),
            _ if is_same(name, positive) => Ok(1.0),
            Some(negative) if !is_same(name, negative) && self.names.positive.is_none() => {
                let [found, negative, positive] =
                    [name, negative, positive].map(|name| shown(name.as_bytes()));
                Err(Problem::NoPositive { found, negative, positive })
            }
            Some(negative) if !is_same(name, negative) => Err(Problem::ThirdLabel {
                found: shown(token),
                expected: format!(
                    "{} (+1) or {} (-1)",
                    shown(positive.as_bytes()),
                    shown(negative.as_bytes())
                ),
            }),
            _ => Ok(-1.0),
        }
    }

    /// Turns 0 into -1, and refuses 0 and -1, or numbers and true or false, in one stream, unless labels are real. `token`
    /// is what was read.
    #[inline]
    pub(crate) fn accept(&mut self, label: f64, token: &[u8]) -> Result<f64, Problem> {
        if self.positive.is_some() || token.len() > 2 {
            self.check_words(label, token)?;
            self.remember(label, token);
        } else if !(token.is_empty() || label.is_nan()) {
            if self.seen_truth && !self.real {
                return Err(self.third_word(token));
            }
            self.seen_number = true;
        }
        if self.real {
            if let Some(why) = self.learner.as_ref().and_then(|learner| learner.unfit(label)) {
                return Err(Problem::Unfit(why));
            }
            if label == 0.0 && !self.seen_zero {
                self.see_zero();
            }
            return Ok(label);
        }
        if label == 0.0 {
            if self.seen_minus_one {
                return Err(Problem::MixedLabels { found: "0", before: "-1" });
            }
            if !self.seen_zero {
                self.see_zero();
            }
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

    #[cold]
    fn see_zero(&mut self) {
        self.seen_zero = true;
        if self.names.is_empty() {
            (self.names.negative, self.news) = (Some("0".to_owned()), true);
        }
    }

    /// Checks that labels keep to true and false, or to numbers, where none has a name.
    #[cold]
    fn check_words(&mut self, label: f64, token: &[u8]) -> Result<(), Problem> {
        if self.positive.is_some() || self.real || label.is_nan() {
            return Ok(());
        }
        let is_truth = truth(token).is_some();
        if if is_truth { self.seen_number } else { self.seen_truth } {
            return Err(self.third_word(token));
        }
        self.seen_truth |= is_truth;
        self.seen_number |= !is_truth;
        Ok(())
    }

    #[cold]
    fn third_word(&self, token: &[u8]) -> Problem {
        let expected = match (self.seen_truth, self.seen_zero, self.seen_minus_one) {
            (true, ..) => "true or false",
            (_, true, _) => "0 or 1",
            (_, _, true) => "-1 or +1",
            _ => "numbers",
        };
        Problem::ThirdLabel { found: shown(token), expected: format!("{expected}, as in the lines before") }
    }

    /// Remembers what a label is called.
    #[cold]
    fn remember(&mut self, label: f64, token: &[u8]) {
        if label.is_nan() {
            return;
        }
        let word = match &self.positive {
            None => {
                if let Some((_, [no, yes])) = truth(token).filter(|_| self.names.is_empty()) {
                    (self.names.negative, self.names.positive) = (Some(no.to_owned()), Some(yes.to_owned()));
                    self.news = true;
                }
                return;
            }
            Some(positive) if label > 0.0 => positive.clone(),
            Some(_) => String::from_utf8_lossy(token).into_owned(),
        };
        let known = if label > 0.0 { &mut self.names.positive } else { &mut self.names.negative };
        if known.is_none() {
            (*known, self.news) = (Some(word), true);
        }
    }
}

/// Whether two names are one: whole numbers may be written in several ways.
fn is_same(one: &str, other: &str) -> bool {
    one == other || class_name(one) == class_name(other)
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
