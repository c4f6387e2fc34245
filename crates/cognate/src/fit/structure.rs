//! The best structure A for given W, and what it makes of the penalty.
//!
//! A is kept by its spectrum and never inverted: W = Z E^(1/2) with E = (lambda A^-1 + ridge I)^-1, whose eigenvalues
//! a/(lambda + ridge a) are harmless where A is singular. A penalty that depends on singular values only may as well sit
//! on the other side, D = W W' instead of W'W (Theorem 6.4): eigenvalues are the same, and tasks come apart.

use super::penalty::{Cluster, Penalty};
use crate::linalg::{Dense, dot};

/// The numbers of the objective beside loss and penalty.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) lambda: f64,
    pub(crate) ridge: f64,
    pub(crate) delta: f64,
}

impl Terms {
    /// The eigenvalue of E for one of A.
    pub(crate) fn energy(&self, a: f64) -> f64 {
        a / (self.lambda + self.ridge * a)
    }
}

/// Which side of W the structure is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// K x K.
    Tasks,
    /// As large as the coordinates.
    Coordinates,
}

/// A structure and the W that it was found for.
#[derive(Debug, Clone)]
pub(crate) struct Structure {
    /// Eigenvectors, none for the identity.
    pub(crate) vectors: Option<Dense>,
    /// Eigenvalues of A in their order.
    pub(crate) a: Vec<f64>,
    /// The penalty at W: lambda tr(A^-1 (W'W + delta^2 I)) + ridge tr(W'W) + F(A).
    pub(crate) value: f64,
}

/// The direction of equal tasks comes last, as its eigenvalue is made the largest.
fn without_mean(gram: &Dense) -> Dense {
    let tasks = gram.rows();
    let mean = |column: usize| gram.column(column).iter().sum::<f64>() / tasks as f64;
    let means: Vec<f64> = (0..tasks).map(mean).collect();
    let all = means.iter().sum::<f64>() / tasks as f64;
    let trace: f64 = (0..tasks).map(|at| gram.at(at, at)).sum();
    let lift = (2.0 * trace + 1.0) / tasks as f64;
    Dense::from_fn(tasks, tasks, |i, j| gram.at(i, j) - means[i] - means[j] + all + lift)
}

/// W as it differs from the mean task, taken apart on its smaller side.
pub(crate) struct BesideMean {
    /// The mean of the tasks' columns.
    mean: Vec<f64>,
    differences: Dense,
    /// Eigenvectors of the smaller Gram matrix of the differences.
    vectors: Dense,
    on_rows: bool,
    /// Its eigenvalues in their order, then zeros: one fewer than there are tasks.
    pub(crate) squares: Vec<f64>,
}

impl BesideMean {
    /// None where the spectrum cannot be found.
    pub(crate) fn of(w: &Dense) -> Option<Self> {
        let tasks = w.columns();
        let mut mean = vec![0.0; w.rows()];
        for task in 0..tasks {
            mean.iter_mut().zip(w.column(task)).for_each(|(mean, w)| *mean += w / tasks as f64);
        }
        let differences = Dense::from_fn(w.rows(), tasks, |row, task| w.at(row, task) - mean[row]);
        let on_rows = w.rows() < tasks;
        let gram = if on_rows {
            differences.times_transposed(&differences)
        } else {
            differences.transposed_times(&differences)
        };
        let (values, vectors) = gram.eigen()?;
        // On the tasks' side the smallest is that of equal tasks, along which there is no difference.
        let beside = if on_rows { &values[..] } else { &values[1..] };
        let mut squares: Vec<f64> = beside.iter().map(|value| value.max(0.0)).collect();
        squares.resize(tasks - 1, 0.0);
        Some(Self { mean, differences, vectors, on_rows, squares })
    }

    /// The square of W along the direction of equal tasks.
    pub(crate) fn mean_square(&self) -> f64 {
        self.differences.columns() as f64 * dot(&self.mean, &self.mean)
    }

    /// The W whose differences and mean are scaled by these factors.
    pub(crate) fn scaled(&self, factors: &[f64], mean: f64) -> Dense {
        let size = self.vectors.columns();
        let mut all = vec![1.0; size];
        let first = usize::from(!self.on_rows);
        all[first..].copy_from_slice(&factors[..size - first]);
        let mut scaled = self.vectors.clone();
        scaled.scale_columns(&all);
        let mut w = if self.on_rows {
            scaled.times(&self.vectors.transposed_times(&self.differences))
        } else {
            self.differences.times(&scaled).times_transposed(&self.vectors)
        };
        for task in 0..w.columns() {
            w.column_mut(task).iter_mut().zip(&self.mean).for_each(|(w, of_all)| *w += mean * of_all);
        }
        w
    }

