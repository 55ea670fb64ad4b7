//! Idle, prepare and check handles: callbacks that run in every iteration, each in its phase.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::api::Api;
use crate::call::Call;
use crate::callback::Callback;
use crate::event_loop::Uv;
use crate::failure::Failure;
use crate::handle::{Base, Handle, Kind};

/// A phase with handles of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    Idle,
    Prepare,
    Check,
}

/// The handles that are started, by phase.
#[derive(Default)]
pub(crate) struct Steps {
    started: [RefCell<BTreeMap<u64, Rc<StepHandle>>>; 3],
}

impl Steps {
    pub(crate) fn has(&self, step: Step) -> bool {
        !self.started[step as usize].borrow().is_empty()
    }

    /// Runs a phase: every handle that was started when it began, unless another stopped it.
    pub(crate) fn run(&self, uv: &Uv, step: Step) {
        let handles: Vec<_> = self.started[step as usize]
            .borrow()
            .values()
            .cloned()
            .collect();
        for handle in handles {
            let callback = handle.callback.borrow().clone();
            if let Some(callback) = callback
                && !uv.invoke_again(&callback, ())
            {
                handle.stop(uv);
            }
        }
    }
}

/// An idle, prepare or check handle. It is active exactly while it has a callback.
pub(crate) struct StepHandle {
    base: Base,
    step: Step,
    callback: RefCell<Option<Callback>>,
}

impl StepHandle {
    fn start(self: &Rc<Self>, uv: &Uv, callback: Callback) {
        // As libuv: starting what is started changes nothing.
        if self.base.is_active() {
            return;
        }
        self.callback.replace(Some(callback));
        let started = &uv.steps().started[self.step as usize];
        started.borrow_mut().insert(self.base.id(), Rc::clone(self));
        self.base.set_active(uv, true);
        uv.queue().inbox.ring();
    }

    fn stop(&self, uv: &Uv) {
        self.callback.take();
        let started = &uv.steps().started[self.step as usize];
        let stopped = started.borrow_mut().remove(&self.base.id());
        self.base.set_active(uv, false);
        drop(stopped);
    }
}

/// One type of userdata for each phase.
macro_rules! step_handle {
    ($name:ident) => {
        pub(crate) struct $name(Rc<StepHandle>);

        impl Handle for $name {
            fn base(&self) -> &Base {
                &self.0.base
            }

            fn shut(&self, uv: &Uv) {
                self.0.stop(uv);
            }
        }
    };
}

step_handle!(Idle);
step_handle!(Prepare);
step_handle!(Check);

fn step(kind: Kind, step: Step) -> Rc<StepHandle> {
    Rc::new(StepHandle {
        base: Base::new(kind),
        step,
        callback: RefCell::new(None),
    })
}

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("new_idle", |call| {
        call.adopt(Idle(step(Kind::Idle, Step::Idle)))
    })?;
    api.function("idle_start", |call| {
        start(call, &call.handle::<Idle>(1, "uv_idle")?.0)
    })?;
    api.function("idle_stop", |call| {
        stop(call, &call.handle::<Idle>(1, "uv_idle")?.0)
    })?;
    api.handle::<Idle>(
        "uv_idle_t",
        &[("start", "idle_start"), ("stop", "idle_stop")],
    )?;
    api.function("new_prepare", |call| {
        call.adopt(Prepare(step(Kind::Prepare, Step::Prepare)))
    })?;
    api.function("prepare_start", |call| {
        start(call, &call.handle::<Prepare>(1, "uv_prepare")?.0)
    })?;
    api.function("prepare_stop", |call| {
        stop(call, &call.handle::<Prepare>(1, "uv_prepare")?.0)
    })?;
    api.handle::<Prepare>(
        "uv_prepare_t",
        &[("start", "prepare_start"), ("stop", "prepare_stop")],
    )?;
    api.function("new_check", |call| {
        call.adopt(Check(step(Kind::Check, Step::Check)))
    })?;
    api.function("check_start", |call| {
        start(call, &call.handle::<Check>(1, "uv_check")?.0)
    })?;
    api.function("check_stop", |call| {
        stop(call, &call.handle::<Check>(1, "uv_check")?.0)
    })?;
    api.handle::<Check>(
        "uv_check_t",
        &[("start", "check_start"), ("stop", "check_stop")],
    )
}

fn start(call: &Call<'_>, handle: &Rc<StepHandle>) -> Result<i64, Failure> {
    let callback = call.callback(2)?;
    if handle.base.is_closing() {
        return Err(call.system("EINVAL"));
    }
    handle.start(call.uv, callback);
    Ok(0)
}

fn stop(call: &Call<'_>, handle: &Rc<StepHandle>) -> Result<i64, Failure> {
    handle.stop(call.uv);
    Ok(0)
}
