//! Tasks that share: `coupled`, with a given b or one that the data decide on.
//!
//! State: three members side by side, which see the same examples and keep weights of their own: one vector a task
//! (`alone`), one for all (`pooled`), and one of both whose sum predicts (`coupled`). They share what is known about
//! features: s of each, and a precision a feature for all tasks and one a task. With a given b there is only the third.
//!
//! Predict: a'z of the four parts (own of `alone`, own of `coupled`, `pooled`, shared of `coupled`), a from `mixer`, the shared
//! ones times the side of the task (`trust`). With a given b: the sum of the parts of `coupled`.
//! Update: every member takes the implicit step of `rule` by its own margin; precisions grow by the curvature at the
//! margin that was predicted, so that one number serves all members.
#![expect(clippy::inline_always, reason = "only what is inlined is compiled for wide vectors")]

use serde::{Deserialize, Serialize};

use super::averages::{Averages, AveragesState, less};
use super::doubt::{Doubts, Lesson};
use super::groups::{Groups, GroupsState, Move};
use super::mixer::{Each, Mixer, MixerState, PARTS, weighted};
use super::rule::{Clock, Loss, Sizes, gain, other, unit_of_intercept};
use super::steps::{Feature, Scale, Steps};
use super::{Prior, Settings};
use crate::block::Block;
use crate::error::StateError;
use crate::example::{Example, SparseView, TaskId};
use crate::interaction::{Scales, Uniform};
use crate::learner::Outcome;
use crate::linalg::check_finite;
use crate::linalg::wide::{Simd, WithSimd, wide_work};
use crate::stream::Batch;
use crate::table::prefetch::prefetch;
use crate::table::{AHEAD, Locate};
use crate::weights::side_by_side::Found;
use crate::weights::{SideBySide, SlotTablesState};

/// Share of the coupled member's prior variance that all tasks have in common, where b is not given: as b = K.
const COMMON: f64 = 0.5;

/// `alone`, own of `coupled`, precision.
type OwnRow = [f64; 3];
/// Shared are `pooled`, that of `coupled`, precision and s.
type Table = SideBySide<4, 3>;

#[derive(Debug, Clone)]
pub(super) struct Together {
    weights: Table,
    mind: Mind,
    /// Scratch, not state.
    found: [Found; AHEAD],
}

/// All but the weights.
#[derive(Debug, Clone)]
struct Mind {
    settings: Settings,
    /// R, where it is given.
    given: Option<Uniform>,
    mixer: Mixer,
    sizes: Sizes,
    clock: Clock,
    /// Weights of the feature that is always 1, of every group and every task.
    shared_intercepts: Vec<OwnRow>,
    own_intercepts: Vec<OwnRow>,
    averages: Option<Box<Averages>>,
    doubts: Doubts,
    groups: Option<Box<Groups>>,
    /// Scratch, not state.
    steps: Steps,
}

/// What is made of an example before it teaches.
struct Seen {
    /// Margins of the parts as they predict, the shared ones on the side of the task.
    parts: Each,
    /// The same of the weights as they are: other ones where their mean predicts.
    present: Each,
    /// The task's side as it was then.
    side: f64,
    /// What the pooled member says whatever the side.
    pooled: f64,
    margin: f64,
}

/// Margins of the parts from what is held for each feature.
#[inline]
fn add_parts(parts: &mut Each, shared: &[f64], own: &OwnRow, value: f64) {
    parts[0] += own[0] * value;
    parts[1] += own[1] * value;
    parts[2] += shared[0] * value;
    parts[3] += shared[1] * value;
}

/// Moves own weights by so much a rate, and their precision by `precision`.
#[inline(always)]
fn apply_own(own: &mut OwnRow, steps: &Each, rates: &Each, precision: f64) {
    own[0] += steps[0] * rates[0];
    own[1] += steps[1] * rates[1];
    own[2] += precision;
}

