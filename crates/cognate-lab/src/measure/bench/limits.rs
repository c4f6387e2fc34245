//! What the figures must be: ratios within one run, and the limits the project has set itself.

use super::contest::{Contest, Contestant, Figure, median};

/// A ratio of two contestants on one stream.
pub(super) struct Ratio {
    /// Letter of the stream.
    pub(super) stream: char,
    /// Which figure of which contestants.
    pub(super) what: &'static str,
    /// Minimum over minimum; `None` if one of them could not run.
    pub(super) of_minima: Option<f64>,
    /// Median of the ratios within the rounds.
    pub(super) paired: Option<f64>,
    /// The most it may be, if a limit is set.
    pub(super) limit: Option<f64>,
}

impl Ratio {
    /// Whether the limit is kept; `None` without a limit. What could not be measured is not kept.
    pub(super) fn kept(&self) -> Option<bool> {
        self.limit.map(|limit| self.of_minima.is_some_and(|ratio| ratio <= limit))
    }

    /// What the table says about the limit, if there is one.
    pub(super) fn verdict(&self) -> Option<String> {
        let Self { stream, what, limit: Some(limit), .. } = self else { return None };
        let found = self.of_minima.map_or("not measured".to_owned(), |ratio| format!("{ratio:.2}"));
        let word = if self.kept() == Some(true) { "PASS" } else { "FAIL" };
        Some(format!("{stream}: {what}: {found}, at most {limit}: {word}"))
    }
}

/// A ratio that is shown for every stream.
struct Rule {
    what: &'static str,
    figure: Figure,
    ours: Contestant,
    against: Contestant,
    /// Streams the limit holds for, and the limit.
    limited: &'static str,
    limit: f64,
}

const RULES: [Rule; 6] = [
    Rule {
        what: "CPU, ours / VW",
        figure: |c| c.cpu,
        ours: Contestant::Ours,
        against: Contestant::Vw,
        limited: "ABC",
        limit: 0.35,
    },
    Rule {
        what: "wall, ours / VW",
        figure: |c| c.wall,
        ours: Contestant::Ours,
        against: Contestant::Vw,
        limited: "ABC",
        limit: 0.5,
    },
    Rule {
        what: "CPU, ours / parse",
        figure: |c| c.cpu,
        ours: Contestant::Ours,
        against: Contestant::Parse,
        limited: "A",
        limit: 3.0,
    },
    Rule {
        what: "peak memory, ours / VW",
        figure: |c| c.peak,
        ours: Contestant::Ours,
        against: Contestant::Vw,
        limited: "B",
        limit: 1.0,
    },
    Rule {
        what: "CPU, ours / VW --sgd",
        figure: |c| c.cpu,
        ours: Contestant::Ours,
        against: Contestant::VwSgd,
        limited: "",
        limit: 0.0,
    },
    Rule {
        what: "CPU, adaptive / VW",
        figure: |c| c.cpu,
        ours: Contestant::OursByDefault,
        against: Contestant::Vw,
        limited: "AB",
        limit: 0.6,
    },
];

/// All ratios of a contest.
pub(super) fn ratios(contest: &Contest) -> Vec<Ratio> {
    let stream = contest.stream.preset.letter;
    RULES
        .iter()
        .map(|rule| {
            let both = contest.of(rule.ours).zip(contest.of(rule.against));
            Ratio {
                stream,
                what: rule.what,
                of_minima: both.map(|(ours, other)| ours.min(rule.figure) / other.min(rule.figure)),
                paired: both.map(|(ours, other)| {
                    let pairs = ours.runs.iter().zip(&other.runs);
                    median(pairs.map(|(a, b)| (rule.figure)(a) / (rule.figure)(b)).collect())
                }),
                limit: rule.limited.contains(stream).then_some(rule.limit),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(of_minima: Option<f64>, limit: Option<f64>) -> Ratio {
        Ratio { stream: 'A', what: "CPU", of_minima, paired: None, limit }
    }

    #[test]
    fn what_was_not_measured_is_not_kept() {
        assert_eq!(ratio(Some(0.3), Some(0.35)).kept(), Some(true));
        assert_eq!(ratio(Some(0.4), Some(0.35)).kept(), Some(false));
        assert_eq!(ratio(None, Some(0.35)).kept(), Some(false));
        assert_eq!(ratio(Some(9.0), None).kept(), None);
        assert_eq!(
            ratio(Some(0.4), Some(0.35)).verdict().as_deref(),
            Some("A: CPU: 0.40, at most 0.35: FAIL")
        );
        assert_eq!(ratio(Some(9.0), None).verdict(), None);
    }
}
