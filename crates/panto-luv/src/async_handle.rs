//! Async handles: a wake-up of the loop from any thread.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::OnceLock;

use mlua::AnyUserData;
use parking_lot::Mutex;

use crate::api::Api;
use crate::call::Call;
use crate::callback::Callback;
use crate::event_loop::Uv;
use crate::failure::Failure;
use crate::handle::{Base, Handle, Kind, Shell};
use crate::queue::Inbox;
use crate::thread_value::{self, ThreadValue};

/// The loop's side of it: active from the start until it is closed.
pub(crate) struct Async {
    base: Base,
    callback: RefCell<Option<Callback>>,
    sender: AsyncSender,
}

/// The side that other threads may have.
#[derive(Clone)]
pub(crate) struct AsyncSender(Arc<Shared>);

struct Shared {
    inbox: Arc<Inbox>,
    id: OnceLock<u64>,
    /// What the next callback gets. Sends that come before it coalesce, and the last one wins.
    pending: Mutex<Option<Vec<ThreadValue>>>,
}

impl AsyncSender {
    pub(crate) fn send(&self, values: Vec<ThreadValue>) {
        let was_pending = self.0.pending.lock().replace(values).is_some();
        let Some(&id) = self.0.id.get() else { return };
        if !was_pending {
            self.0.inbox.push(Box::new(move |uv: &Uv| {
                if let Some(handle) = uv.handles().get(id) {
                    handle.wake(uv);
                }
            }));
        }
    }
}

impl Handle for Async {
    fn base(&self) -> &Base {
        &self.base
    }

    fn shut(&self, _uv: &Uv) {
        self.callback.take();
    }

    fn wake(&self, uv: &Uv) {
        let values = self.sender.0.pending.lock().take();
        let callback = self.callback.borrow().clone();
        if let (Some(values), Some(callback)) = (values, callback) {
            uv.invoke(&callback, thread_value::Arguments(values));
        }
    }
}

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("new_async", new_async)?;
    api.function("async_send", |call| {
        let sender = sender_of(call, 1)?;
        sender.send(thread_value::from_call(call, 2)?);
        Ok(0)
    })?;
    let methods = &[("send", "async_send")];
    api.handle::<Async>("uv_async_t", methods)?;
    api.class::<AsyncSender>("uv_async_t", methods)
}

fn new_async(call: &Call<'_>) -> Result<AnyUserData, Failure> {
    let callback = call.callback(1)?;
    let sender = AsyncSender(Arc::new(Shared {
        inbox: Arc::clone(&call.uv.queue().inbox),
        id: OnceLock::new(),
        pending: Mutex::new(None),
    }));
    let userdata = call.adopt(Async {
        base: Base::new(Kind::Async),
        callback: RefCell::new(Some(callback)),
        sender,
    })?;
    let shell = userdata.borrow::<Shell<Async>>()?;
    shell.0.base.set_active(call.uv, true);
    shell.0.sender.0.id.get_or_init(|| shell.0.base.id());
    drop(shell);
    Ok(userdata)
}

/// The sender behind a userdata: of a handle of this state, or of one that came from another thread.
fn sender_of(call: &Call<'_>, position: usize) -> Result<AsyncSender, Failure> {
    let userdata = call.userdata(position, "uv_async")?;
    of_userdata(userdata)
        .ok_or_else(|| call.bad(position, "uv_async expected, got another userdata"))
}

/// The sender behind a userdata, if it is one.
pub(crate) fn of_userdata(userdata: &AnyUserData) -> Option<AsyncSender> {
    if let Ok(shell) = userdata.borrow::<Shell<Async>>() {
        return Some(shell.0.sender.clone());
    }
    userdata.borrow::<AsyncSender>().ok().map(|s| s.clone())
}
