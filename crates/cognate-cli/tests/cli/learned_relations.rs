//! `relation-perceptron` as a user meets it.

use serde_json::Value;

use super::support::{Folder, related};

#[test]
fn a_fraction_of_the_stream_is_counted() {
    let folder = Folder::with("a.svm", related(3, 100));
    let priming = |more: &str| {
        let line = format!("a.svm --learner relation-perceptron --set priming=50% {more}");
        folder.summary(&line)["learner"]["relation-perceptron"]["priming"].clone()
    };
    assert_eq!(priming(""), 50);
    assert_eq!(priming("--passes 2"), 100);
    assert_eq!(priming("--order shuffle"), 50);
    let line = "learn - --learner relation-perceptron --set priming=50%";
    folder.run_with_input(line, related(3, 100)).assert_refused(&[
        "a parameter of relation-perceptron is a fraction of the stream",
        "the length of standard input is not known before its end; give a number of rounds, or a file",
    ]);
}

#[test]
fn a_run_says_what_became_of_its_relation() {
    let folder = Folder::with("a.svm", related(3, 100));
    let says = |set: &str, expected: &str| {
        let ran = folder.run(&format!("learn a.svm --learner relation-perceptron --set {set}"));
        ran.assert_done();
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
        let quiet = folder.run(&format!("learn a.svm -q --learner relation-perceptron --set {set}"));
        assert!(!quiet.stderr.contains(expected), "{}", quiet.stderr);
    };
    says("priming=500", "priming lasts until round 500, and only 100 were seen: R never moved");
    says("relation=scale-free", "the learned relation has a weight of");
}

#[test]
fn bad_parameters_name_themselves() {
    let folder = Folder::with("a.svm", related(3, 100));
    for (set, expected) in [
        ("eta=0", "learner.relation-perceptron.eta: must be positive and finite, got 0"),
        (
            "priming=often",
            "--set priming=often: invalid value: string \"often\", expected a number of rounds, a percentage \
             like \"50%\", \"auto\" or \"pass\"",
        ),
        (
            "relation=scale-fre",
            "--set relation=scale-fre: unknown variant `scale-fre`, expected one of `scale-free`, `covariance`, \
             `log-det`, `von-neumann`, `batch-optimal`",
        ),
    ] {
        folder.refused(&format!("learn a.svm --learner relation-perceptron --set {set}"), &[expected]);
    }
}

/// Every command takes a model with a learned relation.
#[test]
fn learnt_looked_at_and_gone_on_with() {
    let folder = Folder::with("a.svm", related(3, 100));
    let learner = "--learner relation-perceptron --set relation=scale-free";
    folder.run(&format!("learn a.svm {learner} --model m.cog")).assert_done();
    let relations: Value = serde_json::from_str(&folder.output("relations m.cog --json")).unwrap();
    assert_eq!(relations["R"].as_array().map(Vec::len), relations["tasks"].as_array().map(Vec::len));
    folder.run("relations m.cog --svg r.svg --graph g.svg").assert_done();
    folder.run("inspect m.cog").assert_done();
    folder.run("predict a.svm --model m.cog").assert_done();
    folder.run("learn a.svm --resume m.cog --model n.cog").assert_done();
}
