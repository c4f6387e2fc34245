//! `cognate learn`: tables, summary, trace and report, with one thread or two.

use insta::assert_snapshot;
use serde_json::Value;

use super::support::{Folder, number, redacted, related};

/// The lines of a trace.
fn trace(folder: &Folder, name: &str) -> Vec<Value> {
    folder.text(name).lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
}

#[test]
fn the_progressive_table_and_the_summary() {
    let folder = Folder::with("a.svm", related(3, 100));
    let ran = folder.run("learn --learner perceptron a.svm");
    ran.assert_done();
    assert_snapshot!("learn_stderr", redacted(&ran.stderr));
    assert_snapshot!("learn_stdout", redacted(&ran.stdout));
}

#[test]
fn the_progressive_table_has_a_row_at_every_power_of_two() {
    let folder = Folder::with("a.svm", related(3, 1000));
    let ran = folder.run("learn a.svm");
    let examples: Vec<u64> = ran
        .stderr
        .lines()
        .skip(2)
        .map(|row| row.split_whitespace().nth(2).unwrap().replace(',', "").parse().unwrap())
        .collect();
    assert_eq!(examples, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000]);
}

#[test]
fn the_summary_for_people_lists_twenty_tasks() {
    let folder = Folder::with("a.svm", related(30, 300));
    let text = folder.output("learn a.svm --quiet");
    let heading = "20 of 30 tasks: those of highest error that chance does not explain (lower 95 % bound)\n";
    assert!(text.starts_with(heading) && text.contains("\n… 10 more"), "{text}");
    let row = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = text.lines().skip(2).take(20).map(row).collect();
    // Wilson's lower bound of mistakes in 10 examples each grows with the mistakes.
    let mistakes: Vec<u64> = rows.iter().map(|row| row[2].parse().unwrap()).collect();
    assert!(
        rows.iter().all(|row| row[1] == "10") && mistakes.is_sorted_by(|one, next| one >= next),
        "{text}"
    );
}

#[test]
fn the_json_summary_has_every_field_and_they_agree() {
    let folder = Folder::with("a.svm", related(4, 1000));
    let summary = folder.summary("--learner perceptron a.svm --trace t.jsonl --set interaction.coupled.b=4");
    for field in ["seconds", "examples_per_second", "peak_memory_bytes"] {
        assert!(number(&summary, &format!("/{field}")) > 0.0, "{field}");
    }
    let expected = serde_json::json!({ "perceptron": { "interaction": { "coupled": { "b": 4.0 } } } });
    assert_eq!(summary["learner"], expected);
    let lines = trace(&folder, "t.jsonl");
    assert_eq!(number(&summary, "/examples"), 1000.0);
    assert_eq!(number(&summary, "/queries"), 1000.0);
    assert_counts(&summary, &lines.iter().collect::<Vec<_>>());
    let tasks = summary["tasks"].as_array().unwrap();
    assert_eq!(tasks.iter().map(|row| &row["task"]).collect::<Vec<_>>(), ["1", "2", "3", "4"]);
    for row in tasks {
        let own: Vec<&Value> = lines.iter().filter(|line| line["task"] == row["task"]).collect();
        assert_counts(row, &own);
        let (precision, recall) = (number(row, "/precision"), number(row, "/recall"));
        let f1 = 2.0 * precision * recall / (precision + recall);
        assert!((number(row, "/f1") - f1).abs() < 1e-12);
    }
    assert!(
        number(&summary, "/error") > 0.02 && number(&summary, "/error") < 0.4,
        "a stream that can be learnt"
    );
}

/// Checks the counts of a row against its lines of the trace.
fn assert_counts(row: &Value, lines: &[&Value]) {
    let count = |test: &dyn Fn(&Value) -> bool| lines.iter().filter(|line| test(line)).count() as f64;
    let is_plus = |line: &Value| line["label"] == 1;
    // A margin of exactly 0 is a success of neither label.
    let said_plus = |line: &Value| (line["mistake"] == true) != is_plus(line);
    let hits = count(&|line| said_plus(line) && is_plus(line));
    let f1 = 2.0 * hits / (count(&said_plus) + count(&is_plus));
    assert_eq!(number(row, "/examples"), lines.len() as f64);
    assert_eq!(number(row, "/mistakes"), count(&|line| line["mistake"] == true));
    assert_eq!(number(row, "/updates"), count(&|line| line["updated"] == true));
    let error = number(row, "/mistakes") / number(row, "/examples");
    assert!((number(row, "/error") - error).abs() < 1e-15);
    assert!((number(row, "/f1") - f1).abs() < 1e-12, "{row}");
}

#[test]
fn the_trace_has_a_line_an_example_of_the_documented_form() {
    let folder = Folder::with("a.svm", "+1 qid:3 1:0.1 2:0.7\n-1 task:b 1:0.3\n+1 qid:3 2:-1e-7\n");
    folder.output("learn a.svm --quiet --trace t.jsonl");
    let margin = |text: &str| text.parse::<f64>().unwrap();
    let text = folder.text("t.jsonl");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        r#"{"t":1,"task":"3","label":1,"margin":0.0,"mistake":true,"updated":true,"queried":true}"#
    );
    assert_eq!(lines.len(), 3);
    // b = 1: w_3 += x/2 (1 + 1/K), w_b += x/2 (1/K), with the K of that round.
    let second: Value = serde_json::from_str(lines[1]).unwrap();
    assert_eq!((&second["t"], &second["task"], &second["label"]), (&2.into(), &"b".into(), &(-1).into()));
    assert!(second["margin"].as_f64().unwrap() > 0.0 && second["mistake"] == true);
    for line in lines {
        let written = line.split("\"margin\":").nth(1).unwrap().split(',').next().unwrap();
        assert_eq!(serde_json::to_string(&margin(written)).unwrap(), written, "the shortest exact form");
    }
}

