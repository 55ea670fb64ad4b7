//! The half of a stream that is Lua's: the table that `open` returned.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mlua::{Function, IntoLuaMulti, Lua, MultiValue, Table, Value};
use pantograph::protocol::Request;

use super::channel::{Channel, OVER, terminal};
use super::event::{Progress, Reading};
use super::registry::Registration;
use super::request::request_table;
use crate::executor::Executor;
use crate::failure::{Failure, named};

/// How often `next` is called for one question, and how long.
const EVENTS: usize = 64;
const TIME: Duration = Duration::from_millis(1);

/// The streams that are open.
#[derive(Default)]
pub(crate) struct Streams(RefCell<HashMap<u64, Rc<Stream>>>);

struct Stream {
    table: Table,
    channel: Arc<Channel>,
    registration: Rc<Registration>,
    reading: RefCell<Reading>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        // Whoever still reads waits for somebody who is gone.
        self.channel.end(Some(terminal(OVER)));
        self.channel.answered();
    }
}

impl Streams {
    /// Lets go of every stream, without a word to Lua.
    pub(crate) fn clear(&self) {
        let streams = self.0.take();
        drop(streams);
    }

    fn get(&self, key: u64) -> Option<Rc<Stream>> {
        self.0.borrow().get(&key).cloned()
    }

    /// The keys of all streams.
    pub(crate) fn keys(&self) -> Vec<u64> {
        self.0.borrow().keys().copied().collect()
    }
}

impl Executor {
    /// Calls `open`.
    pub(super) fn open_stream(
        self: &Rc<Self>,
        lua: &Lua,
        name: &str,
        request: Request,
        channel: &Arc<Channel>,
    ) {
        if !channel.begin() {
            return;
        }
        if self.is_ending.get() {
            return channel.end(Some(terminal(OVER)));
        }
        let Some(registration) = self.protocols.get(name) else {
            let message = format!("no protocol `{name}` is registered (any longer)");
            return channel.end(Some(terminal(message)));
        };
        match self.opened(lua, &registration, request, channel) {
            Ok(table) => {
                let stream = Stream {
                    table,
                    channel: Arc::clone(channel),
                    registration,
                    reading: RefCell::default(),
                };
                let mut streams = self.streams.0.borrow_mut();
                streams.insert(channel.key, Rc::new(stream));
            }
            Err(failure) => self.fail_stream(channel, &failure),
        }
    }

    fn opened(
        self: &Rc<Self>,
        lua: &Lua,
        registration: &Registration,
        request: Request,
        channel: &Arc<Channel>,
    ) -> Result<Table, Failure> {
        let what = registration.what();
        let wrong = |message: String| Failure::new(&what, message);
        let notify = {
            let (channel, inbox) = (Arc::clone(channel), Arc::clone(&self.inbox));
            lua.create_function(move |_, _: MultiValue| {
                channel.notify(&inbox);
                Ok(())
            })
        };
        let request = notify
            .and_then(|notify| request_table(lua, self, registration.name(), request, notify))
            .map_err(|error| Failure::of(&what, &error))?;
        let arguments = MultiValue::from_iter([Value::Table(request)]);
        let values = self.call(lua, &what, &registration.open, arguments)?;
        match values.front().unwrap_or(&Value::Nil) {
            Value::Table(stream) => match stream.raw_get("next") {
                Ok(Value::Function(_)) => Ok(stream.clone()),
                _ => Err(wrong("`open` returned a stream without `next`".to_owned())),
            },
            Value::Nil if let Some(Value::String(message)) = values.get(1) => {
                Err(wrong(message.to_string_lossy()))
            }
            other => Err(wrong(format!(
                "`open` returned {}; a stream table expected",
                named(other)
            ))),
        }
    }

