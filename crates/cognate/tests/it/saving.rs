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

#[cfg(unix)]
mod on_unix {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::process::{Command, Stdio};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn the_mode_of_an_existing_model_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.cog");
        for wanted in [0o600, 0o640, 0o644, 0o666, 0o400, 0o755] {
            fs::write(&path, b"old").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(wanted)).unwrap();
            model_of(5).save(&path).unwrap();
            assert_eq!(mode(&path), wanted, "{wanted:o}");
            assert!(fs::read(&path).unwrap() == model_of(5).to_bytes(), "it is the new one");
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn a_new_model_has_the_mode_of_any_new_file() {
        let folder = tempfile::tempdir().unwrap();
        let (path, plain) = (folder.path().join("model.cog"), folder.path().join("plain"));
        model_of(5).save(&path).unwrap();
        fs::write(&plain, b"").unwrap();
        assert_eq!(mode(&path), mode(&plain));
    }

    #[test]
    fn the_owner_of_an_existing_model_is_kept_where_that_is_permitted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.cog");
        fs::write(&path, b"old").unwrap();
        let owner = || fs::metadata(&path).map(|meta| (meta.uid(), meta.gid())).unwrap();
        // Only the superuser can give files away; others have nothing but their own to keep.
        let given = std::os::unix::fs::chown(&path, Some(12_345), Some(23_456)).is_ok();
        assert_eq!(owner() == (12_345, 23_456), given);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o660)).unwrap();
        let before = owner();
        model_of(5).save(&path).unwrap();
        assert_eq!((owner(), mode(&path)), (before, 0o660));
    }

    #[test]
    fn a_link_that_leads_nowhere_yet_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("inner")).unwrap();
        symlink("second.cog", folder.path().join("first.cog")).unwrap();
        symlink("inner/real.cog", folder.path().join("second.cog")).unwrap();
        model_of(5).save(folder.path().join("first.cog")).unwrap();
        assert_eq!(listing(&folder.path().join("inner")), ["real.cog"]);
        assert!(Model::load(folder.path().join("first.cog")).unwrap().to_bytes() == model_of(5).to_bytes());
    }

    #[test]
    fn links_that_lie_in_wait_under_old_temporary_names_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, victim) = (folder.path().join("model.cog"), folder.path().join("victim"));
        fs::write(&victim, b"untouched").unwrap();
        let process = std::process::id();
        for name in
            [format!(".model.cog.{process}.tmp"), format!(".model.cog.{process}.0000000000000000.tmp")]
        {
            symlink(&victim, folder.path().join(name)).unwrap();
        }
        model_of(5).save(&path).unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"untouched");
        assert!(!fs::symlink_metadata(&path).unwrap().is_symlink());
    }

    /// A process that holds a lock on a file until its standard input ends.
    fn locked_by_another(path: &Path) -> std::process::Child {
        let mut child = Command::new("flock")
            .args(["--exclusive", path.to_str().unwrap(), "sh", "-c", "echo locked; cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("flock");
        let mut word = [0; 6];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut word).unwrap();
        assert_eq!(&word, b"locked");
        child
    }

    #[test]
    fn leftovers_of_dead_processes_go_and_those_of_living_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (dead, alive) = (".model.cog.1.00000000000000aa.tmp", ".model.cog.1.00000000000000bb.tmp");
        let others =
            [".other.cog.1.00000000000000aa.tmp", ".model.cog.1.tmp", "model.cog.1.00000000000000aa.tmp"];
        for name in others.iter().chain(&[dead, alive]) {
            fs::write(at(name), b"part of a model").unwrap();
        }
        let mut other = locked_by_another(&at(alive));
        model_of(5).save(at("model.cog")).unwrap();
        let mut expected: Vec<&str> = others.iter().chain(&[alive, "model.cog"]).copied().collect();
        expected.sort_unstable();
        assert_eq!(listing(folder.path()), expected);
        drop(other.stdin.take());
        other.wait().unwrap();
        model_of(6).save(at("model.cog")).unwrap();
        assert!(!listing(folder.path()).contains(&alive.to_owned()));
    }

    #[test]
    fn many_who_save_the_same_model_at_once_do_not_disturb_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.cog");
        let model = model_of(20);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..40).for_each(|_| model.save(&path).unwrap()));
            }
        });
        assert_eq!(listing(folder.path()), ["model.cog"]);
        assert!(fs::read(&path).unwrap() == model.to_bytes());
    }
}
