//! `cognate compare`: several learners over the same examples.

use std::fmt::Write as _;

use insta::assert_snapshot;
use serde_json::Value;

use super::support::{Folder, PROGRAM, Ran, number, related};

fn folder() -> Folder {
    Folder::with("a.svm", related(12, 3000))
}

/// The text without its last column, the speeds, which differ every time.
fn without_speed(text: &str) -> String {
    let cut = |line: &str| match line.rsplit_once(' ') {
        Some((rest, last)) if last == "examples/s" || last.replace(',', "").parse::<u64>().is_ok() => {
            rest.trim_end().to_owned()
        }
        _ => line.trim_end().to_owned(),
    };
    text.lines().map(cut).collect::<Vec<_>>().join("\n")
}

#[test]
fn which_learner_to_use_is_answered_in_one_screen() {
    let text = folder().output("compare a.svm --runs 3 --quiet");
    assert_snapshot!(without_speed(&text));
    assert!(text.lines().count() <= 24, "more than a screen:\n{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 400));
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let folder = folder();
    let compared = |threads: u32| {
        let line = format!("compare a.svm --runs 2 --quiet --json --threads {threads}");
        let mut value: Value = serde_json::from_str(&folder.output(&line)).expect("one JSON value");
        let rows = value["learners"].as_array_mut().expect("rows");
        rows.iter_mut()
            .for_each(|row| drop(row.as_object_mut().expect("a row").remove("examples_per_second")));
        value
    };
    assert_eq!(compared(1), compared(3));
}

fn compared(folder: &Folder, line: &str) -> Value {
    serde_json::from_str(&folder.output(&format!("compare {line} --json --quiet"))).expect("one JSON value")
}

/// The row of a learner, or of one of its forms.
fn row<'a>(value: &'a Value, name: &str) -> &'a Value {
    let mut rows = value["learners"].as_array().expect("rows").iter();
    rows.find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name} in {value}"))
}

/// 29 tasks of two groups, 9 features and few positives, as where mines are looked for.
fn landmines(each: u32) -> String {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut draw = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f64 / f64::from(1 << 23) - 1.0
    };
    let mut text = String::new();
    for _ in 0..each {
        for task in 1..=29 {
            let x: Vec<f64> = (0..9).map(|_| (draw() * 1000.0).round() / 1000.0).collect();
            let score = if task <= 16 { x[0] + x[1] + x[2] } else { x[3] + x[4] - x[0] };
            let label = if score + 0.5 * draw() > 1.65 { "+1" } else { "-1" };
            write!(text, "{label} qid:{task}").expect("memory");
            for (feature, value) in (1..).zip(&x) {
                write!(text, " {feature}:{value}").expect("memory");
            }
            text.push('\n');
        }
    }
    text
}

/// Labels that no feature tells anything about, 6 % of them +1.
fn noise(examples: u64) -> String {
    let line = |at: u64| {
        // The output of a well-mixed generator (splitmix64): neighbours have nothing in common.
        let mut hash = at.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^= hash >> 31;
        let label = if (hash >> 20) % 100 < 6 { "+1" } else { "-1" };
        format!("{label} qid:{} 1:{} 2:{}\n", at % 5, (hash >> 33) % 17, (hash >> 50) % 23)
    };
    (0..examples).map(line).collect()
}

#[test]
fn every_learner_is_beside_its_own_forms_and_the_constant_guess() {
    let folder = folder();
    let value = compared(&folder, "a.svm --learners adaptive,pooled,adaptive --runs 2");
    let names: Vec<&str> =
        value["learners"].as_array().expect("rows").iter().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(names, ["constant", "adaptive independent", "adaptive pooled", "adaptive"]);
    assert_eq!((number(&value, "/runs"), number(&value, "/examples")), (2.0, 3000.0));
    assert_eq!((&value["metric"], &value["best"]), (&Value::from("error"), &Value::from("adaptive")));
    let (shared, alone) = (row(&value, "adaptive"), row(&value, "adaptive independent"));
    assert_eq!(shared["independent"], "adaptive independent");
    assert!(number(shared, "/error") < number(alone, "/error"));
    assert!(number(shared, "/chance_to_independent") < 0.05 && alone["chance_to_independent"].is_null());
    let change = number(shared, "/error") / number(alone, "/error") - 1.0;
    assert!((number(shared, "/change_to_independent") - change).abs() < 1e-12);
    let constant = row(&value, "constant");
    assert!(constant["learner"].is_null() && number(constant, "/error") > 0.4);
    assert_eq!(number(constant, "/error"), number(constant, "/constant_error"));
    let verdict = value["verdict"].as_str().expect("a sentence");
    let share = format!("sharing saves {:.0} % of its mistakes", -100.0 * change);
    assert!(verdict.starts_with("Use adaptive: error ") && verdict.contains(&share), "{verdict}");
    assert!(verdict.contains("where always answering "), "{verdict}");
}

