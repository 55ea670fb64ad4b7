//! Requests: things under way that call back once, and work for the thread pool.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use mlua::{AnyUserData, Lua};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::api::Api;
use crate::call::Call;
use crate::errno::UvError;
use crate::event_loop::Uv;
use crate::failure::Failure;
use crate::fs::Entry;

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestKind {
    Connect,
    Write,
    Shutdown,
    UdpSend,
    Fs,
    Work,
    GetAddrInfo,
    GetNameInfo,
    Random,
}

impl RequestKind {
    fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Write => "write",
            Self::Shutdown => "shutdown",
            Self::UdpSend => "udp_send",
            Self::Fs => "fs",
            Self::Work => "work",
            Self::GetAddrInfo => "getaddrinfo",
            Self::GetNameInfo => "getnameinfo",
            Self::Random => "random",
        }
    }

    /// The value of libuv's enumeration.
    fn number(self) -> i64 {
        match self {
            Self::Connect => 2,
            Self::Write => 3,
            Self::Shutdown => 4,
            Self::UdpSend => 5,
            Self::Fs => 6,
            Self::Work => 7,
            Self::GetAddrInfo => 8,
            Self::GetNameInfo => 9,
            Self::Random => 10,
        }
    }
}

/// The userdata of a request.
pub(crate) struct Request {
    kind: RequestKind,
    /// Settles the request as cancelled, and says whether it could. `None` for requests that never can be.
    cancel: Option<Box<dyn Fn() -> bool>>,
    /// What a scan of a folder found, and Lua has not asked for yet.
    pub(crate) entries: RefCell<VecDeque<Entry>>,
}

impl Request {
    pub(crate) fn new(kind: RequestKind) -> Self {
        Self {
            kind,
            cancel: None,
            entries: RefCell::default(),
        }
    }

    pub(crate) fn into_userdata(self, lua: &Lua) -> Result<AnyUserData, Failure> {
        Ok(lua.create_any_userdata(Rc::new(self))?)
    }
}

/// Who answers for work: the worker takes it as it begins, a cancel before that.
type Slot<T> = Arc<Mutex<Option<oneshot::Sender<Result<T, UvError>>>>>;

impl Uv {
    /// Has `work` run on the thread pool, then `done` in the loop. The loop is alive until then.
    ///
    /// `done` gets `ECANCELED` if the request was cancelled before a thread took it.
    pub(crate) fn request<T: Send + 'static>(
        &self,
        kind: RequestKind,
        work: impl FnOnce() -> Result<T, UvError> + Send + 'static,
        done: impl FnOnce(&Uv, Result<T, UvError>) + 'static,
    ) -> Result<Request, Failure> {
        let request = self.blocking(kind, work, |uv, result| {
            uv.drop_alive();
            done(uv, result);
        })?;
        self.add_alive();
        Ok(request)
    }

    /// Like [`request`](Self::request), but the loop may end before.
    pub(crate) fn blocking<T: Send + 'static>(
        &self,
        kind: RequestKind,
        work: impl FnOnce() -> Result<T, UvError> + Send + 'static,
        done: impl FnOnce(&Uv, Result<T, UvError>) + 'static,
    ) -> Result<Request, Failure> {
        let (sender, receiver) = oneshot::channel();
        let slot: Slot<T> = Arc::new(Mutex::new(Some(sender)));
        let workers = Arc::clone(&slot);
        self.runtime().spawn_blocking(move || {
            let taken = workers.lock().take();
            if let Some(sender) = taken {
                // Nobody listens any more if the loop is gone.
                let _ = sender.send(work());
            }
        })?;
        let queue = Rc::clone(self.queue());
        self.tasks().spawn_detached(async move {
            let lost = || Err(UvError::named("ECANCELED"));
            let result = receiver.await.unwrap_or_else(|_| lost());
            queue.push(move |uv| done(uv, result));
        });
        // The loop may be waiting, on a host's behalf, and has a new task to poll.
        self.queue().inbox.ring();
        let cancel = move || {
            let taken = slot.lock().take();
            taken.is_some_and(|sender| sender.send(Err(UvError::named("ECANCELED"))).is_ok())
        };
        Ok(Request {
            cancel: Some(Box::new(cancel)),
            ..Request::new(kind)
        })
    }
}

/// The request that an argument is.
pub(crate) fn argument(call: &Call<'_>) -> Result<Rc<Request>, Failure> {
    let userdata = call.userdata(1, "uv_req")?;
    match userdata.borrow::<Rc<Request>>() {
        Ok(request) => Ok(Rc::clone(&request)),
        Err(_) => Err(call.bad(1, "uv_req expected, got another userdata")),
    }
}

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("cancel", |call| match &argument(call)?.cancel {
        None => Err(call.system("EINVAL")),
        Some(cancel) if cancel() => Ok(0),
        Some(_) => Err(call.system("EBUSY")),
    })?;
    api.function("req_get_type", |call| {
        let kind = argument(call)?.kind;
        Ok((kind.name(), kind.number()))
    })?;
    api.class::<Rc<Request>>(
        "uv_req_t",
        &[("cancel", "cancel"), ("get_type", "req_get_type")],
    )
}
