//! Comparators in the space of a kernel, given by their dual coefficients.
//!
//! With psi_t the example of round t as the multitask kernel sees it, `psi_s'psi_t = R[i_s, i_t] k(x_s, x_t)`, a comparator
//! u = sum_s beta_s psi_s has on round t the margin sum_s beta_s psi_s'psi_t and the length u'Au = sum_s beta_s (its margin
//! on round s). Theorem 1 of MP10 and both theorems of MB12 need no more of it: rates are R_ii k(x, x) in place of R_ii |x|^2.
//! Under the linear kernel all of this is what vectors give.

use super::budget::Budgeted;
use super::hindsight::{Search, best_length, schedule};
use super::perceptron::{Rate, Told};
use super::theorems::{Claim, Theorems, loss};
use super::transcript::Transcript;
use super::{BoundError, Certificate, Counted, Detail, Formula, Parts, Scope};
use crate::example::TaskId;
use crate::kernel::{merged_product, square};

/// u, by the examples of a run that it is made of, counted from 0, and their coefficients.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DualComparator {
    coefficients: Vec<(usize, f64)>,
}

impl DualComparator {
    /// From examples and coefficients; those of one example add up.
    pub fn new(coefficients: impl IntoIterator<Item = (usize, f64)>) -> Self {
        let mut sums = std::collections::BTreeMap::<usize, f64>::new();
        for (example, coefficient) in coefficients {
            *sums.entry(example).or_default() += coefficient;
        }
        Self { coefficients: sums.into_iter().filter(|(_, coefficient)| *coefficient != 0.0).collect() }
    }

    /// Whether it is 0.
    pub fn is_zero(&self) -> bool {
        self.coefficients.is_empty()
    }

    /// Examples and coefficients, in order.
    pub fn coefficients(&self) -> &[(usize, f64)] {
        &self.coefficients
    }

    /// The last example that it is made of.
    pub fn last(&self) -> Option<usize> {
        self.coefficients.last().map(|pair| pair.0)
    }
}

/// Most examples among which a comparator is sought: their Gram matrix takes 128 MB.
pub const MOST_EXAMPLES: usize = 4000;

/// A run in the space of a kernel.
struct Space<'a> {
    theorems: &'a Theorems,
    transcript: &'a Transcript,
    /// |x|^2.
    squares: Vec<f64>,
}

/// What is known of a comparator.
struct Seen {
    /// `y u'psi` of every example.
    margins: Vec<f64>,
    quadratic: f64,
    supports: usize,
}

impl Seen {
    /// Of `s u`.
    fn scaled(&self, s: f64) -> Self {
        let margins = self.margins.iter().map(|margin| s * margin).collect();
        Self { margins, quadratic: s * s * self.quadratic, supports: self.supports }
    }
}

impl<'a> Space<'a> {
    fn new(theorems: &'a Theorems, transcript: &'a Transcript) -> Self {
        let squares = (0..transcript.len()).map(|at| square(transcript.example(at).features)).collect();
        Self { theorems, transcript, squares }
    }

    /// psi_s'psi_t, among all tasks.
    fn product(&self, s: usize, t: usize) -> f64 {
        let (first, second) = (self.transcript.example(s), self.transcript.example(t));
        let relation = self.theorems.geometry.relation(first.task, second.task, self.transcript.tasks());
        if relation == 0.0 {
            return 0.0;
        }
        let product = merged_product(first.features, second.features);
        relation * self.theorems.kernel.value(product, self.squares[s], self.squares[t])
    }

    /// k(x, x).
    fn length(&self, at: usize) -> f64 {
        self.theorems.kernel.square(self.squares[at])
    }

    fn see(&self, u: &DualComparator) -> Seen {
        let margin =
            |at: usize| -> f64 { u.coefficients.iter().map(|(s, beta)| beta * self.product(*s, at)).sum() };
        let margins: Vec<f64> = (0..self.transcript.len()).map(margin).collect();
        // A sum of products that are positive semidefinite, rounded.
        let quadratic = u.coefficients.iter().map(|(s, beta)| beta * margins[*s]).sum::<f64>().max(0.0);
        let margins = (0..).zip(margins).map(|(at, margin)| self.transcript.example(at).label * margin);
        Seen { margins: margins.collect(), quadratic, supports: u.coefficients.len() }
    }

    /// `R_ii k(x, x)` of each example, mistaken ones only or all, with R of the tasks known in its round.
    fn rates(&self, scope: Scope) -> Vec<f64> {
        let rounds = self.transcript.rounds().flat_map(|(round, known)| round.map(move |at| (at, known)));
        let counted = rounds.filter(|(at, _)| scope == Scope::Everything || self.transcript.is_mistake(*at));
        let rate = |(at, known): (usize, usize)| {
            let task = self.transcript.example(at).task;
            self.theorems.geometry.relation(task, task, known) * self.length(at)
        };
        counted.map(rate).collect()
    }

