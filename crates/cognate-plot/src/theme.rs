//! Colours and the style sheet of every picture, in light and dark.

use super::svg::add;

/// Name, light and dark value of each colour. The series colours `c0`… follow Okabe and Ito, moved until
/// each has a contrast of at least 3:1 with its paper.
const COLOURS: [(&str, &str, &str); 20] = [
    ("paper", "#ffffff", "#14171c"),
    ("panel", "#f6f6f4", "#1c2027"),
    ("ink", "#1b1f24", "#e8e9eb"),
    ("mid", "#1b1f24", "#14171c"),
    ("muted", "#5d646d", "#a2a9b3"),
    ("axis", "#8b929a", "#747c87"),
    ("grid", "#e7e8ea", "#2a3038"),
    ("quiet", "#c3c7cc", "#4a525d"),
    ("shadow", "#aeb4bb", "#69727e"),
    ("zero", "#f3f3f1", "#222730"),
    ("pos", "#0a4f9c", "#6cb6ff"),
    ("neg", "#b23c00", "#ff9d5c"),
    ("c0", "#0072b2", "#5cb8f0"),
    ("c1", "#c9510c", "#f0915a"),
    ("c2", "#00825e", "#37c698"),
    ("c3", "#a8478c", "#e29ac6"),
    ("c4", "#8f6a00", "#e3bc45"),
    ("c5", "#5a55c8", "#a9a5ff"),
    ("c6", "#3f7d93", "#8ccbe0"),
    ("c7", "#6b6f76", "#b6bbc2"),
];

/// How many series colours there are before they repeat (with other dashes and markers).
pub(crate) const SERIES_COLOURS: usize = 8;

const RULES: &str = "
.cg{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',sans-serif;fill:var(--ink)}
.cg .m{text-anchor:middle}.cg .e{text-anchor:end}.cg .b{font-weight:600}.cg .big{font-size:15px}
.cg .t{fill:var(--muted);font-size:11px}.cg .tn{font-variant-numeric:tabular-nums}
.cg .paper,.cg .on{fill:var(--paper)}.cg .mid{fill:var(--mid)}.cg .zero{fill:var(--zero)}
.cg .axis{stroke:var(--axis)}.cg .grid{stroke:var(--grid)}.cg .frame{fill:none;stroke:var(--grid)}
.cg .quiet{fill:none;stroke:var(--quiet);stroke-width:1;stroke-linejoin:round}
.cg .chosen{fill:none;stroke:var(--axis);stroke-width:1.5;stroke-dasharray:2 3}.cg .halo{fill:none;stroke:var(--ink);stroke-width:2}
.cg .leader{stroke:var(--quiet);fill:none}
.cg .line{fill:none;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}
.cg .strong{stroke-width:3}.cg .mark{stroke:var(--paper);stroke-width:1.2}
.cg .sp{stroke:var(--pos)}.cg .sn{stroke:var(--neg)}.cg .p{fill:var(--pos)}.cg .n{fill:var(--neg)}.cg .cell{stroke:var(--paper);stroke-width:1}
.cg .none{fill:none;stroke:var(--muted);stroke-width:1}.cg .minus{fill:none;stroke:var(--paper);stroke-width:1.5}
.cg .tree,.cg .bracket{fill:none;stroke:var(--axis);stroke-width:1}.cg .bracket{stroke-width:1.5}.cg .rim{fill:none;stroke:var(--grid);stroke-width:5;stroke-linecap:round}
.cg .edge{fill:none;stroke:var(--pos)}.cg .against{stroke:var(--neg);stroke-dasharray:6 4}
.cg .dot{fill:var(--ink);stroke:var(--paper);stroke-width:1}.cg .ring{fill:var(--paper);stroke:var(--axis);stroke-width:1.5}
";

fn rules() -> String {
    let mut css = RULES.to_owned();
    for i in 0..SERIES_COLOURS {
        add(&mut css, format_args!(".cg .l{i}{{stroke:var(--c{i})}}.cg .f{i}{{fill:var(--c{i})}}"));
    }
    css
}

/// The style for a page with inline pictures: colours as variables, which the page may use too.
pub(crate) fn page_style() -> String {
    let (mut light, mut dark) = (String::new(), String::new());
    for (name, l, d) in COLOURS {
        add(&mut light, format_args!("--{name}:{l};"));
        add(&mut dark, format_args!("--{name}:{d};"));
    }
    let rules = rules();
    format!(":root{{{light}}}\n@media (prefers-color-scheme:dark){{:root{{{dark}}}}}{rules}")
}

/// The style for a picture in a file of its own: colours written out, because viewers other than browsers
/// (Inkscape, librsvg) know no CSS variables.
pub(crate) fn file_style() -> String {
    let (mut light, mut dark) = (rules(), rules());
    for (name, l, d) in COLOURS {
        let variable = format!("var(--{name})");
        light = light.replace(&variable, l);
        dark = dark.replace(&variable, d);
    }
    format!("{light}\n@media (prefers-color-scheme:dark){{{dark}}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Contrast ratio of two `#rrggbb` colours as WCAG defines it.
    fn contrast(a: &str, b: &str) -> f64 {
        let luminance = |colour: &str| {
            let channel = |i: usize| {
                let v = u8::from_str_radix(&colour[i..i + 2], 16).expect("two hex digits") as f64 / 255.0;
                if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
        };
        let (x, y) = (luminance(a) + 0.05, luminance(b) + 0.05);
        (x / y).max(y / x)
    }

    #[test]
    fn colours_can_be_read_on_their_paper() {
        for (name, light, dark) in COLOURS {
            let least = match name {
                "ink" | "muted" | "pos" | "neg" => 4.5,
                n if n.starts_with('c') => 3.0,
                _ => continue,
            };
            assert!(contrast(light, COLOURS[0].1) >= least, "{name} on light paper");
            assert!(contrast(dark, COLOURS[0].2) >= least, "{name} on dark paper");
        }
    }

    #[test]
    fn every_variable_has_a_value() {
        assert!(!file_style().contains("var("));
    }
}
