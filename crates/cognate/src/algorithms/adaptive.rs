//! Shared and own weights by adaptive, scale-free, implicit second-order steps; the learner to reach for first.
//!
//! Paper: none of its own. MP10 section 4 shows that what learns like a Perceptron becomes a multitask learner through
//! the interaction; the steps are a diagonal second-order method as AROW (Crammer, Kulesza and Dredze 2009) and online
//! Bayesian logistic regression are, implicit as in Kulis and Bartlett 2010, normalised as in Ross, Mineiro and Langford
//! 2013. Ours: the mixture that finds the strength of sharing, the trust and the side of every task (a learnt relation of
//! rank one), groups of tasks (which give it more ranks), one precision for all members, and leaving out most of what is well
//! learnt.
//! Protocol: one task per round.
//!
//! State, for tasks i and groups g of tasks (see `groups`). There are three members: `alone` has a
//! vector per task, `pooled` one per group, `coupled` both. Per feature k, with one more that is always 1 (`intercept`):
//!
//! ```text
//! A_i, B_i, c_i         own weights of `alone` and of `coupled`, and the precision of both                       0
//! P_g, Q_g, d_g, s_g    weights of `pooled`, shared ones of `coupled`, the precision of both, the largest |x|    0
//! m                     mean, over the examples that taught, of sum_k r_k (x_k / s_k)^2
//! a_l, H_l              per level l: weights of the four parts, and their 4 x 4 precision                  1/3, I/0.3
//! f_i, F_i              per task: trust in its own and the shared part, and its 2 x 2 precision               1, 20 I
//! b_i, e_i              per task: how its labels lean on P_g'x, and the precision of that                        1, 6
//! n_i                   per task: examples, those seen again not counted; its level l is the number of binary digits of n_i    0
//! ```
//!
//! The last column is where it starts. r_k = s_k / (geometric mean of all s), cut to [1/4, 4]. For the feature that is always
//! 1, s = r = 1. Level l starts from the nearest level below it, with H = 1/4 of that + 3/4 I/0.3.
//!
//! Predict:
//!
//! ```text
//! side   = b_i sqrt(e_i), cut to [-1, 1]
//! z      = (A_i'x, B_i'x, side P_g'x, side Q_g'x)
//! margin = sum of a_l z, the first two times f_i[own], the last two times f_i[shared]
//! ```
//!
//! The offset of an example is added to the margin and to those of all members, and is not learnt.
//!
//! Update, from the label y and the margin that was predicted, with side, z and g as they were then. σ(u) = 1 / (1 + exp(-u));
//! l(u) = ln(1 + exp(-u)) or, with `hinge`, max(0, 1 - u). `regress(w, C, z)` is one second-order step of logistic regression:
//! t = σ(-(y w'z + z'C^-1 z t)), w += y t C^-1 z, C += q (1 - q) z z' with q = σ(w'z) before the step.
//!
//! ```text
//! sort     with several groups, for every group j: regress(b_ij, e_ij, u_j), u_j = P_j'x cut to [-1, 1];
//!          L_ij += (ln(1 + exp(-y b_ij u_j)) - L_ij) / min(n_i, 100), this example counted, b_ij as it was before
//! weigh    own, shared = the two halves of a_l'z without f_i; u = P_g'x cut to [-1, 1]
//!          regress(a_l, H_l, z), regress(f_i, F_i, (own, shared)), regress(b_i, e_i, u): all three from what was before,
//!          the first two with their z scaled down to a largest entry of 20
//!          h = σ(margin) σ(-margin), or 1 with `hinge`
//! gate     stop here if y A_i'x, y (B_i'x + side Q_g'x) and y side P_g'x all exceed 1.5 (1 with `hinge`), and ln(r / 3) more where
//!          labels y have come r > 3 times as often as the other (1 added to both), or if |x|^2 is not finite;
//!          with n > 32768 examples in all and doubt = σ(-y margin), usual = (mean doubt - 0.08) (1 - 32768 / n):
//!          stop at three of four with doubt < 0.7 usual where n_i >= 1024; if doubt < 2 usual, only those A and B learn that have
//!          learnt before
//! sizes    s_gk = max(s_gk, |x_k|), or less where only one value was that large (`adaptive/outgrown.rs`); where that is a value more than ten times as large as any before, A, B, P, Q of this
//!          feature, task and group shrink by the same factor; then m takes this example in
//! rates    v_k = 1 / (m s_k^2 / (p r_k) + c), for A and B with c = c_ik, for P and Q with c = d_gk;
//!          p = 50 for A and P, 2.5 for B and Q, all times `rate`
//! step     each member by its own margin M and variance V, t = -l'(y M + V t), or min(1, max(0, 1 - y M) / V) with `hinge`:
//!          `alone`     M = A_i'x                   V = sum_k v_k x_k^2
//!          `coupled`   M = B_i'x + side Q_g'x      V = sum_k (v_k of B + side^2 v_k of Q) x_k^2, of B only if B learns
//!          `pooled`    M = side P_g'x              V = side^2 sum_k v_k x_k^2
//! apply    A, B += y t v_k x_k; P, Q += side y t v_k x_k; c_ik, d_gk += h x_k^2, c where A and B learn
//! move     with n_i >= 10, to the group of the least L_ij if that is less than where it is by 0.01; b_i, e_i = b_ij, e_ij
//! ```
//!
//! Before all that, an example in other units than all before is scaled to the usual length, and a single value far beyond what many
//! have been counts as a little more than s (`adaptive/tempering.rs`). So one bad line, one huge value, or one task that measures in other
//! units, sets no sizes for the others; where it was the first, the sizes that it has set are taken back. Examples are known again by
//! what they were before. Not for graphs and matrices.
//!
//! An example seen before, which agrees with what has learnt it, is none to judge members by. Of it only sizes, rates, step and apply
//! are done, for own weights that have learnt before, with the weight 1/4 / (showings before)^2: how it is known again, and told from
//! others that look the same, is said in `adaptive/again.rs`. So more passes, rows that come twice and upsampling do next to no harm,
//! and honest examples that look the same (a constant row, a few categories, sorted rows) are learnt like all others.
//! This is where b = "auto", labels are of two kinds and nothing is forgotten; members on their own learn again what comes again.
//!
//! L_ij starts at ln 2, and tasks in groups that are drawn from their numbers.
//!
//! With `groups` = "auto" there is one group at first. After 4096 examples, and whenever they have doubled, the tasks with 32
//! examples or more are compared by their own weights (128 tasks and 1024 features at most): by inner products of
//!
//! ```text
//! portrait_ik = A_ik sqrt(s_k sqrt(c_ik)), less its part along sqrt(c_ik) sqrt(s_k sqrt(c_ik)), which base rates make
//! ```
//!
//! whose noise is independent, since each A_i comes from the examples of its task alone. Tasks are grouped, each on its side, so that
//! one correlation per group explains most of the products (`adaptive/kinship.rs`). The groups are taken if they explain 1.2 times as
//! much as one group of all, pairs of one group go together by two squared deviations more than by chance in the mean, and tasks of
//! different groups have next to nothing in common: less than chance gives, and an eighth of what those of one group have. Tasks that
//! go with no group share one. Then P, Q, d, a, H, f and F begin anew, B_i takes over what Q_g said to task i, and the leans are 1
//! or -1 (`adaptive/together/regroup.rs`). From then on tasks move by L_ij, as above, over 300 examples in place of 100 and for 0.03 in
//! place of 0.01: most are where they belong, so one that goes by chance is a loss, and one that changes its kind is followed.
//! As long as no groups are taken there is one, to the bit what `groups` = 1 gives. With a given interaction, `average` or real
//! labels, "auto" is one group. Nothing is guaranteed of the groups but that: whether they help is measured, on
//! docs/accuracy.md.
//!
//! How alike two tasks are (`Inspect::likeness`) is the correlation of their portraits with the noise of both taken out, where the
//! evidence supports one (`adaptive/likeness.rs`). It is for people: nothing is learnt from it.
//!
//! Which constants are why is said where they are
//! named: `adaptive/config.rs` (50, 5, 10), `mixer.rs` (1/3, 0.3, 20, 1/4), `trust.rs` (20; 1, 6), `groups.rs` (100, 10, 0.01),
//! `doubt.rs` (32768, 0.08, 0.7, 2, 1024, one in four, 3), `again.rs` (1/4), `rule.rs` (1.5; 4; 10), `tempering.rs` (3, two thirds, 32), `outgrown.rs`,
//! `together.rs` (5 is half own and half shared).
//!
//! With a given b (`coupled`, `pairwise`) there is only `coupled`: the margin is B_i'x + Q'x, side = 1, nothing is weighed, h is
//! that of its own margin, no logistic example is left out; p = 10 `rate`, of which own / (own + shared) is B's and the rest Q's, for
//! R = own I + shared 11'. `independent` and `pooled` are one vector each by the same step, with p = 10 `rate`; each vector has m
//! and s of its own (`adaptive/alone.rs`). For `graph` and `matrix` R's correlations are those of the tasks' weights
//! (`adaptive/related.rs`). All of them take the step of `adaptive/step.rs`.
//!
//! With `forget`, keep = 2^(-1 / forget): c, d *= keep with every example; H_l, F_i and e_i go to keep times themselves plus
//! (1 - keep) times their start when they are used. With `average`, predict and weigh use the means of A, B, P and Q, in which
//! the weights after the n-th example count n times (`adaptive/averages.rs`); sizes, gate and step use the weights themselves.
//!
//! With a time in place of a number of examples, keep = 2^(-dt / forget) and dt is the time since the last example: of all for c and
//! d (of its vector where vectors share nothing), of the level for H_l, of the task for F_i and e_i. Time that goes backwards counts
//! as 0 and takes nothing back.
//!
//! An example of importance w is learnt as if it had been seen w times: every step is t = -w l'(y M + V t), which never goes beyond
//! where w steps one after the other would end, and what is added to precisions is w h for w < 1, and for w > 1 h + (w - 1) h', h'
//! where the step ends. n_i, m and doubts count it as one example. With w = 0 nothing changes.
//!
//! Real labels (`squares`, `absolute`, `quantile`, `poisson`) are learnt in units of their tasks: centre c_i and scale S_i follow the
//! labels (`adaptive/units.rs`), c_i + S_i margin is predicted, and y is (label - c_i) / S_i. So labels in other units, or far from 0,
//! are no trouble, even of one task among others. Losses and their implicit steps are in `adaptive/real.rs`. What is other than
//! above: every prior precision is times the noise, which is estimated; regress for a_l and f_i takes the loss over the noise (four
//! times the noise for f_i); b_i goes by the sign of y, as all of `groups` does; there is no gate; h is of where `coupled` ends for
//! `poisson`; p = 10 for A and P, 1 for B and Q, 10 where there is one member. Own weights are in units of the label, shared ones in
//! units of S_i. Quantiles are lifted so that the share of labels below them is what it should be. A weight shrinks when its
//! feature turns out larger than it was, unless examples speak for it, and predictions stay about as far from c_i as labels have been.
//!
//! On simultaneous rounds the margin that was predicted is older than the weights: other tasks have moved them since. It decides h
//! and doubt, which are about what was predicted. Parts and members are of the weights as they are, since an implicit step is about
//! where it ends; from older margins K tasks of a round would all make the same step on what they share. In every other round
//! the two are the same bits. Where there is one member, h is that of its present margin.
//!
//! Cost: predict and update O(s) whatever K is, with several groups the update O(s) per group; comparing tasks costs at most
//! 128^2 x 1024 steps whenever the examples have doubled; for a graph or a matrix both are O(s)
//! per task of the block. Memory: touched weights; A_ik, B_ik and c_ik are three numbers of 32 bits beside the number of their
//! feature, 16 bytes; for a graph or a matrix two numbers per feature and task of the block.
//!
//! A_ik, B_ik and c_ik have 21 binary digits, with the range of doubles (`weights::short_rows`): they are rounded when they are kept, and
//! all arithmetic is that of doubles. A change of less than 2.4e-7 of the number is lost, so rates stop falling after about two
//! million examples of one task with the feature. What is shared, and what belongs to the feature that is always 1, is kept as it is.
//!
//! Bound: none is proven for the whole. Online Newton steps on the logistic loss have regret O(n_parts e^Z ln n) against the
//! best fixed a on n examples with |z| <= Z (Hazan, Agarwal and Kale 2007); the mixture's are of that kind, but implicit
//! and with the curvature itself, which the proof does not cover. Diagonal rates 1 / sum h x^2 have no such bound where
//! coordinates compete.
//!
//! Departures: the gate, which is no part of any loss. Scaled examples: of them the margin is not that of the weights. Examples too long to be squared teach no weights. A margin of exactly 0 is a
//! mistake whatever the label.
//! Reduces to: `independent` is K learners that know nothing of each other, each the one with K = 1; with K = 1 it is
//! `pooled`. Multiplying all features by a constant divides their weights and leaves every margin as it was, up to rounding;
//! multiplying one of them changes its prior deviation by a factor of four at most. Multiplying all real labels by a constant
//! multiplies the predictions.