/// The same of what is shared.
#[inline(always)]
fn apply_shared(shared: &mut [f64], steps: &Each, rates: &Each, precision: f64) {
    shared[0] += steps[2] * rates[2];
    shared[1] += steps[3] * rates[3];
    shared[2] += precision;
}

impl Mind {
    /// Asks for what is known about a task.
    #[inline]
    fn prefetch(&self, task: TaskId) {
        self.mixer.prefetch(task);
        prefetch(&self.own_intercepts, task.index());
    }

    /// What is made of an example whose rows have been found.
    #[inline(always)]
    fn see(&self, weights: &Table, task: TaskId, x: SparseView<'_>, found: &Found) -> Seen {
        let mut parts = [0.0; PARTS];
        weights.for_each(x, found, |shared, own, value| add_parts(&mut parts, shared, own, value));
        if self.settings.intercept {
            let own = self.own_intercepts.get(task.index()).copied().unwrap_or_default();
            add_parts(&mut parts, &self.shared_intercepts[weights.group(task)], &own, 1.0);
        }
        let mut present = parts;
        if let Some(averages) = &self.averages {
            let beyond = averages.beyond(task, x, self.settings.intercept);
            parts.iter_mut().zip(beyond).for_each(|(part, beyond)| *part -= beyond);
        }
        let (side, pooled) = (self.side(task), parts[2]);
        for parts in [&mut parts, &mut present] {
            parts[2] *= side;
            parts[3] *= side;
        }
        Seen { parts, present, side, pooled, margin: weighted(&self.mixture(task), &parts) }
    }

    /// What the shared weights are multiplied by for a task.
    #[inline]
    fn side(&self, task: TaskId) -> f64 {
        if self.given.is_some() { 1.0 } else { self.mixer.side(task) }
    }

    /// What the parts count for in the margin of a task.
    #[inline]
    fn mixture(&self, task: TaskId) -> Each {
        if self.given.is_some() { [0.0, 1.0, 0.0, 1.0] } else { self.mixer.weights(task) }
    }

