//! Pages and pictures of many tasks: what is left out is said, nothing is too large, one number stands for one thing.

use std::fmt::Write as _;

use serde_json::Value;

use super::support::{Folder, number, related};

/// The largest page of a run with 412 tasks, in bytes: small enough to mail.
const LARGEST_PAGE: usize = 1_000_000;

/// A stream of 412 tasks, and a matrix file that relates them in four groups of which one is opposed to another.
fn many() -> Folder {
    let (tasks, mut stream) = (412, String::new());
    for line in 0..4 * tasks {
        let (task, x) = (line % tasks, (line * 7919 % 1000) as f64 / 500.0 - 1.0);
        let label = if (x > 0.0) == (task % 4 != 3) { "+1" } else { "-1" };
        writeln!(stream, "{label} task:t{task:03} 1:{x} 2:1").unwrap();
    }
    // R is the inverse of A, which is negative beside the diagonal where tasks are related.
    let names: Vec<String> = (0..tasks).map(|task| format!("t{task:03}")).collect();
    let mut matrix = names.join(",") + "\n";
    for row in 0..tasks {
        let entry = |column: usize| match (row % 4, column % 4) {
            _ if row == column => 1.0,
            // A little of its own, so that no two pairs are equally strong.
            (a, b) if a == b => -0.007 - 0.002 * ((row + 1) * (column + 1) % 997) as f64 / 997.0,
            (0, 1) | (1, 0) => 0.001,
            _ => 0.0,
        };
        let entries: Vec<String> = (0..tasks).map(|column| entry(column).to_string()).collect();
        writeln!(matrix, "{}", entries.join(",")).unwrap();
    }
    let folder = Folder::with("a.svm", stream);
    folder.write("a.csv", matrix);
    folder
}

/// The number after a word in a text, without its commas.
fn after(text: &str, word: &str) -> usize {
    let rest = text.split(word).nth(1).unwrap_or_else(|| panic!("{word:?} in {text}"));
    let digits: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == ',').collect();
    digits.replace(',', "").parse().unwrap()
}

#[test]
fn a_report_and_a_graph_of_412_tasks_can_be_used() {
    let folder = many();
    folder.output(
        "learn a.svm --learner perceptron --set interaction.matrix.file=a.csv --quiet --model m.cog --report r.html",
    );
    let page = folder.text("r.html");
    assert!(page.len() < LARGEST_PAGE, "{} bytes", page.len());
    assert_eq!(page.matches("<td>t").count(), 412, "every task has a row");
    assert!(page.contains("Wilson") && page.contains("class=\"rows long\""));
    assert!(page.contains("The tasks of the 4 groups"), "relatives are grouped");
    assert!(page.contains("<p class=\"hint\" style=\"--narrow:"), "a wide table says that it scrolls");
    let ran = folder.run("relations m.cog --graph g.svg --threshold 0.001");
    ran.assert_done();
    assert!(ran.stderr.contains(": the 3 strongest of every task"), "{}", ran.stderr);
    let drawn = after(&ran.stderr, "; drawn ");
    assert!((412 / 2..=3 * 412).contains(&drawn), "{}", ran.stderr);
    assert_eq!(folder.text("g.svg").matches("class=\"dot\"").count(), 412, "no task is without an edge");
    folder.output("relations m.cog --svg r.svg --quiet");
    let svg = folder.text("r.svg");
    assert!(!svg.contains("the mean over blocks of"), "every task has a row of its own");
    assert!(after(&svg, " width=\"") <= 1240, "without names, a picture need not be wide");
}

#[test]
fn a_graph_of_equal_edges_is_one_camp() {
    let folder = Folder::with("a.svm", related(412, 900));
    folder.output("learn a.svm --learner perceptron --quiet --model m.cog --set interaction.coupled.b=400");
    let ran = folder.run("relations m.cog --graph g.svg");
    ran.assert_done();
    assert!(
        ran.stderr.contains("Camps: 412 tasks have the same edges as others and are drawn as 1 node"),
        "{}",
        ran.stderr
    );
    let svg = folder.text("g.svg");
    assert!(svg.contains(">412 tasks, ") && svg.contains(" + 411</text>") && svg.contains("class=\"edge"));
    // The page of the same relation has no matrix of one colour.
    folder.output("learn a.svm --learner perceptron --quiet --set interaction.coupled.b=400 --report r.html");
    assert!(folder.text("r.html").contains("All pairs of different tasks have the same value, "));
}

