//! Which keywords hold subschemas.
//!
//! Source: JSON Schema 2020-12, the applicator and unevaluated vocabularies.

/// How a keyword's value holds subschemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// It is one.
    One,
    /// It is a list of some.
    List,
    /// It is an object of some, by names that are no keywords.
    Named,
}

impl Holds {
    /// `None` if the keyword's value is no schema.
    pub(super) fn of(keyword: &str) -> Option<Self> {
        Some(match keyword {
            "items"
            | "additionalProperties"
            | "not"
            | "contains"
            | "propertyNames"
            | "if"
            | "then"
            | "else"
            | "unevaluatedItems"
            | "unevaluatedProperties" => Self::One,
            "oneOf" | "anyOf" | "allOf" | "prefixItems" => Self::List,
            "properties" | "patternProperties" | "dependentSchemas" => Self::Named,
            _ => return None,
        })
    }
}
