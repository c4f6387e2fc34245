//! Which theorems apply to a learner, and what they say about a run.

use super::budget::{Budgeted, LEAST_BUDGET};
use super::comparator::Comparator;
use super::geometry::Geometry;
use super::hindsight::{Search, best_length, constant_directions, directions};
use super::perceptron::{self, BestCoupling, Rate, Told, best_coupling};
use super::regret::Regret;
use super::schatten::{self, SharedLoss};
use super::transcript::Transcript;
use super::{BoundError, Certificate, Counted, Detail, Parts, Scope, Theorem, p_norm, second_order};
use crate::algorithms::{LearnerConfig, PNormPerceptronConfig, REGISTRY};
use crate::choice::{NoParameters, Tunable};
use crate::interaction::{CoupledConfig, Edges, GraphConfig, InteractionConfig};
use crate::kernel::{Budget, KernelConfig, LinearConfig};
use crate::tasks::Tasks;
use crate::weights::HalfExponent;

/// The ids of the learners that have a bound.
pub(super) fn learners() -> Vec<&'static str> {
    REGISTRY.iter().filter(|about| !about.theorems.is_empty()).map(|about| about.id).collect()
}

/// The theorems that hold for a learner.
#[derive(Debug, Clone)]
pub struct Theorems {
    /// The first one is that for which a comparator is sought.
    pub(super) claims: Vec<Claim>,
    pub(super) geometry: Geometry,
    pub(super) kernel: KernelConfig,
    /// Whether the strength of coupling is a choice that Corollary 4 can judge.
    has_coupling: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Claim {
    Perceptron(Told),
    PNorm { p: f64 },
    Theorem6 { features: u32 },
    Theorem8 { a: f64 },
    Theorem9 { p: u32 },
    Remark12(SharedLoss),
    Budget(Budgeted),
    Regret(Regret),
}

impl Claim {
    fn theorem(self) -> Theorem {
        match self {
            Self::Perceptron(Told::Theorem1(_)) => Theorem::Theorem1,
            Self::Perceptron(Told::Corollary3) => Theorem::Corollary3,
            Self::Perceptron(Told::Corollary4 { .. }) => Theorem::Corollary4,
            Self::Perceptron(Told::Corollary5) => Theorem::Corollary5,
            Self::PNorm { .. } => Theorem::Equation9,
            Self::Theorem6 { .. } => Theorem::Theorem6,
            Self::Theorem8 { .. } => Theorem::Theorem8,
            Self::Theorem9 { .. } => Theorem::Theorem9,
            Self::Remark12(_) => Theorem::Remark12,
            Self::Budget(Budgeted::Random { .. }) => Theorem::BudgetTheorem1,
            Self::Budget(Budgeted::Forgetron { .. }) => Theorem::BudgetTheorem2,
            Self::Regret(regret) if regret.is_gradient() => Theorem::RobustTheorem3,
            Self::Regret(_) => Theorem::RobustTheorem6,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Perceptron(Told::Theorem1(Rate::Mean)) => "Theorem 1, mean rate",
            other => other.theorem().name(),
        }
    }
}

/// Lengths of a comparator that are tried where they are limited.
pub(super) const LENGTHS: u32 = 50;

impl Theorems {
    /// The theorems of a learner among named tasks; `features` is their number, if declared.
    ///
    /// # Errors
    /// When there are none for the learner, its kernel or its parameters.
    pub fn of(learner: &LearnerConfig, tasks: &Tasks, features: Option<u32>) -> Result<Self, BoundError> {
        let mut kernel = KernelConfig::default();
        let (claims, interaction) = match learner {
            LearnerConfig::Perceptron(config) => {
                (perceptron_claims(&config.interaction)?, config.interaction.clone())
            }
            LearnerConfig::KernelPerceptron(config) => {
                kernel = config.kernel.clone();
                (perceptron_claims(&config.interaction)?, config.interaction.clone())
            }
            LearnerConfig::PNormPerceptron(config) => {
                (p_norm_claims(config, tasks, features)?, config.interaction.clone())
            }
            LearnerConfig::SecondOrderPerceptron(config) => {
                check_kernel(&config.kernel)?;
                let a = positive("a", config.a, "the bound is for a positive number")?;
                (vec![Claim::Theorem8 { a }], config.interaction.clone())
            }
            LearnerConfig::SchattenPerceptron(config) => {
                check_kernel(&config.kernel)?;
                (vec![Claim::Theorem9 { p: half_exponent(config.p, tasks, features)? }], independent())
            }
            LearnerConfig::SharedLossPerceptron(config) => {
                check_kernel(&config.kernel)?;
                let c = positive("c", config.c, "the bound is for a positive number")?;
                let shared =
                    SharedLoss { p: half_exponent(config.p, tasks, features)?, c, norm: config.norm };
                (vec![Claim::Remark12(shared)], independent())
            }
            LearnerConfig::BudgetRandom(config) => {
                kernel = config.kernel.clone();
                let budget = examples(config.budget, 1, "Theorem 1 is for a number of examples")?;
                (vec![Claim::Budget(Budgeted::Random { budget })], config.graph.to_interaction())
            }
            LearnerConfig::BudgetForgetron(config) => {
                kernel = config.kernel.clone();
                let bound = positive("bound", config.bound, "Theorem 2 is for a positive number")?;
                let expected = "Theorem 2 is for a number of more than 83 examples";
                let budget = examples(config.budget, LEAST_BUDGET, expected)?;
                (vec![Claim::Budget(Budgeted::Forgetron { budget, bound })], config.graph.to_interaction())
            }
            LearnerConfig::RomPgd(config) => {
                (vec![Claim::Regret(Regret::of_gradient(config)?)], independent())
            }
            LearnerConfig::RomRda(config) => {
                (vec![Claim::Regret(Regret::of_averaging(config))], independent())
            }
            other => return Err(BoundError::NoTheorem { learner: other.id() }),
        };
        let coupled = matches!(
            interaction,
            InteractionConfig::Independent(_)
                | InteractionConfig::Pairwise(_)
                | InteractionConfig::Coupled(_)
        );
        let has_coupling = coupled && kernel.is_plain() && matches!(claims[0], Claim::Perceptron(_));
        Ok(Self { claims, geometry: Geometry::new(&interaction, tasks)?, kernel, has_coupling })
    }

