//! A server within the test.

use std::net::SocketAddr;
use std::path::Path;
use std::thread::JoinHandle;

use cognate_server::drill::{Answer, Client};
use cognate_server::tokens::Tokens;
use cognate_server::{Bound, ServeError, ServeOptions, serve};
use tokio::sync::oneshot;

/// A server that runs until it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Options for a folder, on a free port.
pub(crate) fn options(folder: &Path) -> ServeOptions {
    ServeOptions { listen: SocketAddr::from(([127, 0, 0, 1], 0)), ..ServeOptions::new(folder) }
}

impl Server {
    pub(crate) fn start(options: ServeOptions, tokens: &str) -> Result<Self, ServeError> {
        let tokens = Tokens::parse(tokens).unwrap();
        let threads =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let bound = threads.block_on(Bound::new(options, tokens))?;
        let (address, (stop, stopped)) = (bound.address(), oneshot::channel());
        let thread = std::thread::spawn(move || {
            threads.block_on(serve(bound, async {
                let _ = stopped.await;
            }));
        });
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }

    /// One with the default options.
    pub(crate) fn plain(folder: &Path) -> Self {
        Self::start(options(folder), "").unwrap()
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address).unwrap()
    }

    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        self.client().ask(method, path, &[], body.as_bytes()).unwrap()
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        self.ask("POST", &format!("/v1/models/default/{path}"), body)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "")
    }

    /// Stops it, and waits until it has.
    pub(crate) fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// A body with one example.
pub(crate) fn example(task: &str, feature: &str, label: i32) -> String {
    format!("{{\"examples\":[{{\"task\":\"{task}\",\"features\":{{\"{feature}\":1}},\"label\":{label}}}]}}")
}
