//! How is a model of a running server fetched? One request, over plain HTTP: TLS is the business of a proxy.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::args::remote::ServerArgs;
use crate::output::Advised;

/// How long a connection, and then each part of the answer, may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Where the secret of a token is, if no file is named.
const TOKEN: &str = "COGNATE_TOKEN";
/// The port of `cognate serve` by default.
const PORT: u16 = 7117;

/// An address in its parts.
#[derive(Debug, PartialEq)]
struct Address {
    host: String,
    port: u16,
    /// Before the routes, if a proxy puts them below one.
    path: String,
}

/// The bytes of a model as it is now: those of a model file.
pub(crate) fn model_bytes(name: &str, args: &ServerArgs) -> anyhow::Result<Vec<u8>> {
    let url = args.server.as_deref().unwrap_or_default();
    let address = address(url)?;
    let token = token(args.token_file.as_deref())?;
    let request = request(&address, name, token.as_deref());
    let answer = ask(&address, &request).with_context(|| format!("--server {url}"))?;
    content(url, name, &answer)
}

fn advised(message: String, advice: &str) -> anyhow::Error {
    Advised { message, advice: advice.to_owned() }.into()
}

fn address(url: &str) -> anyhow::Result<Address> {
    if url.starts_with("https://") {
        let advice = "ask the server itself, on its own machine, or save the model with curl: GET …/v1/models/NAME/snapshot";
        return Err(advised(format!("--server {url}: this program speaks plain HTTP only"), advice));
    }
    let Some(rest) = url.strip_prefix("http://") else {
        bail!("--server {url:?}: expected http://HOST:PORT");
    };
    let (place, path) = rest.split_once('/').map_or((rest, ""), |(place, path)| (place, path));
    if place.contains('@') || rest.contains(['?', '#']) || rest.contains(char::is_whitespace) {
        let advice = "the secret of a token comes from --token-file or COGNATE_TOKEN, never from an address";
        return Err(advised("--server: the address holds more than host, port and path".to_owned(), advice));
    }
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            (host, port.parse().with_context(|| format!("--server {url}: the port {port:?}"))?)
        }
        _ => (place, PORT),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if host.is_empty() {
        bail!("--server {url:?}: expected http://HOST:PORT");
    }
    let path = if path.is_empty() { String::new() } else { format!("/{}", path.trim_end_matches('/')) };
    Ok(Address { host: host.to_owned(), port, path })
}

/// The secret of a token, if there is one.
fn token(file: Option<&Path>) -> anyhow::Result<Option<String>> {
    let (what, text) = match file {
        Some(file) => {
            let text = std::fs::read_to_string(file);
            (format!("--token-file {}", file.display()), text.with_context(|| file.display().to_string())?)
        }
        None => match std::env::var(TOKEN) {
            Ok(text) => (TOKEN.to_owned(), text),
            Err(_) => return Ok(None),
        },
    };
    let secret = text.trim();
    if secret.is_empty() || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
        bail!("{what}: expected one secret, of visible characters, as `cognate token` prints it");
    }
    Ok(Some(secret.to_owned()))
}

/// HTTP/1.0, so that the answer comes in one piece and ends with the connection.
fn request(address: &Address, name: &str, token: Option<&str>) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let name: String = name
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect();
    let Address { host, port, path } = address;
    let authorization = token.map_or(String::new(), |token| format!("authorization: Bearer {token}\r\n"));
    format!(
        "GET {path}/v1/models/{name}/snapshot HTTP/1.0\r\nhost: {host}:{port}\r\nconnection: close\r\n{authorization}\r\n"
    )
}

fn ask(address: &Address, request: &str) -> anyhow::Result<Vec<u8>> {
    let mut failed = None;
    for place in (address.host.as_str(), address.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&place, PATIENCE) {
            Ok(mut stream) => {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.write_all(request.as_bytes())?;
                let mut answer = Vec::new();
                stream.read_to_end(&mut answer)?;
                return Ok(answer);
            }
            Err(error) => failed = Some(error),
        }
    }
    Err(failed.map_or_else(|| anyhow::Error::msg("the host has no address"), Into::into))
}

/// The body of an answer that is a model.
fn content(url: &str, name: &str, answer: &[u8]) -> anyhow::Result<Vec<u8>> {
    let odd = || format!("--server {url}: the answer is not HTTP; is this `cognate serve`?");
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").with_context(odd)?;
    let head = std::str::from_utf8(&answer[..end]).ok().with_context(odd)?;
    let mut lines = head.lines();
    let status: u16 = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).with_context(odd)?;
    let length = lines.find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let body = &answer[end + 4..];
    if length.is_some_and(|length| length != body.len()) {
        bail!("--server {url}: the answer was cut off after {} bytes", body.len());
    }
    if status == 200 {
        return Ok(body.to_vec());
    }
    let error: Value = serde_json::from_slice(body).unwrap_or_default();
    let said = |key: &str| error["error"][key].as_str().map(str::to_owned);
    let message = said("message").unwrap_or_else(|| "the server refused".to_owned());
    let message = format!("--server {url}: model {name}: {message} (status {status})");
    match (status, said("hint")) {
        (401, _) => Err(advised(message, "--token-file FILE, or the environment variable COGNATE_TOKEN")),
        (_, Some(hint)) => Err(advised(message, &hint)),
        (_, None) => Err(anyhow::Error::msg(message)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        for (url, host, port, path) in [
            ("http://localhost", "localhost", 7117, ""),
            ("http://127.0.0.1:80/", "127.0.0.1", 80, ""),
            ("http://[::1]:7118/cognate/", "::1", 7118, "/cognate"),
            ("http://[::1]", "::1", 7117, ""),
        ] {
            let expected = Address { host: host.to_owned(), port, path: path.to_owned() };
            assert_eq!(address(url).unwrap(), expected, "{url}");
        }
        for url in
            ["localhost:7117", "https://x", "http://", "http://a:b", "http://me:secret@x", "http://x?token=1"]
        {
            let refused = address(url).unwrap_err().to_string();
            assert!(refused.starts_with("--server") && !refused.contains("secret"), "{refused}");
        }
    }

    #[test]
    fn an_answer_is_a_model_or_says_why_not() {
        let found = |answer: &[u8]| content("http://x", "mail", answer);
        assert_eq!(found(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc").unwrap(), b"abc");
        for (answer, expected) in [
            (&b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nabc"[..], "cut off after 3 bytes"),
            (b"SSH-2.0\r\n", "not HTTP"),
            (b"HTTP/1.1 502 Bad Gateway\r\n\r\n<html>", "model mail: the server refused (status 502)"),
            (
                b"HTTP/1.1 404 Not Found\r\n\r\n{\"error\":{\"message\":\"nothing here\"}}",
                "model mail: nothing here (status 404)",
            ),
        ] {
            let refused = found(answer).unwrap_err().to_string();
            assert!(refused.contains(expected), "{refused}");
        }
    }

    #[test]
    fn names_cannot_break_out_of_a_request() {
        let address = Address { host: "h".to_owned(), port: 1, path: String::new() };
        let request = request(&address, "a/../b\r\nx", Some("cog_1"));
        assert!(request.starts_with("GET /v1/models/a%2F..%2Fb%0D%0Ax/snapshot HTTP/1.0\r\n"), "{request}");
        assert!(request.ends_with("authorization: Bearer cog_1\r\n\r\n"), "{request}");
    }
}