    /// One certificate per theorem.
    ///
    /// # Errors
    /// When a theorem does not apply to the run.
    pub fn certify(
        &self,
        transcript: &Transcript,
        comparator: &Comparator,
    ) -> Result<Vec<Certificate>, BoundError> {
        check_kernel(&self.kernel)?;
        let u = &comparator.clone().with_tasks(transcript.tasks());
        let mut certificates: Vec<Certificate> = Vec::new();
        for claim in &self.claims {
            if !self.speaks_of(*claim, transcript)? {
                continue;
            }
            let certificate = self.certificate(*claim, transcript, u)?;
            // The mean is worth a row only where it differs from the largest.
            let same = certificates.last().is_some_and(|last| {
                (last.complexity - certificate.complexity).abs() <= 1e-9 * last.complexity.abs()
                    || last.complexity == certificate.complexity
            });
            if !(same && *claim == Claim::Perceptron(Told::Theorem1(Rate::Mean))) {
                certificates.push(certificate);
            }
        }
        Ok(certificates)
    }

    /// The certificate of a comparator that moves: each holds from an example on, counted from 0, the first from the start.
    ///
    /// # Errors
    /// When the theorem is for one that does not, or does not apply to the run; when the examples do not increase from 0.
    pub fn certify_moving(
        &self,
        transcript: &Transcript,
        sequence: &[(usize, Comparator)],
    ) -> Result<Vec<Certificate>, BoundError> {
        check_kernel(&self.kernel)?;
        let claim = self.claims[0];
        let Claim::Budget(budgeted @ Budgeted::Random { .. }) = claim else {
            return Err(BoundError::Moving { theorem: claim.name() });
        };
        self.speaks_of(claim, transcript)?;
        let starts: Vec<usize> = sequence.iter().map(|piece| piece.0).collect();
        if starts.first() != Some(&0) || starts.windows(2).any(|pair| pair[0] >= pair[1]) {
            let expected = "each comparator holds from a later example on, the first from the start";
            return Err(BoundError::Parameter { name: "from", found: format!("{starts:?}"), expected });
        }
        let tasks = transcript.tasks();
        let vectors: Vec<Comparator> =
            sequence.iter().map(|piece| piece.1.clone().with_tasks(tasks)).collect();
        let mut loss = 0.0;
        for at in 0..transcript.len() {
            let piece = starts.partition_point(|start| *start <= at) - 1;
            let example = transcript.example(at);
            loss += (1.0 - example.label * vectors[piece].margin(example)).max(0.0);
        }
        let parts =
            budgeted.parts_of_sequence(transcript, &self.geometry, &vectors.iter().collect::<Vec<_>>());
        let bound = parts.formula.bound(loss, parts.constant);
        let (counted, found, at_most) = counted(claim, transcript);
        Ok(vec![Certificate {
            name: claim.name(),
            counted,
            found,
            bound,
            loss,
            complexity: parts.constant,
            formula: parts.formula.text(),
            // Losses are over all rounds as it is.
            in_advance: bound,
            holds: found <= bound * (1.0 + 1e-9),
            vacuous: bound >= at_most,
            parts: parts.details.into_iter().map(|(name, value)| Detail { name, value }).collect(),
        }])
    }

