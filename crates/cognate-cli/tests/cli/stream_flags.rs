//! `--order`, `--seed`, `--passes`, `--simultaneous`, `--normalize`, `--bias`, `--clip`, `--tasks`.

use serde_json::Value;

use super::support::{Folder, number, related};

/// The tasks of a trace in order.
fn tasks(folder: &Folder) -> Vec<String> {
    field(folder, "task").iter().map(|task| task.as_str().unwrap().to_owned()).collect()
}

/// A field of every line of `t.jsonl`.
fn field(folder: &Folder, name: &str) -> Vec<Value> {
    let text = folder.text("t.jsonl");
    text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()[name].clone()).collect()
}

/// The weights of a model as (task, feature, value).
fn weights(folder: &Folder, model: &str) -> Vec<(String, String, f64)> {
    let text = folder.output(&format!("inspect {model} --weights"));
    let row = |line: &str| {
        let parts: Vec<&str> = line.split(',').collect();
        (parts[0].to_owned(), parts[1].to_owned(), parts[2].parse().unwrap())
    };
    text.lines().skip(1).map(row).collect()
}

/// Learns one example and returns the single task's weights.
fn one_update(line: &str, flags: &str) -> Vec<(String, f64)> {
    let folder = Folder::with("one.svm", line);
    folder.output(&format!(
        "learn one.svm --learner perceptron --quiet --set interaction=independent {flags} --model m.cog"
    ));
    weights(&folder, "m.cog").into_iter().map(|(_, feature, value)| (feature, value)).collect()
}

#[test]
fn file_order_is_the_default_and_interleave_takes_turns() {
    let folder = Folder::with("a.svm", "+1 task:a\n-1 task:a\n+1 task:a\n+1 task:b\n-1 task:b\n+1 task:c\n");
    folder.output("learn a.svm --quiet --trace t.jsonl");
    assert_eq!(tasks(&folder), ["a", "a", "a", "b", "b", "c"]);
    folder.output("learn a.svm --quiet --trace t.jsonl --order interleave");
    assert_eq!(tasks(&folder), ["a", "b", "c", "a", "b", "a"]);
}

#[test]
fn an_adversary_serves_one_example_of_every_round() {
    let folder = Folder::with("a.svm", "+1 qid:1 1:1\n+1 qid:2 1:1\n-1 qid:1 1:1\n-1 qid:1 1:1\n");
    let rounds: String = (0..60)
        .flat_map(|round| ["a", "b", "c"].map(|task| (round, task)))
        .map(|(round, task)| format!("{} task:{task} {}:1 9:0.5\n", ["+1", "-1"][round % 2], round % 7 + 1))
        .collect();
    folder.write("r.svm", &rounds);
    let summary =
        folder.summary("--learner perceptron r.svm --order adversarial --trace t.jsonl --model m.cog");
    assert_eq!((number(&summary, "/examples"), tasks(&folder).len()), (60.0, 60));
    let margins = |model: &str| folder.output(&format!("inspect {model} --weights"));
    folder.refused(
        "bound r.svm --model m.cog --order adversarial",
        &["error: --order adversarial: bounds are"],
    );
    folder.summary("--learner perceptron r.svm --order adversarial --passes 2 --model twice.cog");
    assert_ne!(margins("m.cog"), margins("twice.cog"));
    let config = folder.summary("r.svm --order adversarial --resume m.cog --model on.cog");
    assert_eq!(number(&config, "/examples"), 120.0);
    assert_eq!(margins("on.cog"), margins("twice.cog"));
    folder.refused(
        "learn --learner perceptron a.svm --quiet --order adversarial",
        &[
            "error: a.svm:4: round 2 has task 1 twice and lacks 2; a stream in adversarial order has one example of every task per round",
            "hint: drop --order adversarial",
        ],
    );
    folder.refused(
        "learn --learner perceptron r.svm --quiet --order adversarial --simultaneous",
        &["error: stream.order: `adversarial` serves one example of a round, `simultaneous` all; choose one of them"],
    );
}

#[test]
fn shuffle_permutes_by_seed_and_anew_each_pass() {
    let folder =
        Folder::with("a.svm", (0..50).map(|task| format!("+1 qid:{task} 1:1\n")).collect::<String>());
    let mut orders = Vec::new();
    for seed in ["1", "1", "2"] {
        folder
            .output(&format!("learn a.svm --quiet --trace t.jsonl --order shuffle --passes 2 --seed {seed}"));
        let order = tasks(&folder);
        assert_ne!(order[..50], order[50..], "the second pass has an order of its own");
        for pass in order.chunks(50) {
            let mut sorted: Vec<u32> = pass.iter().map(|task| task.parse().unwrap()).collect();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..50), "every example once a pass");
        }
        orders.push(order);
    }
    assert_eq!(orders[0], orders[1]);
    assert_ne!(orders[0], orders[2]);
    folder.output("learn a.svm --quiet --trace t.jsonl --order shuffle");
    assert_eq!(tasks(&folder)[..], orders[0][..50], "the default seed is 1");
}

#[test]
fn passes_read_the_stream_again() {
    let folder = Folder::with("a.svm", related(2, 30));
    folder.write("thrice.svm", related(2, 30).repeat(3));
    folder.output("learn a.svm --quiet --passes 3 --model a.cog --trace t.jsonl");
    let times = field(&folder, "t");
    assert_eq!((times.len(), times[89].as_u64()), (90, Some(90)));
    folder.output("learn thrice.svm --quiet --model thrice.cog");
    assert_eq!(folder.read("a.cog"), folder.read("thrice.cog"));
}

