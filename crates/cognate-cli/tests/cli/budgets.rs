//! Learners in fixed memory, from `learn` to `inspect --supports`; budgets, thresholds and graphs that are refused.

use serde_json::Value;

use super::support::{Folder, related};

const LEARNERS: [&str; 4] =
    ["budget-random", "budget-forgetron", "budget-projectron", "budget-shared-projectron"];

/// A stream of two tasks, and graphs.
fn folder() -> Folder {
    let folder =
        Folder::with("a.svm", "+1 task:ann 1:1\n-1 task:bob 1:1\n+1 task:ann 1:1\n-1 task:bob 2:1\n");
    folder.write("one.txt", "ann bob 0.5\n");
    folder.write("unknown.txt", "ann bob\nzoe ann\n");
    folder.write("loop.txt", "ann ann\n");
    folder.write("twice.txt", "ann bob\nbob ann\n");
    folder.write("empty.txt", "# no edge\n");
    folder
}

#[test]
fn every_learner_keeps_its_budget_saves_and_resumes() {
    let folder = Folder::with("a.svm", related(3, 400));
    let text = folder.text("a.svm");
    folder.write("first.svm", text.lines().take(170).map(|line| format!("{line}\n")).collect::<String>());
    folder.write("second.svm", text.lines().skip(170).map(|line| format!("{line}\n")).collect::<String>());
    for learner in LEARNERS {
        // An example of six features takes at least 96 + 6 * 80 + 16 bytes.
        for (budget, most) in [("budget=9", 9), ("budget=6kB", 10)] {
            let learn = format!("--learner {learner} --set {budget} --set kernel=gaussian --tasks 3");
            let whole = folder.summary(&format!("a.svm {learn} --overwrite --model whole.cog"));
            folder.output(&format!("learn first.svm --quiet {learn} --overwrite --model m.cog"));
            let resumed = folder.summary("second.svm --resume m.cog --model m.cog");
            assert!(folder.read("m.cog") == folder.read("whole.cog"), "{learn}");
            assert_eq!(whole["mistakes"], resumed["mistakes"], "{learn}");
            let mistakes = whole["mistakes"].as_u64().unwrap();
            assert!((50..200).contains(&mistakes), "{learn}: {mistakes} of 400");
            // A heading, and no more examples than fit.
            let supports = folder.output("inspect m.cog --supports").lines().count() - 1;
            assert!(supports <= most && supports > 2, "{learn}: {supports} supports");
            assert_eq!(folder.output("predict a.svm --model m.cog").lines().count(), 401);
        }
    }
}

#[test]
fn supports_are_listed_with_their_coefficients() {
    let folder = folder();
    for learner in LEARNERS {
        folder.output(&format!(
            "learn a.svm --quiet --learner {learner} --set graph=disconnected --overwrite --model m.cog"
        ));
        // A projection that ignores tasks lets the first example stand for the second.
        let second = if learner == "budget-shared-projectron" { "" } else { "2,bob,-1.0\n" };
        let expected = format!("round,task,coefficient\n1,ann,1.0\n{second}4,bob,-1.0\n");
        assert_eq!(folder.output("inspect m.cog --supports"), expected, "{learner}");
    }
}

#[test]
fn budgets_and_thresholds_are_refused_by_name_with_their_range() {
    let folder = folder();
    let mut cases = vec![
        ("budget-forgetron", "bound=0", "bound: must be positive and finite, got 0".to_owned()),
        ("budget-projectron", "threshold=0", "threshold: must be positive and finite, got 0".to_owned()),
        (
            "budget-shared-projectron",
            "threshold=-1",
            "threshold: must be positive and finite, got -1".to_owned(),
        ),
    ];
    for (learner, least) in LEARNERS.into_iter().zip([192, 192, 264, 248]) {
        cases.push((learner, "budget=0", "budget: must be at least 1 example, got 0".to_owned()));
        let small = format!("budget: must hold one example of one feature, {least}B, got 100B");
        cases.push((learner, "budget=100B", small));
    }
    for (learner, set, message) in cases {
        let line = format!("learn a.svm --learner {learner} --set {set} --model m.cog");
        folder.refused(&line, &[&format!("error: learner.{learner}.{message}")]);
        assert!(!folder.names().contains(&"m.cog".to_owned()), "nothing is left of a refused run");
    }
    for budget in ["-3", "0.5", "\"64\"", "many", "3stones"] {
        let line = format!("learn a.svm --learner budget-random --set budget={budget}");
        let message = ["error: --set budget=", "expected a number of examples, or of bytes like \"64MB\""];
        folder.refused(&line, &message);
    }
}

