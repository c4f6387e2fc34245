//! One line of Vowpal Wabbit's text: `[<label> [<importance> [<base>]]] [<tag>]|<namespace>[:<weight>] <name>[:<value>] … |…`.
//!
//! The task is the tag, or what a namespace holds, in every line; then the tag is the id. An importance is a weight, a base an offset. A feature is called `<namespace>^<name>`, or `<name>` where the
//! namespace has none; only the anonymous namespace may hold names with a `^`, and they then begin with one, so that
//! no two features share a name. A feature that comes twice in a line is added up, as Vowpal Wabbit does it.

use super::VwConfig;
use super::batch::{Batch, NO_LABEL};
use super::error::{Problem, shown};
use super::extras;
use super::feature_hash::feature_hash;
use super::labels::{LabelRule, UNNAMED_TASK, class_name, is_task_name};
use super::lines::Line;
use super::named::{NamedLine, Repeats, Target};
use super::number::parse_f64;
use super::reader::LineParser;
use super::svm::{Bad, Parsed, is_blank, skip_blanks, token_end};
use crate::example::is_valid;
use crate::feature_names::FeatureNames;
use crate::tasks::Tasks;

/// Parses lines.
#[derive(Debug, Clone)]
pub(crate) struct VwParser {
    rule: LabelRule,
    one_vs_all: bool,
    /// The namespace that names the task.
    task_namespace: Option<String>,
    features: NamedLine,
    /// Whether a line has named its task.
    names_tasks: bool,
}

/// What stands before the first bar.
struct Head<'a> {
    label: Option<(&'a [u8], usize)>,
    importance: Option<(&'a [u8], usize)>,
    base: Option<(&'a [u8], usize)>,
    tag: Option<(&'a [u8], usize)>,
}

impl Head<'_> {
    /// Gives the example under way what stands there beside the label.
    fn put_extras(&self, batch: &mut Batch, tag_is_id: bool) -> Result<(), Bad> {
        if let Some((word, at)) = self.importance {
            batch.set_weight(extras::weight(word).map_err(|problem| (at, problem))?);
        }
        if let Some((word, at)) = self.base {
            batch.set_offset(extras::offset(word).map_err(|problem| (at, problem))?);
        }
        // A lone quote is no tag.
        if let Some((tag, at)) = self.tag.filter(|(tag, _)| tag_is_id && !tag.is_empty()) {
            batch.set_id(extras::id(tag).map_err(|problem| (at, problem))?);
        }
        Ok(())
    }
}

impl VwParser {
    pub(crate) fn new(rule: LabelRule, config: &VwConfig, one_vs_all: bool) -> Self {
        Self {
            rule,
            one_vs_all,
            task_namespace: config.task_namespace.clone(),
            features: NamedLine::new(Repeats::Added),
            names_tasks: false,
        }
    }

    /// Whether a line has named its task.
    pub(crate) fn names_tasks(&self) -> bool {
        self.names_tasks
    }

    /// The namespaces from the first bar on; gives what the task's namespace holds, which must be a name.
    fn namespaces<'a>(
        &mut self,
        buffer: &'a [u8],
        mut bar: usize,
        end: usize,
    ) -> Result<Option<(&'a str, usize)>, Bad> {
        let (mut task, mut empty) = (None, None);
        let first = bar;
        while bar < end {
            let (name_at, stop) = (bar + 1, word_end(buffer, bar + 1, end));
            let word = &buffer[name_at..stop];
            let (name, weight) = match word.iter().position(|byte| *byte == b':') {
                None => (word, 1.0),
                Some(colon) => (&word[..colon], value(buffer, name_at + colon + 1, stop)?),
            };
            let namespace = text(name, name_at)?;
            if namespace.contains('^') {
                return Err((name_at, Problem::Namespace { found: shown(name) }));
            }
            let of_task = self.task_namespace.as_deref().is_some_and(|wanted| wanted == namespace);
            empty = empty.or(of_task.then_some(name_at));
            let seed = feature_hash(name, 0);
            let mut at = skip_blanks(buffer, stop, end);
            while at < end && buffer[at] != b'|' {
                let stop = word_end(buffer, at, end);
                if of_task {
                    let name = task_name(&buffer[at..stop], at)?;
                    if task.replace((name, at)).is_some() {
                        return Err((at, Problem::TaskTwice { found: shown(name.as_bytes()) }));
                    }
                } else {
                    self.feature(buffer, at, stop, namespace, seed, weight)?;
                }
                at = skip_blanks(buffer, stop, end);
            }
            bar = at;
        }
        match &self.task_namespace {
            Some(name) if task.is_none() => {
                let what = if empty.is_some() { "nothing in" } else { "no" };
                let found = format!("{what} namespace {}", shown(name.as_bytes()));
                Err((empty.unwrap_or(first), Problem::TaskName { found }))
            }
            _ => Ok(task),
        }
    }

    /// `<name>` or `<name>:<value>`.
    fn feature(
        &mut self,
        buffer: &[u8],
        at: usize,
        stop: usize,
        namespace: &str,
        seed: u32,
        weight: f64,
    ) -> Result<(), Bad> {
        let word = &buffer[at..stop];
        let colon = word.iter().position(|byte| *byte == b':');
        let name = &word[..colon.unwrap_or(word.len())];
        if name.is_empty() {
            return Err((at, Problem::NamedFeature { found: shown(word) }));
        }
        let name = text(name, at)?;
        let number = match colon {
            None => weight,
            Some(colon) => weight * value(buffer, at + colon + 1, stop)?,
        };
        if !is_valid(number) {
            return Err((at, Problem::Value { found: shown(number.to_string().as_bytes()) }));
        }
        let separator = if namespace.is_empty() && !name.contains('^') { "" } else { "^" };
        self.features.push(&[namespace, separator], &[name], seed, at, number);
        Ok(())
    }

    /// The label, or the class, of a line; the byte where it stands, or should.
    fn target<'a>(
        &mut self,
        label: Option<(&[u8], usize)>,
        start: usize,
        task: Option<(&'a str, usize)>,
        class: &'a mut String,
    ) -> Result<Target<'a>, Bad> {
        let missing = |rule: &LabelRule| {
            let problem = Problem::NoLabel { found: "\"|\"".to_owned() };
            if rule.may_miss() { Ok(()) } else { Err((start, problem)) }
        };
        if !self.one_vs_all {
            let label = match label {
                None => missing(&self.rule).map(|()| NO_LABEL)?,
                Some((token, at)) => {
                    let read = self.rule.read(token).and_then(|label| self.rule.accept(label, token));
                    read.map_err(|problem| (at, problem))?
                }
            };
            let (name, at) = task.unwrap_or((UNNAMED_TASK, start));
            return Ok(Target::Task { name, at, label });
        }
        if let Some((name, at)) = task {
            return Err((at, Problem::ClassTask { found: shown(name.as_bytes()) }));
        }
        match label {
            None => missing(&self.rule)?,
            Some((b"?", _)) if self.rule.may_miss() => {}
            Some((token, at)) => {
                *class = class_name(task_name(token, at)?);
                return Ok(Target::Class { name: Some(class), at });
            }
        }
        Ok(Target::Class { name: None, at: start })
    }
}