#[test]
fn simultaneous_rounds_take_all_margins_first() {
    // Pooled, a round's second example would be predicted correctly if the first had been learnt before it.
    let folder = Folder::with("a.svm", "+1 qid:1 1:1\n+1 qid:2 1:1\n+1 qid:2 1:1\n+1 qid:1 1:1\n");
    folder.output("learn --learner perceptron a.svm --quiet --set interaction=pooled --trace t.jsonl");
    assert_eq!(field(&folder, "margin"), [0.0, 1.0, 1.0, 1.0]);
    assert_eq!(field(&folder, "t"), [1, 2, 3, 4]);
    folder.output(
        "learn --learner perceptron a.svm --quiet --set interaction=pooled --trace t.jsonl --simultaneous",
    );
    assert_eq!(field(&folder, "margin"), [0.0, 0.0, 2.0, 2.0]);
    assert_eq!(field(&folder, "t"), [1, 1, 2, 2], "a round is one step of the stream");
    assert_eq!(tasks(&folder), ["1", "2", "2", "1"], "in the order of the stream");
}

#[test]
fn simultaneous_rounds_stay_together_when_shuffled_or_interleaved() {
    let folder = Folder::with("a.svm", related(4, 80));
    for order in ["shuffle", "interleave"] {
        folder.output(&format!("learn a.svm --quiet --simultaneous --order {order} --trace t.jsonl"));
        for round in tasks(&folder).chunks(4) {
            let mut round = round.to_vec();
            round.sort();
            assert_eq!(round, ["1", "2", "3", "4"], "{order}");
        }
    }
    let mut lines: Vec<String> = related(4, 80).lines().map(str::to_owned).collect();
    lines.sort_by_key(|line| line.split(' ').nth(1).map(str::to_owned));
    folder.write("grouped.svm", lines.join("\n"));
    folder.refused(
        "learn grouped.svm --quiet --simultaneous --tasks 4",
        &["error: grouped.svm:2: round 1 has task"],
    );
    folder.output("learn grouped.svm --quiet --simultaneous --order interleave");
}

#[test]
fn normalize_clip_and_bias_do_what_they_say() {
    let named = |pairs: &[(&str, f64)]| {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect::<Vec<_>>()
    };
    let line = "+1 1:3 2:4\n";
    assert_eq!(one_update(line, ""), named(&[("1", 3.0), ("2", 4.0)]));
    assert_eq!(one_update(line, "--normalize none"), one_update(line, ""));
    assert_eq!(one_update(line, "--clip 10"), one_update(line, ""));
    let unit = one_update(line, "--normalize l2");
    assert!((unit[0].1 - 0.6).abs() < 1e-15 && (unit[1].1 - 0.8).abs() < 1e-15, "{unit:?}");
    let clipped = one_update(line, "--clip 2.5");
    assert!((clipped[0].1 - 1.5).abs() < 1e-15 && (clipped[1].1 - 2.0).abs() < 1e-15, "{clipped:?}");
    assert_eq!(one_update(line, "--bias"), named(&[("1", 3.0), ("2", 4.0), ("bias", 1.0)]));
    assert_eq!(one_update("-1 1:3\n", "--bias=0.5"), named(&[("1", -3.0), ("bias", -0.5)]));
    assert_eq!(one_update("+1\n", "--normalize l2 --bias=2"), named(&[("bias", 2.0)]), "a zero vector stays");
}

#[test]
fn clip_keeps_one_huge_example_from_ruining_the_relatives() {
    let text = "-1 qid:1 1:1e6\n".to_owned() + &related(2, 400);
    let folder = Folder::with("a.svm", &text);
    let [plain, clipped] = ["", "--clip 2"]
        .map(|flags| number(&folder.summary(&format!("--learner perceptron a.svm {flags}")), "/error"));
    assert!(clipped < 0.3 && plain > 0.7, "{plain} without, {clipped} with");
}

#[test]
fn tasks_declared_by_count_are_named_as_they_are_met() {
    let folder = Folder::with("a.svm", "+1 task:x 1:1\n-1 task:y 1:1\n");
    folder.output("learn --learner perceptron a.svm --quiet --tasks 4 --model m.cog");
    let text = folder.output("inspect m.cog");
    assert!(text.contains("tasks     2 (x, y)\n") && text.contains("declared  4 tasks\n"), "{text}");
    // K is 4 from the start: MP10 eq. 5 with b = 1 gives R = (I + J/4)/2.
    let relations: Value = serde_json::from_str(&folder.output("relations m.cog --json")).unwrap();
    assert_eq!(relations["R"], serde_json::json!([[0.625, 0.125], [0.125, 0.625]]));
}

#[test]
fn tasks_declared_by_name_are_there_from_the_start() {
    let folder = Folder::with("a.svm", "+1 task:b 1:1\n");
    let summary = folder.summary("a.svm --tasks a,b,c --model m.cog");
    let rows = summary["tasks"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["task"].as_str().unwrap()).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(rows.iter().map(|row| row["examples"].as_u64().unwrap()).collect::<Vec<_>>(), [0, 1, 0]);
    let relations: Value = serde_json::from_str(&folder.output("relations m.cog --json")).unwrap();
    assert_eq!(relations["tasks"], serde_json::json!(["a", "b", "c"]));
    // A name may look like a number, as long as there are two of them.
    let numbered = Folder::with("a.svm", "+1 qid:7 1:1\n").summary("a.svm --tasks 7,8");
    assert_eq!(numbered["tasks"][1]["task"], "8");
}
