//! `cognate serve` on disks that fail: learning stops and says so, predictions go on, and nothing that was acknowledged is lost.

use std::process::Command;

use super::served::Server;
use super::support::{Folder, cognate};

const LEARN: &str = "/v1/models/default/learn";
const MODEL: &str = "/v1/models/default";

/// Says why nothing is tested.
#[expect(clippy::print_stderr, reason = "whoever reads the test's output wants to know")]
fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}

fn example(at: usize) -> String {
    format!("{{\"examples\":[{{\"task\":\"alice\",\"features\":{{\"f{at}\":1}},\"label\":1}}]}}")
}

/// Learns until that is refused; how many requests were acknowledged, and the refusal.
fn learn_until_refused(server: &Server, most: usize, body: impl Fn(usize) -> String) -> (usize, String) {
    for at in 0..most {
        let (status, answer) = server.ask("POST", LEARN, "", &body(at));
        if status != 200 {
            assert_eq!(status, 503, "{answer}");
            return (at, answer);
        }
    }
    panic!("the disk never failed in {most} requests");
}

/// What a server says whose log has failed.
fn assert_stopped(server: &Server, cause: &str) {
    // A second try may falsely succeed: only a restart helps. The first refusal may come a moment before the rest is told.
    assert_eq!(server.ask("POST", LEARN, "", &example(0)).0, 503);
    let (status, ready) = server.ask("GET", "/readyz", "", "");
    assert_eq!(status, 503, "{ready}");
    assert!(ready.contains("learning has stopped") && ready.contains(cause), "{ready}");
    let predict = "{\"examples\":[{\"task\":\"alice\",\"features\":{\"f0\":1}}]}";
    assert_eq!(server.ask("POST", "/v1/models/default/predict", "", predict).0, 200, "predictions go on");
    assert_eq!(server.ask("GET", "/healthz", "", "").0, 200);
    let metrics = server.ask("GET", "/metrics", "", "").1;
    assert!(metrics.contains("cognate_log_poisoned{model=\"default\"} 1"), "{metrics}");
    assert_eq!(server.ask("POST", "/v1/models/default/snapshot", "", "").0, 503);
}

fn examples(server: &Server) -> usize {
    let text = server.ask("GET", MODEL, "", "").1;
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    summary["examples"].as_u64().unwrap() as usize
}

/// From some call on, the system says that what was written may not be on the disk.
#[test]
fn a_sync_that_fails_stops_learning_until_a_restart() {
    // The thread that learns fills and syncs a new segment, then syncs once per request.
    let fails = "inject=fdatasync:error=EIO:when=6+";
    let strace = |program: &str| {
        let mut strace = Command::new("strace");
        strace.args(["-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", fails, program]);
        strace
    };
    if !strace("true").output().is_ok_and(|ran| ran.status.success()) {
        return skipped("strace is not there, or may not trace");
    }
    let folder = Folder::with("unused", "");
    let program = cognate().get_program().to_owned();
    let mut command = strace(program.to_str().unwrap());
    command.args(["serve", "data", "--listen", "127.0.0.1:0", "--log-level", "error"]);
    let server = Server::of(command.current_dir(folder.path("")));
    let (acknowledged, refusal) = learn_until_refused(&server, 20, example);
    assert!(acknowledged > 0, "{refusal}");
    assert!(refusal.contains("Input/output error"), "{refusal}");
    assert_stopped(&server, "Input/output error");
    assert_eq!(examples(&server), acknowledged, "nobody sees what may not be on disk");
    // It ends as always; what it could not save is in the log.
    server.stop();
    let server = Server::start(&folder, "");
    // What was refused was written, and may be there: the machine did not stop.
    assert!((acknowledged..=acknowledged + 1).contains(&examples(&server)));
    assert_eq!(server.ask("POST", LEARN, "", &example(7)).0, 200);
    server.stop();
}

/// A disk of 24 MB has room for one segment of the log, and none for the next.
#[test]
fn a_full_disk_stops_learning_until_a_restart() {
    let folder = Folder::with("unused", "");
    std::fs::create_dir(folder.path("disk")).unwrap();
    let namespace = |script: &str| {
        let mut bash = Command::new("unshare");
        bash.args(["-rm", "bash", "-c", script])
            .current_dir(folder.path(""))
            .env("cognate", cognate().get_program());
        bash
    };
    if !namespace("mount -t tmpfs -o size=24m none disk").status().is_ok_and(|ran| ran.success()) {
        return skipped("a disk of its own cannot be mounted here");
    }
    // The folder outlives the disk as a copy.
    let script = "mount -t tmpfs -o size=24m none disk && trap 'kill -TERM $pid' TERM \
        && { $cognate serve disk/data --listen 127.0.0.1:0 --log-level error & pid=$!; wait $pid; wait $pid; code=$?; } \
        && cp -a disk/data data && exit $code";
    let server = Server::of(&mut namespace(script));
    let large = |at: usize| {
        let list = |what: &dyn Fn(usize) -> String| (0..50_000).map(what).collect::<Vec<_>>().join(",");
        let (indices, values) =
            (list(&|index| index.to_string()), list(&|index| ((index + at) % 7).to_string()));
        let example =
            format!("{{\"features\":{{\"indices\":[{indices}],\"values\":[{values}]}},\"label\":1}}");
        format!("{{\"examples\":[{}]}}", vec![example; 10].join(","))
    };
    let (acknowledged, refusal) = learn_until_refused(&server, 20, large);
    assert!(acknowledged >= 2, "{refusal}");
    assert!(refusal.contains("No space left on device"), "{refusal}");
    let predict = "{\"examples\":[{\"features\":{\"indices\":[1],\"values\":[1]}}]}";
    assert_eq!(server.ask("POST", "/v1/models/default/predict", "", predict).0, 200, "predictions go on");
    assert_eq!(server.ask("POST", LEARN, "", &large(0)).0, 503);
    let (status, ready) = server.ask("GET", "/readyz", "", "");
    assert!(status == 503 && ready.contains("No space left on device"), "{ready}");
    assert_eq!(examples(&server), 10 * acknowledged);
    server.stop();
    let server = Server::start(&folder, "");
    assert_eq!(
        examples(&server),
        10 * acknowledged,
        "nothing acknowledged is lost, nothing refused is learnt"
    );
    assert_eq!(server.ask("POST", LEARN, "", &large(0)).0, 200);
    server.stop();
}