    /// 1 over the prior variance of each part's margin; a part without one does not move.
    fn priors(&self, tasks: usize) -> Each {
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

    /// Every member learns, on an example whose rows have been found.
    #[inline(always)]
    fn update(
        &mut self,
        weights: &mut Table,
        tasks: usize,
        example: Example<'_>,
        Seen { parts, present, side, pooled, margin }: Seen,
        found: &mut Found,
    ) {
        let Example { task, features, label } = example;
        let Settings { loss, forget, intercept, .. } = self.settings;
        let group = weights.group(task);
        let curvature =
            if self.given.is_none() { self.mixer.learn(task, label, &parts, pooled, margin) } else { 0.0 };
        if let Some(factor) = self.clock.tick(forget) {
            self.write_down(weights, factor);
        }
        // What each member says, in the order of the parts.
        let coupled = present[1] + present[3];
        let members =
            if self.given.is_some() { [coupled; PARTS] } else { [present[0], coupled, present[2], coupled] };
        let enough = loss.sure(self.given.is_none());
        let sure = members.iter().all(|member| label * member > enough);
        let lesson =
            if self.given.is_some() { Lesson::All } else { self.doubts.weigh(other(label * margin)) };
        if sure || lesson == Lesson::Nothing || !features.norm_squared().is_finite() {
            return;
        }
        let own_too = lesson == Lesson::All;
        if own_too {
            weights.make_rows(task, features, found);
        } else {
            weights.make_slots(features, found);
        }
        let mut indices = features.indices().iter();
        self.steps.clear();
        weights.for_each_mut(features, found, |shared, own, value| {
            let (shrink, feature) = (self.sizes.grow(&mut shared[3], value), indices.next());
            if shrink < 1.0 {
                shared[..2].iter_mut().chain(&mut own[..2]).for_each(|weight| *weight *= shrink);
                if let (Some(averages), Some(feature)) = (&mut self.averages, feature) {
                    averages.shrink(task, *feature, shrink);
                }
            }
            self.steps.push(Feature { value, size: shared[3], shared: shared[2], own: own[2] });
        });
        let usual = self.sizes.usual();
        self.sizes.count(self.steps.normalised(usual) + if intercept { 1.0 } else { 0.0 });
        let scale = Scale {
            usual,
            mean: self.sizes.mean(),
            priors: self.priors(tasks),
            seen: self.clock.factor(forget),
        };
        let mut variances = self.steps.rates(&scale);
        let mut of_intercept = [0.0; PARTS];
        if intercept {
            if self.own_intercepts.len() <= task.index() {
                self.own_intercepts.resize(task.index() + 1, OwnRow::default());
            }
            let (shared, own) = (self.shared_intercepts[group][2], self.own_intercepts[task.index()][2]);
            of_intercept = scale.rates(unit_of_intercept(scale.mean), shared, own, 1.0);
            (0..PARTS).for_each(|at| variances[at] += of_intercept[at]);
        }
        // A weight that counts times the side has that much less to say about the margin.
        variances[2] *= side * side;
        variances[3] *= side * side;
        // A member that is alone has the curvature where it is itself.
        let precision = match loss {
            Loss::Logistic if self.given.is_none() => curvature,
            _ => loss.curvature(coupled),
        } / scale.seen;
        // What does not move has nothing to say about where the step ends.
        let own_variance = if own_too { variances[1] } else { 0.0 };
        let [alone, coupled, pooled, _] = loss.steps(
            [present[0], coupled, present[2], 0.0].map(|margin| label * margin),
            [variances[0], own_variance + variances[3], variances[2], 0.0],
        );
        let mut steps = if self.given.is_some() {
            [0.0, coupled, 0.0, coupled]
        } else {
            [alone, coupled, side * pooled, side * coupled]
        };
        if !own_too {
            steps[..2].fill(0.0);
        }
        let (steps, mut at) = (steps.map(|step| label * step), 0);
        weights.for_each_mut(features, found, |shared, own, value| {
            let (rates, precision) = (self.steps.of(at), gain(precision, value));
            apply_shared(shared, &steps, &rates, precision);
            // Rows that are missing then must stay zero.
            if own_too {
                apply_own(own, &steps, &rates, precision);
            }
            at += 1;
        });
        if intercept {
            apply_shared(&mut self.shared_intercepts[group], &steps, &of_intercept, precision);
            if own_too {
                apply_own(&mut self.own_intercepts[task.index()], &steps, &of_intercept, precision);
            }
        }
        if let Some(averages) = &mut self.averages {
            let rates = |at: usize| if at < features.len() { self.steps.of(at) } else { of_intercept };
            averages.add(task, features, intercept, |at| {
                let rates = rates(at);
                std::array::from_fn(|part| steps[part] * rates[part])
            });
        }
    }

    /// Weighs what the groups say to an example; where its task goes, if anywhere.
    #[inline]
    fn sort(
        &mut self,
        weights: &Table,
        Example { task, features, label }: Example<'_>,
        found: &Found,
    ) -> Option<Move> {
        let groups = self.groups.as_mut()?;
        let said = groups.said();
        let add = |(said, row): (&mut f64, &[f64; 4]), value: f64| *said += row[0] * value;
        weights.for_each_group(features, found, |rows, value| {
            said.iter_mut().zip(rows).for_each(|pair| add(pair, value));
        });
        if self.settings.intercept {
            said.iter_mut().zip(&self.shared_intercepts).for_each(|(said, shared)| *said += shared[0]);
        }
        groups.learn(task, label, weights.group(task))
    }

    /// Writes all precisions down as they are seen through a factor.
    fn write_down(&mut self, weights: &mut Table, factor: f64) {
        weights.change_all(|shared| shared[2] *= factor, |own| own[2] *= factor);
        self.shared_intercepts.iter_mut().for_each(|shared| shared[2] *= factor);
        self.own_intercepts.iter_mut().for_each(|own| own[2] *= factor);
    }

    #[inline(always)]
    fn learn(
        &mut self,
        weights: &mut Table,
        tasks: usize,
        example: Example<'_>,
        found: &mut Found,
    ) -> Outcome {
        let seen = self.see(weights, example.task, example.features, found);
        let margin = seen.margin;
        let goes = self.sort(weights, example, found);
        self.update(weights, tasks, example, seen, found);
        if let Some(Move { group, lean }) = goes {
            weights.set_group(example.task, group);
            self.mixer.turn(example.task, lean);
        }
        if let Some(averages) = &mut self.averages {
            averages.count(example.task);
        }
        Outcome { margin, updated: true }
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
        let Self { together: Together { weights, mind, found }, tasks, batch, outcomes } = self;
        let mut ahead = batch.examples().skip(AHEAD);
        weights.learn_ahead(batch, found, |weights, example, found| {
            ahead.next().into_iter().for_each(|example| mind.prefetch(example.task));
            *tasks = (*tasks).max(example.task.index() + 1);
            outcomes.push(mind.learn(weights, *tasks, example, found));
        });
    }
}

impl Together {
    pub(super) fn new(settings: Settings, given: Option<Uniform>) -> Self {
        let groups = settings.groups;
        Self {
            weights: Table::with_groups(groups),
            mind: Mind {
                settings,
                given,
                mixer: Mixer::new(settings.forget),
                sizes: Sizes::default(),
                clock: Clock::default(),
                shared_intercepts: vec![OwnRow::default(); groups],
                own_intercepts: Vec::new(),
                averages: settings.average.then(|| Box::new(Averages::new())),
                doubts: Doubts::default(),
                groups: (groups > 1).then(|| Box::new(Groups::new(groups))),
                steps: Steps::default(),
            },
            found: Default::default(),
        }
    }

