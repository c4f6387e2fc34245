//! The self-contained HTML page: no network, no script, light and dark, narrow and wide.

pub mod demo;
pub mod fit;
pub mod report;
pub mod table;

use std::fmt;

use crate::svg::{Drawing, add, escape};
use crate::theme;

/// Width of the page's column; `main` in the style sheet has the same plus its padding.
pub const COLUMN: f64 = 1040.0;

/// A page under construction; parts appear in the order in which they are added. All text is escaped here.
pub struct Page {
    title: String,
    body: String,
}

/// A number worth large type.
pub struct Tile {
    /// What it is.
    pub name: &'static str,
    /// The number as text.
    pub value: String,
}

impl Page {
    /// Begins a page with its title and one sentence that says what came out.
    pub fn new(title: &str, lead: &str) -> Self {
        let (title, body) = (title.to_owned(), String::new());
        let mut page = Self { title, body };
        let (title, lead) = (escape(&page.title), escape(lead));
        page.put(format_args!("<header><h1>{title}</h1><p class=\"lead\">{lead}</p></header>\n"));
        page
    }

    fn put(&mut self, markup: fmt::Arguments<'_>) {
        add(&mut self.body, markup);
    }

    /// Begins a section.
    pub fn section(&mut self, heading: &str) {
        self.put(format_args!("<h2>{}</h2>\n", escape(heading)));
    }

    /// A paragraph.
    pub fn paragraph(&mut self, text: &str) {
        self.put(format_args!("<p>{}</p>\n", escape(text)));
    }

    /// A row of key numbers.
    pub fn tiles(&mut self, tiles: &[Tile]) {
        self.body.push_str("<dl class=\"tiles\">\n");
        for Tile { name, value } in tiles {
            let value = escape(value);
            self.put(format_args!("<div><dt>{name}</dt><dd>{value}</dd></div>\n"));
        }
        self.body.push_str("</dl>\n");
    }

    /// A table.
    pub fn table(&mut self, table: &table::Table) {
        self.body.push_str(&table.html());
    }

    /// A picture with a heading and a caption; the picture's notes follow the caption.
    pub fn figure(&mut self, heading: &str, drawing: &Drawing, caption: &str) {
        // Wider than the column, a picture may use the whole window.
        let class = if drawing.width() > COLUMN { "breakout" } else { "" };
        let (heading, svg, caption) = (escape(heading), drawing.inline(), captioned(caption, drawing));
        self.put(format_args!(
            "<figure class=\"{class}\"><h3>{heading}</h3><div class=\"scroll\">\n{svg}</div>{caption}</figure>\n"
        ));
    }

    /// A picture drawn twice, for wide and for narrow windows: type in an SVG shrinks with it.
    pub fn fluid_figure(&mut self, wide: &Drawing, narrow: &Drawing, caption: &str) {
        let (caption, wide, narrow) = (captioned(caption, wide), wide.inline(), narrow.inline());
        self.put(format_args!(
            "<figure><div class=\"wide\">\n{wide}</div><div class=\"narrow\">\n{narrow}</div>{caption}</figure>\n"
        ));
    }

    /// Pictures with headings and captions side by side, below each other where there is no room.
    pub fn figures(&mut self, items: &[(String, Drawing, String)]) {
        self.body.push_str("<div class=\"pair\">\n");
        for (heading, drawing, caption) in items {
            self.figure(heading, drawing, caption);
        }
        self.body.push_str("</div>\n");
    }

    /// Many small pictures under one legend, each with a heading.
    pub fn multiples(&mut self, legend: &Drawing, items: &[(String, Drawing)], caption: &str) {
        self.put(format_args!("<figure>{}<div class=\"multiples\">\n", legend.inline()));
        for (heading, drawing) in items {
            let (heading, svg) = (escape(heading), drawing.inline());
            self.put(format_args!("<div><h3>{heading}</h3>\n{svg}</div>\n"));
        }
        self.put(format_args!("</div>{}</figure>\n", captioned(caption, legend)));
    }

    /// A part that is closed at first and shows a value as indented JSON.
    pub fn json(&mut self, summary: &str, value: &serde_json::Value) {
        // Escaped line by line, because escaping makes a line break a space.
        let lines: Vec<String> = format!("{value:#}").lines().map(escape).collect();
        let (summary, text) = (escape(summary), lines.join("\n"));
        self.put(format_args!("<details><summary>{summary}</summary>\n<pre>{text}</pre></details>\n"));
    }

    /// Ends the page with the command that made it.
    pub fn finish(self, command: &str) -> String {
        // The policy allows inline style and nothing else: no script runs, nothing is fetched.
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>{}{}</style>\n</head>\n\
             <body>\n<main>\n{}<footer>Made by <code>{}</code></footer>\n</main>\n</body>\n</html>\n",
            escape(&self.title),
            theme::page_style(),
            include_str!("style.css"),
            self.body,
            escape(command),
        )
    }
}

fn captioned(caption: &str, drawing: &Drawing) -> String {
    let mut text = caption.to_owned();
    for note in &drawing.notes {
        text = text + " " + note;
    }
    let text = text.trim();
    if text.is_empty() { String::new() } else { format!("<figcaption>{}</figcaption>", escape(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_text() {
        let bad = "</style><script>alert(1)</script>\"\0";
        let mut page = Page::new(bad, bad);
        page.section(bad);
        page.paragraph(bad);
        page.tiles(&[Tile { name: "n", value: bad.to_owned() }]);
        page.json(bad, &serde_json::json!({ bad: [bad] }));
        let html = page.finish(bad);
        assert!(!html.contains("<script") && !html.contains('\0'));
        assert_eq!(html.matches("</style>").count(), 1);
    }

    #[test]
    fn nothing_is_fetched() {
        let html = Page::new("t", "l").finish("cognate demo");
        for word in ["http://", "https://", "url(", "@import", "src="] {
            assert!(!html.contains(word), "{word}");
        }
    }

    #[test]
    fn json_keeps_its_lines() {
        let mut page = Page::new("t", "l");
        page.json("config", &serde_json::json!({ "a": 1, "b": [2] }));
        assert!(page.finish("c").contains("{\n  &quot;a&quot;: 1,\n"));
    }
}
