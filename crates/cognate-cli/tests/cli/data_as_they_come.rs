//! Labels by name, ids, formats by file name, other columns and keys: data as users have them.

use super::support::Folder;

const MAIL: &str = "\
mail;user;verdict;size;subject
m1;ann;ham;1;hello
m2;bob;spam;2;offer
m3;ann;spam;3;offer
m3;bob;ham;-1;re: hello
";

const FLAGS: &str = "--separator ; --task-column user --label-column verdict --id-column mail";

fn folder() -> Folder {
    Folder::with("a.csv", MAIL)
}

#[test]
fn names_and_ids_come_back() {
    let folder = folder();
    folder.output(&format!("learn a.csv {FLAGS} --positive spam --passes 20 --quiet --model m.cog"));
    let csv = folder.output("predict a.csv --model m.cog");
    let rows: Vec<Vec<&str>> = csv.lines().map(|row| row.split(',').take(4).collect()).collect();
    assert_eq!(rows[0], ["line", "id", "task", "label"]);
    assert_eq!(rows[1], ["2", "m1", "ann", "ham"]);
    assert_eq!(rows[2], ["3", "m2", "bob", "spam"]);
    assert_eq!((rows[3][1], rows[4][1]), ("m3", "m3"), "an id may come twice");
    let json = folder.output("predict a.csv --model m.cog --json");
    assert!(json.lines().next().unwrap().contains("\"id\":\"m1\",\"label\":\"ham\",\"line\":2"), "{json}");
    // A fit and a stream agree about names.
    folder.output(&format!("fit a.csv {FLAGS} --positive spam --quiet --model f.cog"));
    assert!(folder.output("predict a.csv --model f.cog").contains("\n3,m2,bob,spam,"));
}

#[test]
fn labels_come_back_in_the_words_of_the_data() {
    for (negative, positive, json) in
        [("-1", "+1", ["-1", "1"]), ("0", "1", ["0", "1"]), ("false", "true", ["false", "true"])]
    {
        let folder = Folder::with("a.svm", format!("{positive} 1:1\n{negative} 2:1\n"));
        folder.output("learn a.svm --passes 5 --quiet --model m.cog");
        let csv = folder.output("predict a.svm --model m.cog");
        let words: Vec<&str> = csv.lines().skip(1).map(|row| row.split(',').nth(3).unwrap()).collect();
        assert_eq!(words, [json[1], json[0]]);
        let lines = folder.output("predict a.svm --model m.cog --json");
        assert!(lines.contains(&format!("\"label\":{},", json[0])), "{lines}");
    }
}

#[test]
fn names_without_a_positive_one_are_refused_with_the_way_out() {
    let folder = folder();
    let ran = folder.refused(
        &format!("learn a.csv {FLAGS} --quiet"),
        &[
            "a.csv:2:8: found label \"ham\"",
            "hint: if labels are two names, --positive NAME says which of them is +1",
        ],
    );
    assert!(!ran.stderr.contains("one-vs-all"), "{}", ran.stderr);
    folder.write("b.csv", format!("{MAIL}m5;ann;eggs;1;x\n"));
    folder.refused(
        &format!("learn b.csv {FLAGS} --positive spam --quiet"),
        &[
            "b.csv:6:8: found a third label name, \"eggs\"; expected \"spam\" (+1) or \"ham\" (-1)",
            "--one-vs-all",
        ],
    );
    folder.write("r.svm", "1.5 1:1\n");
    folder.refused(
        "learn r.svm --quiet",
        &["--set loss=squares, absolute, quantile or poisson; or `cognate fit`"],
    );
}

#[test]
fn a_positive_label_that_never_comes_is_told() {
    let folder = Folder::with("a.svm", "ham 1:1\nham 2:1\n");
    for command in ["learn a.svm --model m.cog", "compare a.svm --runs 1"] {
        let ran = folder.run(&format!("{command} --positive Spam --quiet"));
        ran.assert_done();
        assert!(ran.stderr.contains("warning: --positive Spam: no line has this label"), "{}", ran.stderr);
    }
}

#[test]
fn skipped_lines_keep_their_rows() {
    let folder = Folder::with("a.svm", "+1 1:1\n-1 2:1\n");
    folder.output("learn a.svm --quiet --model m.cog");
    folder.write("b.svm", "bad\n? id:x 1:1\n\nbad\n? 2:1\nbad\n");
    let csv = folder.output("predict b.svm --model m.cog --skip-bad 9");
    let starts: Vec<String> =
        csv.lines().map(|row| row.split(',').take(3).collect::<Vec<_>>().join(",")).collect();
    assert_eq!(starts, ["line,id,task", "1,,", "2,x,default", "4,,", "5,,default", "6,,"]);
    assert!(csv.contains("\n1,,,,\n") && csv.ends_with("\n6,,,,\n"), "{csv}");
    let with = folder.output("predict b.svm --model m.cog --skip-bad 9 --probability");
    assert!(with.contains("\n1,,,,,\n"), "{with}");
    let json = folder.output("predict b.svm --model m.cog --skip-bad 9 --json");
    assert_eq!(json.lines().next(), Some("{\"label\":null,\"line\":1,\"margin\":null,\"task\":null}"));
}

#[test]
fn names_of_files_tell_the_format() {
    let folder = folder();
    let tabs = MAIL.replace(';', "\t");
    folder.write("a.tsv", &tabs);
    let flags = FLAGS.replace("--separator ; ", "");
    let weights = |data: &str, flags: &str| {
        folder.output(&format!("learn {data} {flags} --positive spam --quiet --overwrite --model m.cog"));
        folder.output("inspect m.cog --weights")
    };
    let expected = weights("a.csv", FLAGS);
    assert_eq!(weights("a.tsv", &flags), expected);
    assert_eq!(weights("a.tsv", &format!("{flags} --format csv")), expected);
    folder.write(
        "b.ndjson",
        "{\"label\":true,\"features\":[\"a\",\"b\",\"a\"]}\n{\"label\":false,\"features\":[\"b\"]}\n",
    );
    folder.output("learn b.ndjson --quiet --model j.cog");
    assert!(folder.output("predict b.ndjson --model j.cog").contains("\n1,,default,"));
    folder.refused(
        "learn a.tsv b.ndjson --quiet",
        &["error: a.tsv and b.ndjson are of different formats by their names"],
    );
    folder.write("n.svm", "+1 1:1\n");
    folder.output("learn n.svm --quiet --model n.cog");
    folder
        .refused("predict a.csv --model n.cog", &["features of `csv` are names, those of the model numbers"]);
}

#[test]
fn other_keys_are_named_or_ignored() {
    let folder = Folder::with(
        "a.jsonl",
        "{\"who\":\"ann\",\"spam\":true,\"words\":[\"offer\"],\"raw\":\"x\"}\n{\"who\":\"bob\",\"spam\":false,\"words\":[\"hi\"],\"raw\":null}\n",
    );
    let keys = "--task-key who --label-key spam --features-key words";
    folder.refused(
        &format!("learn a.jsonl {keys} --quiet"),
        &["found key \"raw\"", "hint: --ignore leaves keys out"],
    );
    let summary = folder.summary(&format!("a.jsonl {keys} --ignore raw"));
    assert_eq!(summary["examples"], 2);
    folder.refused(
        "learn a.jsonl --format svm --ignore raw",
        &["--ignore: is a parameter of the formats `csv` and `jsonl`"],
    );
}
