//! The functions that work on the loop as a whole.

use std::time::Duration;

use crate::api::Api;
use crate::call::Call;
use crate::event_loop::{AlreadyRunning, Mode};
use crate::failure::Failure;

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("run", run)?;
    api.function("stop", |call| {
        call.uv.stop();
        Ok(())
    })?;
    api.function("loop_alive", |call| Ok(call.uv.is_alive()))?;
    api.function("loop_mode", |call| {
        Ok(call.uv.running_mode().map(Mode::name))
    })?;
    api.function("loop_close", |call| {
        if call.uv.is_alive() || !call.uv.handles().all().is_empty() {
            return Err(call.system("EBUSY"));
        }
        Ok(0)
    })?;
    api.function("loop_configure", configure)?;
    api.function("backend_timeout", |call| {
        Ok(call.uv.timeout().map_or(-1, whole_milliseconds))
    })?;
    api.function("now", |call| Ok(call.uv.clock().now()))?;
    api.function("update_time", |call| {
        call.uv.clock().update();
        Ok(())
    })?;
    api.function("walk", walk)?;
    api.function("metrics_idle_time", |call| {
        Ok(call.uv.metrics().idle_ns.get())
    })?;
    api.function("metrics_info", |call| {
        let metrics = call.uv.metrics();
        let table = call.lua.create_table()?;
        table.raw_set("loop_count", metrics.loop_count.get())?;
        table.raw_set("events", metrics.events.get())?;
        table.raw_set("events_waiting", call.uv.queue().len())?;
        Ok(table)
    })
}

fn run(call: &Call<'_>) -> Result<bool, Failure> {
    let mode = match call.optional_text(1)? {
        None => Mode::Default,
        Some(name) => Mode::named(&name)
            .ok_or_else(|| call.bad(1, format_args!("invalid option '{name}'")))?,
    };
    call.uv.run(mode).map_err(|refusal| match refusal {
        AlreadyRunning::Runtime(error) => error.into(),
        refusal => Failure::Refused(refusal.to_string()),
    })
}

fn configure(call: &Call<'_>) -> Result<i64, Failure> {
    match call.text(1)?.as_str() {
        "metrics_idle_time" => {
            call.uv.metrics().measures_idle.set(true);
            Ok(0)
        }
        "block_signal" => Err(call.system("ENOSYS")),
        other => Err(call.bad(1, format_args!("invalid option '{other}'"))),
    }
}

/// Rounded up, so that who sleeps for it wakes when something is due.
fn whole_milliseconds(timeout: Duration) -> i64 {
    i64::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX)
}

/// Not a callback: it runs at once, in the caller's context, and its errors are the caller's.
fn walk(call: &Call<'_>) -> Result<(), Failure> {
    let visit = call.function(1)?;
    for (userdata, _) in call.uv.handles().all() {
        visit.call::<()>(userdata)?;
    }
    Ok(())
}
