//! Keys through the module's public face.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use pantograph_providers::{Credentials, CredentialsError};
use tempfile::TempDir;

use super::*;
use crate::config::{Config, LoadConfig, Provider};
use crate::dirs::{Dirs, Environment};

mod commands;
mod sources;
mod storing;

/// A home with a configuration and variables.
struct Home {
    directory: TempDir,
    variables: Vec<(&'static str, OsString)>,
    settings: Option<Provider>,
}

impl Home {
    fn new() -> Self {
        Self {
            directory: TempDir::new().unwrap(),
            variables: Vec::new(),
            settings: None,
        }
    }

    fn variable(mut self, name: &'static str, value: &[u8]) -> Self {
        let value = OsString::from_vec(value.to_owned());
        self.variables.push((name, value));
        self
    }

    /// With `lines` under `[providers.p]`.
    fn settings(mut self, lines: &str) -> Self {
        let file = self.path().join("config.toml");
        std::fs::write(&file, format!("[providers.p]\n{lines}\n")).unwrap();
        let environment = Environment {
            cwd: self.path().to_owned(),
            ..Environment::default()
        };
        let loaded = Config::load(&LoadConfig {
            dirs: &Dirs::new(&environment),
            project_root: self.path().to_owned(),
            explicit: Some(file),
            trusted: false,
            bundle: None,
        });
        self.settings = loaded.unwrap().config.providers.get("p").cloned();
        self
    }

    /// With a key of the provider in the credential file.
    fn stored(self, key: &str) -> Self {
        let key = KeyText::parse(key).unwrap();
        self.store().set("p", &key).unwrap();
        self
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn store(&self) -> CredentialStore {
        CredentialStore::at(self.path().join("auth/credentials.json"))
    }

    /// The sources of `p`, for which `A` and `B` are well known.
    fn sources(&self) -> KeySources {
        KeySources::new(&KeyRequest {
            provider: "p",
            settings: self.settings.as_ref(),
            well_known: &["A", "B"],
            // As in force: only a place of its own takes requests without a key.
            need: match self.settings.as_ref().and_then(|set| set.base_url.as_ref()) {
                Some(_) => KeyNeed::Optional,
                None => KeyNeed::Required,
            },
            store: Some(&self.store()),
            config_file: Some(Path::new("/home/ada/.config/panto/config.toml")),
            lookup: &|name| {
                let found = self.variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| value.clone())
            },
        })
    }

    /// What comes of asking for a key: what is said before the turn, and what is sent.
    async fn told(&self) -> String {
        let sources = self.sources();
        let found = match sources.find() {
            Ok(Some(source)) => format!("find: {source}\n"),
            Ok(None) => "find: nothing\n".to_owned(),
            Err(error) => format!("find: error: {error}\n"),
        };
        let prepared = match sources.prepare().await {
            Ok(prepared) => {
                let warnings = prepared.warnings.iter();
                warnings
                    .map(|warning| format!("warning: {warning}\n"))
                    .collect()
            }
            Err(error) => {
                let hint = error.hint().map(|hint| format!("hint: {hint}\n"));
                format!("error: {error}\n{}", hint.unwrap_or_default())
            }
        };
        let key = match sources.key().await {
            Ok(Some(key)) => format!("key: from {}\n", key.source()),
            Ok(None) => "key: none\n".to_owned(),
            Err(error) => format!("key: error: {error}\n"),
        };
        let text = [found, prepared, key].concat();
        let debug = format!("{sources:?}");
        assert!(!debug.contains("secret"), "{debug}");
        text.replace(self.path().to_str().unwrap(), "HOME")
    }
}
