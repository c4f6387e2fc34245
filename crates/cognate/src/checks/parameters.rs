//! Walks the schema of a learner's parameters and tries values out of range.

use serde_json::{Value, json};

use super::ensure;
use crate::algorithms::LearnerConfig;
use crate::error::ConfigProblem;
use crate::tasks::Tasks;

/// A parameter and a value that it must refuse.
#[derive(Debug, Clone, PartialEq)]
struct BadValue {
    path: Vec<String>,
    value: Value,
}

/// That every bounded parameter of a learner refuses a value beyond its bound, naming its path.
pub(super) fn reject_bad_values(id: &str) -> Result<(), String> {
    for bad in bad_values(id)? {
        let path = bad.path.join(".");
        let config = bad.path.iter().rev().fold(bad.value.clone(), |inner, name| json!({ name: inner }));
        let Ok(config) = serde_json::from_value::<LearnerConfig>(config) else {
            // The type itself has no such value, as a count below 0.
            continue;
        };
        let problems = config.validate();
        let named = |problems: &[ConfigProblem]| problems.iter().any(|problem| problem.path == path);
        ensure!(named(&problems), "{path} = {} is not refused by name: {problems:?}", bad.value);
        let built = config.build(&Tasks::open()).map(drop).map_err(|error| error.problems);
        ensure!(
            built.as_ref().is_err_and(|problems| named(problems)),
            "{path} = {} builds: {built:?}",
            bad.value
        );
    }
    Ok(())
}

/// Every bound in the schema of a learner, with a value beyond it.
fn bad_values(id: &str) -> Result<Vec<BadValue>, String> {
    let schema = schemars::schema_for!(LearnerConfig).to_value();
    let variants = schema["oneOf"].as_array().ok_or("the schema lists no learners")?;
    let found = variants.iter().find(|variant| !variant["properties"][id].is_null());
    let variant = found.ok_or_else(|| format!("the schema does not know {id}"))?;
    let mut bad = Vec::new();
    walk(&schema, variant, &mut Vec::new(), &mut bad);
    Ok(bad)
}

/// No config is nested deeper; a schema that refers to itself ends here.
const DEEPEST: usize = 12;

fn walk(schema: &Value, node: &Value, path: &mut Vec<String>, bad: &mut Vec<BadValue>) {
    if path.len() > DEEPEST {
        return;
    }
    if let Some(target) = node["$ref"].as_str() {
        walk(schema, schema.pointer(target.trim_start_matches('#')).unwrap_or(&Value::Null), path, bad);
    }
    for value in beyond_bounds(node) {
        let path = path.clone();
        bad.push(BadValue { path, value });
    }
    for (name, property) in node["properties"].as_object().into_iter().flatten() {
        path.push(name.clone());
        walk(schema, property, path, bad);
        path.pop();
    }
    for choices in ["oneOf", "anyOf", "allOf"] {
        for choice in node[choices].as_array().into_iter().flatten() {
            walk(schema, choice, path, bad);
        }
    }
}

/// Values just outside the bounds of a number.
fn beyond_bounds(node: &Value) -> Vec<Value> {
    let is_type = |name: &str| match &node["type"] {
        Value::String(found) => found == name,
        Value::Array(found) => found.iter().any(|found| found == name),
        _ => false,
    };
    if !is_type("number") && !is_type("integer") {
        return Vec::new();
    }
    let bounds = [("minimum", -1.0), ("exclusiveMinimum", 0.0), ("maximum", 1.0), ("exclusiveMaximum", 0.0)];
    let beyond = |(key, step): (&str, f64)| node[key].as_f64().map(|bound| bound + step);
    let values = bounds.into_iter().filter_map(beyond);
    values.map(|value| if is_type("integer") { json!(value as i64) } else { json!(value) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_finds_parameters_inside_choices() {
        let expected = BadValue {
            path: ["perceptron", "interaction", "coupled", "b"].map(str::to_owned).to_vec(),
            value: json!(-1.0),
        };
        assert_eq!(bad_values("perceptron"), Ok(vec![expected]));
        assert!(bad_values("nobody").is_err());
    }

    #[test]
    fn bounds_of_all_kinds_are_stepped_over() {
        let node = json!({"type": ["integer", "null"], "minimum": 1, "maximum": 9});
        assert_eq!(beyond_bounds(&node), [json!(0), json!(10)]);
        let node = json!({"type": "number", "exclusiveMinimum": 0.0, "exclusiveMaximum": 1.0});
        assert_eq!(beyond_bounds(&node), [json!(0.0), json!(1.0)]);
        assert!(beyond_bounds(&json!({"type": "string", "minimum": 1})).is_empty());
    }
}