#[test]
fn the_task_that_is_surest_to_be_bad_comes_first() {
    // A first prediction is +1: "once" is 1 mistake in 1, "often" 20 in 40, "never" none in 40.
    let mut stream = "-1 task:once 1:1\n".to_owned();
    for round in 0..40 {
        let label = if round % 2 == 0 { "-1" } else { "+1" };
        writeln!(stream, "{label} task:often 1:1\n+1 task:never 1:1").unwrap();
    }
    let folder = Folder::with("a.svm", stream);
    folder.output("learn a.svm --learner perceptron --set interaction=independent --quiet --report r.html");
    let page = folder.text("r.html");
    let place = |task: &str| page.find(&format!("<td>{task}</td>")).expect("a row");
    assert!(place("often") < place("once") && place("once") < place("never"), "{page}");
}

#[test]
fn the_page_of_a_comparison_has_one_number_for_one_thing() {
    let folder = Folder::with("a.svm", related(4, 600));
    let flags = "--learners perceptron --runs 3 --quiet --report page.html";
    let value: Value =
        serde_json::from_str(&folder.output(&format!("compare a.svm {flags} --json"))).unwrap();
    let page = folder.text("page.html");
    for row in value["learners"].as_array().unwrap() {
        let shown = |error: f64| format!("{:.2}\u{202f}%", 100.0 * error);
        let mean = shown(number(row, "/error"));
        assert!(page.contains(&mean), "{row}");
        let name = row["name"].as_str().unwrap();
        if name == "constant" {
            continue;
        }
        // At the end of the curve in the wide and in the narrow chart, behind a name that may be shortened.
        assert!(page.contains(&format!(" {mean}</text>")), "{name} {mean}");
        assert!(page.contains(&format!(">{mean}</text>")), "{name} {mean}");
    }
    // What there is to learn is said once, and so is how often it was learnt.
    for (words, times) in
        [("600 examples of 4 tasks", 1), ("3 shuffles", 1), ("3 orders", 0), ("the same orders", 1)]
    {
        assert_eq!(page.matches(words).count(), times, "{words}");
    }
    let prose = page.split("<p>").skip(1).map(|rest| rest.split("</p>").next().unwrap_or_default());
    assert!(
        prose.into_iter().all(|text| !text.contains(" learners saw ") || text.contains("All learners saw"))
    );
    assert!(page.contains("<h2>Learning curves: error so far</h2>") && !page.contains("The table judges by"));
}

#[test]
fn a_comparison_by_another_metric_says_that_its_curves_are_of_the_error() {
    let folder = Folder::with("a.svm", related(3, 300));
    folder.output("compare a.svm --learners perceptron --metric auc --runs 1 --quiet --report page.html");
    let page = folder.text("page.html");
    assert!(page.contains("The table judges by AUC. Curves and bars show the error, "));
    assert!(page.contains("<h2>Task by task: error</h2>"));
    assert!(!page.contains("means over"), "one run has no mean");
}

#[test]
fn tasks_are_listed_by_the_numbers_in_their_names() {
    let mut stream = String::new();
    for line in 0..220 {
        let (task, x) = (line % 11 + 1, (line * 7919 % 1000) as f64 / 500.0 - 1.0);
        let label = if x > 0.0 { "+1" } else { "-1" };
        writeln!(stream, "{label} task:t{task} 1:{x} 2:1").unwrap();
    }
    let folder = Folder::with("a.svm", stream);
    let expected: Vec<String> = (1..=11).map(|task| format!("t{task}")).collect();
    let first_words = |text: &str| -> Vec<String> {
        let words = text.lines().filter_map(|line| line.split_whitespace().next());
        words.filter(|word| word.starts_with('t') && *word != "task").map(str::to_owned).collect()
    };
    assert_eq!(first_words(&folder.output("learn a.svm --quiet --model m.cog")), expected);
    assert_eq!(first_words(&folder.output("fit a.svm --quiet")), expected);
    let relations: Value = serde_json::from_str(&folder.output("relations m.cog --json")).unwrap();
    assert_eq!(relations["tasks"], serde_json::json!(expected));
    // The small charts, in the order of the page.
    folder.output("compare a.svm --learners adaptive --runs 1 --quiet --report c.html");
    let page = folder.text("c.html");
    let charts = page.split("class=\"multiples\"").nth(1).expect("small charts");
    let headings: Vec<&str> =
        charts.split("<h3>").skip(1).take(11).map(|rest| rest.split("</h3>").next().unwrap()).collect();
    assert_eq!(headings, expected);
}