mod again;
mod alone;
mod averages;
mod config;
mod doubt;
mod forget;
mod groups;
mod kinship;
mod lanes;
mod likeness;
mod members;
mod mixer;
mod outgrown;
mod real;
mod related;
mod rows;
mod rule;
mod step;
mod tempering;
mod together;
mod trust;
mod units;
mod variance;

use alone::{Alone, AloneState};
use config::Settings;
use related::{Related, RelatedState};
use serde::{Deserialize, Serialize};
use together::{Together, TogetherState};
use variance::sound;

use super::{About, Algorithm, CostClass, Protocol, restored_tasks};
use crate::error::{ConfigError, StateError};
use crate::example::{BIAS_FEATURE, Example, SparseView, TaskId};
use crate::interaction::{Interaction, Scales, Uniform};
use crate::learner::{
    Inspect, LearnOne, Likeness, Outcome, OwnWeights, Place, Predict, SharedVector, margins_one_by_one,
};
use crate::stream::Batch;
use crate::tasks::Tasks;

pub use config::{AdaptiveConfig, GroupCount};
pub use forget::Forget;
pub use rule::Loss;

/// Adds the weight of the feature that is always 1.
fn add_intercept(weights: &mut Vec<(u32, f64)>, intercept: f64) {
    match weights.last_mut() {
        Some((BIAS_FEATURE, weight)) => *weight += intercept,
        _ if intercept != 0.0 => weights.push((BIAS_FEATURE, intercept)),
        _ => {}
    }
}