    fn largest_rate(&self, scope: Scope) -> f64 {
        self.rates(scope).into_iter().fold(0.0, f64::max)
    }

    /// c^2 of MB12.
    fn budget_square(&self, budgeted: Budgeted) -> f64 {
        match budgeted {
            Budgeted::Random { .. } => self.largest_rate(Scope::Everything),
            Budgeted::Forgetron { bound, .. } => {
                let tasks = self.transcript.tasks();
                let diagonal = |task: u32| self.theorems.geometry.relation(TaskId(task), TaskId(task), tasks);
                (0..tasks as u32).map(diagonal).fold(0.0, f64::max) * bound
            }
        }
    }

    fn parts(&self, claim: Claim, seen: &Seen, scope: Scope) -> Result<Parts, BoundError> {
        let mut parts = match claim {
            Claim::Perceptron(Told::Theorem1(rate)) => {
                let rate = match (rate, scope) {
                    (Rate::Mean, Scope::Mistakes) => {
                        self.rates(scope).iter().sum::<f64>() / self.transcript.mistakes().max(1) as f64
                    }
                    _ => self.largest_rate(scope),
                };
                let complexity = if rate == 0.0 { 0.0 } else { rate * seen.quadratic };
                let details = vec![("rate", rate), ("u'Au", seen.quadratic)];
                Parts { complexity, constant: 0.0, formula: Formula::Solved, details }
            }
            Claim::Budget(budgeted) => {
                budgeted.parts_from(self.budget_square(budgeted), seen.quadratic, None)
            }
            _ => return Err(BoundError::Dual { theorem: claim.name() }),
        };
        parts.details.push(("examples it is made of", seen.supports as f64));
        Ok(parts)
    }

    fn certificate(&self, claim: Claim, seen: &Seen) -> Result<Certificate, BoundError> {
        let side = |scope| -> Result<(f64, f64, Parts), BoundError> {
            let parts = self.parts(claim, seen, scope)?;
            let loss = loss(claim, self.transcript, &seen.margins, 1.0, scope);
            let bound = parts.formula.bound(loss, parts.complexity + parts.constant);
            Ok((if bound.is_nan() { f64::INFINITY } else { bound }, loss, parts))
        };
        let (bound, loss, parts) = side(Scope::Mistakes)?;
        let found = self.transcript.mistakes() as f64;
        Ok(Certificate {
            name: claim.name(),
            counted: Counted::Mistakes,
            found,
            bound,
            loss,
            complexity: parts.complexity + parts.constant,
            formula: parts.formula.text(),
            in_advance: side(Scope::Everything)?.0,
            // Sums of thousands of terms, rounded.
            holds: found <= bound * (1.0 + 1e-9),
            vacuous: bound >= self.transcript.len() as f64 || seen.supports == 0,
            parts: parts.details.into_iter().map(|(name, value)| Detail { name, value }).collect(),
        })
    }

    /// The length of `u` with the least right-hand side in advance, and that.
    fn best_length(&self, claim: Claim, seen: &Seen) -> Result<(f64, f64), BoundError> {
        let Claim::Budget(budgeted) = claim else {
            let parts = self.parts(claim, seen, Scope::Everything)?;
            let lost = |s: f64| loss(claim, self.transcript, &seen.margins, s, Scope::Everything);
            return Ok(best_length(&parts, &seen.margins, lost));
        };
        let longest = budgeted.longest_for(self.budget_square(budgeted)) / seen.quadratic.sqrt();
        let mut best = (0.0, self.certificate(claim, &seen.scaled(0.0))?.in_advance);
        for step in (1..=super::theorems::LENGTHS).filter(|_| longest.is_finite()) {
            let length = longest * f64::from(step) / f64::from(super::theorems::LENGTHS);
            let bound = self.certificate(claim, &seen.scaled(length))?.in_advance;
            if bound < best.1 {
                best = (length, bound);
            }
        }
        Ok(best)
    }

