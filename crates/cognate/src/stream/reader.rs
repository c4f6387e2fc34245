//! A stream over text inputs: opens them in turn, parses line by line, skips or reports what is bad.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::error::Excerpt;
use super::lines::{LONGEST_LINE, Lines, Next};
use super::svm::{LineParser, Parsed};
use super::{Batch, Input, Place, Preprocess, Problem, Stream, StreamError};
use crate::tasks::Tasks;

/// Whether lines must have labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Labels {
    /// A line without a label is bad.
    #[default]
    Required,
    /// `?`, or no label at all, is fine.
    Optional,
    /// The same, and such lines are kept as they were read, for whoever asks for the label.
    Kept,
    /// `?`, or no label at all, is fine, and a label may be any number, which is left as it is.
    Real,
}

/// How text is read.
#[derive(Debug, Clone, Default)]
pub struct ReaderOptions {
    /// What is done to every example.
    pub preprocess: Preprocess,
    /// Whether lines must have labels.
    pub labels: Labels,
    /// Number of features, where it was declared.
    pub features: Option<u32>,
    /// How many bad lines may be skipped in a pass.
    pub skip_bad: u64,
    /// Ends the stream when it is set and a pipe has nothing to give; a line under way is left out.
    pub stop: Arc<AtomicBool>,
}

/// Examples from text.
pub struct Reader {
    inputs: Vec<Input>,
    options: ReaderOptions,
    tasks: Tasks,
    parser: LineParser,
    /// The next input to open.
    next_input: usize,
    lines: Option<Lines>,
    /// Whether the input is a pipe or a terminal, whose next line may be long in coming.
    live: bool,
    line_number: u64,
    /// Bad lines skipped in this pass.
    skipped: u64,
    /// Whether the lines have been read before; what was bad then is not news.
    again: bool,
    position: Arc<AtomicU64>,
    /// Met after good examples, which go first.
    pending: Option<StreamError>,
}

/// A batch ends here: small enough to stay in cache, large enough to make handing over cheap.
const BATCH_EXAMPLES: usize = 1024;
const BATCH_FEATURES: usize = 1 << 17;

impl Reader {
    /// A stream over the inputs in turn; `tasks` are those known so far.
    pub fn new(inputs: Vec<Input>, tasks: Tasks, options: ReaderOptions) -> Self {
        Self {
            parser: LineParser::new(options.labels, options.features),
            inputs,
            options,
            tasks,
            next_input: 0,
            lines: None,
            live: false,
            line_number: 0,
            skipped: 0,
            again: false,
            position: Arc::default(),
            pending: None,
        }
    }

    /// Opens the next input; false if there is none.
    fn open_next(&mut self) -> Result<bool, StreamError> {
        let Some(input) = self.inputs.get(self.next_input) else {
            return Ok(false);
        };
        self.lines = Some(Lines::new(input.open(&self.position, &self.options.stop)?));
        self.live = input.size().is_none();
        self.next_input += 1;
        self.line_number = 0;
        Ok(true)
    }

    fn input_name(&self) -> String {
        self.next_input.checked_sub(1).map_or_else(String::new, |at| self.inputs[at].name())
    }

    /// Parses into the batch until it is full or the input ends.
    fn parse_into(&mut self, batch: &mut Batch) -> Result<(), StreamError> {
        let Some(lines) = &mut self.lines else {
            return Ok(());
        };
        while batch.len() < BATCH_EXAMPLES && batch.indices.len() < BATCH_FEATURES {
            // Whoever sends a line through a pipe may wait for its answer before sending the next.
            if self.live && !batch.is_empty() && !lines.has_line() {
                return Ok(());
            }
            let next = match lines.next() {
                Ok(next) => next,
                Err(_) if self.options.stop.load(Ordering::Relaxed) => {
                    self.lines = None;
                    self.next_input = self.inputs.len();
                    return Ok(());
                }
                Err(source) => {
                    return Err(StreamError::Io { file: self.input_name(), source });
                }
            };
            self.line_number += 1;
            let line = match next {
                Next::Line(line) => line,
                Next::End => {
                    self.lines = None;
                    return Ok(());
                }
                Next::TooLong => {
                    let limit = LONGEST_LINE >> 20;
                    return Err(self.bad(1, Problem::LongLine { limit }, Excerpt::default()));
                }
            };
            let known = self.tasks.len();
            match self.parser.parse(lines.buffer(), line, batch, &mut self.tasks) {
                Ok(Parsed::Nothing) => {}
                Ok(Parsed::Example { task, label }) => {
                    batch.preprocess(&self.options.preprocess);
                    batch.close(task, label, self.line_number);
                    if label.is_nan() && self.options.labels == Labels::Kept {
                        batch.keep_text(lines.buffer()[line.start..line.end].trim_ascii_start());
                    }
                    if task.index() >= known {
                        batch.new_tasks.push(self.tasks.name(task).to_owned());
                    }
                }
                Err((at, problem)) => {
                    batch.abandon();
                    if self.skipped >= self.options.skip_bad {
                        let column = at - line.start + 1;
                        let excerpt = Excerpt::around(&lines.buffer()[line.start..line.end], column);
                        return Err(self.bad(column, problem, excerpt));
                    }
                    self.skipped += 1;
                    batch.skipped += u64::from(!self.again);
                }
            }
        }
        Ok(())
    }

    #[cold]
    fn bad(&self, column: usize, problem: Problem, excerpt: Excerpt) -> StreamError {
        let place = Place { file: self.input_name(), line: self.line_number, column };
        StreamError::Bad { place, problem, excerpt, skipped: self.skipped }
    }
}

impl Stream for Reader {
    fn fill(&mut self, batch: &mut Batch) -> Result<(), StreamError> {
        batch.clear();
        if let Some(error) = self.pending.take() {
            return Err(error);
        }
        batch.reserve(BATCH_EXAMPLES);
        // A batch is of one input, so that its examples' lines can be named.
        while batch.is_empty() {
            if self.lines.is_none() && !self.open_next()? {
                break;
            }
            batch.file = self.next_input as u32 - 1;
            if let Err(error) = self.parse_into(batch) {
                self.lines = None;
                self.next_input = self.inputs.len();
                if batch.is_empty() {
                    return Err(error);
                }
                self.pending = Some(error);
            }
        }
        batch.position = self.position.load(Ordering::Relaxed);
        Ok(())
    }

    fn rewind(&mut self) -> Result<(), StreamError> {
        if self.next_input > 0 && self.inputs.contains(&Input::Stdin) {
            return Err(StreamError::NotRewindable);
        }
        (self.skipped, self.again) = (0, true);
        self.next_input = 0;
        self.lines = None;
        self.pending = None;
        self.position.store(0, Ordering::Relaxed);
        self.parser.restart();
        Ok(())
    }
}
