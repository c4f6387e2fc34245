//! What is known of a request: who asks, which model, the body within its limits.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use http_body_util::BodyExt;
use serde::Serialize;

use crate::app::App;
use crate::entry::Key;
use crate::failure::{Code, Failure};
use crate::live::Live;
use crate::tokens::{Token, digest};

/// Bodies up to here are done where they came in, in some tenths of a millisecond; larger ones elsewhere, so that others are answered
/// meanwhile.
pub(super) const SMALL: usize = 16 << 10;

/// A request on its way.
pub(super) struct Call {
    pub(super) app: Arc<App>,
    pub(super) who: Arc<Token>,
    pub(super) headers: HeaderMap,
    /// The parts of the path that have names.
    pub(super) names: Vec<(String, String)>,
    pub(super) query: String,
    body: Option<Body>,
}

impl Call {
    pub(super) fn new(
        app: Arc<App>,
        who: Arc<Token>,
        names: Vec<(String, String)>,
        request: Request,
    ) -> Self {
        let (parts, body) = request.into_parts();
        let query = parts.uri.query().unwrap_or_default().to_owned();
        Self { app, who, headers: parts.headers, names, query, body: Some(body) }
    }

    /// A part of the path.
    pub(super) fn name(&self, name: &str) -> &str {
        self.names.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// The model that is asked.
    pub(super) fn model(&self) -> Result<Arc<Live>, Failure> {
        self.app.model(self.name("model"))
    }

    /// The body, all of it, in time.
    pub(super) async fn body(&mut self) -> Result<Bytes, Failure> {
        let most = self.app.options.max_body;
        let too_large = || {
            let message = format!("the body has more than {most} bytes");
            Failure::new(Code::TooLarge, message).hint("send several requests, or allow more with --max-body")
        };
        let length =
            self.headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        if length.is_some_and(|length: u64| length > most as u64) {
            return Err(too_large());
        }
        let Some(body) = self.body.take() else { return Ok(Bytes::new()) };
        let limited = http_body_util::Limited::new(body, most).collect();
        match tokio::time::timeout(Duration::from_secs(self.app.options.body_seconds), limited).await {
            Ok(Ok(collected)) => Ok(collected.to_bytes()),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(too_large()),
            Ok(Err(error)) => Err(Failure::new(Code::Malformed, format!("the body was cut off: {error}"))),
            Err(_) => {
                let message = format!("the body did not come within {} s", self.app.options.body_seconds);
                Err(Failure::new(Code::Timeout, message))
            }
        }
    }

    /// By what a request is known when it comes again.
    pub(super) fn key(&self, body: &[u8]) -> Result<Option<Key>, Failure> {
        let Some(given) = self.headers.get("idempotency-key") else { return Ok(None) };
        let is_key = !given.is_empty() && given.len() <= 255 && given.to_str().is_ok();
        if !is_key {
            let message = "the Idempotency-Key is not 1 to 255 visible characters of ASCII";
            return Err(Failure::new(Code::Malformed, message));
        }
        let first = |digest: [u8; 32]| std::array::from_fn(|at| digest[at]);
        let key = digest(&[self.who.name.as_bytes(), given.as_bytes()]);
        let body = digest(&[self.name("model").as_bytes(), body]);
        Ok(Some(Key { key: first(key), body: std::array::from_fn(|at| body[at]) }))
    }

    /// A parameter of the query.
    pub(super) fn parameter(&self, name: &str) -> Result<Option<String>, Failure> {
        for pair in self.query.split('&') {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if key == name {
                let value = decode(value).ok_or_else(|| {
                    Failure::new(
                        Code::Malformed,
                        format!("the value of ?{name}= is not percent-encoded UTF-8"),
                    )
                })?;
                return Ok(Some(value));
            }
        }
        Ok(None)
    }
}

/// Parses a body, off the threads that answer others if it is large.
pub(super) async fn parsed<T: Send + 'static>(
    app: &App,
    body: Bytes,
    parse: impl FnOnce(&[u8]) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    if body.len() <= SMALL {
        return parse(&body);
    }
    app.background.run(move || parse(&body)).await?
}

/// Runs something that takes its time where nobody waits for others.
pub(super) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Failure::new(Code::Internal, error.to_string()))
}

/// Undoes percent-encoding, where `+` is a blank.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// An answer in JSON.
pub(super) fn json(status: StatusCode, answer: &impl Serialize) -> Response {
    match serde_json::to_vec(answer) {
        Ok(bytes) => with_type(status, "application/json", bytes),
        Err(error) => refusal(&Failure::new(Code::Internal, error.to_string())),
    }
}

/// An answer of some type.
pub(super) fn with_type(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// A refusal.
pub(super) fn refusal(failure: &Failure) -> Response {
    let status = StatusCode::from_u16(failure.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = serde_json::to_vec(&failure.body()).unwrap_or_default();
    let mut response = with_type(status, "application/json", body);
    let headers = response.headers_mut();
    if let Some(seconds) = failure.retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    match failure.code {
        Code::Unauthorized => {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        // What is still to come of the body is not waited for.
        Code::Timeout | Code::TooLarge => {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        _ => {}
    }
    response
}
