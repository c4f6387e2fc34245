//! Inputs that are missing, cut off, in another format, compressed, more than one, or change while they are read.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::support::{Folder, Ran, related};

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_directory_is_refused() {
    let folder = Folder::new();
    fs::create_dir(folder.path("examples")).unwrap();
    let ran = folder.refused("learn examples --quiet", &[]);
    assert_eq!(ran.stderr, "error: examples: is a directory; expected a file of examples\n");
}

#[test]
fn a_missing_file_is_refused_by_name_and_once() {
    let ran = Folder::new().refused("learn nothere.svm --quiet", &[]);
    assert_eq!(ran.stderr, "error: nothere.svm: No such file or directory (os error 2)\n");
}

#[test]
fn a_missing_second_file_is_refused_by_name() {
    let folder = Folder::with("a.svm", related(2, 20));
    folder.refused("learn a.svm gone.svm --quiet --model m.cog", &["error: gone.svm: No such file"]);
    folder.output("learn a.svm --quiet --model a.cog");
    assert_eq!(folder.read("m.cog"), folder.read("a.cog"), "the model of what there was");
}

#[test]
fn a_csv_file_is_refused_with_a_hint() {
    let hint = "hint: this looks like CSV: --format csv; `svm` lines read: +1 qid:7 3:0.5 8:1";
    Folder::refuses_line(
        "label,task,x\n1,a,0.5\n",
        "1:1",
        &[r#"found label "label,task,x""#, "expected -1", hint],
    );
    Folder::refuses_line("1,a,0.5\n", "1:1", &[r#"found label "1,a,0.5""#, hint]);
}

#[test]
fn a_json_file_is_refused_with_a_hint() {
    let hint = "hint: this looks like JSON: --format jsonl; `svm` lines read: +1 qid:7 3:0.5 8:1";
    Folder::refuses_line("{\n  \"a\": 1\n}\n", "1:1", &[r#"found label "{""#, "expected -1", hint]);
}

#[test]
fn a_file_of_json_lines_is_refused_with_a_hint() {
    let hint = "hint: this looks like JSON: --format jsonl; `svm` lines read: +1 qid:7 3:0.5 8:1";
    let line = r#"{"task":"a","label":1,"features":{"x":1}}"#;
    Folder::refuses_line(line, "1:1", &["found \"{", "expected a label, -1 or +1", hint]);
}

#[test]
fn a_vowpal_wabbit_file_is_refused_with_a_hint() {
    let hint =
        "hint: this looks like Vowpal Wabbit's format: --format vw; `svm` lines read: +1 qid:7 3:0.5 8:1";
    Folder::refuses_line("1 |f a:1 b:2\n", "1:3", &[r#"found "|f"; expected <index>:<value>"#, hint]);
}

#[test]
fn a_picture_is_refused() {
    Folder::refuses_line(
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01",
        "1:1",
        &[r#"found label "\x89PNG""#, "expected -1 or +1, or 0 or 1"],
    );
}

#[test]
fn a_model_is_refused_as_examples_and_examples_as_a_model() {
    let folder = Folder::with("a.svm", related(2, 20));
    folder.output("learn a.svm --quiet --model m.cog");
    folder.refused("learn m.cog --quiet", &["error: m.cog:1:1: found \"COGNATE"]);
    for command in ["inspect", "relations", "predict a.svm --model", "learn a.svm --quiet --resume"] {
        folder.refused(
            &format!("{command} a.svm"),
            &["error: a.svm: not a cognate model: it does not begin with the magic bytes `COGNATE`"],
        );
        folder.refused(
            &format!("{command} gone.cog"),
            &["error: gone.cog: cannot read the model: No such file"],
        );
    }
}

#[test]
fn a_damaged_or_cut_model_is_refused() {
    let folder = Folder::with("a.svm", related(2, 20));
    folder.output("learn a.svm --quiet --model m.cog");
    let mut bytes = folder.read("m.cog");
    folder.write("cut.cog", &bytes[..bytes.len() - 9]);
    folder.refused("inspect cut.cog", &["error: cut.cog: the model is cut off: ", " bytes of "]);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    folder.write("damaged.cog", &bytes);
    folder.refused(
        "inspect damaged.cog",
        &["error: damaged.cog: the model's ", "is damaged: its checksum is "],
    );
}

#[test]
fn compressed_files_are_recognised_whatever_they_are_called() {
    let text = related(3, 500);
    let folder = Folder::with("plain.svm", &text);
    folder.write("zipped.svm", gzip(&text));
    // Two compressed members in a row are one text.
    let (first, second) = text.split_at(text[..text.len() / 2].rfind('\n').unwrap() + 1);
    folder.write("members.gz", [gzip(first), gzip(second)].concat());
    folder.write("zstd", zstd::encode_all(text.as_bytes(), 3).unwrap());
    folder.output("learn plain.svm --quiet --overwrite --model plain.cog");
    for name in ["zipped.svm", "members.gz", "zstd"] {
        folder.output(&format!("learn {name} --quiet --overwrite --model m.cog"));
        assert_eq!(folder.read("m.cog"), folder.read("plain.cog"), "{name}");
    }
}

#[test]
fn a_compressed_file_cut_off_in_the_middle_is_refused() {
    let text = related(3, 5000);
    let zipped = gzip(&text);
    let packed = zstd::encode_all(text.as_bytes(), 3).unwrap();
    let folder = Folder::with("cut.gz", &zipped[..zipped.len() / 2]);
    folder.write("cut.zst", &packed[..packed.len() / 2]);
    folder.write("head.gz", &zipped[..5]);
    for name in ["cut.gz", "cut.zst", "head.gz"] {
        let ran = folder
            .refused(&format!("learn {name} --quiet --model {name}.cog"), &[&format!("error: {name}: ")]);
        assert!(ran.stderr.contains("incomplete") || ran.stderr.contains("unexpected"), "{}", ran.stderr);
    }
    // Of five bytes nothing is learnt; of a half what came before the cut, which loads.
    assert_eq!(folder.names(), ["cut.gz", "cut.gz.cog", "cut.zst", "cut.zst.cog", "head.gz"]);
    for model in ["cut.gz.cog", "cut.zst.cog"] {
        folder.output(&format!("inspect {model}"));
    }
}

#[test]
fn a_damaged_compressed_file_is_refused() {
    let mut zipped = gzip(&related(3, 5000));
    let middle = zipped.len() / 2;
    zipped[middle..middle + 16].fill(0xff);
    let folder = Folder::with("bad.gz", zipped);
    folder.refused("learn bad.gz --quiet --model m.cog", &["error: bad.gz:", "the model is saved in m.cog"]);
    folder.output("inspect m.cog");
}

#[test]
fn several_files_are_one_stream() {
    let text = related(3, 300);
    let (first, second) = text.split_at(text[..text.len() / 2].rfind('\n').unwrap() + 1);
    let folder = Folder::with("all.svm", &text);
    folder.write("a.svm", first.trim_end());
    folder.write("b.svm.gz", gzip(second));
    folder.output("learn all.svm --quiet --model all.cog --passes 2");
    folder.output("learn a.svm b.svm.gz --quiet --model parts.cog --passes 2");
    assert_eq!(folder.read("all.cog"), folder.read("parts.cog"));
}

#[test]
fn standard_input_is_a_file_like_any_other() {
    let text = related(3, 300);
    let folder = Folder::with("all.svm", &text);
    folder.output("learn all.svm --quiet --overwrite --model all.cog");
    let inputs = [text.clone().into_bytes(), gzip(&text), zstd::encode_all(text.as_bytes(), 3).unwrap()];
    for input in inputs {
        folder.run_with_input("learn - --quiet --overwrite --model m.cog", input).assert_done();
        assert_eq!(folder.read("m.cog"), folder.read("all.cog"));
    }
    folder.run_with_input("learn - --quiet --overwrite --model m.cog --passes 2", text).assert_done();
    folder.output("learn all.svm --quiet --overwrite --model twice.cog --passes 2");
    assert_eq!(
        folder.read("m.cog"),
        folder.read("twice.cog"),
        "several passes hold standard input in memory"
    );
}

#[test]
fn errors_on_standard_input_have_their_place() {
    let ran = Folder::new().run_with_input("learn - --quiet", "+1 1:1\n+1 1:x\n");
    ran.assert_refused(&["error: <stdin>:2:6: found value \"x\"; expected a finite number of at most 1e150"]);
}

#[test]
fn standard_input_twice_is_refused() {
    let folder = Folder::new();
    let message = "error: `-` is given 2 times; standard input can be read only once\n";
    assert_eq!(folder.refused("learn - - --quiet", &[]).stderr, message);
}

#[test]
fn bad_lines_are_skipped_and_counted_up_to_the_limit() {
    let text = "+1 1:1\nx 1:1\n-1 2:1\n+1 0:1\n+1 1:1 1:1\n-1 1:1\n";
    let folder = Folder::with("some.svm", text);
    let ran = folder.run("learn some.svm --quiet --json --skip-bad 3");
    ran.assert_done();
    assert_eq!(ran.stderr, "warning: skipped 3 bad lines\n");
    let summary: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&summary["examples"], &summary["skipped"]), (&3.into(), &3.into()));
    folder.refused("learn some.svm --quiet --skip-bad 2", &["error: some.svm:5:8: feature index 1 after 1"]);
    folder.refused("learn some.svm --quiet", &["error: some.svm:2:1: found label \"x\""]);
    let again = folder.run("learn some.svm --quiet --json --skip-bad 3 --passes 3");
    assert_eq!(
        again.stderr, "warning: skipped 3 bad lines\n",
        "a line is bad once, however often it is read"
    );
    folder.write("good.svm", "+1 1:1\n-1 2:1\n-1 1:1\n");
    folder.output("learn some.svm --quiet --skip-bad 9 --model some.cog");
    folder.output("learn good.svm --quiet --model good.cog");
    assert_eq!(folder.read("some.cog"), folder.read("good.cog"), "a skipped line leaves nothing behind");
}

#[test]
fn a_skipped_line_leaves_no_task_behind() {
    let folder = Folder::with("some.svm", "+1 task:ghost 1:x\n+1 task:a 1:1\n");
    let summary = folder.summary("some.svm --skip-bad 1");
    assert_eq!(summary["tasks"].as_array().map(Vec::len), Some(1), "{summary}");
}

#[test]
fn a_file_that_grows_while_it_is_read_ends_cleanly() {
    // 32 bytes, so that lines end where pages do and a reader never sees half a line.
    let line = "+1 qid:1 1:1 2:1 3:1 4:1 5:1000\n";
    let folder = Folder::with("growing.svm", line.repeat(20_000));
    let mut file = OpenOptions::new().append(true).open(folder.path("growing.svm")).unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&over);
    // Writes whole lines, more slowly than the program reads.
    let writer = std::thread::spawn(move || {
        let mut lines = 20_000_u64;
        while !stop.load(Ordering::Relaxed) {
            file.write_all(line.repeat(10).as_bytes()).unwrap();
            lines += 10;
            std::thread::sleep(Duration::from_millis(2));
        }
        lines
    });
    let ran = folder.run("learn growing.svm --quiet --json --model m.cog");
    over.store(true, Ordering::Relaxed);
    let written = writer.join().unwrap();
    ran.assert_done();
    let summary: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let learnt = summary["examples"].as_u64().unwrap();
    assert!((20_000..=written).contains(&learnt), "{learnt} of {written}");
    folder.output("inspect m.cog");
}

/// Runs `learn` on a pipe that a text is written to, and calls `act` halfway through.
fn while_reading(folder: &Folder, line: &str, text: &str, act: impl FnOnce()) -> Ran {
    let half = text[..text.len() / 2].rfind('\n').unwrap() + 1;
    let pipe = folder.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::thread::scope(|scope| {
        let run = scope.spawn(|| folder.run(line));
        let mut out = OpenOptions::new().write(true).open(&pipe).unwrap();
        out.write_all(&text.as_bytes()[..half]).unwrap();
        act();
        out.write_all(&text.as_bytes()[half..]).unwrap();
        drop(out);
        run.join().unwrap()
    })
}

#[test]
fn a_file_deleted_while_it_is_read_is_read_to_its_end() {
    let text = related(2, 20_000);
    let folder = Folder::new();
    let ran = while_reading(&folder, "learn pipe --quiet --json", &text, || {
        fs::remove_file(folder.path("pipe")).unwrap();
    });
    ran.assert_done();
    assert!(ran.stdout.contains("\"examples\": 20000,"), "{}", ran.stdout);
}

#[test]
fn a_file_that_disappears_before_its_turn_is_refused_by_name() {
    let text = related(2, 20_000);
    let folder = Folder::with("second.svm", "+1 qid:1 1:1\n");
    let ran = while_reading(&folder, "learn pipe second.svm --quiet --model m.cog", &text, || {
        fs::remove_file(folder.path("second.svm")).unwrap();
    });
    ran.assert_refused(&["error: second.svm: No such file or directory", "m.cog, with the 20,000 examples"]);
    assert_eq!(folder.names(), ["m.cog", "pipe"]);
}

#[test]
fn a_second_pass_over_a_file_that_disappeared_is_refused() {
    let text = related(2, 20_000);
    let folder = Folder::with("first.svm", "+1 qid:1 1:1\n");
    let ran = while_reading(&folder, "learn first.svm pipe --quiet --passes 2 --model m.cog", &text, || {
        fs::remove_file(folder.path("first.svm")).unwrap();
    });
    ran.assert_refused(&["error: first.svm: No such file or directory", "m.cog, with the 20,001 examples"]);
    assert_eq!(folder.names(), ["m.cog", "pipe"]);
}
