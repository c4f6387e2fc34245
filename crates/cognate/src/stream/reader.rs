//! A stream over text inputs: opens them in turn, parses line by line, skips or reports what is bad.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::bad_lines::BadLines;
use super::batch::{Extras, NO_LABEL};
use super::csv_rows::CsvParser;
use super::error::Excerpt;
use super::jsonl::JsonlParser;
use super::labels::LabelRule;
use super::lines::Line;
use super::lines::{LONGEST_LINE, LONGEST_NOTHING, Lines, Next};
use super::other_format::other_format;
use super::svm::{Bad, Parsed, SvmClassParser, SvmParser};
use super::vw::VwParser;
use super::{
    Batch, ColumnKinds, ColumnsApart, Format, Input, LabelNames, Memory, Place, Preprocess, Problem,
    ReadRemarks, Stream, StreamError,
};
use crate::algorithms::LearnerConfig;
use crate::example::TaskId;
use crate::feature_names::{FeatureNames, Naming};
use crate::fit::Kind;
use crate::hint::Hint;
use crate::tasks::Tasks;

/// Whether lines must have labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Labels {
    /// A line without a label is bad.
    #[default]
    Required,
    /// `?`, or no label at all, is allowed.
    Optional,
    /// The same, and such lines are kept as they were read, so that their labels can be asked for.
    Kept,
    /// `?`, or no label at all, is allowed, and a label may be any number, which is kept as it is.
    Real,
}

/// How a caller wants text to be read; the rest follows from the config or the model that the reader is for.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Whether lines must have labels.
    pub labels: Labels,
    /// Number of bad lines that may be skipped per pass.
    pub skip_bad: u64,
    /// Flag that ends the stream when set while a pipe is silent; an incomplete line is left out.
    pub stop: Arc<AtomicBool>,
    /// Who is told the bad lines.
    pub bad_lines: BadLines,
}

impl ReadOptions {
    /// The same options with other labels.
    #[must_use]
    pub fn labels(self, labels: Labels) -> Self {
        Self { labels, ..self }
    }

    /// The same options with a number of bad lines that may be skipped per pass.
    #[must_use]
    pub fn skip_bad(self, skip_bad: u64) -> Self {
        Self { skip_bad, ..self }
    }

    /// The same options with a flag that ends the stream.
    #[must_use]
    pub fn stop(self, stop: Arc<AtomicBool>) -> Self {
        Self { stop, ..self }
    }

    /// The same options with someone who is told the bad lines.
    #[must_use]
    pub fn bad_lines(self, bad_lines: BadLines) -> Self {
        Self { bad_lines, ..self }
    }
}

/// Everything that a reader knows before its first line.
#[derive(Debug, Clone)]
pub(crate) struct ReaderPlan {
    pub(crate) format: Format,
    /// What labels are.
    pub(crate) kind: Kind,
    /// Who learns the examples; nobody where they are predicted.
    pub(crate) learner: Option<LearnerConfig>,
    /// What the label +1 is called, where labels have names, and what labels have been called so far.
    pub(crate) positive: Option<String>,
    pub(crate) labels: LabelNames,
    /// Whether labels are classes.
    pub(crate) one_vs_all: bool,
    /// Names of features known so far, where they have names.
    pub(crate) names: FeatureNames,
    /// What columns of `csv` are known to hold.
    pub(crate) columns: ColumnKinds,
    /// Whether this is for predictions: columns that only learning needs may be missing, and skipped lines are kept.
    pub(crate) predicts: bool,
    /// What is done to every example.
    pub(crate) preprocess: Preprocess,
    /// Number of features, where it was declared.
    pub(crate) features: Option<u32>,
    pub(crate) options: ReadOptions,
    /// Whether examples come one by one in the order of the file, so that one of an unknown task can be answered.
    pub(crate) in_order: bool,
}

impl ReaderPlan {
    /// What was parsed, if its task is known, or need not be.
    fn check_task(
        &self,
        parsed: Result<Parsed, (usize, Problem)>,
        at: usize,
        batch: &mut Batch,
        tasks: &mut Tasks,
    ) -> Result<Parsed, (usize, Problem)> {
        let Ok(Parsed::Example { task: TaskId::UNKNOWN, label }) = parsed else { return parsed };
        if !self.predicts && !label.is_nan() {
            // With a label it is a name like any other.
            let named = tasks.meet_as_named("?");
            return named
                .map(|task| Parsed::Example { task, label })
                .map_err(|limit| (at, super::unknown_task(tasks, "?", limit.declared)));
        }
        batch.has_unknown = true;
        self.unknown_task_problem().map_or(parsed, |problem| Err((at, problem)))
    }

