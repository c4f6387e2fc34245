//! From examples and parameters to weights, intercepts and structure.

use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::alternating::Search;
use super::penalty::Penalty;
use super::problem::{Point, Problem, Wanted};
use super::structure::{Side, Structure, Terms};
use super::{Examples, FitError, Kept, Loss};
use crate::algorithms::{ConvexConfig, ConvexWeights};
use crate::example::TaskId;
use crate::linalg::{Dense, Symmetric};
use crate::rng::generator;

/// How a fit searches for the minimum, which does not depend on it.
#[derive(Debug, Clone, Copy)]
pub struct FitOptions {
    /// Bytes that matrices may take.
    pub memory: u64,
    /// Where the search begins.
    pub start: Start,
    /// Method to use; none for the one that suits the sizes.
    pub method: Option<Method>,
}

impl Default for FitOptions {
    fn default() -> Self {
        Self { memory: 8 << 30, start: Start::Nothing, method: None }
    }
}

/// Where a search begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// With weights of 0 and A = I.
    Nothing,
    /// With weights drawn by this seed.
    Drawn(u64),
}

/// Method of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// W and A in turn.
    Alternating,
    /// Proximal steps on W.
    Proximal,
    /// Losses and penalty separately, made to agree (ADMM); for squares and the hinge.
    Splitting,
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Stopped {
    /// The gap is within the tolerance.
    Converged,
    /// The limit on iterations was reached.
    OutOfIterations,
    /// No step lowers the objective any more, within rounding, and the gap is not closed.
    Stalled,
}

/// How a search ended; not converging is a result, not an error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FitStatus {
    /// Why.
    pub stopped: Stopped,
    /// Number of iterations.
    pub iterations: usize,
    /// The objective.
    pub objective: f64,
    /// Upper bound on how much lower the minimum can be.
    pub gap: f64,
}

impl std::fmt::Display for FitStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let how = match self.stopped {
            Stopped::Converged => "converged",
            Stopped::OutOfIterations => "out of iterations",
            Stopped::Stalled => "stalled",
        };
        let share = self.gap / self.objective.abs().max(f64::MIN_POSITIVE);
        let Self { iterations, objective, .. } = self;
        write!(f, "{how} after {iterations} iterations: objective {objective:.6}, ")?;
        if share.is_finite() {
            write!(f, "at most {share:.1e} of it above the minimum")
        } else {
            write!(f, "at an unknown distance above the minimum")
        }
    }
}

/// The result of a fit.
#[derive(Debug, Clone)]
pub struct Fitted {
    pub(crate) kept: Kept,
    pub(crate) intercepts: Vec<f64>,
    /// The structure A: how much tasks learn from each other.
    pub relation: Symmetric,
    /// How the search ended.
    pub status: FitStatus,
    /// The objective after every iteration, never increasing. While the barrier delta falls it is taken with the barrier
    /// of the moment.
    pub objectives: Vec<f64>,
    /// Tasks of one class, under the logistic loss: their intercepts are those of all examples, since their own would grow
    /// without end.
    pub shared_intercepts: Vec<TaskId>,
    point: Point,
}

/// Callback with the iteration and the objective; false ends the search.
pub type Watch<'a> = dyn Fn(usize, f64) -> bool + 'a;

/// Examples prepared for a kernel and a loss, to be fitted with several penalties.
pub struct Fitter<'a> {
    examples: &'a Examples,
    problem: Problem,
    made_for: ConvexConfig,
}

/// Fits examples.
///
/// # Errors
/// When parameters do not suit the examples, or memory is short.
pub fn fit(config: &ConvexConfig, examples: &Examples, options: &FitOptions) -> Result<Fitted, FitError> {
    Fitter::new(config, examples, options.memory)?.fit(config, None, options, &|_, _| true)
}

/// Both sides at least this large: a proximal map is cheaper than a step of alternating minimisation.
const LARGE: usize = 48;
/// Taking losses and penalty apart needs the eigenvectors of every task's inputs: at most this many numbers and operations.
const MOST_NUMBERS: usize = 1 << 26;
/// How many times as much memory that takes at its height.
const COPIES: u64 = 3;
const MOST_OPERATIONS: usize = 1 << 33;

impl<'a> Fitter<'a> {
    /// Prepares examples: the decomposition of the Gram matrix is done here, once.
    ///
    /// # Errors
    /// When the loss does not suit the labels, or memory is short.
    pub fn new(config: &ConvexConfig, examples: &'a Examples, memory: u64) -> Result<Self, FitError> {
        config.check()?;
        examples.check_loss(config.loss)?;
        let wanted = Wanted {
            loss: config.loss,
            kernel: &config.kernel,
            mean: config.weights == ConvexWeights::Mean,
            intercept: config.intercept,
            rows: config.penalty.is_rows(),
            memory,
        };
        Ok(Self { examples, problem: Problem::new(examples, wanted)?, made_for: config.clone() })
    }

    /// Whether other parameters can be fitted without preparing the examples again.
    pub fn suits(&self, config: &ConvexConfig) -> bool {
        config.is_prepared_alike(&self.made_for)
    }

