//! A graph of named nodes with weighted edges of either sign.
//!
//! Nodes stand on a circle, those tied by positive edges together. The sign of an edge is its colour and its dash; its
//! strength is its width and its opacity. A node may stand for a camp. Nodes without an edge are listed below.

mod camps;

use std::collections::BTreeMap;

pub use camps::Camp;

use super::circle::{Circle, Spot};
use super::numbers::{count, plain};
use super::svg::{Canvas, Drawing, Num, shorten, text_width};

/// Nodes and the edges among them.
#[derive(Clone, Default)]
pub struct Graph {
    /// Says what an edge means.
    pub title: String,
    /// Names of the nodes; of a camp, that of its first member.
    pub names: Vec<String>,
    /// The order of the nodes round the circle; all nodes, each once.
    pub order: Vec<usize>,
    /// The edges, strongest first.
    pub edges: Vec<Edge>,
    /// How many pairs of tasks there are, with or without an edge.
    pub pairs: usize,
    /// The largest strength of all pairs; 0 if there are none.
    pub strongest: f64,
    /// The least strength of an edge.
    pub threshold: f64,
    /// How many pairs are that strong; of these, `edges` are chosen.
    pub strong: usize,
    /// How many edges of every node were chosen, if not all.
    pub most: Option<usize>,
    /// The nodes that stand for several tasks.
    pub camps: Vec<Camp>,
    /// How many nodes have further edges that are as strong as the last one chosen for them.
    pub tied: usize,
}

/// An edge between two nodes.
#[derive(Clone, Copy)]
pub struct Edge {
    /// The nodes.
    pub nodes: (usize, usize),
    /// Its sign and strength.
    pub weight: f64,
}

const NAME: usize = 20;
/// Most characters of a name in a tooltip.
const LONG_NAME: usize = 80;
/// Most nodes on the circle.
const NODES: usize = 600;
/// Most edges.
const EDGES: usize = 10_000;
/// Most edges that are elements of their own, with a tooltip each; above, those of one shade share a path.
const TOOLTIPS_UP_TO: usize = 600;
/// Shades of a sign where edges share paths.
const SHADES: f64 = 12.0;
/// Most nodes that are listed for having no edge.
const LISTED: usize = 150;
/// Height of a line in the list and the legend.
const ROW: f64 = 18.0;

/// What is actually drawn.
struct Drawn {
    /// Strongest first.
    edges: Vec<Edge>,
    /// The weights within camps.
    within: Vec<f64>,
    /// The nodes with an edge, round the circle.
    nodes: Vec<usize>,
    /// The sizes of the groups that stand together, in order.
    groups: Vec<usize>,
    /// The nodes without an edge.
    alone: Vec<usize>,
    /// How many nodes have edges that are all left out for lack of room.
    crowded_out: usize,
}

impl Drawn {
    /// The weights of all lines: of edges, and of rings round camps.
    fn weights(&self) -> impl Iterator<Item = f64> {
        self.edges.iter().map(|edge| edge.weight).chain(self.within.iter().copied())
    }
}

impl Graph {
    /// Draws the graph; the size follows from its nodes.
    pub fn draw(&self) -> Drawing {
        let mut c = Canvas::default();
        if self.names.is_empty() {
            c.text("t m", (150.0, 30.0), "no tasks yet");
            return c.finish(&self.title, 300.0, 60.0);
        }
        let drawn = self.drawn();
        let names: Vec<String> = drawn.nodes.iter().map(|node| self.label(*node, NAME)).collect();
        let growths: Vec<f64> = drawn.nodes.iter().map(|node| self.growth(*node)).collect();
        let circle = Circle::of(&names, &drawn.groups, &growths);
        let scale = Scale::of(&drawn);
        let (mut width, mut height) = (320.0f64, 0.0);
        if !drawn.nodes.is_empty() {
            let [(left, right), (top, bottom)] = circle.bounds;
            width = width.max(legend(&mut c, &drawn, &scale)).max(right - left);
            height = 2.0 * ROW + 8.0;
            let middle = (width / 2.0 - f64::midpoint(left, right), height - top);
            c.open(&format!("transform=\"translate({} {})\"", Num(middle.0), Num(middle.1)));
            rims(&mut c, &drawn, &circle);
            self.lines(&mut c, &drawn, &circle, &scale);
            self.rings(&mut c, &drawn, &circle, &scale);
            self.dots(&mut c, &drawn, &circle, &names);
            c.close();
            height += bottom - top + 8.0;
        }
        if !self.camps.is_empty() {
            width = width.max(640.0);
            height = self.list_camps(&mut c, width, height) + 12.0;
        }
        height = self.list(&mut c, &drawn, width, height);
        let mut drawing = c.finish(&self.title, width.ceil(), height.ceil());
        drawing.notes = self.notes(&drawn);
        drawing
    }

