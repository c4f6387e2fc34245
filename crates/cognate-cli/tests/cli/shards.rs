//! `--shards` and `--mix`: is the model that of the schedule, whatever the threads, and are impossible ones refused?

use serde_json::json;

use super::support::{Folder, related};

#[test]
fn shards_give_one_model_with_any_threads_and_breaks() {
    let text = related(9, 3000);
    let (first, second) = text.split_at(text[..text.len() / 3].rfind('\n').unwrap() + 1);
    let folder = Folder::with("all.svm", &text);
    folder.write("a.svm", first);
    folder.write("b.svm", second);
    let flags = "--quiet --learner perceptron --shards 4 --mix 100";
    folder.output(&format!("learn all.svm {flags} --threads 1 --model all.cog --trace all.jsonl"));
    folder.output(&format!("learn all.svm {flags} --threads 4 --model 4.cog --trace 4.jsonl"));
    assert_eq!(folder.read("all.cog"), folder.read("4.cog"));
    assert_eq!(folder.read("all.jsonl"), folder.read("4.jsonl"));
    folder.output(&format!("learn a.svm {flags} --model a.cog"));
    folder.output("learn b.svm --quiet --resume a.cog --model b.cog");
    assert_eq!(folder.read("all.cog"), folder.read("b.cog"));
    folder.write("shards.toml", "[learner.perceptron]\n[shards]\ncount = 4\nmix = 100\n");
    folder.output("learn all.svm --quiet --config shards.toml --model toml.cog");
    assert_eq!(folder.read("all.cog"), folder.read("toml.cog"));
}

#[test]
fn the_summary_tells_of_shards() {
    let folder = Folder::with("all.svm", related(9, 3000));
    let summary = folder.summary("all.svm --learner passive-aggressive --shards 64 --mix 500");
    assert_eq!((&summary["shards"]["count"], &summary["shards"]["rounds"]), (&json!(64), &json!(6)));
    assert!(summary["shards"]["occupied"].as_u64().is_some_and(|some| (2..=9).contains(&some)));
    assert_eq!(summary["config"]["shards"], json!({ "count": 64, "mix": 500 }));
    let text = folder.output("learn all.svm --quiet --learner perceptron --shards 64 --mix 500");
    assert!(text.contains("64 shards, ") && text.contains("mixed 6 times"), "{text}");
    assert_eq!(folder.summary("all.svm --learner perceptron").get("shards"), None);
}

#[test]
fn what_cannot_be_sharded_is_refused() {
    let folder = Folder::with("all.svm", related(9, 300));
    for (flags, message) in [
        ("--learner perceptron --shards 0", "shards.count: must be from 1 to 65536, got 0"),
        ("--learner perceptron --shards 4 --mix 0", "shards.mix: must be \"auto\" or at least 1, got 0"),
        ("--learner perceptron --shards 4 --mix often", "--mix often: invalid value"),
        ("--learner perceptron --mix 100", "shards.mix: there is one shard, which has nothing to mix"),
        (
            "--learner perceptron --tasks 9 --shards 10",
            "10 shards for 9 declared tasks; at most one per task",
        ),
        ("--shards 2", "`adaptive` learns in one shard only: "),
        ("--learner perceptron --set interaction.coupled.b=auto --shards 2", "give b a number"),
    ] {
        folder.refused(&format!("learn all.svm {flags} --model m.cog"), &[message]);
    }
    folder.output("learn all.svm --quiet --learner perceptron --shards 3 --model m.cog");
    let advice = "leave out --shards, or start a new model";
    let refused = |flags: &str, message: &str| {
        folder.refused(&format!("learn all.svm --resume m.cog {flags}"), &[message]);
    };
    refused(
        "--shards 4",
        &format!(
            "the model learns in 3 shards, and 4 are asked for; what shards have learnt cannot be divided anew: {advice}"
        ),
    );
    refused("--mix 10", "the model was learnt with");
    folder.output("learn all.svm --quiet --resume m.cog --shards 3 --model m.cog");
}
