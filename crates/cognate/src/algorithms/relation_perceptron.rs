//! The Perceptron that learns how its tasks are related.
//!
//! Paper: LR11, Algorithm 1, equations (3.3) and (3.7) to (3.10).
//! Protocol: one task per round.
//!
//! State: W, a row of K weights per feature; R; what the rule needs to move R (relation_perceptron/moved.rs, scale_free.rs).
//!
//! Predict: w_i'x.
//! Update, after a mistake on task i in round t: w_j += y R[j, i] x for all j; then, if t >= priming, by `relation`:
//!   log-det         R += eta W'W                (3.7)
//!   von-neumann     log R += eta W'W            (3.8)
//!   covariance      R = cov(W)                  (3.9), coordinates are the samples
//!   batch-optimal   R = (W'W)^(1/2)             (3.10)
//! rescaled to the trace of its start (`trace`), then R = (1 - shrink) R + shrink R_0, R_0 = start I. `scale-free` is our
//! own and reads R off how well tasks predict each other; it keeps sums of its own and mixes them when it predicts.
//! With the multiplier `a` the update is w_j += y A[j, i] x, and A itself follows the rules as they are printed, from I / K
//! and without rescaling: log-det A = (A^-1 + eta W'W)^-1, von-neumann A = exp(log A - eta W'W), the others as above, with
//! batch-optimal over its trace. A then falls where tasks have learnt most: the step is annealed, and related tasks are
//! pushed apart. `relation` and the query of this name see A.
//! With `priming = "pass"` (section 5.4) R moves once at the end of each pass, by the weights of then, and at no mistake: the
//! first pass is that of K Perceptrons. Every run of a model that reaches the end of its stream ends a pass.
//! `priming = "auto"`, our own too, finds out when R should move and learns without a relation beside it
//! (relation_perceptron/companion.rs).
//!
//! Cost: predict O(s), O(K s) until "auto" has decided. Update O(K s + K^2) for `log-det`, `covariance` and
//! `scale-free`, O(K s + K^3) for the others and for `log-det` with the multiplier `a`; for `scale-free` one example in eight is O(K s), mistake or not.
//! Memory: d K + K^2, for `scale-free` d (K + 16); with "auto" d K more, of touched weights.
//!
//! Bound: none is known when R moves; while it does not, that of K Perceptrons. With "auto" mistakes are at most twice
//! those of the better of the two learners, and a term that grows as the root of their disagreements (hedge.rs).
//!
//! Departures: R is the matrix that multiplies an update, so (3.9) and (3.10) define R and not A, which would push
//! related tasks apart. W is the matrix just updated. Unit trace is not preserved by (3.7) and (3.8): without rescaling
//! R and W feed each other and blow up. A margin of exactly 0 is a mistake. A task added as it occurs is related to none at
//! first (`scale-free`: as its uniform readings say), and disturbs no other.
//! Reduces to: K Perceptrons while priming lasts; one Perceptron with K = 1.

mod companion;
mod config;
mod evidence;
mod moved;
mod scale_free;

pub use config::{Multiplier, Priming, Relation, RelationPerceptronConfig, Trace};

use companion::{Asleep, Companion, CompanionState};
use moved::{Moved, MovedState};
use scale_free::{Met, ScaleFree, ScaleFreeState};
use serde::{Deserialize, Serialize};

use super::{About, Algorithm, CostClass, Protocol, restored_tasks};
use crate::error::{ConfigError, ConfigProblem, StateError};
use crate::example::{Example, SparseView, TaskId, is_mistake};
use crate::learner::{Inspect, LearnOne, Outcome, Predict, in_task_order};
use crate::stream::Batch;
use crate::table::AHEAD;
use crate::tasks::Tasks;

/// The Perceptron that learns how its tasks are related; see the head of its file.
#[derive(Debug, Clone)]
pub struct RelationPerceptron {
    tasks: usize,
    /// Rounds seen.
    seen: u64,
    /// The round from which R moves, where it is known.
    priming: Option<u64>,
    /// Whether R moves at the end of each pass, and only then.
    by_pass: bool,
    start: f64,
    weights: Weights,
    companion: Option<Companion>,
    /// Scratch, not state.
    looks: Vec<Look>,
}

