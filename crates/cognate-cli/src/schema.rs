//! The schema of a config, walked as the config is: by the names of parameters and of choices.

use std::sync::LazyLock;

use serde_json::Value;

static SCHEMA: LazyLock<Value> = LazyLock::new(cognate::config::schema);

/// The description of a missing place: none.
static NOTHING: Value = Value::Null;

/// What the schema says about one place in a config.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place(&'static Value);

/// One of the choices that a place offers.
pub(crate) struct Choice {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
    /// Its parameters.
    pub(crate) parameters: Place,
}

impl Place {
    /// A whole config.
    pub(crate) fn config() -> Self {
        Self(&SCHEMA)
    }

    /// The parameters below, with their names.
    pub(crate) fn parameters(self) -> impl Iterator<Item = (&'static str, Self)> {
        let properties = self.target()["properties"].as_object();
        properties.into_iter().flatten().map(|(name, place)| (name.as_str(), Self(place)))
    }

    /// The choices offered, those with parameters and those that are plain names.
    pub(crate) fn choices(self) -> impl Iterator<Item = Choice> {
        let variants = self.target()["oneOf"].as_array();
        variants.into_iter().flatten().filter_map(|variant| {
            let name = variant["required"][0].as_str().or(variant["const"].as_str())?;
            Some(Choice {
                name,
                meaning: variant["description"].as_str().unwrap_or_default(),
                parameters: Self(&variant["properties"][name]),
            })
        })
    }

    /// Whether this is a table of one name, a choice, and its parameters: two choices cannot both be there.
    pub(crate) fn is_choice(self) -> bool {
        let variants = self.target()["oneOf"].as_array();
        variants.into_iter().flatten().any(|variant| variant["required"].is_array())
    }

    /// The place below with this name, a parameter or the parameters of a choice; an empty place
    /// if there is none.
    pub(crate) fn below(self, name: &str) -> Self {
        let choice = self.choices().find(|choice| choice.name == name).map(|choice| choice.parameters);
        let parameter = || self.parameters().find(|(known, _)| *known == name).map(|(_, place)| place);
        choice.or_else(parameter).unwrap_or(Self(&NOTHING))
    }

    /// What the place means.
    pub(crate) fn meaning(self) -> &'static Value {
        &self.0["description"]
    }

    /// Its default.
    pub(crate) fn default(self) -> &'static Value {
        &self.0["default"]
    }

    /// Follows a reference, that of a parameter which may be left out as well.
    fn target(self) -> &'static Value {
        let references = ["/$ref", "/allOf/0/$ref", "/anyOf/0/$ref"];
        let reference = references.iter().find_map(|at| self.0.pointer(at)?.as_str());
        reference.and_then(|path| SCHEMA.pointer(path.trim_start_matches('#'))).unwrap_or(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_is_walked_by_name() {
        let b = ["learner", "perceptron", "interaction", "coupled", "b"];
        let place = b.iter().fold(Place::config(), |place, name| place.below(name));
        assert_eq!(place.default(), 1.0);
        assert!(place.meaning().is_string());
        let nowhere = Place::config().below("learner").below("nobody").below("interaction");
        assert!(!nowhere.is_choice() && nowhere.parameters().count() == 0 && nowhere.choices().count() == 0);
    }
}
