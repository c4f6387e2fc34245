//! `cargo xtask vendor`: the dashboard's files from pinned packages; `cargo xtask browser`: the dashboard in a real browser.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::cargo::{cargo, root, target};

/// Options of `vendor`.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Write nothing; fail if the committed files are not what would be written
    #[arg(long)]
    pub(crate) check: bool,
}

/// Options of `browser`.
#[derive(Args, Default)]
pub(crate) struct Browser {
    /// Also bring the pictures of docs/dashboard.md up to date
    #[arg(long)]
    pub(crate) docs: bool,
}

/// Pictures of docs/dashboard.md.
const PICTURES: [&str; 4] = ["overview", "task", "label", "map"];

/// Largest dashboard, in bytes compressed.
const LARGEST: u64 = 150_000;

fn page() -> PathBuf {
    root().join("crates/cognate-server/page")
}

fn say(text: &str) {
    eprintln!("page: {text}");
}

/// Installs the pinned packages, unless they are there as the lock file wants them.
fn install() -> Result<()> {
    let (page, mark) = (page(), page().join("node_modules/.cognate-lock"));
    let lock = std::fs::read(page.join("package-lock.json"))?;
    if std::fs::read(&mark).is_ok_and(|known| known == lock) {
        return Ok(());
    }
    say("installing the packages of package-lock.json");
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]).current_dir(&page);
    ensure!(npm.status().context("npm")?.success(), "npm ci failed");
    std::fs::write(mark, lock)?;
    Ok(())
}

/// Runs `vendor`.
pub(crate) fn vendor(options: &Options) -> Result<bool> {
    install()?;
    let (page, made) = (page(), target().join("page"));
    let committed = page.join("dist");
    let out = if options.check { &made } else { &committed };
    let built = Command::new("node").arg("build.mjs").arg(out).current_dir(&page).status();
    ensure!(built.context("node")?.success(), "the page could not be bundled");
    let mut holds = true;
    let mut bytes = 0;
    for file in ["index.html", "app.js", "app.css", "icon.svg"] {
        bytes += compressed(&out.join(file))?;
        if options.check
            && std::fs::read(made.join(file))? != std::fs::read(committed.join(file)).unwrap_or_default()
        {
            say(&format!("dist/{file} is not what `cargo xtask vendor` makes"));
            holds = false;
        }
    }
    say(&format!("{:.1} kB compressed", bytes as f64 / 1e3));
    ensure!(bytes < LARGEST, "the page has {bytes} bytes compressed; expected less than {LARGEST}");
    Ok(holds)
}

fn compressed(path: &Path) -> Result<u64> {
    let gzip = Command::new("gzip").args(["--best", "--stdout"]).arg(path).output().context("gzip")?;
    ensure!(gzip.status.success(), "{} could not be compressed", path.display());
    Ok(gzip.stdout.len() as u64)
}

/// Where Chromium is; installed where that can be done.
fn chromium() -> Result<PathBuf> {
    if let Some(given) = std::env::var_os("CHROMIUM") {
        return Ok(given.into());
    }
    let path = PathBuf::from("/usr/bin/chromium");
    if !path.exists() {
        say("installing chromium");
        for words in [&["update"][..], &["install", "--yes", "--no-install-recommends", "chromium"]] {
            let done = Command::new("apt-get").args(words).env("DEBIAN_FRONTEND", "noninteractive").output();
            if !done.is_ok_and(|done| done.status.success()) {
                bail!(
                    "there is no /usr/bin/chromium, and apt-get {} failed; set CHROMIUM to a browser",
                    words[0]
                );
            }
        }
    }
    Ok(path)
}

/// Runs `browser`: pictures are kept in `target/browser`.
pub(crate) fn browser(options: &Browser) -> Result<bool> {
    install()?;
    let chromium = chromium()?;
    let pictures = target().join("browser");
    std::fs::create_dir_all(&pictures)?;
    let built = cargo().args(["build", "--quiet", "--package", "cognate-learn"]).status();
    ensure!(built.context("cargo")?.success(), "the program does not build");
    // A page that hangs ends the tests, not the day.
    let mut test = Command::new("timeout");
    test.args(["--kill-after=5", "240", "node", "test/browser.mjs"])
        .arg(target().join("debug/cognate"))
        .arg(&pictures);
    let done = test.current_dir(page()).env("CHROMIUM", chromium).status().context("timeout")?;
    say(&format!("pictures are in {}", pictures.display()));
    if options.docs && done.success() {
        for name in PICTURES {
            let to = root().join(format!("docs/images/dashboard-{name}.png"));
            std::fs::copy(pictures.join(format!("light-{name}.png")), to)?;
        }
    }
    Ok(done.success())
}
