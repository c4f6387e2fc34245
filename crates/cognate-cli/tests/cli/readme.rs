//! The README shows what the program prints.

use crate::support::Folder;

#[test]
fn the_first_screen_of_the_readme_is_what_demo_prints_and_draws() {
    let folder = Folder::new();
    let printed = folder.output("demo --picture demo.svg");
    let readme = include_str!("../../../../README.md");
    assert!(readme.contains(printed.trim_end()), "the README does not show:\n{printed}");
    let drawn = include_str!("../../../../docs/demo.svg");
    assert_eq!(folder.text("demo.svg"), drawn, "draw it again: cognate demo --picture docs/demo.svg");
}