#[test]
fn numbers_are_those_of_learn_on_the_same_order() {
    let folder = folder();
    let value = compared(&folder, "a.svm --order file --learners adaptive,passive-aggressive");
    assert_eq!(number(&value, "/runs"), 1.0);
    assert!(value["notes"][0].as_str().expect("a note").contains("without several shuffles"), "{value}");
    for (name, flags) in [
        ("adaptive independent", "--set interaction=independent"),
        ("adaptive pooled", "--set interaction=pooled"),
        ("passive-aggressive pooled", "--learner passive-aggressive --set scope=global --set c="),
    ] {
        let compared = row(&value, name);
        let chosen = compared["learner"]["passive-aggressive"]["c"].to_string();
        let flags = if flags.ends_with('=') { format!("{flags}{chosen}") } else { flags.to_owned() };
        let learnt = folder.summary(&format!("a.svm {flags}"));
        for measure in ["/error", "/f1"] {
            assert_eq!(number(compared, measure), number(&learnt, measure), "{name} {measure}");
        }
    }
}

#[test]
fn rare_labels_are_judged_by_auc_and_like_for_like() {
    let folder = Folder::with("mines.svm", landmines(100));
    let value = compared(&folder, "mines.svm --runs 2");
    let share = number(&value, "/positives");
    assert!((0.04..0.08).contains(&share), "{share}");
    assert_eq!(value["metric"], "auc");
    let constant = row(&value, "constant");
    assert_eq!(number(constant, "/auc"), 0.5);
    assert!(
        (number(constant, "/error") - share).abs() < 0.005,
        "always answering -1 errs on the rare label alone"
    );
    let best = row(&value, value["best"].as_str().expect("a name"));
    assert!(number(best, "/value") > 0.8 && number(best, "/value") == number(best, "/auc"), "{best}");
    let text = folder.output("compare mines.svm --runs 2 --quiet");
    assert!(text.contains("judged by AUC") && text.contains("always answering -1 seldom errs"), "{text}");
    assert!(text.contains("independent form has") || text.contains("Sharing does not help"), "{text}");
    assert!(!text.contains("fewer"), "no share of mistakes is told where they tell little:\n{text}");
    let text = folder.output("compare mines.svm --runs 2 --quiet --metric error --learners perceptron");
    assert!(text.contains("no better than always answering -1: error "), "{text}");
    assert!(text.contains("of the labels are +1: mistakes tell little; --metric auc"), "{text}");
}

#[test]
fn nothing_to_learn_is_no_better_than_always_answering_the_same() {
    let folder = Folder::with("noise.svm", noise(2000));
    for metric in ["error", "auc", "log-loss"] {
        let value = compared(&folder, &format!("noise.svm --runs 2 --metric {metric}"));
        let verdict = value["verdict"].as_str().expect("a sentence");
        assert!(verdict.contains("no better than always answering -1"), "{metric}: {verdict}");
    }
    // Turned round, it is the other label.
    let turned = noise(2000).replace("+1 ", "x ").replace("-1 ", "+1 ").replace("x ", "-1 ");
    folder.write("turned.svm", turned);
    let value = compared(&folder, "turned.svm --runs 1 --metric error --learners adaptive");
    assert!(value["verdict"].as_str().is_some_and(|text| text.contains("always answering +1")), "{value}");
}

