//! `cargo xtask python`: the wheel as users get it, in a clean environment, with its tests; `--speed` beside scikit-learn, River and
//! Vowpal Wabbit; `--sdist` installs from source.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::cargo::{cargo, root, target};

/// Options of the command.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Measure partial_fit beside scikit-learn's SGDClassifier instead of running the tests
    #[arg(long)]
    pub(crate) speed: bool,
    /// Build the source distribution and install the package from it, in an environment of its own, instead of running the tests
    #[arg(long)]
    pub(crate) sdist: bool,
    /// Build the wheel for glibc 2.28 and later, with the linker of Zig
    #[arg(long)]
    pub(crate) portable: bool,
    /// Rows of the measurement
    #[arg(long, default_value_t = 500_000)]
    pub(crate) rows: u32,
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let folders = Folders::new();
    if options.sdist {
        return folders.install_from_source();
    }
    let wheel = folders.wheel(options.portable)?;
    check_size(&wheel)?;
    let python = folders.clean_environment(&wheel)?;
    let here = root().join("crates/cognate-py");
    let status = if options.speed {
        pip_if_possible(&python, "vowpalwabbit");
        let rows = options.rows.to_string();
        let run = |script: &str| {
            Command::new(&python).arg(here.join("benchmarks").join(script)).args(["--rows", &rows]).status()
        };
        match run("ratios.py") {
            Ok(status) if status.success() => run("speed.py"),
            other => other,
        }
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

    /// Builds the wheel; a portable one runs on older systems than this.
    fn wheel(&self, portable: bool) -> Result<PathBuf> {
        let build: &[&str] = if portable {
            &["build", "--release", "--quiet", "--zig", "--compatibility", "manylinux_2_28"]
        } else {
            &["build", "--release", "--quiet"]
        };
        let packages: &[&str] =
            if portable { &["maturin>=1.16,<2", "ziglang"] } else { &["maturin>=1.16,<2"] };
        say("building the wheel");
        self.maturin(packages, build, "wheels", "whl")
    }

    /// Has maturin make one file, in a folder that holds nothing else.
    fn maturin(&self, packages: &[&str], command: &[&str], folder: &str, end: &str) -> Result<PathBuf> {
        let python = self.environment("build")?;
        pip(&python, packages)?;
        let folder = self.home.join(folder);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        let mut maturin = Command::new(&python);
        maturin.args(["-m", "maturin"]).args(command).arg("--out").arg(&folder);
        let built = maturin
            .current_dir(root().join("crates/cognate-py"))
            .env("CARGO_TARGET_DIR", &self.target)
            .status();
        ensure!(built.context("maturin")?.success(), "maturin failed");
        let mut found = std::fs::read_dir(&folder)?.filter_map(|entry| entry.ok().map(|entry| entry.path()));
        found.find(|path| path.extension().is_some_and(|found| found == end)).context("maturin made no file")
    }

    /// Installs the package from its source distribution, and asks it for its version.
    fn install_from_source(&self) -> Result<bool> {
        say("building the source distribution");
        let source = self.maturin(&["maturin>=1.16,<2"], &["sdist"], "source", "gz")?;
        let environment = self.home.join("from-source");
        if environment.exists() {
            std::fs::remove_dir_all(&environment)?;
        }
        let python = self.environment("from-source")?;
        say(&format!("installing from {}", source.display()));
        let mut install = Command::new(&python);
        install
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .arg(self.unpacked(&source)?);
        // What it needs is compiled once for all that is built here.
        let installed = install.env("CARGO_TARGET_DIR", &self.target).status();
        ensure!(installed.context("pip")?.success(), "pip install failed");
        let program =
            "import cognate; print(cognate.__version__, cognate.Learner().learn_one({'a': 1}, True))";
        Ok(Command::new(&python).args(["-c", program]).status().context("python")?.success())
    }

    /// The folder that a source distribution holds, unpacked where it was before: pip would unpack it somewhere else each time, and
    /// what is built there would pile up. Files are as new as they are here, or cargo would take them for built.
    fn unpacked(&self, source: &Path) -> Result<PathBuf> {
        let folder = self.home.join("unpacked");
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        let unpacked = Command::new("tar").arg("-xzmf").arg(source).arg("-C").arg(&folder).status();
        ensure!(unpacked.context("tar")?.success(), "tar failed");
        let mut inside = std::fs::read_dir(&folder)?.filter_map(|entry| entry.ok().map(|entry| entry.path()));
        inside.find(|path| path.is_dir()).context("the source distribution is empty")
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

/// Largest wheel, in bytes.
const LARGEST_WHEEL: u64 = 4_000_000;

/// Checks that the wheel has stayed small.
fn check_size(wheel: &Path) -> Result<()> {
    let bytes = std::fs::metadata(wheel)?.len();
    say(&format!("{}: {:.1} MB", wheel.file_name().unwrap_or_default().display(), bytes as f64 / 1e6));
    ensure!(bytes < LARGEST_WHEEL, "the wheel has {bytes} bytes; expected less than {LARGEST_WHEEL}");
    Ok(())
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

/// Installs what is only compared with, where there is a package for this system.
fn pip_if_possible(python: &Path, package: &str) {
    if let Err(error) = pip(python, &["--only-binary", ":all:", package]) {
        say(&format!("{package} is left out: {error}"));
    }
}
