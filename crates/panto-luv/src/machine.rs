//! The machine: processors, memory, load, resource usage, network interfaces. Much of it is read from `/proc`; where that
//! is not there the answer is `ENOSYS`.

use std::collections::HashMap;

use mlua::Table;
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;

use crate::api::Api;
use crate::call::Call;
use crate::errno::UvError;
use crate::failure::Failure;

mod interfaces;

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    interfaces::register(api)?;
    api.function("available_parallelism", |_| {
        Ok(std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
    })?;
    api.function("cpu_info", cpu_info)?;
    api.function("loadavg", |call| {
        let text = proc_file(call, "/proc/loadavg")?;
        let loads: Vec<f64> = text
            .split_whitespace()
            .take(3)
            .filter_map(|load| load.parse().ok())
            .collect();
        match loads[..] {
            [one, five, fifteen] => Ok((one, five, fifteen)),
            _ => Err(call.system("ENOSYS")),
        }
    })?;
    api.function("get_total_memory", |call| memory_field(call, "MemTotal"))?;
    api.function("get_free_memory", |call| memory_field(call, "MemAvailable"))?;
    api.function("get_constrained_memory", |_| Ok(constraint().unwrap_or(0)))?;
    api.function("get_available_memory", |call| {
        let free = memory_field(call, "MemAvailable")?;
        let used = number_in("/sys/fs/cgroup/memory.current").unwrap_or(0);
        Ok(constraint().map_or(free, |limit| (limit - used).clamp(0, free)))
    })?;
    api.function("resident_set_memory", |call| {
        let text = proc_file(call, "/proc/self/statm")?;
        let pages: i64 = text
            .split_whitespace()
            .nth(1)
            .and_then(|pages| pages.parse().ok())
            .ok_or_else(|| call.system("ENOSYS"))?;
        let page = i64::try_from(rustix::param::page_size()).unwrap_or(4096);
        Ok(pages * page)
    })?;
    api.function("getrusage", |call| usage(call, UsageWho::RUSAGE_SELF))?;
    #[cfg(target_os = "linux")]
    api.function("getrusage_thread", |call| {
        usage(call, UsageWho::RUSAGE_THREAD)
    })?;
    Ok(())
}

fn proc_file(call: &Call<'_>, path: &str) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|_| call.system("ENOSYS"))
}

/// What the control group allows, if it says so.
fn constraint() -> Option<i64> {
    number_in("/sys/fs/cgroup/memory.max")
}

fn number_in(path: &str) -> Option<i64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// A line of `/proc/meminfo`, in bytes.
fn memory_field(call: &Call<'_>, name: &str) -> Result<i64, Failure> {
    let text = proc_file(call, "/proc/meminfo")?;
    let kilobytes: Option<i64> = text.lines().find_map(|line| {
        let (field, value) = line.split_once(':')?;
        let value = value.trim().trim_end_matches(" kB");
        (field == name).then(|| value.parse().ok())?
    });
    kilobytes
        .map(|kilobytes| kilobytes * 1024)
        .ok_or_else(|| call.system("ENOSYS"))
}

fn cpu_info(call: &Call<'_>) -> Result<Table, Failure> {
    let times = proc_file(call, "/proc/stat")?;
    let described = described_cpus(&std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default());
    let list = call.lua.create_table()?;
    for line in times.lines() {
        let mut words = line.split_whitespace();
        let Some(number) = words.next().and_then(|word| word.strip_prefix("cpu")) else {
            continue;
        };
        // The first line sums up all of them.
        let Ok(number) = number.parse::<usize>() else {
            continue;
        };
        // In hundredths of a second; Lua gets milliseconds.
        let ticks: Vec<i64> = words.filter_map(|word| word.parse().ok()).collect();
        let time = |index: usize| ticks.get(index).copied().unwrap_or(0) * 10;
        let cpu = call.lua.create_table()?;
        let (model, speed) = described.get(&number).cloned().unwrap_or_default();
        cpu.raw_set(
            "model",
            if model.is_empty() {
                "unknown".to_owned()
            } else {
                model
            },
        )?;
        cpu.raw_set("speed", speed)?;
        let spent = call.lua.create_table()?;
        for (field, index) in [
            ("user", 0),
            ("nice", 1),
            ("sys", 2),
            ("idle", 3),
            ("irq", 5),
        ] {
            spent.raw_set(field, time(index))?;
        }
        cpu.raw_set("times", spent)?;
        list.raw_push(cpu)?;
    }
    Ok(list)
}

/// Model and megahertz of each processor that `/proc/cpuinfo` describes.
fn described_cpus(text: &str) -> HashMap<usize, (String, i64)> {
    let mut cpus = HashMap::new();
    let mut current = 0;
    for line in text.lines() {
        let Some((field, value)) = line.split_once(':') else {
            continue;
        };
        let value = value.trim();
        match field.trim() {
            "processor" => current = value.parse().unwrap_or(current),
            "model name" => {
                cpus.entry(current).or_insert_with(|| (String::new(), 0)).0 = value.to_owned()
            }
            "cpu MHz" => {
                let whole = value.split('.').next().unwrap_or_default();
                cpus.entry(current).or_insert_with(|| (String::new(), 0)).1 =
                    whole.parse().unwrap_or(0);
            }
            _ => {}
        }
    }
    cpus
}

fn usage(call: &Call<'_>, who: UsageWho) -> Result<Table, Failure> {
    let usage: Usage = getrusage(who).map_err(|error| UvError::from_raw(error as i32))?;
    let table = call.lua.create_table()?;
    for (field, time) in [("utime", usage.user_time()), ("stime", usage.system_time())] {
        table.raw_set(field, time_table(call, time)?)?;
    }
    for (field, value) in [
        ("maxrss", usage.max_rss()),
        ("ixrss", usage.shared_integral()),
        ("idrss", usage.unshared_data_integral()),
        ("isrss", usage.unshared_stack_integral()),
        ("minflt", usage.minor_page_faults()),
        ("majflt", usage.major_page_faults()),
        ("nswap", usage.full_swaps()),
        ("inblock", usage.block_reads()),
        ("oublock", usage.block_writes()),
        ("msgsnd", usage.ipc_sends()),
        ("msgrcv", usage.ipc_receives()),
        ("nsignals", usage.signals()),
        ("nvcsw", usage.voluntary_context_switches()),
        ("nivcsw", usage.involuntary_context_switches()),
    ] {
        table.raw_set(field, value)?;
    }
    Ok(table)
}

fn time_table(call: &Call<'_>, time: TimeVal) -> Result<Table, Failure> {
    let table = call.lua.create_table()?;
    table.raw_set("sec", time.tv_sec())?;
    table.raw_set("usec", time.tv_usec())?;
    Ok(table)
}