#[test]
fn a_fit_stands_beside_the_constant_guess() {
    // Two of three labels of "a" are +1, one of four of "b"; of all, 6 of 14.
    let mut stream = String::new();
    for line in 0..6 {
        writeln!(stream, "{} task:a 1:{}", if line % 3 == 0 { "-1" } else { "+1" }, line % 2).unwrap();
    }
    for line in 0..8 {
        writeln!(stream, "{} task:b 1:{}", if line % 4 == 0 { "+1" } else { "-1" }, line % 3).unwrap();
    }
    let folder = Folder::with("a.svm", stream);
    let text =
        folder.output("fit a.svm --quiet --cross-validate 2 --grid lambda=0.001,10 --report r.html --json");
    let value: Value = serde_json::from_str(&text).unwrap();
    let constants = ["/constant_error", "/tasks/0/constant_error", "/tasks/1/constant_error"];
    for (path, expected) in constants.into_iter().zip([6.0 / 14.0, 1.0 / 3.0, 0.25]) {
        assert!((number(&value, path) - expected).abs() < 1e-12, "{path} in {value}");
    }
    let page = folder.text("r.html");
    assert!(page.contains("<dt>constant guess</dt><dd>42.86\u{202f}%</dd>"));
    for shown in ["33.33", "25.00"] {
        assert!(page.contains(&format!(">{shown}\u{202f}%</td>")), "{shown}");
    }
    let chart = page.split("<h2>").find(|part| part.starts_with("Cross-validation")).expect("a section");
    for (lambda, times) in [("0.001", 2), ("10", 2), ("0.00195", 0), ("0.0020", 0)] {
        assert_eq!(chart.matches(&format!(">{lambda}</text>")).count(), times, "wide and narrow: {lambda}");
    }
    let text = folder.output("fit a.svm --quiet --cross-validate 2 --grid lambda=0.001,10");
    let row = |name: &str| text.lines().rfind(|line| line.starts_with(name)).expect("a row").to_owned();
    assert!(row("task").ends_with("constant"), "{text}");
    for (name, constant) in
        [("a ", "33.33 %"), ("b ", "25.00 %"), ("all ", "42.86 %"), ("constant guess", "42.86 %")]
    {
        assert!(row(name).ends_with(constant), "{name}: {text}");
    }
    let tried: Vec<&str> = text
        .lines()
        .skip(1)
        .take(2)
        .filter_map(|line| line.split_whitespace().find(|word| word.parse::<f64>().is_ok()))
        .collect();
    assert_eq!(tried, ["10", "0.001"], "{text}");
}

#[test]
fn a_page_has_one_sign_for_no_value() {
    // One label only: no AUC, no balanced error; a Perceptron gives no probabilities.
    let folder = Folder::with("a.svm", "+1 task:a 1:1\n+1 task:b 1:1\n".repeat(10));
    let text = folder.output("learn a.svm --learner perceptron --quiet --report r.html");
    let page = folder.text("r.html");
    assert!(page.contains(">–</td>"), "{page}");
    assert!(!page.contains(">-</td>") && !page.contains("shown as -"), "{page}");
    assert!(text.contains(" – ") && !text.split_whitespace().any(|word| word == "-"), "{text}");
}

#[test]
fn learnt_and_true_relations_of_the_tour_share_a_scale() {
    let folder = Folder::new();
    folder.output("demo --quiet --out tour.html");
    let page = folder.text("tour.html");
    let relations = page.split("How the tasks are related").nth(1).unwrap();
    // Two matrices, each wide and narrow, each with a bar from -1 to 1.
    assert_eq!([">−1.0</text>", ">1.0</text>"].map(|end| relations.matches(end).count()), [4, 4]);
    // The outlier is marked in the rows and the columns of all.
    assert_eq!(relations.matches(">10\u{a0}†</text>").count(), 8);
    let wide = relations.split("<figure class=\"wide\">").skip(1);
    let widths: Vec<usize> = wide.map(|rest| after(rest, " width=\"")).collect();
    assert!(widths.len() == 2 && widths.iter().sum::<usize>() <= 1008, "side by side: {widths:?}");
}