    pub(super) fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        let mut found = Found::default();
        self.weights.find(task, x, &mut found);
        self.mind.see(&self.weights, task, x, &found).margin
    }

    pub(super) fn margins(
        &self,
        examples: &Batch,
        task_of: &dyn Fn(TaskId) -> TaskId,
        margins: &mut Vec<f64>,
    ) {
        self.weights.read_ahead(examples, task_of, |task, x, found| {
            margins.push(self.mind.see(&self.weights, task, x, found).margin);
        });
    }

    pub(super) fn learn(&mut self, tasks: usize, example: Example<'_>) -> Outcome {
        let found = &mut self.found[0];
        self.weights.find(example.task, example.features, found);
        self.mind.learn(&mut self.weights, tasks, example, found)
    }

    pub(super) fn learn_batch(&mut self, tasks: &mut usize, batch: &Batch, outcomes: &mut Vec<Outcome>) {
        wide_work(LearnBatch { together: self, tasks, batch, outcomes });
    }

    /// Whether the strength of sharing is found rather than given.
    pub(super) fn is_mixture(&self) -> bool {
        self.mind.given.is_none()
    }

    pub(super) fn has_groups(&self) -> bool {
        self.mind.groups.is_some()
    }

    /// How much of a prediction comes from the task itself, and how much from what all share.
    pub(super) fn scales(&self, tasks: usize) -> Scales {
        if let Some(rule) = self.mind.given {
            return rule.scales(tasks);
        }
        let worth = self.mind.mixer.last_weights().map(f64::abs);
        let (own, shared) = (worth[0] + worth[1], worth[2] + worth[3]);
        let sum = (own + shared).max(f64::MIN_POSITIVE);
        Scales { own: own / sum, shared: shared / sum }
    }

    /// 1 for tasks that are surely on the same side, -1 for tasks on different ones, 0 for tasks of different groups.
    pub(super) fn sides(&self, one: TaskId, other: TaskId) -> f64 {
        let together = self.weights.group(one) == self.weights.group(other);
        if together { self.mind.side(one) * self.mind.side(other) } else { 0.0 }
    }

