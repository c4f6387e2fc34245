//! Tasks that share: `coupled`, with a given b or one that the data decide on.
//!
//! State: three members side by side, which see the same examples and keep weights of their own: `alone` has one vector per task,
//! `pooled` one for all, and `coupled` both, whose sum predicts. They share what is known about features: s of each, and two
//! precisions, one of all tasks and one per task ([`SharedRow`], [`OwnRow`]). With a given b there is only `coupled`.
//!
//! Predict: a'z of the four parts ([`PerPart`]), a from `mixer`, the shared parts times the side of the task (`trust`). With a given
//! b: the sum of the two parts of `coupled`.
//!
//! Update, in the order of [`State::update`]:
//!
//! ```text
//! weigh   the mixture, the trust and the side of the task learn from z; h = q (1 - q) at the margin that was predicted
//! gate    nothing more where every member has y margin > 1.5, or mostly where there is little doubt about the label (`doubt`)
//! rates   of each part: v = 1 / (m s^2 / (p r) + c), c the precision of its kind, own or shared (`step`, `lanes`)
//! step    each member by its own margin: t = -l'(y z + V t); V of a shared part times the squared side
//! apply   own parts += y t v x; shared parts += side y t v x; both precisions += h x^2
//! ```
//!
//! One h for all members, so that one precision serves them.
#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]

mod export;
mod gate;
mod real;
mod regroup;
mod variance;

use serde::{Deserialize, Serialize};

use super::again::{Memory, MemoryState, Showing};
use super::averages::{Averages, AveragesState, less};
use super::config::{GroupCount, MOST_GROUPS, Prior, Settings};
use super::doubt::{Doubts, Lesson};
use super::groups::{Asked, Groups, GroupsState, Move, Patience, SIDE_BY_SIDE};
use super::lanes::Lanes;
use super::members::{MembersStep, OWN, PerMember, SHARED, Table, add_parts};
use super::mixer::{ALONE, COUPLED_OWN, COUPLED_SHARED, Mixer, MixerState, PARTS, POOLED, PerPart, weighted};
use super::real::Target;
use super::rows::{OwnRow, SharedRow};
use super::rule::{Clock, Implicit, Loss, Sizes};
use super::step::{Start, take_step};
use super::tempering::{Measure, Tempered, is_far, may_count_otherwise};
use super::units::{Units, UnitsState};
use crate::block::Block;
use crate::error::StateError;
use crate::example::{Example, SparseView, TaskId};
use crate::fingerprint::fingerprint;
use crate::interaction::{Scales, Uniform};
use crate::learner::Outcome;
use crate::linalg::check_finite;
use crate::linalg::wide::{Simd, WithSimd, wide_work};
use crate::stream::Batch;
use crate::table::prefetch::prefetch;
use crate::table::{AHEAD, Locate};
use crate::weights::SlotTablesState;
use crate::weights::side_by_side::Found;
use regroup::Outlook;

/// Share of the prior variance of `coupled` that all tasks have in common, where b is not given: as b = K.
const COMMON: f64 = 0.5;

#[derive(Debug, Clone)]
pub(super) struct Together {
    weights: Table,
    state: State,
    /// Scratch, not state.
    found: [Found; AHEAD],
}

/// All but the weights.
#[derive(Debug, Clone)]
struct State {
    settings: Settings,
    /// R, where it is given.
    given: Option<Uniform>,
    mixer: Mixer,
    sizes: Sizes,
    clock: Clock,
    /// Rows of the feature that is always 1: a [`SharedRow`] per group, an [`OwnRow`] per task.
    shared_intercepts: Vec<[f64; SHARED]>,
    own_intercepts: Vec<[f64; OWN]>,
    averages: Option<Box<Averages>>,
    doubts: Doubts,
    /// Where there is a mixture, which must not be judged by examples that were learnt.
    memory: Option<Box<Memory>>,
    groups: Option<Box<Groups>>,
    /// Where the number of groups is found.
    outlook: Option<Outlook>,
    /// Where labels are real.
    units: Option<Box<Units>>,
    /// Scratch, not state.
    lanes: Lanes,
}

