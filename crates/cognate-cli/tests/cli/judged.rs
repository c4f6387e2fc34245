//! What a run is judged by, and what misleads: `learn`, `predict`.

use serde_json::Value;

use super::support::{Folder, number, related};

/// Labels +1 first, within every task.
fn sorted_lines(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_by_key(|line| line.starts_with('-'));
    lines.join("\n") + "\n"
}

#[test]
fn the_summary_has_every_measure_in_total_and_per_task() {
    let folder = Folder::with("a.svm", related(3, 600));
    let summary = folder.summary("a.svm");
    let tasks = summary["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 3);
    for row in tasks.iter().chain([&summary]) {
        for name in
            ["error", "constant_error", "log_loss", "brier", "precision", "recall", "f1", "balanced_error"]
        {
            assert!((0.0..2.0).contains(&number(row, &format!("/{name}"))), "{name}");
        }
        assert!(number(row, "/auc") > 0.8 && number(row, "/error") < number(row, "/constant_error"));
        assert!(row.get("rmse").is_none());
    }
    assert!(summary.get("passes").is_none());
    let plain = folder.summary("a.svm --learner perceptron");
    assert_eq!((&plain["log_loss"], &plain["tasks"][0]["brier"]), (&Value::Null, &Value::Null));
    assert!(number(&plain, "/auc") > 0.8);
}

#[test]
fn every_pass_has_its_numbers_and_only_the_first_is_of_unseen_examples() {
    let folder = Folder::with("a.svm", related(3, 300));
    let ran = folder.run("learn a.svm --passes 3");
    ran.assert_done();
    let note = "note: from pass 2 on, examples have been seen before: only pass 1 predicts unseen ones\n";
    assert!(ran.stderr.contains(note), "{}", ran.stderr);
    assert!(
        ran.stdout.contains("\npass 1: error ")
            && ran.stdout.contains("\npass 3, of examples seen before: error ")
    );
    let summary = folder.summary("a.svm --passes 3");
    let passes = summary["passes"].as_array().unwrap();
    let seen: Vec<&Value> = passes.iter().map(|pass| &pass["seen_before"]).collect();
    assert_eq!(seen, [false, true, true]);
    let sum = |name: &str| passes.iter().map(|pass| number(pass, &format!("/{name}"))).sum::<f64>();
    assert_eq!((sum("examples"), sum("mistakes")), (900.0, number(&summary, "/mistakes")));
    let once = folder.summary("a.svm");
    for name in ["mistakes", "auc", "log_loss"] {
        assert_eq!(passes[0][name], once[name], "{name}");
    }
}

#[test]
fn sorted_labels_are_said() {
    let folder = Folder::with("a.svm", related(3, 600));
    folder.write("sorted.svm", sorted_lines(&related(3, 600)));
    let warning = "warning: labels come in long runs (";
    let sorted = folder.run("learn sorted.svm");
    assert!(
        sorted.stderr.contains(warning) && sorted.stderr.contains("--order shuffle"),
        "{}",
        sorted.stderr
    );
    assert!(!folder.run("learn a.svm").stderr.contains(warning));
    assert!(!folder.run("learn sorted.svm --order shuffle").stderr.contains(warning));
    // A warning is said all the same.
    assert!(folder.run("learn sorted.svm --quiet").stderr.contains(warning));
}

#[test]
fn one_class_has_no_area_and_that_is_said_once() {
    let lines: String = related(2, 40).lines().map(|line| format!("+1{}\n", &line[2..])).collect();
    let folder = Folder::with("a.svm", lines);
    let ran = folder.run("learn a.svm --model m.cog");
    ran.assert_done();
    let note = "note: every label is +1: AUC and balanced error need both, and are shown as –\n";
    assert_eq!(ran.stderr.matches(note).count(), 1, "{}", ran.stderr);
    assert!(ran.stdout.contains("balanced error –, AUC –, log loss 0."), "{}", ran.stdout);
    let summary = folder.summary("a.svm");
    assert_eq!((&summary["auc"], &summary["balanced_error"]), (&Value::Null, &Value::Null));
    assert_eq!(summary["tasks"][1]["auc"], Value::Null);
    let predicted = folder.run("predict a.svm --model m.cog");
    assert!(predicted.stderr.contains(note) && predicted.stderr.contains("AUC –, "), "{}", predicted.stderr);
}

#[test]
fn predictions_of_labelled_lines_are_judged() {
    let folder = Folder::with("a.svm", related(3, 600));
    let all = related(3, 1200);
    let new: String = all.lines().skip(600).map(|line| format!("{line}\n")).collect();
    folder.write("new.svm", new);
    for learner in ["adaptive", "perceptron"] {
        folder.run(&format!("learn a.svm --learner {learner} --model {learner}.cog")).assert_done();
        let seen = folder.run(&format!("predict a.svm --model {learner}.cog"));
        assert!(seen.stderr.starts_with("600 labelled examples: error "), "{}", seen.stderr);
        assert!(
            seen.stderr.contains(" (constant guess ") && seen.stderr.contains(", AUC 0.9"),
            "{}",
            seen.stderr
        );
        let note = "note: the model has learnt about 600 of these examples (estimated): ";
        assert!(seen.stderr.contains(note), "{}", seen.stderr);
        let unseen = folder.run(&format!("predict new.svm --model {learner}.cog"));
        assert!(!unseen.stderr.contains("note: the model has learnt"), "{}", unseen.stderr);
        let calibration = unseen.stderr.contains("reliability on 600 labelled examples: log loss ");
        assert_eq!(calibration, learner == "adaptive", "{}", unseen.stderr);
    }
}

#[test]
fn a_file_learnt_twice_is_said() {
    let folder = Folder::with("a.svm", related(3, 600));
    let first = folder.run("learn a.svm --model m.cog");
    assert!(!first.stderr.contains("learnt before"), "{}", first.stderr);
    let again = folder.run("learn a.svm --resume m.cog --model m.cog");
    let note = "note: about 100 % of these examples had been learnt before (same task, same features)";
    assert!(again.stderr.contains(note), "{}", again.stderr);
}

#[test]
fn lines_of_earlier_runs_and_lines_that_come_twice_are_added_up() {
    let (all, half) = (related(3, 800), related(3, 400));
    let other: String = all.lines().skip(400).take(200).map(|line| format!("{line}\n")).collect();
    let folder = Folder::with("a.svm", &half);
    folder.output("learn a.svm --quiet --model m.cog");
    // 200 lines of the run before, and 200 others twice: 400 of 600 were learnt before.
    let known: String = half.lines().take(200).map(|line| format!("{line}\n")).collect();
    folder.write("b.svm", format!("{known}{other}{other}"));
    let told = folder.run("learn b.svm --resume m.cog").stderr;
    let share =
        told.split_once("note: about ").and_then(|(_, rest)| rest.split_once(" % of these examples had"));
    let share: f64 = share.unwrap_or_else(|| panic!("{told}")).0.parse().unwrap();
    assert!((share - 67.0).abs() < 12.0, "{share}, by a sample");
}

#[test]
fn real_labels_are_no_class_of_their_own() {
    let folder = Folder::with("real.svm", "34.83 task:a 1:1\n12.5 task:a 1:2\n1 task:b 1:1\n");
    folder.output("learn real.svm --set loss=squares --quiet --model m.cog");
    let said = folder.run("predict real.svm --model m.cog").stderr;
    assert!(said.contains("3 labelled examples: RMSE") && !said.contains("every label"), "{said}");
}

#[test]
fn traces_have_real_labels_as_they_are() {
    let folder = Folder::with("real.svm", "34.83 task:a 1:1\n-1234.5 task:a 1:2\n1 task:b 1:1\n");
    folder.output("learn real.svm --set loss=squares --quiet --trace t.jsonl");
    let labels: Vec<f64> = (folder.text("t.jsonl").lines())
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["label"].as_f64().unwrap())
        .collect();
    assert_eq!(labels, [34.83, -1234.5, 1.0]);
}

