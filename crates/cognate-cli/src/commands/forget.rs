//! `cognate forget`: a model without some of its tasks.

use cognate_plot::numbers::count;

use super::load_model;
use crate::args::ForgetArgs;
use crate::model_file::claim;
use crate::output::{self, say, shown_name};
use crate::same_file::is_same_file;

/// Runs the command.
pub(crate) fn run(args: &ForgetArgs) -> anyhow::Result<()> {
    let replaces = args.overwrite || is_same_file(&args.from, &args.model);
    // Held until the end: a run that learns on must not be overwritten.
    let _lock = claim(&args.model, replaces, "--overwrite replaces it; or name another file")?;
    let mut model = load_model(&args.from)?;
    let mut lines = Vec::new();
    if !model.knows_class_counts() {
        say(
            "note: the model is of an earlier version, which did not keep for every task how many labels of each class it has \
             taught; the class weights of later examples go by all labelled examples of the tasks that are left",
        );
    }
    for name in &args.tasks {
        let examples = model.metrics().task(model.task(name)?).examples;
        model.forget_task(name)?;
        lines.push(format!("forgot task {}: {} examples", shown_name(name), count(examples)));
    }
    model.save(&args.model)?;
    let left = model.tasks().len() as u64;
    lines.push(match left {
        1 => "1 task is left".to_owned(),
        left => format!("{} tasks are left", count(left)),
    });
    output::print(&lines.join("\n"))
}
