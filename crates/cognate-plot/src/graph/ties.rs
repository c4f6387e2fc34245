//! Edges that are equally strong: choosing some of them would be arbitrary, and drawing all is a hairball. So their
//! nodes are listed.

use super::{Graph, ROW};
use crate::numbers::{count, plain};
use crate::svg::{Canvas, shorten, text_width};

/// Nodes whose strongest edges that are not drawn are equally strong.
#[derive(Clone, Debug, PartialEq)]
pub struct Tie {
    /// The nodes, in order; each is joined with others of them.
    pub nodes: Vec<usize>,
    /// The least and the largest weight of their tied edges.
    pub weights: (f64, f64),
    /// How many edges are tied.
    pub edges: usize,
}

/// Most ties that are listed.
const LISTED: usize = 12;
/// Longest name in the list.
const NAME: usize = 16;

impl Tie {
    /// The tied weight, or from where to where.
    fn weight(&self) -> String {
        let (least, most) = self.weights;
        let text = |value: f64| plain(value, 1.0);
        if text(least) == text(most) { text(least) } else { format!("{} to {}", text(least), text(most)) }
    }
}

impl Graph {
    /// Whether each node is in a tie.
    pub(super) fn tied(&self) -> Vec<bool> {
        let mut tied = vec![false; self.names.len()];
        self.ties.iter().flat_map(|tie| &tie.nodes).for_each(|node| tied[*node] = true);
        tied
    }

    /// The ties, one per row, with as many names as have room; returns the height of what is drawn so far.
    pub(super) fn list_ties(&self, c: &mut Canvas, width: f64, top: f64) -> f64 {
        if self.ties.is_empty() {
            return top;
        }
        c.text("t b", (0.0, top + 14.0), "Ties: equally strong edges, not drawn");
        let mut y = top + 14.0 + ROW;
        for tie in self.ties.iter().take(LISTED) {
            let heading = format!("{} tasks at {}: ", count(tie.nodes.len() as u64), tie.weight());
            let end = |left: usize| {
                if left > 0 { format!(" … {} more", count(left as u64)) } else { String::new() }
            };
            let room = width - text_width(&heading, 11.0) - text_width(&end(tie.nodes.len()), 11.0);
            let (mut names, mut shown) = (String::new(), 0);
            for node in &tie.nodes {
                let next =
                    format!("{}{}", if shown > 0 { ", " } else { "" }, shorten(&self.names[*node], NAME));
                if shown > 0 && text_width(&names, 11.0) + text_width(&next, 11.0) > room {
                    break;
                }
                names += &next;
                shown += 1;
            }
            c.text("t", (0.0, y), &format!("{heading}{names}{}", end(tie.nodes.len() - shown)));
            y += ROW;
        }
        if self.ties.len() > LISTED {
            c.text("t", (0.0, y), &format!("… and {} more groups", count((self.ties.len() - LISTED) as u64)));
            y += ROW;
        }
        y - 8.0
    }

    /// What is said about ties; nothing without any.
    pub(super) fn ties_note(&self) -> Option<String> {
        let most = self.most?;
        let tasks = self.tied().iter().filter(|tied| **tied).count();
        let edges: usize = self.ties.iter().map(|tie| tie.edges).sum();
        (tasks > 0).then(|| {
            format!(
                "Ties: {} tasks have more than {most} equally strong edges; these {} are not drawn, since a choice \
                 among equals would be arbitrary.",
                count(tasks as u64),
                count(edges as u64)
            )
        })
    }
}
