//! Flags of `cognate serve` and `cognate token`; the keys of `serve.toml` and the environment are called the same.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Deserialize;

/// `cognate serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
What was acknowledged survives a crash of the program or of the machine. The first line on standard output says where the server \
listens. SIGTERM and Ctrl-C finish what is under way, make a snapshot of every model, and end with exit code 0.

Every flag is also a key of the file given with --config (max-body = 1000000) and an environment variable (COGNATE_MAX_BODY); a \
flag goes before the environment, and that before the file. docs/serve.md shows a start.")]
pub(crate) struct ServeArgs {
    /// Data folder, made when missing; by default the one that the config names
    #[arg(value_name = "DIR", env = "COGNATE_DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Config file (TOML)
    #[arg(long, value_name = "FILE", env = "COGNATE_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: ServeSettings,
}

/// Everything that can be set in all three ways.
#[derive(Debug, Default, Clone, Args, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct ServeSettings {
    /// Data folder; on the command line it stands alone
    #[arg(skip)]
    pub(crate) dir: Option<PathBuf>,
    /// Where to listen; port 0 picks a free one. By default 127.0.0.1:7117; elsewhere than on this machine only with --tokens
    #[arg(long, value_name = "ADDRESS", env = "COGNATE_LISTEN")]
    pub(crate) listen: Option<SocketAddr>,
    /// When an answer to learning is given: always, when it is on disk; interval, at once, and a second may be lost; none, at
    /// once, and what came after the last snapshot may be lost. By default always
    #[arg(long, value_name = "WHEN", env = "COGNATE_DURABILITY")]
    pub(crate) durability: Option<DurabilityArg>,
    /// File of tokens; `cognate token` makes its lines
    #[arg(long, value_name = "FILE", env = "COGNATE_TOKENS")]
    pub(crate) tokens: Option<PathBuf>,
    /// Make a model of this name from a model file, unless there is one; may be given again
    #[arg(long = "model", value_name = "NAME=FILE", env = "COGNATE_MODEL", value_delimiter = ',')]
    pub(crate) model: Option<Vec<String>>,
    /// Most connections at a time; by default 1024
    #[arg(long, value_name = "N", env = "COGNATE_MAX_CONNECTIONS")]
    pub(crate) max_connections: Option<usize>,
    /// Most bytes of a request's body; by default 8388608
    #[arg(long, value_name = "BYTES", env = "COGNATE_MAX_BODY")]
    pub(crate) max_body: Option<usize>,
    /// Most tasks of a model; by default 1000000
    #[arg(long, value_name = "N", env = "COGNATE_MAX_TASKS")]
    pub(crate) max_tasks: Option<usize>,
    /// Most features of an example; by default 100000
    #[arg(long, value_name = "N", env = "COGNATE_MAX_FEATURES")]
    pub(crate) max_features: Option<usize>,
    /// Most predicted examples that wait for their labels; by default 100000
    #[arg(long, value_name = "N", env = "COGNATE_MAX_PENDING")]
    pub(crate) max_pending: Option<usize>,
    /// Most requests a second of each token; by default any number
    #[arg(long, value_name = "N", env = "COGNATE_MAX_RATE")]
    pub(crate) max_rate: Option<f64>,
    /// What becomes of a task that comes for the first time: create or refuse; by default create
    #[arg(long, value_name = "WHAT", env = "COGNATE_UNKNOWN_TASK")]
    pub(crate) unknown_task: Option<UnknownTaskArg>,
    /// Examples after which a snapshot is made; by default 1000000
    #[arg(long, value_name = "N", env = "COGNATE_SNAPSHOT_EVERY")]
    pub(crate) snapshot_every: Option<u64>,
    /// Seconds until the headers of a request must have come; by default 5
    #[arg(long, value_name = "SECONDS", env = "COGNATE_HEADER_TIMEOUT")]
    pub(crate) header_timeout: Option<u64>,
    /// Seconds until the body of a request must have come; by default 30
    #[arg(long, value_name = "SECONDS", env = "COGNATE_BODY_TIMEOUT")]
    pub(crate) body_timeout: Option<u64>,
    /// Seconds that a connection may stay open between two requests; by default 60
    #[arg(long, value_name = "SECONDS", env = "COGNATE_IDLE_TIMEOUT")]
    pub(crate) idle_timeout: Option<u64>,
    /// Predict and show, and change nothing
    #[arg(long, env = "COGNATE_READ_ONLY", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub(crate) read_only: Option<bool>,
    /// How the log on standard error is written: text or json; by default text
    #[arg(long, value_name = "FORMAT", env = "COGNATE_LOG_FORMAT")]
    pub(crate) log_format: Option<LogFormat>,
    /// What the log tells: error, warn, info, debug (every request) or trace; by default info
    #[arg(long, value_name = "LEVEL", env = "COGNATE_LOG_LEVEL")]
    pub(crate) log_level: Option<LogLevel>,
}

/// When an answer is given.
#[derive(Debug, Clone, Copy, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DurabilityArg {
    /// When it is on disk
    Always,
    /// At once; a second may be lost
    Interval,
    /// At once; what came after the last snapshot may be lost
    None,
}

/// What becomes of a new task.
#[derive(Debug, Clone, Copy, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum UnknownTaskArg {
    /// It is added
    Create,
    /// It is refused
    Refuse,
}

/// How logs are written.
#[derive(Debug, Clone, Copy, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LogFormat {
    /// For people
    Text,
    /// One object a line
    Json,
}

/// What logs tell.
#[derive(Debug, Clone, Copy, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LogLevel {
    /// What is broken
    Error,
    /// And what is odd
    Warn,
    /// And what happens
    Info,
    /// And every request
    Debug,
    /// And everything else
    Trace,
}

macro_rules! or {
    ($self:ident, $other:ident, $($field:ident),*) => {
        Self { $($field: $self.$field.or($other.$field),)* }
    };
}

impl ServeSettings {
    /// What is set here, and otherwise what is set there.
    pub(crate) fn or(self, other: Self) -> Self {
        or!(
            self,
            other,
            dir,
            listen,
            durability,
            tokens,
            model,
            max_connections,
            max_body,
            max_tasks,
            max_features,
            max_pending,
            max_rate,
            unknown_task,
            snapshot_every,
            header_timeout,
            body_timeout,
            idle_timeout,
            read_only,
            log_format,
            log_level
        )
    }
}

/// `cognate recover`.
#[derive(Debug, Args)]
#[command(after_help = "\
A log that is whole stays as it is. Of a damaged one all entries before the damage are kept; what comes after them is lost to the \
model. The damaged files are kept beside it: nothing is thrown away. A backup is better, where there is one.")]
pub(crate) struct RecoverArgs {
    /// Data folder of `cognate serve`; no server may use it meanwhile
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

/// `cognate token`.
#[derive(Debug, Args)]
#[command(after_help = "\
The line goes into the file that `cognate serve --tokens` reads; it holds a hash, from which nobody finds the secret. The secret is \
shown once, on standard error.")]
pub(crate) struct TokenArgs {
    /// What the token is called in logs
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// What it is for, separated by commas: predict, learn, label, read, admin
    #[arg(long, value_name = "SCOPES")]
    pub(crate) scopes: String,
    /// It sees only tasks whose names begin like this
    #[arg(long, value_name = "PREFIX")]
    pub(crate) task_prefix: Option<String>,
}