    /// A good comparator for the first theorem, found on the stream itself.
    ///
    /// # Errors
    /// As [`Self::certify`].
    pub fn hindsight(&self, transcript: &Transcript) -> Result<Comparator, BoundError> {
        check_kernel(&self.kernel)?;
        let claim = self.claims[0];
        self.speaks_of(claim, transcript)?;
        if let Claim::Regret(regret) = claim {
            let (found, zero) = (regret.hindsight(transcript), Comparator::zero(transcript.tasks()));
            let promise =
                |u: &Comparator| self.certificate(claim, transcript, u).map(|found| found.in_advance);
            return Ok(if promise(&found)? <= promise(&zero)? { found } else { zero });
        }
        let others = [independent(), InteractionConfig::Pairwise(NoParameters::default())];
        let others =
            others.iter().map(|other| Geometry::new(other, &Tasks::open())).collect::<Result<Vec<_>, _>>()?;
        let mut found = constant_directions(transcript);
        found.extend(directions(transcript, &self.geometry, Search::Usual));
        if !matches!(claim, Claim::Perceptron(_) | Claim::Theorem8 { .. }) {
            // Another norm may like tasks nearer to each other, or further apart.
            found.extend(others.iter().flat_map(|other| directions(transcript, other, Search::Usual)));
        }
        let best = self.best_of(claim, transcript, found)?;
        if !best.is_zero() {
            return Ok(best);
        }
        let more = std::iter::once(&self.geometry).chain(&others);
        let found = more.flat_map(|geometry| directions(transcript, geometry, Search::Long)).collect();
        self.best_of(claim, transcript, found)
    }

    /// The comparator with the least right-hand side in advance along these directions; zero where none is better.
    fn best_of(
        &self,
        claim: Claim,
        transcript: &Transcript,
        directions: Vec<Comparator>,
    ) -> Result<Comparator, BoundError> {
        let zero = Comparator::zero(transcript.tasks());
        let mut best = (self.certificate(claim, transcript, &zero)?.in_advance, zero);
        for direction in directions {
            let margins = signed_margins(transcript, &direction);
            if let Claim::Budget(budgeted) = claim {
                // The length is limited: some steps up to the longest.
                let most = budgeted.longest(transcript, &self.geometry);
                let longest = most / self.geometry.quadratic(&direction).sqrt();
                for step in (1..=LENGTHS).filter(|_| longest.is_finite()) {
                    let scaled = direction.clone().scaled(longest * f64::from(step) / f64::from(LENGTHS));
                    let bound = self.certificate(claim, transcript, &scaled)?.in_advance;
                    if bound < best.0 {
                        best = (bound, scaled);
                    }
                }
                continue;
            }
            let parts = self.parts(claim, transcript, &direction, Scope::Everything)?;
            let loss = |s: f64| loss(claim, transcript, &margins, s, Scope::Everything);
            let (length, bound) = best_length(&parts, &margins, loss);
            if bound < best.0 {
                best = (bound, direction.scaled(length));
            }
        }
        Ok(best.1)
    }