#[test]
fn the_area_of_a_resumed_run_is_said_to_be_of_that_run() {
    let folder = Folder::with("a.svm", related(3, 300));
    let more: String = related(3, 700).lines().skip(300).map(|line| format!("{line}\n")).collect();
    folder.write("more.svm", more);
    folder.run("learn a.svm --model m.cog").assert_done();
    let note = "AUC is of the 400 examples of this run, the other numbers of all 700 that the model has seen";
    let ran = folder.run("learn more.svm --resume m.cog --model n.cog --quiet");
    assert!(ran.stderr.contains(&format!("note: {note}\n")), "{}", ran.stderr);
    let summary = folder.summary("more.svm --resume m.cog");
    assert_eq!(summary["notes"], serde_json::json!([note]));
    assert!(!folder.run("learn more.svm").stderr.contains("AUC is of"));
}

#[test]
fn rows_that_come_twice_are_said_in_summary_json_and_report_however_few() {
    for rows in [60, 600] {
        let text = related(3, rows);
        let folder = Folder::with("twice.svm", format!("{text}{text}"));
        folder.write("once.svm", &text);
        let note = "about 50 % of these examples had been learnt before (same task, same features)";
        let ran = folder.run("learn twice.svm --quiet --report r.html");
        assert!(ran.stderr.contains(&format!("note: {note}")), "{}", ran.stderr);
        assert!(folder.text("r.html").contains(&format!("<p>Note: {note}")));
        let notes = folder.summary("twice.svm")["notes"].to_string();
        assert!(notes.contains(note), "{notes}");
        assert_eq!(folder.summary("once.svm")["notes"], serde_json::json!([]));
    }
}