    /// Why an example of an unknown task cannot be taken, if it cannot.
    fn unknown_task_problem(&self) -> Option<Problem> {
        match () {
            () if self.kind == Kind::Regression => Some(Problem::UnknownTaskOfNumbers),
            () if !self.in_order => Some(Problem::UnknownTaskInOrder),
            () => None,
        }
    }
}

impl ReaderPlan {
    /// Counts a bad line that is skipped; one that was met in an earlier pass is no news.
    fn count_skipped(&self, batch: &mut Batch, again: bool, line: u64) {
        batch.skipped += u64::from(!again);
        if self.predicts {
            batch.skip_line(line);
        }
    }
}

/// A format: how a line becomes an example.
pub(crate) trait LineParser {
    /// Parses a line; its features go to the end of the batch, its task into `tasks`, new names of features into `names`
    /// and the batch. A bad line leaves none of them behind but features.
    fn parse(
        &mut self,
        buffer: &[u8],
        line: Line,
        batch: &mut Batch,
        tasks: &mut Tasks,
        names: &mut FeatureNames,
    ) -> Result<Parsed, Bad>;

    /// What labels may be.
    fn rule(&mut self) -> &mut LabelRule;

    /// Another input begins.
    fn begin_input(&mut self) {}

    /// The stream begins anew: what it has used is forgotten.
    fn restart(&mut self);

    /// Whether a line whose quote is open goes on behind its end.
    fn joins_lines(&self) -> bool {
        false
    }

    /// Whether lines behind a bad one can be read.
    fn can_go_on(&self) -> bool {
        true
    }
}

/// The parser of a stream; which one it is is decided once per batch.
enum Parser {
    Svm(SvmParser),
    SvmClasses(SvmClassParser),
    Vw(VwParser),
    Csv(CsvParser),
    Jsonl(JsonlParser),
}

impl Parser {
    fn new(plan: &ReaderPlan) -> Self {
        let ReaderPlan { format, one_vs_all, features, predicts, .. } = plan;
        let rule = LabelRule::new(plan.options.labels, plan.kind)
            .named(plan.positive.as_deref(), &plan.labels)
            .learnt_by(plan.learner.as_ref());
        match format {
            Format::Svm(_) if *one_vs_all => Self::SvmClasses(SvmClassParser::new(rule, *features)),
            Format::Svm(_) => Self::Svm(SvmParser::new(rule, *features)),
            Format::Vw(vw) => Self::Vw(VwParser::new(rule, vw, *one_vs_all)),
            Format::Csv(csv) => {
                let known = plan.columns.clone();
                Self::Csv(CsvParser::new(rule, csv, known, *one_vs_all, *predicts))
            }
            Format::Jsonl(jsonl) => Self::Jsonl(JsonlParser::new(rule, jsonl, *one_vs_all)),
        }
    }

    fn as_dyn(&mut self) -> &mut dyn LineParser {
        match self {
            Self::Svm(parser) => parser,
            Self::SvmClasses(parser) => parser,
            Self::Vw(parser) => parser,
            Self::Csv(parser) => parser,
            Self::Jsonl(parser) => parser,
        }
    }
}

/// Examples from text.
pub struct Reader {
    parser: Parser,
    source: Source,
}

/// Where the lines come from, and how far they have been read.
struct Source {
    inputs: Vec<Input>,
    plan: ReaderPlan,
    tasks: Tasks,
    /// Tasks known before the first line.
    known: usize,
    /// A line that is an example of every class, as far as it has not been given out.
    classes: Classes,
    /// The next input to open.
    next_input: usize,
    lines: Option<Lines>,
    /// Whether the input is a pipe or a terminal, whose next line may be long in coming.
    live: bool,
    /// Whether a line that is skipped is waited for, too.
    promptly: bool,
    line_number: u64,
    /// Lines that the last one was joined with.
    joined: u64,
    /// Lines and bytes since the last one that was an example.
    nothing: Nothing,
    /// Bad lines skipped in this pass.
    skipped: u64,
    /// Whether the lines have been read before; what was bad then is not news.
    again: bool,
    position: Arc<AtomicU64>,
    /// Met after good examples, which go first.
    pending: Option<StreamError>,
}

/// One example of every class, given out a batch at a time: a line times the number of classes may be large.
#[derive(Default)]
struct Classes {
    indices: Vec<u32>,
    values: Vec<f64>,
    extras: Extras,
    own: Option<TaskId>,
    line: u64,
    /// The classes that are still to come.
    left: std::ops::Range<u32>,
}

