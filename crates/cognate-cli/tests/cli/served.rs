//! Commands that take a model from a running server, and the pages and files about servers, beside the real program.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::support::{Folder, Ran, cognate};

/// `cognate serve` on a free port, in a folder; ended without a warning when a test fails.
pub(super) struct Server(Child, SocketAddr);

impl Server {
    pub(super) fn start(folder: &Folder, flags: &str) -> Self {
        let mut command = cognate();
        command.args(["serve", "data", "--listen", "127.0.0.1:0", "--log-level", "error"]);
        Self::of(command.args(flags.split_whitespace()).current_dir(folder.path("")))
    }

    /// The server that a command starts.
    pub(super) fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut first = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut first).expect("text");
        let address = first.trim().strip_prefix("listening on http://").and_then(|text| text.parse().ok());
        Self(child, address.unwrap_or_else(|| panic!("no address in {first:?}")))
    }

    fn url(&self) -> String {
        format!("http://{}", self.1)
    }

    /// Asks once; status and body.
    pub(super) fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.1).expect("it listens");
        let length = body.len();
        let head =
            format!("{method} {path} HTTP/1.0\r\nhost: x\r\ncontent-length: {length}\r\n{headers}\r\n");
        stream.write_all((head + body).as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, body.to_owned())
    }

    /// Ends it as an operator does.
    pub(super) fn stop(mut self) {
        let sent = Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status().expect("kill");
        assert!(sent.success());
        assert_eq!(self.0.wait().expect("a child").code(), Some(0));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const MAIL: &str = "\
{\"task\": \"alice\", \"features\": {\"offer\": 1, \"hello\": 0.5}, \"label\": 1}
{\"task\": \"bob\", \"features\": {\"meeting\": 1, \"hello\": 0.5}, \"label\": -1}
{\"task\": \"carol\", \"features\": {\"offer\": 1}, \"label\": 1}
";

/// A server whose model has learnt, and the same examples in a file.
fn learnt(flags: &str, headers: &str) -> (Folder, Server) {
    let folder = Folder::with("mail.jsonl", MAIL);
    let server = Server::start(&folder, flags);
    let kind = format!("content-type: application/x-ndjson\r\n{headers}");
    let learned = server.ask("POST", "/v1/models/default/learn", &kind, MAIL);
    assert_eq!(learned.0, 200, "{}", learned.1);
    (folder, server)
}

#[test]
fn a_served_model_is_shown_as_the_file_that_learn_makes() {
    let (folder, server) = learnt("", "");
    folder.output("learn mail.jsonl --model file.cog --quiet");
    let url = server.url();
    for (of_file, of_server) in [
        ("predict mail.jsonl --model file.cog", format!("predict mail.jsonl --model default --server {url}")),
        (
            "predict mail.jsonl --model file.cog --json --probability",
            format!("predict mail.jsonl --model default --json --probability --server {url}/"),
        ),
        ("inspect file.cog --weights", format!("inspect --server {url} --weights")),
        (
            "inspect file.cog --explain alice",
            format!("inspect --server {url} --model default --explain alice"),
        ),
        ("inspect file.cog --strict", format!("inspect --server {url} --strict")),
        ("relations file.cog", format!("relations --server {url}")),
        ("relations file.cog --json", format!("relations --model default --json --server {url}")),
    ] {
        assert_eq!(folder.output(&of_server), folder.output(of_file), "{of_server}");
    }
    server.stop();
}

#[test]
fn snapshots_of_a_server_are_model_files_also_after_it_has_ended() {
    let (folder, server) = learnt("", "");
    server.stop();
    let is_snapshot = |path: &PathBuf| path.extension().is_some_and(|end| end == "cog");
    let entries = std::fs::read_dir(folder.path("data/models/default")).expect("the model's folder");
    let found = entries.map(|entry| entry.expect("an entry").path()).filter(is_snapshot).max();
    std::fs::copy(found.expect("a snapshot"), folder.path("copy.cog")).expect("a file");
    folder.output("learn mail.jsonl --model file.cog --quiet");
    assert_eq!(folder.read("copy.cog"), folder.read("file.cog"), "what learn makes of the same examples");
    for line in [
        "inspect M",
        "relations M",
        "predict mail.jsonl --model M",
        "learn mail.jsonl --resume M --quiet --model next.cog",
    ] {
        folder.output(&line.replace('M', "copy.cog"));
    }
}

#[test]
fn a_token_is_read_from_a_file_or_the_environment_and_never_from_an_address() {
    let folder = Folder::new();
    let made = Ran::of(&mut folder.command("token ops --scopes learn,admin"));
    folder.write("data-tokens", &made.stdout);
    let secret = made.stderr.split_whitespace().last().expect("a secret").to_owned();
    let tokens = folder.path("data-tokens");
    let flags = format!("--tokens {}", tokens.display());
    let (folder, server) = learnt(&flags, &format!("authorization: Bearer {secret}\r\n"));
    let url = server.url();
    let refused = folder.refused(
        &format!("inspect --server {url}"),
        &["a token is needed (status 401)", "--token-file FILE"],
    );
    assert!(!refused.stderr.contains(&secret));
    folder.write("secret", format!("{secret}\n"));
    let by_file = folder.output(&format!("inspect --server {url} --token-file secret"));
    let by_environment =
        Ran::of(folder.command(&format!("inspect --server {url}")).env("COGNATE_TOKEN", &secret));
    assert_eq!(by_environment.stdout, by_file);
    let host = url.strip_prefix("http://").expect("a scheme");
    folder.refused(
        &format!("inspect --server http://ops:secret@{host}"),
        &["holds more than host, port and path"],
    );
    folder.refused(
        &format!("inspect --server {url} --model other --token-file secret"),
        &["model other:", "(status 404)"],
    );
    folder.write("empty", "\n");
    folder.refused(&format!("inspect --server {url} --token-file empty"), &["expected one secret"]);
}

#[test]
fn a_server_that_is_none_is_told_so() {
    let folder = Folder::with("mail.jsonl", MAIL);
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    drop(taken);
    folder.refused(
        &format!("inspect --server http://{address}"),
        &[&format!("--server http://{address}: "), "refused"],
    );
    folder.refused("inspect --server https://example.org", &["speaks plain HTTP only", "curl"]);
    folder.refused("inspect --server example.org", &["expected http://HOST:PORT"]);
    folder.refused("inspect", &["<M>"]);
    folder.refused("inspect m.cog --server http://localhost", &["cannot be used with"]);
    folder.refused("predict mail.jsonl --model m --token-file x", &["--server"]);
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two folders up").to_owned()
}

/// The metrics that a text names.
fn metrics(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let is_metric = |word: &&str| word.starts_with("cognate_") || word.starts_with("http_request");
    words.filter(is_metric).map(str::to_owned).collect()
}

#[test]
fn dashboard_and_alert_rules_name_metrics_that_there_are() {
    let (_folder, server) = learnt("", "");
    let (status, text) = server.ask("GET", "/metrics", "", "");
    assert_eq!(status, 200);
    let samples: String =
        text.lines().filter(|line| !line.starts_with('#')).map(|line| line.to_owned() + "\n").collect();
    let known = metrics(&samples);
    for file in ["grafana.json", "alerts.yml"] {
        let named = metrics(&std::fs::read_to_string(root().join("deploy").join(file)).expect("a file"));
        assert!(named.len() > 5, "{file}: {named:?}");
        let unknown: Vec<_> = named.difference(&known).collect();
        assert!(unknown.is_empty(), "{file} names {unknown:?}; there are {known:?}");
    }
    let dashboard = std::fs::read_to_string(root().join("deploy/grafana.json")).expect("a file");
    let dashboard: serde_json::Value = serde_json::from_str(&dashboard).expect("JSON");
    let seen = metrics(&dashboard.to_string());
    let is_part = |name: &&String| ["_bucket", "_sum", "_count"].iter().any(|end| name.ends_with(end));
    let counted: Vec<_> = known.difference(&seen).filter(|name| !is_part(name)).collect();
    assert!(counted.is_empty(), "the dashboard shows nothing of {counted:?}");
}

#[test]
fn the_settings_of_the_service_are_taken() {
    let folder = Folder::new();
    let config = root().join("deploy/serve.toml");
    let text = std::fs::read_to_string(&config).expect("a file");
    // With every line that is commented out as well, but for the tokens.
    let all =
        text.lines().map(|line| line.strip_prefix("# ").filter(|line| line.contains(" = ")).unwrap_or(line));
    let all: Vec<&str> = all.filter(|line| !line.starts_with("tokens")).collect();
    folder.write("all.toml", all.join("\n"));
    for config in [config.display().to_string(), "all.toml".to_owned()] {
        Server::start(&folder, &format!("--config {config}")).stop();
    }
}

/// The blocks of a page in this language.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let mut blocks = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once("\n```") {
        let Some((block, after)) = after.split_once("\n```") else { break };
        blocks.push(block.split_once('\n').unwrap_or((block, "")));
        rest = after;
    }
    blocks
}

#[test]
fn every_command_of_the_page_about_servers_works() {
    if !Command::new("curl")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
    {
        let _ = writeln!(std::io::stderr(), "skipped: there is no curl");
        return;
    }
    let folder = Folder::new();
    let page = std::fs::read_to_string(root().join("docs/serve.md")).expect("a page");
    let port = TcpListener::bind("127.0.0.1:0").and_then(|taken| taken.local_addr()).expect("a port").port();
    let program = Path::new(super::support::PROGRAM).parent().expect("a folder");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let mut script = "set -eu -o pipefail\ncurl() { command curl --fail --show-error \"$@\"; }\ntrap 'kill $(jobs -p) 2>/dev/null; wait' EXIT\n".to_owned();
    let blocks = blocks(&page);
    for (at, (language, text)) in blocks.iter().enumerate() {
        if *language == "sh" {
            script += &format!("{}\nprintf '\\n@@%s\\n' {at}\n", text.replace("7117", &port.to_string()));
        }
    }
    let mut bash = Command::new("bash");
    bash.args(["-c", &script]).current_dir(folder.path("")).env("PATH", path);
    bash.env("COGNATE_LISTEN", format!("127.0.0.1:{port}")).env("COGNATE_LOG_LEVEL", "error");
    let ran = Ran::of(assert_cmd::Command::from_std(bash).timeout(super::support::PATIENCE));
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
    // What the page shows is what was printed by the block before.
    let mut shown = 0;
    for (at, pair) in blocks.windows(2).enumerate() {
        let [("sh", _), ("json", expected)] = pair else { continue };
        let (before, _) = ran.stdout.split_once(&format!("\n@@{at}\n")).expect("every block has run");
        let printed = before
            .rsplit_once("@@")
            .map_or(before, |(_, rest)| rest.split_once('\n').map_or("", |(_, rest)| rest));
        assert_eq!(printed.trim(), expected.trim(), "docs/serve.md, block {at}");
        shown += 1;
    }
    assert!(shown >= 2);
}