    /// Dual coordinate ascent as for vectors, on the Gram matrix: what is found for each weight of length against loss.
    fn directions(&self, gram: &[Vec<f64>], search: Search) -> Vec<(DualComparator, Seen)> {
        let (thetas, passes) = schedule(search);
        let rate = self.largest_rate(Scope::Everything);
        if rate == 0.0 || !rate.is_finite() {
            return Vec::new();
        }
        let labels: Vec<f64> =
            (0..self.transcript.len()).map(|at| self.transcript.example(at).label).collect();
        let (mut alphas, mut margins) = (vec![0.0; labels.len()], vec![0.0; labels.len()]);
        let mut found = Vec::new();
        for theta in thetas {
            let most = 1.0 / (2.0 * theta * rate);
            for at in (0..passes).flat_map(|_| 0..labels.len()).filter(|at| gram[*at][*at] > 0.0) {
                let wanted = (alphas[at] + (1.0 - labels[at] * margins[at]) / gram[at][at]).clamp(0.0, most);
                let change = (wanted - alphas[at]) * labels[at];
                alphas[at] = wanted;
                if change != 0.0 {
                    margins.iter_mut().zip(&gram[at]).for_each(|(margin, value)| *margin += change * value);
                }
            }
            let u = DualComparator::new((0..).zip(alphas.iter().zip(&labels).map(|(alpha, y)| alpha * y)));
            let quadratic = u.coefficients.iter().map(|(s, beta)| beta * margins[*s]).sum::<f64>().max(0.0);
            let signed = margins.iter().zip(&labels).map(|(margin, label)| margin * label).collect();
            let supports = u.coefficients.len();
            found.push((u, Seen { margins: signed, quadratic, supports }));
        }
        found
    }

    fn hindsight(&self, claim: Claim) -> Result<DualComparator, BoundError> {
        let gram: Vec<Vec<f64>> = (0..self.transcript.len())
            .map(|s| (0..self.transcript.len()).map(|t| self.product(s, t)).collect())
            .collect();
        let zero = self.certificate(claim, &self.see(&DualComparator::default()))?.in_advance;
        for search in [Search::Usual, Search::Long] {
            let mut best = (zero, DualComparator::default());
            for (u, seen) in self.directions(&gram, search) {
                let (length, bound) = self.best_length(claim, &seen)?;
                if bound < best.0 {
                    let scaled = u.coefficients.iter().map(|(s, beta)| (*s, length * beta));
                    best = (bound, DualComparator::new(scaled));
                }
            }
            if !best.1.is_zero() {
                return Ok(best.1);
            }
        }
        Ok(DualComparator::default())
    }
}

impl Theorems {
    /// Whether comparators are no vectors: they are then given by dual coefficients, which every learner in dual form takes.
    pub fn needs_dual(&self) -> bool {
        !self.kernel.is_plain()
    }

    /// One certificate per theorem that speaks of comparators in the space of the learner's kernel.
    ///
    /// # Errors
    /// When no theorem of the learner does, or none applies to the run; when an example is not of the run.
    pub fn certify_dual(
        &self,
        transcript: &Transcript,
        comparator: &DualComparator,
    ) -> Result<Vec<Certificate>, BoundError> {
        if let Some(last) = comparator.last().filter(|last| *last >= transcript.len()) {
            let found = (last + 1).to_string();
            return Err(BoundError::Parameter { name: "example", found, expected: "an example of the run" });
        }
        let space = self.space(transcript)?;
        let seen = space.see(comparator);
        let mut certificates: Vec<Certificate> = Vec::new();
        for claim in self.claims.iter().filter(|claim| claim.takes_dual()) {
            let certificate = space.certificate(*claim, &seen)?;
            // The mean rate is worth a row only where it differs from the largest.
            let same = certificates.last().is_some_and(|last| {
                (last.complexity - certificate.complexity).abs() <= 1e-9 * last.complexity.abs()
                    || last.complexity == certificate.complexity
            });
            if !same {
                certificates.push(certificate);
            }
        }
        Ok(certificates)
    }

    /// A good comparator for the first theorem, found on the stream itself.
    ///
    /// # Errors
    /// As [`Self::certify_dual`], and when there are more than [`MOST_EXAMPLES`].
    pub fn hindsight_dual(&self, transcript: &Transcript) -> Result<DualComparator, BoundError> {
        if transcript.len() > MOST_EXAMPLES {
            return Err(BoundError::TooManyExamples { examples: transcript.len(), limit: MOST_EXAMPLES });
        }
        self.space(transcript)?.hindsight(self.claims[0])
    }

    fn space<'a>(&'a self, transcript: &'a Transcript) -> Result<Space<'a>, BoundError> {
        let claim = self.claims[0];
        if !claim.takes_dual() {
            return Err(BoundError::Dual { theorem: claim.name() });
        }
        if !transcript.is_one_task_a_round() {
            return Err(BoundError::Simultaneous { theorem: claim.name() });
        }
        let space = Space::new(self, transcript);
        if let Claim::Budget(budgeted) = claim {
            if self.geometry.follows_tasks() && transcript.has_grown() {
                return Err(BoundError::Grown { theorem: claim.name(), tasks: transcript.tasks() });
            }
            budgeted.check_lengths((0..transcript.len()).map(|at| space.length(at)))?;
        }
        Ok(space)
    }
}

impl Claim {
    /// Whether it needs no more of a comparator than margins and length.
    fn takes_dual(self) -> bool {
        matches!(self, Self::Perceptron(Told::Theorem1(_)) | Self::Budget(_))
    }
}