#[derive(Debug, Clone)]
enum Weights {
    Moved(Box<Moved>),
    ScaleFree(Box<ScaleFree>),
}

/// What is known of an example before it is learnt.
#[derive(Debug, Clone, Default)]
struct Look {
    /// Margin of the one whose R moves.
    moved: f64,
    /// Margin of the one that learns alone.
    alone: f64,
    /// Whether the one alone has learnt the example already, and if so whether that changed it.
    alone_learnt: Option<bool>,
    /// Inner products with the vectors of every task, in the shade.
    products: Vec<f64>,
    /// What `scale-free` needs.
    met: Met,
}

/// K x K matrices beyond this take gigabytes.
const MOST_TASKS: usize = 4000;

impl RelationPerceptron {
    pub(super) const ABOUT: About = About {
        id: "relation-perceptron",
        title: "learns how the tasks are related while it learns them",
        paper: "LR11 Alg. 1",
        protocol: Protocol::OneTask,
        predict_cost: "O(s)",
        update_cost: "O(K s + K^2); O(K s + K^3) for von-neumann and batch-optimal",
        memory: "d K + K^2",
        most_tasks: Some(MOST_TASKS),
        cost_class: CostClass::PerPair,
        keeps_examples: false,
        probabilities: false,
        weights: false,
        offsets: false,
        shardable: false,
        theorems: &[],
    };

    /// Whether R has begun to move, in the round that is being seen.
    fn moves(&self) -> bool {
        self.priming.is_none_or(|priming| self.seen >= priming)
    }

    /// Whether R moves in the shade, and only its task learns from a mistake.
    fn is_shaded(&self) -> bool {
        let undecided = self.companion.as_ref().is_some_and(|companion| companion.decided().is_none());
        undecided && matches!(self.weights, Weights::Moved(_))
    }

    /// Looks at an example, which may have to be learnt later.
    fn look(&self, task: TaskId, x: SparseView<'_>, to_learn: bool, look: &mut Look) {
        look.products.clear();
        match &self.weights {
            _ if self.asleep() == Some(Asleep::Moved) => {}
            Weights::Moved(moved) if self.is_shaded() => {
                moved.products(x, &mut look.products);
                look.moved = look.products.get(task.index()).copied().unwrap_or(0.0);
            }
            Weights::Moved(moved) => look.moved = moved.margin(task.index(), x),
            Weights::ScaleFree(weights) => {
                weights.meet(task.index(), x, to_learn, &mut look.met);
                look.moved = weights.margin(task.index(), &look.met);
            }
        }
    }

    /// Which of the two has lost for good.
    fn asleep(&self) -> Option<Asleep> {
        self.companion.as_ref().and_then(Companion::asleep)
    }

    /// Whether the one alone has weights of its own, and learns.
    fn is_alone_awake(&self) -> bool {
        !self.is_shaded() && self.asleep() != Some(Asleep::Alone)
    }

    /// Asks for the weights of the given example of a batch; says whether the one alone was asked too.
    fn ask_for(&mut self, at: usize, example: Example<'_>) -> bool {
        let (task, x) = (example.task.index(), example.features);
        match &self.weights {
            _ if self.asleep() == Some(Asleep::Moved) => {}
            Weights::Moved(moved) => moved.ask_for(task, x),
            Weights::ScaleFree(weights) => weights.ask_for(task, x),
        }
        self.ask_alone(at, example)
    }

    /// Asks the one alone, if it is awake.
    fn ask_alone(&mut self, at: usize, example: Example<'_>) -> bool {
        let awake = self.is_alone_awake();
        let companion = self.companion.as_mut().filter(|_| awake);
        companion.map(|companion| companion.ask_for(at, example)).is_some()
    }

    /// The margin of the one alone, for an example that the other has looked at.
    fn look_aside(&self, task: TaskId, x: SparseView<'_>, look: &mut Look) {
        // In the shade it has learnt the same.
        look.alone = match &self.companion {
            Some(companion) if self.is_alone_awake() => companion.margin(task, x),
            _ => look.moved,
        };
        self.wake(look);
    }