#[test]
fn one_class_is_called_by_its_name() {
    let folder = Folder::with("a.csv", "task,label,x\na,ham,1\nb,ham,2\na,ham,3\n");
    let ran = folder.run("learn a.csv --positive spam --model m.cog");
    let note = "note: every label is ham: AUC";
    assert!(ran.stderr.contains(note), "{}", ran.stderr);
    let predicted = folder.run("predict a.csv --model m.cog");
    assert!(predicted.stderr.contains(note), "{}", predicted.stderr);
}

/// Real labels of four tasks; those of one are a thousand times as large if asked for.
fn real(factor: f64) -> String {
    let line = |at: u32| {
        let (task, x) = (at % 4, f64::from((at * 7919) % 101) / 50.0 - 1.0);
        let noise = f64::from((at * 104_729) % 89) / 89.0 - 0.5;
        format!("{} task:t{task} 1:{x}\n", (x + noise) * if task == 3 { factor } else { 1.0 })
    };
    (0..400).map(line).collect()
}

#[test]
fn a_task_in_other_units_is_named_where_it_decides() {
    let folder = Folder::with("units.svm", real(1000.0));
    folder.write("same.svm", real(1.0));
    let learn = |file: &str| folder.run(&format!("learn {file} --set loss=squares --quiet")).stderr;
    let note = "note: task t3 makes 100 % of the squared error: ";
    assert!(learn("units.svm").contains(note), "{}", learn("units.svm"));
    assert_eq!(learn("same.svm"), "");
    let compare = |file: &str| folder.output(&format!("compare {file} --metric rmse --runs 1 --quiet"));
    let line = "Task t3 has 100 % of the squared deviation of all labels";
    assert!(compare("units.svm").contains(line), "{}", compare("units.svm"));
    assert!(!compare("same.svm").contains("squared deviation"));
}

