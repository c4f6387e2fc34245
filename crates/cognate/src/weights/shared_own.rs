//! One shared weight vector and one own vector per task, touched weights only, on [`SlotTables`].

use super::norm::Squares;
use super::slot_tables::{LocatedSlots, SlotTables, SlotTablesState};
use crate::error::StateError;
use crate::example::{SparseView, TaskId};
use crate::linalg::dot_at;
use crate::stream::Batch;
use crate::table::index_map::NOWHERE;
use crate::table::prefetch::prefetch;
use crate::table::{IndexMap, Locate};

/// So few weights stay in the nearest cache by themselves.
const IN_CACHE_ANYWAY: usize = 1024;

/// Which of the two parts are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeptParts {
    pub(crate) shared: bool,
    pub(crate) own: bool,
}

/// See the head of the file.
#[derive(Debug, Clone)]
pub(crate) struct SharedOwn {
    kept: KeptParts,
    /// The weights of each task's own vector.
    tables: SlotTables<f64>,
    /// Shared weight of each slot; that of slot 0 is 0 for ever.
    shared: Vec<f64>,
}

/// Inner products of one example with the two parts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Dots {
    pub(crate) shared: f64,
    pub(crate) own: f64,
}

impl Locate for SharedOwn {
    type Located = LocatedSlots;

    const SETTLED: usize = 1;

    fn ask(&self, task: TaskId, x: SparseView<'_>) {
        self.tables.ask(task, x);
    }

    fn locate(&self, task: TaskId, x: SparseView<'_>, located: &mut LocatedSlots) {
        self.tables.find_slots(x, located);
        if self.kept.shared && self.shared.len() > IN_CACHE_ANYWAY {
            located.slots.iter().for_each(|slot| prefetch(&self.shared, *slot as usize));
        }
        self.tables.begin_search(task, located);
    }

    fn settle(&self, _: TaskId, x: SparseView<'_>, located: &mut LocatedSlots) {
        self.tables.renew(x, located);
    }
}

impl SharedOwn {
    pub(crate) fn new(kept: KeptParts) -> Self {
        Self { kept, tables: SlotTables::new(), shared: vec![0.0] }
    }

    /// Inner products of a located example with the shared vector and the task's own.
    pub(crate) fn dots(&self, task: TaskId, x: SparseView<'_>, located: &mut LocatedSlots) -> Dots {
        debug_assert_eq!(located.slots.len(), x.len(), "the slots are those of this example");
        let mut dots = Dots::default();
        if self.kept.shared {
            dots.shared = dot_at(&self.shared, &located.slots, x.values());
        }
        if let Some(own) = self.tables.table(task).filter(|own| !own.values().is_empty()) {
            dots.own = dot_at(own.values(), located.finish(own), x.values());
        }
        dots
    }

    /// The same for an example that has not been located.
    pub(crate) fn dots_of(&self, task: TaskId, x: SparseView<'_>) -> Dots {
        let mut located = LocatedSlots::default();
        self.locate(task, x, &mut located);
        self.dots(task, x, &mut located)
    }

    /// Adds `step * x` to the parts kept; right after [`Self::dots`] of the same example.
    pub(crate) fn add(&mut self, task: TaskId, x: SparseView<'_>, step: f64, located: &mut LocatedSlots) {
        // A task that never learnt has no places yet. A feature that gets its slot now was found at the place of slot 0.
        let places = located.search.scratch(x.len());
        self.tables.number(x, &mut located.slots, |at| places[at] = NOWHERE);
        if self.kept.shared {
            self.shared.resize(self.tables.len(), 0.0);
            for (slot, value) in located.slots.iter().zip(x.values()) {
                self.shared[*slot as usize] += step * value;
            }
        }
        if self.kept.own {
            add_own(self.tables.table_mut(task), x.values(), step, located);
        }
    }

