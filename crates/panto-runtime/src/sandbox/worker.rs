//! The thread of one sandbox, and the two channels to it.
//!
//! The Lua state is made on it, lives on it and ends with it. At most one message is under way in
//! either direction: whoever drives the sandbox waits for each answer.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Instant;

use super::budget::Budget;
use super::limits::Limits;
use super::natives::{Ask, Exchange};
use super::state::{Ended, State};
use super::value::Value;

/// Lua nests 200 calls in C; in a debug build they take half of this.
const STACK_BYTES: usize = 2 << 20;

/// What the thread is told.
pub(super) enum Command {
    Run {
        name: String,
        source: Vec<u8>,
        values: Vec<Value>,
    },
    Resume(Result<Vec<Value>, String>),
    /// What an immediate function answered.
    Answer(Result<Vec<Value>, String>),
}

/// What the thread says.
pub(super) enum Report {
    /// An immediate function is called, and waits for its answer.
    Call(usize, Vec<Value>),
    /// The slice is over.
    Ended(Ended),
}

/// The other end of a sandbox's thread. Dropping it ends the thread, at once if it waits.
pub(super) struct Link {
    commands: mpsc::Sender<Command>,
    pub(super) reports: tokio::sync::mpsc::Receiver<Report>,
    abandoned: Arc<AtomicBool>,
}

impl Link {
    /// Tells the thread something. One that is gone is noticed by whoever listens to it.
    pub(super) fn tell(&self, command: Command) {
        let _ = self.commands.send(command);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.abandoned.store(true, Ordering::Relaxed);
    }
}

/// Starts the thread.
pub(super) fn start(limits: Limits, given: Vec<(String, bool)>) -> io::Result<Link> {
    let (commands, inbox) = mpsc::channel();
    let (outbox, reports) = tokio::sync::mpsc::channel(1);
    let abandoned = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&abandoned);
    std::thread::Builder::new()
        .name("lua-sandbox".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || serve(limits, &given, flag, inbox, outbox))?;
    Ok(Link {
        commands,
        reports,
        abandoned,
    })
}

fn serve(
    limits: Limits,
    given: &[(String, bool)],
    abandoned: Arc<AtomicBool>,
    inbox: mpsc::Receiver<Command>,
    outbox: tokio::sync::mpsc::Sender<Report>,
) {
    let inbox = Rc::new(inbox);
    let exchange = Rc::new_cyclic(|exchange: &std::rc::Weak<Exchange>| {
        let (inbox, outbox, exchange) = (Rc::clone(&inbox), outbox.clone(), exchange.clone());
        let ask: Ask = Box::new(move |function, arguments| {
            let asked = Instant::now();
            outbox.try_send(Report::Call(function, arguments)).ok()?;
            let Ok(Command::Answer(answer)) = inbox.recv() else {
                return None;
            };
            exchange.upgrade()?.budget.extend(asked.elapsed());
            Some(answer)
        });
        Exchange::new(Budget::new(limits, abandoned), ask)
    });
    let mut state = match State::new(exchange, given) {
        Ok(state) => state,
        Err(error) => {
            let message = format!("the sandbox could not be made: {error}");
            // The answer to whatever comes first; nobody may be there to read it.
            let _ = outbox.try_send(Report::Ended(Ended::Failed(message)));
            return;
        }
    };
    while let Ok(command) = inbox.recv() {
        let ended = match command {
            Command::Run {
                name,
                source,
                values,
            } => state.run(&name, source, &values),
            Command::Resume(answer) => state.resume(answer),
            Command::Answer(_) => continue,
        };
        let is_over = matches!(ended, Ended::Killed(_));
        if outbox.try_send(Report::Ended(ended)).is_err() || is_over {
            // What is left of the chunk is freed here, and none of it runs.
            return;
        }
    }
}
