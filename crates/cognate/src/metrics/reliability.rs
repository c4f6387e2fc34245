//! Calibration of probabilities: how often the predicted label occurred.

use super::scored::log_loss;

/// Number of bins of probabilities.
const BINS: usize = 10;

/// Predicted probabilities of the label +1, compared with the true labels.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reliability {
    bins: [Bin; BINS],
    squares: f64,
    logarithms: f64,
}

/// A bin: examples with about the same predicted probability.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bin {
    /// How many.
    pub examples: u64,
    /// Sum of their weights.
    pub weight: f64,
    /// Sum of the probabilities, by weight.
    pub said: f64,
    /// Weight of those that had the label +1.
    pub came: f64,
}

impl Bin {
    /// Mean predicted probability, if there are examples.
    pub fn mean_said(&self) -> Option<f64> {
        (self.examples > 0).then(|| self.said / self.weight)
    }

    /// Share of labels +1, if there are examples.
    pub fn share_came(&self) -> Option<f64> {
        (self.examples > 0).then(|| self.came / self.weight)
    }
}

impl Reliability {
    /// Counts an example, by its predicted probability, its label and its weight.
    pub fn record(&mut self, probability: f64, label: f64, weight: f64) {
        let came = label > 0.0;
        let bin = &mut self.bins[((probability * BINS as f64) as usize).min(BINS - 1)];
        bin.examples += 1;
        bin.weight += weight;
        bin.said += weight * probability;
        bin.came += if came { weight } else { 0.0 };
        let of_label = if came { probability } else { 1.0 - probability };
        self.squares += weight * (1.0 - of_label) * (1.0 - of_label);
        self.logarithms += weight * log_loss(of_label);
    }

    /// The bins, by tenths from 0 to 1.
    pub fn bins(&self) -> &[Bin] {
        &self.bins
    }

    /// Number of examples counted.
    pub fn examples(&self) -> u64 {
        self.bins.iter().map(|bin| bin.examples).sum()
    }

    /// Mean of (probability - outcome)^2.
    pub fn brier(&self) -> f64 {
        self.mean(self.squares)
    }

    fn mean(&self, sum: f64) -> f64 {
        if self.examples() == 0 { 0.0 } else { sum / self.bins.iter().map(|bin| bin.weight).sum::<f64>() }
    }

    /// Mean of -ln of the probability of the true label.
    pub fn log_loss(&self) -> f64 {
        self.mean(self.logarithms)
    }

    /// Mean over the examples of the difference between predicted and true share in their bin.
    pub fn calibration_error(&self) -> f64 {
        self.mean(self.bins.iter().map(|bin| (bin.said - bin.came).abs()).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_is_set_beside_what_came() {
        let mut reliability = Reliability::default();
        assert_eq!((reliability.examples(), reliability.calibration_error()), (0, 0.0));
        for (probability, label) in [(0.75, 1.0), (0.75, -1.0), (1.0, 1.0), (0.0, -1.0)] {
            reliability.record(probability, label, 1.0);
        }
        assert_eq!(reliability.examples(), 4);
        assert_eq!(reliability.bins()[7], Bin { examples: 2, weight: 2.0, said: 1.5, came: 1.0 });
        assert_eq!(reliability.bins()[9].share_came(), Some(1.0));
        assert_eq!(reliability.bins()[3].mean_said(), None);
        assert!((reliability.brier() - (0.0625 + 0.5625) / 4.0).abs() < 1e-15);
        assert!((reliability.log_loss() - (-(0.75_f64.ln()) - 0.25_f64.ln()) / 4.0).abs() < 1e-15);
        assert!((reliability.calibration_error() - 0.5 / 4.0).abs() < 1e-15);
        reliability.record(0.0, 1.0, 1.0);
        assert!(reliability.log_loss().is_finite());
    }
}
