//! What does a server hold? Its models by name, who may ask, and how much.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use cognate::algorithms::Protocol;
use cognate::{ConfigError, Model, RunConfig};
use cognate_store::{RealDisk, StoreError};
use tracing::{info, warn};

use crate::background::Background;
use crate::failure::{Code, Failure};
use crate::folder::{DataFolder, FolderError, MODEL_NAMES, is_model_name};
use crate::live::{EngineOptions, Live};
use crate::metrics::Metrics;
use crate::tokens::{Token, Tokens};

/// What can be chosen about a server.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// The data folder.
    pub folder: PathBuf,
    /// Where to listen.
    pub listen: SocketAddr,
    /// Of every model.
    pub engine: EngineOptions,
    /// Examples after which a snapshot is made.
    pub snapshot_every: u64,
    /// Whether nothing is learnt.
    pub read_only: bool,
    /// Most connections at a time.
    pub max_connections: usize,
    /// Most bytes of a body.
    pub max_body: usize,
    /// Most features of an example.
    pub max_features: usize,
    /// Most requests a second of a token; none for any number.
    pub max_rate: Option<f64>,
    /// Seconds until the headers of a request must have come.
    pub header_seconds: u64,
    /// Seconds until the body must have come.
    pub body_seconds: u64,
    /// Seconds until the next request must have begun to come.
    pub idle_seconds: u64,
    /// Models that are made from files, by name, unless they are there.
    pub import: Vec<(String, PathBuf)>,
}

impl ServeOptions {
    /// The defaults for a folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            listen: SocketAddr::from(([127, 0, 0, 1], 7117)),
            engine: EngineOptions::default(),
            snapshot_every: 1_000_000,
            read_only: false,
            max_connections: 1024,
            max_body: 8 << 20,
            max_features: 100_000,
            max_rate: None,
            header_seconds: 5,
            body_seconds: 30,
            idle_seconds: 60,
            import: Vec::new(),
        }
    }
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The data folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A model's folder.
    #[error("model {model}: {source}")]
    Store {
        /// Which.
        model: String,
        /// What is wrong.
        source: StoreError,
    },
    /// A model that is to be imported.
    #[error("--model {name}={}: {message}", path.display())]
    Import {
        /// Its name.
        name: String,
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// It cannot listen.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// No threads.
    #[error("cannot start threads: {0}")]
    Threads(std::io::Error),
    /// Others could connect without a token.
    #[error("{address} is not loopback, and there are no tokens: anyone could learn and read")]
    Open {
        /// Where.
        address: SocketAddr,
    },
}

impl ServeError {
    /// A way out, if one is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Store { source: StoreError::Damaged { .. } | StoreError::Gap { .. }, .. } => {
                Some("restore the folder from a backup, or keep what is whole: cognate recover DIR")
            }
            Self::Folder(FolderError::Locked { .. }) => Some("stop the other server, or name another folder"),
            Self::Open { .. } => Some(
                "make a file of tokens with `cognate token NAME --scopes …` and give it with --tokens, or listen on 127.0.0.1",
            ),
            _ => None,
        }
    }
}

impl From<(String, StoreError)> for ServeError {
    fn from((model, source): (String, StoreError)) -> Self {
        Self::Store { model, source }
    }
}

/// All that requests share.
#[derive(Debug)]
pub struct App {
    /// As it was started.
    pub options: ServeOptions,
    /// What is measured.
    pub metrics: Metrics,
    /// Who does what takes its time.
    pub(crate) background: Background,
    tokens: Tokens,
    anyone: Arc<Token>,
    folder: DataFolder,
    models: RwLock<BTreeMap<String, Arc<Live>>>,
    /// Held while a model is made or removed.
    changing: Mutex<()>,
    ready: AtomicBool,
    stopping: AtomicBool,
}

impl App {
    /// Opens the data folder and all models in it.
    ///
    /// # Errors
    /// When one of them cannot be opened.
    pub fn open(options: ServeOptions, tokens: Tokens) -> Result<Self, ServeError> {
        let folder = DataFolder::open(&options.folder)?;
        let app = Self {
            metrics: Metrics::new(),
            background: Background::start().map_err(ServeError::Threads)?,
            tokens,
            anyone: Arc::new(Token::anyone()),
            folder,
            models: RwLock::default(),
            changing: Mutex::default(),
            ready: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            options,
        };
        for (name, path) in &app.options.import {
            app.import(name, path)?;
        }
        if app.folder.models()?.is_empty() {
            let model = Model::new(&RunConfig::default()).expect("the default config is valid");
            app.make("default", model)?;
        }
        for name in app.folder.models()? {
            app.open_model(&name)?;
        }
        app.ready.store(true, Ordering::Relaxed);
        Ok(app)
    }

    fn import(&self, name: &str, path: &std::path::Path) -> Result<(), ServeError> {
        let refuse =
            |message: String| ServeError::Import { name: name.to_owned(), path: path.to_owned(), message };
        if !is_model_name(name) {
            return Err(refuse(format!("found the name {name:?}; expected {MODEL_NAMES}")));
        }
        if self.folder.model(name).exists() {
            info!(model = name, "the model is there already; the file is left alone");
            return Ok(());
        }
        let model = Model::load(path).map_err(|error| refuse(error.to_string()))?;
        check_lives(&model.run_config()).map_err(|failure| refuse(failure.message))?;
        self.make(name, model)
    }

    fn make(&self, name: &str, model: Model) -> Result<(), ServeError> {
        let options = self.options.engine;
        self.folder.create(name, |folder| {
            Live::create(RealDisk, folder, model, options)
                .map_err(|error| ServeError::from((name.to_owned(), error)))
        })
    }

