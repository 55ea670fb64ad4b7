//! Handles: what all of them have, the userdata that Lua holds, and the functions that work on any of them.

use std::any::TypeId;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use mlua::{AnyUserData, Lua};

use crate::api::Api;
use crate::call::Call;
use crate::closing;
use crate::event_loop::Uv;
use crate::failure::Failure;
use crate::stream::Stream;

mod kind;
pub(crate) use kind::Kind;

/// What every handle has.
#[derive(Debug)]
pub(crate) struct Base {
    id: Cell<u64>,
    pub(crate) kind: Kind,
    active: Cell<bool>,
    referenced: Cell<bool>,
    closing: Cell<bool>,
}

impl Base {
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            id: Cell::new(0),
            kind,
            active: Cell::new(false),
            referenced: Cell::new(true),
            closing: Cell::new(false),
        }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id.get()
    }

    pub(crate) fn is_active(&self) -> bool {
        self.active.get()
    }

    pub(crate) fn is_referenced(&self) -> bool {
        self.referenced.get()
    }

    /// From the call of `close` on, for good.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.get()
    }

    pub(crate) fn set_active(&self, uv: &Uv, active: bool) {
        self.change(uv, || self.active.set(active));
    }

    fn set_referenced(&self, uv: &Uv, referenced: bool) {
        self.change(uv, || self.referenced.set(referenced));
    }

    /// From now on it keeps the loop alive only as something that closes.
    pub(crate) fn set_closing(&self, uv: &Uv) {
        self.change(uv, || {
            self.active.set(false);
            self.closing.set(true);
        });
    }

    /// Keeps the loop's count of what is alive in step.
    fn change(&self, uv: &Uv, change: impl FnOnce()) {
        let counts = || self.active.get() && self.referenced.get() && !self.closing.get();
        let before = counts();
        change();
        match (before, counts()) {
            (false, true) => uv.add_alive(),
            (true, false) => uv.drop_alive(),
            _ => {}
        }
    }
}

/// One kind of handle.
pub(crate) trait Handle: 'static {
    fn base(&self) -> &Base;

    /// Stops everything and lets go of what the system lent; called once, as the handle begins to close.
    fn shut(&self, uv: &Uv);

    /// Calls back what was under way, as cancelled; called once, right before the close callback.
    fn settle(&self, _uv: &Uv) {}

    /// The stream that this is.
    fn stream(&self) -> Option<Rc<Stream>> {
        None
    }

    /// Makes the socket that is to listen, if there is none yet.
    fn before_listen(&self, _uv: &Uv) -> Result<(), Failure> {
        Ok(())
    }

    /// The loop does not wait for it any more.
    fn unreferenced(&self) {}

    /// Does what another thread asked for.
    fn wake(&self, _uv: &Uv) {}

    /// The descriptor that it works on.
    fn descriptor(&self) -> Option<std::os::fd::RawFd> {
        None
    }
}

/// The userdata that Lua holds for a `T`.
pub(crate) struct Shell<T>(pub(crate) Rc<T>);

/// Gets the handle out of a userdata, if it is of the kind that this was made for.
type Unwrap = fn(&AnyUserData) -> Option<Rc<dyn Handle>>;

/// What Lua holds, and what it stands for.
type Open = (AnyUserData, Rc<dyn Handle>);

/// Every handle that is not closed, in the order of creation. The userdata lives as long as it is in here.
#[derive(Default)]
pub(crate) struct Handles {
    open: RefCell<BTreeMap<u64, Open>>,
    last_id: Cell<u64>,
    kinds: RefCell<HashMap<TypeId, Unwrap>>,
}

impl Handles {
    /// Takes a new handle in, and makes its userdata.
    pub(crate) fn adopt<T: Handle>(&self, lua: &Lua, handle: Rc<T>) -> mlua::Result<AnyUserData> {
        let id = self.last_id.get() + 1;
        self.last_id.set(id);
        handle.base().id.set(id);
        let userdata = lua.create_any_userdata(Shell(Rc::clone(&handle)))?;
        self.open
            .borrow_mut()
            .insert(id, (userdata.clone(), handle));
        Ok(userdata)
    }

    /// Lets a closed handle go.
    pub(crate) fn release(&self, id: u64) {
        // Dropped after the borrow has ended: the handle's drop may look here.
        let released = self.open.borrow_mut().remove(&id);
        drop(released);
    }

    pub(crate) fn get(&self, id: u64) -> Option<Rc<dyn Handle>> {
        let open = self.open.borrow();
        open.get(&id).map(|(_, handle)| Rc::clone(handle))
    }

    pub(crate) fn userdata(&self, id: u64) -> Option<AnyUserData> {
        self.open
            .borrow()
            .get(&id)
            .map(|(userdata, _)| userdata.clone())
    }

    /// All of them, as they are now.
    pub(crate) fn all(&self) -> Vec<Open> {
        self.open.borrow().values().cloned().collect()
    }

    pub(crate) fn know<T: Handle>(&self) {
        self.kinds
            .borrow_mut()
            .insert(TypeId::of::<Shell<T>>(), |userdata| {
                let shell = userdata.borrow::<Shell<T>>().ok()?;
                Some(Rc::clone(&shell.0) as Rc<dyn Handle>)
            });
    }

    /// The handle that a userdata stands for.
    pub(crate) fn unwrap(&self, userdata: &AnyUserData) -> Option<Rc<dyn Handle>> {
        let unwrap = *self.kinds.borrow().get(&userdata.type_id()?)?;
        unwrap(userdata)
    }
}

/// The methods that every kind has beside its own.
pub(crate) const METHODS: &[(&str, &str)] = &[
    ("is_active", "is_active"),
    ("is_closing", "is_closing"),
    ("close", "close"),
    ("ref", "ref"),
    ("unref", "unref"),
    ("has_ref", "has_ref"),
    ("fileno", "fileno"),
    ("get_type", "handle_get_type"),
];

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("is_active", |call| {
        Ok(call.any_handle(1)?.base().is_active())
    })?;
    api.function("is_closing", |call| {
        Ok(call.any_handle(1)?.base().is_closing())
    })?;
    api.function("has_ref", |call| {
        Ok(call.any_handle(1)?.base().is_referenced())
    })?;
    api.function("ref", |call| {
        call.any_handle(1)?.base().set_referenced(call.uv, true);
        Ok(())
    })?;
    api.function("unref", |call| {
        let handle = call.any_handle(1)?;
        handle.base().set_referenced(call.uv, false);
        handle.unreferenced();
        Ok(())
    })?;
    api.function("close", close)?;
    api.function("fileno", |call| {
        let handle = call.any_handle(1)?;
        if !handle.base().kind.has_descriptor() {
            return Err(call.system("EINVAL"));
        }
        handle.descriptor().ok_or_else(|| call.system("EBADF"))
    })?;
    api.function("handle_get_type", |call| {
        let kind = call.any_handle(1)?.base().kind;
        Ok((kind.name(), kind.number()))
    })
}

fn close(call: &Call<'_>) -> Result<(), Failure> {
    let handle = call.any_handle(1)?;
    let callback = call.optional_callback(2)?;
    if handle.base().is_closing() {
        return Err(Failure::misuse("handle is already closing"));
    }
    closing::begin(call.uv, handle, callback);
    Ok(())
}
