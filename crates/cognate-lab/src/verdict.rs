//! Verdicts: whether a paper's claim comes out, by tests that the page prints.

use std::fmt;

/// How far a claim comes out; the better, the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// No test of it holds.
    NotReproduced,
    /// Some tests hold.
    InPart,
    /// All tests hold.
    Reproduced,
}

impl Verdict {
    /// Every verdict, best first.
    pub const ALL: [Self; 3] = [Self::Reproduced, Self::InPart, Self::NotReproduced];

    /// The verdict on something of which some parts are reproduced.
    pub(crate) fn of_parts(parts: impl IntoIterator<Item = Self>) -> Self {
        let parts: Vec<Self> = parts.into_iter().collect();
        match (parts.iter().min(), parts.iter().max()) {
            (Some(Self::Reproduced) | None, _) => Self::Reproduced,
            (_, Some(Self::NotReproduced)) => Self::NotReproduced,
            _ => Self::InPart,
        }
    }

    /// The verdict of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.to_string() == name)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Reproduced => "reproduced",
            Self::InPart => "reproduced in part",
            Self::NotReproduced => "not reproduced",
        })
    }
}

/// A claim of a paper, or a question of ours beside it, and the tests of it.
#[derive(Debug)]
pub struct Claim {
    /// What the paper says; its name in the record.
    pub(crate) text: String,
    tests: Vec<Test>,
}

/// How claims begin that the paper does not make: they are tested and on record, and do not count in the verdict on the
/// paper's table or figure.
const OURS: &str = "ours, not the paper's: ";

/// Whether the paper does not make the claim of this name.
pub(crate) fn is_ours(text: &str) -> bool {
    text.starts_with(OURS)
}

/// A test of a claim.
#[derive(Debug)]
struct Test {
    /// The exact condition, with its tolerance.
    condition: String,
    holds: bool,
    /// Our figures.
    ours: String,
}

impl Claim {
    /// A claim, to which tests are added.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), tests: Vec::new() }
    }

    /// A claim that the paper does not make.
    pub(crate) fn ours(text: impl std::fmt::Display) -> Self {
        Self::new(format!("{OURS}{text}"))
    }

    /// Whether the paper does not make it.
    pub(crate) fn is_ours(&self) -> bool {
        is_ours(&self.text)
    }

    /// The claim with one more test: its condition with the tolerance, whether it holds, and our figures.
    pub(crate) fn test(mut self, condition: impl Into<String>, holds: bool, ours: impl Into<String>) -> Self {
        self.tests.push(Test { condition: condition.into(), holds, ours: ours.into() });
        self
    }

    /// How far it comes out.
    pub(crate) fn verdict(&self) -> Verdict {
        let of_test = |test: &Test| if test.holds { Verdict::Reproduced } else { Verdict::NotReproduced };
        Verdict::of_parts(self.tests.iter().map(of_test))
    }

    /// The verdict and the claim; then a line per test.
    pub(crate) fn lines(&self) -> (String, Vec<String>) {
        let of_test = |test: &Test| {
            let word = if test.holds { "holds" } else { "fails" };
            format!("{word}: {} ({})", test.condition, test.ours)
        };
        (self.text.clone(), self.tests.iter().map(of_test).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_reproduced_by_all_of_its_tests_in_part_by_some() {
        let claim = |held: &[bool]| {
            held.iter().fold(Claim::new("b beats a"), |claim, held| claim.test("b < a", *held, "1 and 2"))
        };
        assert_eq!(claim(&[true, true]).verdict(), Verdict::Reproduced);
        assert_eq!(claim(&[true, false]).verdict(), Verdict::InPart);
        assert_eq!(claim(&[false]).verdict(), Verdict::NotReproduced);
        let (text, tests) = claim(&[true, false]).lines();
        assert_eq!(text, "b beats a");
        assert_eq!(tests, ["holds: b < a (1 and 2)", "fails: b < a (1 and 2)"]);
    }

    #[test]
    fn what_is_reproduced_in_part_twice_is_not_reproduced_as_a_whole() {
        let (yes, some, no) = (Verdict::Reproduced, Verdict::InPart, Verdict::NotReproduced);
        assert_eq!(Verdict::of_parts([yes, yes]), yes);
        assert_eq!(Verdict::of_parts([some, some]), some);
        assert_eq!(Verdict::of_parts([yes, no]), some);
        assert_eq!(Verdict::of_parts([some, no]), some);
        assert_eq!(Verdict::of_parts([no, no]), no);
    }

    #[test]
    fn verdicts_have_names_and_an_order() {
        assert!(Verdict::NotReproduced < Verdict::InPart && Verdict::InPart < Verdict::Reproduced);
        assert!(Verdict::ALL.iter().all(|verdict| Verdict::named(&verdict.to_string()) == Some(*verdict)));
        assert_eq!(Verdict::named("broken"), None);
    }
}
