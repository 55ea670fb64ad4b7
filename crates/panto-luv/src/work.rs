//! Work: Lua functions on the thread pool.

use std::rc::Rc;

use crate::api::Api;
use crate::call::Call;
use crate::callback::{Callback, Raised};
use crate::errno::UvError;
use crate::failure::Failure;
use crate::isolated::{self, Outcome, Program};
use crate::request::RequestKind;
use crate::thread_value::Arguments;

/// What can be queued any number of times.
struct Work {
    program: Program,
    after: Callback,
}

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("new_work", |call| {
        let work = Work {
            program: Program::from_argument(call, 1)?,
            after: call.callback(2)?,
        };
        Ok(call.lua.create_any_userdata(Rc::new(work))?)
    })?;
    api.function("queue_work", queue)?;
    api.class::<Rc<Work>>("luv_work_ctx_t", &[("queue", "queue_work")])
}

fn queue(call: &Call<'_>) -> Result<bool, Failure> {
    let userdata = call.userdata(1, "luv_work_ctx")?;
    let work = userdata
        .borrow::<Rc<Work>>()
        .map_err(|_| call.bad(1, "luv_work_ctx expected, got another userdata"))?;
    let arguments = isolated::arguments(call, 2)?;
    let program = work.program.clone();
    let after = work.after.clone();
    call.uv.request(
        RequestKind::Work,
        move || Ok::<_, UvError>(program.run(arguments)),
        move |uv, outcome: Outcome| match outcome {
            Ok(Ok(results)) => uv.invoke(&after, Arguments(results)),
            // Whoever waits for the end is told of it, and the host of the reason.
            Ok(Err(raised)) => {
                uv.report("new_work", raised);
                uv.invoke(&after, ());
            }
            Err(error) => uv.report(
                "new_work",
                Raised {
                    message: error.message(),
                    traceback: String::new(),
                },
            ),
        },
    )?;
    Ok(true)
}