impl Classes {
    /// Takes the example under way, which is one of so many classes.
    fn take(&mut self, batch: &mut Batch, own: Option<TaskId>, line: u64, classes: usize) {
        self.extras = batch.take_open(&mut self.indices, &mut self.values);
        (self.own, self.line, self.left) = (own, line, 0..classes as u32);
    }

    /// Adds examples to a batch until it is full.
    fn give(&mut self, batch: &mut Batch) {
        while has_room(batch) {
            let Some(class) = self.left.next().map(TaskId) else { return };
            batch.indices.extend_from_slice(&self.indices);
            batch.values.extend_from_slice(&self.values);
            batch.set_extras(&self.extras);
            let label = match self.own {
                None => NO_LABEL,
                Some(own) if own == class => 1.0,
                Some(_) => -1.0,
            };
            batch.close(class, label, self.line);
        }
    }
}

/// Lines in a row that gave no example: no batch gets full of them, so nobody else looks whether to stop.
#[derive(Default)]
struct Nothing {
    lines: u32,
    /// Those of blank lines and comments.
    bytes: usize,
}

/// Lines without an example after which the stop flag is looked at.
const LINES_PER_LOOK: u32 = 1 << 14;

impl Nothing {
    /// Counts a blank line or a comment of so many bytes, or a bad line, which has none; whether to stop.
    fn count(&mut self, bytes: usize, stop: &AtomicBool) -> Result<bool, Problem> {
        self.lines = self.lines.wrapping_add(1);
        self.bytes += bytes;
        if self.bytes > LONGEST_NOTHING {
            return Err(Problem::NoExample { limit: LONGEST_NOTHING >> 20 });
        }
        Ok(self.lines.is_multiple_of(LINES_PER_LOOK) && stop.load(Ordering::Relaxed))
    }
}

/// A batch ends here: small enough to stay in cache, large enough to make handing over cheap.
const BATCH_EXAMPLES: usize = 1024;
const BATCH_FEATURES: usize = 1 << 17;

fn has_room(batch: &Batch) -> bool {
    batch.len() < BATCH_EXAMPLES && batch.indices.len() < BATCH_FEATURES
}

/// Whether a batch holds something that has an answer.
fn is_waited_for(batch: &Batch, promptly: bool) -> bool {
    !batch.is_empty() || promptly && !batch.skipped_lines().is_empty()
}

impl Reader {
    /// A stream over the inputs in turn; `tasks` are those known so far.
    pub(crate) fn new(inputs: Vec<Input>, mut tasks: Tasks, plan: ReaderPlan) -> Self {
        if !plan.one_vs_all {
            tasks.allow_unknown();
        }
        let parser = Parser::new(&plan);
        let source = Source {
            inputs,
            known: tasks.len(),
            tasks,
            plan,
            classes: Classes::default(),
            next_input: 0,
            lines: None,
            live: false,
            promptly: false,
            line_number: 0,
            joined: 0,
            nothing: Nothing::default(),
            skipped: 0,
            again: false,
            position: Arc::default(),
            pending: None,
        };
        Self { parser, source }
    }

    /// How the columns of the `csv` read so far differ from those that the model knew before.
    pub fn columns_apart(&self) -> ColumnsApart {
        match &self.parser {
            Parser::Csv(parser) => parser.apart().clone(),
            _ => ColumnsApart::default(),
        }
    }

    /// Reads everything into memory, to be served in another order or more than once.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn into_memory(mut self) -> Result<Memory, StreamError> {
        self.source.plan.in_order = false;
        let mut known = self.source.tasks.clone();
        known.keep_first(self.source.known);
        Memory::load_with(&mut self, &known)
    }

    /// [`Stream::fill_promptly`], or [`Stream::fill`].
    fn fill_with(&mut self, batch: &mut Batch, promptly: bool) -> Result<bool, StreamError> {
        batch.clear();
        if let Some(error) = self.source.pending.take() {
            return Err(error);
        }
        batch.reserve(BATCH_EXAMPLES);
        self.source.promptly = promptly;
        let mut more = false;
        // A batch is of one input, so that its examples' lines can be named.
        while !more {
            let source = &mut self.source;
            if source.lines.is_none() && source.classes.left.is_empty() {
                if !source.open_next()? {
                    break;
                }
                self.parser.as_dyn().begin_input();
            }
            batch.file = self.source.next_input as u32 - 1;
            if let Err(error) = self.parse_into(batch) {
                self.source.end();
                if batch.is_empty() {
                    return Err(error);
                }
                self.source.pending = Some(error);
            }
            // Lines that are skipped are told before another input is opened, which may be a silent one.
            more = is_waited_for(batch, promptly);
        }
        if let Some(labels) = self.parser.as_dyn().rule().take_news() {
            batch.new_labels.clone_from(labels);
        }
        batch.position = self.source.position.load(Ordering::Relaxed);
        Ok(more)
    }

    fn parse_into(&mut self, batch: &mut Batch) -> Result<(), StreamError> {
        let source = &mut self.source;
        match &mut self.parser {
            Parser::Svm(parser) => source.parse_into(parser, batch),
            Parser::SvmClasses(parser) => source.parse_into(parser, batch),
            Parser::Vw(parser) => source.parse_into(parser, batch),
            Parser::Csv(parser) => source.parse_into(parser, batch),
            Parser::Jsonl(parser) => source.parse_into(parser, batch),
        }
    }
}