    /// Chooses what fits: the strongest edges, as long as there is room for their nodes.
    fn drawn(&self) -> Drawn {
        let mut seen = vec![false; self.names.len()];
        let mut on_circle = vec![false; self.names.len()];
        let (mut edges, mut nodes) = (Vec::new(), 0);
        // A camp is drawn although its only edges are within it.
        for camp in self.camps.iter().take(NODES) {
            (seen[camp.node], on_circle[camp.node]) = (true, true);
            nodes += 1;
        }
        for edge in &self.edges {
            let (a, b) = edge.nodes;
            let new = usize::from(!on_circle[a]) + usize::from(!on_circle[b]);
            (seen[a], seen[b]) = (true, true);
            if edges.len() < EDGES && nodes + new <= NODES {
                (on_circle[a], on_circle[b]) = (true, true);
                nodes += new;
                edges.push(*edge);
            }
        }
        let (nodes, groups) = self.groups(&edges, &on_circle);
        let crowded_out = seen.iter().filter(|seen| **seen).count() - nodes.len();
        let alone: Vec<usize> = (0..seen.len()).filter(|node| !seen[*node]).collect();
        let within = self.camps.iter().filter_map(|camp| camp.within).collect();
        Drawn { edges, within, nodes, groups, alone, crowded_out }
    }

    /// The nodes on the circle, with those tied by positive edges moved together; and the sizes of these groups.
    fn groups(&self, edges: &[Edge], on_circle: &[bool]) -> (Vec<usize>, Vec<usize>) {
        let mut parent: Vec<usize> = (0..self.names.len()).collect();
        fn root(parent: &mut [usize], mut node: usize) -> usize {
            while parent[node] != node {
                parent[node] = parent[parent[node]];
                node = parent[node];
            }
            node
        }
        for edge in edges.iter().filter(|edge| edge.weight >= 0.0) {
            let (a, b) = (root(&mut parent, edge.nodes.0), root(&mut parent, edge.nodes.1));
            parent[a] = b;
        }
        // A group stands where its first node does.
        let mut place: BTreeMap<usize, usize> = BTreeMap::new();
        let mut members: Vec<Vec<usize>> = Vec::new();
        for node in self.order.iter().copied().filter(|node| on_circle[*node]) {
            let at = *place.entry(root(&mut parent, node)).or_insert(members.len());
            if at == members.len() {
                members.push(Vec::new());
            }
            members[at].push(node);
        }
        let groups = members.iter().map(Vec::len).collect();
        (members.concat(), groups)
    }

    /// The edges, weakest first, so that the strong ones lie above.
    fn lines(&self, c: &mut Canvas, drawn: &Drawn, circle: &Circle, scale: &Scale) {
        let mut spots: Vec<Option<&Spot>> = vec![None; self.names.len()];
        for (node, spot) in drawn.nodes.iter().zip(&circle.spots) {
            spots[*node] = Some(spot);
        }
        let bow_of = |edge: &Edge| {
            let spot = |node: usize| spots[node].expect("both nodes of an edge are on the circle");
            bow(spot(edge.nodes.0), spot(edge.nodes.1), circle.radius)
        };
        if drawn.edges.len() <= TOOLTIPS_UP_TO {
            for edge in drawn.edges.iter().rev() {
                let [a, b] = [edge.nodes.0, edge.nodes.1].map(|node| self.label(node, LONG_NAME));
                let tip = format!("{a} × {b}: {}", plain(edge.weight, edge.weight.abs()));
                scale.line(c, edge.weight, &bow_of(edge), &tip);
            }
            return;
        }
        let mut shades: BTreeMap<(u32, bool), (f64, String)> = BTreeMap::new();
        for edge in &drawn.edges {
            let shade = (scale.part(edge.weight) * SHADES).round() as u32;
            let path = shades.entry((shade, edge.weight < 0.0)).or_insert((edge.weight, String::new()));
            path.1.push_str(&bow_of(edge));
        }
        for (weight, d) in shades.values() {
            scale.line(c, *weight, d, "");
        }
    }

