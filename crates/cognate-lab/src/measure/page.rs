//! Where results are published: between markers on a page that is otherwise written by hand.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Replaces the text between `<!-- name:begin -->` and `<!-- name:end -->` in the file.
pub(crate) fn publish(page: &Path, name: &str, content: &str) -> Result<()> {
    let text = fs::read_to_string(page).with_context(|| page.display().to_string())?;
    let text = replaced(&text, name, content)
        .with_context(|| format!("{}: no markers <!-- {name}:begin --> and :end", page.display()))?;
    fs::write(page, text).with_context(|| page.display().to_string())?;
    eprintln!("{name}: written to {}", page.display());
    Ok(())
}

fn replaced(text: &str, name: &str, content: &str) -> Option<String> {
    let (before, rest) = text.split_once(&format!("<!-- {name}:begin -->"))?;
    let (_, after) = rest.split_once(&format!("<!-- {name}:end -->"))?;
    Some(format!("{before}<!-- {name}:begin -->\n{}\n<!-- {name}:end -->{after}", content.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_marked_part_changes() {
        let page = "above\n<!-- bench:begin -->\nold\n<!-- bench:end -->\nbelow\n";
        let expected = "above\n<!-- bench:begin -->\nnew\n<!-- bench:end -->\nbelow\n";
        assert_eq!(replaced(page, "bench", "new\n").as_deref(), Some(expected));
        assert_eq!(replaced(page, "sweep", "new"), None);
    }
}
