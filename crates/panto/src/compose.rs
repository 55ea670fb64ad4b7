//! What a session is put together from: configuration, keys, models, layers, and the Lua side.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use panto_host::extensions::{
    Diagnostic, LayerName, LayersRequest, Level, ResourceLayer, SourceFile, discover, layers,
};
use panto_host::host::{Asker, Host, HostOptions, PromptFacts, Themes, git_branch};
use panto_host::models::{LateProtocols, Models};
use panto_host::rocks::{RocksRequest, RocksTree, with_rocks};
use panto_host::{Config, did_you_mean};
use pantograph::{AgentOptions, Clock, SystemClock, with_causes};
use pantograph_providers::catalog;
use serde_json::json;
use tokio::runtime::Handle;

use crate::args::{CommonArgs, HostArgs};
use crate::failure::{Exit, Failure};
use crate::keys::Keys;
use crate::place::Place;
use crate::{protocols, shipped, streams};

/// What a session is put together from.
pub(crate) struct Composition {
    pub(crate) place: Place,
    pub(crate) config: Arc<Config>,
    pub(crate) keys: Keys,
    pub(crate) models: Arc<Models>,
    pub(crate) late: LateProtocols,
    args: HostArgs,
    verbose: bool,
}

impl Composition {
    /// Reads the configuration; nothing is opened.
    ///
    /// # Errors
    ///
    /// There is no such directory, or a file that counts is broken.
    pub(crate) fn prepare(common: &CommonArgs, args: &HostArgs) -> Result<Self, Failure> {
        let place = Place::find_for(common, args)?;
        let config = place.load_config(common)?;
        let keys = Keys::new(&place, &config);
        let late = LateProtocols::default();
        let mut registry = protocols::built_in(keys.credentials());
        if !args.no_extensions {
            registry.allow_late(late.clone());
        }
        let models = Models::new(Arc::clone(&config), registry).with_keys(keys.clone());
        Ok(Self {
            place,
            config,
            keys,
            models: Arc::new(models),
            late,
            args: args.clone(),
            verbose: common.verbose,
        })
    }

    /// The layers of resources, with what there is to say about those that are left out.
    fn layers(&self) -> (Vec<ResourceLayer>, Option<PathBuf>) {
        if let Some(dir) = &self.place.bundle {
            let layer = ResourceLayer {
                name: LayerName::Bundle,
                dir: dir.clone(),
            };
            return (vec![layer], None);
        }
        let staged = shipped::staged(&self.place.dirs);
        let base = staged.as_deref().map(|staged| staged.join("agent"));
        let (layers, skipped, diagnostics) = layers(&LayersRequest {
            dirs: &self.place.dirs,
            project_root: &self.place.root,
            base: base.as_deref(),
            trusted: self.place.trusted,
        });
        for diagnostic in &diagnostics {
            streams::warn(diagnostic);
        }
        for layer in skipped {
            streams::note(format!(
                "skipped {} in `{}`: the project is not trusted; `panto trust` trusts it, `--trust` for one run",
                layer.has.join(", "),
                layer.dir.display()
            ));
        }
        (layers, staged)
    }

    /// Makes the Lua side of a session, with nothing loaded yet, and finds what it will load.
    ///
    /// # Errors
    ///
    /// Lua cannot be started.
    pub(crate) fn open(
        &self,
        agents: Handle,
        options: AgentOptions,
        asker: Arc<dyn Asker>,
        prompt: Option<PromptFacts>,
    ) -> Result<(Host, Vec<SourceFile>), Failure> {
        let (layers, staged) = if self.args.no_extensions {
            (Vec::new(), None)
        } else {
            self.layers()
        };
        let layer_of = |layer| match self.place.bundle {
            Some(_) => LayerName::Bundle,
            None => layer,
        };
        let set = &self.config.extensions;
        let paths: Vec<_> = set
            .paths
            .iter()
            .map(|path| {
                let layer = match &set.paths.source {
                    panto_host::config::Source::File { layer, .. } => LayerName::from(*layer),
                    panto_host::config::Source::Default => LayerName::User,
                };
                (layer_of(layer), self.place.root.join(path))
            })
            .collect();
        let rocks = self.rocks();
        let (sources, mut diagnostics) = discover(&layers, &paths);
        let request = RocksRequest {
            layers: &layers,
            named: &set.rocks,
            tree: rocks.as_ref(),
            staged: staged.as_deref(),
        };
        let (sources, wrong) = with_rocks(&request, sources);
        diagnostics.extend(wrong);
        let verbose = self.verbose;
        let report = move |diagnostic: &Diagnostic| match diagnostic.level {
            Level::Error | Level::Warning => streams::warn(diagnostic),
            Level::Info if verbose => streams::note(diagnostic),
            Level::Info => {}
        };
        for diagnostic in &diagnostics {
            report(diagnostic);
        }
        let (shows, hides) = (self.args.tools.clone(), self.args.exclude_tools.clone());
        let host = Host::open(HostOptions {
            agents,
            agent_options: options,
            environment: environment(&self.config),
            home: match self.place.bundle {
                Some(_) => None,
                None => self.place.home.clone(),
            },
            cwd: self.place.cwd().to_owned(),
            project_root: self.place.root.clone(),
            layers,
            module_dirs: staged
                .into_iter()
                .chain(rocks.iter().map(RocksTree::modules))
                .collect(),
            native_module_dirs: rocks.iter().map(RocksTree::native_modules).collect(),
            settings: self.settings(),
            allow: set.allow.value.clone(),
            deny: set.deny.value.clone(),
            models: Arc::clone(&self.models),
            ask_before: self.config.tools.ask.value.clone(),
            asker,
            themes: Arc::new(Themes::new()),
            shows_tool: Box::new(move |name| {
                let is = |names: &Vec<String>| names.iter().any(|other| other == name);
                shows.as_ref().is_none_or(is) && !is(&hides)
            }),
            prompt,
            report: Box::new(report),
        })
        .map_err(|error| Failure::new(Exit::TurnFailed, "internal", error))?;
        Ok((host, sources))
    }