/// What is made of an example before it teaches.
struct Seen {
    /// z: margins of the parts as they predict, the shared ones on the side of the task.
    parts: PerPart,
    /// The same of the weights as they are: other ones where their mean predicts.
    present: PerPart,
    /// The task's side as it was then.
    side: f64,
    /// What the pooled member says whatever the side.
    pooled: f64,
    /// a'z, or what that stands for where labels are real.
    margin: f64,
    /// The example as it counts, where it was scaled.
    tempered: Option<Tempered>,
}

impl Seen {
    /// Margins of the members, of the weights as they are.
    #[inline(always)]
    fn members(&self, offset: f64) -> PerMember {
        let coupled = self.present[COUPLED_OWN] + self.present[COUPLED_SHARED];
        [self.present[ALONE] + offset, coupled + offset, self.present[POOLED] + offset, 0.0]
    }
}

/// What an example teaches the members.
struct Taught {
    /// Their margins, of the weights as they are.
    members: PerMember,
    /// The task's side.
    side: f64,
    /// h at the margin that was predicted, where there is a mixture.
    curvature: f64,
    /// Whether the task gets own weights for features that it has none for.
    new_too: bool,
    /// Where labels are real, what is learnt, and the unit that own weights are not in.
    target: Option<Target>,
    own_scale: f64,
}

/// The row that the feature which is always 1 begins with: its size is known.
const NEW_INTERCEPT: [f64; SHARED] = [0.0, 0.0, 0.0, 1.0];

impl State {
    /// Asks for what is known about an example of a task, by its fingerprint; by what it is known again.
    #[inline(always)]
    fn ask(&self, task: TaskId, fingerprint: impl FnOnce() -> u64) -> u64 {
        self.mixer.prefetch(task);
        prefetch(&self.own_intercepts, task.index());
        let Some(memory) = &self.memory else { return 0 };
        let known_by = Memory::known_by(fingerprint());
        memory.prefetch(known_by);
        known_by
    }

    /// What is made of an example whose rows have been found.
    #[inline(always)]
    fn see(&self, weights: &Table, task: TaskId, x: SparseView<'_>, found: &Found) -> Seen {
        let (mut parts, mut far, rows) = ([0.0; PARTS], false, weights.rows(found));
        for ((slot, row), value) in found.places().zip(x.values()) {
            let shared = rows.shared(slot);
            add_parts(&mut parts, shared, &rows.own(row), *value);
            far |= is_far(*value, SharedRow::of(*shared).size);
        }
        let tempered = if far { self.temper(weights, x, found, &mut parts) } else { None };
        let x = Tempered::of(tempered.as_ref(), x);
        if self.settings.intercept {
            let own = self.own_intercepts.get(task.index()).copied().unwrap_or_default();
            add_parts(&mut parts, &self.shared_intercepts[weights.group(task)], &own, 1.0);
        }
        let mut present = parts;
        if let Some(averages) = &self.averages {
            let beyond = averages.beyond(task, x, self.settings.intercept);
            parts.iter_mut().zip(beyond).for_each(|(part, beyond)| *part -= beyond);
        }
        let (side, pooled) = (self.side(task), parts[POOLED]);
        for parts in [&mut parts, &mut present] {
            parts[POOLED] *= side;
            parts[COUPLED_SHARED] *= side;
        }
        let unit = self.units.as_ref().map(|units| units.of(task));
        if let Some(unit) = &unit {
            for parts in [&mut parts, &mut present] {
                parts[ALONE] *= unit.inverse();
                parts[COUPLED_OWN] *= unit.inverse();
            }
            // A part that is far beyond all labels says nothing more than one that is just beyond them.
            parts.iter_mut().for_each(|part| *part = unit.within(*part));
        }
        let mixed = weighted(&self.mixture(task), &parts);
        let margin = unit.map_or(mixed, |unit| unit.value(mixed));
        Seen { parts, present, side, pooled, margin, tempered }
    }

