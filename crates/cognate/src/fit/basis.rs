//! Coordinates in which the solvers work, whatever the kernel.
//!
//! Either way they are chosen so that phi phi' is diagonal, which makes the supervised step on shared inputs one
//! division per entry:
//!
//! - linear kernel, fewer features than inputs: X'X = V S V' and phi = V'x, w = V W;
//! - else the Gram matrix is K = U S U', phi_i = S^(1/2) U'e_i, and f = sum_i k(x, x_i) c_i with C = U S^(-1/2) W.
//!
//! With intercepts, phi has mean 0 over the inputs, each as often as examples of it count: the intercepts take up the
//! difference. Directions in which the
//! inputs do not differ by more than rounding are left out. `rows` needs the features themselves, unrotated.

use super::{Examples, FitError};
use crate::kernel::{KernelConfig, Supports};
use crate::linalg::Dense;

/// Inputs as points, and the way back.
pub(crate) struct Basis {
    /// One column per input.
    pub(crate) phi: Dense,
    /// phi phi' where that is diagonal.
    pub(crate) spectrum: Option<Vec<f64>>,
    back: Back,
}

enum Back {
    /// w = vectors W; `mean` was subtracted from the features.
    Features { features: Vec<u32>, vectors: Option<Dense>, mean: Vec<f64> },
    /// C = map W; `mean` holds the means of the rows of K.
    Inputs { map: Dense, mean: Option<Vec<f64>> },
}

/// What a model keeps of its weights.
#[derive(Debug, Clone)]
pub(crate) enum Kept {
    /// A weight for every feature and task.
    Weights { features: Vec<u32>, weights: Dense },
    /// A coefficient for every input and task.
    Coefficients(Dense),
}

/// Whether a kernel works on features themselves for this many inputs.
pub(crate) fn is_primal(kernel: &KernelConfig, features: usize, inputs: usize, rows: bool) -> bool {
    kernel.is_plain() && (rows || features < inputs)
}

impl Basis {
    pub(crate) fn new(
        examples: &Examples,
        kernel: &KernelConfig,
        centred: bool,
        rows: bool,
        memory: u64,
    ) -> Result<Self, FitError> {
        let features = examples.features();
        if is_primal(kernel, features.len(), examples.inputs(), rows) {
            Self::of_features(examples, features, centred, rows, memory)
        } else {
            Self::of_gram(examples, kernel, centred, memory)
        }
    }

    fn of_features(
        examples: &Examples,
        features: Vec<u32>,
        centred: bool,
        rows: bool,
        memory: u64,
    ) -> Result<Self, FitError> {
        let (d, n) = (features.len(), examples.inputs());
        // Inputs twice, and three square matrices.
        let bytes = 8 * (2 * d as u64 * n as u64 + 3 * (d as u64).pow(2));
        if bytes > memory {
            let what = format!("the table of {n} inputs and {d} features");
            return Err(FitError::TooLarge { what, bytes, limit: memory, linear: true });
        }
        let mut x = Dense::zeros(d, n);
        for input in 0..n {
            for (feature, value) in examples.input(input).iter() {
                let row = features.binary_search(&feature).expect("every feature is listed");
                x.set(row, input, value);
            }
        }
        let mut mean = vec![0.0; d];
        if centred {
            let (counts, total) = counts_of(examples);
            for (input, count) in counts.iter().enumerate() {
                mean.iter_mut().zip(x.column(input)).for_each(|(mean, x)| *mean += count * x);
            }
            mean.iter_mut().for_each(|mean| *mean /= total);
            for input in 0..n {
                x.column_mut(input).iter_mut().zip(&mean).for_each(|(x, mean)| *x -= mean);
            }
        }
        if rows {
            return Ok(Self {
                phi: x,
                spectrum: None,
                back: Back::Features { features, vectors: None, mean },
            });
        }
        let (values, vectors) =
            x.times_transposed(&x).eigen().ok_or(FitError::NotFinite { what: "a product of two inputs" })?;
        let (spectrum, vectors) = kept_directions(&values, &vectors, |_| 1.0);
        let phi = vectors.transposed_times(&x);
        let back = Back::Features { features, vectors: Some(vectors), mean };
        Ok(Self { phi, spectrum: Some(spectrum), back })
    }

