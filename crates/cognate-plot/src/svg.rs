//! A small SVG writer: escaped text, short stable numbers, and the two ways to publish a drawing.

use std::fmt::{self, Display, Write};

use super::theme;

/// Escapes text for HTML and XML, in content and in quoted attributes.
///
/// Control characters are not legal in XML and direction overrides can rearrange a page, so both are shown
/// as a visible stand-in instead of being passed on.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\0'..='\x1f'
            | '\x7f'..='\u{9f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{fffe}'
            | '\u{ffff}' => {
                out.push('\u{fffd}');
            }
            _ => out.push(c),
        }
    }
    out
}

/// Appends formatted text.
pub fn add(out: &mut String, text: fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a String takes every write");
}

/// Cuts a name to at most `most` characters, with the ellipsis in the middle: names of tasks often share
/// their beginning and differ at the end.
pub fn shorten(name: &str, most: usize) -> String {
    // Counting stops early, so that a name of a megabyte costs no more than a short one.
    if name.chars().nth(most).is_none() {
        return name.to_owned();
    }
    let tail = most / 3;
    let head: String = name.chars().take(most - tail - 1).collect();
    let rest: Vec<char> = name.chars().rev().take(tail).collect();
    head + "…" + &rest.iter().rev().collect::<String>()
}

/// Estimates how wide a text is at a font size; errs on the wide side, since the font is the reader's.
pub fn text_width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | '.' | ',' | ':' | ';' | '\'' | '|' | ' ' | '(' | ')' => 0.36,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.92,
        'A'..='Z' => 0.7,
        '<' | '>' | '=' | '+' | '~' | '#' | '&' | '…' => 0.9,
        c if c >= '\u{1100}' && !('\u{2000}'..'\u{2200}').contains(&c) => 1.05,
        _ => 0.62,
    };
    size * text.chars().map(em).sum::<f64>()
}

/// The same for bold type.
pub fn bold_width(text: &str, size: f64) -> f64 {
    1.12 * text_width(text, size)
}

/// A coordinate: two decimals at most, no trailing zeros, no minus zero.
pub struct Num(pub f64);

impl Display for Num {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug_assert!(self.0.is_finite(), "a coordinate must be finite");
        let text = format!("{:.2}", self.0);
        let text = text.trim_end_matches('0').trim_end_matches('.');
        f.write_str(if text == "-0" { "0" } else { text })
    }
}

/// Collects SVG elements; every method writes one.
#[derive(Default)]
pub struct Canvas {
    out: String,
}

impl Canvas {
    /// Writes markup as it is; for elements that have no method of their own.
    pub fn put(&mut self, markup: fmt::Arguments<'_>) {
        add(&mut self.out, markup);
    }

    /// Opens a group with the given attributes (markup, not user text).
    pub fn open(&mut self, attributes: &str) {
        self.put(format_args!("<g {attributes}>"));
    }

    /// Opens a group whose elements share a tooltip, or none if `tip` is empty.
    pub fn tipped(&mut self, tip: &str) {
        self.out.push_str("<g>");
        if !tip.is_empty() {
            let tip = escape(tip);
            self.put(format_args!("<title>{tip}</title>\n"));
        }
    }

    /// Closes the innermost group.
    pub fn close(&mut self) {
        self.out.push_str("</g>\n");
    }

    /// A straight line from `a` to `b`.
    pub fn line(&mut self, class: &str, a: (f64, f64), b: (f64, f64)) {
        let (x1, y1, x2, y2) = (Num(a.0), Num(a.1), Num(b.0), Num(b.1));
        self.put(format_args!("<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>\n"));
    }

    /// A rectangle with its upper left corner at `at`.
    pub fn rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64)) {
        let (x, y, w, h) = (Num(at.0), Num(at.1), Num(size.0), Num(size.1));
        self.put(format_args!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"/>\n"
        ));
    }

    /// A path with a tooltip if `tip` is not empty.
    pub fn path(&mut self, class: &str, d: &str, tip: &str) {
        if tip.is_empty() {
            self.put(format_args!("<path class=\"{class}\" d=\"{d}\"/>\n"));
        } else {
            let tip = escape(tip);
            self.put(format_args!("<path class=\"{class}\" d=\"{d}\"><title>{tip}</title></path>\n"));
        }
    }

    /// A text; `class` carries the anchor (`m` middle, `e` end).
    pub fn text(&mut self, class: &str, at: (f64, f64), text: &str) {
        let (x, y, text) = (Num(at.0), Num(at.1), escape(text));
        self.put(format_args!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{text}</text>\n"));
    }

    /// A text turned by `degrees` about its anchor.
    pub fn turned(&mut self, class: &str, at: (f64, f64), degrees: i32, text: &str) {
        let (x, y, text) = (Num(at.0), Num(at.1), escape(text));
        self.put(format_args!(
            "<text class=\"{class}\" transform=\"translate({x} {y}) rotate({degrees})\">{text}</text>\n"
        ));
    }

    /// A text of a font size whose left or right middle is at a place, turned about it.
    pub fn turned_about_middle(&mut self, class: &str, at: (f64, f64), degrees: f64, size: f64, text: &str) {
        let (x, y, down, text) = (Num(at.0), Num(at.1), Num(size * 0.35), escape(text));
        let turn = if degrees == 0.0 { String::new() } else { format!(" rotate({})", Num(degrees)) };
        self.put(format_args!(
            "<text class=\"{class}\" y=\"{down}\" transform=\"translate({x} {y}){turn}\">{text}</text>\n"
        ));
    }

    /// Ends the drawing.
    pub fn finish(self, title: &str, width: f64, height: f64) -> Drawing {
        Drawing { title: title.to_owned(), width, height, body: self.out, notes: Vec::new() }
    }
}

