//! Clocks, and a sleep of the whole thread.

use std::time::Duration;

use mlua::Table;
use rustix::time::{ClockId, clock_gettime};

use crate::api::Api;
use crate::call::Call;
use crate::clock;
use crate::failure::Failure;

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("hrtime", |_| Ok(clock::hrtime()))?;
    api.function("clock_gettime", clock_time)?;
    api.function("gettimeofday", |_| {
        let now = clock_gettime(ClockId::Realtime);
        Ok((now.tv_sec, now.tv_nsec / 1000))
    })?;
    api.function("sleep", |call| {
        let milliseconds = call.narrow::<u32>(1)?;
        std::thread::sleep(Duration::from_millis(u64::from(milliseconds)));
        Ok(())
    })?;
    api.function("uptime", uptime)
}

fn clock_time(call: &Call<'_>) -> Result<Table, Failure> {
    let id = match call.text(1)?.as_str() {
        "monotonic" => ClockId::Monotonic,
        "realtime" => ClockId::Realtime,
        other => return Err(call.bad(1, format_args!("invalid option '{other}'"))),
    };
    let time = clock_gettime(id);
    let table = call.lua.create_table()?;
    table.raw_set("sec", time.tv_sec)?;
    table.raw_set("nsec", time.tv_nsec)?;
    Ok(table)
}

#[cfg(target_os = "linux")]
fn uptime(_: &Call<'_>) -> Result<i64, Failure> {
    Ok(clock_gettime(ClockId::Boottime).tv_sec)
}

#[cfg(not(target_os = "linux"))]
fn uptime(call: &Call<'_>) -> Result<i64, Failure> {
    Err(call.system("ENOSYS"))
}
