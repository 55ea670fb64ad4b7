//! Closing a handle: at once for the system, in the closing phase for Lua.

use std::rc::Rc;

use crate::callback::Callback;
use crate::event_loop::Uv;
use crate::handle::Handle;

/// A handle on its way out.
pub(crate) struct Closing {
    handle: Rc<dyn Handle>,
    callback: Option<Callback>,
}

/// Begins to close a handle that is not closing yet.
pub(crate) fn begin(uv: &Uv, handle: Rc<dyn Handle>, callback: Option<Callback>) {
    handle.base().set_closing(uv);
    handle.shut(uv);
    uv.closing().borrow_mut().push(Closing { handle, callback });
    // A host that waits has a closing phase to run.
    uv.queue().inbox.ring();
}

/// The closing phase: cancelled requests call back, then the close callback runs, then the userdata is let go.
pub(crate) fn run(uv: &Uv) {
    let closing = std::mem::take(&mut *uv.closing().borrow_mut());
    for Closing { handle, callback } in closing {
        handle.settle(uv);
        let id = handle.base().id();
        let userdata = uv.handles().userdata(id);
        uv.handles().release(id);
        if let Some(callback) = callback {
            uv.invoke(&callback, userdata);
        }
    }
}
