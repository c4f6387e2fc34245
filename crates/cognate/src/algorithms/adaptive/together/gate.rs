//! Which examples move the members, and how those do that have moved them before.
#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]

use super::super::doubt::Lesson;
use super::super::members::{PerMember, Table};
use super::super::rule::{curvature, sigmoid};
use super::{Seen, State, Taught};
use crate::example::Example;
use crate::weights::side_by_side::Found;

impl State {
    /// What an example teaches the members: nothing if all of them are sure of it, or if it is too long to be squared;
    /// otherwise as much as the doubt about its label says.
    #[inline(always)]
    pub(super) fn gate(&mut self, example: Example<'_>, margin: f64, members: &PerMember) -> Lesson {
        let mut lesson = Lesson::All;
        if self.given.is_none() {
            let of_task = self.mixer.examples(example.task);
            lesson = self.doubts.weigh(sigmoid(-example.label * margin), of_task);
            self.doubts.count(example.label, example.weight);
        }
        if self.all_sure(example, members) { Lesson::Nothing } else { lesson }
    }

    /// Whether all members are sure of a label, or the example is too long to be squared.
    #[inline(always)]
    fn all_sure(
        &self,
        Example { features, label, .. }: Example<'_>,
        [alone, coupled, pooled, _]: &PerMember,
    ) -> bool {
        let mixture = self.given.is_none();
        let beyond = |enough: f64| {
            let sure = |member: &f64| label * member > enough;
            sure(coupled) && (!mixture || (sure(alone) && sure(pooled)))
        };
        let enough = self.settings.loss.sure(mixture);
        let sure = beyond(enough) && (!mixture || beyond(enough + self.doubts.one_sided(label)));
        sure || !features.has_norm()
    }

    /// The members learn from an example seen before, and from nothing but its present margins; see `again`.
    #[inline(never)]
    pub(super) fn update_again(
        &mut self,
        weights: &mut Table,
        tasks: usize,
        example: Example<'_>,
        seen: &Seen,
        found: &mut Found,
    ) {
        let members = seen.members(example.offset);
        if example.weight <= 0.0 || self.all_sure(example, &members) {
            return;
        }
        let taught = Taught {
            members,
            side: seen.side,
            curvature: curvature(seen.margin),
            new_too: false,
            target: None,
            own_scale: 1.0,
        };
        self.step(weights, tasks, example, &taught, found);
    }
}
