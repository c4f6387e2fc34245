//! What users call the two labels: -1 and 1 unless a stream has used other words for them.

use serde::{Deserialize, Serialize};

use super::labels::is_task_name;

/// What a stream calls its two labels, as far as it has used other words than -1 and 1.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LabelNames {
    /// The word for -1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) negative: Option<String>,
    /// The word for +1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) positive: Option<String>,
}

impl LabelNames {
    /// Words for the labels, where they are others than -1 and 1.
    pub(crate) fn new(negative: Option<&str>, positive: Option<&str>) -> Self {
        Self { negative: negative.map(str::to_owned), positive: positive.map(str::to_owned) }
    }

    /// Whether a label can be called so: a text of one line that is not empty.
    pub fn is_name(word: &str) -> bool {
        is_task_name(word)
    }

    /// The word for -1, once a stream has used one.
    pub fn negative(&self) -> Option<&str> {
        self.negative.as_deref()
    }

    /// Whether no other word has been used.
    pub fn is_empty(&self) -> bool {
        self.negative.is_none() && self.positive.is_none()
    }

    /// The word for a label, of which only the sign counts.
    pub fn name(&self, label: f64) -> &str {
        if label > 0.0 {
            self.positive.as_deref().unwrap_or("1")
        } else {
            self.negative.as_deref().unwrap_or("-1")
        }
    }

    /// The word for +1, once a stream has used one.
    pub fn positive(&self) -> Option<&str> {
        self.positive.as_deref()
    }

    /// Adds words that are news; those that are known stay.
    pub(crate) fn adopt(&mut self, found: &Self) {
        if self.negative.is_none() {
            self.negative.clone_from(&found.negative);
        }
        if self.positive.is_none() {
            self.positive.clone_from(&found.positive);
        }
    }

    /// What is wrong with words that a file holds, if anything is.
    pub(crate) fn problem(&self) -> Option<String> {
        let words = [&self.negative, &self.positive];
        if let Some(word) = words.into_iter().flatten().find(|word| !is_task_name(word)) {
            return Some(format!("a label is called {word:?}"));
        }
        (self.name(-1.0) == self.name(1.0)).then(|| format!("both labels are called {:?}", self.name(1.0)))
    }
}

/// The words for false and true in the spelling of one of them, and which of them it is.
pub(crate) fn truth(token: &[u8]) -> Option<(bool, [&'static str; 2])> {
    const SPELLINGS: [[&str; 2]; 3] = [["false", "true"], ["False", "True"], ["FALSE", "TRUE"]];
    SPELLINGS.into_iter().find_map(|words| {
        let at = words.iter().position(|word| word.as_bytes() == token)?;
        Some((at == 1, words))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_learnt_once_and_known_by_sign() {
        let mut names = LabelNames::default();
        assert_eq!((names.name(-1.0), names.name(1.0)), ("-1", "1"));
        names.adopt(&LabelNames { negative: Some("ham".to_owned()), positive: None });
        names.adopt(&LabelNames { negative: Some("other".to_owned()), positive: Some("spam".to_owned()) });
        assert_eq!((names.name(-0.5), names.name(2.0)), ("ham", "spam"));
        assert_eq!(names.problem(), None);
    }

    #[test]
    fn words_that_no_stream_can_have_used() {
        let names = |negative: &str| LabelNames {
            negative: Some(negative.to_owned()),
            positive: Some("a".to_owned()),
        };
        assert_eq!(names("a").problem().as_deref(), Some("both labels are called \"a\""));
        assert_eq!(names("b\n").problem().as_deref(), Some("a label is called \"b\\n\""));
        assert!(names("").problem().is_some());
    }

    #[test]
    fn true_and_false_in_three_spellings() {
        assert_eq!(truth(b"True"), Some((true, ["False", "True"])));
        assert_eq!(truth(b"false"), Some((false, ["false", "true"])));
        assert_eq!(truth(b"tRUE"), None);
    }
}
