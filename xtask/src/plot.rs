//! The program's line charts, for figures in `docs/`: compiled here from its own files, so that all pictures look alike.
#![expect(dead_code, reason = "the program's other pictures use more of them")]

#[path = "../../crates/cognate-cli/src/plot/lines.rs"]
pub(crate) mod lines;
#[path = "../../crates/cognate-cli/src/plot/scale.rs"]
pub(crate) mod scale;
#[path = "../../crates/cognate-cli/src/plot/series.rs"]
mod series;
#[path = "../../crates/cognate-cli/src/plot/svg.rs"]
mod svg;
#[path = "../../crates/cognate-cli/src/plot/theme.rs"]
mod theme;
