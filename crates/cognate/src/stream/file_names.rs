//! The format that the name of a file tells.

use std::path::Path;

use super::{CsvConfig, Format, JsonlConfig, VwConfig};

impl Format {
    /// The format that a file's name tells: `.svm`, `.libsvm`, `.vw`, `.csv`, `.tsv`, `.jsonl` and `.ndjson`, also before
    /// `.gz`, `.zst` and `.zstd`.
    pub fn of_file_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let packed = [".gz", ".zst", ".zstd"].iter().find_map(|end| name.strip_suffix(end));
        let (_, ending) = packed.unwrap_or(&name).rsplit_once('.')?;
        match ending {
            "svm" | "libsvm" => Some(Self::default()),
            "vw" => Some(Self::Vw(VwConfig::default())),
            "csv" => Some(Self::Csv(CsvConfig::default())),
            "tsv" => Some(Self::Csv(CsvConfig { separator: Some("tab".to_owned()), ..CsvConfig::default() })),
            "jsonl" | "ndjson" => Some(Self::Jsonl(JsonlConfig::default())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_formats() {
        for (name, format) in [
            ("a.svm", Some("svm")),
            ("a.csv/b.libsvm", Some("svm")),
            ("x/A.VW.gz", Some("vw")),
            ("a.b.csv.zst", Some("csv")),
            ("a.ndjson", Some("jsonl")),
            ("a.jsonl.zstd", Some("jsonl")),
            ("a.txt", None),
            ("svm", None),
            ("a.svm.bz2", None),
            ("-", None),
        ] {
            assert_eq!(Format::of_file_name(Path::new(name)).map(|format| format.id()), format, "{name}");
        }
        let Some(Format::Csv(tsv)) = Format::of_file_name(Path::new("a.tsv.gz")) else { panic!("not csv") };
        assert_eq!(tsv.separator_byte(), Some(b'\t'));
    }
}