/// The adaptive learner; see the head of its file.
#[derive(Debug, Clone)]
pub struct Adaptive {
    tasks: usize,
    machine: Machine,
    loss: Loss,
}

#[derive(Debug, Clone)]
enum Machine {
    Alone(Uniform, Box<Alone>),
    Together(Box<Together>),
    Related(Box<Related>),
}

impl Adaptive {
    pub(super) const ABOUT: About = About {
        id: "adaptive",
        title: "shared + own weights, adaptive and scale-free; finds the strength of sharing",
        paper: "our own",
        protocol: Protocol::OneTask,
        predict_cost: "O(s); O(K s) for graph and matrix",
        update_cost: "O(s); O(K s) for graph and matrix",
        memory: "touched weights, 4 MB of examples seen; d K for graph and matrix",
        most_tasks: None,
        cost_class: CostClass::PerFeature,
        keeps_examples: false,
        probabilities: true,
        weights: true,
        offsets: true,
        shardable: false,
        theorems: &[],
    };

    /// K as it is once the given task has been met.
    fn tasks_with(&self, task: TaskId) -> usize {
        self.tasks.max(task.index() + 1)
    }

    /// Learns an example of which this margin was predicted; none is the present one.
    fn learn_predicted(&mut self, example: Example<'_>, predicted: Option<f64>) -> Outcome {
        self.tasks = self.tasks_with(example.task);
        match &mut self.machine {
            Machine::Alone(_, alone) => alone.learn(example),
            Machine::Together(together) => together.learn(self.tasks, example, predicted),
            Machine::Related(related) => related.learn(example),
        }
    }

