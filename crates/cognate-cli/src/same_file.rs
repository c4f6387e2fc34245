//! Which files does a command read and write? No output may be an input or another output, whatever it is called.
//!
//! Looked at before anything is written. Files are the same by device and inode, so links of both kinds are seen through.

use std::path::{Path, PathBuf};

use anyhow::bail;

use crate::args::{Command, LabCommand};
use crate::settings::files_of_config;

/// Files of a command.
#[derive(Default)]
struct Files {
    /// What each is, as the end of a sentence, and where.
    reads: Vec<(String, PathBuf)>,
    /// The flag of each, and where.
    writes: Vec<(&'static str, PathBuf)>,
    /// A model that may be written over the one it continues.
    continued: Option<PathBuf>,
}

/// Refuses a command that would write over what it reads, or write one file twice.
pub(crate) fn check(command: &Command) -> anyhow::Result<()> {
    let mut files = files(command);
    files.reads.iter_mut().filter(|(_, path)| path.as_os_str() == "-").for_each(|(_, path)| {
        *path = PathBuf::from("/dev/stdin");
    });
    let named = |flag: &str, path: &Path| match flag {
        "" => "standard output".to_owned(),
        flag => format!("--{flag} {}", path.display()),
    };
    files.writes.push(("", PathBuf::from("/dev/stdout")));
    for (at, (flag, path)) in files.writes.iter().enumerate() {
        let Some(output) = Identity::of(path) else { continue };
        let continued = |path: &PathBuf| *flag == "model" && files.continued.as_ref() == Some(path);
        let read = files.reads.iter().filter(|(_, path)| !continued(path));
        if let Some((what, _)) =
            read.into_iter().find(|(_, path)| Identity::of(path).as_ref() == Some(&output))
        {
            bail!("{}: is {what}", named(flag, path));
        }
        let mut before = files.writes[..at].iter();
        if let Some((first, same)) = before.find(|(_, path)| Identity::of(path).as_ref() == Some(&output)) {
            bail!("{}: is also written by {}", named(flag, path), named(first, same));
        }
    }
    Ok(())
}

fn files(command: &Command) -> Files {
    let mut files = Files::default();
    match command {
        Command::Learn(args) => {
            files.data("to learn from", &args.data);
            files.read("the config file", args.config.as_ref());
            files.read("the model to resume", args.resume.as_ref());
            files.settings(args.config.as_deref(), &args.sets);
            files.write("model", args.model.as_ref());
            // `-` is standard output, which is looked at in any case.
            files.write("trace", args.trace.as_ref().filter(|path| path.as_os_str() != "-"));
            files.write("bad-lines", args.stream.bad_lines.as_ref());
            files.write("ask", args.ask.as_ref());
            files.write("report", args.report.as_ref());
            files.continued.clone_from(&args.resume);
        }
        Command::Compare(args) => {
            files.data("to learn from", &args.data);
            files.write("bad-lines", args.stream.bad_lines.as_ref());
            files.settings(None, &args.sets);
            files.write("report", args.report.as_ref());
        }
        Command::Fit(args) => {
            files.data("to learn from", &args.data);
            files.read("the config file", args.config.as_ref());
            files.settings(args.config.as_deref(), &args.sets);
            files.write("model", args.model.as_ref());
            files.write("report", args.report.as_ref());
            files.write("bad-lines", args.bad_lines.as_ref());
        }
        Command::Predict(args) => {
            files.data("to predict", &args.data);
            files.write("bad-lines", args.bad_lines.as_ref());
            files.read("the model", args.from.server.is_none().then_some(&args.model));
        }
        Command::Inspect(args) => files.read("the model", args.model.file.as_ref()),
        Command::Forget(args) => {
            files.read("the model", Some(&args.from));
            files.write("model", Some(&args.model));
            files.continued = Some(args.from.clone());
        }
        Command::Export(args) => {
            files.read("the model", Some(&args.model));
            files.write("to", Some(&args.to));
        }
        Command::Relations(args) => {
            files.read("the model", args.model.file.as_ref());
            files.write("svg", args.svg.as_ref());
            files.write("graph", args.graph.as_ref());
        }
        Command::Bound(args) => {
            files.data("that the model was learnt from", &args.data);
            files.write("bad-lines", args.stream.bad_lines.as_ref());
            files.read("the model", Some(&args.model));
            files.read("the file of --comparator", args.comparator.as_ref());
        }
        Command::Demo(args) => {
            files.write("stream", args.stream.as_ref());
            files.write("picture", args.picture.as_ref());
            files.write("out", Some(&args.out));
        }
        Command::Parse(args) => files.data("to parse", &args.data),
        // They write into a folder of their own, or nothing.
        Command::Lab(args) => match &args.command {
            LabCommand::List(_) | LabCommand::Run(_) => {}
        },
        Command::Algorithms(_) | Command::Serve(_) | Command::Recover(_) | Command::Token(_) => {}
    }
    files
}

impl Files {
    fn data(&mut self, what_for: &str, data: &[PathBuf]) {
        self.reads.extend(data.iter().map(|path| (format!("one of the files {what_for}"), path.clone())));
    }

    fn read(&mut self, what: &str, path: Option<&PathBuf>) {
        self.reads.extend(path.map(|path| (what.to_owned(), path.clone())));
    }

    /// Files that parameters name: edges of a graph, rows of a matrix.
    fn settings(&mut self, config: Option<&Path>, sets: &[String]) {
        let named = files_of_config(config, sets).into_iter();
        self.reads.extend(named.map(|path| ("a file that a parameter names".to_owned(), path)));
    }

    fn write(&mut self, flag: &'static str, path: Option<&PathBuf>) {
        self.writes.extend(path.map(|path| (flag, path.clone())));
    }
}

/// Whether two paths lead to one file, which exists.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    let (one, other) = (Identity::of(one), Identity::of(other));
    matches!(one, Some(Identity::File(..))) && one == other
}

/// What a path stands for, if that is a file, or could become one.
#[derive(Debug, PartialEq)]
enum Identity {
    /// A file by its device and inode, or the next best thing.
    File(u64, u64, PathBuf),
    /// No file yet.
    Missing(PathBuf),
}

impl Identity {
    fn of(path: &Path) -> Option<Self> {
        match std::fs::metadata(path) {
            // Devices and pipes can be shared.
            Ok(meta) => meta.is_file().then(|| file_identity(path, &meta)),
            Err(_) => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
                Some(Self::Missing(folder.join(path.file_name()?)))
            }
        }
    }
}

#[cfg(unix)]
fn file_identity(_: &Path, meta: &std::fs::Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    Identity::File(meta.dev(), meta.ino(), PathBuf::new())
}

#[cfg(not(unix))]
fn file_identity(path: &Path, _: &std::fs::Metadata) -> Identity {
    Identity::File(0, 0, path.canonicalize().unwrap_or_else(|_| path.to_owned()))
}
