//! `--threshold` and `--class-weight`: chosen, kept, said, overridden and refused.

use serde_json::Value;

use super::support::{Folder, related};

/// Lines of one task of which few are positive: the label is +1 above 1.2 on a feature of mean 0.
fn rare() -> String {
    let mut text = String::new();
    for at in 0..600_u32 {
        let x = f64::from((at * 7919) % 401) / 100.0 - 2.0;
        let noise = f64::from((at * 104_729) % 101) / 100.0 - 0.5;
        let label = if x + noise > 1.5 { "+1" } else { "-1" };
        text += &format!("{label} 1:{x} 2:1\n");
    }
    text
}

/// The labels that are predicted for the lines of a file, and what was said.
fn predicted(folder: &Folder, flags: &str) -> (Vec<i32>, String) {
    let run = folder.run(&format!("predict a.svm --model m.cog {flags}"));
    let label = |line: &str| line.split(',').nth(3).unwrap().parse().unwrap();
    (run.stdout.lines().skip(1).map(label).collect(), run.stderr)
}

#[test]
fn a_threshold_is_chosen_kept_and_overridden() {
    let folder = Folder::with("a.svm", rare());
    let learn = "learn a.svm --learner passive-aggressive --set c=0.01 --quiet --json";
    let run = folder.run(&format!("{learn} --model m.cog --threshold f1"));
    assert!(run.stderr.contains("the best f1 on 600 margins of this run"), "{}", run.stderr);
    let plain = folder.run(&format!("{learn} --model plain.cog"));
    let mistakes = |text: &str| serde_json::from_str::<Value>(text).unwrap()["mistakes"].clone();
    assert_eq!(mistakes(&run.stdout), mistakes(&plain.stdout), "mistakes are counted as without");
    let (chosen, said) = predicted(&folder, "");
    assert!(said.contains("threshold: +1 from margin "), "{said}");
    let (by_sign, said) = predicted(&folder, "--threshold 0");
    assert!(!said.contains("threshold"), "{said}");
    assert_ne!(chosen, by_sign);
    let truth: Vec<i32> = rare().lines().map(|line| if line.starts_with('+') { 1 } else { -1 }).collect();
    let f1 = |labels: &[i32]| {
        let count = |a: i32, b: i32| {
            labels.iter().zip(&truth).filter(|pair| *pair.0 == a && *pair.1 == b).count() as f64
        };
        2.0 * count(1, 1) / (2.0 * count(1, 1) + count(1, -1) + count(-1, 1))
    };
    assert!(f1(&chosen) > f1(&by_sign), "{} {}", f1(&chosen), f1(&by_sign));
    let (nobody, said) = predicted(&folder, "--threshold 1e9");
    assert!(nobody.iter().all(|label| *label == -1));
    // What is judged are the labels that are printed.
    let positive = truth.iter().filter(|label| **label == 1).count();
    let error = format!("error {:.2} % ", 100.0 * positive as f64 / truth.len() as f64);
    assert!(said.contains(&error) && said.contains("recall 0.00 %"), "{error}: {said}");
    let (_, said) = predicted(&folder, "");
    assert!(said.contains(&format!("F1 {:.2} %", 100.0 * f1(&chosen))), "{}: {said}", f1(&chosen));
}

#[test]
fn a_probability_is_a_threshold_for_those_that_give_one() {
    let folder = Folder::with("a.svm", related(3, 300));
    folder.output("learn a.svm --quiet --model m.cog");
    let (_, said) = predicted(&folder, "--threshold p=0.3");
    assert!(said.contains("threshold: +1 from margin -0.847"), "{said}");
    folder.refused(
        "predict a.svm --model m.cog --threshold p=2",
        &["--threshold p=2: a probability must be between 0 and 1, got 2"],
    );
    folder.refused(
        "predict a.svm --model m.cog --threshold recall",
        &["expected a margin, e.g. 0.5, or a probability, e.g. p=0.3"],
    );
    folder.refused(
        "learn a.svm --threshold recall",
        &["--threshold recall: expected a metric (f1, balanced-error, error)"],
    );
}

#[test]
fn class_weights_shift_what_is_learnt_and_are_refused_by_name() {
    let folder = Folder::with("a.svm", rare());
    let share = |flags: &str| {
        folder.output(&format!(
            "learn a.svm --learner passive-aggressive --set c=0.01 --quiet --model m.cog {flags}"
        ));
        let (labels, _) = predicted(&folder, "");
        labels.iter().filter(|label| **label == 1).count()
    };
    let plain = share("");
    std::fs::remove_file(folder.path("m.cog")).unwrap();
    let heavy = share("--class-weight +1=20");
    assert!(heavy > plain, "{heavy} {plain}");
    std::fs::remove_file(folder.path("m.cog")).unwrap();
    assert!(share("--class-weight balanced") > plain);
    folder.refused(
        "learn a.svm --learner p-norm-perceptron --class-weight balanced",
        &["stream.class-weight: `p-norm-perceptron` knows nothing of weights"],
    );
    folder.refused(
        "learn a.svm --learner perceptron --class-weight -1=0",
        &["class-weight.given.negative: must be positive and at most 1e9, got 0"],
    );
    folder
        .refused("learn a.svm --learner perceptron --resume m.cog --class-weight +1=2", &["--resume m.cog"]);
}

#[test]
fn algorithms_say_which_learners_take_weights() {
    let folder = Folder::with("a.svm", rare());
    assert!(folder.output("algorithms").contains("examples may have weights with "));
    assert!(folder.output("algorithms perceptron").contains("takes    weights, offsets\n"));
    assert!(
        folder.output("algorithms relation-perceptron").contains("takes    neither weights nor offsets\n")
    );
}
