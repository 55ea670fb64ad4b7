//! From a grammar's scopes to the names of styles.

use std::collections::HashMap;
use std::sync::OnceLock;

use syntect::parsing::{Scope, ScopeStack};

use crate::themes::{Style, Themes};

/// Scopes and the style of what has them; the longest that fits counts.
const RULES: &[(&str, &str)] = &[
    ("comment", "syntax.comment"),
    ("punctuation.definition.comment", "syntax.comment"),
    ("string", "syntax.string"),
    ("punctuation.definition.string", "syntax.string"),
    ("constant", "syntax.constant"),
    ("constant.numeric", "syntax.number"),
    ("keyword", "syntax.keyword"),
    ("keyword.operator", "syntax.operator"),
    ("storage", "syntax.keyword"),
    ("entity.name", "syntax.function"),
    ("entity.name.type", "syntax.type"),
    ("entity.name.class", "syntax.type"),
    ("entity.name.struct", "syntax.type"),
    ("entity.name.enum", "syntax.type"),
    ("entity.name.trait", "syntax.type"),
    ("entity.name.impl", "syntax.type"),
    ("entity.name.namespace", "syntax.type"),
    ("entity.name.tag", "syntax.tag"),
    ("entity.name.section", "heading"),
    ("entity.other.inherited-class", "syntax.type"),
    ("entity.other.attribute-name", "syntax.attribute"),
    ("support.function", "syntax.function"),
    ("support.macro", "syntax.function"),
    ("support.type", "syntax.type"),
    ("support.class", "syntax.type"),
    ("support.constant", "syntax.constant"),
    ("variable", "syntax.variable"),
    ("variable.function", "syntax.function"),
    ("variable.language", "syntax.constant"),
    ("punctuation", "syntax.punctuation"),
    ("invalid", "syntax.invalid"),
    ("markup.heading", "heading"),
    ("markup.bold", "strong"),
    ("markup.italic", "emphasis"),
    ("markup.raw", "code"),
    ("markup.quote", "quote"),
    ("markup.underline.link", "link"),
    ("markup.inserted", "diff.added"),
    ("markup.deleted", "diff.removed"),
    ("meta.diff.range", "diff.hunk"),
    ("punctuation.definition.inserted", "diff.added"),
    ("punctuation.definition.deleted", "diff.removed"),
];

/// The rules as the grammars' library has scopes.
fn rules() -> &'static [(Scope, &'static str)] {
    static SCOPES: OnceLock<Vec<(Scope, &'static str)>> = OnceLock::new();
    SCOPES.get_or_init(|| {
        let parsed =
            |(scope, style): &(&str, &'static str)| Some((Scope::new(scope).ok()?, *style));
        RULES.iter().filter_map(parsed).collect()
    })
}

/// The styles of scopes under one theme.
pub(super) struct Classes {
    styles: HashMap<&'static str, Style>,
    known: HashMap<Scope, Option<Style>>,
}

impl Classes {
    pub(super) fn new(themes: &Themes) -> Self {
        let style =
            |(_, name): &(Scope, &'static str)| (*name, themes.get(name).unwrap_or_default());
        Self {
            styles: rules().iter().map(style).collect(),
            known: HashMap::new(),
        }
    }

    /// The style of what stands where `stack` is: that of the innermost scope which has one.
    pub(super) fn of(&mut self, stack: &ScopeStack) -> Style {
        let mut scopes = stack.as_slice().iter().rev();
        scopes
            .find_map(|scope| self.one(*scope))
            .unwrap_or_default()
    }

    fn one(&mut self, scope: Scope) -> Option<Style> {
        if let Some(known) = self.known.get(&scope) {
            return *known;
        }
        let fitting = rules().iter().filter(|(rule, _)| rule.is_prefix_of(scope));
        let longest = fitting.max_by_key(|(rule, _)| rule.len());
        let style = longest.and_then(|(_, name)| self.styles.get(name).copied());
        self.known.insert(scope, style);
        style
    }
}
