//! What is in a data folder? One folder per model, a file that says which version this is, and a lock.
//!
//! ```text
//! DIR/VERSION             "cognate data folder 1\n"
//! DIR/lock                locked by the server that uses the folder
//! DIR/models/NAME/        as cognate-store keeps it
//! DIR/models/.new-NAME/   a model that is being made; removed at the next start
//! DIR/models/.old-NAME/   a model that is being removed; the same
//! ```

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The version of the format that is written.
const VERSION: u32 = 1;
const VERSION_FILE: &str = "VERSION";
const HEAD: &str = "cognate data folder ";
/// Characters of a model's name.
const LONGEST: usize = 64;

/// Why a data folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The file system refused something.
    #[error("{}: {doing}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Another server uses it.
    #[error("{}: another server uses this data folder", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// It has something in it that is not ours.
    #[error("{}: the folder is not empty, and no data folder of cognate", path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
    },
    /// It was written by a later program.
    #[error("{}: data folder format {found}; this program reads up to {VERSION}", path.display())]
    Version {
        /// The folder.
        path: PathBuf,
        /// Its version.
        found: String,
    },
}

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FolderError {
    let path = path.to_owned();
    move |source| FolderError::Io { doing, path, source }
}

/// A data folder that is ours as long as this lives.
#[derive(Debug)]
pub struct DataFolder {
    path: PathBuf,
    /// Holds the lock.
    _lock: File,
}

/// Whether a model may be called this.
pub fn is_model_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !name.is_empty() && name.len() <= LONGEST && !name.starts_with('.') && name.bytes().all(is_plain)
}

/// What a model may be called, for messages.
pub const MODEL_NAMES: &str =
    "1 to 64 of the letters a to z, A to Z, digits, `-`, `_` and `.`, not beginning with a point";

fn sync_folder(path: &Path) -> Result<(), FolderError> {
    File::open(path).and_then(|folder| folder.sync_all()).map_err(failed("cannot sync the folder", path))
}

impl DataFolder {
    /// Opens a data folder, which is made when it is missing.
    ///
    /// # Errors
    /// When another server uses it, it is someone else's, of a later version, or cannot be written.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        fs::create_dir_all(path).map_err(failed("cannot make the data folder", path))?;
        let version = path.join(VERSION_FILE);
        let known = match fs::read_to_string(&version) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed("cannot read the version of the data folder", &version)(error)),
        };
        match &known {
            Some(text) => {
                let found = text.strip_prefix(HEAD).unwrap_or(text).trim();
                if found.parse() != Ok(VERSION) {
                    return Err(FolderError::Version {
                        path: path.to_owned(),
                        found: found.chars().take(20).collect(),
                    });
                }
            }
            None => {
                let mut entries = fs::read_dir(path).map_err(failed("cannot list the data folder", path))?;
                // A start that was cut short may have left a lock.
                if entries.any(|entry| entry.is_ok_and(|entry| entry.file_name() != "lock")) {
                    return Err(FolderError::Foreign { path: path.to_owned() });
                }
            }
        }
        let lock = lock(path)?;
        let models = path.join("models");
        fs::create_dir_all(&models).map_err(failed("cannot make a folder", &models))?;
        if known.is_none() {
            write_version(&version)?;
            sync_folder(path)?;
        }
        let folder = Self { path: path.to_owned(), _lock: lock };
        folder.clean_up()?;
        Ok(folder)
    }

    fn models_path(&self) -> PathBuf {
        self.path.join("models")
    }

    /// Removes what was being made or removed when a server ended.
    fn clean_up(&self) -> Result<(), FolderError> {
        for name in self.names()? {
            if name.starts_with(".new-") || name.starts_with(".old-") {
                let path = self.models_path().join(name);
                fs::remove_dir_all(&path).map_err(failed("cannot remove what is left of a model", &path))?;
            }
        }
        Ok(())
    }

    fn names(&self) -> Result<Vec<String>, FolderError> {
        let path = self.models_path();
        let listed = failed("cannot list the models", &path);
        let names = fs::read_dir(&path).and_then(|entries| {
            entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
        });
        names.map_err(listed)
    }

    /// The names of all models.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn models(&self) -> Result<Vec<String>, FolderError> {
        let mut names: Vec<String> = self.names()?.into_iter().filter(|name| is_model_name(name)).collect();
        names.sort();
        Ok(names)
    }

    /// Where a model is.
    pub fn model(&self, name: &str) -> PathBuf {
        debug_assert!(is_model_name(name), "names are checked before they become paths");
        self.models_path().join(name)
    }

    /// Makes the folder of a model: it is there as `make` has left it, or not at all.
    ///
    /// # Errors
    /// Those of the file system, and of `make`.
    pub fn create<E: From<FolderError>>(
        &self,
        name: &str,
        make: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<(), E> {
        let (new, path) = (self.models_path().join(format!(".new-{name}")), self.model(name));
        fs::create_dir(&new).map_err(failed("cannot make a folder", &new))?;
        let made = make(&new).and_then(|()| {
            fs::rename(&new, &path).map_err(failed("cannot make a folder", &path))?;
            Ok(sync_folder(&self.models_path())?)
        });
        if made.is_err() {
            // What is left is removed at the next start.
            let _ = fs::remove_dir_all(&new);
        }
        made
    }

    /// Removes the folder of a model.
    ///
    /// # Errors
    /// Those of the file system; it may be gone at the next start all the same.
    pub fn remove(&self, name: &str) -> Result<(), FolderError> {
        let (old, path) = (self.models_path().join(format!(".old-{name}")), self.model(name));
        fs::rename(&path, &old).map_err(failed("cannot remove a model", &path))?;
        sync_folder(&self.models_path())?;
        fs::remove_dir_all(&old).map_err(failed("cannot remove a model", &old))
    }

    /// Whether something can be written.
    ///
    /// # Errors
    /// When it cannot.
    pub fn check_writable(&self) -> Result<(), FolderError> {
        let path = self.path.join("probe");
        let written = File::create(&path).and_then(|mut file| file.write_all(b"ready\n"));
        let removed = fs::remove_file(&path);
        written.and(removed).map_err(failed("cannot be written", &self.path))
    }
}

