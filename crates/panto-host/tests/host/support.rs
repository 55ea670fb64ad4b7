//! A desk: directories with extensions, a scripted model, and a session over them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use panto_host::compose::{Composer, Kept, LiveSession};
use panto_host::dirs::{Dirs, Environment, project_root};
use panto_host::headless::{Detail, Notes, Run, TextFlow, TextOutput, follow};
use panto_host::host::{Asker, NobodyToAsk, Themes};
use panto_host::models::{ChoiceRequest, LateProtocols};
use panto_host::{Config, LoadConfig, Models, ProtocolRegistry};
use pantograph::{Agent, AgentOptions, SessionId, Submission};
use pantograph_scripted::{Script, ScriptedProtocol};
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

const CONFIG: &str = "model = \"test:model\"\n[providers.test]\nprotocol = \"scripted\"\n\
                      [providers.test.models.model]\n[providers.test.models.other]\nreasoning = [\"low\", \"high\"]\n";

/// What a test's session is made of.
pub(crate) struct Desk {
    root: TempDir,
    pub(crate) protocol: Arc<ScriptedProtocol>,
    pub(crate) trusted: bool,
    pub(crate) asker: Arc<dyn Asker>,
    pub(crate) shown_tools: Option<Vec<String>>,
    pub(crate) bundle: bool,
    said: Arc<Mutex<Vec<String>>>,
}

impl Desk {
    pub(crate) fn new(script: Script) -> Self {
        Self::within(&std::env::temp_dir(), script)
    }

    /// The same below `dir`.
    pub(crate) fn within(dir: &Path, script: Script) -> Self {
        let desk = Self {
            root: tempfile::tempdir_in(dir).unwrap(),
            protocol: Arc::new(ScriptedProtocol::new(script)),
            trusted: true,
            asker: Arc::new(NobodyToAsk),
            shown_tools: None,
            bundle: false,
            said: Arc::default(),
        };
        fs::create_dir_all(desk.path("project/.git")).unwrap();
        desk.file("config/panto/config.toml", CONFIG)
    }

