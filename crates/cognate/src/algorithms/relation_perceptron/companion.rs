//! `priming = "auto"`: when R should begin to move, and what if it should not have.
//!
//! LR11 leaves open how long to wait until the weights are good enough to say how tasks are related. Two answers:
//!
//! When: R moves in the shade from the first mistake, while updates still go to their own task alone. On every round
//! both margins are looked at, that of the task's own weights and that of the row of R over all weights. A sign test
//! over the rounds on which one of them is wrong decides: once R has won by two standard deviations (and 10 such
//! rounds), updates go where R says. Where sharing does not help, that never happens.
//!
//! What if: beside the learner whose R moves learns one without any relation, one Perceptron per task. Predictions are the
//! mean of both margins, each by how much it is trusted (hedge.rs). Until the test decides both learn the same, and
//! only one keeps it. So a relation that was good at first and turns out
//! bad costs little; and the mean of two errs less than either. One whose weight falls below a millionth is asleep: it
//! no longer learns and says what the other says, so that weights stay as they are and nothing is paid for it.
//!
//! `scale-free` weighs its evidence itself and needs no test; it has the companion.

use serde::{Deserialize, Serialize};

use crate::algorithms::perceptron::{Perceptron, PerceptronConfig, PerceptronState};
use crate::algorithms::{Algorithm, Parameters as _};
use crate::choice::NoParameters;
use crate::error::{ConfigError, StateError};
use crate::example::{Example, SparseView, TaskId, is_mistake};
use crate::hedge::{Hedge, HedgeState};
use crate::interaction::InteractionConfig;
use crate::learner::{Inspect, LearnOne, Outcome, Predict};
use crate::tasks::Tasks;

/// Rounds on which exactly one was right, before the test may decide.
const LEAST_ROUNDS: u64 = 10;

/// Standard deviations by which R must have won.
const DEVIATIONS: f64 = 2.0;

/// One whose weight is below this has lost for good.
const LEAST_TRUST: f64 = 1e-6;

/// The one that no longer learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asleep {
    /// The one without a relation.
    Alone,
    /// The one whose R moves.
    Moved,
}

#[derive(Debug, Clone)]
pub(super) struct Companion {
    alone: Perceptron,
    /// Of the one alone, and of the one whose R moves.
    trust: Hedge<2>,
    start: f64,
    test: SignTest,
}

/// How often each was right when the other was not.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct SignTest {
    #[serde(deserialize_with = "crate::count::saved")]
    wins: u64,
    #[serde(deserialize_with = "crate::count::saved")]
    losses: u64,
    /// The round on which R had won.
    decided: Option<u64>,
}

impl Companion {
    pub(super) fn new(tasks: &Tasks, start: f64) -> Result<Self, ConfigError> {
        let config =
            PerceptronConfig { interaction: InteractionConfig::Independent(NoParameters::default()) };
        debug_assert!(config.validate().is_empty(), "independent has no parameters");
        let alone = Perceptron::build(&config, tasks, None)?;
        Ok(Self { alone, trust: Hedge::new(), start, test: SignTest::default() })
    }

    /// The margin of the one that learns alone.
    pub(super) fn margin(&self, task: TaskId, x: SparseView<'_>) -> f64 {
        self.start * self.alone.margin(task, x)
    }

    /// The mean of the two.
    pub(super) fn mean(&self, alone: f64, moved: f64) -> f64 {
        self.trust.margin([alone, moved])
    }

    /// The weight of the one whose R moves.
    pub(super) fn trust(&self) -> f64 {
        self.trust.weights()[1]
    }

    /// Which of the two has lost for good.
    pub(super) fn asleep(&self) -> Option<Asleep> {
        let [alone, moved] = self.trust.weights();
        match (alone < LEAST_TRUST, moved < LEAST_TRUST) {
            (true, _) => Some(Asleep::Alone),
            (_, true) => Some(Asleep::Moved),
            _ => None,
        }
    }

    /// The round since which updates go where R says.
    pub(super) fn decided(&self) -> Option<u64> {
        self.test.decided
    }

    /// Looks whether R, in the shade, would have been right; says whether that decides.
    pub(super) fn test(&mut self, round: u64, label: f64, own: f64, shaded: f64) -> bool {
        let (own, shaded) = (is_mistake(label, own), is_mistake(label, shaded));
        self.test.wins += u64::from(own && !shaded);
        self.test.losses += u64::from(shaded && !own);
        let SignTest { wins, losses, .. } = self.test;
        let rounds = wins + losses;
        let ahead = wins as f64 - losses as f64;
        if rounds >= LEAST_ROUNDS && ahead > DEVIATIONS * (rounds as f64).sqrt() {
            self.test.decided = Some(round);
        }
        self.test.decided.is_some()
    }

    /// From here on the one alone has weights of its own: one list per task, those that both have learnt.
    pub(super) fn take_over(&mut self, weights: impl Iterator<Item = Vec<(u32, f64)>>) {
        for (task, weights) in weights.enumerate() {
            // Weights may be larger than values of examples are allowed to be.
            let largest = weights.iter().map(|pair| pair.1.abs()).fold(1.0, f64::max);
            let (features, values): (Vec<u32>, Vec<f64>) =
                weights.into_iter().map(|(feature, weight)| (feature, weight / largest)).unzip();
            let weights = SparseView::trusted(&features, &values);
            self.alone.add_own(TaskId(task as u32), weights, largest / self.start);
        }
    }

    /// The one alone learns; an example whose place in a batch is given was asked for.
    pub(super) fn learn(&mut self, example: Example<'_>, asked: Option<usize>) -> Outcome {
        let Outcome { margin, updated } = match asked {
            Some(at) => self.alone.learn_asked(at, example),
            None => self.alone.learn(example),
        };
        Outcome { margin: self.start * margin, updated }
    }

    /// Asks for the weights of the given example of a batch.
    pub(super) fn ask_for(&mut self, at: usize, example: Example<'_>) {
        self.alone.ask_for(at, example);
    }

    /// The one alone learns an example whose margin is known; says whether it changed.
    pub(super) fn update(&mut self, example: Example<'_>, alone: f64) -> bool {
        self.alone.update(example, alone)
    }

    /// Both are judged; says whether anything changed.
    pub(super) fn judge(&mut self, label: f64, alone: f64, moved: f64, margin: f64) -> bool {
        self.trust.count(label, [alone, moved], margin)
    }

    /// Makes room for a task.
    pub(super) fn meet(&mut self, task: TaskId) {
        self.alone.skip(task);
    }

    pub(super) fn weights(&self, task: TaskId) -> Vec<(u32, f64)> {
        let mut weights = self.alone.weights(task);
        weights.iter_mut().for_each(|pair| pair.1 *= self.start);
        weights
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.alone.heap_bytes()
    }

    pub(super) fn state(&self) -> CompanionState {
        CompanionState { alone: self.alone.state(), trust: self.trust.state(), test: self.test }
    }

    pub(super) fn restore(&mut self, state: CompanionState) -> Result<(), StateError> {
        self.alone.restore(state.alone)?;
        self.trust = Hedge::restore(&state.trust)?;
        self.test = state.test;
        Ok(())
    }
}

/// Saved form of [`Companion`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CompanionState {
    alone: PerceptronState,
    trust: HedgeState,
    test: SignTest,
}
