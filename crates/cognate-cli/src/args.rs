//! What can be written on the command line.

pub(crate) mod remote;
pub(crate) mod serve;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::commands::compare::metric::Metric;
use crate::saving::SaveEvery;
use remote::{ModelArgs, ServerArgs};
use serve::{RecoverArgs, ServeArgs, TokenArgs};

/// Learns many related tasks from one stream, and how they are related.
#[derive(Debug, Parser)]
#[command(name = "cognate", version, propagate_version = true, max_term_width = 110)]
#[command(after_help = "Start with `cognate demo`. Every command has --help.")]
pub(crate) struct Arguments {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print no progress and no progressive table
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
}

/// When output is coloured.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    /// Makes it so for the whole program.
    pub(crate) fn apply(self) {
        let choice = match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Learn a stream as it comes, one pass or more
    Learn(Box<LearnArgs>),
    /// Compare learners on the same stream: which one to use, and what sharing gains
    Compare(Box<CompareArgs>),
    /// Fit all examples at once, to the optimum; can choose parameters by cross-validation
    Fit(Box<FitArgs>),
    /// Predict a stream with a saved model: task, label and margin for each line
    Predict(Box<PredictArgs>),
    /// Show what is in a model
    Inspect(InspectArgs),
    /// Remove tasks from a model: their names, own weights and counts
    Forget(ForgetArgs),
    /// Write the weights of a model to a file, to be used elsewhere
    Export(ExportArgs),
    /// Show how the tasks of a model influence each other
    Relations(RelationsArgs),
    /// Compare the mistakes of a model with those that the theorems allow
    Bound(Box<BoundArgs>),
    /// List the learners, or explain one
    Algorithms(AlgorithmsArgs),
    /// Reproduce the papers' tables and figures, ours beside theirs
    Lab(LabArgs),
    /// Take a tour: make a stream of related tasks, learn it several ways, write report.html
    Demo(DemoArgs),
    /// Serve models that learn live, over HTTP; what was acknowledged survives a crash
    Serve(Box<ServeArgs>),
    /// Keep what is whole of a data folder whose log was damaged
    Recover(RecoverArgs),
    /// Make a token for a server, and show its secret once
    Token(TokenArgs),
    /// Parse a stream and count its examples: the floor of what learning it can cost
    #[command(hide = true)]
    Parse(ParseArgs),
}

/// `cognate learn`.
#[derive(Debug, Args)]
#[command(after_help = "\
A line without a label, or with `?` in its place, is predicted but not learnt. Replace each `?` in the file of --ask by a \
label and learn that file with --resume M --query all. Nothing waits for labels that never come; a line that comes twice \
is learnt twice, by `adaptive` hardly more than once.

Whatever ends the run (a bad line, a full disk elsewhere, a closed pipe, a signal), the model learnt so far is written, \
unless the learner has diverged, and the exit code tells: 2 for an error, 130 after a signal. After a signal a second one \
changes nothing; a third, or one after 10 s, ends the program at once. SIGUSR1 writes the model, and learning goes on.

