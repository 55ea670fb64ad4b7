//! Tools: what a model is told of them, and how calls reach them.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

/// The canonical name of a tool: 1 to 64 letters, digits, `_`, `-` and `.`.
///
/// Dots group tools (`files.read`); [`crate::wire_name`] maps names to what providers accept.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolName(Arc<str>);

/// Why a text is not a [`ToolName`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a tool name: expected 1 to 64 letters, digits, `_`, `-` or `.`, and a letter or `_` first"
)]
pub struct InvalidToolName(pub String);

impl ToolName {
    /// Reads a tool name.
    ///
    /// # Errors
    ///
    /// [`InvalidToolName`] if it is empty, too long, or has another character.
    pub fn parse(text: &str) -> Result<Self, InvalidToolName> {
        let first_ok = text
            .bytes()
            .next()
            .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
        let rest_ok = text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
        if first_ok && rest_ok && text.len() <= 64 {
            Ok(Self(Arc::from(text)))
        } else {
            Err(InvalidToolName(text.to_owned()))
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name, shared.
    pub fn to_shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a model is told of a tool; cheap to clone.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDeclaration {
    /// The canonical name.
    pub name: ToolName,
    /// What it does and when to use it.
    pub description: Arc<str>,
    /// JSON Schema of the input; an object at the root. Key order is kept.
    pub schema: Arc<Value>,
}

impl ToolDeclaration {
    /// Declares a tool.
    ///
    /// # Errors
    ///
    /// [`InvalidDeclaration`] if the name breaks the rules or the schema is not one of an object.
    pub fn new(
        name: &str,
        description: impl Into<Arc<str>>,
        schema: Value,
    ) -> Result<Self, InvalidDeclaration> {
        let name = ToolName::parse(name)?;
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(InvalidDeclaration::Schema(name));
        }
        Ok(Self {
            name,
            description: description.into(),
            schema: Arc::new(schema),
        })
    }

    /// The names of the input's keys, in the schema's order.
    pub fn keys(&self) -> Vec<&str> {
        self.schema
            .get("properties")
            .and_then(Value::as_object)
            .map(|properties| properties.keys().map(String::as_str).collect())
            .unwrap_or_default()
    }

    /// The names of the keys that the input must have.
    pub fn required_keys(&self) -> Vec<&str> {
        self.schema
            .get("required")
            .and_then(Value::as_array)
            .map(|keys| keys.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default()
    }
}

/// Why a tool cannot be declared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidDeclaration {
    /// The name breaks the rules.
    #[error(transparent)]
    Name(#[from] InvalidToolName),
    /// The schema is not one of an object.
    #[error("the schema of `{0}` must have `\"type\": \"object\"` at its root")]
    Schema(ToolName),
    /// Two declarations of one set have the same name.
    #[error("the tool `{0}` is declared twice")]
    Duplicate(ToolName),
}

/// The declarations that one agent shows its model, in order; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct ToolSet {
    declarations: Arc<[ToolDeclaration]>,
}

impl ToolSet {
    /// Collects declarations.
    ///
    /// # Errors
    ///
    /// [`InvalidDeclaration::Duplicate`] if two have one name.
    pub fn new(declarations: Vec<ToolDeclaration>) -> Result<Self, InvalidDeclaration> {
        let mut names = HashSet::new();
        for declaration in &declarations {
            if !names.insert(&declaration.name) {
                return Err(InvalidDeclaration::Duplicate(declaration.name.clone()));
            }
        }
        Ok(Self {
            declarations: declarations.into(),
        })
    }

    /// The declarations, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, ToolDeclaration> {
        self.declarations.iter()
    }

    /// The declaration of a canonical name.
    pub fn get(&self, name: &str) -> Option<&ToolDeclaration> {
        self.declarations
            .iter()
            .find(|declaration| declaration.name.as_str() == name)
    }

    /// Whether there is no tool.
    pub fn is_empty(&self) -> bool {
        self.declarations.is_empty()
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.declarations.len()
    }
}

impl<'a> IntoIterator for &'a ToolSet {
    type Item = &'a ToolDeclaration;
    type IntoIter = std::slice::Iter<'a, ToolDeclaration>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