    /// Weights of the margin, which is linear; the intercept is that of the feature that streams call bias.
    pub(super) fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        let ([a, b, c, d], side) = (self.mind.mixture(task), self.mind.side(task));
        let mixture = [a, b, side * c, side * d];
        let weight = |shared: &[f64], own: &OwnRow| {
            let mut parts = [0.0; PARTS];
            add_parts(&mut parts, shared, own, 1.0);
            weighted(&mixture, &parts)
        };
        let mut weights = self.weights.weights(task, |shared, own| weight(shared, own));
        let own = self.mind.own_intercepts.get(task.index()).copied().unwrap_or_default();
        let mut intercept = weight(&self.mind.shared_intercepts[self.weights.group(task)], &own);
        if let Some(averages) = &self.mind.averages {
            let (beyond, beyond_intercept) = averages.weights_beyond(task, &mixture);
            weights = less(weights, beyond);
            intercept -= beyond_intercept;
        }
        super::add_intercept(&mut weights, intercept);
        weights
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.weights.heap_bytes()
            + self.mind.mixer.heap_bytes()
            + self.mind.groups.as_ref().map_or(0, |groups| groups.heap_bytes())
            + self.mind.own_intercepts.capacity() * size_of::<OwnRow>()
            + self.mind.averages.as_ref().map_or(0, |averages| averages.heap_bytes())
    }

    pub(super) fn state(&self) -> TogetherState {
        let Mind { mixer, sizes, clock, shared_intercepts, own_intercepts, averages, doubts, groups, .. } =
            &self.mind;
        TogetherState {
            weights: self.weights.state(|_, row| *row),
            mixer: mixer.state(),
            sizes: *sizes,
            clock: *clock,
            shared_intercept: Block(shared_intercepts.concat()),
            own_intercepts: Block(own_intercepts.concat()),
            averages: averages.as_ref().map(|averages| averages.state()),
            doubts: *doubts,
            groups: groups.as_ref().map(|groups| groups.state(|task| self.weights.group(task))),
        }
    }

    pub(super) fn restore(&mut self, tasks: usize, state: TogetherState) -> Result<(), StateError> {
        let groups = self.mind.shared_intercepts.len();
        self.weights = Table::restore_groups(groups, tasks, state.weights, |row: OwnRow| row)?;
        match (&mut self.mind.groups, state.groups) {
            (None, None) => {}
            (Some(groups), Some(saved)) => {
                let group_of = groups.restore(tasks, saved)?;
                (0..)
                    .zip(group_of)
                    .for_each(|(task, group)| self.weights.set_group(TaskId(task), group as usize));
            }
            _ => return Err(StateError::new("the groups are not those of the config")),
        }
        self.mind.mixer.restore(tasks, state.mixer)?;
        check_finite(&state.shared_intercept.0)?;
        check_finite(&state.own_intercepts.0)?;
        let (own, rest) = state.own_intercepts.0.as_chunks();
        let (shared, more) = state.shared_intercept.0.as_chunks();
        if shared.len() != groups || own.len() > tasks || !rest.is_empty() || !more.is_empty() {
            return Err(StateError::new("the intercepts do not fit the tasks"));
        }
        if !(state.sizes.is_sound() && state.doubts.is_sound()) {
            return Err(StateError::new("what is known about sizes and doubts is not sound"));
        }
        (self.mind.shared_intercepts, self.mind.own_intercepts) = (shared.to_vec(), own.to_vec());
        (self.mind.sizes, self.mind.clock, self.mind.doubts) = (state.sizes, state.clock, state.doubts);
        super::averages::restore(self.mind.averages.as_deref_mut(), tasks, state.averages)?;
        self.mind.sizes.recall(self.weights.shared().map(|row| row[3]));
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
    /// Models of before left nothing out.
    #[serde(default)]
    doubts: Doubts,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    groups: Option<GroupsState>,
}