    /// The strength of coupling that Corollary 4 recommends, if it can be chosen.
    pub fn best_coupling(&self, transcript: &Transcript, comparator: &Comparator) -> Option<BestCoupling> {
        let u = &comparator.clone().with_tasks(transcript.tasks());
        (self.has_coupling && transcript.is_one_task_a_round()).then(|| {
            let margins = signed_margins(transcript, u);
            best_coupling(transcript, u, loss(self.claims[0], transcript, &margins, 1.0, Scope::Everything))
        })
    }

    /// Whether a claim is about such a run; an error if it is the learner's only one.
    fn speaks_of(&self, claim: Claim, transcript: &Transcript) -> Result<bool, BoundError> {
        let theorem = claim.name();
        let grown = self.geometry.follows_tasks() && transcript.has_grown();
        match claim {
            Claim::PNorm { .. } | Claim::Theorem8 { .. } | Claim::Budget(_) if grown => {
                Err(BoundError::Grown { theorem, tasks: transcript.tasks() })
            }
            Claim::Theorem8 { .. } | Claim::Budget(_) if !transcript.is_one_task_a_round() => {
                Err(BoundError::Simultaneous { theorem })
            }
            Claim::Budget(budgeted) => budgeted.check(transcript).map(|()| true),
            Claim::Regret(_) => Regret::check(transcript).map(|()| true),
            Claim::Theorem6 { .. } => Ok(!grown && transcript.is_one_task_a_round()),
            _ => Ok(true),
        }
    }

    fn parts(
        &self,
        claim: Claim,
        transcript: &Transcript,
        u: &Comparator,
        scope: Scope,
    ) -> Result<Parts, BoundError> {
        let geometry = &self.geometry;
        Ok(match claim {
            Claim::Perceptron(told) => perceptron::parts(told, transcript, geometry, u, scope),
            Claim::PNorm { p } => p_norm::general(p, transcript, geometry, u, scope),
            Claim::Theorem6 { features } => p_norm::theorem_6(features, transcript, geometry, u, scope),
            Claim::Theorem8 { a } => second_order::parts(a, transcript, geometry, u, scope)?,
            Claim::Theorem9 { p } => schatten::theorem_9(p, transcript, u, scope),
            Claim::Remark12(shared) => schatten::remark_12(shared, transcript, u, scope),
            Claim::Budget(budgeted) => budgeted.parts(transcript, geometry, u),
            Claim::Regret(regret) => regret.parts(transcript, u, scope),
        })
    }