    /// The penalty `cluster` of W under the best A.
    pub(crate) fn penalty(&self, cluster: &Cluster, terms: &Terms) -> f64 {
        let barrier = terms.delta * terms.delta;
        let m: Vec<f64> = self.squares.iter().map(|square| square + barrier).collect();
        let a = Penalty::Cluster(*cluster).step(&m, terms.lambda);
        let along = terms.lambda * cluster.mean * (self.mean_square() + barrier);
        let beside: f64 = m.iter().zip(&a).map(|(m, a)| terms.lambda * m / a).sum();
        along + beside + terms.ridge * (self.squares.iter().sum::<f64>() + self.mean_square())
    }
}

impl Structure {
    /// The best structure for W; none where its spectrum cannot be found.
    pub(crate) fn of(
        w: &Dense,
        penalty: &Penalty,
        given: Option<&Structure>,
        terms: &Terms,
        side: Side,
    ) -> Option<Self> {
        let tasks = w.columns();
        let size = if side == Side::Tasks { tasks } else { w.rows() };
        let barrier = terms.delta * terms.delta;
        if let Some(given) = given {
            // lambda tr(A^-1 W'W) where A is 0 and W is not is infinite, and W never gets there.
            let rotated = given.vectors.as_ref().map(|vectors| w.times(vectors));
            let rotated = rotated.as_ref().unwrap_or(w);
            let square = |j: usize| rotated.column(j).iter().map(|x| x * x).sum::<f64>();
            let value =
                (0..tasks).filter(|j| given.a[*j] > 0.0).map(|j| square(j) / terms.energy(given.a[j]));
            return Some(Self { value: value.sum(), ..given.clone() });
        }
        if matches!(penalty, Penalty::None) {
            let a = vec![1.0; size];
            return Some(Self { vectors: None, a, value: (terms.lambda + terms.ridge) * w.inner(w) });
        }
        let gram = if side == Side::Tasks { w.transposed_times(w) } else { w.times_transposed(w) };
        if let Penalty::Cluster(cluster) = penalty {
            let (values, vectors) = without_mean(&gram).eigen()?;
            let mut m: Vec<f64> = values[..tasks - 1].iter().map(|m| m.max(0.0) + barrier).collect();
            let mut a = penalty.step(&m, terms.lambda);
            let along = vectors.column(tasks - 1);
            let mean: f64 = (0..tasks).map(|j| along[j] * dot(gram.column(j), along)).sum();
            m.push(mean.max(0.0) + barrier);
            a.push(1.0 / cluster.mean);
            let value =
                m.iter().zip(&a).map(|(m, a)| terms.lambda * m / a).sum::<f64>() + terms.ridge * w.inner(w);
            return Some(Self { vectors: Some(vectors), a, value });
        }
        let (values, vectors) = gram.eigen()?;
        // M has as many eigenvalues as there are tasks, on whichever side they are found: the rest of W W' are zeros.
        let mut m: Vec<f64> = values.iter().map(|m| m.max(0.0) + barrier).collect();
        m.resize(size.max(tasks), barrier);
        let mut a = penalty.step(&m, terms.lambda);
        let counted = m.len() - tasks..;
        let pairs = m[counted.clone()].iter().zip(&a[counted.clone()]);
        let paid: f64 = pairs.filter(|(m, _)| **m > 0.0).map(|(m, a)| terms.lambda * m / a).sum();
        let value = paid + terms.ridge * w.inner(w) + penalty.value(&a[counted]);
        a.truncate(size);
        Some(Self { vectors: Some(vectors), a, value })
    }

