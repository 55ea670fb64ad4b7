//! What Linux tells of threads and lets be set: processors, and names.

use mlua::{Table, Value};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::argument;
use crate::api::Api;
use crate::call::Call;
use crate::failure::Failure;

/// The methods of threads that are only here.
pub(super) const METHODS: &[(&str, &str)] = &[
    ("getname", "thread_getname"),
    ("getaffinity", "thread_getaffinity"),
    ("setaffinity", "thread_setaffinity"),
];

/// The number of the calling thread.
pub(super) fn own_number() -> Pid {
    rustix::thread::gettid()
}

pub(super) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("thread_setname", |call| {
        // The system has room for 15 bytes and the end.
        let mut name = call.bytes(1)?;
        name.truncate(15);
        let name = std::ffi::CString::new(name).map_err(|_| call.system("EINVAL"))?;
        rustix::thread::set_name(&name)?;
        Ok(0)
    })?;
    api.function("thread_getname", |call| {
        let thread = argument(call, 1)?;
        let name = thread
            .with_number(|number| Ok(std::fs::read(format!("/proc/self/task/{number}/comm"))?))?;
        let name = name.strip_suffix(b"\n").unwrap_or(&name);
        Ok(call.lua.create_string(name)?)
    })?;
    api.function("thread_getcpu", |_| Ok(rustix::thread::sched_getcpu() + 1))?;
    api.function("cpumask_size", |_| Ok(CpuSet::MAX_CPU))?;
    api.function("thread_getaffinity", |call| {
        let thread = argument(call, 1)?;
        if let Some(size) = call.optional_integer(2)?
            && usize::try_from(size).map_or(true, |size| size < CpuSet::MAX_CPU)
        {
            return Err(call.system("EINVAL"));
        }
        let cpus = thread.with_number(|number| Ok(sched_getaffinity(Some(number))?))?;
        table(call, &cpus)
    })?;
    api.function("thread_setaffinity", set_affinity)
}

fn table(call: &Call<'_>, cpus: &CpuSet) -> Result<Table, Failure> {
    let list = (0..CpuSet::MAX_CPU).map(|cpu| cpus.is_set(cpu));
    Ok(call.lua.create_sequence_from(list)?)
}

fn set_affinity(call: &Call<'_>) -> Result<Value, Failure> {
    let thread = argument(call, 1)?;
    let wanted = call
        .optional_table(2)?
        .ok_or_else(|| call.bad(2, "table expected, got nil"))?;
    let mut cpus = CpuSet::new();
    for cpu in 0..CpuSet::MAX_CPU {
        if wanted.get::<bool>(cpu + 1)? {
            cpus.set(cpu);
        }
    }
    let before = thread.with_number(|number| {
        let before = sched_getaffinity(Some(number))?;
        sched_setaffinity(Some(number), &cpus)?;
        Ok(before)
    })?;
    if call.truth(3) {
        return Ok(Value::Table(table(call, &before)?));
    }
    Ok(Value::Boolean(true))
}
