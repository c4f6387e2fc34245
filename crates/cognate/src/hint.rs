//! Ways out of errors, as kinds: the program names its flags, Python its keywords, a server its fields.

/// A way out of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Hint {
    /// The text looks like Vowpal Wabbit's.
    LooksLikeVw,
    /// The text looks like CSV.
    LooksLikeCsv,
    /// The text looks like lines of JSON.
    LooksLikeJsonl,
    /// The text looks like lines of JSON, where a header of CSV is expected.
    JsonlForCsv,
    /// Indices count from 1, and the file seems to count from 0.
    CountFromOne,
    /// Declare all tasks, or none.
    DeclareTasks,
    /// Declare so many classes, if they are meant.
    DeclareClasses,
    /// Labels may be classes, each a task of its own.
    Classes,
    /// Labels have names; say which of them is +1.
    NamePositive,
    /// The name that is +1 may be misspelt.
    SpellPositive,
    /// Labels have names, and the learner learns numbers.
    TwoLabels,
    /// Labels must be those that the model was learnt from, or be left out.
    ModelLabels,
    /// Labels are real numbers; choose a loss for them.
    RealLabels,
    /// Labels are whole numbers: two names, classes, or real numbers.
    WholeLabels,
    /// Name the keys of a line of JSON, or ignore some.
    NameKeys,
    /// Columns are separated by something other than commas.
    OnlyCommas,
    /// Columns are separated by something other than what is said to separate them.
    OtherSeparator,
    /// Columns must be called as those that the model was learnt from.
    ModelColumns,
    /// Write numbers with a point, or say which columns are categories.
    DecimalPoint,
    /// Say where the times of examples are, or forget by number of examples.
    NameTimes,
    /// Name the columns of labels and tasks.
    NameColumns,
    /// Spell a column that the config names as the header does.
    SpellColumn(NamedColumn),
    /// Leave missing cells empty; say which columns are categories.
    Categorical,
    /// Leave the number of features out.
    OpenFeatures,
    /// Add the values of a repeated feature up, or rename it.
    AddUp,
    /// Learn one example per round, or regroup the stream.
    NotSimultaneous,
    /// Learn every example, or write the examples of all tasks in turn.
    NotAdversarial,
    /// Label every example of a round, or learn one per round.
    LabelRounds,
    /// Scale the examples, or choose smaller parameters.
    Scale,
    /// Learn a model that scales its examples; it scales those that it predicts as well.
    LearnScaled,
    /// Wait until the other program ends, or write another file.
    OtherWriter,
    /// Choose a learner that takes weights, or leave them out.
    Weights,
    /// Choose a learner that takes offsets, or leave them out.
    Offsets,
    /// The learner is fitted to all examples at once.
    Fit,
    /// The learner keeps examples, which can be listed.
    Supports,
}

/// A column that a config names, other than those of labels and tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NamedColumn {
    /// That of weights.
    Weight,
    /// That of ids.
    Id,
    /// That of times.
    Time,
    /// That of offsets.
    Offset,
    /// One to be left out.
    Ignored,
    /// One whose cells are texts, whatever they look like.
    Categorical,
}