#[test]
fn the_command_at_the_end_can_be_pasted() {
    let folder = Folder::new();
    let cells = |line: &str| -> String {
        let mut fields = line.split(' ');
        let (label, task) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        let values: Vec<&str> =
            fields.filter_map(|field| field.split_once(':').map(|(_, value)| value)).collect();
        format!("{label},{},{}\n", task.trim_start_matches("qid:"), values.join(","))
    };
    let rows: String = related(12, 600).lines().map(cells).collect();
    folder.write("my mail's.csv", format!("the label,who,a,b,c,d,e,f\n{rows}"));
    let flags = [
        "--format",
        "csv",
        "--label-column",
        "the label",
        "--task-column",
        "who",
        "--normalize",
        "l2",
        "--bias",
    ];
    for learners in
        ["adaptive", "perceptron", "passive-aggressive", "collaborative", "rom-pgd", "relation-perceptron"]
    {
        let mut command = folder.command("compare --runs 1 --quiet --set");
        command.arg(if learners == "adaptive" { "adaptive.rate=0.5" } else { "query.margin.b=2" });
        command.args(["--learners", learners, "my mail's.csv"]).args(flags);
        let ran = Ran::of(&mut command);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let pasted = ran.stdout.lines().last().expect("a command").trim();
        assert!(pasted.starts_with("cognate learn 'my mail'\\''s.csv' --format csv"), "{pasted}");
        assert!(learners != "adaptive" || pasted.contains("--set rate=0.5"), "{pasted}");
        let program = std::path::Path::new(PROGRAM).parent().expect("a folder");
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", pasted]).current_dir(folder.path("")).env("PATH", path);
        let output = shell.output().expect("a shell");
        assert!(output.status.success(), "{pasted}\n{}", String::from_utf8_lossy(&output.stderr));
        let model = pasted.rsplit(' ').next().expect("a model");
        let model: Value =
            serde_json::from_str(&folder.output(&format!("inspect {model} --json"))).expect("one JSON value");
        let asks = model["config"]["query"].to_string();
        assert_eq!(
            asks.contains("margin"),
            learners != "adaptive",
            "what is set of the query is kept: {asks}"
        );
    }
}

#[test]
fn what_is_set_is_compared() {
    let folder = folder();
    let value = compared(
        &folder,
        "a.svm --learners adaptive --runs 1 --set adaptive.groups=2 --set adaptive.rate=0.5",
    );
    let config = |name: &str| row(&value, name)["learner"]["adaptive"].clone();
    assert_eq!(
        (&config("adaptive")["groups"], &config("adaptive")["rate"]),
        (&Value::from(2), &Value::from(0.5))
    );
    assert_eq!(config("adaptive independent")["rate"], 0.5, "in every form");
    folder.refused("compare a.svm --set groups=2", &["--set groups=2: expected LEARNER.KEY=VALUE"]);
    folder.refused("compare a.svm --set adaptve.groups=2", &["unknown learner \"adaptve\"; known: adaptive"]);
    folder.refused(
        "compare a.svm --set adaptive.group=2",
        &["unknown field `group`, expected one of `groups`"],
    );
    folder.refused("compare a.svm --set adaptive.rate=-1", &["rate: must be positive"]);
    folder.refused("compare a.svm --set rom-rda.alpha=1", &["rom-rda is not compared", "--learners"]);
    folder.refused("compare a.svm --metric accuracy", &["accuracy", "auc"]);
    folder.refused(
        "compare a.svm --metric log-loss --learners perceptron",
        &["none of the learners", "log-loss"],
    );
}

#[test]
#[expect(clippy::print_stderr, reason = "a test says when it could not look")]
fn real_labels_name_who_takes_them() {
    let folder = Folder::with("real.svm", related(3, 300).replace("+1 ", "2.5 ").replace("-1 ", "-0.5 "));
    folder.refused(
        "compare real.svm --metric error",
        &["real.svm:1:1: found label", "real labels are learnt "],
    );
    if !folder.output("algorithms adaptive").contains("squares") {
        eprintln!("skipped: no learner of streams takes real labels");
        folder.refused("compare real.svm --metric rmse", &["none of the learners takes real labels"]);
        return;
    }
    for flags in ["--metric rmse", "--metric mae", "--set adaptive.loss=squares"] {
        let value = compared(&folder, &format!("real.svm --runs 2 {flags}"));
        let constant = row(&value, "constant");
        let best = row(&value, value["best"].as_str().expect("a name"));
        assert!(number(best, "/value") < 0.8 * number(constant, "/value"), "{value}");
        assert_eq!(number(constant, "/rmse"), number(constant, "/constant_rmse"));
    }
    folder.refused(
        "compare real.svm --metric auc --set adaptive.loss=squares",
        &["--set adaptive.loss=squares", "expected rmse or mae"],
    );
}

