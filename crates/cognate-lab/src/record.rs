//! The verdicts on record: what a run is compared with, so that a claim which once came out cannot be lost unseen.
//!
//! `record.json` has, for each experiment and mode (`quick`, `full`), the verdict on each claim. `cargo xtask reproduce
//! --record` writes it from what runs leave in their folders.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;

use crate::findings::Findings;
use crate::verdict::{Claim, Verdict, is_ours};

/// Verdicts by experiment, mode and claim.
#[derive(Default)]
pub struct Record(BTreeMap<String, BTreeMap<String, Claims>>);

/// Verdicts by claim.
type Claims = BTreeMap<String, Verdict>;

/// Some claims of the paper.
type Less<'a> = Vec<(&'a str, Verdict)>;

/// The name of the mode in a record.
fn mode(quick: bool) -> &'static str {
    if quick { "quick" } else { "full" }
}

impl Record {
    /// The record that the program was built with.
    ///
    /// # Panics
    /// Never: a test reads it.
    pub fn built_in() -> Self {
        Self::parse(include_str!("../record.json")).expect("the record can be read")
    }

    /// Reads a record.
    ///
    /// # Errors
    /// The file, and what is wrong with it.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let name = || path.display().to_string();
        Self::parse(&std::fs::read_to_string(path).with_context(name)?).with_context(name)
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let names: BTreeMap<String, BTreeMap<String, BTreeMap<String, String>>> = serde_json::from_str(text)?;
        let mut record = Self::default();
        for (id, modes) in names {
            for (mode, claims) in modes {
                for (claim, name) in claims {
                    let verdict = Verdict::named(&name).with_context(|| format!("{name:?} is no verdict"))?;
                    let of_id = record.0.entry(id.clone()).or_default();
                    of_id.entry(mode.clone()).or_default().insert(claim, verdict);
                }
            }
        }
        Ok(record)
    }

    /// The record of a single run.
    pub(crate) fn of(id: &str, quick: bool, findings: &Findings) -> Self {
        let claims = findings.claims.iter().map(|claim| (claim.text.clone(), claim.verdict())).collect();
        Self([(id.to_owned(), [(mode(quick).to_owned(), claims)].into())].into())
    }

    /// As JSON text.
    pub fn text(&self) -> String {
        let named = |claims: &Claims| -> BTreeMap<String, String> {
            claims.iter().map(|(claim, verdict)| (claim.clone(), verdict.to_string())).collect()
        };
        let of_modes = |modes: &BTreeMap<String, Claims>| -> BTreeMap<String, BTreeMap<String, String>> {
            modes.iter().map(|(mode, claims)| (mode.clone(), named(claims))).collect()
        };
        let all: BTreeMap<&String, _> = self.0.iter().map(|(id, modes)| (id, of_modes(modes))).collect();
        serde_json::to_string_pretty(&all).expect("names are text") + "\n"
    }

    /// Takes over the runs of another record.
    pub fn update(&mut self, newer: Self) {
        for (id, modes) in newer.0 {
            self.0.entry(id).or_default().extend(modes);
        }
    }

    /// The verdict on a whole experiment, how many claims of the paper it has, and those that are not reproduced; none if
    /// no run of this mode is on record.
    pub fn verdict(&self, id: &str, quick: bool) -> Option<(Verdict, usize, Less<'_>)> {
        let claims = self.0.get(id)?.get(mode(quick))?;
        let claims: Less<'_> = claims
            .iter()
            .filter(|(claim, _)| !is_ours(claim))
            .map(|(claim, verdict)| (claim.as_str(), *verdict))
            .collect();
        let (all, verdict) = (claims.len(), Verdict::of_parts(claims.iter().map(|(_, verdict)| *verdict)));
        Some((
            verdict,
            all,
            claims.into_iter().filter(|(_, verdict)| *verdict != Verdict::Reproduced).collect(),
        ))
    }

    /// What is worse in a run than on record; a claim on record that the run does not judge counts as worse.
    pub fn worse(&self, id: &str, quick: bool, findings: &Findings) -> Vec<String> {
        let Some(claims) = self.0.get(id).and_then(|modes| modes.get(mode(quick))) else {
            return Vec::new();
        };
        let now = |text: &str| findings.claims.iter().find(|claim| claim.text == text);
        let compare = |(text, before): (&String, &Verdict)| match now(text).map(Claim::verdict) {
            None => Some(format!("{text}: {before} on record, not judged now")),
            Some(after) if after < *before => Some(format!("{text}: {before} on record, now {after}")),
            Some(_) => None,
        };
        claims.iter().filter_map(compare).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments;
    use crate::verdict::Claim;

    fn findings(verdicts: &[(&str, bool, bool)]) -> Findings {
        let claim = |(text, one, two): &(&str, bool, bool)| {
            Claim::new(*text).test("one", *one, "").test("two", *two, "")
        };
        Findings { claims: verdicts.iter().map(claim).collect(), ..Findings::default() }
    }

    #[test]
    fn a_worse_or_missing_verdict_is_found_and_a_better_or_new_one_is_not() {
        let before = findings(&[("a", true, true), ("b", true, false), ("c", true, true)]);
        let record = Record::of("x", false, &before);
        let after = findings(&[("a", true, false), ("b", true, true), ("d", false, false)]);
        assert_eq!(
            record.worse("x", false, &after),
            ["a: reproduced on record, now reproduced in part", "c: reproduced on record, not judged now"]
        );
        assert_eq!(record.worse("x", false, &before), [""; 0]);
        assert_eq!(record.worse("x", true, &after), [""; 0], "no quick run is on record");
    }

    #[test]
    fn a_record_is_text_and_back_and_takes_over_newer_runs() -> anyhow::Result<()> {
        let mut record = Record::of("x", false, &findings(&[("a", true, false)]));
        record.update(Record::of("x", true, &findings(&[("a", false, false)])));
        let again = Record::parse(&record.text())?;
        assert_eq!(again.text(), record.text());
        assert_eq!(again.verdict("x", false), Some((Verdict::InPart, 1, vec![("a", Verdict::InPart)])));
        assert_eq!(
            again.verdict("x", true),
            Some((Verdict::NotReproduced, 1, vec![("a", Verdict::NotReproduced)]))
        );
        assert!(Record::parse(r#"{"x":{"full":{"a":"broken"}}}"#).is_err());
        Ok(())
    }

    #[test]
    fn what_the_paper_does_not_claim_is_on_record_and_does_not_count() {
        let theirs = Claim::new("a").test("one", true, "");
        let ours = Claim::ours("b").test("one", false, "");
        let findings = Findings { claims: vec![theirs, ours], ..Findings::default() };
        assert_eq!(findings.verdict(), Verdict::Reproduced);
        let record = Record::of("x", false, &findings);
        assert_eq!(record.verdict("x", false), Some((Verdict::Reproduced, 1, vec![])));
        let better = Findings { claims: vec![Claim::ours("b").test("one", true, "")], ..Findings::default() };
        assert_eq!(record.worse("x", false, &better), ["a: reproduced on record, not judged now"]);
        let record = Record::of("x", false, &better);
        assert_eq!(record.worse("x", false, &findings).len(), 1, "a loss of ours is seen too");
    }

    #[test]
    fn every_experiment_is_on_record_and_what_did_not_come_out_is_explained() {
        let record = Record::built_in();
        for experiment in experiments() {
            let known = record.verdict(experiment.id, false).or(record.verdict(experiment.id, true));
            let (verdict, ..) = known.unwrap_or_else(|| panic!("{} is not on record", experiment.id));
            let explained = experiment.explains.contains("`cognate lab run ");
            assert!(verdict == Verdict::Reproduced || explained, "{} is not explained", experiment.id);
        }
        let known: Vec<&str> = experiments().iter().map(|experiment| experiment.id).collect();
        assert!(record.0.keys().all(|id| known.contains(&id.as_str())), "no other experiment is on record");
    }
}
