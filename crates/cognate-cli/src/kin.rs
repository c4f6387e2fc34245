//! Groups of tasks and how alike tasks are, where a learner knows: as text and JSON.

use cognate::{Likeness, Model, TaskId};
use serde_json::{Value, json};

use crate::output::{shown_name, table};
use crate::pairs::{self, Pair};
use crate::relation::RelationTable;
use cognate_plot::numbers::count;

/// Most names listed of one side of a group, most groups, and most pairs of either sign.
const NAMES: usize = 12;
const GROUPS: usize = 16;
const PAIRS: usize = 12;

/// Tasks that share weights.
pub(crate) struct Group {
    /// On one side, on the other, and on none that is sure; the larger side first.
    sides: [Vec<TaskId>; 3],
}

impl Group {
    fn size(&self) -> usize {
        self.sides.iter().map(Vec::len).sum()
    }
}

/// The groups of these tasks, the largest first; none where the learner has no groups.
pub(crate) fn groups(model: &Model, tasks: &[TaskId]) -> Option<Vec<Group>> {
    let learner = model.learner().as_inspect();
    let mut groups: Vec<Group> = Vec::new();
    for task in tasks {
        let place = learner.place(*task)?;
        if groups.len() <= place.group {
            groups.resize_with(place.group + 1, || Group { sides: Default::default() });
        }
        let side = if place.side >= 1.0 { 0 } else { usize::from(place.side > -1.0) + 1 };
        groups[place.group].sides[side].push(*task);
    }
    groups.retain(|group| group.size() > 0);
    for Group { sides: [one, other, _] } in &mut groups {
        if other.len() > one.len() {
            std::mem::swap(one, other);
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.size()));
    Some(groups)
}

/// For `relations --json`; null where there are none.
pub(crate) fn groups_as_json(model: &Model, groups: Option<&[Group]>) -> Value {
    let names = |tasks: &Vec<TaskId>| tasks.iter().map(|task| model.tasks().name(*task)).collect::<Vec<_>>();
    let group = |Group { sides: [one, other, neither] }: &Group| json!({ "one_side": names(one), "other_side": names(other), "neither": names(neither) });
    groups.map_or(Value::Null, |groups| groups.iter().map(group).collect())
}

/// Whether the evidence supports a strength of any pair.
pub(crate) fn says_anything(likeness: &Likeness) -> bool {
    (0..likeness.size()).any(|row| (0..row).any(|column| likeness.pair(row, column).is_some()))
}

/// The strengths and deviations as rows, null where the evidence does not say.
pub(crate) fn likeness_as_json(likeness: Option<&Likeness>) -> Value {
    let Some(likeness) = likeness else { return Value::Null };
    let rows = |number: fn((f64, f64)) -> f64, own: Option<f64>| -> Vec<Vec<Option<f64>>> {
        let entry = |row, column| if row == column { own } else { likeness.pair(row, column).map(number) };
        (0..likeness.size())
            .map(|row| (0..likeness.size()).map(|column| entry(row, column)).collect())
            .collect()
    };
    json!({ "strength": rows(|pair| pair.0, Some(1.0)), "deviation": rows(|pair| pair.1, None) })
}

/// What `relations` prints first.
pub(crate) fn groups_as_text(model: &Model, groups: &[Group]) -> String {
    let counts = |Group { sides }: &Group| sides.each_ref().map(|side| count(side.len() as u64));
    let rows = groups.iter().take(GROUPS).enumerate().map(|(at, group)| {
        let mut row = vec![format!("group {}", at + 1), count(group.size() as u64)];
        row.extend(counts(group));
        row
    });
    let mut text = table(&["", "tasks", "one side", "the other", "neither"], rows).trim_fmt();
    if groups.len() > GROUPS {
        text += &format!("\n… and {} more groups: --json", count((groups.len() - GROUPS) as u64));
    }
    for (at, Group { sides }) in groups.iter().take(GROUPS).enumerate() {
        for (side, tasks) in ["one side", "the other", "neither"].into_iter().zip(sides) {
            if tasks.is_empty() {
                continue;
            }
            let names: Vec<String> =
                tasks.iter().take(NAMES).map(|task| shown_name(model.tasks().name(*task))).collect();
            let more = tasks.len().saturating_sub(NAMES);
            let more =
                if more > 0 { format!(", … and {} more", count(more as u64)) } else { String::new() };
            text += &format!("\ngroup {}, {side}: {}{more}", at + 1, names.join(", "));
        }
    }
    text
}

/// The pairs that are most alike and most opposed, with what is tied.
pub(crate) fn strongest(alike: &RelationTable, likeness: &Likeness) -> String {
    let pairs = pairs::by_strength(&alike.matrix);
    let known: Vec<Pair> = pairs.iter().filter(|pair| pair.correlation != 0.0).copied().collect();
    let mut text = format!(
        "{} tasks, {} pairs: the evidence supports a strength of {}",
        count(alike.names.len() as u64),
        count(pairs.len() as u64),
        count(known.len() as u64),
    );
    for (what, sign) in [("most alike", 1.0), ("most opposed", -1.0)] {
        let pairs: Vec<&Pair> = known.iter().filter(|pair| pair.correlation * sign > 0.0).collect();
        let Some(last) = pairs.iter().take(PAIRS).next_back() else { continue };
        let rows = pairs.iter().take(PAIRS).map(|pair| {
            let (a, b) = pair.tasks();
            let deviation = likeness.pair(a, b).map_or(0.0, |pair| pair.1);
            let numbers = [format!("{:.2}", pair.correlation), format!("± {deviation:.2}")];
            [shown_name(&alike.names[a]), shown_name(&alike.names[b])].into_iter().chain(numbers).collect()
        });
        text += &format!("\n\n{}", table(&[what, "", "strength", ""], rows).left(1).trim_fmt());
        let rest = &pairs[pairs.len().min(PAIRS)..];
        let tied = rest.iter().filter(|pair| pair.is_tied(last)).count();
        if !rest.is_empty() {
            let ties = if tied > 0 {
                format!(", {} of them tied with the last", count(tied as u64))
            } else {
                String::new()
            };
            text += &format!("\n… and {} more{ties}", count(rest.len() as u64));
        }
    }
    text
}