    /// The two factors of R; none for a graph or a matrix.
    fn scales(&self, tasks: usize) -> Option<Scales> {
        match &self.machine {
            Machine::Alone(rule, _) => Some(rule.scales(tasks)),
            Machine::Together(together) => Some(together.scales(tasks)),
            Machine::Related(_) => None,
        }
    }
}

impl Predict for Adaptive {
    fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        match &self.machine {
            Machine::Alone(_, alone) => alone.margin(task, x),
            Machine::Together(together) => together.margin(task, x),
            Machine::Related(related) => related.margin(task, x),
        }
    }

    /// Of log-odds: none where the loss is another than the logistic one.
    fn variance(&self, task: TaskId, x: SparseView<'_>) -> Option<f64> {
        let variance = || match &self.machine {
            Machine::Alone(_, alone) => alone.variance(task, x),
            Machine::Together(together) => together.variance(self.tasks_with(task), task, x),
            Machine::Related(related) => related.variance(task, x),
        };
        (self.loss == Loss::Logistic).then(|| sound(variance()))
    }

    fn margins(&self, examples: &Batch, task_of: &dyn Fn(TaskId) -> TaskId, margins: &mut Vec<f64>) {
        match &self.machine {
            Machine::Together(together) => together.margins(examples, task_of, margins),
            _ => margins_one_by_one(self, examples, task_of, margins),
        }
    }
}