    /// Calls `next` until it has nothing more, or a bound is met.
    pub(super) fn continue_stream(self: &Rc<Self>, lua: &Lua, channel: &Arc<Channel>) {
        let Some(stream) = self.streams.get(channel.key) else {
            return;
        };
        if !channel.begin() {
            return;
        }
        let began = Instant::now();
        for _ in 0..EVENTS {
            channel.calling();
            match self.next_event(lua, &stream) {
                Ok(Progress::Nothing) if channel.nothing() => {}
                Ok(Progress::Nothing) => break,
                Ok(Progress::Events(events)) => channel.push(events),
                Ok(Progress::Done(events)) => {
                    channel.push(events);
                    channel.end(None);
                    break;
                }
                Ok(Progress::Failed(error)) => {
                    channel.end(Some(error));
                    break;
                }
                Err(failure) => {
                    self.fail_stream(channel, &failure);
                    break;
                }
            }
            if began.elapsed() > TIME {
                break;
            }
        }
    }

    fn next_event(&self, lua: &Lua, stream: &Stream) -> Result<Progress, Failure> {
        let what = stream.registration.what();
        let next: Function = stream
            .table
            .raw_get("next")
            .map_err(|_| Failure::new(&what, "the stream has no `next` any longer"))?;
        let arguments = MultiValue::from_iter([Value::Table(stream.table.clone())]);
        let values = self.call(lua, &what, &next, arguments)?;
        let value = values.front().unwrap_or(&Value::Nil);
        let read = stream.reading.borrow_mut().read(value);
        read.map_err(|wrong| Failure::new(what, format!("`next` returned {wrong}")))
    }

    fn fail_stream(&self, channel: &Channel, failure: &Failure) {
        self.reports.error(failure);
        let message = format!("{} failed: {}", failure.what, failure.first_line());
        channel.end(Some(terminal(message)));
    }

    /// Nobody reads a stream any more. Cancels its turn if that was not over, and closes it.
    pub(crate) fn end_stream(&self, lua: &Lua, key: u64, cancels: bool) {
        let Some(stream) = self.streams.0.borrow_mut().remove(&key) else {
            return;
        };
        let what = stream.registration.what();
        let method = |name: &str| {
            stream
                .table
                .raw_get::<Option<Function>>(name)
                .ok()
                .flatten()
        };
        if cancels {
            match (method("cancel_turn"), &stream.registration.cancel_turn) {
                (Some(cancel), _) => self.tell(lua, &what, &cancel, &stream.table),
                (None, Some(cancel)) => self.tell(lua, &what, cancel, ()),
                (None, None) => {}
            }
        }
        if let Some(close) = method("close") {
            self.tell(lua, &what, &close, &stream.table);
        }
        // It may have been the last of a protocol that was replaced.
        drop(stream);
        self.close_idle_protocols(lua);
    }

    /// Closes the protocols that were replaced or removed and have no stream any more.
    pub(crate) fn close_idle_protocols(&self, lua: &Lua) {
        for (what, close) in self.protocols.take_idle() {
            self.tell(lua, &what, &close, ());
        }
    }

    /// Ends every stream, and every protocol with it.
    pub(crate) fn close_protocols(&self, lua: &Lua) {
        for key in self.streams.keys() {
            let Some(stream) = self.streams.get(key) else {
                continue;
            };
            self.end_stream(lua, key, !stream.channel.is_over());
        }
        for (what, close) in self.protocols.take_closers() {
            self.tell(lua, &what, &close, ());
        }
    }

    /// Calls a function whose result nobody needs. Errors are reported.
    pub(crate) fn tell(
        &self,
        lua: &Lua,
        what: &str,
        function: &Function,
        arguments: impl IntoLuaMulti,
    ) {
        let arguments = arguments.into_lua_multi(lua);
        let outcome = arguments
            .map_err(|error| Failure::of(what, &error))
            .and_then(|arguments| self.call(lua, what, function, arguments));
        if let Err(failure) = outcome {
            self.reports.error(&failure);
        }
    }
}
