//! `--model` and `--resume`: does a run in two parts give the model of one run?

use super::support::{Folder, related};

/// A folder with a stream, whole and in two parts.
fn parts() -> Folder {
    let text = related(5, 2000);
    let (first, second) = text.split_at(text[..text.len() / 3].rfind('\n').unwrap() + 1);
    let folder = Folder::with("all.svm", &text);
    folder.write("a.svm", first);
    folder.write("b.svm", second);
    folder
}

#[test]
fn a_resumed_run_equals_the_unbroken_one_byte_for_byte() {
    let folder = parts();
    for flags in [
        "",
        "--tasks 5 --normalize l2 --bias",
        "--set interaction=pairwise --clip 0.5",
        "--set interaction=pooled",
        "--set interaction=independent --features 6",
        "--tasks 1,2,3,4,5 --set interaction.graph.edges=complete",
    ] {
        folder.output(&format!(
            "learn --learner perceptron all.svm --quiet {flags} --overwrite --model all.cog --trace all.jsonl"
        ));
        folder.output(&format!(
            "learn --learner perceptron a.svm --quiet {flags} --overwrite --model a.cog --trace a.jsonl"
        ));
        folder.output("learn b.svm --quiet --resume a.cog --overwrite --model b.cog --trace b.jsonl");
        assert_eq!(folder.read("all.cog"), folder.read("b.cog"), "{flags}");
        let trace = [folder.read("a.jsonl"), folder.read("b.jsonl")].concat();
        assert_eq!(folder.read("all.jsonl"), trace, "{flags}");
        assert_ne!(folder.read("a.cog"), folder.read("b.cog"), "{flags}");
    }
}

#[test]
fn a_resumed_simultaneous_run_equals_the_unbroken_one() {
    let text = related(4, 400);
    let folder = Folder::with("all.svm", &text);
    let lines: Vec<&str> = text.lines().collect();
    folder.write("a.svm", lines[..100].join("\n"));
    folder.write("b.svm", lines[100..].join("\n"));
    folder.output("learn all.svm --quiet --simultaneous --model all.cog");
    folder.output("learn a.svm --quiet --simultaneous --model a.cog");
    folder.output("learn b.svm --quiet --resume a.cog --model b.cog");
    assert_eq!(folder.read("all.cog"), folder.read("b.cog"));
}

#[test]
fn a_model_may_be_resumed_in_place_again_and_again() {
    let folder = parts();
    folder.output("learn all.svm --quiet --model all.cog");
    folder.output("learn a.svm --quiet --model m.cog");
    folder.output("learn b.svm --quiet --resume m.cog --model m.cog");
    assert_eq!(folder.read("all.cog"), folder.read("m.cog"));
    assert_eq!(folder.names(), ["a.svm", "all.cog", "all.svm", "b.svm", "m.cog"]);
}

#[test]
fn the_same_flags_again_are_accepted() {
    let folder = parts();
    let flags = "--normalize l2 --bias=0.5 --set interaction.coupled.b=3";
    folder.output(&format!("learn --learner perceptron a.svm --quiet {flags} --model a.cog"));
    folder.output("learn b.svm --quiet --resume a.cog --model left-out.cog");
    folder.output(&format!(
        "learn b.svm --quiet --resume a.cog {flags} --learner perceptron --model repeated.cog"
    ));
    assert_eq!(folder.read("left-out.cog"), folder.read("repeated.cog"));
}

#[test]
fn flags_that_contradict_the_model_are_refused() {
    let folder = parts();
    folder.output("learn a.svm --quiet --normalize l2 --set interaction.coupled.b=3 --model a.cog");
    for flags in [
        "--set interaction.coupled.b=4",
        "--set interaction=pairwise",
        "--normalize none",
        "--bias",
        "--clip 2",
        "--features 9",
        "--simultaneous",
    ] {
        folder.refused(
            &format!("learn b.svm --quiet --resume a.cog --model m.cog {flags}"),
            &["error: --resume a.cog: the model was learnt with ", "leave them out, or start a new model"],
        );
    }
    folder.refused(
        "learn b.svm --quiet --resume a.cog --tasks 5",
        &["error: --tasks: a resumed model has its tasks already"],
    );
    folder.write("other.toml", "[stream]\nbias = 1.0\n");
    folder.refused(
        "learn b.svm --quiet --resume a.cog --config other.toml",
        &["error: --resume a.cog: the model"],
    );
}

#[test]
fn how_a_stream_is_ordered_may_change_between_runs() {
    let folder = parts();
    folder.output("learn a.svm --quiet --model a.cog");
    let summary = folder.summary("b.svm --resume a.cog --order shuffle --passes 2 --seed 4");
    let (first, second) = (folder.text("a.svm").lines().count(), folder.text("b.svm").lines().count());
    assert_eq!(summary["run_examples"], 2 * second);
    assert_eq!(summary["examples"], first + 2 * second, "counts are over the model's life");
}

#[test]
fn tasks_met_later_are_added_to_a_resumed_model() {
    let folder = Folder::with("a.svm", "+1 task:x 1:1\n");
    folder.write("b.svm", "-1 task:y 2:1\n+1 task:x 1:1\n");
    folder.output("learn a.svm --quiet --model m.cog");
    let summary = folder.summary("b.svm --resume m.cog");
    let tasks: Vec<_> = summary["tasks"].as_array().unwrap().iter().map(|row| row["task"].clone()).collect();
    assert_eq!(tasks, ["x", "y"]);
}

#[test]
fn what_is_different_is_all_that_is_told() {
    let folder = Folder::with("a.svm", "spam 1:1\nham 2:1\n");
    folder.output("learn a.svm --quiet --positive spam --model m.cog");
    let ran = folder.refused("learn a.svm --quiet --resume m.cog --positive ham", &[]);
    assert_eq!(
        ran.stderr,
        "error: --resume m.cog: the model was learnt with {\"positive\":\"spam\"}, but the flags or the config file say \
         {\"positive\":\"ham\"}; leave them out, or start a new model\n"
    );
}
