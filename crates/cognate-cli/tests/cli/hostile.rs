//! Streams made to cost much: keys that crowd in tables, classes without end, bombs of nothing.

use std::fmt::Write as _;
use std::io::Write as _;

use super::support::Folder;

/// Features whose products with the golden ratio all begin alike: they crowd in tables that multiply with it.
fn crowded(lines: u32, per_line: u32) -> String {
    let golden = 0x9E37_79B1_u32;
    // Turns a product into the number that it is the product of.
    let inverse = (0..5).fold(1_u32, |x, _| x.wrapping_mul(2_u32.wrapping_sub(golden.wrapping_mul(x))));
    let mut text = String::new();
    for line in 0..lines {
        let products = 1 + line * per_line..=(line + 1) * per_line;
        let mut features: Vec<u32> = products.map(|product| product.wrapping_mul(inverse)).collect();
        features.sort_unstable();
        features.retain(|feature| (1..u32::MAX - 1).contains(feature));
        let (sign, task) = (if line.is_multiple_of(2) { '+' } else { '-' }, inverse.wrapping_mul(line) / 2);
        write!(text, "{sign}1 qid:{task}").unwrap();
        features.iter().for_each(|feature| write!(text, " {feature}:1").unwrap());
        text.push('\n');
    }
    text
}

/// Every process draws a secret of its own, by which keys lie elsewhere in its tables.
#[test]
fn where_keys_lie_makes_no_difference_to_models_and_traces() {
    let folder = Folder::with("a.svm", crowded(300, 60));
    for learner in [
        "adaptive",
        "perceptron",
        "p-norm-perceptron",
        "kernel-perceptron",
        "passive-aggressive",
        "collaborative",
        "rom-pgd",
        "rom-rda",
        "budget-random",
    ] {
        let run = |name: &str| {
            folder.output(&format!(
                "learn a.svm a.svm --quiet --learner {learner} --overwrite --model {name}.cog --trace {name}.jsonl"
            ));
            (folder.read(&format!("{name}.cog")), folder.read(&format!("{name}.jsonl")))
        };
        assert!(run("one") == run("two"), "{learner}");
    }
}

#[test]
fn classes_beyond_a_thousand_must_be_declared() {
    let folder =
        Folder::with("a.svm", (0..1001).fold(String::new(), |text, class| text + &format!("c{class} 1:1\n")));
    let message = [
        "error: a.svm:1001:1: class \"c1000\" is new; a line is an example of every class, and 1000 have been met on the way",
        "hint: if so many classes are meant, declare their number with --tasks",
    ];
    folder.refused("learn a.svm --quiet --learner perceptron --one-vs-all", &message);
    let learn = "a.svm --learner perceptron --one-vs-all";
    assert_eq!(
        folder.summary(&format!("{learn} --skip-bad 1"))["tasks"].as_array().map(Vec::len),
        Some(1000)
    );
    assert_eq!(folder.summary(&format!("{learn} --tasks 1001"))["examples"], 1001 * 1002 / 2);
}

/// As long a line of nothing as fits the usual buffer, often.
fn nothing(line: &[u8], mebibytes: usize) -> Vec<u8> {
    let mut text = b"+1 qid:1 1:1\n".to_vec();
    let line: Vec<u8> = line.iter().copied().cycle().take((1 << 16) - 1).chain([b'\n']).collect();
    (0..mebibytes << 4).for_each(|_| text.extend_from_slice(&line));
    text
}

#[test]
fn bombs_of_blank_lines_and_comments_are_refused() {
    let folder = Folder::new();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&nothing(b" ", 129)).unwrap();
    folder.write("blank.gz", gzip.finish().unwrap());
    folder.write("comments.zst", zstd::encode_all(&nothing(b"#", 129)[..], 1).unwrap());
    for name in ["blank.gz", "comments.zst"] {
        let message = [
            &format!("error: {name}:2050:1: "),
            "128 MiB of blank lines and comments in a row; expected an example",
        ];
        folder.refused(&format!("learn {name} --quiet"), &message.map(|part| part as &str));
    }
    // Half of it twice is not in a row.
    let mut half = nothing(b" ", 65);
    half.extend_from_within(..);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&half).unwrap();
    folder.write("half.gz", gzip.finish().unwrap());
    assert_eq!(folder.summary("half.gz")["examples"], 2);
}