/// Beyond a million examples margins are counted in bins, and what that can be wrong is said, of every task as well.
#[test]
fn areas_in_bins_say_how_wrong_they_can_be() {
    let line = |at: u32| {
        let (task, feature) = (at % 2 + 1, at.wrapping_mul(2_654_435_761) >> 24);
        let label = if (feature + at * 7 % 97).is_multiple_of(3) { 1 } else { -1 };
        format!("{label} qid:{task} {}:1\n", feature % 50 + 1)
    };
    let folder = Folder::with("a.svm", (0..1_000_400).map(line).collect::<String>());
    let summary = folder.summary("a.svm --learner perceptron");
    let errors: Vec<f64> = [&summary, &summary["tasks"][0], &summary["tasks"][1]]
        .into_iter()
        .map(|row| number(row, "/auc_error"))
        .collect();
    assert!(errors.iter().all(|error| (0.0..0.1).contains(error) && *error > 0.0), "{errors:?}");
    let said = format!(
        "AUC of more than a million examples, in bins: within {:.1e}, and that of every task within {:.1e}",
        errors[0],
        errors[1].max(errors[2])
    );
    assert!(summary["notes"].to_string().contains(&said), "{said}\n{}", summary["notes"]);
    // Of fewer it is exact.
    folder.write("b.svm", (0..100).map(line).collect::<String>());
    assert!(!folder.output("learn b.svm --quiet --json --learner perceptron").contains("auc_error"));
}

/// Lines of two tasks, one a day; the time of the line `wild` is in milliseconds.
fn daily(examples: u64, wild: Option<u64>) -> String {
    let line = |at: u64| {
        let time = 1_600_000_000 + 86_400 * at;
        let time = if wild == Some(at) { 1000 * time } else { time };
        let label = if at.is_multiple_of(3) { 1 } else { -1 };
        format!(
            "{{\"task\": \"t{}\", \"label\": {label}, \"features\": {{\"x\": {label}}}, \"time\": {time}}}\n",
            at % 2
        )
    };
    (0..examples).map(line).collect()
}

const FORGETFUL: &str = "--format jsonl --time-key time --set forget=7d";

#[test]
fn what_takes_times_back_is_said_where_they_matter() {
    let folder = Folder::with("a.jsonl", daily(60, None));
    for (flags, said) in [
        ("", None),
        ("--order file", None),
        ("--order shuffle", Some("--order shuffle takes times back")),
        ("--order interleave --passes 2", Some("--order interleave and --passes 2 take times back")),
        ("--passes 3", Some("--passes 3 takes times back")),
    ] {
        let ran = folder.run(&format!("learn a.jsonl {FORGETFUL} {flags} --quiet"));
        ran.assert_done();
        let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("times back")).collect();
        assert_eq!(lines.len(), usize::from(said.is_some()), "{flags}: {}", ran.stderr);
        assert!(said.is_none_or(|said| lines[0].starts_with(&format!("warning: {said}"))), "{lines:?}");
        assert!(!ran.stderr.contains("before the latest"), "{flags}: {}", ran.stderr);
        // Without a half-life in time nothing depends on it.
        let ran = folder
            .run(&format!("learn a.jsonl --format jsonl --time-key time --set forget=40 {flags} --quiet"));
        assert!(!ran.stderr.contains("times"), "{}", ran.stderr);
    }
}

#[test]
fn a_wild_time_is_named() {
    let folder = Folder::with("a.jsonl", daily(60, Some(20)));
    let ran = folder.run(&format!("learn a.jsonl {FORGETFUL} --quiet"));
    ran.assert_done();
    let expected =
        "warning: 39 of 60 examples have a time before the latest, 1601728000000 of round 21, task t0: ";
    assert!(ran.stderr.starts_with(expected), "{}", ran.stderr);
    // A few are no trouble.
    folder.write("a.jsonl", daily(60, Some(56)));
    let ran = folder.run(&format!("learn a.jsonl {FORGETFUL} --quiet"));
    assert!(!ran.stderr.contains("before the latest"), "{}", ran.stderr);
}
