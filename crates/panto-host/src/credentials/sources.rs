//! The places where one provider's key may be, in order.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use pantograph_providers::{ApiKey, Credentials, CredentialsError};

use super::command::KeyCommand;
use super::error::{KeyError, KeyWarning, LookedAt, MissingKey, Outcome};
use super::key::{KeyProblem, KeyText};
use super::request::{KeyNeed, KeyRequest};
use super::source::KeySource;
use super::store::CredentialStore;
use crate::config::Sourced;

/// The sources of one provider's key.
///
/// Variables are read once, when this is made; the credential file and the command are asked when
/// a key is wanted, so that a key that changes is seen. Share one value a provider: a command's key
/// is kept in it. Holds no key that `Debug` shows.
#[derive(Debug)]
pub struct KeySources {
    provider: String,
    need: KeyNeed,
    /// The variables before the one that gave a key; all if none did.
    unset: Vec<LookedAt>,
    chosen: Choice,
    store: Option<CredentialStore>,
    config_file: Option<PathBuf>,
    /// The variable that a hint names.
    variable: Option<String>,
}

/// What gives the key.
#[derive(Debug)]
enum Choice {
    Variable(KeySource, Result<ApiKey, CredentialsError>),
    Command(KeySource, KeyCommand),
    /// No variable is set: the credential file, if it has an entry.
    Stored,
}

/// What is known before the first request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// Where the key comes from; `None` if the provider is asked without one.
    pub source: Option<KeySource>,
    /// For standard error.
    pub warnings: Vec<KeyWarning>,
}

impl KeySources {
    /// Reads the variables. Runs nothing, and opens no file.
    pub fn new(request: &KeyRequest<'_>) -> Self {
        let env = request.settings.and_then(|set| set.api_key_env.as_ref());
        let command = request
            .settings
            .and_then(|set| set.api_key_command.as_ref());
        let explicit = env.is_some() || command.is_some();
        let variables: Vec<KeySource> = match (command, env) {
            (Some(_), _) => Vec::new(),
            (None, Some(env)) => vec![KeySource::Variable {
                name: env.value.clone(),
                named_in: Some(env.source.clone()),
            }],
            (None, None) => request
                .well_known
                .iter()
                .map(|name| KeySource::well_known(name))
                .collect(),
        };
        let variable = variables.first().and_then(|source| source.variable());
        let mut sources = Self {
            provider: request.provider.to_owned(),
            need: match explicit {
                true => KeyNeed::Required,
                false => request.need,
            },
            unset: Vec::new(),
            chosen: Choice::Stored,
            store: request.store.cloned(),
            config_file: request.config_file.map(Path::to_owned),
            variable: variable.map(str::to_owned),
        };
        match command {
            Some(command) => {
                let source = KeySource::Command {
                    named_in: command.source.clone(),
                };
                let run = KeyCommand::new(&resolved(command), &source.to_string());
                sources.chosen = Choice::Command(source, run);
            }
            None => sources.choose(variables, request.lookup),
        }
        sources
    }

    /// Takes the first variable that is set.
    fn choose(&mut self, variables: Vec<KeySource>, lookup: &dyn Fn(&str) -> Option<OsString>) {
        for source in variables {
            let value = source.variable().and_then(lookup);
            let outcome = match value.as_ref().map(read) {
                None => Outcome::NotSet,
                Some(Err(KeyProblem::Empty)) => Outcome::Empty,
                Some(Ok(key)) => {
                    let key = key.to_api_key(&source);
                    self.chosen = Choice::Variable(source, Ok(key));
                    return;
                }
                Some(Err(problem)) => {
                    let error = CredentialsError::new(source.to_string(), problem.to_string());
                    self.chosen = Choice::Variable(source, Err(error));
                    return;
                }
            };
            self.unset.push(LookedAt { source, outcome });
        }
    }

    /// The source that gives the key, if one does; no command is run and no key leaves.
    ///
    /// # Errors
    ///
    /// The source is there and is broken: a variable that holds no key, a credential file that
    /// cannot be read.
    pub fn find(&self) -> Result<Option<KeySource>, CredentialsError> {
        match &self.chosen {
            Choice::Variable(source, Ok(_)) | Choice::Command(source, _) => {
                Ok(Some(source.clone()))
            }
            Choice::Variable(_, Err(error)) => Err(error.clone()),
            Choice::Stored => {
                let found = self.stored()?;
                Ok(found.map(|(source, _)| source))
            }
        }
    }

