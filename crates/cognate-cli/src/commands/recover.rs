//! `cognate recover`: what is whole of a data folder whose log was damaged.

use std::fmt::Write;

use cognate_plot::numbers::count;
use cognate_server::folder::DataFolder;
use cognate_store::salvage;

use crate::args::serve::RecoverArgs;
use crate::output;

/// Runs the command.
pub(crate) fn run(args: &RecoverArgs) -> anyhow::Result<()> {
    // Held until the end: no server may use the folder meanwhile.
    let folder = DataFolder::open(&args.dir)?;
    let mut text = String::new();
    for model in folder.models()? {
        let salvaged = salvage(&folder.model(&model))?;
        if salvaged.damage.is_empty() {
            writeln!(text, "{model}: whole, {} entries", count(salvaged.last))?;
            continue;
        }
        writeln!(text, "{model}: {} entries are whole, and those after them are lost", count(salvaged.last))?;
        salvaged.damage.iter().try_for_each(|damage| writeln!(text, "  found: {damage}"))?;
        salvaged.set_aside.iter().try_for_each(|path| writeln!(text, "  kept aside: {}", path.display()))?;
    }
    output::print(&text)
}