#[test]
fn the_chosen_lambda_is_marked() {
    let folder = Folder::with("a.svm", related(3, 200));
    let grid = "--cross-validate 3 --grid lambda=0.01,1,100";
    let text = folder.output(&format!("fit a.svm {grid} --quiet --report r.html --json"));
    let value: Value = serde_json::from_str(&text).unwrap();
    let lambda = number(&value, "/learner/convex/lambda");
    let page = folder.text("r.html");
    assert!(page.contains(&format!("chosen: lambda {lambda}, ")), "{lambda}");
    assert_eq!(page.matches("class=\"halo\"").count(), 2, "in the wide and in the narrow chart");
}

/// The text of the number in the first tile of a page.
fn headline(page: &str) -> &str {
    page.split("<dd>").nth(1).and_then(|rest| rest.split("</dd>").next()).expect("a tile")
}

/// A stream with real labels of two tasks, the second with errors that are larger.
fn real_labels() -> String {
    let mut stream = String::new();
    for line in 0..400 {
        let x = (line * 7919 % 1000) as f64 / 500.0 - 1.0;
        let noise = (line * 104_729 % 1000) as f64 / 500.0 - 1.0;
        writeln!(stream, "{:.3} task:calm 1:{x} 2:1", 20.0 + 5.0 * x).unwrap();
        writeln!(stream, "{:.3} task:wild 1:{x} 2:1", 20.0 + 5.0 * x + 9.0 * noise).unwrap();
    }
    stream
}

#[test]
fn pages_of_real_labels_show_their_error_and_no_mistakes() {
    let folder = Folder::with("a.svm", real_labels());
    let text = folder.output("learn a.svm --set loss=squares --quiet --report r.html --json");
    let value: Value = serde_json::from_str(&text).unwrap();
    let page = folder.text("r.html");
    let body = page.split("<main>").nth(1).unwrap();
    let rmse = headline(body);
    assert!((rmse.parse::<f64>().unwrap() - number(&value, "/rmse")).abs() < 1e-3, "{rmse}");
    assert_eq!(body.matches(&format!(">{rmse}</text>")).count(), 2, "the ends of the curve, wide and narrow");
    for word in ["istake", ">error<", "0.00\u{202f}%", "Wilson"] {
        assert!(!body.contains(word), "{word}");
    }
    let place = |task: &str| body.find(&format!("<td>{task}</td>")).expect("a row");
    assert!(place("wild") < place("calm"), "the task with the larger error comes first");
    let text = folder.output(
        "compare a.svm --learners adaptive --set adaptive.loss=squares --runs 2 --quiet --report c.html --json",
    );
    let value: Value = serde_json::from_str(&text).unwrap();
    let page = folder.text("c.html");
    let body = page.split("<main>").nth(1).unwrap();
    assert!(!body.contains("istakes") && !body.contains("0.00\u{202f}%"));
    for row in value["learners"].as_array().unwrap().iter().filter(|row| row["name"] != "constant") {
        let mean = format!("{:.3}", number(row, "/rmse"));
        assert!(body.contains(&format!(">{mean}</text>")) && body.contains(&format!(">{mean}")), "{row}");
    }
}

#[test]
fn a_page_has_one_error_where_examples_have_weights() {
    let mut stream = String::new();
    for line in 0..200 {
        let (label, weight) = if line % 2 == 0 { ("+1", 5) } else { ("-1", 1) };
        writeln!(stream, "{label} task:a weight:{weight} 1:1").unwrap();
    }
    let folder = Folder::with("a.svm", stream);
    let text = folder.output("learn a.svm --quiet --report r.html --json");
    let value: Value = serde_json::from_str(&text).unwrap();
    let error = format!("{:.2}\u{202f}%", 100.0 * number(&value, "/error"));
    let mistakes = format!("{:.2}\u{202f}%", number(&value, "/mistakes") / 2.0);
    assert_ne!(error, mistakes, "weights matter here");
    let page = folder.text("r.html");
    assert_eq!(headline(&page), error);
    // In the table of measures and of tasks, and at the ends of the curves.
    assert_eq!(page.matches(&format!(">{error}</td>")).count(), 2);
    assert_eq!(page.matches(&format!(">{error}</text>")).count(), 4);
    assert!(!page.contains(&format!(">{mistakes}</text>")), "{mistakes}");
}