    /// Scales an example if it is in other units, and finds its parts anew.
    #[cold]
    #[inline(never)]
    fn temper(
        &self,
        weights: &Table,
        x: SparseView<'_>,
        found: &Found,
        parts: &mut PerPart,
    ) -> Option<Tempered> {
        let rows = weights.rows(found);
        let sizes = found.places().map(|(slot, _)| SharedRow::of(*rows.shared(slot)).size);
        if !may_count_otherwise(x.values().iter().copied().zip(sizes)) {
            return None;
        }
        let seen = self.clock.factor(self.settings.forget);
        let measure = |shared: &[f64; SHARED]| {
            let SharedRow { size, precision, .. } = SharedRow::of(*shared);
            Measure { size, precision: seen * precision }
        };
        let measures: Vec<Measure> = weights.held(found).map(|(_, shared, _)| measure(shared)).collect();
        let tempered = Tempered::new(x, &measures, &self.sizes, self.settings.intercept)?;
        *parts = [0.0; PARTS];
        let scaled = Tempered::of(Some(&tempered), x);
        weights.for_each(scaled, found, |shared, own, value| add_parts(parts, shared, own, value));
        Some(tempered)
    }

    /// What the shared weights are multiplied by for a task.
    #[inline]
    fn side(&self, task: TaskId) -> f64 {
        if self.given.is_some() { 1.0 } else { self.mixer.side(task) }
    }

    /// a: what the parts count for in the margin of a task.
    #[inline]
    fn mixture(&self, task: TaskId) -> PerPart {
        if self.given.is_some() { [0.0, 1.0, 0.0, 1.0] } else { self.mixer.weights(task) }
    }

    /// 1 / p of each part; where b is given, R's share on the diagonal belongs to the task and the rest to all.
    fn inverse_priors(&self, tasks: usize) -> PerPart {
        let Prior { wide, narrow } = self.settings.prior;
        let (total, common) = match self.given {
            None => (narrow, COMMON),
            Some(rule) => {
                let Scales { own, shared } = rule.scales(tasks);
                (wide, shared / (own + shared))
            }
        };
        [wide, total * (1.0 - common), wide, total * common].map(f64::recip)
    }

    /// Every member learns, on an example whose rows have been found; see the head of the file. Opinions about groups take their
    /// steps at the same time.
    #[inline(always)]
    fn update(
        &mut self,
        weights: &mut Table,
        tasks: usize,
        example: Example<'_>,
        seen: &Seen,
        found: &mut Found,
        asked: Option<&Asked>,
    ) -> Option<Implicit<SIDE_BY_SIDE>> {
        let (curvature, taken) = self.weigh(example, seen, asked);
        if let Some(factor) = self.clock.tick(self.settings.forget, example.time) {
            self.write_down(weights, factor);
        }
        let members = seen.members(example.offset);
        let new_too = match self.gate(example, seen.margin, &members) {
            Lesson::Nothing => return taken,
            Lesson::Known => false,
            Lesson::All => true,
        };
        let side = seen.side;
        let taught = Taught { members, side, curvature, new_too, target: None, own_scale: 1.0 };
        self.step(weights, tasks, example, &taught, found);
        taken
    }

    /// The mixture learns from the margins of the parts; h at the margin that was predicted, where there is a mixture, and the steps
    /// of opinions about groups.
    #[inline(always)]
    fn weigh(
        &mut self,
        example: Example<'_>,
        seen: &Seen,
        asked: Option<&Asked>,
    ) -> (f64, Option<Implicit<SIDE_BY_SIDE>>) {
        let Seen { parts, pooled, margin, .. } = seen;
        if self.given.is_some() {
            return (0.0, asked.map(Asked::take));
        }
        self.mixer.learn(example, parts, *pooled, *margin, asked)
    }