#[test]
fn margins_of_the_trace_round_trip() {
    let folder = Folder::with("a.svm", related(3, 500));
    folder.output("learn --learner perceptron a.svm --quiet --trace t.jsonl --model m.cog");
    let lines = trace(&folder, "t.jsonl");
    assert_eq!(lines.len(), 500);
    assert!(lines.iter().enumerate().all(|(at, line)| line["t"] == at + 1));
    let text = folder.text("t.jsonl");
    for (line, written) in lines.iter().zip(text.lines()) {
        let margin = line["margin"].as_f64().unwrap();
        assert!(written.contains(&format!("\"margin\":{},", serde_json::to_string(&margin).unwrap())));
        assert_eq!(line["mistake"], line["label"].as_f64().unwrap() * margin <= 0.0);
        assert_eq!(line["mistake"], line["updated"], "a Perceptron learns from its mistakes");
    }
    // The last line's margin is what a model of all the lines before it predicts.
    let stream = related(3, 500);
    let (before, last) = stream.trim_end().rsplit_once('\n').unwrap();
    folder.write("before.svm", before);
    folder.write("last.svm", last);
    folder.output("learn --learner perceptron before.svm --quiet --model before.cog");
    let predicted = folder.output("predict last.svm --model before.cog");
    let margin: f64 = predicted.trim_end().rsplit(',').next().unwrap().parse().unwrap();
    assert_eq!(lines[499]["margin"].as_f64().unwrap().to_bits(), margin.to_bits());
}

#[test]
fn one_thread_and_two_learn_the_same_bytes() {
    let folder = Folder::with("a.svm", related(5, 3000));
    for flags in ["", "--passes 3", "--order shuffle --passes 2", "--order interleave", "--simultaneous"] {
        for threads in ["1", "2"] {
            let outputs = format!("--overwrite --model {threads}.cog --trace {threads}.jsonl");
            folder.output(&format!("learn a.svm --quiet --threads {threads} {flags} {outputs}"));
        }
        assert_eq!(folder.read("1.cog"), folder.read("2.cog"), "{flags}");
        assert_eq!(folder.read("1.jsonl"), folder.read("2.jsonl"), "{flags}");
    }
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let folder = Folder::with("a.svm", related(5, 1000));
    for name in ["a.cog", "b.cog"] {
        folder.output(&format!("learn a.svm --quiet --order shuffle --seed 7 --model {name}"));
    }
    assert_eq!(folder.read("a.cog"), folder.read("b.cog"));
}

#[test]
fn a_config_file_says_what_flags_say_and_flags_win() {
    let folder = Folder::with("a.svm", related(4, 400));
    let config = "tasks = 4\nfeatures = 8\n[stream]\nnormalize = \"l2\"\norder = \"shuffle\"\nseed = 3\n\
                  [learner.perceptron]\ninteraction = { coupled = { b = 4.0 } }\n";
    folder.write("run.toml", config);
    folder.output("learn a.svm --quiet --config run.toml --overwrite --model file.cog");
    let flags = "--learner perceptron --tasks 4 --features 8 --normalize l2 --order shuffle --set interaction.coupled.b=4";
    folder.output(&format!("learn a.svm --quiet {flags} --seed 3 --overwrite --model flags.cog"));
    assert_eq!(folder.read("file.cog"), folder.read("flags.cog"));
    folder.output("learn a.svm --quiet --config run.toml --seed 4 --overwrite --model mixed.cog");
    folder.output(&format!("learn a.svm --quiet {flags} --seed 4 --overwrite --model flags.cog"));
    assert_eq!(folder.read("mixed.cog"), folder.read("flags.cog"));
    assert_ne!(folder.read("file.cog"), folder.read("flags.cog"));
}

#[test]
fn the_report_is_one_page_that_needs_no_network() {
    let folder = Folder::with("a.svm", related(4, 400));
    let ran = folder.run("learn a.svm --report r.html");
    ran.assert_done();
    assert!(ran.stderr.ends_with("report: r.html\n"), "{}", ran.stderr);
    super::demo::assert_self_contained(&folder.text("r.html"));
    assert_eq!(folder.names(), ["a.svm", "r.html"]);
}

#[test]
fn values_whose_products_would_overflow_are_refused() {
    Folder::refuses_line("+1 1:1e150\n-1 2:1.7e308\n", "2:6", &["found value \"1.7e308\"", "at most 1e150"]);
    let text = "+1 1:1e150\n-1 2:1e150\n+1 1:1e150 2:1e150\n-1 1:1e150 2:1e150\n";
    let folder = Folder::with("huge.svm", text);
    let summary = folder.summary("huge.svm --set interaction=independent --trace t.jsonl");
    let lines = trace(&folder, "t.jsonl");
    assert!(lines.iter().all(|line| line["margin"].is_f64()), "{lines:?}");
    assert!(number(&summary, "/mistakes") >= 3.0, "the last two lines cannot both be right: {summary}");
}