A model that exists is replaced only with --overwrite, or by a run that resumes it. One program writes a model at a time.")]
pub(crate) struct LearnArgs {
    /// Files of examples, read in turn; `-` is standard input; gzip and zstd are recognised
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<PathBuf>,
    /// Id of the learner, one of those that `cognate algorithms` lists; by default adaptive
    #[arg(long, value_name = "ID")]
    pub(crate) learner: Option<String>,
    /// Set a parameter of the learner, e.g. interaction.coupled.b=4, or of the query, e.g. query.margin.b=2
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Which labels to ask for: all; margin, less often the surer the prediction; relation, the same, and more often for
    /// a task with many relatives; uncertainty, by the margin and its standard deviation. A label that is not asked for is not learnt
    #[arg(long, value_name = "NAME")]
    pub(crate) query: Option<String>,
    /// Config file (TOML); flags override it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Number of tasks, or their names separated by commas; by default tasks are added as they occur
    #[arg(long, value_name = "N|NAMES")]
    pub(crate) tasks: Option<String>,
    /// Number of features; a larger index is an error
    #[arg(long, value_name = "N")]
    pub(crate) features: Option<u32>,
    /// Write the model here when done, whatever ends the run
    #[arg(long, value_name = "OUT")]
    pub(crate) model: Option<PathBuf>,
    /// Replace a model that is there already
    #[arg(long, requires = "model")]
    pub(crate) overwrite: bool,
    /// Also write the model as the run goes: after every N examples, or every so often, e.g. 60s, 10m, 2h
    #[arg(long, value_name = "N|TIME", requires = "model")]
    pub(crate) save_every: Option<SaveEvery>,
    /// Resume from this model, which may be the one of --model
    #[arg(long, value_name = "IN")]
    pub(crate) resume: Option<PathBuf>,
    /// Choose the margin from which on `predict` answers +1, for a metric (f1, balanced-error, error) on the margins that this
    /// run gives before learning; or give it: a margin, or a probability, e.g. p=0.3. Mistakes are counted as without
    #[arg(long, value_name = "METRIC|T", allow_hyphen_values = true)]
    pub(crate) threshold: Option<String>,
    /// Write one JSON line per example; `-` is standard output, and the summary then goes to standard error, or with
    /// --json into the last line
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Write the unlabelled lines (or those with `?`) whose labels the query asks for, to be labelled and learnt later
    #[arg(long, value_name = "FILE")]
    pub(crate) ask: Option<PathBuf>,
    /// Write an HTML page with curves, tasks and relations
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Print the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Spread the tasks over S shards that learn side by side; part of the model. `perceptron` and `passive-aggressive` can.
    /// What tasks share is then learnt a little later by the others [default: 1]
    #[arg(long, value_name = "S")]
    pub(crate) shards: Option<u32>,
    /// After how many examples shards tell each other what they have learnt; by default as many as there are tasks, from 64 to 256
    #[arg(long, value_name = "B|auto")]
    pub(crate) mix: Option<String>,
    /// Threads: 1, or more to read ahead while learning, and to take shards where there are several; by default as many as
    /// there are processors. The result is the same
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    // Last, since the heading of these flags holds for all that follow.
    /// How the stream is read
    #[command(flatten)]
    pub(crate) stream: StreamArgs,
}

/// `cognate compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Every learner sees the same shuffles and takes part in all the forms it has: with sharing, independent (tasks share \
nothing) and pooled (one model for all tasks). \"Sharing\" is what it changes against the learner's own independent form; \
\"by chance\" is how likely chance alone makes so large a difference, by a paired test over the examples. `constant` \
answers the label that was most frequent so far, or the mean so far. A learner is recommended only where it beats, by \
more than chance, the best of the guesses that know no features: `constant`, the same of each task, always +1, always -1; \
judged by AUC, it must also tell examples of one task apart. Where a learner has parameters to choose, a \
few are tried on a fifth of the examples first, on at most 5000 of another shuffle.

With --order file there is one run in the order of the file, which is right where time matters, and is what is done \
unless told otherwise where a learner forgets by time; parameters are then chosen on the first fifth.")]
pub(crate) struct CompareArgs {
    /// Files of examples, held in memory; `-` is standard input; gzip and zstd are recognised
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<PathBuf>,
    /// Learners to compare, by id, separated by commas; by default adaptive, perceptron, relation-perceptron,
    /// passive-aggressive, collaborative and rom-pgd
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub(crate) learners: Vec<String>,
    /// What judges; by default error, or auc where fewer than a fifth of the labels are of one kind, or rmse where labels are
    /// real numbers, as one that is no class tells
    #[arg(long, value_enum, value_name = "METRIC")]
    pub(crate) metric: Option<Metric>,
    /// Set a parameter of a learner, in all its forms, e.g. adaptive.groups=4; or of the query, e.g. query.margin.b=2
    #[arg(long = "set", value_name = "LEARNER.KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Number of shuffles
    #[arg(long, value_name = "N", default_value = "5")]
    pub(crate) runs: std::num::NonZeroU64,
    /// Which labels to ask for, as in `cognate learn`
    #[arg(long, value_name = "NAME")]
    pub(crate) query: Option<String>,
    /// Write an HTML page with curves, tasks and relations
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Print the comparison as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Runs in parallel; by default as many as there are processors. The result is the same
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    // Last, since the heading of these flags holds for all that follow.
    /// How the stream is read
    #[command(flatten)]
    pub(crate) stream: StreamArgs,
}

/// `cognate lab`.
#[derive(Debug, Args)]
pub(crate) struct LabArgs {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

/// What the lab can do.
#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// List the experiments: paper, claim, data and whether they are present, rough time
    List(LabListArgs),
    /// Run an experiment, or all of them; exit code 1 when a check does not hold
    Run(LabRunArgs),
}