impl LearnOne for Adaptive {
    /// The margin is the one that was predicted; steps are taken from that of the weights as they are, see the head of the file.
    fn update(&mut self, example: Example<'_>, margin: f64) -> bool {
        self.learn_predicted(example, Some(margin)).updated
    }

    fn learn(&mut self, example: Example<'_>) -> Outcome {
        self.learn_predicted(example, None)
    }

    /// As one by one, finding the weights of some examples ahead so that they are in cache when needed.
    fn learn_batch(&mut self, batch: &Batch, outcomes: &mut Vec<Outcome>) {
        outcomes.clear();
        match &mut self.machine {
            Machine::Alone(_, alone) => {
                let last = batch.examples().map(|example| example.task.index() + 1).max();
                self.tasks = self.tasks.max(last.unwrap_or(0));
                alone.learn_batch(batch, outcomes);
            }
            Machine::Together(together) => together.learn_batch(&mut self.tasks, batch, outcomes),
            Machine::Related(_) => outcomes.extend(batch.examples().map(|example| self.learn(example))),
        }
    }

    fn skip(&mut self, task: TaskId) {
        self.tasks = self.tasks_with(task);
    }
}

impl Inspect for Adaptive {
    fn tasks(&self) -> usize {
        self.tasks
    }

    fn relation(&self, to: TaskId, from: TaskId) -> f64 {
        let uniform = || self.scales(self.tasks).map_or(0.0, |scales| scales.relation(to, from));
        match &self.machine {
            Machine::Related(related) => related.blocks().relation(to, from),
            // Sides are shown, trusts are not: those are of what a task makes of the others, not of what it teaches them.
            Machine::Together(together) if to != from => together.sides(to, from) * uniform(),
            _ => uniform(),
        }
    }

    fn likeness(&self, tasks: &[TaskId]) -> Option<Likeness> {
        match &self.machine {
            Machine::Together(together) if together.is_mixture() => Some(together.likeness(tasks)),
            _ => None,
        }
    }

    fn place(&self, task: TaskId) -> Option<Place> {
        match &self.machine {
            Machine::Together(together) if together.is_mixture() => Some(together.place(task)),
            _ => None,
        }
    }

