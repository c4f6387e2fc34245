//! Camps: tasks with the same edges. Drawn one by one they are a hairball of equal lines, so each camp is one node, and
//! its members are listed.

use super::{Drawn, Graph, NAME, ROW, Scale};
use crate::circle::Circle;
use crate::numbers::{count, plain};
use crate::svg::{Canvas, Num, shorten, text_width};

/// Nodes that are equally related to each other, and to every other node.
#[derive(Clone, Debug, PartialEq)]
pub struct Camp {
    /// The node that stands for them.
    pub node: usize,
    /// Their names, two or more.
    pub members: Vec<String>,
    /// The weight of the edges among them; none where these are too weak.
    pub within: Option<f64>,
}

/// Most camps that are listed.
const LISTED: usize = 24;
/// Longest name in the list.
const MEMBER: usize = 16;

impl Camp {
    /// How many edges are among the members.
    pub(super) fn edges(&self) -> usize {
        if self.within.is_some() { self.members.len() * (self.members.len() - 1) / 2 } else { 0 }
    }

    /// By how much the dot is larger than that of a task.
    fn growth(&self) -> f64 {
        2.0 * (self.members.len() as f64).log2()
    }
}

impl Graph {
    /// The camp that a node stands for.
    pub(super) fn camp(&self, node: usize) -> Option<&Camp> {
        self.camps.iter().find(|camp| camp.node == node)
    }

    /// By how much the dot of a node is larger than that of a task.
    pub(super) fn growth(&self, node: usize) -> f64 {
        self.camp(node).map_or(0.0, Camp::growth)
    }

    /// The name of a node; of a camp with how many more there are.
    pub(super) fn label(&self, node: usize, most: usize) -> String {
        let name = shorten(&self.names[node], most);
        let more = self.camp(node).map(|camp| format!(" + {}", count(camp.members.len() as u64 - 1)));
        name + &more.unwrap_or_default()
    }

    /// Rings round the camps whose members are related to each other.
    pub(super) fn rings(&self, c: &mut Canvas, drawn: &Drawn, circle: &Circle, scale: &Scale) {
        for (node, spot) in drawn.nodes.iter().zip(&circle.spots) {
            let Some((camp, within)) = self.camp(*node).and_then(|camp| camp.within.map(|w| (camp, w)))
            else {
                continue;
            };
            let (x, y, r) = (spot.at.0, spot.at.1, circle.dot() + camp.growth() + 4.0);
            let (left, r, across) = (Num(x - r), Num(r), Num(2.0 * r));
            let d = format!("M{left} {}a{r} {r} 0 1 1 {across} 0a{r} {r} 0 1 1 -{across} 0", Num(y));
            let tip = format!("among {}: {}", self.label(*node, NAME), plain(within, within.abs()));
            scale.line(c, within, &d, &tip);
        }
    }

    /// The camps, one per row, the one with most edges first, with as many names as have room; returns the height of what
    /// is drawn so far.
    pub(super) fn list_camps(&self, c: &mut Canvas, width: f64, top: f64) -> f64 {
        c.text("t b", (0.0, top + 14.0), "Camps: tasks with the same edges, one node each");
        let mut y = top + 14.0 + ROW;
        let mut camps: Vec<&Camp> = self.camps.iter().collect();
        camps.sort_by_key(|camp| (std::cmp::Reverse((camp.edges(), camp.members.len())), camp.node));
        for camp in camps.iter().take(LISTED) {
            let among =
                camp.within.map_or(String::new(), |within| format!(", {} among them", plain(within, 1.0)));
            let heading = format!("{} tasks{among}: ", count(camp.members.len() as u64));
            let end = |left: usize| {
                if left > 0 { format!(" … {} more", count(left as u64)) } else { String::new() }
            };
            let room = width - text_width(&heading, 11.0) - text_width(&end(camp.members.len()), 11.0);
            let (mut names, mut shown) = (String::new(), 0);
            for name in &camp.members {
                let next = format!("{}{}", if shown > 0 { ", " } else { "" }, shorten(name, MEMBER));
                if shown > 0 && text_width(&names, 11.0) + text_width(&next, 11.0) > room {
                    break;
                }
                names += &next;
                shown += 1;
            }
            c.text("t", (0.0, y), &format!("{heading}{names}{}", end(camp.members.len() - shown)));
            y += ROW;
        }
        if camps.len() > LISTED {
            c.text("t", (0.0, y), &format!("… and {} more camps", count((camps.len() - LISTED) as u64)));
            y += ROW;
        }
        y - 8.0
    }

    /// What is said about camps, and about tasks with more equally strong edges than are drawn.
    pub(super) fn tied_notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.camps.is_empty() {
            let members: usize = self.camps.iter().map(|camp| camp.members.len()).sum();
            let (nodes, s) = (self.camps.len() as u64, if self.camps.len() == 1 { "" } else { "s" });
            let ring = if self.camps.iter().any(|camp| camp.within.is_some()) {
                "; the ring round a node is the correlation within its camp"
            } else {
                ""
            };
            notes.push(format!(
                "Camps: {} tasks have the same edges as others and are drawn as {} node{s}{ring}.",
                count(members as u64),
                count(nodes)
            ));
        }
        if self.tied > 0 {
            let what = if self.camps.is_empty() { "task" } else { "node" };
            let have = if self.tied == 1 { " has" } else { "s have" };
            notes.push(format!(
                "Ties: {} {what}{have} further edges as strong as the last of these; drawn are those to the most central tasks.",
                count(self.tied as u64)
            ));
        }
        notes
    }
}
