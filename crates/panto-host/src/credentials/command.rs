//! `api_key_command`: run when a key is wanted, its answer kept for a while.
//!
//! Runs in the task that asks for the key. Of several that ask at once one runs the command and
//! all get its answer; whoever is dropped leaves the others the rest of the way, and when the last
//! is dropped the command is killed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use pantograph_providers::{ApiKey, CredentialsError};
use parking_lot::Mutex;
use tokio::time::Instant;

mod run;

/// How long an answer is kept.
const KEPT: Duration = Duration::from_secs(5 * 60);

type Answer = Result<ApiKey, CredentialsError>;

/// A provider's `api_key_command`. Its arguments may hold secrets: `Debug` leaves them out.
pub(super) struct KeyCommand {
    arguments: Arc<[String]>,
    /// What people call it.
    name: Arc<str>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    kept: Option<(ApiKey, Instant)>,
    /// The run that is under way; it lives as long as somebody waits for it.
    running: Option<WeakShared<BoxFuture<'static, Answer>>>,
}

impl fmt::Debug for KeyCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyCommand({})", self.name)
    }
}

impl KeyCommand {
    /// The command and its arguments, called `name`. Nothing is run yet.
    pub(super) fn new(arguments: &[String], name: &str) -> Self {
        Self {
            arguments: arguments.into(),
            name: name.into(),
            state: Arc::default(),
        }
    }

    /// The key: the one that is kept, else what the command prints.
    ///
    /// A failure is not kept: the next request tries again.
    pub(super) async fn key(&self) -> Answer {
        // In a statement of its own: no lock may live until the answer comes.
        let running = match self.kept_or_running() {
            Ok(key) => return Ok(key),
            Err(running) => running,
        };
        running.await
    }

    fn kept_or_running(&self) -> Result<ApiKey, Shared<BoxFuture<'static, Answer>>> {
        let mut state = self.state.lock();
        if let Some((key, since)) = &state.kept
            && since.elapsed() < KEPT
        {
            return Ok(key.clone());
        }
        if let Some(running) = state.running.as_ref().and_then(WeakShared::upgrade) {
            return Err(running);
        }
        let running = self.run().boxed().shared();
        state.running = running.downgrade();
        Err(running)
    }

    fn run(&self) -> impl Future<Output = Answer> + Send + use<> {
        let (arguments, name) = (Arc::clone(&self.arguments), Arc::clone(&self.name));
        let state = Arc::clone(&self.state);
        async move {
            let printed = run::run(&arguments).await;
            let answer = match printed {
                Ok(key) => Ok(key.to_api_key(&name)),
                Err(problem) => Err(CredentialsError::new(&*name, problem.to_string())),
            };
            let mut state = state.lock();
            state.running = None;
            state.kept = answer.clone().ok().map(|key| (key, Instant::now()));
            answer
        }
    }
}