    /// The members step, each by its own margin.
    #[inline(always)]
    fn step(
        &mut self,
        weights: &mut Table,
        tasks: usize,
        Example { task, features, label, weight, .. }: Example<'_>,
        &Taught { members, side, curvature, new_too, target, own_scale }: &Taught,
        found: &mut Found,
    ) {
        let Settings { loss, forget, intercept, .. } = self.settings;
        let (mixture, [_, coupled, ..]) = (self.given.is_none(), members);
        if new_too {
            weights.make_rows(task, features, found);
        } else {
            weights.make_slots(features, found);
        }
        if intercept && self.own_intercepts.len() <= task.index() {
            self.own_intercepts.resize(task.index() + 1, [0.0; OWN]);
        }
        let start = Start {
            loss,
            label,
            weight,
            target,
            margins: members,
            // A member that is the only one has the curvature where it is itself.
            curvature: match loss {
                Loss::Logistic if mixture => curvature,
                _ => loss.curvature(coupled),
            },
            seen: self.clock.factor(forget),
        };
        let (inverse_priors, group) = (self.inverse_priors(tasks), weights.group(task));
        let mut step = MembersStep {
            weights,
            found,
            lanes: &mut self.lanes,
            averages: self.averages.as_deref_mut(),
            task,
            features,
            intercepts: intercept
                .then(|| (&mut self.shared_intercepts[group], &mut self.own_intercepts[task.index()])),
            inverse_priors,
            side,
            own_scale,
            new_too,
            mixture,
            rates_of_intercept: [0.0; PARTS],
        };
        take_step(&mut step, &mut self.sizes, start);
    }

    /// What a task makes of what the groups say to an example with a label of two kinds.
    #[inline(always)]
    fn ask_groups(
        &mut self,
        weights: &Table,
        Example { task, features, weight, .. }: Example<'_>,
        label: f64,
        found: &Found,
    ) -> Option<Asked> {
        let groups = self.groups.as_mut()?;
        let said = groups.said();
        weights.sum_of_groups(features, found, said);
        if self.settings.intercept {
            for (said, row) in said.iter_mut().zip(&self.shared_intercepts) {
                *said += SharedRow::of(*row).pooled;
            }
        }
        Some(groups.ask(task, (label, weight)))
    }

    /// A task learns what to make of the groups, by steps that were taken, and goes to another one if that is better.
    #[inline(always)]
    fn sort(&mut self, weights: &mut Table, task: TaskId, asked: Option<(Asked, Implicit<SIDE_BY_SIDE>)>) {
        let (Some(groups), Some((asked, taken))) = (&mut self.groups, asked) else { return };
        if let Some(Move { group, lean }) = groups.learn(task, &asked, &taken, weights.group(task)) {
            weights.set_group(task, group);
            self.mixer.turn(task, lean);
        }
    }

    /// Writes all precisions down as they are seen through a factor.
    fn write_down(&mut self, weights: &mut Table, factor: f64) {
        let shared = |row: &mut [f64; SHARED]| *SharedRow::of(row.each_mut()).precision *= factor;
        let own = |row: &mut [f64; OWN]| *OwnRow::of(row.each_mut()).precision *= factor;
        weights.change_all(shared, own);
        self.shared_intercepts.iter_mut().for_each(shared);
        self.own_intercepts.iter_mut().for_each(own);
    }

    /// Learns an example whose rows have been found, which is known again by this, and of which this margin was predicted; none is
    /// the present one. Labels are of two kinds: see [`State::learn_real`] for others.
    #[inline(always)]
    fn learn(
        &mut self,
        weights: &mut Table,
        tasks: usize,
        example: Example<'_>,
        (fingerprint, predicted): (u64, Option<f64>),
        found: &mut Found,
    ) -> Outcome {
        let mut seen = self.see(weights, example.task, example.features, found);
        // Seen no times, it teaches nothing.
        if example.weight <= 0.0 {
            return Outcome { margin: predicted.unwrap_or(seen.margin + example.offset), updated: false };
        }
        seen.margin = predicted.unwrap_or(seen.margin + example.offset);
        let memory = self.memory.as_mut();
        let showing =
            memory.map_or(Showing::New, |memory| memory.meet(fingerprint, example.label, seen.margin));
        let features = Tempered::of(seen.tempered.as_ref(), example.features);
        let example = Example { features, ..example };
        match showing {
            Showing::New => {
                let asked = self.ask_groups(weights, example, example.label, found);
                let taken = self.update(weights, tasks, example, &seen, found, asked.as_ref());
                self.sort(weights, example.task, asked.zip(taken));
            }
            Showing::Again(worth) => {
                let example = Example { weight: worth * example.weight, ..example };
                self.update_again(weights, tasks, example, &seen, found);
            }
        }
        self.sizes.note(Tempered::length(seen.tempered.as_ref()));
        if let Some(averages) = &mut self.averages {
            averages.count(example.task);
        }
        self.look_out(weights);
        Outcome { margin: seen.margin, updated: true }
    }
}

