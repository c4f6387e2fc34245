//! `cognate demo`: the tour and its page.

use super::support::Folder;

/// The percentages of a row of the printed table.
fn row(text: &str, name: &str) -> Vec<f64> {
    let line = text
        .lines()
        .find(|line| line.starts_with(name))
        .unwrap_or_else(|| panic!("no row {name} in\n{text}"));
    let words: Vec<&str> = line.split_whitespace().collect();
    words.windows(2).filter(|pair| pair[1] == "%").map(|pair| pair[0].parse().expect("a number")).collect()
}

/// Checks that a page loads nothing: no address but the SVG namespace, no script, style or picture from outside.
pub(crate) fn assert_self_contained(page: &str) {
    let without = page.replace("http://www.w3.org/2000/svg", "");
    for part in ["http://", "https://", "<link", "src=", "@import", "url("] {
        let at = without.find(part).map(|at| &without[at..without.len().min(at + 80)]);
        assert_eq!(at, None, "{part} in the page");
    }
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    assert!(page.contains("<svg ") && page.contains("prefers-color-scheme"), "pictures, light and dark");
}

#[test]
fn sharing_helps_the_relatives_and_leaves_the_outlier_alone() {
    let folder = Folder::new();
    let ran = folder.run("demo");
    ran.assert_done();
    assert_eq!(ran.stderr.lines().count(), 4, "one line a way: {}", ran.stderr);
    insta::assert_snapshot!("demo", ran.stdout);
    let [independent, pooled, coupled] =
        ["independent", "pooled", "coupled"].map(|name| row(&ran.stdout, name));
    let (all, relatives, outlier) = (0, 1, 2);
    assert!(coupled[relatives] < independent[relatives], "relatives: {coupled:?} {independent:?}");
    assert!(coupled[outlier] < pooled[outlier], "outlier: {coupled:?} {pooled:?}");
    assert!(coupled[all] < independent[all] && coupled[all] < pooled[all], "{coupled:?}");
    let adaptive = row(&ran.stdout, "adaptive");
    assert!((0..3).all(|column| adaptive[column] < coupled[column]), "{adaptive:?} {coupled:?}");
    assert!(ran.stdout.contains("Open report.html in a browser"), "{}", ran.stdout);
    assert_eq!(folder.names(), ["report.html"]);
    assert_self_contained(&folder.text("report.html"));
}

#[test]
fn the_claim_holds_for_other_seeds() {
    let folder = Folder::new();
    for seed in 2..6 {
        let text = folder.output(&format!("demo --quiet --seed {seed}"));
        let [independent, pooled, coupled] =
            ["independent", "pooled", "coupled"].map(|name| row(&text, name));
        assert!(coupled[1] < independent[1] && coupled[2] < pooled[2], "seed {seed}\n{text}");
    }
}

#[test]
fn the_page_shows_the_numbers_of_the_table() {
    let folder = Folder::new();
    let text = folder.output("demo --quiet --out tour.html --picture tour.svg");
    let page = folder.text("tour.html");
    for name in ["independent", "pooled", "coupled", "adaptive"] {
        let error = format!("{:.2}", row(&text, name)[0]);
        assert!(page.contains(&error), "{name}: {error} is not on the page");
    }
    assert!(text.contains("Open tour.html in a browser"));
    assert_eq!(folder.names(), ["tour.html", "tour.svg"]);
    assert!(folder.text("tour.svg").contains(" viewBox=\"0 0 "));
}

#[test]
fn the_stream_of_the_tour_can_be_learnt_by_hand() {
    let folder = Folder::new();
    let text = folder.output("demo --quiet --stream tour.svm");
    let summary = folder.summary("tour.svm --tasks 10 --learner perceptron --set interaction.coupled.b=6");
    let mistakes = summary["mistakes"].as_u64().unwrap();
    let printed = text.lines().find(|line| line.starts_with("coupled")).unwrap().replace(',', "");
    assert!(printed.trim_end().ends_with(&format!(" {mistakes}")), "{mistakes} mistakes by hand\n{text}");
}
