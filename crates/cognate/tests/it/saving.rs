//! Saving and loading model files: what is on disk before, after, and on failure.

use crate::support::harness;
use crate::support::samples;
use std::fs;
use std::path::{Path, PathBuf};

use cognate::{Model, SnapshotError};
use serde_json::json;

/// A model that has seen so many examples.
fn model_of(examples: usize) -> Model {
    let mut model = harness::model(&json!({"learner": "perceptron"}));
    let samples = samples::samples(5, 3, 6, examples);
    harness::learn(&mut model, &samples::text(&samples, |task| task.to_string()));
    model
}

/// The names in a folder.
fn listing(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn saving_replaces_the_old_file_and_leaves_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.cog");
    for rounds in [1, 30, 3] {
        let model = model_of(rounds);
        Model::check_target(&path).unwrap();
        model.save(&path).unwrap();
        assert!(fs::read(&path).unwrap() == model.to_bytes());
        assert!(Model::load(&path).unwrap().to_bytes() == model.to_bytes());
        assert_eq!(listing(folder.path()), ["model.cog"]);
    }
}

#[cfg(unix)]
#[test]
fn saving_through_a_link_replaces_what_it_points_to() {
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real.cog"), folder.path().join("link.cog"));
    fs::write(&real, b"old").unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    model_of(20).save(&link).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read(&real).unwrap() == model_of(20).to_bytes());
    assert_eq!(listing(folder.path()), ["link.cog", "real.cog"]);
}

#[test]
fn a_failed_save_says_where_and_leaves_everything_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("taken")).unwrap();
    fs::write(at("file"), b"old").unwrap();
    // A missing folder; a file where a folder should be; a folder where the file should be; an empty path.
    for target in [at("missing/model.cog"), at("file/model.cog"), at("taken"), at("taken/.."), PathBuf::new()]
    {
        for result in [model_of(20).save(&target), Model::check_target(&target)] {
            let error = result.unwrap_err();
            assert!(matches!(&error, SnapshotError::Io { path, .. } if *path == target), "{error}");
            assert!(
                error.to_string().starts_with(&format!("{}: cannot write the model: ", target.display()))
            );
        }
    }
    assert_eq!(listing(folder.path()), ["file", "taken"]);
    assert!(listing(&at("taken")).is_empty());
    assert_eq!(fs::read(at("file")).unwrap(), b"old");
}

/// A full disk: this test runs itself in a process that may not write any file.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_old_file_and_no_temporary_one() {
    if let Some(target) = std::env::var_os("COGNATE_TEST_FULL_DISK") {
        let error = model_of(20).save(Path::new(&target)).unwrap_err();
        assert!(error.to_string().contains(": cannot write the model: "), "{error}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.cog");
    fs::write(&path, b"old").unwrap();
    // A write beyond the limit is an error instead of a signal, as on a full disk.
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" --exact saving::a_full_disk_leaves_the_old_file_and_no_temporary_one";
    let status = std::process::Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .env("COGNATE_TEST_FULL_DISK", &path)
        .output()
        .unwrap();
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stdout));
    assert!(String::from_utf8_lossy(&status.stdout).contains("1 passed"));
    assert_eq!(listing(folder.path()), ["model.cog"]);
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

#[test]
fn loading_what_cannot_be_read_says_where() {
    let folder = tempfile::tempdir().unwrap();
    for target in [folder.path().join("missing.cog"), folder.path().to_owned()] {
        let error = Model::load(&target).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}: cannot read the model: ", target.display())), "{error}");
    }
}
