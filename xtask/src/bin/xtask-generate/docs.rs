//! `cargo xtask docs`: the table of docs/learners.md, from the registry.

use anyhow::{Context, Result};
use cognate::REGISTRY;

use crate::generated::{Options, put, root};

const PAGE: &str = "docs/learners.md";
const BEGIN: &str = "<!-- learners:begin -->";
const END: &str = "<!-- learners:end -->";

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let page = std::fs::read_to_string(root().join(PAGE)).context(PAGE)?;
    let (before, rest) = page.split_once(BEGIN).with_context(|| format!("{PAGE} has no {BEGIN}"))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("{PAGE} has no {END}"))?;
    put(options, PAGE, &format!("{before}{BEGIN}\n{}{END}{after}", table()), "docs")
}

fn table() -> String {
    let mut text =
        "| id | what | predict | update | memory | takes | paper |\n|---|---|---|---|---|---|---|\n"
            .to_owned();
    for about in REGISTRY {
        text += &format!(
            "| `{}` | {} | {} | {} | {} | {} | {} |\n",
            about.id,
            about.title,
            about.predict_cost,
            about.update_cost,
            about.memory,
            match (about.weights, about.offsets) {
                (true, true) => "weights, offsets",
                (true, false) => "weights",
                (false, true) => "offsets",
                (false, false) => "",
            },
            about.paper
        );
    }
    text
}
