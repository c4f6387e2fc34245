//! Streams of text that fit a config, or a model.

use super::Model;
use crate::config::RunConfig;
use crate::error::{ConfigError, ConfigProblem};
use crate::feature_names::{FeatureNames, Naming};
use crate::fit::Kind;
use crate::stream::{
    ColumnKinds, Format, Frame, Input, LabelNames, Labels, Memory, NamingConfig, Problem, ReadOptions,
    Reader, ReaderPlan, RowTasks, Stream, StreamConfig, StreamError, Table, TableError, TableStream, Values,
    class_problem, naming_problem,
};

impl RunConfig {
    /// A reader of text for runs of this config.
    ///
    /// # Errors
    /// With every problem of the config.
    pub fn reader(&self, inputs: Vec<Input>, options: ReadOptions) -> Result<Reader, ConfigError> {
        self.validate()?;
        let StreamConfig { format, naming, positive, one_vs_all, .. } = &self.stream;
        let naming = naming.of_format(format).ok_or_else(|| ConfigError::from(naming_problem(format)))?;
        let plan = ReaderPlan {
            format: format.clone(),
            kind: self.learner.kind(),
            learner: Some(self.learner.clone()),
            positive: positive.clone(),
            labels: LabelNames::default(),
            one_vs_all: *one_vs_all,
            names: FeatureNames::new(naming, self.features),
            columns: ColumnKinds::default(),
            predicts: false,
            preprocess: self.stream.preprocess(),
            features: self.features,
            options,
            in_order: !self.stream.simultaneous,
        };
        Ok(Reader::new(inputs, self.declared_tasks()?, plan))
    }

    /// Rows of a table as a stream for runs of this config; `tasks` are numbered from those declared.
    ///
    /// # Errors
    /// When there is neither one task per row nor one for all.
    pub fn table<'a>(
        &self,
        table: &'a Table<'a>,
        tasks: &'a RowTasks,
    ) -> Result<TableStream<'a>, TableError> {
        TableStream::new(table, tasks, self.stream.preprocess(), self.features, self.learner.kind())
    }

    /// The columns of a frame as a table for [`Self::table`].
    ///
    /// # Errors
    /// When features are to be numbers, there are more than were declared, or columns do not go together.
    pub fn frame<'a>(&self, frame: Frame<'a>) -> Result<Table<'a>, StreamError> {
        let naming = self.stream.naming.decided().unwrap_or(Naming::Kept);
        check_names(naming)?;
        let names = FeatureNames::new(naming, self.features);
        Ok(Table::Named(frame.place(&names, &ColumnKinds::default())?))
    }
}

/// That features may have names.
fn check_names(naming: Naming) -> Result<(), StreamError> {
    if naming == Naming::Numbered {
        return Err(StreamError::ForeignNaming { found: shown(Naming::Kept), expected: shown(naming) });
    }
    Ok(())
}

impl Model {
    /// A reader of text for [`Self::learn`].
    ///
    /// It starts with the tasks and names that the model knows now, and gives new ones the same numbers as the model will.
    ///
    /// # Errors
    /// When features have names in the model but not in its format, or the other way round.
    pub fn reader(&self, inputs: Vec<Input>, options: ReadOptions) -> Result<Reader, ConfigError> {
        Ok(Reader::new(inputs, self.tasks.clone(), self.plan(&self.config.format, options)?))
    }

    /// A reader of text for [`Self::predict`]: labels may be missing, even their column.
    ///
    /// # Errors
    /// As [`Self::reader`].
    pub fn prediction_reader(&self, inputs: Vec<Input>, options: ReadOptions) -> Result<Reader, ConfigError> {
        self.prediction_reader_of(&self.config.format, inputs, options)
    }

    /// As [`Self::prediction_reader`], of text in another format than the model was learnt from.
    ///
    /// # Errors
    /// When the format has names and the model's features have numbers, or the other way round; when its parameters are
    /// invalid.
    pub fn prediction_reader_of(
        &self,
        format: &Format,
        inputs: Vec<Input>,
        options: ReadOptions,
    ) -> Result<Reader, ConfigError> {
        let problems = format.problem().into_iter().chain(class_problem(self.config.one_vs_all, format));
        ConfigError::check(problems.collect())?;
        let mut plan = self.plan(format, options.labels(Labels::Optional))?;
        (plan.names, plan.predicts, plan.learner) = (plan.names.frozen(), true, None);
        // Predictions come one by one, whatever was learnt together.
        plan.in_order = true;
        Ok(Reader::new(inputs, self.tasks.clone(), plan))
    }