    /// Each source that was asked and had no key, in order; empty if one has.
    ///
    /// A credential file that cannot be read is not among them: [`KeySources::find`] says so.
    pub fn looked_at(&self) -> Vec<LookedAt> {
        let mut looked = match &self.chosen {
            Choice::Stored => self.unset.clone(),
            _ => return Vec::new(),
        };
        if let Some(store) = &self.store
            && let Ok(contents) = store.read()
        {
            match contents.key(&self.provider) {
                Ok(None) => looked.push(LookedAt {
                    source: KeySource::File(store.path().to_owned()),
                    outcome: match contents.exists() {
                        true => Outcome::NoEntry,
                        false => Outcome::NoFile,
                    },
                }),
                Ok(Some(_)) => return Vec::new(),
                Err(_) => {}
            }
        }
        looked
    }

    /// Makes sure that a request would have what it needs; runs a command, if it comes to that.
    ///
    /// For the time before a turn: what fails here would fail each of its requests.
    ///
    /// # Errors
    ///
    /// There is no key and one is needed, or its source gives none.
    pub async fn prepare(&self) -> Result<Prepared, KeyError> {
        match &self.chosen {
            Choice::Variable(source, key) => {
                key.clone()?;
                Ok(Prepared::from(source.clone()))
            }
            Choice::Command(source, command) => {
                command.key().await?;
                Ok(Prepared::from(source.clone()))
            }
            Choice::Stored => {
                let found = self.stored().map_err(KeyError::Unusable)?;
                if found.is_none() && self.need == KeyNeed::Required {
                    return Err(self.missing().into());
                }
                Ok(self.prepared(found.map(|(source, _)| source)))
            }
        }
    }

    /// The key in the credential file.
    fn stored(&self) -> Result<Option<(KeySource, KeyText)>, CredentialsError> {
        let Some(store) = &self.store else {
            return Ok(None);
        };
        let key = store.read()?.key(&self.provider)?;
        Ok(key.map(|key| (KeySource::File(store.path().to_owned()), key)))
    }

    fn prepared(&self, source: Option<KeySource>) -> Prepared {
        let mut warnings = Vec::new();
        if source.is_some() {
            warnings.extend(self.unset.iter().filter_map(stored_instead));
            let contents = self.store.as_ref().and_then(|store| store.read().ok());
            warnings.extend(contents.and_then(|contents| contents.exposed()));
        }
        Prepared { source, warnings }
    }

    fn missing(&self) -> MissingKey {
        MissingKey {
            provider: self.provider.clone(),
            looked_at: self.looked_at(),
            variable: self.variable.clone(),
            can_store: self.store.is_some(),
            config_file: self.config_file.clone(),
        }
    }
}

#[async_trait]
impl Credentials for KeySources {
    /// The key of the source that [`KeySources::find`] names.
    ///
    /// The credential file is read each time: a small regular file, without waiting for anything.
    async fn key(&self) -> Result<Option<ApiKey>, CredentialsError> {
        match &self.chosen {
            Choice::Variable(_, key) => key.clone().map(Some),
            Choice::Command(_, command) => command.key().await.map(Some),
            Choice::Stored => match self.stored()? {
                Some((source, key)) => Ok(Some(key.to_api_key(source))),
                None if self.need == KeyNeed::Required => Err(self.missing().into()),
                None => Ok(None),
            },
        }
    }
}

impl From<KeySource> for Prepared {
    fn from(source: KeySource) -> Self {
        Self {
            source: Some(source),
            warnings: Vec::new(),
        }
    }
}

/// A command whose program lies where the configuration says: a path starts at the directory of
/// its file, as all paths in it do, and not where panto happens to work. A name is looked up.
fn resolved(command: &Sourced<Vec<String>>) -> Vec<String> {
    let mut arguments = command.value.clone();
    let directory = command.source.place().and_then(|place| place.file.parent());
    if let (Some(program), Some(directory)) = (arguments.first_mut(), directory)
        && program.contains('/')
        && !program.starts_with('~')
        // A path that is no text cannot be written down; the program is then looked for as it is.
        && let Some(path) = directory.join(&*program).to_str()
    {
        *program = path.to_owned();
    }
    arguments
}

/// Reads a variable's value.
fn read(value: &OsString) -> Result<KeyText, KeyProblem> {
    KeyText::parse(value.to_str().ok_or(KeyProblem::NotAscii)?)
}

/// The warning that a variable of the configuration gave way to the stored key.
fn stored_instead(looked: &LookedAt) -> Option<KeyWarning> {
    match &looked.source {
        KeySource::Variable {
            name,
            named_in: Some(place),
        } => Some(KeyWarning::StoredInstead {
            variable: name.clone(),
            named_in: place.clone(),
            outcome: looked.outcome,
        }),
        _ => None,
    }
}