    fn open_model(&self, name: &str) -> Result<Arc<Live>, ServeError> {
        let ServeOptions { engine, snapshot_every, .. } = self.options;
        let path = self.folder.model(name);
        let opened = Live::open(RealDisk, &path, engine, snapshot_every, self.metrics.model(name));
        let (live, recovered) = opened.map_err(|error| ServeError::from((name.to_owned(), error)))?;
        info!(model = name, snapshot = recovered.snapshot, replayed = recovered.replayed, "opened");
        if let Some((path, at)) = &recovered.cut {
            let log = path.display();
            warn!(model = name, %log, at, "the last group in the log was not whole: it was never acknowledged, and is cut off");
        }
        let live = Arc::new(live);
        let mut models = self.models.write().unwrap_or_else(PoisonError::into_inner);
        models.insert(name.to_owned(), Arc::clone(&live));
        Ok(live)
    }

    /// A model by name.
    ///
    /// # Errors
    /// When there is none.
    pub fn model(&self, name: &str) -> Result<Arc<Live>, Failure> {
        let models = self.models.read().unwrap_or_else(PoisonError::into_inner);
        models.get(name).cloned().ok_or_else(Failure::not_found)
    }

    /// All models, by name.
    pub fn models(&self) -> Vec<(String, Arc<Live>)> {
        let models = self.models.read().unwrap_or_else(PoisonError::into_inner);
        models.iter().map(|(name, live)| (name.clone(), Arc::clone(live))).collect()
    }

    /// Makes a model; whether it is new. It takes a while: not where others are answered.
    ///
    /// # Errors
    /// When the name or the config is none, or the name is that of another model.
    pub fn create(&self, name: &str, config: &RunConfig) -> Result<bool, Failure> {
        if !is_model_name(name) {
            let shown: String = name.chars().take(40).flat_map(char::escape_default).collect();
            let message = format!("found the name \"{shown}\"; expected {MODEL_NAMES}");
            return Err(Failure::new(Code::OutOfRange, message));
        }
        check_lives(config)?;
        let model = Model::new(config).map_err(|error: ConfigError| Failure::of_config(&error))?;
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(live) = self.model(name) {
            // Features may have got names since.
            let mut known = live.read().model.run_config();
            (known.stream.naming, known.stream.format) = (config.stream.naming, config.stream.format.clone());
            let same = known == model.run_config();
            let message = format!("there is a model {name:?} with another config");
            let conflict =
                Failure::new(Code::Conflict, message).hint("delete it first, or choose another name");
            return if same { Ok(false) } else { Err(conflict) };
        }
        let made = self.make(name, model).and_then(|()| self.open_model(name));
        made.map(|_| true).map_err(|error| Failure::new(Code::Unavailable, error.to_string()))
    }

    /// Removes a model and all that is kept of it.
    ///
    /// # Errors
    /// When there is none, or its folder cannot be removed.
    pub fn remove(&self, name: &str) -> Result<(), Failure> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let live = {
            let mut models = self.models.write().unwrap_or_else(PoisonError::into_inner);
            models.remove(name).ok_or_else(Failure::not_found)?
        };
        live.stop(false);
        self.metrics.forget(name);
        self.folder.remove(name).map_err(|error| Failure::new(Code::Unavailable, error.to_string()))
    }

    /// Who asks, by the secret of a token.
    pub fn token(&self, secret: Option<&str>) -> Option<Arc<Token>> {
        if self.tokens.is_empty() {
            return Some(Arc::clone(&self.anyone));
        }
        secret.and_then(|secret| self.tokens.find(secret))
    }

    /// Why not everything can be asked at present.
    pub fn troubles(&self) -> Vec<String> {
        let mut troubles = Vec::new();
        if !self.ready.load(Ordering::Relaxed) {
            troubles.push("the log is being replayed".to_owned());
        }
        if self.stopping.load(Ordering::Relaxed) {
            troubles.push("the server is stopping".to_owned());
        }
        for (name, live) in self.models() {
            if let Some(cause) = live.summary().stopped {
                troubles.push(format!("model {name}: learning has stopped: {cause}"));
            }
        }
        if let Err(error) = self.folder.check_writable() {
            troubles.push(error.to_string());
        }
        troubles
    }

    /// From here on nothing new is taken.
    pub fn begin_stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Whether nothing new is taken any more.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Ends all models, each with a snapshot.
    pub fn stop(&self) {
        for (name, live) in self.models() {
            live.stop(true);
            info!(model = name, seq = live.read().snapshot_seq, "closed");
        }
    }
}

/// Whether a model of this config can learn live.
fn check_lives(config: &RunConfig) -> Result<(), Failure> {
    let refuse = |path: &str, message: String| Err(Failure::new(Code::OutOfRange, message).at(path));
    let (about, stream) = (config.learner.about(), &config.stream);
    if about.protocol == Protocol::Batch {
        let message = format!(
            "`{}` is fitted to all examples at once; a live model learns one after the other",
            about.id
        );
        return refuse("learner", message);
    }
    if stream.simultaneous {
        let message = "a live model learns one example per round, not one of every task".to_owned();
        return refuse("stream.simultaneous", message);
    }
    if stream.one_vs_all {
        return refuse(
            "stream.one-vs-all",
            "a live model learns two labels, or numbers; not classes".to_owned(),
        );
    }
    if stream.passes != 1 {
        return refuse(
            "stream.passes",
            format!("must be 1 where examples come one by one, got {}", stream.passes),
        );
    }
    if !stream.order.is_as_read() {
        return refuse("stream.order", "must be \"file\" where examples come one by one".to_owned());
    }
    Ok(())
}