    /// The same for an example that has not been located.
    pub(crate) fn add_to(&mut self, task: TaskId, x: SparseView<'_>, step: f64) {
        let mut located = LocatedSlots::default();
        self.locate(task, x, &mut located);
        if let Some(own) = self.tables.table(task) {
            located.finish(own);
        }
        self.add(task, x, step, &mut located);
    }

    /// Shows the inner products of a batch's examples in order.
    pub(crate) fn dots_ahead(
        &self,
        batch: &Batch,
        task_of: &dyn Fn(TaskId) -> TaskId,
        mut see: impl FnMut(TaskId, Dots),
    ) {
        self.read_ahead(batch, task_of, |task, x, located| see(task, self.dots(task, x, located)));
    }

    /// The squares of a task's own weights.
    pub(crate) fn own_squares(&self, task: TaskId, scratch: &mut Vec<(u32, f64)>) -> Squares {
        self.tables.squares(task, scratch, |weight| weight)
    }

    /// The squares of the shared weights.
    pub(crate) fn shared_squares(&self) -> Squares {
        Squares::of(self.shared.iter().copied())
    }

    /// Non-zero weights `scales.own * own + scales.shared * shared` of a task, by feature.
    pub(crate) fn weights(&self, task: TaskId, scales: Dots) -> Vec<(u32, f64)> {
        if !self.kept.shared {
            let own = self.tables.entries(task);
            return self.tables.by_feature(own.map(|(slot, weight)| (slot, scales.own * weight)));
        }
        let own = self.tables.table(task);
        self.tables.by_feature((0..).zip(&self.shared).skip(1).map(|(slot, shared)| {
            let own = own.map_or(0.0, |own| own.get(slot));
            (slot, scales.own * own + scales.shared * shared)
        }))
    }

    /// Non-zero weights of the shared vector, by feature.
    pub(crate) fn shared_weights(&self) -> Vec<(u32, f64)> {
        self.tables.by_feature((0..).zip(self.shared.iter().copied()).skip(1))
    }

    /// Non-zero weights of a task's own vector, by feature, times a factor.
    pub(crate) fn own_weights(&self, task: TaskId, factor: f64) -> Vec<(u32, f64)> {
        self.tables.by_feature(self.tables.entries(task).map(|(slot, weight)| (slot, factor * weight)))
    }

    /// Bytes held.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.tables.heap_bytes() + self.shared.capacity() * size_of::<f64>()
    }

    /// The saved form.
    pub(crate) fn state(&self) -> SlotTablesState {
        let shared = if self.kept.shared { self.shared[1..].to_vec() } else { Vec::new() };
        self.tables.state(shared, |_, weight| [weight])
    }

    /// Takes a saved form, checking everything that later code trusts.
    pub(crate) fn restore(kept: KeptParts, tasks: usize, state: SlotTablesState) -> Result<Self, StateError> {
        let (tables, saved) =
            SlotTables::restore(if kept.own { tasks } else { 0 }, state, |[weight]| weight)?;
        if saved.len() != if kept.shared { tables.len() - 1 } else { 0 } {
            return Err(StateError::new("the shared vector does not have one weight per feature"));
        }
        let mut shared = vec![0.0];
        shared.extend(saved);
        Ok(Self { kept, tables, shared })
    }
}

/// Adds `step * values` to a task's own weights.
pub(crate) fn add_own(own: &mut IndexMap<f64>, values: &[f64], step: f64, located: &mut LocatedSlots) {
    // Known places first: a new weight may move the others.
    let places = located.search.scratch(values.len());
    own.change_at(places, |at, weight| *weight += step * values[at]);
    // The rest at the front of the places, chosen without a branch.
    let mut missing = 0;
    for at in 0..values.len() {
        let absent = places[at] == NOWHERE;
        places[missing] = at as u32;
        missing += usize::from(absent);
    }
    let missing = &places[..missing];
    located.fresh.clear();
    located.fresh.extend(missing.iter().map(|at| located.slots[*at as usize]));
    own.reserve(&located.fresh);
    for at in missing {
        *own.new_entry(located.slots[*at as usize]) += step * values[*at as usize];
    }
}