    /// Fits with these parameters, from where another fit of the same examples ended if one is given.
    ///
    /// # Errors
    /// When parameters are out of range, do not fit the tasks, or ask for another preparation; see [`Self::suits`].
    pub fn fit(
        &self,
        config: &ConvexConfig,
        warm: Option<&Fitted>,
        options: &FitOptions,
        watch: &Watch<'_>,
    ) -> Result<Fitted, FitError> {
        config.check()?;
        if !self.suits(config) {
            return Err(FitError::Unprepared);
        }
        let penalty = config.penalty_for(self.examples.tasks())?;
        let terms = config.terms();
        let problem = &self.problem;
        let mut point = warm.map_or_else(|| self.start(options.start), |fitted| fitted.point.clone());
        problem.settle(&mut point);
        let mut search = Search {
            problem,
            penalty: &penalty,
            given: Structure::given(&penalty),
            terms,
            tolerance: config.tolerance,
            point,
            objectives: Vec::new(),
            bound: f64::NEG_INFINITY,
            delta: 0.0,
            watch,
        };
        let status = run(&mut search, options.method, config.max_iterations as usize, options.memory);
        let relation = relation(&search.point.w, &penalty, search.given.as_ref(), &terms);
        let (kept, intercepts) = problem.basis.kept(&search.point.w, &search.point.b);
        let Search { point, objectives, .. } = search;
        let shared_intercepts = problem.fixed().into_iter().map(|task| TaskId(task as u32)).collect();
        Ok(Fitted { kept, intercepts, relation, status, objectives, shared_intercepts, point })
    }

    pub(crate) fn examples(&self) -> &Examples {
        self.examples
    }

    /// How hard the examples pull at weights of 0, in the norm that the penalty measures them by; and how much a task's
    /// losses curve along a coordinate, in the mean.
    pub(crate) fn scales(&self, penalty: &Penalty) -> (f64, f64) {
        let mut origin = self.problem.origin();
        let (pull, _) = self.problem.descent(&mut origin);
        let rows = matches!(penalty, Penalty::Rows);
        let square = |row: usize| (0..pull.columns()).map(|j| pull.at(row, j).powi(2)).sum::<f64>();
        let pull = if rows {
            (0..pull.rows()).map(square).fold(0.0, f64::max).sqrt()
        } else {
            pull.transposed_times(&pull)
                .to_symmetric()
                .eigenvalues()
                .last()
                .map_or(0.0, |top| top.max(0.0).sqrt())
        };
        let phi = &self.problem.basis.phi;
        let weighed = self.problem.tasks.iter().map(|task| {
            let square = |input: &u32| phi.column(*input as usize).iter().map(|x| x * x).sum::<f64>();
            task.weight
                * task
                    .inputs
                    .iter()
                    .zip(&task.counts)
                    .map(|(input, count)| count * square(input))
                    .sum::<f64>()
        });
        let pairs = (self.problem.tasks.len() * phi.rows()).max(1) as f64;
        (pull, weighed.sum::<f64>() / pairs)
    }

    fn start(&self, start: Start) -> Point {
        let mut point = self.problem.origin();
        if let Start::Drawn(seed) = start {
            let mut rng = generator(seed, 0);
            for task in 0..point.w.columns() {
                for entry in point.w.column_mut(task) {
                    *entry = StandardNormal.sample(&mut rng);
                }
            }
        }
        point
    }
}

/// By the method that suits the sizes; where alternating steps do not come to an end, proximal ones go on from there. Not
/// the other way round: the barrier with which alternating steps begin would raise the objective.
fn run(search: &mut Search<'_>, method: Option<Method>, iterations: usize, memory: u64) -> FitStatus {
    let large = search.problem.basis.size().min(search.problem.tasks.len()) >= LARGE;
    let (alone, apart) = (search.problem.shared.is_none(), matches!(search.penalty, Penalty::None));
    match method {
        _ if search.problem.loss == Loss::Hinge => search.split(iterations),
        _ if matches!(search.penalty, Penalty::Rows) => search.descend(iterations),
        Some(Method::Splitting) if search.problem.loss == Loss::Squares => search.split(iterations),
        Some(Method::Alternating) => search.alternate(iterations),
        Some(Method::Proximal) => search.descend(iterations),
        _ if alone && !apart && splits_cheaply(search.problem, memory) => search.split(iterations),
        _ if alone && large && search.penalty.is_spectral() => search.descend(iterations),
        _ => {
            let status = search.alternate(iterations / 2);
            let left = iterations.saturating_sub(status.iterations);
            if status.stopped == Stopped::Converged { status } else { search.descend(left) }
        }
    }
}

fn splits_cheaply(problem: &Problem, memory: u64) -> bool {
    let size = problem.basis.size();
    let sides = || problem.tasks.iter().map(|task| (task.inputs.len(), task.inputs.len().min(size)));
    let numbers: usize = sides().map(|(_, smaller)| size * smaller).sum();
    let operations: usize =
        sides().map(|(inputs, smaller)| smaller * smaller * (inputs.max(size) + smaller)).sum();
    problem.loss == Loss::Squares
        && numbers <= MOST_NUMBERS
        && COPIES * 8 * numbers as u64 <= memory
        && operations <= MOST_OPERATIONS
}

/// A; where none is learnt from W (`rows`), the inner products of the tasks' weights, scaled to the trace of I.
fn relation(w: &Dense, penalty: &Penalty, given: Option<&Structure>, terms: &Terms) -> Symmetric {
    if let Penalty::Fixed(a) = penalty {
        return a.clone();
    }
    let identity = || Symmetric::from_fn(w.columns(), |i, j| f64::from(u8::from(i == j)));
    if matches!(penalty, Penalty::Rows) {
        let gram = w.transposed_times(w);
        let trace: f64 = (0..gram.rows()).map(|at| gram.at(at, at)).sum();
        let scale = gram.rows() as f64 / trace;
        return if trace > 0.0 {
            Symmetric::from_fn(gram.rows(), |i, j| scale * f64::midpoint(gram.at(i, j), gram.at(j, i)))
        } else {
            identity()
        };
    }
    Structure::of(w, penalty, given, terms, Side::Tasks)
        .map_or_else(identity, |structure| structure.matrix().to_symmetric())
}