#[test]
fn table_json_and_page_show_the_same_numbers() {
    let folder = folder();
    let line = "a.svm --learners adaptive,perceptron --runs 2 --threads 2";
    let value = compared(&folder, &format!("{line} --report page.html"));
    let text = folder.output(&format!("compare {line} --quiet"));
    let page = folder.text("page.html").replace(['\u{a0}', '\u{202f}'], " ");
    for name in ["constant", "adaptive", "adaptive independent", "adaptive pooled", "perceptron"] {
        let shown = format!("{:.2} %", 100.0 * number(row(&value, name), "/error"));
        assert!(text.contains(&shown), "{name} {shown} is not in\n{text}");
        assert!(page.contains(&shown), "{name} {shown} is not in the page");
    }
}

#[test]
fn a_report_holds_curves_tasks_and_relations() {
    let folder = folder();
    folder.output("compare a.svm --learners adaptive,perceptron --runs 2 --quiet --report page.html");
    let page = folder.text("page.html");
    for part in
        ["Which learner suits these tasks?", "Learning curves", "Task by task", "How the tasks are related"]
    {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let folder = folder();
    folder
        .refused("compare a.svm --learners perceptrn", &["unknown learner \"perceptrn\"; known: perceptron"]);
    folder.refused("compare a.svm --learners convex", &["--learners convex", "cognate fit"]);
    folder.refused("compare a.svm --order adversarial", &["--order adversarial", "nothing to compare"]);
    folder.refused("compare a.svm --runs 0", &["--runs"]);
    folder.refused("compare a.svm --report a.svm", &["is one of the files to learn from"]);
    folder.refused("compare missing.svm", &["missing.svm"]);
    folder.write("empty.svm", "");
    folder.refused("compare empty.svm", &["empty.svm holds no examples"]);
    folder.write("bad.svm", "+1 qid:1 3:1 2:1\n");
    folder.refused("compare bad.svm", &["bad.svm:1:14", "--skip-bad"]);
}

#[test]
fn one_task_and_an_order_of_its_own_are_compared_too() {
    let folder = Folder::with("one.svm", related(1, 200));
    let text = folder.output("compare one.svm --order file --quiet");
    assert!(
        text.starts_with("200 examples of 1 tasks, ") && text.contains("; 1 run, judged by error"),
        "{text}"
    );
}

#[test]
fn one_label_only_has_no_area_and_nobody_wins_by_it() {
    let one = |label: &str| -> String {
        related(3, 300).lines().map(|line| format!("{label}{}\n", &line[2..])).collect()
    };
    let folder = Folder::with("a.svm", one("+1"));
    folder.write("no.svm", one("-1"));
    folder.refused("compare a.svm --metric auc", &["--metric auc: every label is +1", "needs both labels"]);
    folder.refused("compare no.svm --metric auc", &["--metric auc: every label is -1"]);
    folder.refused("compare no.svm --metric f1", &["--metric f1: no label is +1"]);
    let text = folder.output("compare a.svm --runs 2 --learners adaptive --quiet");
    assert!(
        text.contains("judged by error\nEvery label is +1: there is nothing to tell apart, and no AUC"),
        "{text}"
    );
    assert!(text.contains("no better than always answering +1: error "), "{text}");
    for wrong in ["not mistakes judge", "mistakes tell little", "NaN"] {
        assert!(!text.contains(wrong), "{wrong}:\n{text}");
    }
}

#[test]
fn sorted_labels_and_rows_that_come_twice_are_said() {
    let text = related(3, 600);
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_by_key(|line| line.starts_with('-'));
    let folder = Folder::with("sorted.svm", lines.join("\n") + "\n");
    folder.write("twice.svm", format!("{text}{text}"));
    folder.write("once.svm", &text);
    let compare = |line: &str| folder.output(&format!("compare {line} --learners adaptive --runs 2 --quiet"));
    let (sorted, twice) =
        ("\nLabels come in long runs (", "\nAbout 50 % of these examples had been learnt before");
    assert!(compare("sorted.svm --order file").contains(sorted), "{}", compare("sorted.svm --order file"));
    for line in ["twice.svm", "twice.svm --passes 2"] {
        assert!(compare(line).contains(twice), "{}", compare(line));
    }
    for line in ["sorted.svm", "once.svm", "once.svm --order file", "once.svm --passes 2"] {
        let found = compare(line);
        assert!(!found.contains(sorted) && !found.contains(twice), "{line}:\n{found}");
    }
    let notes = compared(&folder, "twice.svm --learners adaptive --runs 2")["notes"].to_string();
    assert!(notes.contains("About 50 % of these examples"), "{notes}");
}

#[test]
fn the_best_by_auc_that_errs_as_often_as_the_constant_guess_says_so() {
    let folder = Folder::with("mines.svm", landmines(20));
    // Margins that rank well, but never reach 0.
    let line = "mines.svm --learners adaptive --runs 2 --set adaptive.rate=0.02";
    let value = compared(&folder, line);
    let (best, constant) = (row(&value, value["best"].as_str().expect("a name")), row(&value, "constant"));
    let verdict = value["verdict"].as_str().expect("a sentence");
    assert!(number(best, "/auc") > 0.55 && number(best, "/error") >= number(constant, "/error"), "{verdict}");
    assert!(verdict.contains("By mistakes it is no better than always answering -1: error "), "{verdict}");
    let easy = compared(
        &Folder::with("a.svm", related(12, 3000)),
        "a.svm --metric auc --learners adaptive --runs 1",
    );
    assert!(!easy["verdict"].to_string().contains("By mistakes"), "{easy}");
}

/// What parameters are chosen on is as many examples as is said, not the batch that holds them.
#[test]
fn parameters_are_chosen_on_the_first_fifth_alone() {
    let text = related(3, 150);
    let first: String = text.lines().take(30).map(|line| format!("{line}\n")).collect();
    let turned: String = text
        .lines()
        .skip(30)
        .map(|line| format!("{}{}\n", if line.starts_with('-') { "+1" } else { "-1" }, &line[2..]))
        .collect();
    let folder = Folder::with("a.svm", &text);
    folder.write("b.svm", first + &turned);
    let chosen = |file: &str| {
        let value = compared(&folder, &format!("{file} --order file --learners collaborative,perceptron"));
        ["collaborative", "perceptron"].map(|name| row(&value, name)["learner"].clone())
    };
    assert_eq!(chosen("a.svm"), chosen("b.svm"), "later examples change nothing");
}

#[test]
fn the_pasted_command_gives_the_number_of_the_table() {
    let folder = folder();
    for learner in ["adaptive", "perceptron", "passive-aggressive", "collaborative", "rom-pgd"] {
        for order in ["", " --order file", " --seed 9"] {
            let value = compared(&folder, &format!("a.svm --runs 1 --learners {learner}{order}"));
            let command = value["command"].as_str().expect("a command");
            let words = command.strip_prefix("cognate learn ").expect("it learns");
            let (words, _) = words.split_once(" --model ").expect("a model");
            let best = row(&value, value["best"].as_str().expect("a name"));
            assert_eq!(number(&folder.summary(words), "/error"), number(best, "/error"), "{command}");
        }
    }
}

/// Shuffled, times would go back, and what is forgotten by them would stay.
#[test]
fn a_learner_that_forgets_by_time_keeps_the_order_of_the_file() {
    let line = |at: u64| {
        let label = if at.is_multiple_of(3) { 1 } else { -1 };
        format!(
            "{{\"task\": \"t{}\", \"label\": {label}, \"features\": {{\"x\": {label}}}, \"time\": {}}}\n",
            at % 2,
            86_400 * at
        )
    };
    let folder = Folder::with("a.jsonl", (0..80).map(line).collect::<String>());
    let compare = "compare a.jsonl --format jsonl --time-key time --learners adaptive,perceptron --set adaptive.forget=7d";
    let ran = folder.run(compare);
    ran.assert_done();
    let note = "note: a learner forgets by time (`forget`), so there is one run in the order of the file";
    assert!(ran.stderr.lines().any(|line| line == note), "{}", ran.stderr);
    assert!(!ran.stdout.contains("--order shuffle"), "{}", ran.stdout);
    let value = compared(&folder, compare.strip_prefix("compare ").unwrap());
    assert_eq!(value["runs"], 1);
    for flags in ["--order shuffle", "--order interleave", "--passes 2"] {
        let hint = "hint: --order file --passes 1";
        folder
            .refused(&format!("{compare} {flags}"), &[&format!("{flags}: a learner forgets by time"), hint]);
    }
    let ran = folder.run(&format!("{compare} --order file"));
    ran.assert_done();
    assert!(!ran.stderr.contains("forgets by time"), "{}", ran.stderr);
}