#[test]
fn a_page_has_one_error_where_a_run_goes_on_with_a_model() {
    let folder = Folder::with("a.svm", related(3, 600));
    folder.write("b.svm", related(3, 300));
    folder.output("learn a.svm --quiet --model m.cog");
    folder.output("learn b.svm --quiet --resume m.cog --report r.html");
    let page = folder.text("r.html");
    let error = headline(&page);
    assert_eq!(page.matches(&format!(">{error}</text>")).count(), 2, "{error}");
    assert!(page.contains("Drawn from example 601 on"), "the curve goes on where the last one ended");
}

#[test]
fn the_best_is_marked_where_more_is_better_and_a_form_that_is_missing_is_said() {
    let folder = Folder::with("a.svm", related(3, 600));
    folder.output(
        "compare a.svm --learners adaptive,passive-aggressive --metric auc --runs 2 --quiet --report c.html",
    );
    let page = folder.text("c.html");
    let table = page.split("<table").nth(1).and_then(|rest| rest.split("</table>").next()).expect("a table");
    assert_eq!(table.matches("<small>best</small>").count(), 1, "{table}");
    let row = |name: &str| table.split("<tr").find(|row| row.contains(&format!(">{name}<"))).expect("a row");
    assert!(row("adaptive").contains("<small>best</small>"), "{table}");
    assert!(row("passive-aggressive").contains(">none<"), "{table}");
    // What sharing gains is told of a form that shares, and of no other.
    let gain = |name: &str| row(name).split("<td").nth(5).expect("the column of sharing").to_owned();
    assert!(table.contains(">sharing</th>") && gain("adaptive").contains("0.0"), "{}", gain("adaptive"));
    assert_eq!(gain("passive-aggressive"), " class=\"r\"></td>");
}

#[test]
fn the_mark_of_the_best_stands_on_the_winner_whichever_its_form_is() {
    let folder = Folder::with("a.svm", related(12, 600));
    let flags = "--learners passive-aggressive,perceptron --runs 2 --quiet --report c.html --json";
    let value: Value = serde_json::from_str(&folder.output(&format!("compare a.svm {flags}"))).unwrap();
    let rows = value["learners"].as_array().unwrap();
    let best = rows.iter().find(|row| row["name"] == value["best"]).expect("the winner");
    assert_eq!(best["form"], "pooled", "the winner is in a column of its own: {value}");
    let page = folder.text("c.html");
    let table = page.split("<table").nth(1).and_then(|rest| rest.split("</table>").next()).expect("a table");
    assert_eq!(table.matches("<small>best</small>").count(), 1, "{table}");
    let shown = format!("<b>{:.2}\u{202f}%</b>", 100.0 * number(best, "/error"));
    assert!(table.contains(&shown), "{shown} in {table}");
}

#[test]
fn the_graph_of_the_default_learner_shows_its_camps() {
    // Every seventh of 29 tasks has the labels of the others turned round.
    let mut stream = String::new();
    for line in 0..2900_u64 {
        let task = line % 29;
        let mixed = (line + 1).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let [x, y] =
            [mixed >> 40, (mixed >> 16) & 0xff_ffff].map(|bits| bits as f64 / f64::from(1 << 23) - 1.0);
        let label = if (x + 0.3 * y > 0.0) == (task % 7 != 3) { "+1" } else { "-1" };
        writeln!(stream, "{label} task:t{task:02} 1:{x} 2:{y}").unwrap();
    }
    let folder = Folder::with("a.svm", stream);
    folder.output("learn a.svm --quiet --model m.cog");
    let ran = folder.run("relations m.cog --graph g.svg");
    ran.assert_done();
    let svg = folder.text("g.svg");
    assert!(after(&ran.stderr, "; drawn ") > 0, "{}", ran.stderr);
    assert!(svg.contains(">25 tasks, ") && svg.contains(">4 tasks, "), "{}", ran.stderr);
    assert!(svg.contains("edge against"), "the camps are opposed");
}
