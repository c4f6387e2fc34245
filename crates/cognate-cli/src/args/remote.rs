//! Flags of commands that can ask a running server for the model.

use std::path::{Path, PathBuf};

use clap::Args;

/// Where a server is, and who asks.
#[derive(Debug, Default, Args)]
pub(crate) struct ServerArgs {
    /// Take the model as it is now from a running `cognate serve`, by its name: http://HOST:PORT
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// File with the secret of a token for it, of scope admin; by default the environment variable COGNATE_TOKEN
    #[arg(long, value_name = "FILE", requires = "server")]
    pub(crate) token_file: Option<PathBuf>,
}

/// A model in a file, or of a server.
#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// The model
    #[arg(value_name = "M", required_unless_present = "server", conflicts_with = "server")]
    pub(crate) file: Option<PathBuf>,
    /// With --server: the name of the model
    #[arg(long = "model", value_name = "NAME", requires = "server", default_value = "default")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) from: ServerArgs,
}

/// Which model is meant.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source<'a> {
    /// A file.
    File(&'a Path),
    /// A model of a server, by name.
    Server(&'a Path, &'a ServerArgs),
}

impl ServerArgs {
    /// A model by name if a server is named, else in a file.
    pub(crate) fn source<'a>(&'a self, model: &'a Path) -> Source<'a> {
        if self.server.is_some() { Source::Server(model, self) } else { Source::File(model) }
    }
}

impl ModelArgs {
    /// Which model is meant.
    pub(crate) fn source(&self) -> Source<'_> {
        match &self.file {
            Some(file) => Source::File(file),
            None => Source::Server(Path::new(&self.name), &self.from),
        }
    }
}