    /// Who is asleep says what the other says.
    fn wake(&self, look: &mut Look) {
        if self.asleep() == Some(Asleep::Moved) {
            look.moved = look.alone;
        }
    }

    /// The margin of an example that was looked at.
    fn margin_of(&self, look: &Look) -> f64 {
        match &self.companion {
            Some(companion) => companion.mean(look.alone, look.moved),
            None => look.moved,
        }
    }

    /// Makes room for a task.
    fn meet(&mut self, task: TaskId) {
        if task.index() < self.tasks {
            return;
        }
        self.tasks = task.index() + 1;
        match &mut self.weights {
            Weights::Moved(moved) => moved.grow(self.tasks),
            Weights::ScaleFree(weights) => weights.grow(self.tasks),
        }
        if let Some(companion) = &mut self.companion {
            companion.meet(task);
        }
    }

    /// Learns from an example of the round being seen, looked at before.
    fn learn_from(&mut self, example: Example<'_>, look: &mut Look, margin: f64) -> bool {
        self.meet(example.task);
        let (moves, shaded, asleep) = (self.moves(), self.is_shaded(), self.asleep());
        let mut updated = false;
        match &mut self.weights {
            _ if asleep == Some(Asleep::Moved) => {}
            Weights::Moved(moved) if shaded => {
                // Tasks met in this round have no weights yet.
                look.products.resize(self.tasks, 0.0);
                let shade = moved.shade(example.task.index(), &look.products);
                if is_mistake(example.label, look.moved) {
                    moved.learn_shaded(example, &look.products);
                    updated = true;
                }
                if let Some(companion) = &mut self.companion {
                    updated |= companion.judge(example.label, look.alone, look.moved, margin);
                    if companion.test(self.seen, example.label, look.moved, shade) {
                        companion.take_over((0..self.tasks).map(|column| moved.weights(column)));
                    }
                }
                return updated;
            }
            Weights::Moved(moved) => {
                if is_mistake(example.label, look.moved) {
                    moved.learn(example, moves);
                    updated = true;
                }
            }
            Weights::ScaleFree(weights) => {
                updated |= weights.learn(example, &look.met, look.moved, moves);
            }
        }
        if let Some(companion) = &mut self.companion {
            updated |= match look.alone_learnt.take() {
                Some(learnt) => learnt,
                None => asleep != Some(Asleep::Alone) && companion.update(example, look.alone),
            };
            updated |= companion.judge(example.label, look.alone, look.moved, margin);
        }
        updated
    }

    /// Looks at an example that may not have been looked at before, and learns from it.
    fn look_and_learn(&mut self, example: Example<'_>, margin: Option<f64>, asked: Option<usize>) -> Outcome {
        let mut look = self.looks.pop().unwrap_or_default();
        self.look(example.task, example.features, true, &mut look);
        if let Some(margin) = margin.filter(|_| self.companion.is_none()) {
            look.moved = margin;
        }
        let awake = self.is_alone_awake();
        match &mut self.companion {
            // One walk for margin and update: what the other learns makes no difference to it.
            Some(companion) if awake => {
                let Outcome { margin, updated } = companion.learn(example, asked);
                (look.alone, look.alone_learnt) = (margin, Some(updated));
            }
            _ => (look.alone, look.alone_learnt) = (look.moved, None),
        }
        self.wake(&mut look);
        let margin = margin.unwrap_or_else(|| self.margin_of(&look));
        self.seen += 1;
        let updated = self.learn_from(example, &mut look, margin);
        self.looks.push(look);
        Outcome { margin, updated }
    }
}

impl Predict for RelationPerceptron {
    fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        let mut look = Look::default();
        self.look(task, x, false, &mut look);
        self.look_aside(task, x, &mut look);
        self.margin_of(&look)
    }
}

impl LearnOne for RelationPerceptron {
    fn update(&mut self, example: Example<'_>, margin: f64) -> bool {
        self.look_and_learn(example, Some(margin), None).updated
    }

    fn learn(&mut self, example: Example<'_>) -> Outcome {
        self.look_and_learn(example, None, None)
    }

