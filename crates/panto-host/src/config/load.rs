//! The layers, from files to one configuration.

use std::path::{Path, PathBuf};

use toml::de::DeTable;

use super::check::{check, parse};
use super::document::Document;
use super::error::{ConfigError, ConfigWarning, Problem, key_path};
use super::read::read;
use super::sourced::Layer;
use super::tree::Table;
use super::{Config, LoadConfig, Loaded};

/// What an untrusted project may set.
const ALWAYS_ALLOWED: [&str; 2] = ["model", "reasoning"];

pub(super) fn load(request: &LoadConfig<'_>) -> Result<Loaded, ConfigError> {
    let mut loading = Loading::default();
    if let Some(dir) = &request.bundle {
        let file = dir.join("config.toml");
        loading.trusted(&file, Layer::User)?;
        return Ok(loading.finish(Some(file)));
    }
    let user_file = user_file(request);
    if let Some(file) = &user_file {
        let found = loading.trusted(file, Layer::User)?;
        if !found && request.explicit.is_some() {
            return Err(ConfigError::Missing(file.clone()));
        }
    }
    let project = request.project_root.join(".panto");
    for (file, layer) in [
        (project.join("config.toml"), Layer::Project),
        (project.join("local").join("config.toml"), Layer::Local),
    ] {
        if request.trusted {
            loading.trusted(&file, layer)?;
        } else {
            loading.untrusted(&file, layer);
        }
    }
    Ok(loading.finish(user_file))
}

/// The file of the user's layer, if there is a place for one.
fn user_file(request: &LoadConfig<'_>) -> Option<PathBuf> {
    match &request.explicit {
        Some(file) => Some(request.dirs.cwd().join(file)),
        None => Some(request.dirs.config_home().ok()?.join("config.toml")),
    }
}

#[derive(Default)]
struct Loading {
    merged: Option<Table>,
    files: Vec<PathBuf>,
    warnings: Vec<ConfigWarning>,
}

impl Loading {
    fn finish(self, user_file: Option<PathBuf>) -> Loaded {
        let mut config = Config::from_table(self.merged.unwrap_or_else(Table::empty));
        config.files = self.files;
        config.user_file = user_file;
        Loaded {
            config,
            warnings: self.warnings,
        }
    }

    /// Adds a layer whose every setting counts; says whether there is such a file.
    fn trusted(&mut self, file: &Path, layer: Layer) -> Result<bool, ConfigError> {
        let Some(text) = read(file, layer)? else {
            return Ok(false);
        };
        let document = Document::new(file, layer, &text);
        let root = parse(&document).map_err(ConfigError::Invalid)?;
        let table = check(&document, &root, &mut self.warnings).map_err(ConfigError::Invalid)?;
        self.add(file, table);
        Ok(true)
    }

    /// Adds a layer that may set only what is harmless; what is wrong with it is one warning.
    fn untrusted(&mut self, file: &Path, layer: Layer) {
        let text = match read(file, layer) {
            Ok(Some(text)) => text,
            Ok(None) => return,
            Err(error) => return self.broken(pantograph::with_causes(&error)),
        };
        let document = Document::new(file, layer, &text);
        match harmless(&document) {
            Ok((table, ignored)) => {
                if !ignored.is_empty() {
                    self.warnings.push(ConfigWarning::Untrusted {
                        file: file.to_owned(),
                        keys: ignored,
                    });
                }
                self.add(file, table);
            }
            Err(problem) => self.broken(problem.to_string()),
        }
    }

    fn broken(&mut self, why: String) {
        self.warnings.push(ConfigWarning::UntrustedBroken(why));
    }

    fn add(&mut self, file: &Path, table: Table) {
        match &mut self.merged {
            Some(merged) => merged.merge(table, ""),
            None => self.merged = Some(table),
        }
        self.files.push(file.to_owned());
    }
}

/// The harmless part of a file, and the keys of the rest in the file's order.
fn harmless(document: &Document<'_>) -> Result<(Table, Vec<String>), Problem> {
    let root = parse(document)?;
    let (allowed, rest): (Vec<_>, Vec<_>) = root
        .into_iter()
        .partition(|(key, _)| ALWAYS_ALLOWED.contains(&key.get_ref().as_ref()));
    let mut keys = Vec::new();
    for (key, value) in rest {
        let name = key.get_ref().to_string();
        match value.get_ref().as_table().filter(|table| !table.is_empty()) {
            Some(table) => keys.extend(table.keys().map(|inner| {
                let path = [name.clone(), inner.get_ref().to_string()];
                (inner.span().start, key_path(&path))
            })),
            None => keys.push((key.span().start, key_path(&[name]))),
        }
    }
    keys.sort_unstable();
    let allowed: DeTable<'_> = allowed.into_iter().collect();
    let table = check(document, &allowed, &mut Vec::new())?;
    Ok((table, keys.into_iter().map(|(_, key)| key).collect()))
}