impl Source {
    /// Opens the next input; false if there is none.
    fn open_next(&mut self) -> Result<bool, StreamError> {
        let Some(input) = self.inputs.get(self.next_input) else {
            return Ok(false);
        };
        let opened = match input.open(&self.position, &self.plan.options.stop) {
            // Asked to stop before the first byte has come.
            Err(StreamError::Io { source, .. }) if source.kind() == io::ErrorKind::TimedOut => {
                self.end();
                return Ok(false);
            }
            other => other?,
        };
        self.lines = Some(Lines::new(opened));
        self.live = input.size().is_none();
        self.next_input += 1;
        (self.line_number, self.joined, self.nothing) = (0, 0, Nothing::default());
        Ok(true)
    }

    fn input_name(&self) -> String {
        self.next_input.checked_sub(1).map_or_else(String::new, |at| self.inputs[at].name())
    }

    /// Parses into the batch until it is full or the input ends.
    fn parse_into(&mut self, parser: &mut impl LineParser, batch: &mut Batch) -> Result<(), StreamError> {
        self.classes.give(batch);
        let Some(lines) = &mut self.lines else {
            return Ok(());
        };
        while has_room(batch) {
            // The sender of a line through a pipe may wait for its answer before sending the next.
            if self.live && is_waited_for(batch, self.promptly) && !lines.has_line() {
                return Ok(());
            }
            let next = match lines.next() {
                Ok(next) => next,
                Err(source) => return self.end_with(source),
            };
            self.line_number += 1 + std::mem::take(&mut self.joined);
            let mut line = match next {
                Next::Line(line) if self.line_number == 1 => lines.without_mark(line),
                Next::Line(line) => line,
                Next::End => {
                    self.lines = None;
                    return Ok(());
                }
                Next::TooLong => {
                    let problem = Problem::LongLine { limit: LONGEST_LINE >> 20 };
                    if !self.again {
                        let input = &self.inputs[self.next_input - 1];
                        self.plan.options.bad_lines.tell(input, self.line_number, 1, &problem, lines.begun());
                    }
                    if self.skipped >= self.plan.options.skip_bad || !parser.can_go_on() {
                        return Err(self.bad(1, problem, Excerpt::default()));
                    }
                    self.skipped += 1;
                    self.plan.count_skipped(batch, self.again, self.line_number);
                    match lines.drop_line(&self.plan.options.stop) {
                        Ok(()) => continue,
                        Err(source) => return self.end_with(source),
                    }
                }
            };
            let known = self.tasks.len();
            let mut parsed = parser.parse(lines.buffer(), line, batch, &mut self.tasks, &mut self.plan.names);
            if parser.joins_lines() && matches!(parsed, Err((_, Problem::OpenQuote))) {
                // A cell in quotes goes on behind the end of the line.
                (line, self.joined) = match lines.join(line) {
                    Ok(joined) => joined,
                    Err(source) => return self.end_with(source),
                };
                parsed = parser.parse(lines.buffer(), line, batch, &mut self.tasks, &mut self.plan.names);
            }
            match self.plan.check_task(parsed, line.start, batch, &mut self.tasks) {
                Ok(Parsed::Nothing) => {
                    match self.nothing.count(line.end - line.start + 1, &self.plan.options.stop) {
                        Ok(false) => {}
                        Ok(true) => {
                            self.end();
                            break;
                        }
                        Err(problem) => return Err(self.bad(1, problem, Excerpt::default())),
                    }
                }
                Ok(Parsed::Example { task, label }) => {
                    self.nothing = Nothing::default();
                    batch.preprocess(&self.plan.preprocess);
                    batch.close(task, label, self.line_number);
                    if label.is_nan() && self.plan.options.labels == Labels::Kept {
                        batch.keep_text(lines.buffer()[line.start..line.end].trim_ascii_start());
                    }
                    if task.index() >= known && task != TaskId::UNKNOWN {
                        batch.push_task(task, self.tasks.name(task));
                    }
                }
                Ok(Parsed::Classes { own }) => {
                    self.nothing = Nothing::default();
                    batch.preprocess(&self.plan.preprocess);
                    self.classes.take(batch, own, self.line_number, self.tasks.len());
                    if let Some(class) = own.filter(|class| class.index() >= known) {
                        batch.push_task(class, self.tasks.name(class));
                    }
                    self.classes.give(batch);
                }
                Err((at, problem)) => {
                    batch.abandon();
                    let (row, at) = (&lines.buffer()[line.start..line.end], at - line.start);
                    let (text, column, below) = physical_line(row, at);
                    if !self.again {
                        let (input, at) = (&self.inputs[self.next_input - 1], self.line_number + below);
                        self.plan.options.bad_lines.tell(input, at, column, &problem, row);
                    }
                    if self.skipped >= self.plan.options.skip_bad || !parser.can_go_on() {
                        self.line_number += below;
                        let excerpt = Excerpt::around(text, column);
                        return Err(self.bad(column, problem, excerpt));
                    }
                    self.skipped += 1;
                    self.plan.count_skipped(batch, self.again, self.line_number);
                    if self.nothing.count(0, &self.plan.options.stop) == Ok(true) {
                        self.end();
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Reading has failed; that is the end of the stream if it was asked to stop.
    #[cold]
    fn end_with(&mut self, source: io::Error) -> Result<(), StreamError> {
        if !self.plan.options.stop.load(Ordering::Relaxed) {
            return Err(StreamError::Io { file: self.input_name(), source });
        }
        self.end();
        Ok(())
    }

    /// Reads no further.
    fn end(&mut self) {
        self.lines = None;
        self.next_input = self.inputs.len();
    }

    #[cold]
    fn bad(&self, column: usize, problem: Problem, excerpt: Excerpt) -> StreamError {
        let place = Place { file: self.input_name(), line: self.line_number, column };
        let hint = match other_format(&self.plan.format, &place, &problem, &excerpt.text) {
            // What labels are was decided when the model was learnt.
            None if self.plan.predicts && problem.is_of_label() => Some(Hint::ModelLabels),
            other => other,
        };
        StreamError::Bad { place, problem, excerpt, skipped: self.skipped, hint }
    }
}

/// The line of a file that a place in joined lines is in, the column there, and how many lines further down it is.
fn physical_line(text: &[u8], at: usize) -> (&[u8], usize, u64) {
    let start = memchr::memrchr(b'\n', &text[..at]).map_or(0, |end| end + 1);
    let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |length| at + length);
    let below = memchr::memchr_iter(b'\n', &text[..at]).count() as u64;
    (&text[start..end], at - start + 1, below)
}

impl Stream for Reader {
    fn fill(&mut self, batch: &mut Batch) -> Result<(), StreamError> {
        self.fill_with(batch, false).map(drop)
    }

    fn fill_promptly(&mut self, batch: &mut Batch) -> Result<bool, StreamError> {
        self.fill_with(batch, true)
    }

    fn naming(&self) -> Naming {
        self.source.plan.names.naming()
    }

    fn input_names(&self) -> Vec<String> {
        self.source.inputs.iter().map(Input::name).collect()
    }

    fn remarks(&self) -> ReadRemarks {
        let names_tasks = match &self.parser {
            Parser::Svm(parser) => parser.names_tasks(),
            Parser::SvmClasses(_) => true,
            Parser::Vw(parser) => parser.names_tasks(),
            Parser::Csv(parser) => parser.names_tasks(),
            Parser::Jsonl(parser) => parser.names_tasks(),
        };
        // Where labels are classes, they name the tasks.
        ReadRemarks { columns: self.columns_apart(), names_tasks: names_tasks || self.source.plan.one_vs_all }
    }

    fn rewind(&mut self) -> Result<(), StreamError> {
        let source = &mut self.source;
        if source.next_input > 0 && source.inputs.contains(&Input::Stdin) {
            return Err(StreamError::NotRewindable);
        }
        (source.skipped, source.again) = (0, true);
        source.next_input = 0;
        source.lines = None;
        source.pending = None;
        source.classes.left = 0..0;
        source.position.store(0, Ordering::Relaxed);
        self.parser.as_dyn().restart();
        Ok(())
    }
}