    fn learn_batch(&mut self, batch: &Batch, outcomes: &mut Vec<Outcome>) {
        outcomes.clear();
        // Whose example has been found by the one alone: it may have woken or fallen asleep since.
        let mut asked = [false; AHEAD];
        for (at, example) in batch.examples().enumerate() {
            let ahead = at + AHEAD - 1;
            if ahead < batch.len() {
                asked[ahead % AHEAD] = self.ask_for(ahead, batch.example(ahead));
            }
            let asked = asked[at % AHEAD] || self.ask_alone(at, example);
            outcomes.push(self.look_and_learn(example, None, asked.then_some(at)));
        }
    }

    fn skip(&mut self, task: TaskId) {
        self.meet(task);
        self.seen += 1;
    }

    fn end_pass(&mut self) {
        if let Weights::Moved(moved) = &mut self.weights
            && self.by_pass
        {
            moved.follow();
        }
    }

    fn overflow(&self) -> Option<&'static str> {
        match &self.weights {
            Weights::Moved(moved) => moved.overflow(),
            Weights::ScaleFree(_) => None,
        }
    }

    fn learn_round(&mut self, round: &Batch, outcomes: &mut Vec<Outcome>) {
        let mut looks = std::mem::take(&mut self.looks);
        looks.resize_with(round.len().max(looks.len()), Look::default);
        outcomes.clear();
        for (example, look) in round.examples().zip(&mut looks) {
            self.look(example.task, example.features, true, look);
            self.look_aside(example.task, example.features, look);
            outcomes.push(Outcome { margin: self.margin_of(look), updated: false });
        }
        self.seen += 1;
        for at in in_task_order(round) {
            let Outcome { margin, updated } = &mut outcomes[at];
            *updated = self.learn_from(round.example(at), &mut looks[at], *margin);
        }
        self.looks = looks;
    }
}

impl Inspect for RelationPerceptron {
    fn tasks(&self) -> usize {
        self.tasks
    }

    fn relation(&self, to: TaskId, from: TaskId) -> f64 {
        let start = if to == from { self.start } else { 0.0 };
        let moved = match &self.weights {
            Weights::Moved(_) if self.is_shaded() => return start,
            Weights::Moved(moved) => {
                let (to, from) = (to.index(), from.index());
                if to < self.tasks && from < self.tasks { moved.relation().entry(to, from) } else { start }
            }
            Weights::ScaleFree(weights) => weights.relation(to.index(), from.index()),
        };
        match &self.companion {
            Some(companion) => companion.trust() * moved + (1.0 - companion.trust()) * start,
            None => moved,
        }
    }

    fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        let moved = match &self.weights {
            Weights::Moved(moved) => moved.weights(task.index()),
            Weights::ScaleFree(weights) => weights.weights(task.index()),
        };
        // In the shade both have learnt the same, and only one keeps it.
        let Some(companion) = self.companion.as_ref().filter(|_| !self.is_shaded()) else {
            return moved;
        };
        let scaled = |weights: Vec<(u32, f64)>, factor: f64| {
            weights.into_iter().map(move |(feature, weight)| (feature, factor * weight))
        };
        let trust = companion.trust();
        let mut all: Vec<(u32, f64)> =
            scaled(moved, trust).chain(scaled(companion.weights(task), 1.0 - trust)).collect();
        all.sort_by_key(|pair| pair.0);
        all.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        all.retain(|pair| pair.1 != 0.0);
        all
    }

    fn remarks(&self) -> Vec<String> {
        let seen = self.seen;
        match (&self.companion, &self.weights) {
            (None, Weights::Moved(moved)) if self.by_pass => {
                let still = moved.changes() == 0;
                let remark = "R moves at the end of a pass, and no pass has ended: R never moved";
                still.then(|| remark.to_owned()).into_iter().collect()
            }
            (None, _) => match self.priming {
                Some(priming) if priming > seen => {
                    vec![format!(
                        "priming lasts until round {priming}, and only {seen} were seen: R never moved"
                    )]
                }
                _ => Vec::new(),
            },
            (Some(companion), weights) => {
                let lost = match companion.asleep() {
                    None => "",
                    Some(Asleep::Moved) => ", and no longer learns",
                    Some(Asleep::Alone) => ", and the learner without one no longer learns",
                };
                let trust =
                    format!("the learned relation has a weight of {:.0} %{lost}", 100.0 * companion.trust());
                match (weights, companion.decided()) {
                    (Weights::ScaleFree(_), _) => vec![trust],
                    (Weights::Moved(_), Some(round)) => {
                        vec![format!("priming ended in round {round}; {trust}")]
                    }
                    (Weights::Moved(_), None) => {
                        vec!["priming has not ended: R has not been found to help".to_owned()]
                    }
                }
            }
        }
    }

    fn heap_bytes(&self) -> usize {
        let weights = match &self.weights {
            Weights::Moved(moved) => moved.heap_bytes(),
            Weights::ScaleFree(weights) => weights.heap_bytes(),
        };
        weights + self.companion.as_ref().map_or(0, Companion::heap_bytes)
    }
}

