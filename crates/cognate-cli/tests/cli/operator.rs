//! `cognate serve`, `token` and `recover` as an operator uses them.

use std::path::Path;
use std::process::{Command, Stdio};

use cognate_server::drill::{Client, Running};

use super::support::Folder;

const LEARN: &str = "/v1/models/default/learn";
const ONE: &[u8] = br#"{"examples":[{"task":"alice","features":{"offer":1},"label":1}]}"#;

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_cognate"))
}

fn terminate(id: u32) {
    let sent = Command::new("kill").args(["-TERM", &id.to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn it_stops_gracefully_with_a_snapshot_that_inspect_reads() {
    let folder = Folder::new();
    let data = folder.path("data");
    let mut running = Running::start(program(), &data, &[]).unwrap();
    let mut client = Client::connect(running.address).unwrap();
    assert_eq!(client.ask("POST", LEARN, &[], ONE).unwrap().status, 200);
    folder.refused("serve data --listen 127.0.0.1:0", &["data: another server uses this data folder"]);
    terminate(running.id());
    assert_eq!(running.wait().unwrap(), Some(0));
    assert!(client.ask("GET", "/healthz", &[], b"").is_err(), "connections are closed");
    let shown = folder.output("inspect data/models/default/snapshot-00000000000000000001.cog");
    assert!(shown.contains("alice"), "{shown}");
}

#[test]
fn it_says_in_its_own_words_that_it_stops() {
    let folder = Folder::new();
    let mut command = Command::new(program());
    command.args(["serve", "data", "--listen", "127.0.0.1:0", "--log-level", "error"]);
    let mut child =
        command.current_dir(folder.path("")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let out = child.stdout.as_mut().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
    terminate(child.id());
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert!(
        said.starts_with("stopping: requests under way are finished, and every model is saved; a second"),
        "{said}"
    );
}

#[test]
fn flags_go_before_the_environment_and_that_before_the_file() {
    let folder = Folder::new();
    folder.write("serve.toml", "dir = \"filed\"\nmax-body = 10\nmax-features = 1\nread-only = true\n");
    let start = |more: &[&str]| {
        let mut command = Command::new(program());
        command.args(["serve", "--config", "serve.toml", "--listen", "127.0.0.1:0"]).args(more);
        command
            .current_dir(folder.path(""))
            .env("COGNATE_MAX_BODY", "1000")
            .env("COGNATE_READ_ONLY", "false");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        let out = child.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").unwrap().parse().unwrap();
        let two = br#"{"examples":[{"features":{"a":1,"b":1},"label":1}]}"#;
        let status = |body: &[u8]| {
            // A body that is too large ends its connection.
            let mut client = Client::connect(address).unwrap();
            client.ask("POST", LEARN, &[], body).unwrap().status
        };
        let statuses = [status(ONE), status(two)];
        terminate(child.id());
        assert_eq!(child.wait().unwrap().code(), Some(0));
        statuses
    };
    assert_eq!(start(&[]), [200, 422]);
    assert_eq!(start(&["--max-features", "2"]), [200, 200]);
    assert_eq!(start(&["--max-body", "20"]), [413, 413]);
    assert_eq!(start(&["--read-only"]), [403, 403]);
    assert!(folder.path("filed/models/default").exists());
    folder.write("serve.toml", "max-bodies = 10\n");
    folder.refused("serve data --config serve.toml", &["unknown field `max-bodies`"]);
}

#[test]
fn bad_usage_is_told() {
    let folder = Folder::new();
    folder.write("empty", "# nobody\n");
    folder.write("bad", "alice 00 read\n");
    for (line, message) in [
        ("serve", "no data folder"),
        ("serve data --max-body 0", "--max-body: must be at least 1, got 0"),
        ("serve data --idle-timeout 0", "--idle-timeout: must be at least 1, got 0"),
        ("serve data --max-rate 0", "--max-rate: must be a finite number above 0, got 0"),
        ("serve data --listen 0.0.0.0:0", "0.0.0.0:0 is not loopback, and there are no tokens"),
        ("serve data --tokens empty", "--tokens: there is no token in the file"),
        ("serve data --tokens bad", "bad:1: the hash is not 64 hexadecimal digits"),
        ("serve data --tokens none", "none: "),
        ("serve data --model x", "--model x: expected NAME=FILE.cog"),
        ("serve data --model x=none.cog", "none.cog"),
        ("serve data --model ../x=none.cog", "found the name \"../x\"; expected 1 to 64"),
        ("token alice --scopes read,write", "unknown scope \"write\""),
        ("token #a --scopes read", "expected no blanks"),
    ] {
        folder.refused(line, &[message]);
    }
}

#[test]
fn a_token_opens_what_it_is_for() {
    let folder = Folder::new();
    let made = Command::new(program()).args(["token", "mail", "--scopes", "learn,read"]).output().unwrap();
    assert!(made.status.success());
    let told = String::from_utf8(made.stderr).unwrap();
    let secret = told.trim().strip_prefix("the secret, shown once: ").unwrap();
    folder.write("tokens", &made.stdout);
    let tokens = folder.path("tokens");
    let running =
        Running::start(program(), &folder.path("data"), &["--tokens", tokens.to_str().unwrap()]).unwrap();
    let mut client = Client::connect(running.address).unwrap();
    let header = format!("authorization: Bearer {secret}");
    assert_eq!(client.ask("POST", LEARN, &[], ONE).unwrap().status, 401);
    assert_eq!(client.ask("POST", LEARN, &[&header], ONE).unwrap().status, 200);
    assert_eq!(client.ask("DELETE", "/v1/models/default", &[&header], b"").unwrap().status, 403);
}

/// A file may have no more than 4 MB: the first segment of the log cannot be made.
#[test]
fn a_full_disk_stops_learning_and_nothing_else() {
    let folder = Folder::new();
    let data = folder.path("data");
    let script = folder.path("limited");
    std::fs::write(
        &script,
        format!("#!/bin/sh\ntrap '' XFSZ\nulimit -f 4000\nexec {} \"$@\"\n", program().display()),
    )
    .unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let mut running = Running::start(&script, &data, &[]).unwrap();
    let mut client = Client::connect(running.address).unwrap();
    let mut status = |method: &str, path: &str, body: &[u8]| client.ask(method, path, &[], body).unwrap();
    for _ in 0..2 {
        let refused = status("POST", LEARN, ONE);
        assert_eq!(refused.status, 503, "{}", refused.text());
        assert!(refused.text().contains("learning has stopped: "), "{}", refused.text());
    }
    let predict = br#"{"examples":[{"task":"alice","features":{"offer":1}}]}"#;
    assert_eq!(status("POST", "/v1/models/default/predict", predict).status, 200);
    let ready = status("GET", "/readyz", b"");
    assert!(ready.status == 503 && ready.text().contains("learning has stopped"), "{}", ready.text());
    assert_eq!(status("GET", "/healthz", b"").status, 200);
    assert!(status("GET", "/metrics", b"").text().contains("cognate_log_poisoned{model=\"default\"} 1"));
    terminate(running.id());
    assert_eq!(running.wait().unwrap(), Some(0));
    let running = Running::start(program(), &data, &[]).unwrap();
    let mut client = Client::connect(running.address).unwrap();
    let learnt = client.ask("POST", LEARN, &[], ONE).unwrap();
    assert_eq!(learnt.json()["seq"], 1, "nothing of what was refused was learnt: {}", learnt.text());
}

#[test]
fn what_is_whole_of_a_damaged_log_is_recovered() {
    let folder = Folder::new();
    let data = folder.path("data");
    let mut running = Running::start(program(), &data, &[]).unwrap();
    let mut client = Client::connect(running.address).unwrap();
    let ends: Vec<usize> = (0..4)
        .map(|_| {
            assert_eq!(client.ask("POST", LEARN, &[], ONE).unwrap().status, 200);
            let log = std::fs::read(data.join("models/default/log-00000000000000000001.seg")).unwrap();
            log.iter().rposition(|byte| *byte != 0).unwrap()
        })
        .collect();
    running.kill().unwrap();
    assert!(folder.output("recover data").contains("default: whole, 4 entries"));
    let path = data.join("models/default/log-00000000000000000001.seg");
    let mut log = std::fs::read(&path).unwrap();
    log[ends[2]] ^= 1;
    std::fs::write(&path, &log).unwrap();
    let place = "log-00000000000000000001.seg: damaged at byte";
    folder.refused("serve data --listen 127.0.0.1:0", &[place, "cognate recover DIR"]);
    let told = folder.output("recover data");
    assert!(told.contains("default: 2 entries are whole") && told.contains("seg.damaged-1"), "{told}");
    assert_eq!(std::fs::read(path.with_extension("seg.damaged-1")).unwrap(), log);
    let running = Running::start(program(), &data, &[]).unwrap();
    let summary =
        Client::connect(running.address).unwrap().ask("GET", "/v1/models/default", &[], b"").unwrap();
    assert_eq!(summary.json()["examples"], 2);
}
