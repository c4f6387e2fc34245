//! How the members learn from real labels: in units of the task (`units`), without a gate.
#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]

use super::super::members::Table;
use super::super::mixer::{ALONE, COUPLED_OWN, COUPLED_SHARED, POOLED, PerPart};
use super::{Outcome, State, Taught, Tempered};
use crate::example::Example;
use crate::weights::side_by_side::Found;

impl State {
    /// Learns an example with a real label, whose rows have been found; the margin that was predicted may be an older one.
    ///
    /// Centre and scale are renewed first, from what is predicted now; then the mixture, the trust and the side, and the members learn
    /// in the new units.
    #[inline(always)]
    pub(super) fn learn_real(
        &mut self,
        weights: &mut Table,
        tasks: usize,
        example: Example<'_>,
        predicted: Option<f64>,
        found: &mut Found,
    ) -> Outcome {
        let seen = self.see(weights, example.task, example.features, found);
        let margin = seen.margin + example.offset;
        let outcome = Outcome { margin: predicted.unwrap_or(margin), updated: example.weight > 0.0 };
        // Seen no times, it teaches nothing.
        if !outcome.updated {
            return outcome;
        }
        let features = Tempered::of(seen.tempered.as_ref(), example.features);
        let example = Example { features, ..example };
        let Some(units) = &mut self.units else { return outcome };
        let before = units.of(example.task);
        let unit = units.learn(&example, margin);
        let target = units.target(&unit, &example);
        if unit.scale > 0.0 {
            let shrink = before.scale * unit.inverse();
            let renewed = |parts: &PerPart| {
                let mut parts = *parts;
                parts[ALONE] *= shrink;
                parts[COUPLED_OWN] *= shrink;
                parts
            };
            let asked = self.ask_groups(weights, example, target.sign(), found);
            if self.given.is_none() {
                self.mixer.learn_real(
                    example.task,
                    example.time,
                    &target,
                    &renewed(&seen.parts),
                    seen.pooled,
                );
            }
            if let Some(factor) = self.clock.tick(self.settings.forget, example.time) {
                self.write_down(weights, factor);
            }
            let present = renewed(&seen.present);
            let coupled = present[COUPLED_OWN] + present[COUPLED_SHARED];
            let taught = Taught {
                members: [present[ALONE], coupled, present[POOLED], 0.0],
                side: seen.side,
                curvature: 0.0,
                new_too: true,
                target: Some(target),
                own_scale: unit.scale,
            };
            if example.features.has_norm() {
                self.step(weights, tasks, example, &taught, found);
            }
            self.sort(weights, example.task, asked.map(|asked| (asked, asked.take())));
        }
        self.sizes.note(Tempered::length(seen.tempered.as_ref()));
        if let Some(averages) = &mut self.averages {
            averages.count(example.task);
        }
        outcome
    }
}
