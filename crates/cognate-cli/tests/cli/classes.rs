//! `--one-vs-all` as a whole: how often was a line given another class?

use super::support::Folder;

/// Three classes, told by one feature each.
fn text() -> String {
    let line =
        |at: usize| format!("{} {}:1 {}:{}\n", ["cat", "dog", "3"][at % 3], at % 3 + 1, 4 + at % 5, at % 4);
    (0..90).map(line).collect()
}

#[test]
fn the_multiclass_error_is_beside_the_binary_one() {
    let folder = Folder::with("a.svm", text());
    let learn = "learn a.svm --one-vs-all --learner perceptron";
    let summary = folder.summary("a.svm --one-vs-all --learner perceptron --model m.cog --report r.html");
    let number = |key: &str| summary[key].as_f64().unwrap_or_else(|| panic!("{key}: {summary}"));
    assert_eq!(summary["multiclass_examples"], 90);
    // At least the first line of each class; fewer than the mistakes of the three questions about every line.
    let mistakes = number("multiclass_mistakes");
    assert!((3.0..45.0).contains(&mistakes), "{summary}");
    assert!((number("multiclass_error") - mistakes / 90.0).abs() < 1e-12);
    assert_ne!(number("multiclass_error"), number("error"));
    let said = format!("multiclass error {:.2} % ({mistakes} of 90 lines)", 100.0 * mistakes / 90.0);
    let table = folder.output(learn);
    assert!(table.contains(&said), "{said}\n{table}");
    let page = folder.text("r.html");
    assert!(page.contains("multiclass error"), "the page has it");
    // Each of several passes has its own, and all have the sum.
    let summary = folder.summary("a.svm --one-vs-all --learner perceptron --passes 2");
    let passes = summary["passes"].as_array().unwrap();
    let of = |at: usize, key: &str| passes[at][key].as_f64().unwrap();
    assert_eq!((of(0, "multiclass_examples"), of(1, "multiclass_examples")), (90.0, 90.0));
    assert_eq!(of(0, "multiclass_mistakes"), mistakes);
    let both = of(0, "multiclass_mistakes") + of(1, "multiclass_mistakes");
    assert_eq!(summary["multiclass_mistakes"].as_f64(), Some(both));
    let summary = folder.summary("a.svm --one-vs-all --learner perceptron --resume m.cog");
    assert_eq!(summary["multiclass_examples"], 90);
    assert_eq!(summary["multiclass_mistakes"].as_f64(), Some(both - mistakes));
    let notes = summary["notes"].to_string();
    assert!(notes.contains("the multiclass error is of the 90 lines of this run"), "{notes}");
    // Without classes there is none, and none where the examples of a line are apart.
    let shuffled = folder.run("learn a.svm --one-vs-all --order shuffle --json");
    assert!(shuffled.stderr.contains("no multiclass error: in this order"), "{}", shuffled.stderr);
    assert!(!shuffled.stdout.contains("\"multiclass_error\""), "{}", shuffled.stdout);
    folder.write("b.svm", "1 qid:1 1:1\n-1 qid:1 2:1\n");
    assert!(!folder.output("learn b.svm --json --quiet").contains("multiclass"));
}

#[test]
fn predict_judges_lines_by_their_class() {
    let folder = Folder::with("a.svm", text());
    folder.output("learn a.svm --one-vs-all --learner perceptron --passes 3 --quiet --model m.cog");
    let said = |name: &str| folder.run(&format!("predict {name} --model m.cog")).stderr;
    assert!(said("a.svm").contains("multiclass error 0.00 % (0 of 90 lines)"), "{}", said("a.svm"));
    // A wrong class, a class that the model does not know, and a line that says nothing.
    folder.write("b.svm", "cat 1:1\ndog weight:2 1:1\nbird 1:1\n? 1:1\ncat 1:1\n");
    assert!(said("b.svm").contains("multiclass error 60.00 % (2 of 4 lines)"), "{}", said("b.svm"));
    folder.write("c.svm", "? 1:1\n");
    assert!(!said("c.svm").contains("multiclass"), "{}", said("c.svm"));
}