    /// What the host says to the model, besides extensions.
    pub(crate) fn prompt(&self) -> PromptFacts {
        let cwd = self.place.cwd();
        let now = SystemClock.now().to_string();
        PromptFacts {
            base: shipped::BASE_PROMPT.to_owned(),
            cwd: cwd.to_owned(),
            os: env::consts::OS,
            // An RFC 3339 time begins with its day.
            date: now.get(..10).unwrap_or_default().to_owned(),
            git_branch: git_branch(cwd),
        }
    }

    /// The tree of installed rocks.
    pub(crate) fn rocks(&self) -> Option<RocksTree> {
        if self.place.bundle.is_some() {
            return None;
        }
        let data_home = self.place.dirs.data_home().ok()?;
        Some(RocksTree::of_data_home(data_home))
    }

    /// What each extension is given: the configuration's, and of skills what the command line says.
    fn settings(&self) -> BTreeMap<String, serde_json::Value> {
        let mut settings: BTreeMap<_, _> = self
            .config
            .extensions
            .settings
            .iter()
            .map(|(name, value)| {
                let value = serde_json::to_value(&value.value);
                (name.clone(), value.unwrap_or_default())
            })
            .collect();
        let skills = settings.entry("skills".to_owned()).or_insert(json!({}));
        if let Some(skills) = skills.as_object_mut() {
            // Relative to where the person is, whatever `--cwd` says.
            let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or(path.clone());
            let extra = self.args.skills.iter().map(absolute);
            let extra: Vec<_> = extra.map(|path| text(&path)).collect();
            skills.insert("extra".to_owned(), json!(extra));
            skills.insert("disabled".to_owned(), json!(self.args.no_skills));
        }
        settings
    }

    /// Makes sure that every protocol that was chosen is there, once extensions are loaded.
    ///
    /// # Errors
    ///
    /// One is not; which, and what there is.
    pub(crate) fn find_protocols(&self, host: &Host) -> Result<(), Failure> {
        self.late.find(|name| host.protocol(name));
        match self.late.missing().first() {
            None => Ok(()),
            Some(name) => Err(self.unknown_protocol(name)),
        }
    }

    /// Makes sure that the tools that the arguments name are there.
    ///
    /// # Errors
    ///
    /// One is not; what it may be.
    pub(crate) fn check_tools(&self, host: &Host) -> Result<(), Failure> {
        let named = self
            .args
            .tools
            .iter()
            .flatten()
            .chain(&self.args.exclude_tools);
        let declared = host.tool_source().declarations();
        for name in named {
            let mut names = declared.iter().map(|tool| tool.name.as_str());
            if !names.any(|other| other == name) {
                let names = declared.iter().map(|tool| tool.name.as_str());
                let near = did_you_mean(name, names);
                return Err(Failure::usage(format!("there is no tool `{name}`{near}")));
            }
        }
        Ok(())
    }

    fn unknown_protocol(&self, name: &str) -> Failure {
        let provider = self.config.providers.values().find(|provider| {
            provider
                .protocol
                .as_deref()
                .is_some_and(|protocol| protocol == name)
        });
        let place = provider.and_then(|provider| provider.protocol.as_ref());
        let place = place.map(|protocol| format!(" ({})", protocol.source));
        Failure::config(anyhow::anyhow!(
            "there is no protocol `{name}`{}: none is built in, and no extension has registered one",
            place.unwrap_or_default()
        ))
        .with_hint("`panto doctor` lists the extensions and what became of them")
    }
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

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// What a command or an extension failed with, in words for people.
pub(crate) fn command_failure(error: &panto_host::host::RunCommandError) -> Failure {
    use panto_host::host::RunCommandError;
    let text = anyhow::anyhow!(with_causes(error));
    match error {
        RunCommandError::Unknown { .. } => Failure::new(Exit::Usage, "usage", text)
            .with_hint("`panto x` lists the commands that there are"),
        _ => Failure::new(Exit::TurnFailed, "command", text),
    }
}
