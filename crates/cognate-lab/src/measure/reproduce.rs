//! `cargo xtask reproduce`: runs the lab and writes docs/papers, one page per paper, from what it finds.
//!
//! A page consists of the parts that `cognate lab run` writes, each of which says how it was run; parts of experiments
//! that are not run this time stay as they are. With `--record` the verdicts become the record that later runs are
//! compared with; without, a verdict worse than on record is a failure.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::Record;
use crate::measure::{page, root};

/// What is run.
#[derive(clap::Args)]
pub struct Options {
    /// Folder of the data sets
    #[arg(long, value_name = "DIR", default_value = "../shared/data")]
    data: PathBuf,
    /// Only experiments whose name begins with this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Fewer runs and smaller grids; pages say so
    #[arg(long)]
    quick: bool,
    /// Run nothing: write the pages from what the last runs left in target/lab
    #[arg(long)]
    write_only: bool,
    /// Put the verdicts on record: crates/cognate-lab/record.json
    #[arg(long)]
    record: bool,
}

/// For each paper, the prefix of its experiments' names, its page, the page's title, and the experiments.
const PAPERS: [(&str, &str, &[&str]); 5] = [
    (
        "multitask-perceptrons-2010",
        "MP10: Linear Algorithms for Online Multitask Classification",
        &["mp10-table1", "mp10-figure5", "mp10-table2", "mp10-figure6", "mp10-table3"],
    ),
    (
        "learned-relations-2011",
        "LR11: Online Learning of Multiple Tasks and Their Relationships",
        &["lr11-table2", "lr11-table3", "lr11-figure1", "lr11-table4", "lr11-table5"],
    ),
    (
        "robust-rom-2017",
        "ROM17: A Robust Online Multi-Task Learning Approach",
        &["rom17-table1", "rom17-table2", "rom17-figure1"],
    ),
    (
        "convex-structure-2015",
        "CS15: Convex Learning of Multiple Tasks and their Structure",
        &["cs15-figure1", "cs15-table1", "cs15-table2"],
    ),
    ("memory-budget-2012", "MB12: Memory Constraint Online Multitask Classification", &["mb12-table1"]),
];

/// Runs the command; false when a verdict is worse than on record.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let out = root().join("target/lab");
    let mut fine = true;
    for (.., ids) in &PAPERS {
        let ids: Vec<&str> = ids.iter().copied().filter(|id| id.starts_with(&options.only)).collect();
        if !options.write_only && !ids.is_empty() {
            fine &= experiments(options, &ids, &out)?;
        }
        for id in ids {
            publish(id, &out)?;
            if options.record {
                put_on_record(id, &out)?;
            }
        }
    }
    Ok(fine || options.record)
}

/// Runs experiments of one paper, which share what they have in common.
fn experiments(options: &Options, ids: &[&str], out: &Path) -> Result<bool> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["run", "--release", "-q", "-p", "cognate-learn", "--", "lab", "run"]).args(ids);
    command.arg("--data").arg(&options.data).arg("--out").arg(out).current_dir(root());
    if options.quick {
        command.arg("--quick");
    }
    let status = command.status().context("cargo")?;
    // 1: done, but a verdict is worse than on record.
    ensure!(matches!(status.code(), Some(0 | 1)), "{} could not be run", ids.join(", "));
    Ok(status.success())
}

/// Takes an experiment's verdicts, if there are any, into the record.
fn put_on_record(id: &str, out: &Path) -> Result<()> {
    let source = out.join(format!("{id}.json"));
    if !source.exists() {
        return Ok(());
    }
    let path = root().join("crates/cognate-lab/record.json");
    let mut record = Record::read(&path)?;
    record.update(Record::read(&source)?);
    fs::write(&path, record.text()).with_context(|| path.display().to_string())
}

/// Puts an experiment's part, if there is one, into the page of its paper, and its figures beside it.
fn publish(id: &str, out: &Path) -> Result<()> {
    let source = out.join(format!("{id}.md"));
    if !source.exists() {
        return Ok(());
    }
    let folder = root().join("docs/papers");
    fs::create_dir_all(&folder)?;
    let (name, title, ids) =
        PAPERS.iter().find(|(_, _, ids)| ids.contains(&id)).context("an experiment has a paper")?;
    let target = folder.join(format!("{name}.md"));
    if !target.exists() {
        fs::write(&target, empty_page(title, ids)).with_context(|| target.display().to_string())?;
    }
    let part = fs::read_to_string(&source).with_context(|| source.display().to_string())?;
    page::publish(&target, id, &part)?;
    for entry in fs::read_dir(out)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with(&format!("{id}-")) && path.extension().is_some_and(|extension| extension == "svg")
        {
            fs::copy(&path, folder.join(&name)).with_context(|| name.clone())?;
        }
    }
    Ok(())
}

/// A page without any results yet.
fn empty_page(title: &str, ids: &[&str]) -> String {
    let mut text = format!(
        "# {title}\n\nOur results beside the paper's, written by `cargo xtask reproduce`. Every part says how it was run; \
         `cognate lab run ID` runs one. Where we read a formula otherwise than printed, [the errata](errata.md) say why.\n"
    );
    for id in ids {
        let _ = write!(text, "\n<!-- {id}:begin -->\n## {id}\n\nNot run yet.\n<!-- {id}:end -->\n");
    }
    text
}