/// `cognate lab list`.
#[derive(Debug, Args)]
pub(crate) struct LabListArgs {
    /// Folder of the data sets
    #[arg(long, value_name = "DIR", default_value = "data")]
    pub(crate) data: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `cognate lab run`.
#[derive(Debug, Args)]
pub(crate) struct LabRunArgs {
    /// Which experiments, as `cognate lab list` calls them; or `all`
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Fewer runs and smaller grids: minutes instead of hours
    #[arg(long)]
    pub(crate) quick: bool,
    /// Folder of the data sets
    #[arg(long, value_name = "DIR", default_value = "data")]
    pub(crate) data: PathBuf,
    /// Folder for tables, figures and verdicts: ID.md, ID.csv, ID-….svg, ID.json
    #[arg(long, value_name = "DIR", default_value = "lab")]
    pub(crate) out: PathBuf,
    /// Compare verdicts with an ID.json of another run, not with the record built into the program
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Runs in parallel; by default as many as there are processors. The result is the same
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
}

/// `cognate fit`.
#[derive(Debug, Args)]
#[command(after_help = "\
Labels are -1/+1, 0/1, or real numbers (regression, with the loss `squares`). Examples with equal features are one input \
of several tasks. Weights and the structure of the tasks are learnt together; see `cognate algorithms convex`.

With --cross-validate and no --grid, a path of lambdas is tried. `--grid lambda=0.1,1,10 --grid penalty=none,trace-one` \
tries every pair; values with commas of their own go in brackets: --grid 'penalty.cluster.within=[4, 8]'.")]
pub(crate) struct FitArgs {
    /// Files of examples, read in turn; `-` is standard input; gzip and zstd are recognised
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<PathBuf>,
    /// Set a parameter, e.g. lambda=0.5, loss=logistic, penalty=trace-one, penalty.schatten.p=2, kernel.gaussian.gamma=0.1
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Config file (TOML); flags override it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Choose parameters by cross-validation with this many folds
    #[arg(long, value_name = "FOLDS")]
    pub(crate) cross_validate: Option<usize>,
    /// Values of a parameter to choose from
    #[arg(long, value_name = "KEY=V,V,…")]
    pub(crate) grid: Vec<String>,
    /// Number of tasks, or their names separated by commas; by default tasks are added as they occur
    #[arg(long, value_name = "N|NAMES")]
    pub(crate) tasks: Option<String>,
    /// Number of features; a larger index is an error
    #[arg(long, value_name = "N")]
    pub(crate) features: Option<u32>,
    /// Write the model here
    #[arg(long, value_name = "OUT")]
    pub(crate) model: Option<PathBuf>,
    /// Replace a model that is there already
    #[arg(long, requires = "model")]
    pub(crate) overwrite: bool,
    /// Write an HTML page with the search, cross-validation and relations
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Print the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Folds in parallel; by default as many as there are processors. The result is the same
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Scale every example: none, l2
    #[arg(long, value_name = "HOW")]
    pub(crate) normalize: Option<String>,
    /// Scale longer examples down to this norm
    #[arg(long, value_name = "NORM")]
    pub(crate) clip: Option<f64>,
    /// Add a constant feature, penalised like any other (an intercept is not); of value 1 unless another is given
    #[arg(long, value_name = "VALUE", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    pub(crate) bias: Option<f64>,
    /// Seed of the folds
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Skip up to this many bad lines
    #[arg(long, value_name = "N", default_value = "0")]
    pub(crate) skip_bad: u64,
    /// Write the bad lines here, skipped or not, as JSON lines: file, line, column, reason, text
    #[arg(long, value_name = "FILE")]
    pub(crate) bad_lines: Option<PathBuf>,
    // Last, since the heading of these flags holds for all that follow.
    /// What the data are
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// What the data are.
#[derive(Debug, Args, Default, Clone)]
#[command(next_help_heading = "Stream")]
pub(crate) struct FormatArgs {
    /// How a line is written
    #[command(flatten)]
    pub(crate) text: TextArgs,
    /// The label that is +1, where labels are two names, e.g. spam; the other name is the other that occurs
    #[arg(long, value_name = "NAME")]
    pub(crate) positive: Option<String>,
    /// Hash named features to 2^B slots, which names may share; by default every name is its own feature
    #[arg(long, value_name = "B")]
    pub(crate) bits: Option<u32>,
    /// With --bits: do not keep the names, which serve only to explain the model
    #[arg(long)]
    pub(crate) no_names: bool,
    /// Labels are classes; each class is a task, its own examples against all others
    #[arg(long)]
    pub(crate) one_vs_all: bool,
}

/// How a line is written.
#[derive(Debug, Args, Default, Clone)]
#[command(next_help_heading = "Stream")]
pub(crate) struct TextArgs {
    /// Format of the data: svm, vw, csv, jsonl; by default what the names of the files say (.svm, .vw, .csv, .tsv, .jsonl,
    /// also before .gz and .zst), else svm
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// vw: the namespace that names the task, tags being ids; by default the tag names the task
    #[arg(long, value_name = "NAME")]
    pub(crate) task_namespace: Option<String>,
    /// csv: the column that names the task; by default `task`, if there is one
    #[arg(long, value_name = "NAME")]
    pub(crate) task_column: Option<String>,
    /// csv: the column of the labels; by default `label`
    #[arg(long, value_name = "NAME")]
    pub(crate) label_column: Option<String>,
    /// csv: the column of the weights (importances)
    #[arg(long, value_name = "NAME")]
    pub(crate) weight_column: Option<String>,
    /// csv: the column of the ids, carried through to predictions; by default a first column without a name
    #[arg(long, value_name = "NAME")]
    pub(crate) id_column: Option<String>,
    /// csv: the column of the times: seconds, or like 2026-01-31T12:00:00Z
    #[arg(long, value_name = "NAME")]
    pub(crate) time_column: Option<String>,
    /// csv: the column of what is added to margins and not learnt
    #[arg(long, value_name = "NAME")]
    pub(crate) offset_column: Option<String>,
    /// csv: columns to read as categories even where they look like numbers, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) categorical: Vec<String>,
    /// csv: the sign between cells, e.g. ';', or tab; by default a comma, in .tsv files a tab
    #[arg(long, value_name = "SIGN")]
    pub(crate) separator: Option<String>,
    /// jsonl: the key of the task; by default `task`
    #[arg(long, value_name = "NAME")]
    pub(crate) task_key: Option<String>,
    /// jsonl: the key of the label; by default `label`
    #[arg(long, value_name = "NAME")]
    pub(crate) label_key: Option<String>,
    /// jsonl: the key of the features; by default `features`
    #[arg(long, value_name = "NAME")]
    pub(crate) features_key: Option<String>,
    /// jsonl: the key of the weight; by default `weight`
    #[arg(long, value_name = "NAME")]
    pub(crate) weight_key: Option<String>,
    /// jsonl: the key of the id; by default `id`
    #[arg(long, value_name = "NAME")]
    pub(crate) id_key: Option<String>,
    /// jsonl: the key of the time; by default `time`
    #[arg(long, value_name = "NAME")]
    pub(crate) time_key: Option<String>,
    /// jsonl: the key of what is added to the margin; by default `offset`
    #[arg(long, value_name = "NAME")]
    pub(crate) offset_key: Option<String>,
    /// csv, jsonl: columns or keys to leave out, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) ignore: Vec<String>,
}

/// How a stream is read.
#[derive(Debug, Args, Default, Clone)]
#[command(next_help_heading = "Stream")]
pub(crate) struct StreamArgs {
    /// What the data are
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// Scale every example: none, l2
    #[arg(long, value_name = "HOW")]
    pub(crate) normalize: Option<String>,
    /// Scale longer examples down to this norm
    #[arg(long, value_name = "NORM")]
    pub(crate) clip: Option<f64>,
    /// Add a constant feature, of value 1 unless another is given
    #[arg(long, value_name = "VALUE", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    pub(crate) bias: Option<f64>,
    /// Order of the examples: file, shuffle, interleave; or adversarial, which learns only the hardest example of every
    /// round of one per task
    #[arg(long, value_name = "ORDER")]
    pub(crate) order: Option<String>,
    /// Seed of --order shuffle and of --query
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Number of passes over the stream
    #[arg(long, value_name = "N")]
    pub(crate) passes: Option<u32>,
    /// Rounds are one example of every task: all margins are computed before any update
    #[arg(long)]
    pub(crate) simultaneous: bool,
    /// How much the examples of each label count when they are learnt: balanced, by the labels so far, or weights like
    /// +1=4,-1=0.5; errors are counted as without
    #[arg(long, value_name = "HOW", allow_hyphen_values = true)]
    pub(crate) class_weight: Option<String>,
    /// Skip up to this many bad lines
    #[arg(long, value_name = "N", default_value = "0")]
    pub(crate) skip_bad: u64,
    /// Write the bad lines here, skipped or not, as JSON lines: file, line, column, reason, text
    #[arg(long, value_name = "FILE")]
    pub(crate) bad_lines: Option<PathBuf>,
}

/// `cognate predict`.
#[derive(Debug, Args)]
#[command(after_help = "\
One row per line with an example: its line and id, its task, the label that is predicted, in the words of the data that \
the model was learnt from, and the margin. A bad line that --skip-bad skips has a row with its line and nothing else.

Data are read as those that the model was learnt from, unless their names or flags say otherwise; any format will do that \
gives features the same names.")]
pub(crate) struct PredictArgs {
    /// Files of examples, labelled or not; `-` is standard input
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<PathBuf>,
    /// The model; with --server, its name there
    #[arg(long, value_name = "M")]
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) from: ServerArgs,
    /// Add the probability of the label +1, for learners that give one; prints a calibration table at the end if examples
    /// are labelled
    #[arg(long)]
    pub(crate) probability: bool,
    /// Add the standard deviation of the margin, for learners that know it
    #[arg(long)]
    pub(crate) uncertainty: bool,
    /// Answer +1 from this margin on, or from this probability, e.g. p=0.3; by default the model's, else 0
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(crate) threshold: Option<String>,
    /// Print JSON lines instead of CSV
    #[arg(long)]
    pub(crate) json: bool,
    /// Skip up to this many bad lines
    #[arg(long, value_name = "N", default_value = "0")]
    pub(crate) skip_bad: u64,
    /// Write the bad lines here, skipped or not, as JSON lines: file, line, column, reason, text
    #[arg(long, value_name = "FILE")]
    pub(crate) bad_lines: Option<PathBuf>,
    /// Threads: 1, or 2 to read ahead while predicting
    #[arg(long, value_name = "N", default_value = "2")]
    pub(crate) threads: NonZeroUsize,
    // Last, since the heading of these flags holds for all that follow.
    /// How a line is written
    #[command(flatten)]
    pub(crate) text: TextArgs,
}

/// `cognate inspect`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").multiple(false))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag, and at most one of them is given")]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Print everything but the weights, as JSON
    #[arg(long, group = "what")]
    pub(crate) json: bool,
    /// Print every non-zero weight as CSV: task, feature, value
    #[arg(long, group = "what")]
    pub(crate) weights: bool,
    /// With --weights: only those of this task; may be given several times
    #[arg(long = "task", value_name = "TASK", requires = "weights")]
    pub(crate) tasks: Vec<String>,
    /// Print the examples kept as supports, for learners that keep some
    #[arg(long, group = "what")]
    pub(crate) supports: bool,
    /// Print the strongest features of a task
    #[arg(long, group = "what", value_name = "TASK")]
    pub(crate) explain: Option<String>,
    /// List whatever is unusual: extreme numbers, counts that contradict each other, names with control characters, bytes
    /// that saving would not write; exit code 1 when there is anything. For a model from someone else
    #[arg(long, group = "what")]
    pub(crate) strict: bool,
}

