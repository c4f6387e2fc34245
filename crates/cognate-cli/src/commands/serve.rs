//! `cognate serve`: models that learn live.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use cognate_server::live::Durability;
use cognate_server::tokens::Tokens;
use cognate_server::{Bound, ServeError, ServeOptions, serve};
use tracing_subscriber::filter::LevelFilter;

use crate::args::serve::{DurabilityArg, LogFormat, LogLevel, ServeArgs, ServeSettings, UnknownTaskArg};
use crate::interrupt::{Interrupt, Said};
use crate::output::{Advised, to_stdout};

/// How often it is asked whether a signal has come.
const LOOK: Duration = Duration::from_millis(20);

/// What a signal is answered with.
const STOPPING: Said = Said {
    first: "stopping: requests under way are finished, and every model is saved",
    second: "still stopping; one more signal ends the program at once, and loses nothing that was acknowledged as durable",
};

/// Runs the command.
pub(crate) fn run(args: &ServeArgs) -> anyhow::Result<()> {
    let settings = settings(args)?;
    start_log(&settings);
    let options = options(&settings)?;
    let tokens = settings.tokens.as_deref().map(Tokens::read).transpose()?.unwrap_or_default();
    if settings.tokens.is_some() && tokens.is_empty() {
        let message = "--tokens: there is no token in the file".to_owned();
        return Err(
            Advised { message, advice: "cognate token NAME --scopes … makes a line".to_owned() }.into()
        );
    }
    let interrupt = Interrupt::listen_saying(STOPPING)?;
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("requests").build()?;
    threads.block_on(async {
        let bound = Bound::new(options, tokens).await.map_err(advised)?;
        let address = bound.address();
        to_stdout(|out| writeln!(out, "listening on http://{address}"))?;
        let stop = async {
            while !interrupt.asked() {
                tokio::time::sleep(LOOK).await;
            }
        };
        serve(bound, stop).await;
        Ok(())
    })
}

/// An error of the server with its way out.
fn advised(error: ServeError) -> anyhow::Error {
    match error.hint() {
        Some(advice) => Advised { message: error.to_string(), advice: advice.to_owned() }.into(),
        None => error.into(),
    }
}

/// What was set: by flags and in the environment, else in the config file.
fn settings(args: &ServeArgs) -> anyhow::Result<ServeSettings> {
    let given = ServeSettings { dir: args.dir.clone(), ..args.settings.clone() };
    let Some(path) = &args.config else { return Ok(given) };
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let filed: ServeSettings = toml::from_str(&text).with_context(|| path.display().to_string())?;
    Ok(given.or(filed))
}

fn options(settings: &ServeSettings) -> anyhow::Result<ServeOptions> {
    let Some(dir) = &settings.dir else {
        bail!("no data folder: cognate serve DIR, or dir = \"…\" in the config file");
    };
    let mut options = ServeOptions::new(dir);
    macro_rules! take {
        ($($field:ident => $($to:ident).+),*) => {
            $(if let Some(value) = settings.$field.clone() { options.$($to).+ = value; })*
        };
    }
    take!(
        listen => listen, max_connections => max_connections, max_body => max_body, max_features => max_features,
        max_tasks => engine.max_tasks, max_pending => engine.max_pending, snapshot_every => snapshot_every,
        header_timeout => header_seconds, body_timeout => body_seconds, idle_timeout => idle_seconds, read_only => read_only
    );
    for (flag, value) in [
        ("max-connections", options.max_connections),
        ("max-body", options.max_body),
        ("max-features", options.max_features),
        ("max-tasks", options.engine.max_tasks),
        ("snapshot-every", options.snapshot_every as usize),
        ("header-timeout", options.header_seconds as usize),
        ("body-timeout", options.body_seconds as usize),
        ("idle-timeout", options.idle_seconds as usize),
    ] {
        if value == 0 {
            bail!("--{flag}: must be at least 1, got 0");
        }
    }
    if let Some(rate) = settings.max_rate {
        if !(rate.is_finite() && rate > 0.0) {
            bail!("--max-rate: must be a finite number above 0, got {rate}");
        }
        options.max_rate = Some(rate);
    }
    options.engine.durability = match settings.durability {
        None | Some(DurabilityArg::Always) => Durability::Always,
        Some(DurabilityArg::Interval) => Durability::Interval,
        Some(DurabilityArg::None) => Durability::None,
    };
    options.engine.refuse_unknown_tasks = matches!(settings.unknown_task, Some(UnknownTaskArg::Refuse));
    options.import = settings.model.iter().flatten().map(|model| import(model)).collect::<Result<_, _>>()?;
    Ok(options)
}

fn import(model: &str) -> anyhow::Result<(String, PathBuf)> {
    let Some((name, path)) = model.split_once('=') else {
        bail!("--model {model}: expected NAME=FILE.cog");
    };
    Ok((name.to_owned(), Path::new(path).to_owned()))
}

/// Logs go to standard error.
fn start_log(settings: &ServeSettings) {
    let level = match settings.log_level.unwrap_or(LogLevel::Info) {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let log = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).with_target(false);
    match settings.log_format.unwrap_or(LogFormat::Text) {
        LogFormat::Json => log.json().flatten_event(true).init(),
        LogFormat::Text => log.with_ansi(false).init(),
    }
}
