//! What users call the two labels: they come back as they went in.

use cognate::stream::{LabelNames, Values};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};
use serde_json::{Value, json};

use crate::arrays::shown;
use crate::errors::{Raised, data_error};

/// The words for the two labels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Words {
    /// Nothing has come.
    Open,
    /// Only 1 has come: -1 and 1, unless 0 comes.
    Ones,
    /// -1 and 1.
    Signs,
    /// 0 and 1.
    Digits,
    /// False and True.
    Truth,
    /// Names, as far as they are known.
    Names { negative: Option<String>, positive: Option<String> },
}

/// A label as a number, and the words from then on if they are others.
type Met = (f64, Option<Words>);

impl Words {
    /// Those that a model has used.
    pub(crate) fn of(model: &cognate::Model) -> Self {
        let (names, declared) = (model.label_names(), model.config().positive.as_deref());
        let total = model.metrics().total();
        let negatives = total.examples - total.true_positives - total.false_negatives;
        match (names.negative(), names.positive().or(declared)) {
            (None, None) if total.examples == 0 => Self::Open,
            (None, None) if negatives == 0 => Self::Ones,
            (None, None) | (Some("-1"), Some("1")) => Self::Signs,
            (Some("0"), None | Some("1")) => Self::Digits,
            (Some("false" | "False" | "FALSE"), Some("true" | "True" | "TRUE")) => Self::Truth,
            (negative, positive) => {
                Self::Names { negative: negative.map(str::to_owned), positive: positive.map(str::to_owned) }
            }
        }
    }