/// `cognate forget`.
#[derive(Debug, Args)]
#[command(after_help = "\
The model that is written holds no name, no own weight and no count of the tasks. What their examples taught the weights that \
tasks share stays, and so do the names of features and the number of rounds: to be rid of those, learn a model from the other \
tasks' examples. A task that comes back begins anew.")]
pub(crate) struct ForgetArgs {
    /// The model
    #[arg(value_name = "M")]
    pub(crate) from: PathBuf,
    /// A task to forget; may be given several times
    #[arg(long = "task", value_name = "TASK", required = true)]
    pub(crate) tasks: Vec<String>,
    /// Write the model here; M itself is replaced in one step
    #[arg(long, value_name = "OUT")]
    pub(crate) model: PathBuf,
    /// Replace an existing file other than M
    #[arg(long)]
    pub(crate) overwrite: bool,
}

/// `cognate export`.
#[derive(Debug, Args)]
#[command(after_help = "\
The margin of an example x of task i is w_i'x, w_i = own_i + sum_j factor_ij shared_j, and x scaled as the model scales its \
examples (--normalize, --clip). docs/formats.md describes the three kinds of file.")]
pub(crate) struct ExportArgs {
    /// The model
    #[arg(value_name = "M")]
    pub(crate) model: PathBuf,
    /// Write here: .csv (task, feature, part, value), .jsonl (a line per vector) or .safetensors (sparse rows)
    #[arg(long, value_name = "FILE")]
    pub(crate) to: PathBuf,
    /// Replace a file that is there already
    #[arg(long)]
    pub(crate) overwrite: bool,
}