    fn certificate(
        &self,
        claim: Claim,
        transcript: &Transcript,
        u: &Comparator,
    ) -> Result<Certificate, BoundError> {
        let margins = signed_margins(transcript, u);
        let right_hand_side = |scope| -> Result<(f64, f64, f64, Parts), BoundError> {
            let parts = self.parts(claim, transcript, u, scope)?;
            let penalty = match claim {
                Claim::Regret(regret) => regret.penalty(transcript, u, scope),
                _ => 0.0,
            };
            let loss = penalty + loss(claim, transcript, &margins, 1.0, scope);
            let complexity = parts.complexity + parts.constant;
            let bound = parts.formula.bound(loss, complexity);
            Ok((if bound.is_nan() { f64::INFINITY } else { bound }, loss, complexity, parts))
        };
        let (bound, loss, complexity, parts) = right_hand_side(Scope::Mistakes)?;
        let (in_advance, ..) = right_hand_side(Scope::Everything)?;
        let (counted, found, at_most) = counted(claim, transcript);
        let details = parts.details.into_iter();
        Ok(Certificate {
            name: claim.name(),
            counted,
            found,
            bound,
            loss,
            complexity,
            formula: parts.formula.text(),
            in_advance,
            // Sums of thousands of terms, rounded.
            holds: found <= bound * (1.0 + 1e-9),
            vacuous: bound >= at_most || u.is_zero(),
            parts: details.map(|(name, value)| Detail { name, value }).collect(),
        })
    }
}

/// What is counted, what was counted, and what it is where a learner is always wrong by a margin of 0.
fn counted(claim: Claim, transcript: &Transcript) -> (Counted, f64, f64) {
    let examples = transcript.len() as f64;
    match claim {
        Claim::Remark12(SharedLoss { norm, .. }) => {
            let (mut found, mut at_most) = (0.0, 0.0);
            for (round, _) in transcript.rounds() {
                at_most += norm.of(&vec![1.0; round.len()]);
                found += norm.of(&round.map(|at| transcript.hinge(at)).collect::<Vec<_>>());
            }
            (Counted::SharedLoss, found, at_most)
        }
        Claim::Regret(regret) => (Counted::PenalisedLoss, regret.paid(transcript), examples),
        _ => (Counted::Mistakes, transcript.mistakes() as f64, examples),
    }
}

fn independent() -> InteractionConfig {
    InteractionConfig::Independent(NoParameters::default())
}

fn perceptron_claims(interaction: &InteractionConfig) -> Result<Vec<Claim>, BoundError> {
    let mut told = vec![Told::Theorem1(Rate::Largest), Told::Theorem1(Rate::Mean)];
    match interaction {
        InteractionConfig::Pairwise(_) => told.push(Told::Corollary3),
        InteractionConfig::Coupled(CoupledConfig { b: Tunable::Fixed(b) }) => {
            told.push(Told::Corollary4 { b: *b });
        }
        InteractionConfig::Coupled(CoupledConfig { b: Tunable::Auto }) => {
            return Err(BoundError::Parameter {
                name: "interaction.coupled.b",
                found: "auto".to_owned(),
                expected: "the theorems are for one strength of sharing, a number",
            });
        }
        InteractionConfig::Graph(_) => told.push(Told::Corollary5),
        _ => {}
    }
    Ok(told.into_iter().map(Claim::Perceptron).collect())
}

fn p_norm_claims(
    config: &PNormPerceptronConfig,
    tasks: &Tasks,
    features: Option<u32>,
) -> Result<Vec<Claim>, BoundError> {
    let usual = features.map(|features| p_norm::default_exponent(tasks.count(), features));
    let p = config.p.or(usual).filter(|p| *p >= 2.0).ok_or_else(|| BoundError::Parameter {
        name: "p",
        found: config.p.map_or_else(|| "left out".to_owned(), |p| p.to_string()),
        expected: "it follows the number of features, which must have been declared for the bound, \
                   or is a number of at least 2",
    })?;
    let mut claims = vec![Claim::PNorm { p }];
    let pairwise = match &config.interaction {
        InteractionConfig::Pairwise(_) => true,
        InteractionConfig::Graph(GraphConfig { edges, .. }) => edges == &Some(Edges::Complete),
        _ => false,
    };
    let is_usual = usual.is_some_and(|usual| (p - usual).abs() <= 1e-9 * usual);
    if let Some(features) =
        features.filter(|features| pairwise && is_usual && tasks.count().max(*features as usize) >= 3)
    {
        claims.push(Claim::Theorem6 { features });
    }
    Ok(claims)
}

/// A parameter that must be positive.
fn positive(name: &'static str, value: f64, expected: &'static str) -> Result<f64, BoundError> {
    if value > 0.0 {
        Ok(value)
    } else {
        Err(BoundError::Parameter { name, found: value.to_string(), expected })
    }
}

/// p of a Schatten norm.
fn half_exponent(p: Tunable, tasks: &Tasks, features: Option<u32>) -> Result<u32, BoundError> {
    let p = match p {
        Tunable::Fixed(p) => p,
        Tunable::Auto => {
            let expected = "p follows the number of tasks, which must have been declared for the bound";
            let refused = || BoundError::Parameter { name: "p", found: "auto".to_owned(), expected };
            let tasks = tasks.limit().ok_or_else(refused)?;
            f64::from(HalfExponent::Logarithm { features }.among(tasks))
        }
    };
    if p.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(&p) {
        Ok(p as u32)
    } else {
        let expected = "the bound is for a whole number of at least 1";
        Err(BoundError::Parameter { name: "p", found: p.to_string(), expected })
    }
}

/// B, a number of examples of at least `least`.
fn examples(budget: Budget, least: u64, expected: &'static str) -> Result<f64, BoundError> {
    match budget {
        Budget::Examples(count) if count >= least => Ok(count as f64),
        Budget::Examples(_) | Budget::Bytes(_) => Err(BoundError::Parameter {
            name: "budget",
            found: serde_json::json!(budget).to_string(),
            expected,
        }),
    }
}

/// That comparators are vectors.
fn check_kernel(kernel: &KernelConfig) -> Result<(), BoundError> {
    let name = match kernel {
        KernelConfig::Linear(LinearConfig { normalize: false }) => return Ok(()),
        KernelConfig::Linear(LinearConfig { normalize: true }) => "linear with normalize",
        KernelConfig::Polynomial(_) => "polynomial",
        KernelConfig::Gaussian(_) => "gaussian",
    };
    Err(BoundError::Kernel { kernel: name.to_owned() })
}

/// `y u_i'x` of every example.
fn signed_margins(transcript: &Transcript, u: &Comparator) -> Vec<f64> {
    let examples = (0..transcript.len()).map(|at| transcript.example(at));
    examples.map(|example| example.label * u.margin(example)).collect()
}

/// L of `s u`, from the margins of u.
pub(super) fn loss(claim: Claim, transcript: &Transcript, margins: &[f64], s: f64, scope: Scope) -> f64 {
    let hinge = |at: usize| (1.0 - s * margins[at]).max(0.0);
    match claim {
        // The shared loss counts in every round, mistaken or not.
        Claim::Remark12(SharedLoss { norm, .. }) => {
            transcript.rounds().map(|(round, _)| norm.of(&round.map(hinge).collect::<Vec<_>>())).sum()
        }
        // The mean over the draws: which rounds are mistaken is not known.
        // And regret is over all rounds.
        Claim::Budget(Budgeted::Random { .. }) | Claim::Regret(_) => (0..transcript.len()).map(hinge).sum(),
        _ => {
            let counted = |at: &usize| scope == Scope::Everything || transcript.is_mistake(*at);
            (0..transcript.len()).filter(counted).map(hinge).sum()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The theorems that speak of a learner, by its config as JSON.
    fn claimed(learner: &str) -> Result<Vec<Theorem>, BoundError> {
        let learner: LearnerConfig = serde_json::from_str(learner).unwrap();
        let theorems = Theorems::of(&learner, &Tasks::numbered(4), Some(12))?;
        Ok(theorems.claims.iter().map(|claim| claim.theorem()).collect())
    }

    /// The registry lists the theorems that some interaction or other brings, and no others.
    #[test]
    fn the_registry_lists_the_theorems_that_are_claimed() {
        let interactions = [
            "",
            r#""interaction": "pairwise""#,
            r#""interaction": {"coupled": {"b": 2}}"#,
            r#""interaction": {"graph": {"edges": "complete"}}"#,
            r#""eta": 0.1"#,
        ];
        for about in REGISTRY {
            let id = about.id;
            let mut found = Vec::new();
            for interaction in interactions {
                let learner = format!(r#"{{"{id}": {{{interaction}}}}}"#);
                if serde_json::from_str::<LearnerConfig>(&learner).is_err() {
                    continue;
                }
                match claimed(&learner) {
                    Ok(claims) => found.extend(claims),
                    Err(BoundError::NoTheorem { learner }) => assert_eq!(learner, id),
                    // `rom-pgd` has a theorem for a number only.
                    Err(BoundError::Parameter { name: "eta", .. }) => {}
                    Err(error) => panic!("{learner}: {error}"),
                }
            }
            found.sort_unstable();
            found.dedup();
            assert_eq!(found, about.theorems, "{id}");
        }
    }
}