/// Saved form of [`RelationPerceptron`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RelationPerceptronState {
    tasks: u64,
    #[serde(deserialize_with = "crate::count::saved")]
    seen: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    moved: Option<MovedState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scale_free: Option<ScaleFreeState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    companion: Option<CompanionState>,
}

impl Algorithm for RelationPerceptron {
    type Config = RelationPerceptronConfig;
    type State = RelationPerceptronState;

    fn build(
        config: &RelationPerceptronConfig,
        tasks: &Tasks,
        features: Option<u32>,
    ) -> Result<Self, ConfigError> {
        let start = config.start_or_default(tasks.limit()).ok_or_else(|| {
            let message = "with the multiplier `a` it is 1 / K: declare the tasks, or give `start`";
            ConfigProblem::new("start", message)
        })?;
        let (priming, companion) = match config.priming {
            Priming::Rounds(rounds) => (Some(rounds), None),
            Priming::Pass => (Some(u64::MAX), None),
            Priming::Auto => (None, Some(Companion::new(tasks, start)?)),
            Priming::Fraction(_) => {
                let message = "a fraction of the stream, whose length is not known here; \
                               give a number of rounds or \"auto\"";
                return Err(ConfigProblem::new("priming", message).into());
            }
        };
        let weights = match config.relation {
            Relation::ScaleFree => Weights::ScaleFree(Box::new(ScaleFree::new(config, start, tasks.count()))),
            _ => Weights::Moved(Box::new(Moved::new(config, start, tasks.count(), features))),
        };
        let (tasks, by_pass) = (tasks.count(), config.priming == Priming::Pass);
        Ok(Self { tasks, seen: 0, priming, by_pass, start, weights, companion, looks: Vec::new() })
    }

    fn state(&self) -> RelationPerceptronState {
        let (moved, scale_free) = match &self.weights {
            Weights::Moved(moved) => (Some(moved.state()), None),
            Weights::ScaleFree(weights) => (None, Some(weights.state())),
        };
        RelationPerceptronState {
            tasks: self.tasks as u64,
            seen: self.seen,
            moved,
            scale_free,
            companion: self.companion.as_ref().map(Companion::state),
        }
    }

    fn restore(&mut self, state: RelationPerceptronState) -> Result<(), StateError> {
        let tasks = restored_tasks(state.tasks, self.tasks)?;
        if tasks > MOST_TASKS {
            return Err(StateError::new("there are more tasks than the learner can take"));
        }
        match (&mut self.weights, state.moved, state.scale_free) {
            (Weights::Moved(moved), Some(state), None) => moved.restore(tasks, state)?,
            (Weights::ScaleFree(weights), None, Some(state)) => weights.restore(tasks, state)?,
            _ => return Err(StateError::new("the weights are not of the kind that the relation keeps")),
        }
        match (&mut self.companion, state.companion) {
            (Some(companion), Some(state)) => companion.restore(state)?,
            (None, None) => {}
            _ => return Err(StateError::new("only priming \"auto\" has a companion")),
        }
        (self.tasks, self.seen) = (tasks, state.seen);
        Ok(())
    }
}
