//! What the bodies of requests are, for their schemas. `body` reads them; a test holds the two against each other.

use std::collections::BTreeMap;

use schemars::JsonSchema;

/// Examples with labels.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "a schema is made of it")]
pub(super) struct LearnBody {
    /// The examples, learnt in this order; all or none
    examples: Vec<LabelledExample>,
}

/// An example with its label.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "a schema is made of it")]
pub(super) struct LabelledExample {
    /// Its task; without one it belongs to `default`
    task: Option<Name>,
    /// Its features
    features: Features,
    /// -1 and 1, or 0 and 1; or numbers, where the learner learns them; `?` where it is not known: people may be asked
    label: LabelOrUnknown,
    /// How often it counts; 1 by default
    weight: Option<f64>,
    /// Added to its margin, and not learnt; 0 by default
    offset: Option<f64>,
    /// When it was, in seconds
    time: Option<f64>,
    /// What it is called; not used where it is learnt at once
    id: Option<Name>,
}

/// A label.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "a schema is made of it")]
enum LabelOrUnknown {
    Known(f64),
    /// `?`
    Unknown(String),
}

/// Examples without labels.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "a schema is made of it")]
pub(super) struct PredictBody {
    /// The examples
    examples: Vec<Example>,
}

/// An example without its label.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "a schema is made of it")]
pub(super) struct Example {
    /// Its task; without one it belongs to `default`
    task: Option<Name>,
    /// Its features
    features: Features,
    /// By this it is remembered for its label
    id: Option<Name>,
    /// How often it counts when it is learnt
    weight: Option<f64>,
    /// When it was, in seconds
    time: Option<f64>,
}

/// A name: text, or a whole number.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "a schema is made of it")]
enum Name {
    Text(String),
    Number(i64),
}

/// Features by name or by number.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "a schema is made of it")]
enum Features {
    /// By number, from 0; as many values as indices
    Numbered {
        /// Each of them once
        indices: Vec<u32>,
        /// Their values
        values: Vec<f64>,
    },
    /// By name; a text is the feature `<name>=<text>` of value 1, null is none
    Named(BTreeMap<String, Value>),
    /// Names of features of value 1; one that comes twice is added up
    Tokens(Vec<String>),
}

/// The value of a named feature.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "a schema is made of it")]
enum Value {
    Number(f64),
    Text(String),
    Truth(bool),
    Nothing(()),
}

/// Labels of remembered examples.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "a schema is made of it")]
pub(super) struct LabelsBody {
    /// The labels, learnt in this order
    labels: Vec<Label>,
}

/// A label.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "a schema is made of it")]
struct Label {
    /// The id with which the example was predicted
    id: Name,
    /// -1 or 1, or 0 or 1; or a number
    label: f64,
}