/// Learning a batch, which is done with the widest vectors that there are.
struct LearnBatch<'a> {
    together: &'a mut Together,
    tasks: &'a mut usize,
    batch: &'a Batch,
    outcomes: &'a mut Vec<Outcome>,
}

impl WithSimd for LearnBatch<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { together: Together { weights, state, found }, tasks, batch, outcomes } = self;
        let ask = |state: &State, at: usize| {
            let known = (at < batch.len()).then(|| state.ask(batch.task(at), || batch.fingerprint(at)));
            known.unwrap_or_default()
        };
        let mut fingerprints: [u64; AHEAD] = std::array::from_fn(|at| ask(state, at));
        weights.begin_ahead(batch, found);
        // The steps are inlined here, where vectors are wide; a closure would not be.
        for (at, example) in batch.examples().enumerate() {
            let found = weights.next_ahead(batch, at, found);
            let fingerprint = fingerprints[at % AHEAD];
            fingerprints[at % AHEAD] = ask(state, at + AHEAD);
            *tasks = (*tasks).max(example.task.index() + 1);
            outcomes.push(if state.units.is_some() {
                state.learn_real(weights, *tasks, example, None, found)
            } else {
                state.learn(weights, *tasks, example, (fingerprint, None), found)
            });
        }
    }
}

impl Together {
    pub(super) fn new(settings: Settings, given: Option<Uniform>) -> Self {
        let (groups, outlook) = match settings.groups {
            GroupCount::Auto => (1, Some(Outlook::default())),
            GroupCount::Fixed(groups) => (groups, None),
        };
        Self {
            weights: Table::with_groups(groups),
            state: State {
                settings,
                given,
                mixer: Mixer::new(settings.forget),
                sizes: Sizes::default(),
                clock: Clock::default(),
                shared_intercepts: vec![NEW_INTERCEPT; groups],
                own_intercepts: Vec::new(),
                averages: settings.average.then(|| Box::new(Averages::new())),
                doubts: Doubts::default(),
                memory: Self::remembers(&settings, given).then(|| Box::new(Memory::new())),
                groups: (groups > 1).then(|| Box::new(Groups::new(groups, Patience::DRAWN))),
                outlook,
                units: Units::of_loss(&settings, true).map(Box::new),
                lanes: Lanes::default(),
            },
            found: Default::default(),
        }
    }

    /// Whether examples seen again are known: what is forgotten may be
    /// learnt again, and of real labels nobody expects how often they differ.
    fn remembers(settings: &Settings, given: Option<Uniform>) -> bool {
        given.is_none() && settings.forget.is_none() && settings.loss.real().is_none()
    }

