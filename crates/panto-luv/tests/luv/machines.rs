//! The process, its user, its machine, clocks and constants.

use panto_luv::Options;

use crate::support::{Bench, logs};

#[test]
fn the_working_directory_and_the_program_are_the_processs_own() {
    let bench = Bench::new();
    let (cwd, exe): (String, String) = bench.eval("return uv.cwd(), uv.exepath()");
    assert_eq!(std::path::Path::new(&cwd), std::env::current_dir().unwrap());
    assert_eq!(std::path::Path::new(&exe), std::env::current_exe().unwrap());
    let refused: (Option<i64>, String, String) = bench.eval("return uv.chdir('/no/such/folder')");
    assert_eq!(refused.2, "ENOENT");
}

#[test]
fn the_environment_is_the_one_that_the_host_gave() {
    let given = [
        ("HOME", "/home/someone"),
        ("TMPDIR", "/var/tmp/"),
        ("EMPTY", ""),
    ];
    let bench = Bench::with(
        Options::new().environment(given.map(|(name, value)| (name.into(), value.into()))),
    );
    bench.eval::<()>(
        r#"
        log(uv.os_getenv("HOME"), uv.os_homedir(), uv.os_tmpdir())
        log(uv.os_getenv("PATH"))
        log(uv.os_setenv("PATH", "/bin"), uv.os_getenv("PATH"))
        log(uv.os_getenv("PATH", 2))
        log(uv.os_unsetenv("PATH"), uv.os_getenv("PATH") == nil)
        log(uv.os_setenv("A=B", "x"))
        local names = {}
        for name, value in pairs(uv.os_environ()) do names[#names + 1] = name .. "=" .. value end
        table.sort(names)
        log(table.concat(names, ","))
        "#,
    );
    assert_eq!(
        bench.eval::<String>("return table.concat(lines, '\\n')"),
        "/home/someone /home/someone /var/tmp\n\
         nil ENOENT: no such file or directory ENOENT\n\
         true /bin\n\
         nil ENOBUFS: no buffer space available ENOBUFS\n\
         true true\n\
         nil EINVAL: invalid argument EINVAL\n\
         EMPTY=,HOME=/home/someone,TMPDIR=/var/tmp/"
    );
}

#[test]
fn ids_are_the_systems() {
    let bench = Bench::new();
    let (pid, parent, uid): (u32, u32, u32) =
        bench.eval("return uv.os_getpid(), uv.os_getppid(), uv.getuid()");
    assert_eq!(pid, std::process::id());
    assert_eq!(parent, std::os::unix::process::parent_id());
    assert_eq!(uid, rustix::process::getuid().as_raw());
    logs(
        r#"
        log(uv.getpid() == uv.os_getpid(), math.type(uv.getgid()))
        log(type(uv.os_get_passwd().homedir), uv.os_get_passwd().uid == uv.getuid())
        log(math.type(uv.os_getpriority(uv.os_getpid())))
        log(uv.os_setpriority(0, 99))
        log(select(3, uv.os_getpriority(0x7fffffff)))
        "#,
        &[
            "true integer",
            "string true",
            "integer",
            "nil EINVAL: invalid argument EINVAL",
            "ESRCH",
        ],
    );
}

#[test]
fn the_machine_is_described() {
    logs(
        r##"
        local name = uv.os_uname()
        log(#name.sysname > 0, #name.release > 0, #name.version > 0, #name.machine > 0)
        log(#uv.os_gethostname() > 0, uv.available_parallelism() >= 1, uv.uptime() > 0)
        local cpu = uv.cpu_info()[1]
        log(type(cpu.model), math.type(cpu.speed), cpu.times.user >= 0, cpu.times.irq >= 0)
        log(select("#", uv.loadavg()))
        log(uv.get_total_memory() > uv.get_free_memory(), uv.resident_set_memory() > 100000)
        log(uv.get_constrained_memory() >= 0, uv.get_available_memory() > 0)
        log(uv.getrusage().utime.usec >= 0, uv.getrusage().maxrss > 0)
        local loopback
        for _, addresses in pairs(uv.interface_addresses()) do
          for _, address in ipairs(addresses) do
            if address.ip == "127.0.0.1" then loopback = address end
          end
        end
        log(loopback.internal, loopback.family, loopback.netmask, #loopback.mac)
        log(uv.if_indextoname(1), (select(3, uv.if_indextoname(99999))))
        "##,
        &[
            "true true true true",
            "true true true",
            "string integer true true",
            "3",
            "true true",
            "true true",
            "true true",
            "true inet 255.0.0.0 6",
            "lo ENXIO",
        ],
    );
}

#[test]
fn clocks_run() {
    logs(
        r#"
        local seconds, micros = uv.gettimeofday()
        log(os.time() - seconds <= 1, micros < 1000000)
        local a, b = uv.clock_gettime("realtime"), uv.clock_gettime("monotonic")
        log(a.sec >= seconds, b.nsec < 1000000000)
        log(pcall(uv.clock_gettime, "wall"))
        local from = uv.hrtime()
        uv.sleep(2)
        log(uv.hrtime() - from >= 2000000)
        "#,
        &[
            "true true",
            "true true",
            "false bad argument #1 to 'clock_gettime' (invalid option 'wall')",
            "true",
        ],
    );
}

#[test]
fn random_bytes_come_at_once_or_later() {
    logs(
        r##"
        log(#uv.random(16), uv.random(16) ~= uv.random(16), #uv.random(0))
        log(pcall(uv.random, 16, { strong = true }))
        log(pcall(uv.random, -1))
        log(uv.random(300, nil, function(err, bytes) log(err, #bytes) end))
        "##,
        &[
            "16 true 0",
            "false bad argument #2 to 'random' (flags must be nil, 0 or an empty table)",
            "false bad argument #1 to 'random' (out of range)",
            "0",
            "nil 300",
        ],
    );
}

#[test]
fn constants_and_errors_have_their_names() {
    logs(
        r#"
        log(uv.constants.SIGTERM, uv.constants.O_RDONLY, uv.constants.FS_UTIME_NOW)
        log(uv.errno.ENOENT, uv.errno.EOF)
        log(uv.translate_sys_error(2))
        log(uv.version_string(), uv.version() == 1 << 16 | 48 << 8)
        "#,
        &[
            "15 0 inf",
            "-2 -4095",
            "ENOENT: no such file or directory ENOENT",
            "1.48.0 true",
        ],
    );
}
