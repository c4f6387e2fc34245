//! What is left of a log that was damaged? All that is whole from its beginning; the rest is set aside, and nothing is thrown away.

use std::fs;
use std::path::{Path, PathBuf};

use crate::disk::{Disk, DiskFile, RealDisk};
use crate::error::StoreError;
use crate::segment::{first_of, name, zero};
use crate::store::{Opening, StoreOptions};

/// What was done about a damaged log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Salvaged {
    /// The last entry that is whole, and all before it.
    pub last: u64,
    /// What was wrong, in the order in which it was found.
    pub damage: Vec<String>,
    /// Copies of what was damaged, and what could not be used any more.
    pub set_aside: Vec<PathBuf>,
}

/// Keeps what is whole of a log, from its beginning, so that the folder can be opened again. A log that is whole stays as it is.
///
/// # Errors
/// When files cannot be read or written, or the folder has another trouble than damage of its log.
pub fn salvage(folder: &Path) -> Result<Salvaged, StoreError> {
    let mut salvaged = Salvaged::default();
    // Every round sets at least one segment aside, or cuts one where it was not cut before.
    loop {
        let opening = Opening::new(RealDisk, folder, StoreOptions::default())?;
        match opening.replay(|_, _| Ok(())) {
            Ok((store, _)) => {
                salvaged.last = store.last();
                return Ok(salvaged);
            }
            Err(error) => {
                let trouble = error.to_string();
                if salvaged.damage.last() == Some(&trouble) {
                    return Err(error);
                }
                set_aside(folder, error, &mut salvaged)?;
                salvaged.damage.push(trouble);
            }
        }
    }
}

/// Sets aside what cannot be used.
fn set_aside(folder: &Path, error: StoreError, salvaged: &mut Salvaged) -> Result<(), StoreError> {
    let from = match &error {
        StoreError::Damaged { path, offset, .. } => {
            let first = path.file_name().and_then(|name| name.to_str()).and_then(first_of);
            let Some(first) = first else { return Err(error) };
            if *offset > 0 {
                cut(path, *offset, salvaged)?;
                first + 1
            } else {
                first
            }
        }
        // What comes after entries that are missing cannot be used.
        StoreError::Gap { to, .. } => to + 1,
        _ => return Err(error),
    };
    let names = RealDisk.list(folder).map_err(StoreError::io("cannot list the folder", folder))?;
    let mut later: Vec<u64> =
        names.iter().filter_map(|name| first_of(name)).filter(|first| *first >= from).collect();
    later.sort_unstable();
    for first in later {
        let path = folder.join(name(first));
        let aside = free_name(&path);
        fs::rename(&path, &aside).map_err(StoreError::io("cannot set a segment of the log aside", &path))?;
        salvaged.set_aside.push(aside);
    }
    RealDisk.sync_folder(folder).map_err(StoreError::io("cannot sync the folder", folder))
}

/// Cuts a segment where it is damaged, once there is a copy.
fn cut(path: &Path, offset: u64, salvaged: &mut Salvaged) -> Result<(), StoreError> {
    let aside = free_name(path);
    fs::copy(path, &aside).map_err(StoreError::io("cannot copy a segment of the log", path))?;
    salvaged.set_aside.push(aside);
    let cut = RealDisk.open(path).and_then(|mut file| {
        let end = DiskFile::len(&file)?;
        zero(&mut file, offset, end)?;
        DiskFile::sync(&mut file)
    });
    cut.map_err(StoreError::io("cannot cut the log", path))
}

/// A name beside a file that nothing has yet, and that is none of a segment.
fn free_name(path: &Path) -> PathBuf {
    let named = |number: u32| path.with_extension(format!("seg.damaged-{number}"));
    (1..10_000).map(named).find(|path| !path.exists()).unwrap_or_else(|| named(0))
}
