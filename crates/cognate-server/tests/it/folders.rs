//! Whose folder is it, of which version, and can it be written?

use std::path::Path;

use serde_json::json;

use super::durability::copy_folder;
use super::support::{Server, example, options};
use cognate_server::live::Durability;

fn refused(folder: &Path) -> String {
    match Server::start(options(folder), "") {
        Ok(_) => panic!("it started"),
        Err(error) => error.to_string().replace(&folder.display().to_string(), "DIR"),
    }
}

#[test]
fn a_folder_has_one_server() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::plain(folder.path());
    assert_eq!(refused(folder.path()), "DIR: another server uses this data folder");
    server.stop();
    drop(Server::plain(folder.path()));
}

#[test]
fn damage_is_refused_with_its_place_and_a_torn_end_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::plain(folder.path());
    for at in 0..5 {
        assert_eq!(server.post("learn", &example("alice", &format!("f{at}"), 1)).status, 200);
    }
    let (damaged, torn) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    copy_folder(folder.path(), damaged.path());
    copy_folder(folder.path(), torn.path());
    let log = Path::new("models/default/log-00000000000000000001.seg");
    let whole = std::fs::read(damaged.path().join(log)).unwrap();
    let end = whole.iter().rposition(|byte| *byte != 0).unwrap();
    let mut bytes = whole.clone();
    bytes[4096 + 40] ^= 1;
    std::fs::write(damaged.path().join(log), &bytes).unwrap();
    assert_eq!(
        refused(damaged.path()),
        "model default: DIR/models/default/log-00000000000000000001.seg: damaged at byte 4096: no whole frame begins here, \
         and one that was written later follows"
    );
    let mut bytes = whole;
    bytes[end] ^= 1;
    std::fs::write(torn.path().join(log), &bytes).unwrap();
    assert_eq!(Server::plain(torn.path()).get("/v1/models/default").json()["examples"], json!(4));
}

/// Written by the first version that had data folders; it must open for ever.
#[test]
fn a_folder_of_version_1_opens() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/folder-v1");
    if std::env::var_os("COGNATE_BLESS").is_some() && !fixture.exists() {
        bless(&fixture);
    }
    let folder = tempfile::tempdir().unwrap();
    copy_folder(&fixture, folder.path());
    let server = Server::plain(folder.path());
    let summary = server.get("/v1/models/default").json();
    assert_eq!(
        [
            &summary["examples"],
            &summary["tasks"],
            &summary["seq"],
            &summary["snapshot_seq"],
            &summary["pending"]
        ],
        [&json!(6), &json!(3), &json!(9), &json!(4), &json!(1)]
    );
    let told =
        server.post("labels", r#"{"labels":[{"id":"waits","label":1},{"id":"known","label":1}]}"#).json();
    assert_eq!((&told["learned"], &told["again"]), (&json!(1), &json!(["known"])));
    let again = server.client().ask(
        "POST",
        "/v1/models/default/learn",
        &["idempotency-key: after"],
        example("a", "y", -1).as_bytes(),
    );
    assert_eq!(again.unwrap().json()["seq"], json!(6));
}

/// Writes the fixture: a snapshot, and a log behind it with all kinds of entries.
fn bless(fixture: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = options(folder.path());
    settings.engine.store.segment_bytes = 4096;
    let server = Server::start(settings, "").unwrap();
    let keyed = |key: &str, body: &str| {
        let header = format!("idempotency-key: {key}");
        let answer =
            server.client().ask("POST", "/v1/models/default/learn", &[&header], body.as_bytes()).unwrap();
        assert_eq!(answer.status, 200);
    };
    let learn = |task: &str, feature: &str, label: i32| {
        assert_eq!(server.post("learn", &example(task, feature, label)).status, 200);
    };
    learn("a", "x", 1);
    learn("b", "y", -1);
    keyed("before", &example("a", "z", 1));
    server.post("predict", r#"{"examples":[{"task":"a","features":{"x":1,"tier":"gold"},"id":"known"}]}"#);
    assert_eq!(server.ask("POST", "/v1/models/default/snapshot", "").json()["snapshot_seq"], json!(4));
    server.post("labels", r#"{"labels":[{"id":"known","label":1},{"id":"nobody","label":1}]}"#);
    keyed("after", &example("a", "y", -1));
    server.post("predict", r#"{"examples":[{"task":"c","features":{"x":0.1},"id":"waits"}]}"#);
    let two = r#"{"examples":[{"task":"c","features":{"x":0.1},"label":0,"weight":2},{"task":"d","features":["x","x"],"label":1,"time":5}]}"#;
    assert_eq!(server.post("learn", two).status, 200);
    assert_eq!(server.ask("DELETE", "/v1/models/default/tasks/d", "").status, 200);
    // As a crash leaves it.
    copy_folder(folder.path(), fixture);
    std::fs::remove_file(fixture.join("lock")).unwrap();
}

#[test]
fn a_backup_is_restored_by_its_snapshot_alone() {
    let (folder, restored) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::plain(folder.path());
    assert_eq!(server.post("learn", &example("alice", "offer", 1)).status, 200);
    let file = restored.path().join("backup.cog");
    std::fs::write(&file, server.get("/v1/models/default/snapshot").body).unwrap();
    let mut settings = options(&restored.path().join("data"));
    settings.import = vec![("mail".to_owned(), file.clone())];
    let second = Server::start(settings.clone(), "").unwrap();
    assert_eq!(second.get("/v1/models/mail").json()["examples"], json!(1));
    assert_eq!(second.get("/v1/models/default").status, 404, "no other model is made");
    second.stop();
    // A model that is there is not made anew.
    std::fs::write(&file, "no model").unwrap();
    assert_eq!(Server::start(settings, "").unwrap().get("/v1/models/mail").status, 200);
}

#[test]
fn without_a_log_there_are_snapshots_alone_and_the_log_may_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let learn = |durability: Durability, count: u64| {
        let mut settings = options(folder.path());
        settings.engine.durability = durability;
        let server = Server::start(settings, "").unwrap();
        for _ in 0..count {
            assert_eq!(server.post("learn", &example("alice", "offer", 1)).status, 200);
        }
        let summary = server.get("/v1/models/default").json();
        server.stop();
        (summary["seq"].as_u64().unwrap(), summary["examples"].as_u64().unwrap())
    };
    let kinds =
        [Durability::Always, Durability::None, Durability::None, Durability::Always, Durability::Interval];
    for (round, durability) in kinds.into_iter().enumerate() {
        assert_eq!(learn(durability, 3), (3 * (round as u64 + 1), 3 * (round as u64 + 1)), "{durability:?}");
    }
}

#[cfg(unix)]
#[test]
fn what_cannot_be_written_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    std::fs::set_permissions(&inner, std::fs::Permissions::from_mode(0o500)).unwrap();
    // Root may write everywhere.
    if std::fs::write(inner.join("probe"), "").is_err() {
        assert!(refused(&inner).starts_with("DIR/lock: cannot make the lock file: "), "{}", refused(&inner));
    }
    std::fs::set_permissions(&inner, std::fs::Permissions::from_mode(0o700)).unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert!(refused(&file).starts_with("DIR: cannot make the data folder: "), "{}", refused(&file));
}
