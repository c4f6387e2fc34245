//! What does not stay finite: the run ends, says why, and the model that was there is still there.

use super::support::{Folder, related};

#[test]
fn a_learner_that_overflows_leaves_the_old_model() {
    let folder = Folder::with("good.svm", related(3, 60));
    let lines = "-1 qid:2 1:1e150\n+1 qid:2 1:1e150\n";
    folder.write("bad.svm", lines);
    folder.write("one.svm", "+1 qid:2 1:1e150\n");
    for learner in
        ["budget-projectron", "budget-shared-projectron", "second-order-perceptron", "schatten-perceptron"]
    {
        folder.output(&format!(
            "learn good.svm --quiet --learner {learner} --set kernel=polynomial --model {learner}.cog"
        ));
        let name = format!("{learner}.cog");
        let before = folder.read(&name);
        for stream in ["bad.svm", "one.svm"] {
            let ran = folder.run(&format!("learn {stream} --quiet --resume {name} --model {name}"));
            // A single line that is no mistake teaches nothing.
            if ran.code == Some(0) {
                assert_eq!(stream, "one.svm", "{learner}: two lines cannot both be right");
            } else {
                let parts = ["the learner has diverged", "  hint: scale the examples with --normalize l2"];
                ran.assert_refused(&parts);
                assert!(folder.read(&name) == before, "{learner}: the old model is gone");
            }
            folder.output(&format!("predict good.svm --model {name}"));
            folder.write(&name, &before);
        }
    }
}

/// What no update notices is noticed before the old file is replaced.
#[test]
fn a_state_that_would_not_load_is_not_saved() {
    let folder = Folder::with("good.svm", related(3, 60));
    folder.write("far.svm", "+1 qid:1 1:1e-150\n");
    let flags = "--quiet --learner adaptive --set rate=1e150";
    folder.output("learn good.svm --quiet --overwrite --model m.cog");
    let before = folder.read("m.cog");
    let ran = folder.run(&format!("learn far.svm {flags} --overwrite --model m.cog"));
    // The run itself went well, so its table is there.
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let message = "error: the model was not saved, because it would not load again: a weight is not finite\n  hint: scale the examples";
    assert!(ran.stderr.starts_with(message), "{}", ran.stderr);
    assert!(folder.read("m.cog") == before);
}

#[test]
fn a_fit_that_overflows_leaves_the_old_model() {
    let folder = Folder::with("good.svm", related(3, 60));
    folder.output("fit good.svm --quiet --overwrite --model m.cog");
    let before = folder.read("m.cog");
    let ran = folder.run("fit good.svm --quiet --set delta=1e300 --overwrite --model m.cog");
    ran.assert_refused(&["the relation of tasks is not finite", "  hint: scale the examples"]);
    assert!(folder.read("m.cog") == before);
}