    /// One that no model is asked at.
    pub(crate) fn silent() -> Self {
        Self::new(Script::new())
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    pub(crate) fn file(self, path: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// An extension of the user's whose `activate` is `body`, with `panto` at hand.
    pub(crate) fn extension(self, name: &str, body: &str) -> Self {
        let text = format!(
            "local panto = require(\"panto\")\nreturn {{ name = \"{name}\", activate = function()\n{body}\nend }}\n"
        );
        self.file(&format!("config/panto/extensions/{name}.lua"), text)
    }

    /// What was said, without where the desk stands.
    pub(crate) fn said(&self) -> Vec<String> {
        let said = self.said.lock();
        said.iter().map(|line| self.plain(line)).collect()
    }

    pub(crate) fn plain(&self, text: &str) -> String {
        text.replace(&self.root.path().display().to_string(), "ROOT")
    }

    /// The same desk with another script.
    pub(crate) fn playing(mut self, script: Script) -> Self {
        self.protocol = Arc::new(ScriptedProtocol::new(script));
        self
    }

    /// Puts a session together and hands it to `work`, on the thread that owns it.
    pub(crate) fn run<T>(&self, work: impl AsyncFnOnce(&Composer, LiveSession) -> T) -> T {
        self.run_kept(None, work)
    }

    /// The same for a session that is there already.
    pub(crate) fn run_on<T>(
        &self,
        id: SessionId,
        work: impl AsyncFnOnce(&Composer, LiveSession) -> T,
    ) -> T {
        self.run_kept(Some(id), work)
    }

    fn run_kept<T>(
        &self,
        id: Option<SessionId>,
        work: impl AsyncFnOnce(&Composer, LiveSession) -> T,
    ) -> T {
        let agents = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let owner = Builder::new_current_thread().enable_all().build().unwrap();
        let composer = self.composer(&agents);
        let done = owner.block_on(async {
            let store = composer.store().unwrap();
            let kept = match id {
                Some(id) => Kept::open(store, id).await.unwrap().0,
                None => Kept::New(store),
            };
            let live = start_kept(&composer, kept).await;
            work(&composer, live).await
        });
        drop(composer);
        agents.shutdown_background();
        done
    }

    fn composer(&self, agents: &Runtime) -> Composer {
        let environment = Environment {
            cwd: self.path("project"),
            home: Some(self.path("home").into_os_string()),
            xdg_config_home: Some(self.path("config").into_os_string()),
            xdg_data_home: Some(self.path("data").into_os_string()),
            ..Environment::default()
        };
        let dirs = Dirs::new(&environment);
        let root = project_root(&environment.cwd);
        let bundle = self.bundle.then(|| self.path("bundle"));
        let loaded = Config::load(&LoadConfig {
            dirs: &dirs,
            project_root: root.clone(),
            explicit: None,
            trusted: self.trusted,
            bundle: bundle.clone(),
        });
        let loaded = loaded.unwrap();
        let config = Arc::new(loaded.config);
        let late = LateProtocols::default();
        let mut registry = ProtocolRegistry::default();
        let protocol = Arc::clone(&self.protocol);
        registry.register("scripted", move |_| Ok(protocol.clone()));
        registry.allow_late(late.clone());
        let (said, printed) = (Arc::clone(&self.said), Arc::clone(&self.said));
        for warning in &loaded.warnings {
            said.lock().push(warning.to_string());
        }
        let settings = config.extensions.settings.iter().map(|(name, value)| {
            let value = serde_json::to_value(&value.value).unwrap();
            (name.clone(), value)
        });
        let staged = self.path("staged");
        Composer {
            agents: agents.handle().clone(),
            os: "linux",
            dirs,
            home: Some(self.path("home")),
            project_root: root,
            trusted: self.trusted,
            bundle,
            staged: staged.is_dir().then_some(staged),
            rocks: None,
            no_extensions: false,
            models: Arc::new(Models::new(Arc::clone(&config), registry)),
            late,
            environment: vec![("SEEN".into(), "yes".into())],
            settings: settings.collect::<BTreeMap<_, _>>(),
            shown_tools: self.shown_tools.clone(),
            hidden_tools: Vec::new(),
            agent_options: AgentOptions::default(),
            asker: Arc::clone(&self.asker),
            base_prompt: Some("BASE".to_owned()),
            themes: Arc::new(Themes::new()),
            // Long for an activation, and short for a test.
            activation_limit: std::time::Duration::from_millis(2500),
            report: Arc::new(move |diagnostic| {
                let line = format!("{}: {diagnostic}", diagnostic.level.as_str());
                said.lock().push(line);
            }),
            print: Arc::new(move |text| printed.lock().push(format!("printed: {text}"))),
            config,
        }
    }
}

pub(crate) async fn start(composer: &Composer) -> LiveSession {
    start_kept(composer, Kept::New(composer.store().unwrap())).await
}

async fn start_kept(composer: &Composer, kept: Kept) -> LiveSession {
    let found = composer.find();
    let host = composer.host(&found).unwrap();
    let chosen = composer.models.choose(&ChoiceRequest::default()).unwrap();
    let builder = Agent::builder(chosen.protocol, chosen.model);
    LiveSession::start(composer, host, &found, kept, builder)
        .await
        .unwrap()
}

/// Says something to the session, and waits until it is idle; gives what it wrote, too.
pub(crate) async fn ask(live: &mut LiveSession, prompt: &str) -> (Run, String) {
    let mut events = live.handle.events();
    live.handle.submit(Submission::follow_up(prompt)).unwrap();
    let mut answer = Vec::new();
    let mut output = TextOutput::new(
        &mut answer,
        Notes::new(std::io::sink(), Detail::Brief),
        TextFlow::Whole,
    );
    let handle = live.handle.clone();
    let following = follow(&handle, &mut events, &mut output);
    let run = live.host.run_until(following).await;
    (run, String::from_utf8(answer).unwrap())
}

/// What the file that extensions write to has, if it is there.
pub(crate) fn log_of(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}