/// A finished picture.
#[derive(Clone)]
pub struct Drawing {
    title: String,
    width: f64,
    height: f64,
    body: String,
    /// What the picture leaves out or merges; belongs under it wherever it is shown.
    pub notes: Vec<String>,
}

impl Drawing {
    /// Width in pixels.
    pub fn width(&self) -> f64 {
        self.width
    }

    /// The least width at which its type can be read: in less room it scrolls instead of shrinking.
    pub fn least_width(&self) -> f64 {
        (self.width * 0.78).floor()
    }

    /// The picture for an HTML page that carries the style of `theme`; the page prints the notes.
    pub fn inline(&self) -> String {
        let (w, h, title) = (Num(self.width), Num(self.height), escape(&self.title));
        let least = Num(self.least_width());
        format!(
            "<svg class=\"cg\" role=\"img\" aria-label=\"{title}\" width=\"{w}\" height=\"{h}\" \
             viewBox=\"0 0 {w} {h}\" style=\"min-width:{least}px\">\n{}</svg>\n",
            self.body
        )
    }

    /// The picture as an SVG file of its own, with title, notes, background and both themes.
    pub fn standalone(&self) -> String {
        const PAD: f64 = 16.0;
        const HEAD: f64 = 30.0;
        let heading = shorten(&self.title, 90);
        let inner = self.width.max(bold_width(&heading, 15.0).ceil());
        let lines: Vec<String> = self.notes.iter().flat_map(|n| wrap(n, inner, 11.0)).collect();
        let width = inner + 2.0 * PAD;
        let height = self.height + 2.0 * PAD + HEAD + 16.0 * lines.len() as f64;
        let mut c = Canvas::default();
        let (w, h, title) = (Num(width), Num(height), escape(&self.title));
        c.put(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"cg\" role=\"img\" aria-label=\"{title}\" \
             width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\">\n<style>{}</style>\n",
            theme::file_style()
        ));
        c.rect("paper", (0.0, 0.0), (width, height));
        c.text("b big", (PAD, PAD + 14.0), &heading);
        c.open(&format!("transform=\"translate({} {})\"", Num(PAD), Num(PAD + HEAD)));
        c.out.push_str(&self.body);
        for (i, line) in lines.iter().enumerate() {
            c.text("t", (0.0, self.height + 16.0 * (i + 1) as f64), line);
        }
        c.close();
        c.out.push_str("</svg>\n");
        c.out
    }
}

/// Breaks a note into lines that fit; SVG text does not wrap by itself.
fn wrap(text: &str, width: f64, size: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is always a line");
        if !last.is_empty() && text_width(last, size) + text_width(word, size) > width {
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_place() {
        assert_eq!(escape("<script>\"a\" & 'b'"), "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;");
        assert_eq!(escape("a\0b\nc\u{7f}\u{202e}\u{fffe}d"), "a\u{fffd}b c\u{fffd}\u{fffd}\u{fffd}d");
        assert_eq!(escape("zażółć 任务"), "zażółć 任务");
    }

    #[test]
    fn names_are_cut_in_the_middle() {
        assert_eq!(shorten("user-000017", 11), "user-000017");
        assert_eq!(shorten("customer-000017", 9), "custo…017");
        assert_eq!(shorten(&"x".repeat(10_000), 18).chars().count(), 18);
    }

    #[test]
    fn numbers_are_short_and_stable() {
        let shown: Vec<String> = [1.0, -0.001, 2.5, 1.0 / 3.0, 1200.0].map(|v| Num(v).to_string()).into();
        assert_eq!(shown, ["1", "0", "2.5", "0.33", "1200"]);
    }

    #[test]
    fn a_file_carries_its_style_and_notes() {
        let mut c = Canvas::default();
        c.text("m", (1.0, 2.0), "<b>");
        let mut drawing = c.finish("a < b", 100.0, 50.0);
        drawing.notes.push("one two three four five six seven eight nine".to_owned());
        let file = drawing.standalone();
        assert!(file.contains("prefers-color-scheme") && file.contains("&lt;b&gt;"));
        assert!(!file.contains("var("), "viewers other than browsers know no CSS variables");
        assert!(file.contains(">one two three") && file.matches("class=\"t\"").count() > 1);
        assert!(!drawing.inline().contains("<style"));
    }
}