    fn dots(&self, c: &mut Canvas, drawn: &Drawn, circle: &Circle, names: &[String]) {
        let mut degrees = vec![0; self.names.len()];
        for edge in &drawn.edges {
            degrees[edge.nodes.0] += 1;
            degrees[edge.nodes.1] += 1;
        }
        c.open(&format!("font-size=\"{}\"", Num(circle.font)));
        for ((node, spot), name) in drawn.nodes.iter().zip(&circle.spots).zip(names) {
            let edges = degrees[*node];
            let s = if edges == 1 { "" } else { "s" };
            c.tipped(&format!("{}: {edges} edge{s}", self.label(*node, LONG_NAME)));
            let radius = Num(circle.dot() + self.growth(*node));
            let (x, y) = (Num(spot.at.0), Num(spot.at.1));
            c.put(format_args!("<circle class=\"dot\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>"));
            let class = if spot.ends_here { "e" } else { "" };
            c.turned_about_middle(class, spot.name_at, spot.turned, circle.font, name);
            c.close();
        }
        c.close();
    }

    /// The nodes without an edge, in columns; returns the height of what is drawn so far.
    fn list(&self, c: &mut Canvas, drawn: &Drawn, width: f64, top: f64) -> f64 {
        if drawn.alone.is_empty() {
            return top;
        }
        let what = if drawn.alone.len() == 1 { "task" } else { "tasks" };
        let heading = format!("Without an edge: {} {what}", count(drawn.alone.len() as u64));
        c.text("t b", (0.0, top + 14.0), &heading);
        let listed = &drawn.alone[..drawn.alone.len().min(LISTED)];
        let names: Vec<String> = listed.iter().map(|node| shorten(&self.names[*node], NAME)).collect();
        let column = 26.0 + names.iter().map(|name| text_width(name, 11.0)).fold(0.0, f64::max);
        let columns = ((width + 10.0) / column).floor().clamp(1.0, names.len() as f64) as usize;
        let rows = names.len().div_ceil(columns);
        let first = top + 14.0 + ROW;
        for (at, (node, name)) in listed.iter().zip(&names).enumerate() {
            let (x, y) = ((at / rows) as f64 * column, first + (at % rows) as f64 * ROW);
            c.tipped(if *name == self.names[*node] { "" } else { &self.names[*node] });
            let (cx, cy) = (Num(x + 5.0), Num(y - 4.0));
            c.put(format_args!("<circle class=\"ring\" cx=\"{cx}\" cy=\"{cy}\" r=\"3\"/>"));
            c.text("t", (x + 14.0, y), name);
            c.close();
        }
        let mut bottom = first + rows as f64 * ROW;
        if drawn.alone.len() > LISTED {
            let more = count((drawn.alone.len() - LISTED) as u64);
            c.text("t", (0.0, bottom), &format!("… and {more} more"));
            bottom += ROW;
        }
        bottom - 8.0
    }

    fn notes(&self, drawn: &Drawn) -> Vec<String> {
        let [pairs, strong, shown] =
            [self.pairs, self.strong, drawn.weights().count()].map(|n| count(n as u64));
        let negative = count(drawn.weights().filter(|weight| *weight < 0.0).count() as u64);
        let threshold = self.threshold;
        if self.strong == 0 {
            return vec![format!(
                "No edges: none of {pairs} pairs has a correlation of {threshold:?} or more in size; the largest is {}.",
                plain(self.strongest, self.strongest)
            )];
        }
        let whom = if self.camps.is_empty() { "task" } else { "node" };
        let of_each =
            self.most.map_or(String::new(), |most| format!(": the {most} strongest of every {whom}"));
        let mut notes = vec![format!(
            "Edges: {strong} of {pairs} pairs have a correlation of {threshold:?} or more in size; drawn {shown}, \
             negative {negative}{of_each}."
        )];
        notes.extend(self.tied_notes());
        if drawn.edges.len() < self.edges.len() {
            let mut note =
                format!("The strongest are drawn, at most {} edges among {NODES} tasks", count(EDGES as u64));
            if drawn.crowded_out > 0 {
                note +=
                    &format!("; {} tasks have only weaker or equal ones", count(drawn.crowded_out as u64));
            }
            notes.push(note + ".");
        }
        notes
    }
}

/// Opacity of the weakest edge: the least at which a thin line can be seen on either paper.
const LEAST_OPACITY: f64 = 0.55;

