//! Reading from a stream.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use mlua::{BString, Value};
use rustix::buffer::spare_capacity;
use tokio::io::Interest;

use super::{Stream, any_stream, open_stream, would_block};
use crate::api::Api;
use crate::callback::Callback;
use crate::errno::UvError;
use crate::event_loop::Uv;
use crate::tasks::TaskGuard;

/// The state of reading.
#[derive(Default)]
pub(super) struct Reading {
    callback: RefCell<Option<Callback>>,
    watch: RefCell<Option<TaskGuard>>,
    /// Tells a visit that was queued for an earlier start from one for this.
    generation: Cell<u64>,
}

/// At most so much is read at once.
const CHUNK: usize = 64 * 1024;
/// After so many chunks others have their turn.
const CHUNKS_A_VISIT: usize = 32;

impl Reading {
    pub(super) fn is_on(&self) -> bool {
        self.callback.borrow().is_some()
    }

    pub(super) fn stop(&self) {
        self.generation.set(self.generation.get() + 1);
        self.callback.take();
        self.watch.take();
    }
}

impl Stream {
    fn start_reading(self: &Rc<Self>, uv: &Uv, callback: Callback) {
        self.reading.callback.replace(Some(callback));
        self.update_active(uv);
        self.watch_reading(uv);
    }

    fn stop_reading(&self, uv: &Uv) {
        self.reading.stop();
        self.update_active(uv);
    }

    fn watch_reading(self: &Rc<Self>, uv: &Uv) {
        let Some(fd) = self.fd.borrow().clone() else {
            return;
        };
        let generation = self.reading.generation.get();
        let queue = Rc::clone(uv.queue());
        let stream = Rc::clone(self);
        let guard = uv.tasks().spawn(async move {
            if fd.ready(Interest::READABLE).await.is_ok() {
                queue.push(move |uv| stream.visit_reading(uv, generation));
            }
        });
        self.reading.watch.replace(Some(guard));
        uv.queue().inbox.ring();
    }

    fn visit_reading(self: &Rc<Self>, uv: &Uv, generation: u64) {
        for _ in 0..CHUNKS_A_VISIT {
            // The callback may have stopped it, or closed the stream.
            if self.reading.generation.get() != generation {
                return;
            }
            let Some(fd) = self.fd.borrow().clone() else {
                return;
            };
            let Some(callback) = self.reading.callback.borrow().clone() else {
                return;
            };
            let mut chunk = Vec::with_capacity(CHUNK);
            let read = fd.try_io(Interest::READABLE, |fd| {
                Ok(rustix::io::read(fd, spare_capacity(&mut chunk))?)
            });
            match read {
                Ok(0) => {
                    self.stop_reading(uv);
                    uv.invoke(&callback, (Value::Nil, Value::Nil));
                    return;
                }
                Ok(_) => uv.invoke(&callback, (Value::Nil, BString::from(chunk))),
                Err(error) if would_block(&error) => break,
                Err(error) => {
                    self.stop_reading(uv);
                    uv.invoke(&callback, UvError::from(error).name());
                    return;
                }
            }
        }
        if self.reading.generation.get() == generation {
            self.watch_reading(uv);
        }
    }
}

pub(super) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("read_start", |call| {
        let stream = any_stream(call, 1)?;
        let callback = call.callback(2)?;
        if stream.base.is_closing() {
            return Err(call.system("EINVAL"));
        }
        if !stream.readable.get() {
            return Err(call.system("ENOTCONN"));
        }
        if stream.reading.is_on() {
            return Err(call.system("EALREADY"));
        }
        stream.start_reading(call.uv, callback);
        Ok(0)
    })?;
    api.function("read_stop", |call| {
        open_stream(call, 1)?.stop_reading(call.uv);
        Ok(0)
    })
}