    fn influence(&self, task: TaskId) -> f64 {
        let tasks = self.tasks_with(task);
        match &self.machine {
            Machine::Related(related) => related.blocks().influence(task),
            // Only what its group teaches it.
            Machine::Together(together) if together.has_groups() => {
                (0..tasks as u32).map(|from| self.relation(task, TaskId(from)).abs()).sum()
            }
            _ => self.scales(tasks).map_or(0.0, |scales| scales.influence(tasks)),
        }
    }

    fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        match &self.machine {
            Machine::Alone(_, alone) => alone.weights(task),
            Machine::Together(together) => together.weights(task),
            Machine::Related(related) => related.weights(task),
        }
    }

    fn shared_vectors(&self) -> Vec<SharedVector> {
        match &self.machine {
            Machine::Together(together) => together.shared_vectors(),
            _ => Vec::new(),
        }
    }

    fn own_weights(&self, task: TaskId) -> OwnWeights {
        match &self.machine {
            Machine::Together(together) => together.own_weights(task),
            _ => OwnWeights { factors: Vec::new(), own: self.weights(task) },
        }
    }

    /// Margins are log-odds: those of the mixture whatever the loss, those of one member for the logistic loss.
    fn probability(&self, margin: f64) -> Option<f64> {
        let log_odds = match &self.machine {
            Machine::Together(together) if together.is_mixture() => true,
            _ => self.loss == Loss::Logistic,
        };
        let log_odds = log_odds && self.loss.real().is_none();
        log_odds.then(|| rule::sigmoid(margin))
    }

    /// exp of a margin for `poisson`.
    fn response(&self, margin: f64) -> f64 {
        if self.loss == Loss::Poisson { real::rate(margin) } else { margin }
    }

    fn loss(&self, label: f64, margin: f64) -> Option<f64> {
        Some(self.loss.value(label, margin))
    }

    fn heap_bytes(&self) -> usize {
        match &self.machine {
            Machine::Alone(_, alone) => alone.heap_bytes(),
            Machine::Together(together) => together.heap_bytes(),
            Machine::Related(related) => related.heap_bytes(),
        }
    }
}

/// Saved form of [`Adaptive`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AdaptiveState {
    tasks: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    alone: Option<AloneState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    together: Option<TogetherState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    related: Option<RelatedState>,
}

impl Algorithm for Adaptive {
    type Config = AdaptiveConfig;
    type State = AdaptiveState;

    fn build(config: &AdaptiveConfig, tasks: &Tasks, _: Option<u32>) -> Result<Self, ConfigError> {
        let mixture = config.interaction.is_auto();
        let settings = Settings::of(config, mixture);
        let machine = if mixture {
            Machine::Together(Box::new(Together::new(settings, None)))
        } else {
            match config.interaction.build(tasks).map_err(|error| error.within("interaction"))? {
                Interaction::Uniform(rule @ (Uniform::Independent | Uniform::Pooled)) => {
                    Machine::Alone(rule, Box::new(Alone::new(settings, rule == Uniform::Pooled)))
                }
                Interaction::Uniform(rule) => {
                    Machine::Together(Box::new(Together::new(settings, Some(rule))))
                }
                Interaction::Blocks(blocks) => Machine::Related(Box::new(Related::new(settings, blocks)?)),
            }
        };
        Ok(Self { tasks: tasks.count(), machine, loss: config.loss })
    }

    fn state(&self) -> AdaptiveState {
        let nothing = AdaptiveState { tasks: self.tasks as u64, alone: None, together: None, related: None };
        match &self.machine {
            Machine::Alone(_, alone) => AdaptiveState { alone: Some(alone.state()), ..nothing },
            Machine::Together(together) => AdaptiveState { together: Some(together.state()), ..nothing },
            Machine::Related(related) => AdaptiveState { related: Some(related.state()), ..nothing },
        }
    }

