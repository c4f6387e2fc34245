//! `cargo xtask ci`: what must hold before a change is merged, beyond `cargo xtask test`.

use anyhow::Result;
use clap::Args;

use crate::cargo::{cargo, root, target};
use crate::forward::GENERATE;
use crate::steps::Steps;
use crate::{fuzz, page, python};

/// Options of the command.
#[derive(Args)]
pub(crate) struct Options {
    /// Leave the fuzz run out
    #[arg(long)]
    pub(crate) no_fuzz: bool,
    /// Leave the dashboard out: its files as bundled, and its tests in a browser
    #[arg(long)]
    pub(crate) no_page: bool,
    /// Leave the Python package out
    #[arg(long)]
    pub(crate) no_python: bool,
}

/// All code, including programs that are built on demand.
const ALL: [&str; 3] = ["--workspace", "--features", "cognate-lab/measure,xtask/generate,xtask/forge"];

/// The published crates, each after those that it needs.
const PUBLISHED: [&str; 6] =
    ["cognate", "cognate-plot", "cognate-store", "cognate-server", "cognate-lab", "cognate-learn"];

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let mut steps = Steps::new("ci");
    steps.cargo("format", &["fmt", "--all", "--check"])?;
    steps.cargo("lints", &[&["clippy"], &ALL[..], &["--all-targets", "--", "-D", "warnings"]].concat())?;
    steps.cargo("docs", &[&["doc"], &ALL[..], &["--no-deps", "--document-private-items"]].concat())?;
    steps.step("packages", package)?;
    let check = |command: &str| GENERATE.run(command, &["--check"]);
    steps.step("generated files", || Ok(check("schema")? & check("docs")?))?;
    steps.step("the lab, quickly", lab)?;
    if !options.no_page {
        steps.step("the dashboard's files", || page::vendor(&page::Options { check: true }))?;
        steps.step("the dashboard in a browser", || page::browser(&page::Browser::default()))?;
    }
    if !options.no_python {
        steps.step("Python package", || python::run(&python::Options::default()))?;
    }
    if !options.no_fuzz {
        steps.step("fuzzing", || fuzz::run(&fuzz::Options { seconds: 20, forge: None }))?;
        steps.step("forged models", || fuzz::forge_for(30))?;
    }
    Ok(steps.finish())
}

/// Checks that the crates can be packaged for publishing; their contents are tested elsewhere.
fn package() -> Result<bool> {
    let mut package = cargo();
    package.args(["package", "--quiet", "--no-verify", "--allow-dirty"]);
    package.args(PUBLISHED.iter().flat_map(|name| ["--package", name]));
    Ok(package.status()?.success())
}

/// Checks what the papers claim, in quick runs, where their data are present.
fn lab() -> Result<bool> {
    let data = root().join("../shared/data");
    if !data.exists() {
        println!("ci: skipped: {} is not there", data.display());
        return Ok(true);
    }
    let mut lab = cargo();
    lab.args([
        "run",
        "--release",
        "--package",
        "cognate-learn",
        "--",
        "--quiet",
        "lab",
        "run",
        "all",
        "--quick",
    ]);
    lab.arg("--data").arg(data).arg("--out").arg(target().join("lab-quick"));
    Ok(lab.status()?.success())
}