    /// A structure that was given, by its spectrum.
    pub(crate) fn given(penalty: &Penalty) -> Option<Self> {
        let Penalty::Fixed(a) = penalty else { return None };
        let (values, vectors) = Dense::from_symmetric(a).eigen()?;
        let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(*value));
        // What rounding left of a zero is a zero.
        let a = values.iter().map(|value| if *value > 1e-12 * largest { *value } else { 0.0 }).collect();
        Some(Self { vectors: Some(vectors), a, value: 0.0 })
    }

    /// The matrix with other eigenvalues.
    pub(crate) fn with_values(&self, values: &[f64]) -> Dense {
        match &self.vectors {
            None => Dense::from_fn(values.len(), values.len(), |i, j| if i == j { values[i] } else { 0.0 }),
            Some(vectors) => {
                let mut scaled = vectors.clone();
                scaled.scale_columns(values);
                scaled.times_transposed(vectors)
            }
        }
    }

    /// E^(1/2), as a map of matrices with as many rows.
    pub(crate) fn root(&self, terms: &Terms) -> impl Fn(&Dense) -> Dense + use<> {
        let roots: Vec<f64> = self.a.iter().map(|a| terms.energy(*a).sqrt()).collect();
        let rotated = self.vectors.is_some().then(|| self.with_values(&roots));
        move |matrix: &Dense| match &rotated {
            Some(root) => root.times(matrix),
            None => {
                let mut scaled = matrix.clone();
                scaled.scale_rows(&roots);
                scaled
            }
        }
    }

    /// A.
    pub(crate) fn matrix(&self) -> Dense {
        self.with_values(&self.a)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::fit::penalty::water_fill;

    fn vectors() -> Value {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/batch.json");
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    }

    fn numbers(value: &Value) -> Vec<f64> {
        value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    }

    fn matrix(value: &Value) -> Dense {
        let rows: Vec<Vec<f64>> = value.as_array().unwrap().iter().map(numbers).collect();
        Dense::from_fn(rows.len(), rows.len(), |i, j| rows[i][j])
    }

    /// A root of M, so that W'W = M.
    fn root(m: &Dense) -> Dense {
        let (values, vectors) = m.eigen().unwrap();
        let roots = values.iter().map(|value| value.max(0.0).sqrt()).collect::<Vec<_>>();
        Structure { vectors: Some(vectors), a: roots, value: 0.0 }.matrix()
    }

    #[test]
    fn steps_are_those_of_the_vectors() {
        let vectors = vectors();
        let cases = vectors["structure_steps"].as_array().unwrap();
        let mut seen = 0;
        for case in cases.iter().filter(|case| case.get("M").is_some()) {
            let of = |name: &str| case["penalty"][name].as_f64().unwrap_or_default();
            let lambda = case["lam"].as_f64().unwrap();
            let expected = matrix(&case["A"]);
            let kind = case["penalty"]["kind"].as_str().unwrap();
            let (penalty, scale) = match kind {
                "schatten" => (Penalty::Schatten { p: of("p") }, 1.0),
                // F = |A|_p has the step of |A|_p^p at lambda p |A|_p^(p-1) (Theorem 6.4 has the first, (4) the second).
                "schatten_norm" => {
                    let p = of("p");
                    let norm =
                        expected.eigen().unwrap().0.iter().map(|a| a.powf(p)).sum::<f64>().powf(1.0 / p);
                    (Penalty::Schatten { p }, p * norm.powf(p - 1.0))
                }
                "trace_one" => (Penalty::TraceOne, 1.0),
                "logdet" => (Penalty::LogDet { mu: of("mu"), tau: of("tau") }, 1.0),
                "cluster" => {
                    let (mean, between, within) = (of("eps_M"), of("eps_B"), of("eps_W"));
                    (Penalty::Cluster(Cluster { clusters: of("r"), mean, between, within }), 1.0)
                }
                other => panic!("{other}"),
            };
            let terms = Terms { lambda: lambda * scale, ridge: 0.0, delta: 0.0 };
            let w = root(&matrix(&case["M"]));
            let found = Structure::of(&w, &penalty, None, &terms, Side::Tasks).unwrap();
            let a = found.matrix();
            for i in 0..a.rows() {
                for j in 0..a.rows() {
                    assert!((a.at(i, j) - expected.at(i, j)).abs() < 1e-8, "{kind}: {i} {j}");
                }
            }
            if kind != "schatten_norm" {
                assert!(
                    (found.value - case["value"].as_f64().unwrap()).abs() < 1e-8,
                    "{kind}: {}",
                    found.value
                );
            }
            seen += 1;
        }
        assert_eq!(seen, 8);
    }

    #[test]
    fn water_levels_are_those_of_the_vectors() {
        let vectors = vectors();
        for case in vectors["waterfill"].as_array().unwrap() {
            let of = |name: &str| case[name].as_f64().unwrap();
            let found = water_fill(&numbers(&case["m"]), of("lo"), of("hi"), of("total"));
            for (found, expected) in found.iter().zip(numbers(&case["s"])) {
                assert!((found - expected).abs() < 1e-8, "{case}: {found}");
            }
        }
    }
}