/// From a weight to the looks of a line.
struct Scale {
    weakest: f64,
    strongest: f64,
    widths: (f64, f64),
}

impl Scale {
    fn of(drawn: &Drawn) -> Self {
        let strengths = drawn.weights().map(f64::abs);
        let (weakest, strongest) =
            strengths.fold((f64::INFINITY, 0.0), |(lo, hi): (f64, f64), s| (lo.min(s), hi.max(s)));
        // The more lines, the thinner.
        let widths = match drawn.edges.len() {
            0..=150 => (1.3, 4.5),
            151..=TOOLTIPS_UP_TO => (1.0, 3.0),
            _ => (0.5, 1.5),
        };
        Self { weakest, strongest, widths }
    }

    /// From 0 for the weakest edge to 1 for the strongest; between the two where all are equal.
    fn part(&self, weight: f64) -> f64 {
        let span = self.strongest - self.weakest;
        if span > 1e-9 { (weight.abs() - self.weakest) / span } else { 0.4 }
    }

    fn line(&self, c: &mut Canvas, weight: f64, d: &str, tip: &str) {
        let part = self.part(weight);
        let width = Num(self.widths.0 + part * (self.widths.1 - self.widths.0));
        let opacity = Num(LEAST_OPACITY + (0.9 - LEAST_OPACITY) * part);
        c.open(&format!("stroke-width=\"{width}\" stroke-opacity=\"{opacity}\""));
        c.path(if weight < 0.0 { "edge against" } else { "edge" }, d, tip);
        c.close();
    }
}

/// An arc through the nodes of every group.
fn rims(c: &mut Canvas, drawn: &Drawn, circle: &Circle) {
    let mut first = 0;
    for size in &drawn.groups {
        let (from, to) = (&circle.spots[first], &circle.spots[first + size - 1]);
        first += size;
        if *size < 2 {
            continue;
        }
        let large = u8::from(to.angle - from.angle > std::f64::consts::PI);
        let (r, (x, y), (u, v)) = (Num(circle.radius), from.at, to.at);
        let d = format!("M{} {}A{r} {r} 0 {large} 1 {} {}", Num(x), Num(y), Num(u), Num(v));
        c.path("rim", &d, "");
    }
}

/// A line from node to node that bows towards the centre, the more the farther they are apart.
fn bow(from: &Spot, to: &Spot, radius: f64) -> String {
    let middle = (f64::midpoint(from.at.0, to.at.0), f64::midpoint(from.at.1, to.at.1));
    let chord = (from.at.0 - to.at.0).hypot(from.at.1 - to.at.1);
    let pull = (1.0 - 0.7 * chord / radius).clamp(0.0, 1.0);
    let (x, y, u, v) = (Num(from.at.0), Num(from.at.1), Num(to.at.0), Num(to.at.1));
    format!("M{x} {y}Q{} {} {u} {v}", Num(middle.0 * pull), Num(middle.1 * pull))
}