impl LineParser for VwParser {
    fn parse(
        &mut self,
        buffer: &[u8],
        line: Line,
        batch: &mut Batch,
        tasks: &mut Tasks,
        names: &mut FeatureNames,
    ) -> Result<Parsed, Bad> {
        let Line { start, end } = line;
        let first = skip_blanks(buffer, start, end);
        if first == end {
            return Ok(Parsed::Nothing);
        }
        let Some(bar) = memchr::memchr(b'|', &buffer[first..end]).map(|at| first + at) else {
            let token = &buffer[first..token_end(buffer, first, end)];
            return Err((first, Problem::NoBar { found: shown(token) }));
        };
        let head = head(buffer, first, bar)?;
        self.features.clear();
        let mut task = self.namespaces(buffer, bar, end)?;
        if self.task_namespace.is_none() {
            task = match head.tag {
                Some((tag, at)) => Some((task_name(tag, at)?, at)),
                None => None,
            };
        }
        self.names_tasks |= task.is_some();
        head.put_extras(batch, self.task_namespace.is_some())?;
        let mut class = String::new();
        let target = self.target(head.label, first, task, &mut class)?;
        self.features.finish(&target, batch, tasks, names)
    }

    fn rule(&mut self) -> &mut LabelRule {
        &mut self.rule
    }

    fn restart(&mut self) {
        self.rule.restart();
    }
}

/// Label, importance, base and tag: a word that touches the bar is a tag, and so is one that begins with `'`.
fn head(buffer: &[u8], first: usize, bar: usize) -> Result<Head<'_>, Bad> {
    let mut words = Vec::new();
    let mut at = first;
    while at < bar {
        let stop = token_end(buffer, at, bar);
        words.push((&buffer[at..stop], at));
        if words.len() > 4 {
            return Err((at, Problem::Importance { found: shown(&buffer[at..stop]) }));
        }
        at = skip_blanks(buffer, stop, bar);
    }
    let is_tag = |(word, at): &(&[u8], usize)| word[0] == b'\'' || at + word.len() == bar;
    let tag =
        words.pop_if(|word| is_tag(word)).map(|(word, at)| (word.strip_prefix(b"'").unwrap_or(word), at));
    if let Some((word, at)) = words.get(3) {
        return Err((*at, Problem::Importance { found: shown(word) }));
    }
    let word = |at: usize| words.get(at).copied();
    Ok(Head { label: word(0), importance: word(1), base: word(2), tag })
}

/// End of a word among the features: a blank or a bar.
fn word_end(buffer: &[u8], at: usize, end: usize) -> usize {
    let stop = buffer[at..end].iter().position(|byte| is_blank(*byte) || *byte == b'|');
    stop.map_or(end, |length| at + length)
}

fn value(buffer: &[u8], at: usize, stop: usize) -> Result<f64, Bad> {
    let token = &buffer[at..stop];
    let number = parse_f64(token).filter(|number| is_valid(*number));
    number.ok_or_else(|| (at, Problem::Value { found: shown(token) }))
}

fn text(name: &[u8], at: usize) -> Result<&str, Bad> {
    std::str::from_utf8(name).map_err(|_| (at, Problem::Name { found: shown(name) }))
}

fn task_name(name: &[u8], at: usize) -> Result<&str, Bad> {
    let text = std::str::from_utf8(name).ok().filter(|name| is_task_name(name));
    text.ok_or_else(|| (at, Problem::TaskName { found: shown(name) }))
}
