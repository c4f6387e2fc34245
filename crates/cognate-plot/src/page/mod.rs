//! The self-contained HTML page: no network, no script, light and dark, narrow and wide.

pub mod demo;
pub mod fit;
pub mod orders;
pub mod report;
pub mod table;
pub mod tasks;

use std::fmt;

use serde_json::Value;

use crate::heatmap::Heatmap;
use crate::numbers::count;
use crate::svg::{Drawing, add, escape};
use crate::theme;

/// Width of the page's column; `main` in the style sheet has the same plus its padding.
pub const COLUMN: f64 = 1040.0;
/// The same on a telephone of 390 pixels.
pub const NARROW_COLUMN: f64 = 358.0;
/// Two of these fit beside each other in the column, with the space of `.pair`.
const HALF_COLUMN: f64 = (COLUMN - 32.0) / 2.0;

/// A page under construction; parts appear in the order in which they are added. All text is escaped here.
pub struct Page {
    title: String,
    body: String,
}

/// A number worth large type.
#[derive(Clone)]
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
        let hint = sideways_hint(drawing.least_width(), drawing.least_width());
        self.put(format_args!(
            "<figure class=\"{class}\"><h3>{heading}</h3>{hint}<div class=\"scroll\" tabindex=\"0\">\n{svg}</div>\
             {caption}</figure>\n"
        ));
    }

    /// A matrix with a heading and a caption, drawn for wide and for narrow windows.
    pub fn matrix(&mut self, heading: &str, heatmap: &Heatmap, caption: &str) {
        self.matrix_within(heading, heatmap, caption, COLUMN);
    }

    fn matrix_within(&mut self, heading: &str, heatmap: &Heatmap, caption: &str, width: f64) {
        self.put(format_args!("<div class=\"matrix\"><h3>{}</h3>\n", escape(heading)));
        let (wide, narrow) = (heatmap.draw_within(width), heatmap.draw_within(NARROW_COLUMN));
        let (inline, below) = (wide.inline(), captioned(caption, &wide));
        let (small, small_below) = (narrow.inline(), captioned(caption, &narrow));
        self.put(format_args!(
            "<figure class=\"wide\"><div class=\"scroll\">\n{inline}</div>{below}</figure>\
             <figure class=\"narrow\"><div class=\"scroll\">\n{small}</div>{small_below}</figure></div>\n"
        ));
    }

    /// A picture drawn twice, for wide and for narrow windows: type in an SVG shrinks with it.
    pub fn fluid_figure(&mut self, wide: &Drawing, narrow: &Drawing, caption: &str) {
        let (caption, wide, narrow) = (captioned(caption, wide), wide.inline(), narrow.inline());
        self.put(format_args!(
            "<figure><div class=\"wide scroll\">\n{wide}</div><div class=\"narrow\">\n{narrow}</div>{caption}</figure>\n"
        ));
    }

    /// Two matrices side by side, below each other where there is no room.
    pub fn matrices(&mut self, items: &[report::Relation]) {
        self.body.push_str("<div class=\"pair\">\n");
        for item in items {
            self.matrix_within(&item.title, &item.matrix, &item.caption, HALF_COLUMN);
        }
        self.body.push_str("</div>\n");
    }

    /// A part that is closed at first and holds a table.
    pub fn folded_table(&mut self, summary: &str, table: &table::Table) {
        let (summary, table) = (escape(summary), table.html());
        self.put(format_args!("<details><summary>{summary}</summary>\n{table}</details>\n"));
    }

    /// Many small pictures under one legend, each with a heading.
    pub fn multiples(&mut self, legend: &[Drawing], items: &[(String, Drawing)], caption: &str) {
        self.body.push_str("<figure><div class=\"legend\">\n");
        legend.iter().for_each(|entry| self.body.push_str(&entry.inline()));
        self.body.push_str("</div><div class=\"multiples\">\n");
        for (heading, drawing) in items {
            let (heading, svg) = (escape(heading), drawing.inline());
            self.put(format_args!("<div><h3>{heading}</h3>\n{svg}</div>\n"));
        }
        self.put(format_args!("</div><figcaption>{}</figcaption></figure>\n", escape(caption.trim())));
    }

    /// A part that is closed at first and shows a value as indented JSON; of long lists the beginning.
    pub fn json(&mut self, summary: &str, value: &Value) {
        // Escaped line by line, because escaping makes a line break a space.
        let value = short_lists(value);
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

/// Longest list that is shown in full, and how much is shown of longer ones.
const LIST: (usize, usize) = (64, 16);

/// A value whose long lists end early and say so: a matrix over 400 tasks would be megabytes.
fn short_lists(value: &Value) -> Value {
    match value {
        Value::Array(items) if items.len() > LIST.0 => {
            let more = format!("… {} more", count((items.len() - LIST.1) as u64));
            items[..LIST.1].iter().map(short_lists).chain([Value::String(more)]).collect()
        }
        Value::Array(items) => items.iter().map(short_lists).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(key, field)| (key.clone(), short_lists(field))).collect())
        }
        other => other.clone(),
    }
}

/// Says that what follows can be moved sideways, wherever its box is narrower than it needs: the style sheet compares the
/// two. `narrow` is needed in windows of up to 700 pixels, `wide` in others; nothing if it fits everywhere.
fn sideways_hint(narrow: f64, wide: f64) -> String {
    // The least that a box has in windows that count as wide.
    const LEAST_WIDE: f64 = 660.0;
    if narrow <= NARROW_COLUMN && wide <= LEAST_WIDE {
        return String::new();
    }
    format!(
        "<p class=\"hint\" style=\"--narrow:{}px;--wide:{}px\" aria-hidden=\"true\">move sideways for more →</p>\n",
        narrow.ceil(),
        wide.ceil()
    )
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
    fn a_wide_picture_scrolls_in_its_box_and_not_with_the_page() {
        let drawing = |width: f64| crate::svg::Canvas::default().finish("t", width, 10.0);
        let mut page = Page::new("t", "l");
        page.fluid_figure(&drawing(COLUMN), &drawing(NARROW_COLUMN), "c");
        let html = page.finish("c");
        // Its least width is more than the column has in windows of 700 to 840 pixels.
        assert!(html.contains("<div class=\"wide scroll\">\n<svg"), "{html}");
        assert!(include_str!("style.css").contains(".scroll,.rows{overflow-x:auto"));
    }

    #[test]
    fn nothing_is_fetched() {
        let html = Page::new("t", "l").finish("cognate demo");
        for word in ["http://", "https://", "url(", "@import", "src="] {
            assert!(!html.contains(word), "{word}");
        }
    }

    #[test]
    fn long_lists_end_early_and_say_so() {
        let matrix = vec![vec![0.25; 412]; 412];
        let mut page = Page::new("t", "l");
        page.json("config", &serde_json::json!({ "matrix": matrix, "short": [1, 2] }));
        let html = page.finish("c");
        assert!(
            html.len() < 30_000 && html.contains("… 396 more") && html.contains("    2\n"),
            "{}",
            html.len()
        );
    }

    #[test]
    fn json_keeps_its_lines() {
        let mut page = Page::new("t", "l");
        page.json("config", &serde_json::json!({ "a": 1, "b": [2] }));
        assert!(page.finish("c").contains("{\n  &quot;a&quot;: 1,\n"));
    }
}
