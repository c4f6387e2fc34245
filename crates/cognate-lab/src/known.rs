//! What was computed before by the same program: experiments that share tunings or runs do them once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Results by name.
#[derive(Default)]
pub(crate) struct Known(Mutex<BTreeMap<String, Value>>);

impl Known {
    /// The result of this name; made if it is not known. Numbers come back as they were.
    ///
    /// # Errors
    /// What `make` fails with.
    pub(crate) fn or_make<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        make: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().get(name).cloned();
        if let Some(found) = found {
            return Ok(serde_json::from_value(found)?);
        }
        let made = make()?;
        known().insert(name.to_owned(), serde_json::to_value(&made)?);
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_not_made_again_and_stays_the_same() -> anyhow::Result<()> {
        let known = Known::default();
        let numbers = vec![0.1 + 0.2, 1e300, -0.0];
        assert_eq!(known.or_make("a", || Ok(numbers.clone()))?, numbers);
        assert_eq!(known.or_make("a", || -> anyhow::Result<Vec<f64>> { unreachable!() })?, numbers);
        assert!(known.or_make("b", || -> anyhow::Result<u64> { anyhow::bail!("no") }).is_err());
        assert_eq!(known.or_make("b", || Ok(7_u64))?, 7, "a failure is not kept");
        Ok(())
    }
}
