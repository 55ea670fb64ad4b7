//! The process and its user: folders, environment, ids, priority.
//!
//! The environment is the copy that the host gave ([`crate::Options::environment`]); the working directory is the process's own.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use mlua::{LuaString, Table};
use nix::unistd::{Gid, Uid, User};
use rustix::process::Pid;

use crate::api::Api;
use crate::call::Call;
use crate::errno::UvError;
use crate::failure::Failure;

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("cwd", |call| {
        let path = rustix::process::getcwd(Vec::new())?;
        Ok(call.lua.create_string(path.as_bytes())?)
    })?;
    api.function("chdir", |call| {
        rustix::process::chdir(call.path(1)?)?;
        Ok(0)
    })?;
    api.function("exepath", |call| {
        let path = std::fs::read_link("/proc/self/exe").map_err(|_| call.system("ENOSYS"))?;
        Ok(call.lua.create_string(path.as_os_str().as_bytes())?)
    })?;
    api.function("get_process_title", |call| {
        let line = std::fs::read("/proc/self/cmdline").map_err(|_| call.system("ENOSYS"))?;
        let words: Vec<_> = line
            .split(|byte| *byte == 0)
            .filter(|word| !word.is_empty())
            .collect();
        Ok(call.lua.create_string(words.join(&b' '))?)
    })?;
    register_environment(api)?;
    register_ids(api)?;
    api.function("os_uname", |call| {
        let name = rustix::system::uname();
        let table = call.lua.create_table()?;
        for (field, value) in [
            ("sysname", name.sysname()),
            ("release", name.release()),
            ("version", name.version()),
            ("machine", name.machine()),
        ] {
            table.raw_set(field, call.lua.create_string(value.to_bytes())?)?;
        }
        Ok(table)
    })?;
    api.function("os_gethostname", |call| {
        let name = rustix::system::uname();
        Ok(call.lua.create_string(name.nodename().to_bytes())?)
    })
}

fn register_environment(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("os_getenv", getenv)?;
    api.function("os_setenv", |call| {
        let name = variable_name(call)?;
        let value = call.os_string(2)?;
        call.uv.environment().borrow_mut().insert(name, value);
        Ok(true)
    })?;
    api.function("os_unsetenv", |call| {
        let name = variable_name(call)?;
        call.uv.environment().borrow_mut().remove(&name);
        Ok(true)
    })?;
    api.function("os_environ", |call| {
        let table = call.lua.create_table()?;
        for (name, value) in &*call.uv.environment().borrow() {
            let name = call.lua.create_string(name.as_bytes())?;
            table.raw_set(name, call.lua.create_string(value.as_bytes())?)?;
        }
        Ok(table)
    })?;
    api.function("os_homedir", |call| {
        if let Some(home) = variable(call, "HOME") {
            return Ok(call.lua.create_string(home.as_bytes())?);
        }
        let home = this_user()?.dir;
        Ok(call.lua.create_string(home.as_os_str().as_bytes())?)
    })?;
    api.function("os_tmpdir", |call| {
        let folder = ["TMPDIR", "TMP", "TEMP", "TEMPDIR"]
            .into_iter()
            .find_map(|name| variable(call, name));
        let mut folder = folder.map_or_else(|| b"/tmp".to_vec(), OsString::into_vec);
        if folder.len() > 1 && folder.ends_with(b"/") {
            folder.pop();
        }
        Ok(call.lua.create_string(folder)?)
    })
}

fn getenv(call: &Call<'_>) -> Result<LuaString, Failure> {
    let name = call.os_string(1)?;
    let room = call.optional_integer(2)?;
    let environment = call.uv.environment().borrow();
    let value = environment
        .get(&name)
        .ok_or_else(|| call.system("ENOENT"))?;
    let needed = i64::try_from(value.len() + 1).unwrap_or(i64::MAX);
    if room.is_some_and(|room| room < needed) {
        return Err(call.system("ENOBUFS"));
    }
    Ok(call.lua.create_string(value.as_bytes())?)
}

/// A name that a variable may have.
fn variable_name(call: &Call<'_>) -> Result<OsString, Failure> {
    let name = call.os_string(1)?;
    let wrong = name.is_empty() || name.as_bytes().iter().any(|byte| matches!(byte, b'=' | 0));
    if wrong {
        return Err(call.system("EINVAL"));
    }
    Ok(name)
}

/// A variable that is set to something.
fn variable(call: &Call<'_>, name: &str) -> Option<OsString> {
    let environment = call.uv.environment().borrow();
    let value = environment.get(std::ffi::OsStr::new(name))?;
    (!value.is_empty()).then(|| value.clone())
}

fn register_ids(api: &mut Api<'_>) -> mlua::Result<()> {
    for name in ["getpid", "os_getpid"] {
        api.function(name, |_| Ok(std::process::id()))?;
    }
    api.function("os_getppid", |_| {
        Ok(rustix::process::getppid().map_or(0, Pid::as_raw_pid))
    })?;
    api.function("getuid", |_| Ok(rustix::process::getuid().as_raw()))?;
    api.function("getgid", |_| Ok(rustix::process::getgid().as_raw()))?;
    api.function("setuid", |call| {
        let id = Uid::from_raw(call.narrow(1)?);
        nix::unistd::setuid(id).map_err(|error| UvError::from_raw(error as i32))?;
        Ok(())
    })?;
    api.function("setgid", |call| {
        let id = Gid::from_raw(call.narrow(1)?);
        nix::unistd::setgid(id).map_err(|error| UvError::from_raw(error as i32))?;
        Ok(())
    })?;
    api.function("os_getpriority", |call| {
        let pid = Pid::from_raw(call.narrow(1)?);
        Ok(rustix::process::getpriority_process(pid)?)
    })?;
    api.function("os_setpriority", |call| {
        let pid = Pid::from_raw(call.narrow(1)?);
        let priority = call.narrow::<i32>(2)?;
        if !(-20..20).contains(&priority) {
            return Err(call.system("EINVAL"));
        }
        rustix::process::setpriority_process(pid, priority)?;
        Ok(true)
    })?;
    api.function("os_get_passwd", passwd)
}

fn this_user() -> Result<User, Failure> {
    let found = User::from_uid(Uid::current()).map_err(|error| UvError::from_raw(error as i32))?;
    Ok(found.ok_or_else(|| UvError::named("ENOENT"))?)
}

fn passwd(call: &Call<'_>) -> Result<Table, Failure> {
    let user = this_user()?;
    let table = call.lua.create_table()?;
    table.raw_set("username", user.name)?;
    table.raw_set("uid", user.uid.as_raw())?;
    table.raw_set("gid", user.gid.as_raw())?;
    let path = |path: std::path::PathBuf| call.lua.create_string(path.as_os_str().as_bytes());
    table.raw_set("shell", path(user.shell)?)?;
    table.raw_set("homedir", path(user.dir)?)?;
    Ok(table)
}
