//! How are files touched? One small trait: the real file system, and in tests one that crashes.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// All that a store asks of a file system.
pub trait Disk {
    /// An open file.
    type File: DiskFile + std::fmt::Debug;

    /// The names of the files in a folder, in no order.
    ///
    /// # Errors
    /// Those of the file system, as of all that follow.
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;

    /// Makes a file that is not there yet, to be written and read.
    #[expect(clippy::missing_errors_doc, reason = "those of the file system")]
    fn create(&self, path: &Path) -> io::Result<Self::File>;

    /// Opens a file that is there, to be written and read.
    #[expect(clippy::missing_errors_doc, reason = "those of the file system")]
    fn open(&self, path: &Path) -> io::Result<Self::File>;

    /// Gives a file another name, in place of whatever had it.
    #[expect(clippy::missing_errors_doc, reason = "those of the file system")]
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    #[expect(clippy::missing_errors_doc, reason = "those of the file system")]
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Returns when the names in a folder are on disk.
    #[expect(clippy::missing_errors_doc, reason = "those of the file system")]
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
}

/// A file that is open to be read and written anywhere.
#[expect(clippy::len_without_is_empty, reason = "nobody asks whether a file is empty")]
pub trait DiskFile {
    /// The bytes from an offset on, as many as there are and fit; 0 at the end.
    ///
    /// # Errors
    /// Those of the file system, as of all that follow.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes all bytes from an offset on.
    #[expect(clippy::missing_errors_doc, reason = "those of the file system")]
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Returns when all that was written is on disk.
    #[expect(clippy::missing_errors_doc, reason = "those of the file system")]
    fn sync(&mut self) -> io::Result<()>;

    /// How many bytes there are.
    #[expect(clippy::missing_errors_doc, reason = "those of the file system")]
    fn len(&self) -> io::Result<u64>;
}

/// All bytes of a file.
pub(crate) fn read_all(file: &impl DiskFile) -> io::Result<Vec<u8>> {
    let length = file.len()?;
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    let mut at = 0;
    while at < bytes.len() {
        match file.read_at(&mut bytes[at..], at as u64)? {
            // A file that ends before its length is not as it was when it was measured.
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => at += read,
        }
    }
    Ok(bytes)
}

/// The file system of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    type File = File;

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            // Our own names are text; others are not ours.
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create_new(true).open(path)
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).open(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }
}

#[cfg(unix)]
impl DiskFile for File {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        loop {
            match std::os::unix::fs::FileExt::read_at(self, bytes, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(self, bytes, offset)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

#[cfg(not(unix))]
impl DiskFile for File {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        use std::io::{Read, Seek, SeekFrom};
        let mut file = self;
        file.seek(SeekFrom::Start(offset))?;
        file.read(bytes)
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        use std::io::{Seek, SeekFrom, Write};
        self.seek(SeekFrom::Start(offset))?;
        self.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}