    /// Two labels that were declared, the negative one first.
    pub(crate) fn declared(classes: &[Bound<'_, PyAny>]) -> PyResult<Self> {
        let refuse = || {
            let found = classes.iter().map(shown).collect::<Vec<_>>().join(", ");
            data_error(format!(
                "classes: found {found}; expected [-1, 1], [0, 1], [False, True] or two names, that of the label -1 first \
                 (`CognateClassifier` takes any, and more than two)"
            ))
        };
        let [negative, positive] = classes else { return Err(refuse()) };
        if let (Ok(negative), Ok(positive)) = (negative.cast::<PyString>(), positive.cast::<PyString>()) {
            let (negative, positive) = (negative.to_str()?.to_owned(), positive.to_str()?.to_owned());
            if negative == positive {
                return Err(refuse());
            }
            return Ok(Self::Names { negative: Some(negative), positive: Some(positive) });
        }
        let words = match (negative.extract::<f64>(), positive.extract::<f64>()) {
            _ if is_truth(negative) && is_truth(positive) => Self::Truth,
            (Ok(0.0), Ok(1.0)) => Self::Digits,
            (Ok(-1.0), Ok(1.0)) => Self::Signs,
            _ => return Err(refuse()),
        };
        let in_order = words != Self::Truth || !negative.is_truthy()? && positive.is_truthy()?;
        if in_order { Ok(words) } else { Err(refuse()) }
    }

    /// The label that a value is.
    pub(crate) fn read(&self, label: &Bound<'_, PyAny>) -> PyResult<Met> {
        if label.is_exact_instance_of::<PyInt>() || label.is_exact_instance_of::<PyFloat>() {
            return self.number(label.extract()?);
        }
        if let Ok(name) = label.cast::<PyString>() {
            return self.name(name.to_str()?);
        }
        if is_truth(label) {
            let truth = label.is_truthy()?;
            return match self {
                Self::Open | Self::Ones => Ok((sign(truth), Some(Self::Truth))),
                Self::Truth | Self::Digits => Ok((sign(truth), None)),
                Self::Signs | Self::Names { .. } => Err(self.refuse(&shown(label))),
            };
        }
        match label.extract::<f64>() {
            Ok(number) => self.number(number),
            Err(_) => Err(self.refuse(&shown(label))),
        }
    }

    fn number(&self, number: f64) -> PyResult<Met> {
        let refuse = || {
            let way = "labels that are real numbers need a loss for them: `squares`, `absolute`, `quantile` or `poisson`";
            let hint = if number.abs() == 1.0 || number == 0.0 { String::new() } else { format!(" ({way})") };
            Err(data_error(format!("{}{hint}", self.refusal(&number.to_string()))))
        };
        match self {
            Self::Names { .. } => refuse(),
            Self::Open if number == 1.0 => Ok((1.0, Some(Self::Ones))),
            _ if number == 1.0 => Ok((1.0, None)),
            Self::Open | Self::Ones if number == 0.0 => Ok((-1.0, Some(Self::Digits))),
            Self::Open | Self::Ones if number == -1.0 => Ok((-1.0, Some(Self::Signs))),
            Self::Digits | Self::Truth if number == 0.0 => Ok((-1.0, None)),
            Self::Signs if number == -1.0 => Ok((-1.0, None)),
            _ => refuse(),
        }
    }

    /// The label that a name is; of two that are not declared the first to come is the negative one.
    pub(crate) fn name(&self, name: &str) -> PyResult<Met> {
        let is = |known: &Option<String>| known.as_deref() == Some(name);
        if !LabelNames::is_name(name) {
            return Err(self.refuse(&format!("{name:?}")));
        }
        match self {
            Self::Open => Ok((-1.0, Some(Self::Names { negative: Some(name.to_owned()), positive: None }))),
            Self::Names { negative, .. } if is(negative) => Ok((-1.0, None)),
            Self::Names { positive, .. } if is(positive) => Ok((1.0, None)),
            Self::Names { negative: None, positive } => {
                let (negative, positive) = (Some(name.to_owned()), positive.clone());
                Ok((-1.0, Some(Self::Names { negative, positive })))
            }
            Self::Names { negative, positive: None } => {
                let (negative, positive) = (negative.clone(), Some(name.to_owned()));
                Ok((1.0, Some(Self::Names { negative, positive })))
            }
            _ => Err(self.refuse(&format!("{name:?}"))),
        }
    }

    /// The words of a column of numbers, if they are news; `truth` says that they were false and true.
    pub(crate) fn numbers(&self, values: Values<'_>, truth: bool) -> PyResult<Option<Self>> {
        let (zero, minus) = match values {
            Values::F32(values) => (values.contains(&0.0), values.contains(&-1.0)),
            Values::F64(values) => (values.contains(&0.0), values.contains(&-1.0)),
        };
        let found = match (zero, minus) {
            _ if truth => Self::Truth,
            // The rows themselves are refused, with their place.
            (true, true) => return Ok(None),
            (true, false) => Self::Digits,
            (false, true) => Self::Signs,
            (false, false) => Self::Ones,
        };
        match (self, found) {
            (Self::Names { .. }, _) => Err(self.refuse(if truth { "True" } else { "numbers" })),
            (Self::Open, found) => Ok(Some(found)),
            (known, found) if *known == found || found == Self::Ones => Ok(None),
            (Self::Ones, found) => Ok(Some(found)),
            (Self::Digits, Self::Truth) | (Self::Truth, Self::Digits) => Ok(None),
            (_, Self::Signs) => Err(self.refuse("-1")),
            (_, Self::Digits) => Err(self.refuse("0")),
            (_, _) => Err(self.refuse("True")),
        }
    }

    fn refuse(&self, found: &str) -> PyErr {
        data_error(self.refusal(found))
    }

    fn refusal(&self, found: &str) -> String {
        let expected = match self {
            Self::Open => "-1 or +1, or 0 or 1, true or false, or one of two names".to_owned(),
            Self::Ones => "-1 or +1, or 0 or 1".to_owned(),
            Self::Signs => "-1 or +1, as before".to_owned(),
            Self::Digits => "0 or 1, as before".to_owned(),
            Self::Truth => "True or False, as before".to_owned(),
            Self::Names { negative, positive } => {
                let names: Vec<_> =
                    [negative, positive].into_iter().flatten().map(|name| format!("{name:?}")).collect();
                format!("{}; `CognateClassifier` takes more than two classes", names.join(" or "))
            }
        };
        format!("label: found {found}; expected {expected}")
    }

    /// What a label is called: where only one has come, that one.
    pub(crate) fn spoken(&self, py: Python<'_>, positive: bool) -> PyResult<Py<PyAny>> {
        match self {
            Self::Open | Self::Ones | Self::Signs => if positive { 1 } else { -1 }.into_py_any(py),
            Self::Digits => i32::from(positive).into_py_any(py),
            Self::Truth => positive.into_py_any(py),
            Self::Names { negative, positive: other } => {
                let (one, two) = if positive { (other, negative) } else { (negative, other) };
                one.as_ref().or(two.as_ref()).into_py_any(py)
            }
        }
    }

    /// Both labels, the negative one first; a name that has not come is None.
    pub(crate) fn both(&self, py: Python<'_>) -> PyResult<[Py<PyAny>; 2]> {
        match self {
            Self::Names { negative, positive } => Ok([negative.into_py_any(py)?, positive.into_py_any(py)?]),
            _ => Ok([self.spoken(py, false)?, self.spoken(py, true)?]),
        }
    }

    /// Tells them to the model, which keeps them in its file.
    pub(crate) fn tell(&self, model: &mut cognate::Model) -> PyResult<()> {
        let (negative, positive) = match self {
            Self::Open | Self::Ones | Self::Signs => return Ok(()),
            // A file would take it for the name of the other.
            Self::Names { negative: Some(name), positive: None } if name == "1" => return Ok(()),
            Self::Names { negative: None, positive: Some(name) } if name == "-1" => return Ok(()),
            Self::Digits => (Some("0"), None),
            Self::Truth => (Some("False"), Some("True")),
            Self::Names { negative, positive } => (negative.as_deref(), positive.as_deref()),
        };
        model.name_labels(negative, positive).map_err(Raised::raised)
    }

    pub(crate) fn to_json(&self) -> String {
        match self {
            Self::Open => json!("open"),
            Self::Ones => json!("ones"),
            Self::Signs => json!("signs"),
            Self::Digits => json!("digits"),
            Self::Truth => json!("truth"),
            Self::Names { negative, positive } => json!([negative, positive]),
        }
        .to_string()
    }

    pub(crate) fn from_json(text: &str) -> Option<Self> {
        let name = |value: &Value| value.as_str().map(str::to_owned);
        match serde_json::from_str(text).ok()? {
            Value::String(kind) => Some(match kind.as_str() {
                "open" => Self::Open,
                "ones" => Self::Ones,
                "signs" => Self::Signs,
                "digits" => Self::Digits,
                "truth" => Self::Truth,
                _ => return None,
            }),
            Value::Array(names) => {
                let [negative, positive] = names.as_slice() else { return None };
                Some(Self::Names { negative: name(negative), positive: name(positive) })
            }
            _ => None,
        }
    }
}

fn sign(positive: bool) -> f64 {
    if positive { 1.0 } else { -1.0 }
}

/// Whether a value is a bool, of Python or of NumPy.
fn is_truth(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyBool>()
        || value.get_type().name().is_ok_and(|name| name == "bool" || name == "bool_")
}