    /// Rows of a table as a stream for [`Self::learn`] or [`Self::predict`]; `tasks` are numbered from those of the model.
    ///
    /// # Errors
    /// When there is neither one task per row nor one for all.
    pub fn table<'a>(
        &self,
        table: &'a Table<'a>,
        tasks: &'a RowTasks,
    ) -> Result<TableStream<'a>, TableError> {
        let kind = self.kind().unwrap_or(Kind::Classification);
        TableStream::new(table, tasks, self.config.preprocess, self.config.features, kind)
    }

    /// Rows in the order that a config sets: as they come, or held in memory and reordered.
    ///
    /// # Errors
    /// Those of the stream, if it is held in memory.
    pub fn in_order<'a>(
        &self,
        mut stream: TableStream<'a>,
        config: &StreamConfig,
    ) -> Result<Box<dyn Stream + 'a>, StreamError> {
        if config.order.is_as_read() {
            return Ok(Box::new(stream));
        }
        let memory = Memory::load_with(&mut stream, &self.tasks)?;
        Ok(Box::new(memory.ordered(config.order, config.seed, config.simultaneous)))
    }

    /// The columns of a frame as a table for [`Self::table`]: columns that the model has learnt have the features that they had.
    ///
    /// # Errors
    /// When the model's features are numbers; when its columns are others, or hold something else; when there are more
    /// features than were declared.
    pub fn frame<'a>(&self, frame: Frame<'a>) -> Result<Table<'a>, StreamError> {
        let naming = self.config.naming.decided().unwrap_or(Naming::Kept);
        check_names(naming)?;
        let fresh;
        let names = if self.is_undecided() {
            fresh = FeatureNames::new(naming, self.config.features);
            &fresh
        } else {
            &self.names
        };
        Ok(Table::Named(frame.place(names, &self.columns)?))
    }

    /// Checks that every label of a table is one that the learner can learn, so that nothing is learnt from one that has
    /// another further down.
    ///
    /// # Errors
    /// With the first row whose label is too large for real labels, or a negative count.
    pub fn check_labels(&self, labels: Values<'_>) -> Result<(), TableError> {
        let learner = &self.config.learner;
        if learner.kind() == Kind::Classification {
            return Ok(());
        }
        (0..labels.len()).try_for_each(|row| {
            let problem = learner.unfit(labels.get(row)).map(Problem::Unfit);
            problem.map_or(Ok(()), |problem| Err(TableError::Row { row, problem }))
        })
    }

    /// A stream for [`Self::learn`] in the order that a config sets: as it is in the file, or held in memory and reordered.
    ///
    /// # Errors
    /// Those of [`Self::reader`] and, if the stream is held in memory, of reading it.
    pub fn open(
        &self,
        inputs: Vec<Input>,
        config: &StreamConfig,
        options: ReadOptions,
    ) -> Result<Box<dyn Stream>, OpenError> {
        let read_again = config.passes > 1 && inputs.contains(&Input::Stdin);
        let reader = self.reader(inputs, options)?;
        if config.order.is_as_read() && !read_again {
            return Ok(Box::new(reader));
        }
        let memory = reader.into_memory()?;
        Ok(Box::new(memory.ordered(config.order, config.seed, config.simultaneous)))
    }

    fn plan(&self, format: &Format, options: ReadOptions) -> Result<ReaderPlan, ConfigError> {
        let naming = self.config.naming.of_format(format);
        let naming = naming.ok_or_else(|| {
            let decided = self.config.naming.decided().filter(|_| *format != self.config.format);
            decided.map_or_else(|| naming_problem(format), |naming| foreign_format(format, naming))
        })?;
        let names = if self.is_undecided() {
            FeatureNames::new(naming, self.config.features)
        } else {
            self.names.clone()
        };
        Ok(ReaderPlan {
            format: format.clone(),
            kind: self.kind().unwrap_or(Kind::Classification),
            learner: Some(self.config.learner.clone()),
            positive: self.config.positive.clone(),
            labels: self.labels.clone(),
            one_vs_all: self.config.one_vs_all,
            names,
            columns: self.columns.clone(),
            predicts: false,
            preprocess: self.config.preprocess,
            features: self.config.features,
            options,
            in_order: !self.config.simultaneous,
        })
    }

    /// Whether features may still turn out to have names: the config does not say, and none has come.
    pub(crate) fn is_undecided(&self) -> bool {
        self.config.naming.decided().is_none()
    }

    /// Decides what features are by the stream that is to be learnt, or checks that they are the same.
    pub(crate) fn agree_on_naming(&mut self, naming: Naming) -> Result<(), StreamError> {
        self.check_naming(naming)?;
        if self.is_undecided() {
            self.decide(naming != Naming::Numbered);
        }
        Ok(())
    }

    /// That features of a stream are what the model's are, or could be.
    pub(super) fn check_naming(&self, naming: Naming) -> Result<(), StreamError> {
        let decided = self.config.naming.decided();
        let fits = match decided {
            // Names are hashed only if the config says so.
            None => !matches!(naming, Naming::Hashed { .. }),
            Some(decided) => decided == naming,
        };
        let expected = || decided.map_or_else(|| "numbers or names".to_owned(), shown);
        if fits {
            Ok(())
        } else {
            Err(StreamError::ForeignNaming { found: shown(naming), expected: expected() })
        }
    }

    /// What features are from now on.
    pub(super) fn decide(&mut self, named: bool) {
        self.config.naming = if named { NamingConfig::NAMED } else { NamingConfig::NUMBERED };
        self.names = self.config.fresh_names();
    }

    /// Takes back what an example or a stream decided that was not learnt after all.
    pub(crate) fn undecide(&mut self) {
        self.config.naming = NamingConfig::default();
        self.names = self.config.fresh_names();
    }

    /// Sees to it that there is a text with names that the model can read, once it has learnt some.
    pub(crate) fn settle_format(&mut self) {
        if self.names.naming() != Naming::Numbered && !self.config.format.has_names() {
            self.config.format = Format::jsonl();
        }
    }
}

/// That features of a format are not what the model's are.
fn foreign_format(format: &Format, naming: Naming) -> ConfigProblem {
    let found = if format.has_names() { "names" } else { "numbers" };
    let message = format!("features of `{}` are {found}, those of the model {}", format.id(), shown(naming));
    ConfigProblem::new("format", message)
}

/// What features are, for messages.
fn shown(naming: Naming) -> String {
    match naming {
        Naming::Numbered => "numbers".to_owned(),
        Naming::Kept => "names".to_owned(),
        Naming::Hashed { bits, names: true } => format!("names hashed to {bits} bits"),
        Naming::Hashed { bits, names: false } => format!("names hashed to {bits} bits and forgotten"),
    }
}

/// Why a stream could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The config does not fit.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The stream could not be read into memory.
    #[error(transparent)]
    Stream(#[from] StreamError),
}