/// `cognate relations`.
#[derive(Debug, Args)]
pub(crate) struct RelationsArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Print as JSON: R and its correlation form, `likeness` (how alike tasks are, with deviations; null where the evidence does not
    /// say), `groups` with sides, the order of the heatmap, and parts
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a heatmap
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) svg: Option<PathBuf>,
    /// Write a graph that joins tasks with a strong correlation, positive or negative
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) graph: Option<PathBuf>,
    /// Draw correlations of at least this size in the graph, from 0 to 1; by default what keeps it readable
    #[arg(long, value_name = "T", requires = "graph", value_parser = threshold)]
    pub(crate) threshold: Option<f64>,
    /// Order of the tasks in the pictures
    #[arg(long, value_enum, default_value_t = TaskOrder::Clustered, value_name = "ORDER")]
    pub(crate) order: TaskOrder,
    /// Show the correlation form in table and heatmap
    #[arg(long)]
    pub(crate) correlation: bool,
    /// Only these tasks, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
}

/// How the tasks of a picture are ordered.
#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum TaskOrder {
    /// Relatives side by side, by hierarchical clustering of the correlation form
    Clustered,
    /// By name, or as --only gives them
    Given,
}

fn threshold(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "expected a number from 0 to 1".to_owned())?;
    if (0.0..=1.0).contains(&value) { Ok(value) } else { Err("must be between 0 and 1".to_owned()) }
}

