//! The data sets of the papers: which files, where they come from, and how they are read.

use std::io::Read as _;
use std::path::Path;

use anyhow::{Context, ensure};
use cognate::stream::{Input, Memory, Normalize, ReadOptions, StreamConfig};
use cognate::{Example, RunConfig, SparseView};

use crate::Lab;

/// A data set below the data folder.
pub struct DataSet {
    /// What it is called.
    pub name: &'static str,
    /// Its files.
    pub files: &'static [&'static str],
    /// Where it comes from, and the form it must have.
    pub source: &'static str,
}

pub(crate) const RCV1: DataSet = DataSet {
    name: "rcv1",
    files: &["rcv1/rcv1.svm.gz", "rcv1/rcv1.labels_D1-D8.tsv.gz"],
    source: "RCV1-v2 (Lewis et al. 2004): documents as unit rows, tasks 1, 2, 3, 4 in turn; labels of D1 to D8 in eight \
             columns, one line per document",
};
pub(crate) const SPAM_B: DataSet = DataSet {
    name: "spam_b",
    files: &["spam_b/spam_b.svm.gz"],
    source: "ECML/PKDD 2006 discovery challenge, task B: 15 users of 400 mails, term frequencies",
};
pub(crate) const SPAM_A: DataSet = DataSet {
    name: "spam_a",
    files: &["spam_a/spam_a.svm.gz"],
    source: "ECML/PKDD 2006 discovery challenge, task A: 3 users of 2500 mails, term frequencies",
};
pub(crate) const NEWS20: DataSet = DataSet {
    name: "news20",
    files: &["news20/news20.svm.gz", "news20/news20_test.svm.gz"],
    source: "20 Newsgroups, split by date: ten pairs of groups as tasks, term counts",
};
pub(crate) const SENTIMENT16: DataSet = DataSet {
    name: "sentiment16",
    files: &["sentiment16/sentiment16.svm.gz", "sentiment16/sentiment16_test.svm.gz"],
    source: "FDU-MTL (Liu et al. 2017): reviews of 16 domains, the first seven of which are the paper's; word counts",
};
pub(crate) const MHC: DataSet = DataSet {
    name: "mhc",
    files: &["mhc/mhc.svm.gz"],
    source: "IEDB: peptides of nine letters against twelve MHC-I alleles, counts of adjacent pairs of letters",
};
pub(crate) const TDT2: DataSet = DataSet {
    name: "tdt2",
    files: &["tdt2/tdt2.svm.gz"],
    source: "NIST TDT2, 30 largest topics: every topic against as many documents of others, term counts",
};
pub(crate) const MOVIELENS: DataSet = DataSet {
    name: "movielens",
    files: &["movielens/movielens.svm.gz"],
    source: "GroupLens ml-latest-small: 30 users of 200 films, the ratings of the others as features",
};
pub(crate) const SARCOS: DataSet = DataSet {
    name: "sarcos",
    files: &["sarcos/sarcos.svm.gz"],
    source: "the SARCOS arm (Gaussian Processes for Machine Learning): 21 features, seven torques as tasks, each task all \
             points in the same order",
};
pub(crate) const SCENES15: DataSet = DataSet {
    name: "scenes15",
    files: &["scenes15/scenes15_images.svm.gz"],
    source: "the 15 scenes of Lazebnik et al. 2006: one line per image, its class from 1 to 15 as label",
};
pub(crate) const SCHOOL: DataSet = DataSet {
    name: "school",
    files: &["school/school.svm.gz"],
    source: "ILEA's exams of 139 schools: label +1 above the 75th percentile, features from 0 to 1",
};
pub(crate) const SENTIMENT: DataSet = DataSet {
    name: "sentiment",
    files: &["sentiment/sentiment.svm.gz"],
    source: "Blitzer et al. 2007: reviews of four kinds of products, counts of words and pairs of words",
};

/// A file with its rows scaled to length 1.
pub(crate) fn unit_rows(lab: &Lab, file: &str) -> anyhow::Result<Memory> {
    rows(lab, file, Normalize::L2)
}

/// A file with its rows scaled, or as they come.
pub(crate) fn rows(lab: &Lab, file: &str, normalize: Normalize) -> anyhow::Result<Memory> {
    let path = lab.data.join(file);
    let stream = StreamConfig { normalize, ..StreamConfig::default() };
    let config = RunConfig { stream, ..RunConfig::default() };
    let reader = config.reader(vec![Input::File(path.clone())], ReadOptions::default())?;
    reader.into_memory().with_context(|| path.display().to_string())
}

/// A stream with the values of each row changed.
pub(crate) fn changed(
    stream: &Memory,
    change: impl Fn(usize, SparseView<'_>) -> Vec<(u32, f64)>,
) -> anyhow::Result<Memory> {
    let mut changed = Memory::new();
    for (at, (task, example)) in stream.examples().enumerate() {
        let (indices, values): (Vec<u32>, Vec<f64>) = change(at, example.features).into_iter().unzip();
        changed.push(task, Example { features: SparseView::try_new(&indices, &values)?, ..example });
    }
    Ok(changed)
}

/// A row scaled to length 1; a row of zeros stays one.
pub(crate) fn to_length_1(mut row: Vec<(u32, f64)>) -> Vec<(u32, f64)> {
    let length = row.iter().map(|(_, value)| value * value).sum::<f64>().sqrt();
    if length > 0.0 {
        row.iter_mut().for_each(|(_, value)| *value /= length);
    }
    row
}

/// The text of a file compressed by gzip.
pub(crate) fn uncompressed(path: &Path) -> anyhow::Result<String> {
    let name = || path.display().to_string();
    let file = std::fs::File::open(path).with_context(name)?;
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(file).read_to_string(&mut text).with_context(name)?;
    Ok(text)
}

/// The lines of a compressed file of columns.
pub(crate) fn columns(path: &Path) -> anyhow::Result<Vec<Vec<f64>>> {
    let text = uncompressed(path)?;
    let row = |(at, line): (usize, &str)| {
        let cells = line.split('\t').map(str::parse).collect::<Result<Vec<f64>, _>>();
        cells.with_context(|| format!("{}:{}: expected numbers between tabs", path.display(), at + 1))
    };
    text.lines().enumerate().map(row).collect()
}

/// The eight streams D1 to D8 of MP10: the same documents with different labels.
pub(crate) fn rcv1(lab: &Lab) -> anyhow::Result<Vec<Memory>> {
    let documents = unit_rows(lab, RCV1.files[0])?;
    let labels = columns(&lab.data.join(RCV1.files[1]))?;
    ensure!(
        labels.len() == documents.len() && labels.iter().all(|row| row.len() == 8),
        "{}: expected eight labels for each of {} documents",
        RCV1.files[1],
        documents.len()
    );
    let relabelled = |set: usize| {
        let mut stream = Memory::new();
        for ((task, example), row) in documents.examples().zip(&labels) {
            stream.push(task, Example { label: row[set], ..example });
        }
        stream
    };
    Ok((0..8).map(relabelled).collect())
}

/// Names of the tasks of a stream, in order of appearance.
pub(crate) fn task_names(stream: &Memory) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (task, _) in stream.examples() {
        if !names.iter().any(|name| name == task) {
            names.push(task.to_owned());
        }
    }
    names
}
