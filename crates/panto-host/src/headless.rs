//! Output without a screen: how a run of `panto -p` is told to people and to programs.
//!
//! Each format is an [`Output`] over writers that the caller gives; nothing here touches the
//! process's own streams.
//!
//! ```
//! use std::sync::Arc;
//! use panto_host::SessionHandle;
//! use panto_host::headless::{Detail, Notes, TextFlow, TextOutput, follow};
//! use pantograph::{Agent, Model, ModelRef, Submission};
//! use pantograph_scripted::{Script, ScriptedProtocol, Step};
//!
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
//! let protocol = ScriptedProtocol::new(Script::new().step(Step::text("Hello!")));
//! let model = Model::new(ModelRef::parse("test:model")?);
//! let session = SessionHandle::open(Agent::builder(Arc::new(protocol), model).ephemeral());
//! let mut events = session.events();
//! session.submit(Submission::follow_up("Hi."))?;
//!
//! let mut answer = Vec::new();
//! let notes = Notes::new(std::io::sink(), Detail::Brief);
//! let mut output = TextOutput::new(&mut answer, notes, TextFlow::Whole);
//! let run = follow(&session, &mut events, &mut output).await;
//! session.close().await;
//! assert_eq!(run.turns, 1);
//! assert_eq!(answer, b"Hello!\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod json;
mod json_text;
mod notes;
mod result;
mod sanitize;
mod stream_json;
mod text;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pantograph::{Event, Outcome, Queued, SessionId, UsageTotal};

use crate::host::{CommandOutput, Untold};
use crate::session::{SessionEvent, SessionEvents, SessionHandle};

pub use json::JsonOutput;
pub use json_text::{json_line, json_pretty};
pub use notes::{Detail, Notes};
pub use result::{RunError, RunResult, RunStatus};
pub use sanitize::{Sanitizer, sanitize, sanitize_line};
pub use stream_json::{STREAM_JSON_VERSION, StreamJsonOutput};
pub use text::{TextFlow, TextOutput};

/// What a run begins with.
#[derive(Debug, Clone)]
pub struct RunInfo {
    /// Names the session.
    pub session_id: SessionId,
    /// Whether the session outlives the run.
    pub saved: bool,
    /// The model reference.
    pub model: String,
    /// The reasoning label in force.
    pub reasoning: Option<String>,
    /// The directory that the session works in.
    pub cwd: PathBuf,
    /// The names of the tools that the model sees.
    pub tools: Vec<String>,
}

/// Shows one run.
///
/// Calls come in this order: [`Output::begin`] once, [`Output::event`] for every event, then
/// [`Output::finish`] once. A run that fails before it has a session is only finished.
pub trait Output {
    /// The run begins.
    ///
    /// # Errors
    ///
    /// The writer failed, as for the other methods.
    fn begin(&mut self, info: &RunInfo) -> io::Result<()>;

    /// Something happened.
    ///
    /// # Errors
    ///
    /// The writer failed.
    fn event(&mut self, event: &SessionEvent) -> io::Result<()>;

    /// The prompt was a slash command, and this is what it gave.
    ///
    /// # Errors
    ///
    /// The writer failed.
    fn command(&mut self, output: &CommandOutput) -> io::Result<()>;

    /// The run is over.
    ///
    /// # Errors
    ///
    /// The writer failed.
    fn finish(&mut self, result: &RunResult) -> io::Result<()>;
}

/// What came of a run.
#[derive(Debug, Default)]
pub struct Run {
    /// How its last turn ended; `None` if no turn was started.
    pub outcome: Option<Arc<Outcome>>,
    /// What all its turns used.
    pub usage: UsageTotal,
    /// Turns that settled.
    pub turns: u32,
    /// How long it took.
    pub duration: Duration,
    /// What a person had queued and took back by an interrupt.
    pub returned: Vec<Queued>,
    /// Why nothing more could be shown, if that happened. The live turn was then cancelled.
    pub output_error: Option<io::Error>,
}

/// Shows what a session does until there is nothing more to do, or it is closed.
///
/// `events` must have been taken before something was submitted. If the output fails, the session
/// is interrupted, and the rest of its events are read but not shown.
pub async fn follow(
    handle: &SessionHandle,
    events: &mut SessionEvents,
    output: &mut dyn Output,
) -> Run {
    let mut run = Run::default();
    follow_on(&mut run, handle, events, output, &mut Untold::nothing()).await;
    run
}

/// The same for a run that may go on, and until nothing is untold; gives whether anything was
/// told.
pub async fn follow_on(
    run: &mut Run,
    handle: &SessionHandle,
    events: &mut SessionEvents,
    output: &mut dyn Output,
    untold: &mut Untold,
) -> bool {
    let start = Instant::now();
    let mut was_told = false;
    loop {
        // Asked first: what was told before there is nothing more has been buffered then.
        let (is_busy, is_untold) = (handle.is_busy(), untold.is_some());
        let event = match events.try_next() {
            None if is_busy || is_untold => tokio::select! {
                biased;
                event = events.next() => event,
                () = untold.none(), if is_untold => continue,
            },
            buffered => buffered,
        };
        let Some(event) = event else { break };
        was_told = true;
        if run.output_error.is_none()
            && let Err(error) = output.event(&event)
        {
            run.output_error = Some(error);
            run.returned.extend(handle.interrupt());
        }
        if let SessionEvent::Turn(Event::Settled(outcome)) = event {
            run.turns += 1;
            run.usage.merge(&outcome.usage);
            run.returned.extend(outcome.returned.iter().cloned());
            run.outcome = Some(outcome);
        }
    }
    run.duration += start.elapsed();
    was_told
}
