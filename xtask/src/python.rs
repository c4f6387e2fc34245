//! `cargo xtask python`: the wheel as users get it, in a clean environment, with its tests; `--speed` beside scikit-learn.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::cargo::{cargo, root, target};

/// Options of the command.
#[derive(Args)]
pub(crate) struct Options {
    /// Measure partial_fit beside scikit-learn's SGDClassifier instead of running the tests
    #[arg(long)]
    pub(crate) speed: bool,
    /// Rows of the measurement
    #[arg(long, default_value_t = 500_000)]
    pub(crate) rows: u32,
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let folders = Folders::new();
    let wheel = folders.wheel()?;
    let python = folders.clean_environment(&wheel)?;
    let here = root().join("crates/cognate-py");
    let status = if options.speed {
        let script = here.join("benchmarks/speed.py");
        Command::new(&python).arg(script).arg("--rows").arg(options.rows.to_string()).status()
    } else {
        let command = folders.command()?;
        let mut pytest = Command::new(&python);
        pytest.args(["-m", "pytest"]).current_dir(&here).env("COGNATE", command).status()
    };
    Ok(status.context("python")?.success())
}

/// The folder for everything that is built; it may be deleted.
struct Folders {
    target: PathBuf,
    home: PathBuf,
}

impl Folders {
    fn new() -> Self {
        let target = target();
        Self { home: target.join("python"), target }
    }

    /// A Python environment of this name, made if it is missing.
    fn environment(&self, name: &str) -> Result<PathBuf> {
        let folder = self.home.join(name);
        let python = folder.join("bin/python");
        if !python.exists() {
            say(&format!("making the environment {name}"));
            let made = Command::new("python3").args(["-m", "venv"]).arg(&folder).status();
            ensure!(made.context("python3")?.success(), "python3 -m venv failed");
        }
        Ok(python)
    }

    /// Builds the wheel.
    fn wheel(&self) -> Result<PathBuf> {
        let python = self.environment("build")?;
        pip(&python, &["maturin>=1.16,<2"])?;
        let wheels = self.home.join("wheels");
        if wheels.exists() {
            std::fs::remove_dir_all(&wheels)?;
        }
        say("building the wheel");
        let mut build = Command::new(&python);
        build.args(["-m", "maturin", "build", "--release", "--quiet", "--out"]).arg(&wheels);
        let built = build
            .current_dir(root().join("crates/cognate-py"))
            .env("CARGO_TARGET_DIR", &self.target)
            .status();
        ensure!(built.context("maturin")?.success(), "maturin build failed");
        let mut found = std::fs::read_dir(&wheels)?.filter_map(|entry| entry.ok().map(|entry| entry.path()));
        found.find(|path| path.extension().is_some_and(|end| end == "whl")).context("maturin made no wheel")
    }

    /// An environment that has never seen the package, with the wheel and what its tests need.
    fn clean_environment(&self, wheel: &Path) -> Result<PathBuf> {
        let python = self.environment("test")?;
        let removed = Command::new(&python)
            .args(["-m", "pip", "uninstall", "--yes", "--quiet", "cognate-learn"])
            .output();
        ensure!(removed.context("pip")?.status.success(), "pip uninstall failed");
        pip(&python, &[&format!("{}[test]", wheel.display())])?;
        Ok(python)
    }

    /// The program, whose models and numbers must equal the package's.
    fn command(&self) -> Result<PathBuf> {
        let built = cargo().args(["build", "--quiet", "--release", "--package", "cognate-learn"]).status();
        ensure!(built.context("cargo")?.success(), "the program does not build");
        Ok(self.target.join("release/cognate"))
    }
}

fn say(text: &str) {
    eprintln!("python: {text}");
}

fn pip(python: &Path, packages: &[&str]) -> Result<()> {
    say(&format!("installing {}", packages.join(" ")));
    let mut install = Command::new(python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages);
    ensure!(install.status().context("pip")?.success(), "pip install failed");
    Ok(())
}
