//! Who may connect, and how does it all end?

use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tracing::{debug, info, warn};

use super::pace::{Answer, Pace, Paced, Times};
use super::routes::router;
use crate::app::{App, ServeError, ServeOptions};
use crate::tokens::Tokens;

/// How long requests under way may take once the server is to stop.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes that headers may have.
const MOST_HEADERS: usize = 64 << 10;

/// A server that listens, and has not answered anyone yet.
#[derive(Debug)]
pub struct Bound {
    listener: TcpListener,
    app: Arc<App>,
    address: SocketAddr,
}

impl Bound {
    /// Opens the data folder and listens.
    ///
    /// # Errors
    /// When a model cannot be opened, or the address is taken.
    pub async fn new(options: ServeOptions, tokens: Tokens) -> Result<Self, ServeError> {
        let address = options.listen;
        if !address.ip().is_loopback() && tokens.is_empty() {
            return Err(ServeError::Open { address });
        }
        let listen = |source| ServeError::Listen { address, source };
        let app = Arc::new(App::open(options, tokens)?);
        let listener = TcpListener::bind(address).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        Ok(Self { listener, app, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it holds.
    pub fn app(&self) -> Arc<App> {
        Arc::clone(&self.app)
    }
}

/// Answers until it is to stop; then finishes what is under way, and closes all models.
pub async fn serve(bound: Bound, stop: impl Future<Output = ()>) {
    let Bound { listener, app, .. } = bound;
    let (routes, open) = (router(&app), GracefulShutdown::new());
    let slots = Arc::new(Semaphore::new(app.options.max_connections));
    let mut stop = std::pin::pin!(stop);
    loop {
        let next = std::future::poll_fn(|context| match stop.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(None),
            Poll::Pending => listener.poll_accept(context).map(Some),
        });
        let Some(accepted) = next.await else { break };
        match accepted {
            Ok((stream, peer)) => match Arc::clone(&slots).try_acquire_owned() {
                Ok(slot) => {
                    let answered = answer(stream, routes.clone(), &app.options, &open);
                    tokio::spawn(async move {
                        if let Err(error) = answered.await {
                            debug!(%peer, %error, "connection ended");
                        }
                        drop(slot);
                    });
                }
                Err(_) => turn_away(&stream),
            },
            // One that has gone already, or no more files: others may be closed meanwhile.
            Err(error) => {
                warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    info!("stopping: requests under way are finished");
    app.begin_stop();
    drop(listener);
    if tokio::time::timeout(PATIENCE, open.shutdown()).await.is_err() {
        warn!("some requests were not finished in time");
    }
    let closed = tokio::task::spawn_blocking(move || app.stop());
    if closed.await.is_err() {
        warn!("a model could not be closed");
    }
}

/// Answers the requests of a connection.
fn answer(
    stream: TcpStream,
    routes: Router,
    options: &ServeOptions,
    open: &GracefulShutdown,
) -> impl Future<Output = hyper::Result<()>> + Send + use<> {
    // An answer is written at once; waiting to fill a packet would only delay it.
    let _ = stream.set_nodelay(true);
    let mut http = hyper::server::conn::http1::Builder::new();
    http.max_buf_size(MOST_HEADERS);
    let times = Times {
        head: Duration::from_secs(options.header_seconds),
        idle: Duration::from_secs(options.idle_seconds),
        answer: Duration::from_secs(options.body_seconds),
    };
    let (pace, service) = (Pace::new(), TowerToHyperService::new(routes));
    let stream = TokioIo::new(Paced::new(stream, Arc::clone(&pace), times));
    let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        pace.asked();
        let (pace, answer) = (Arc::clone(&pace), hyper::service::Service::call(&service, request));
        async move { answer.await.map(|answer| answer.map(|body| Answer::new(body, pace))) }
    });
    open.watch(http.serve_connection(stream, service))
}

/// Tells one connection too many so, if that can be done at once.
fn turn_away(stream: &TcpStream) {
    const ANSWER: &[u8] =
        b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n\
        connection: close\r\ncontent-length: 77\r\n\r\n\
        {\"error\":{\"code\":\"unavailable\",\"message\":\"too many connections are open\"}}   ";
    let _ = stream.try_write(ANSWER);
}