    fn of_gram(
        examples: &Examples,
        kernel: &KernelConfig,
        centred: bool,
        memory: u64,
    ) -> Result<Self, FitError> {
        let n = examples.inputs();
        // The Gram matrix, its copy for the decomposition, eigenvectors, coordinates.
        let bytes = 8 * 4 * (n as u64).pow(2);
        if bytes > memory {
            let what = format!("the Gram matrix of {n} inputs, with its eigenvectors,");
            return Err(FitError::TooLarge { what, bytes, limit: memory, linear: kernel.is_plain() });
        }
        let mut supports = Supports::default();
        for input in 0..n {
            let at = examples.first_example(input);
            let example = examples.example(at as usize);
            supports.push(example.task, example.features, u64::from(at) + 1);
        }
        let mut gram = Dense::zeros(n, n);
        let mut likenesses = Vec::new();
        for input in 0..n {
            supports.likenesses(kernel, examples.input(input), &mut likenesses);
            gram.column_mut(input).copy_from_slice(&likenesses);
        }
        if !gram.is_finite() {
            return Err(FitError::NotFinite { what: "a value of the kernel" });
        }
        let (counts, total) = counts_of(examples);
        let mean_of = |numbers: &[f64]| {
            numbers.iter().zip(&counts).map(|(number, count)| count * number).sum::<f64>() / total
        };
        let mean = centred.then(|| {
            let means: Vec<f64> = (0..n).map(|at| mean_of(gram.column(at))).collect();
            let all = mean_of(&means);
            for input in 0..n {
                let shift = all - means[input];
                gram.column_mut(input).iter_mut().zip(&means).for_each(|(k, mean)| *k += shift - mean);
            }
            means
        });
        let (values, vectors) =
            gram.eigen().ok_or(FitError::NotFinite { what: "a sum over the Gram matrix" })?;
        drop(gram);
        let (spectrum, mut map) = kept_directions(&values, &vectors, |value| 1.0 / value.sqrt());
        // phi = S^(1/2) U' = S map'.
        let phi = Dense::from_fn(spectrum.len(), n, |k, i| map.at(i, k) * spectrum[k]);
        if centred {
            // k(x, x_i) less the mean over inputs of k(x, .), in terms of k(x, x_i); and what rounding left.
            for k in 0..map.columns() {
                let column = map.column_mut(k);
                let sum = column.iter().sum::<f64>();
                column.iter_mut().zip(&counts).for_each(|(entry, count)| *entry -= count * sum / total);
            }
        }
        Ok(Self { phi, spectrum: Some(spectrum), back: Back::Inputs { map, mean } })
    }

    /// Number of coordinates.
    pub(crate) fn size(&self) -> usize {
        self.phi.rows()
    }

    /// What a model keeps of W and intercepts.
    pub(crate) fn kept(&self, w: &Dense, intercepts: &[f64]) -> (Kept, Vec<f64>) {
        let less = |means: &[f64], table: &Dense| -> Vec<f64> {
            let shift = |task: usize| crate::linalg::dot(means, table.column(task));
            intercepts.iter().enumerate().map(|(task, b)| b - shift(task)).collect()
        };
        match &self.back {
            Back::Features { features, vectors, mean } => {
                let weights = vectors.as_ref().map_or_else(|| w.clone(), |vectors| vectors.times(w));
                let intercepts = less(mean, &weights);
                (Kept::Weights { features: features.clone(), weights }, intercepts)
            }
            Back::Inputs { map, mean } => {
                let coefficients = map.times(w);
                let intercepts = match mean {
                    Some(mean) => less(mean, &coefficients),
                    None => intercepts.to_vec(),
                };
                (Kept::Coefficients(coefficients), intercepts)
            }
        }
    }
}

/// How often each input counts, and all together.
fn counts_of(examples: &Examples) -> (Vec<f64>, f64) {
    let counts = examples.counts_of_inputs();
    let total = counts.iter().sum();
    (counts, total)
}

/// The directions that inputs have, largest first, each scaled.
fn kept_directions(values: &[f64], vectors: &Dense, scale: impl Fn(f64) -> f64) -> (Vec<f64>, Dense) {
    let size = values.len();
    let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(*value));
    let least = largest * f64::EPSILON * size as f64;
    let kept: Vec<usize> = (0..size).rev().filter(|at| values[*at] > least).collect();
    let spectrum: Vec<f64> = kept.iter().map(|at| values[*at]).collect();
    let scaled = Dense::from_fn(size, kept.len(), |row, k| vectors.at(row, kept[k]) * scale(spectrum[k]));
    (spectrum, scaled)
}
