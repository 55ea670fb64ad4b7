//! What a session is put together from: configuration, keys, models, layers, and the Lua side.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use panto_host::Config;
use panto_host::compose::{ComposeError, Composer, Found};
use panto_host::extensions::Level;
use panto_host::host::{ACTIVATION_LIMIT, NobodyToAsk, RunCommandError, Themes};
use panto_host::models::{LateProtocols, Models};
use panto_host::rocks::RocksTree;
use pantograph::{AgentOptions, with_causes};
use pantograph_providers::catalog;
use serde_json::json;
use tokio::runtime::Handle;

use crate::args::{CommonArgs, HostArgs};
use crate::failure::{Exit, Failure};
use crate::keys::Keys;
use crate::place::Place;
use crate::{protocols, shipped, streams};

/// What a session is put together from, and where its keys are.
pub(crate) struct Composition {
    pub(crate) place: Place,
    pub(crate) keys: Keys,
    pub(crate) composer: Composer,
}

impl Composition {
    /// Reads the configuration, and stages what the binary carries; nothing is opened.
    ///
    /// # Errors
    ///
    /// A file that counts is broken.
    pub(crate) fn prepare(
        place: Place,
        common: &CommonArgs,
        args: &HostArgs,
        agents: Handle,
    ) -> Result<Self, Failure> {
        let config = place.load_config(common)?;
        let keys = Keys::new(&place, &config);
        let late = LateProtocols::default();
        let mut registry = protocols::built_in(keys.credentials());
        if !args.no_extensions {
            registry.allow_late(late.clone());
        }
        let models = Models::new(Arc::clone(&config), registry).with_keys(keys.clone());
        let is_plain = place.bundle.is_none();
        let staged = match is_plain && !args.no_extensions {
            true => shipped::staged(&place.dirs),
            false => None,
        };
        let rocks = place.dirs.data_home().ok().filter(|_| is_plain);
        let verbose = common.verbose;
        let composer = Composer {
            agents,
            os: env::consts::OS,
            dirs: place.dirs.clone(),
            home: place.home.clone(),
            project_root: place.root.clone(),
            trusted: place.trusted,
            bundle: place.bundle.clone(),
            staged,
            rocks: rocks.map(RocksTree::of_data_home),
            no_extensions: args.no_extensions,
            models: Arc::new(models),
            late,
            environment: environment(&config),
            settings: settings(&config, args),
            shown_tools: args.tools.as_deref().map(names),
            hidden_tools: names(&args.exclude_tools),
            agent_options: AgentOptions {
                auto_compact: *config.compaction.auto,
                ..AgentOptions::default()
            },
            asker: Arc::new(NobodyToAsk),
            base_prompt: Some(shipped::BASE_PROMPT.to_owned()),
            themes: Arc::new(Themes::new()),
            activation_limit: ACTIVATION_LIMIT,
            report: Arc::new(move |diagnostic| match diagnostic.level {
                Level::Error | Level::Warning => streams::warn(diagnostic),
                Level::Info if verbose => streams::note(diagnostic),
                Level::Info => {}
            }),
            print: Arc::new(streams::pass_on),
            config,
        };
        Ok(Self {
            place,
            keys,
            composer,
        })
    }

    /// Finds the extensions, and says what of the project is left out.
    pub(crate) fn find(&self) -> Found {
        let found = self.composer.find();
        for layer in &found.skipped {
            streams::note(format!(
                "skipped {} in `{}`: the project is not trusted; `panto trust` trusts it, \
                 `--trust` for one run",
                layer.has.join(", "),
                layer.dir.display()
            ));
        }
        found
    }
}

/// A list of names as people write it: with blanks, and with a comma at its end.
fn names(given: &[String]) -> Vec<String> {
    let names = given.iter().map(|name| name.trim());
    let names = names.filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// What each extension is given: the configuration's, and of skills what the command line says.
fn settings(config: &Config, args: &HostArgs) -> BTreeMap<String, serde_json::Value> {
    let set = config.extensions.settings.iter();
    let mut settings: BTreeMap<_, _> = set
        .map(|(name, value)| {
            let value = serde_json::to_value(&value.value);
            (name.clone(), value.unwrap_or_default())
        })
        .collect();
    let skills = settings.entry("skills".to_owned()).or_insert(json!({}));
    if let Some(skills) = skills.as_object_mut() {
        // Relative to where the person is, whatever `--cwd` says.
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or(path.clone());
        let extra = args.skills.iter().map(absolute);
        let extra: Vec<_> = extra
            .map(|path| path.to_string_lossy().into_owned())
            .collect();
        skills.insert("extra".to_owned(), json!(extra));
        skills.insert("disabled".to_owned(), json!(args.no_skills));
    }
    settings
}

/// The process's environment without what holds a provider's key: every variable that the catalog
/// or the configuration names as the source of one.
pub(crate) fn environment(config: &Config) -> Vec<(OsString, OsString)> {
    let known = catalog::providers().iter();
    let known = known.flat_map(|provider| provider.key_variables.iter().copied());
    let set = config.providers.values();
    let set = set.flat_map(|provider| provider.key_variables());
    let hidden: BTreeSet<&str> = known.chain(set).collect();
    env::vars_os()
        .filter(|(name, _)| name.to_str().is_none_or(|name| !hidden.contains(name)))
        .collect()
}

impl From<ComposeError> for Failure {
    fn from(error: ComposeError) -> Self {
        match error {
            ComposeError::Session(error) => error.into(),
            ComposeError::UnknownProtocol { .. } => Failure::config(error)
                .with_hint("`panto doctor` lists the extensions and what became of them"),
            ComposeError::UnknownTool { .. } | ComposeError::UnknownReasoning { .. } => {
                Failure::usage(error)
            }
            ComposeError::NoHome(_) => Failure::config(error),
            _ => Failure::new(Exit::TurnFailed, "internal", error),
        }
    }
}

/// What a command or an extension failed with, in words for people.
pub(crate) fn command_failure(error: &RunCommandError) -> Failure {
    let text = anyhow::anyhow!(with_causes(error));
    match error {
        RunCommandError::Unknown { .. } => Failure::new(Exit::Usage, "usage", text)
            .with_hint("`panto x` lists the commands that there are"),
        _ => Failure::new(Exit::TurnFailed, "command", text),
    }
}