    fn restore(&mut self, state: AdaptiveState) -> Result<(), StateError> {
        let tasks = restored_tasks(state.tasks, self.tasks)?;
        let AdaptiveState { alone, together, related, .. } = state;
        match (&mut self.machine, alone, together, related) {
            (Machine::Alone(_, alone), Some(saved), None, None) => alone.restore(tasks.max(1), saved)?,
            (Machine::Together(together), None, Some(saved), None) => together.restore(tasks, saved)?,
            (Machine::Related(related), None, None, Some(saved)) => related.restore(tasks, saved)?,
            _ => return Err(StateError::new("the weights are not of the kind that the interaction keeps")),
        }
        self.tasks = tasks;
        Ok(())
    }

    /// Not where a graph or a matrix names its tasks.
    fn forget(&self, state: &mut AdaptiveState, task: usize) -> bool {
        state.tasks -= 1;
        let pooled = matches!(self.machine, Machine::Alone(Uniform::Pooled, _));
        state.alone.iter_mut().for_each(|alone| alone.remove_task(task, pooled));
        state.together.iter_mut().for_each(|together| together.remove_task(task));
        state.related.is_none()
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod update_tests {
    use super::*;

    /// A learner after some examples of three tasks.
    fn learnt(config: &AdaptiveConfig) -> Adaptive {
        let mut learner = Adaptive::build(config, &Tasks::counted(3), None).unwrap();
        for round in 0..60_u32 {
            let values = [f64::from(round % 5) - 2.0, f64::from(round % 7) - 3.0];
            let label = if values[0] + 0.5 * values[1] > 0.0 { 1.0 } else { -1.0 };
            let features = SparseView::trusted(&[0, 4], &values);
            learner.learn(Example::new(TaskId(round % 3), features, label));
        }
        learner
    }

    /// Precisions follow the margin that was predicted; the step begins at the weights as they are, whatever was predicted.
    #[test]
    fn an_update_believes_the_margin_that_it_is_given() {
        let features = SparseView::trusted(&[0, 4], &[1.0, 0.5]);
        let example = Example::new(TaskId(1), features, -1.0);
        let after = |learner: &Adaptive, margin: Option<f64>| {
            let mut learner = learner.clone();
            match margin {
                Some(margin) => assert!(learner.update(example, margin)),
                None => assert!(learner.learn(example).updated),
            }
            let first = learner.margin(example.task, features);
            // Another one: what comes again is known again.
            let other = SparseView::trusted(&[0, 4], &[1.0, 0.25]);
            learner.learn(Example::new(TaskId(1), other, -1.0));
            [first.to_bits(), learner.margin(example.task, features).to_bits()]
        };
        let mixture = learnt(&AdaptiveConfig::default());
        let predicted = mixture.margin(example.task, features);
        assert_eq!(after(&mixture, Some(predicted)), after(&mixture, None));
        let (now, older) = (after(&mixture, Some(predicted)), after(&mixture, Some(predicted + 2.0)));
        assert_eq!(now[0], older[0], "the same step");
        assert_ne!(now[1], older[1], "other precisions after it");
        let interaction = serde_json::from_str("\"independent\"").unwrap();
        let single = learnt(&AdaptiveConfig { interaction, ..AdaptiveConfig::default() });
        assert_eq!(after(&single, Some(7.0)), after(&single, None), "h is of its present margin");
    }

    /// Also before anything is learnt, and where the prior itself overflows.
    #[test]
    fn variances_are_finite_whatever_the_rate() {
        let features = SparseView::trusted(&[0, 4], &[1.0, 1e100]);
        let coupled = ["{\"coupled\": {\"b\": \"auto\"}}", "{\"coupled\": {\"b\": 1.0}}"];
        for interaction in ["\"independent\"", "\"pooled\"", coupled[0], coupled[1]] {
            for rate in [f64::MIN_POSITIVE, 1.0, f64::MAX] {
                let interaction = serde_json::from_str(interaction).unwrap();
                let config = AdaptiveConfig { interaction, rate, ..AdaptiveConfig::default() };
                let fresh = Adaptive::build(&config, &Tasks::counted(3), None).unwrap();
                for learner in [fresh, learnt(&config)] {
                    let variance = learner.variance(TaskId(1), features).unwrap();
                    assert!(variance.is_finite() && variance >= 0.0, "{variance} with the rate {rate}");
                }
            }
        }
    }
}