    pub(super) fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        let mut found = Found::default();
        self.weights.find(task, x, &mut found);
        self.state.see(&self.weights, task, x, &found).margin
    }

    pub(super) fn margins(
        &self,
        examples: &Batch,
        task_of: &dyn Fn(TaskId) -> TaskId,
        margins: &mut Vec<f64>,
    ) {
        self.weights.read_ahead(examples, task_of, |task, x, found| {
            margins.push(self.state.see(&self.weights, task, x, found).margin);
        });
    }

    /// Learns an example of which this margin was predicted; none is the present one.
    pub(super) fn learn(&mut self, tasks: usize, example: Example<'_>, predicted: Option<f64>) -> Outcome {
        let found = &mut self.found[0];
        self.weights.find(example.task, example.features, found);
        if self.state.units.is_some() {
            self.state.learn_real(&mut self.weights, tasks, example, predicted, found)
        } else {
            let fingerprint = self.state.ask(example.task, || fingerprint(example));
            self.state.learn(&mut self.weights, tasks, example, (fingerprint, predicted), found)
        }
    }

    pub(super) fn learn_batch(&mut self, tasks: &mut usize, batch: &Batch, outcomes: &mut Vec<Outcome>) {
        wide_work(LearnBatch { together: self, tasks, batch, outcomes });
    }

    /// Whether the strength of sharing is found rather than given.
    pub(super) fn is_mixture(&self) -> bool {
        self.state.given.is_none()
    }

    pub(super) fn has_groups(&self) -> bool {
        self.state.groups.is_some()
    }

    /// How much of a prediction comes from the task itself, and how much from what all share.
    pub(super) fn scales(&self, tasks: usize) -> Scales {
        if let Some(rule) = self.state.given {
            return rule.scales(tasks);
        }
        let worth = self.state.mixer.last_weights().map(f64::abs);
        let own = worth[ALONE] + worth[COUPLED_OWN];
        let shared = worth[POOLED] + worth[COUPLED_SHARED];
        let sum = (own + shared).max(f64::MIN_POSITIVE);
        Scales { own: own / sum, shared: shared / sum }
    }

    /// 1 for tasks that are surely on the same side, -1 for tasks on different ones, 0 for tasks of different groups.
    pub(super) fn sides(&self, one: TaskId, other: TaskId) -> f64 {
        let together = self.weights.group(one) == self.weights.group(other);
        if together { self.state.side(one) * self.state.side(other) } else { 0.0 }
    }

    /// Weights of the margin, which is linear unless the example is scaled; the intercept is that of the feature that streams call bias.
    pub(super) fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        let (mut mixture, side) = (self.state.mixture(task), self.state.side(task));
        mixture[POOLED] *= side;
        mixture[COUPLED_SHARED] *= side;
        let unit = self.state.units.as_ref().map(|units| units.of(task));
        if let Some(unit) = &unit {
            mixture[POOLED] *= unit.scale;
            mixture[COUPLED_SHARED] *= unit.scale;
        }
        let weight = |shared: &[f64; SHARED], own: &[f64; OWN]| {
            let mut parts = [0.0; PARTS];
            add_parts(&mut parts, shared, own, 1.0);
            weighted(&mixture, &parts)
        };
        let mut weights = self.weights.weights(task, weight);
        let own = self.state.own_intercepts.get(task.index()).copied().unwrap_or_default();
        let mut intercept = weight(&self.state.shared_intercepts[self.weights.group(task)], &own);
        if let Some(averages) = &self.state.averages {
            let (beyond, beyond_intercept) = averages.weights_beyond(task, &mixture);
            weights = less(weights, beyond);
            intercept -= beyond_intercept;
        }
        intercept += unit.map_or(0.0, |unit| unit.value(0.0));
        super::add_intercept(&mut weights, intercept);
        weights
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.weights.heap_bytes()
            + self.state.mixer.heap_bytes()
            + self.state.memory.as_ref().map_or(0, |memory| memory.heap_bytes())
            + self.state.groups.as_ref().map_or(0, |groups| groups.heap_bytes())
            + self.state.units.as_ref().map_or(0, |units| units.heap_bytes())
            + self.state.own_intercepts.capacity() * size_of::<[f64; OWN]>()
            + self.state.averages.as_ref().map_or(0, |averages| averages.heap_bytes())
    }

    pub(super) fn state(&self) -> TogetherState {
        let State {
            mixer,
            sizes,
            clock,
            shared_intercepts,
            own_intercepts,
            averages,
            doubts,
            memory,
            groups,
            outlook,
            units,
            ..
        } = &self.state;
        TogetherState {
            weights: self.weights.state(|_, row| *row),
            mixer: mixer.state(),
            sizes: *sizes,
            clock: *clock,
            // Without the size, which is 1.
            shared_intercept: Block(
                shared_intercepts.iter().flat_map(|row| row[..SHARED - 1].to_vec()).collect(),
            ),
            own_intercepts: Block(own_intercepts.concat()),
            averages: averages.as_ref().map(|averages| averages.state()),
            doubts: *doubts,
            memory: memory.as_ref().and_then(|memory| memory.state()),
            groups: groups.as_ref().map(|groups| groups.state(|task| self.weights.group(task))),
            outlook: *outlook,
            units: units.as_ref().map(|units| units.state()),
        }
    }

    pub(super) fn restore(&mut self, tasks: usize, state: TogetherState) -> Result<(), StateError> {
        let groups = match self.state.settings.groups {
            GroupCount::Fixed(groups) => groups,
            GroupCount::Auto => (state.shared_intercept.0.len() / (SHARED - 1)).max(1),
        };
        if groups > MOST_GROUPS {
            return Err(StateError::new("there are more groups than any stream has"));
        }
        if self.state.outlook.is_some() {
            self.state.groups = (groups > 1).then(|| Box::new(Groups::new(groups, Patience::FOUND)));
            self.state.outlook = Some(state.outlook.unwrap_or_default());
        }
        self.weights = Table::restore_groups(groups, tasks, state.weights, |row: [f64; OWN]| row)?;
        match (&mut self.state.groups, state.groups) {
            (None, None) => {}
            (Some(groups), Some(saved)) => {
                let group_of = groups.restore(tasks, saved)?;
                (0..)
                    .zip(group_of)
                    .for_each(|(task, group)| self.weights.set_group(TaskId(task), group as usize));
            }
            _ => return Err(StateError::new("the groups are not those of the config")),
        }
        self.state.mixer.restore(tasks, state.mixer)?;
        check_finite(&state.shared_intercept.0)?;
        check_finite(&state.own_intercepts.0)?;
        let (own, rest) = state.own_intercepts.0.as_chunks();
        let (shared, more) = state.shared_intercept.0.as_chunks::<{ SHARED - 1 }>();
        if shared.len() != groups || own.len() > tasks || !rest.is_empty() || !more.is_empty() {
            return Err(StateError::new("the intercepts do not fit the tasks"));
        }
        let outlook = self.state.outlook.is_none_or(|outlook| outlook.is_sound());
        if !(state.sizes.is_sound() && state.doubts.is_sound() && state.clock.is_sound() && outlook) {
            return Err(StateError::new("what is known about sizes and doubts is not sound"));
        }
        let with_size =
            |[pooled, coupled, precision]: &[f64; SHARED - 1]| [*pooled, *coupled, *precision, 1.0];
        self.state.shared_intercepts = shared.iter().map(with_size).collect();
        self.state.own_intercepts = own.to_vec();
        (self.state.sizes, self.state.clock, self.state.doubts) = (state.sizes, state.clock, state.doubts);
        super::averages::restore(self.state.averages.as_deref_mut(), tasks, state.averages)?;
        self.state.memory = match (self.state.memory.take(), state.memory) {
            (None, Some(_)) => return Err(StateError::new("examples are remembered that should not be")),
            // Older models did not know what they had seen.
            (memory, None) => memory,
            (Some(_), Some(saved)) => Some(Box::new(Memory::restore(saved)?)),
        };
        super::units::restore(self.state.units.as_deref_mut(), tasks, state.units)?;
        self.state.sizes.recall(self.weights.shared().map(|row| SharedRow::of(*row).size));
        Ok(())
    }
}

/// Saved form of [`Together`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TogetherState {
    weights: SlotTablesState,
    mixer: MixerState,
    sizes: Sizes,
    clock: Clock,
    shared_intercept: Block<f64>,
    own_intercepts: Block<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    averages: Option<AveragesState>,
    /// Older models left nothing out.
    #[serde(default)]
    doubts: Doubts,
    /// Fingerprints are of the numbers of tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    memory: Option<MemoryState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    groups: Option<GroupsState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outlook: Option<Outlook>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    units: Option<UnitsState>,
}

impl TogetherState {
    /// Takes out a task; those after it come one number earlier.
    pub(super) fn remove_task(&mut self, task: usize) {
        let groups = self.shared_intercept.0.len() / (SHARED - 1);
        self.weights.remove_task(task);
        self.mixer.remove_task(task);
        self.memory = None;
        self.own_intercepts.remove_row(task, OWN);
        self.averages.iter_mut().for_each(|averages| averages.remove_task(task));
        self.groups.iter_mut().for_each(|known| known.remove_task(task, groups));
        self.units.iter_mut().for_each(|units| units.remove_task(task));
    }
}
