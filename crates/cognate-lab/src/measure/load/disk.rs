//! What does the disk itself take to make a small write durable? The floor under every acknowledged group.

use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;

use super::client::quantile;

const WRITES: usize = 300;
/// Bytes of a write: one page.
const PAGE: usize = 4096;

/// Milliseconds of a write of one page with its fdatasync, into a file whose size does not change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Disk {
    median: f64,
    p99: f64,
}

impl fmt::Display for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fdatasync of one page: median {:.2} ms, p99 {:.2} ms", self.median, self.p99)
    }
}

impl Disk {
    /// Measures the disk of a folder.
    pub(super) fn measure(folder: &Path) -> Result<Self> {
        let path = folder.join("fdatasync");
        let file = File::create(&path)?;
        file.write_all_at(&vec![0; PAGE * WRITES], 0)?;
        file.sync_all()?;
        let mut times = Vec::with_capacity(WRITES);
        for at in 0..WRITES {
            let began = Instant::now();
            file.write_all_at(&[1; PAGE], (at * PAGE) as u64)?;
            file.sync_data()?;
            times.push(began.elapsed().as_secs_f32() * 1e3);
        }
        std::fs::remove_file(&path)?;
        Ok(Self { median: quantile(times.clone(), 0.5), p99: quantile(times, 0.99) })
    }
}
