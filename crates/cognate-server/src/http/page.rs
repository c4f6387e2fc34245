//! The dashboard: files that are part of the program, made by `cargo xtask vendor`.

use std::io::Write;
use std::sync::LazyLock;

use axum::body::Bytes;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::call::{Call, with_type};
use crate::failure::Failure;
use crate::tokens::{Hex, digest};

/// What the page may do: load its own files, ask its own server, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

struct File {
    name: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
    gzip: Vec<u8>,
    tag: String,
}

impl File {
    fn new(name: &'static str, kind: &'static str, bytes: &'static [u8]) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        // Writing to memory does not fail.
        let gzip = encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default();
        let tag = format!("\"{}\"", Hex(&digest(&[bytes])[..16]));
        Self { name, kind, bytes, gzip, tag }
    }
}

static FILES: LazyLock<[File; 4]> = LazyLock::new(|| {
    [
        File::new("", "text/html; charset=utf-8", include_bytes!("../../page/dist/index.html")),
        File::new("app.js", "text/javascript; charset=utf-8", include_bytes!("../../page/dist/app.js")),
        File::new("app.css", "text/css; charset=utf-8", include_bytes!("../../page/dist/app.css")),
        File::new("icon.svg", "image/svg+xml", include_bytes!("../../page/dist/icon.svg")),
    ]
});

/// `GET /` and `GET /page/{file}`
pub(super) async fn file(call: Call) -> Result<Response, Failure> {
    let name = call.name("file");
    let file = FILES.iter().find(|file| file.name == name).ok_or_else(Failure::not_found)?;
    let given = |name| call.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let known =
        given(header::IF_NONE_MATCH).split(',').any(|tag| tag.trim().trim_start_matches("W/") == file.tag);
    let zipped = given(header::ACCEPT_ENCODING)
        .split(',')
        .any(|kind| kind.trim().eq_ignore_ascii_case("gzip") || kind.trim().starts_with("gzip;q=1"));
    let mut response = match (known, zipped) {
        (true, _) => with_type(StatusCode::NOT_MODIFIED, file.kind, Bytes::new()),
        (false, true) => with_type(StatusCode::OK, file.kind, Bytes::from_static(&file.gzip)),
        (false, false) => with_type(StatusCode::OK, file.kind, Bytes::from_static(file.bytes)),
    };
    let headers = response.headers_mut();
    if zipped && !known {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    // It is asked each time whether there is a newer one: after an update of the server no old page is left.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    if let Ok(tag) = HeaderValue::from_str(&file.tag) {
        headers.insert(header::ETAG, tag);
    }
    Ok(response)
}