#[test]
fn an_example_larger_than_the_budget_is_not_kept_and_that_is_said() {
    let folder = Folder::with("a.svm", "+1 task:ann 1:1 2:1 3:1 4:1\n-1 task:bob 1:1\n");
    // Two tasks take 768 of them, which leaves 200 for examples.
    let ran = folder
        .run("learn a.svm --learner budget-random --set budget=968B --tasks 2 --overwrite --model m.cog");
    ran.assert_done();
    let remark = "1 mistaken examples were not kept: each is larger than the whole budget of 968B";
    assert!(ran.stderr.contains(remark), "{}", ran.stderr);
    let kept = "round,task,coefficient\n2,bob,-1.0\n";
    assert_eq!(folder.output("inspect m.cog --supports"), kept);
    // While there is one task it fits; it goes when the second takes its room.
    for learner in ["budget-random", "budget-forgetron"] {
        folder.output(&format!(
            "learn a.svm --quiet --learner {learner} --set budget=968B --overwrite --model m.cog"
        ));
        assert_eq!(folder.output("inspect m.cog --supports"), kept, "{learner}");
    }
    // That of the shared one is R[bob, bob] = 2/3.
    for (learner, budget, coefficient) in
        [("budget-projectron", 1040, "-1.0"), ("budget-shared-projectron", 1072, "-0.6666666666666666")]
    {
        folder.output(&format!(
            "learn a.svm --quiet --learner {learner} --set budget={budget}B --overwrite --model m.cog"
        ));
        let kept = format!("round,task,coefficient\n2,bob,{coefficient}\n");
        assert_eq!(folder.output("inspect m.cog --supports"), kept, "{learner}");
    }
}

#[test]
fn graphs_are_refused_where_they_say_nothing_sound() {
    let folder = folder();
    for learner in LEARNERS {
        for (flags, message) in [
            (
                "graph.file=unknown.txt --tasks ann,bob",
                "graph.edges: task \"zoe\" is not one of the 2 declared tasks",
            ),
            ("graph.file=loop.txt", "graph.edges: the edge \"ann\" - \"ann\" joins a task to itself"),
            (
                "graph.edges=[[\"ann\",\"ann\"]]",
                "graph.edges: the edge \"ann\" - \"ann\" joins a task to itself",
            ),
            ("graph.file=twice.txt", "graph.edges: the edge \"bob\" - \"ann\" is given twice"),
        ] {
            let line = format!("learn a.svm --learner {learner} --set {flags}");
            folder.refused(&line, &[&format!("error: learner.{learner}.{message}")]);
        }
        folder.refused(
            &format!("learn a.svm --learner {learner} --set graph.file=none.txt"),
            &["error: ", "none.txt"],
        );
        folder.refused(
            &format!("learn a.svm --learner {learner} --set graph=compleet"),
            &["unknown variant `compleet`, expected one of `complete`"],
        );
    }
}

/// A graph without edges is the disconnected one. Tasks that only the graph names exist, and are unrelated.
#[test]
fn graphs_without_edges_and_with_more_tasks_are_defined() {
    let folder = folder();
    for learner in LEARNERS {
        let margins = |flags: &str| {
            folder.output(&format!(
                "learn a.svm --quiet --learner {learner} --set {flags} --overwrite --model m.cog"
            ));
            folder.output("predict a.svm --model m.cog")
        };
        let apart = margins("graph=disconnected");
        assert_eq!(margins("graph.edges=[]"), apart, "{learner}");
        assert_eq!(margins("graph.file=empty.txt"), apart, "{learner}");
        assert_ne!(margins("graph.file=one.txt"), apart, "{learner}");
        margins("graph.file=unknown.txt");
        let shown: Value = serde_json::from_str(&folder.output("relations m.cog --json")).unwrap();
        assert_eq!(shown["tasks"], serde_json::json!(["ann", "bob", "zoe"]), "{learner}");
    }
}

#[test]
fn tasks_that_do_not_fit_are_refused_with_the_least_budget_that_does() {
    let folder = Folder::with("a.svm", "+1 task:ann 1:1\n-1 task:bob 1:1\n");
    for learner in LEARNERS {
        let learn = format!("learn a.svm --quiet --learner {learner} --set budget=");
        let met = folder.refused(&format!("{learn}400B"), &["2 tasks and an example take "]);
        let least = met.stderr.trim_end().rsplit(' ').next().expect("a number of bytes").to_owned();
        let declared = format!("budget: 2 tasks and an example take {least}, got 400B");
        folder.refused(&format!("{learn}400B --tasks 2"), &[&declared]);
        folder.output(&format!("{learn}{least}"));
        folder.output(&format!("{learn}{least} --tasks 2"));
    }
}
