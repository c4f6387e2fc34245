//! Model files byte by byte, and the released ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

pub(crate) use cognate::internal::FORMAT_VERSION;
use cognate::metrics::Tally;
use cognate::{Model, TaskId};

/// The path of a released model of a format version.
pub(crate) fn fixture(version: u32, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/v{version}-{name}.cog"))
}

/// The path of a released model of today's format version; `COGNATE_BLESS` writes it if it is missing.
pub(crate) fn fixture_of(name: &str, model: &Model) -> PathBuf {
    // Several tests may want the same one.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _writing = ONE_AT_A_TIME.lock();
    let path = fixture(FORMAT_VERSION, name);
    if std::env::var_os("COGNATE_BLESS").is_some() && !path.exists() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, model.to_bytes()).unwrap();
    }
    path
}

/// Whether two models are the same but for sums and samples, which earlier writers did not save, and for successes at a
/// margin of exactly 0, which they counted: header and learner byte for byte, and every count.
pub(crate) fn alike(one: &[u8], other: &[u8]) -> bool {
    let counts = |bytes: &[u8]| {
        let model = Model::from_bytes(bytes).unwrap();
        let tasks = (0..model.tasks().len() as u32).map(|task| model.metrics().task(TaskId(task)));
        let numbers = |tally: Tally| {
            let Tally { examples, mistakes, updates, queries, .. } = tally;
            let cells = [tally.true_positives, tally.false_positives, tally.false_negatives];
            ([examples, mistakes, updates, queries], cells)
        };
        let counts: Vec<_> = tasks.chain([*model.metrics().total()]).map(numbers).collect();
        (counts, model.metrics().unlabelled(), model.metrics().asked())
    };
    sections(one)[..2] == sections(other)[..2] && counts(one) == counts(other)
}

/// Loads a released model and checks that writing it changes nothing but counts, as in [`alike`], and, in older
/// versions, its header. Of `adaptive`, whose own weights are rounded when they are loaded, the state stays as long as it is.
pub(crate) fn released(path: &Path) -> Model {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let model = Model::from_bytes(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let written = model.to_bytes();
    let (then, now) = (sections(&bytes), sections(&written));
    let is_rounded = path.file_name().is_some_and(|name| name.to_string_lossy().contains("-adaptive"));
    let same_state = if is_rounded { then[1].len() == now[1].len() } else { then[1] == now[1] };
    assert!(same_state, "{} comes back otherwise", path.display());
    if bytes[8..12] == FORMAT_VERSION.to_le_bytes() {
        let with_its_state = assembled(FORMAT_VERSION, &[then[0].clone(), now[1].clone(), then[2].clone()]);
        assert!(alike(&written, &with_its_state), "{} comes back otherwise", path.display());
    } else {
        assert_eq!(written[8..12], FORMAT_VERSION.to_le_bytes());
    }
    assert!(Model::from_bytes(&written).unwrap().to_bytes() == written);
    model
}

/// Contents of the three sections, the first beginning at byte 12.
pub(crate) fn sections(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut at = 12;
    let mut next = || {
        let length = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
        let section = bytes[at + 8..at + 8 + length].to_vec();
        at += 8 + length + 4;
        section
    };
    (0..3).map(|_| next()).collect()
}

/// A model file of these sections, with valid checksums.
pub(crate) fn assembled(version: u32, sections: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = b"COGNATE\0".to_vec();
    bytes.extend(version.to_le_bytes());
    let mut covered = 0;
    for section in sections {
        bytes.extend((section.len() as u64).to_le_bytes());
        bytes.extend(section);
        let checksum = crc32fast::hash(&bytes[covered..]);
        bytes.extend(checksum.to_le_bytes());
        covered = bytes.len();
    }
    bytes
}
