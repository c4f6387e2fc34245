//! `cognate demo --serve`: a server with a made stream that goes on learning, to look at in a browser.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use cognate_server::live::{Job, Live};
use cognate_server::tokens::Tokens;
use cognate_server::{Bound, ServeOptions, serve};
use tokio::sync::oneshot;

use super::readers::Readers;
use crate::args::DemoArgs;
use crate::interrupt::Interrupt;
use crate::output::{say, to_stdout};

/// Between two requests of the stream, and texts of one.
const PERIOD: Duration = Duration::from_millis(250);
const TEXTS: usize = 20;
/// How often it is asked whether a signal has come.
const LOOK: Duration = Duration::from_millis(20);

/// A folder that is removed when this is dropped.
struct Folder(PathBuf);

impl Folder {
    fn make() -> anyhow::Result<Self> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let path = std::env::temp_dir().join(format!("cognate-demo-{}-{since}", std::process::id()));
        std::fs::create_dir(&path).with_context(|| path.display().to_string())?;
        Ok(Self(path))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed stays in the folder of temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs the command.
pub(super) fn run(args: &DemoArgs, quiet: bool) -> anyhow::Result<()> {
    let folder = Folder::make()?;
    let options = ServeOptions { listen: args.listen, ..ServeOptions::new(folder.path()) };
    let interrupt = Interrupt::listen()?;
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("requests").build()?;
    threads.block_on(async {
        let bound = Bound::new(options, Tokens::default()).await.map_err(|error| {
            anyhow::Error::from(error).context("the demo does not start; --listen 127.0.0.1:0 picks a free port")
        })?;
        let address = bound.address();
        to_stdout(|out| writeln!(out, "listening on http://{address}"))?;
        if !quiet {
            say(&format!(
                "38 readers like what their groups like; one text in 25 has no label and waits for you on the page Label. Open \
                 http://{address} in a browser; Ctrl-C ends it and leaves nothing behind"
            ));
        }
        let live = bound.app().model("default").map_err(|failure| anyhow::anyhow!(failure.message))?;
        let stream = tokio::spawn(feed(live, Readers::new(args.seed)));
        let stop = async {
            while !interrupt.asked() {
                tokio::time::sleep(LOOK).await;
            }
        };
        serve(bound, stop).await;
        stream.abort();
        Ok(())
    })
}

/// Learns the stream until the model is closed.
async fn feed(live: Arc<Live>, mut readers: Readers) {
    let mut timer = tokio::time::interval(PERIOD);
    loop {
        timer.tick().await;
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        let (reply, learnt) = oneshot::channel();
        let job = Job::Learn { examples: readers.batch(TEXTS), key: None, time, reply };
        let closed = live.ask(job).is_err() || !matches!(learnt.await, Ok(Ok(_)));
        if closed {
            return;
        }
    }
}