/// `cognate bound`.
#[derive(Debug, Args)]
#[command(after_help = "\
The stream is run again in the order and passes that the model was learnt with, and is held in memory.

Each theorem compares the learner with fixed vectors u_1, …, u_K: those of --comparator, or good ones found in \
hindsight on the same stream. L is their hinge loss on the mistaken rounds, D what they cost beside it. \
\"In advance\" is the bound with everything taken over all rounds, mistaken or not.

Exit code 1 when a bound is violated.")]
pub(crate) struct BoundArgs {
    /// The files that the model was learnt from, in the same order
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<PathBuf>,
    /// The model
    #[arg(long, value_name = "M")]
    pub(crate) model: PathBuf,
    /// Vectors to compare with, CSV as `cognate inspect --weights` prints it: task, feature, value; with the header
    /// `from,task,feature,value` vectors that move (`budget-random`), `from` the number of the example from which they hold;
    /// with a kernel dual coefficients, as `cognate inspect --supports` prints them: round, task, coefficient
    #[arg(long, value_name = "FILE")]
    pub(crate) comparator: Option<PathBuf>,
    /// Print the certificates as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// How the stream was read
    #[command(flatten)]
    pub(crate) stream: StreamArgs,
}

/// `cognate algorithms`.
#[derive(Debug, Args)]
pub(crate) struct AlgorithmsArgs {
    /// Explain this learner and its parameters
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `cognate demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Where to write the page
    #[arg(long, value_name = "FILE.html", default_value = "report.html")]
    pub(crate) out: PathBuf,
    /// Also write the stream, to try commands on
    #[arg(long, value_name = "FILE.svm")]
    pub(crate) stream: Option<PathBuf>,
    /// Also write the learning curves as a picture
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) picture: Option<PathBuf>,
    /// Seed of the stream
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
    /// Instead, serve a made stream that goes on learning, to look at and to label in a browser
    #[arg(long, conflicts_with_all = ["out", "stream", "picture"])]
    pub(crate) serve: bool,
    /// Where to listen with --serve; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7117", requires = "serve")]
    pub(crate) listen: std::net::SocketAddr,
}

/// `cognate parse`.
#[derive(Debug, Args)]
pub(crate) struct ParseArgs {
    /// Files of examples
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<PathBuf>,
}