/// A legend of the lines, in two rows; returns the width.
fn legend(c: &mut Canvas, drawn: &Drawn, scale: &Scale) -> f64 {
    const SAMPLE: f64 = 34.0;
    let mut widest: f64 = 0.0;
    let mut row = |y: f64, samples: &[(f64, String)]| {
        let mut x = 0.0;
        for (weight, text) in samples {
            let d = format!("M{} {}h{}", Num(x), Num(y), Num(SAMPLE));
            scale.line(c, *weight, &d, "");
            c.text("t tn", (x + SAMPLE + 7.0, y + 4.0), text);
            x += SAMPLE + 7.0 + text_width(text, 11.0) + 18.0;
        }
        widest = widest.max(x - 18.0);
    };
    let (weak, strong) = (scale.weakest, scale.strongest);
    let middle = f64::midpoint(weak, strong);
    let sizes = if strong - weak > 1e-9 { vec![weak, middle, strong] } else { vec![strong] };
    let sign = if drawn.weights().all(|weight| weight < 0.0) { -1.0 } else { 1.0 };
    let mut signs = Vec::new();
    if sign > 0.0 {
        signs.push((middle, "positive".to_owned()));
    }
    if drawn.weights().any(|weight| weight < 0.0) {
        signs.push((-middle, "negative".to_owned()));
    }
    row(6.0, &signs);
    let sizes: Vec<(f64, String)> =
        sizes.into_iter().map(|size| (sign * size, plain(size, 1.0f64.max(strong)))).collect();
    row(6.0 + ROW, &sizes);
    widest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A graph of n nodes whose edges are those of `weight` that are not 0.
    fn graph(n: usize, weight: impl Fn(usize, usize) -> f64) -> Graph {
        let pairs = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b)));
        let mut edges: Vec<Edge> =
            pairs.map(|nodes| Edge { nodes, weight: weight(nodes.0, nodes.1) }).collect();
        edges.retain(|edge| edge.weight != 0.0);
        edges.sort_by(|a, b| b.weight.abs().total_cmp(&a.weight.abs()));
        Graph {
            title: "related".to_owned(),
            names: (0..n).map(|i| format!("task <{i}>")).collect(),
            order: (0..n).collect(),
            strongest: edges.first().map_or(0.0, |edge| edge.weight.abs()),
            strong: edges.len(),
            edges,
            pairs: n * n.saturating_sub(1) / 2,
            threshold: 0.1,
            ..Graph::default()
        }
    }

    /// Two camps: friends within, foes between, and every seventh node alone.
    fn camps(a: usize, b: usize) -> f64 {
        match (a % 7, b % 7, a % 2 == b % 2) {
            (0, ..) | (_, 0, _) => 0.0,
            (.., true) => 0.9 - (a + b) as f64 / 5000.0,
            (.., false) => -0.4,
        }
    }

    /// Numbers of an attribute, wherever it occurs.
    fn numbers(svg: &str, attribute: &str) -> Vec<f64> {
        let key = format!(" {attribute}=\"");
        svg.split(&key).skip(1).map(|rest| rest.split('"').next().unwrap().parse().unwrap()).collect()
    }

    #[test]
    fn any_number_of_nodes_is_drawn() {
        for n in [0, 1, 2, 3, 15, 24, 25, 139, 500] {
            let graph = graph(n, camps);
            let drawing = graph.draw();
            let svg = drawing.inline();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{n}");
            assert!(svg.len() < 600_000, "{n} nodes take {} bytes", svg.len());
            assert_eq!(svg, graph.draw().inline());
            let height = numbers(&svg, "height")[0];
            assert!(numbers(&svg, "cx").iter().all(|x| x.abs() <= drawing.width()), "{n}");
            assert!(numbers(&svg, "cy").iter().all(|y| y.abs() <= height), "{n}");
        }
    }

    #[test]
    fn the_sign_is_more_than_a_colour() {
        let svg = graph(6, camps).draw().inline();
        assert!(svg.contains("class=\"edge against\"") && svg.contains("class=\"edge\""));
        assert!(svg.contains(">positive<") && svg.contains(">negative<"));
        let friends = graph(6, |_, _| 0.5).draw().inline();
        assert!(!friends.contains("against") && !friends.contains(">negative<"));
        let foes = graph(2, |_, _| -0.5).draw().inline();
        assert!(foes.contains("against") && !foes.contains(">positive<"));
    }

    #[test]
    fn a_graph_does_not_shrink_as_it_grows_and_its_weakest_edge_can_be_seen() {
        let chain =
            |n: usize| graph(n, |a, b| if b == a + 1 { 0.3 + 0.6 * a as f64 / n as f64 } else { 0.0 });
        assert!(chain(29).draw().width() > chain(10).draw().width());
        let svg = chain(29).draw().inline();
        let (widths, opacities) = (numbers(&svg, "stroke-width"), numbers(&svg, "stroke-opacity"));
        let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(least(&widths) >= 1.0 && least(&opacities) >= 0.5, "{widths:?} {opacities:?}");
        assert!(widths.iter().any(|width| *width > 4.0), "and strong ones are thicker");
    }

    #[test]
    fn camps_stand_together() {
        let drawn = graph(40, camps).drawn();
        assert_eq!(drawn.groups.len(), 2);
        let changes = drawn.nodes.windows(2).filter(|pair| pair[0] % 2 != pair[1] % 2).count();
        assert_eq!(changes, 1, "{:?}", drawn.nodes);
        assert_eq!(drawn.alone, [0, 7, 14, 21, 28, 35]);
    }

    #[test]
    fn what_is_left_out_is_said() {
        let weak = graph(3, |_, _| 0.0).draw();
        assert_eq!(
            weak.notes,
            ["No edges: none of 3 pairs has a correlation of 0.1 or more in size; the largest is 0.00."]
        );
        assert!(weak.inline().contains("Without an edge: 3 tasks"));
        let crowd = graph(1000, |a, b| if b == a + 1 { 0.5 } else { 0.0 }).draw();
        assert!(crowd.notes[0].contains("999 of 499,500 pairs") && crowd.notes[0].contains("drawn 599"));
        assert!(crowd.notes[1].ends_with("400 tasks have only weaker or equal ones."), "{:?}", crowd.notes);
        let dense = graph(150, |_, _| 0.5).draw();
        assert!(dense.notes[0].contains("drawn 10,000, negative 0"), "{:?}", dense.notes);
        assert!(dense.notes[1].ends_with("among 600 tasks."), "{:?}", dense.notes);
        let alone = graph(400, |_, _| 0.0).draw().inline();
        assert!(alone.contains("… and 250 more"));
    }

    /// 25 friends as one node, 4 others as one, opposed; and a task that is related to nobody.
    fn two_camps() -> Graph {
        let mut graph = graph(3, |a, b| if (a, b) == (0, 1) { -0.19 } else { 0.0 });
        let members = |n: usize| (0..n).map(|i| format!("task <{i}>")).collect();
        graph.camps = vec![
            Camp { node: 1, members: members(4), within: Some(0.19) },
            Camp { node: 0, members: members(25), within: Some(0.19) },
        ];
        (graph.pairs, graph.strong) = (435, 406);
        graph
    }

    #[test]
    fn a_camp_is_one_node_with_a_ring_and_its_members_are_listed() {
        let drawing = two_camps().draw();
        let svg = drawing.inline();
        assert_eq!(svg.matches("class=\"dot\"").count(), 2, "{svg}");
        assert!(
            svg.contains(">task &lt;0&gt; + 24</text>") && svg.contains(">task &lt;1&gt; + 3</text>"),
            "{svg}"
        );
        assert!(svg.contains("<title>among task &lt;0&gt; + 24: 0.190</title>"), "{svg}");
        assert!(svg.contains("<title>task &lt;0&gt; + 24 × task &lt;1&gt; + 3: −0.190</title>"), "{svg}");
        let radii: Vec<f64> = numbers(&svg, "r").into_iter().filter(|r| *r > 3.0).collect();
        assert!(radii.len() == 2 && radii[0] > radii[1] && radii[1] > 5.0, "{radii:?}");
        // The camp with the most edges first.
        let place = |text: &str| svg.find(text).unwrap_or_else(|| panic!("{text} in {svg}"));
        assert!(place(">25 tasks, 0.19 among them: ") < place(">4 tasks, 0.19 among them: "));
        assert!(svg.contains(" more</text>") && svg.contains("Without an edge: 1 task<"));
        assert_eq!(
            drawing.notes,
            [
                "Edges: 406 of 435 pairs have a correlation of 0.1 or more in size; drawn 3, negative 1.",
                "Camps: 29 tasks have the same edges as others and are drawn as 2 nodes; the ring round a node is the \
                 correlation within its camp."
            ]
        );
    }

    #[test]
    fn one_camp_of_all_is_no_empty_graph() {
        let mut graph = graph(1, |_, _| 0.0);
        graph.camps = vec![Camp { node: 0, members: vec!["a".to_owned(); 412], within: Some(0.457) }];
        (graph.strong, graph.pairs) = (84_666, 84_666);
        let drawing = graph.draw();
        let svg = drawing.inline();
        assert!(svg.contains("class=\"edge\"") && svg.contains("class=\"dot\""), "{svg}");
        assert!(drawing.notes[0].ends_with("; drawn 1, negative 0."), "{:?}", drawing.notes);
    }

    #[test]
    fn only_real_ties_are_told() {
        let mut graph = graph(30, |a, b| if b == a + 1 { 0.5 } else { 0.0 });
        graph.most = Some(3);
        assert_eq!(graph.draw().notes.len(), 1);
        graph.tied = 1;
        assert_eq!(
            graph.draw().notes[1],
            "Ties: 1 task has further edges as strong as the last of these; drawn are those to the most central tasks."
        );
    }

    #[test]
    fn names_are_cut_escaped_and_told_in_full() {
        let mut graph = graph(2, |_, _| 0.5);
        graph.names[0] = "<a name that is far too long for a picture>".to_owned();
        let svg = graph.draw().inline();
        assert!(svg.contains("<title>&lt;a name that is far too long for a picture&gt;: 1 edge</title>"));
        assert!(svg.contains(">&lt;a name that …") && !svg.contains("<a name"), "{svg}");
    }
}