fn lock(folder: &Path) -> Result<File, FolderError> {
    let path = folder.join("lock");
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
    let file = file.map_err(failed("cannot make the lock file", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(FolderError::Locked { path: folder.to_owned() }),
        Err(TryLockError::Error(error)) => Err(failed("cannot lock", &path)(error)),
    }
}

fn write_version(path: &Path) -> Result<(), FolderError> {
    let unfinished = path.with_extension("tmp");
    let written = File::create(&unfinished).and_then(|mut file| {
        writeln!(file, "{HEAD}{VERSION}")?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&unfinished, path)).map_err(failed("cannot write the version", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_made_and_belongs_to_one_server() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        let data = DataFolder::open(&path).unwrap();
        assert!(data.models().unwrap().is_empty());
        data.check_writable().unwrap();
        let second = DataFolder::open(&path).unwrap_err().to_string();
        assert_eq!(second, format!("{}: another server uses this data folder", path.display()));
        data.create("m", |path| File::create(path.join("x")).map(drop).map_err(failed("", path))).unwrap();
        assert_eq!(data.models().unwrap(), ["m"]);
        let refused =
            data.create::<FolderError>("n", |path| Err(FolderError::Locked { path: path.to_owned() }));
        assert!(refused.is_err());
        assert_eq!(data.models().unwrap(), ["m"]);
        data.remove("m").unwrap();
        fs::create_dir(path.join("models/.new-x")).unwrap();
        drop(data);
        let again = DataFolder::open(&path).unwrap();
        assert!(again.names().unwrap().is_empty());
    }

    #[test]
    fn what_is_not_ours_or_later_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let message = || DataFolder::open(folder.path()).unwrap_err().to_string();
        fs::write(folder.path().join("thesis.txt"), "precious").unwrap();
        assert!(
            message().ends_with("the folder is not empty, and no data folder of cognate"),
            "{}",
            message()
        );
        fs::write(folder.path().join("VERSION"), "cognate data folder 2\n").unwrap();
        assert!(message().ends_with("data folder format 2; this program reads up to 1"), "{}", message());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn names_are_plain() {
        for name in ["default", "a", "mail-2.v1_x", &"x".repeat(64)] {
            assert!(is_model_name(name), "{name}");
        }
        for name in ["", ".", "..", ".hidden", "a/b", "a b", "ü", "a\0", &"x".repeat(65), &"x".repeat(10_000)]
        {
            assert!(!is_model_name(name), "{name}");
        }
    }
}
