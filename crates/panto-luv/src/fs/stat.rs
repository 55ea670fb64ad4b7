//! What the system knows of a file, and of a file system.

use std::os::fd::OwnedFd;
use std::path::Path;

use mlua::{Lua, Table};
use rustix::fs::FileType;

use crate::errno::UvError;

/// What is known of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Stat {
    mode: i64,
    numbers: [(&'static str, i64); 9],
    atime: Time,
    mtime: Time,
    ctime: Time,
    birthtime: Time,
}

/// Seconds and nanoseconds.
type Time = (i64, i64);

/// Whether a link is looked at, or what it leads to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Follow {
    Links,
    Nothing,
}

fn number(value: impl TryInto<i64>) -> i64 {
    value.try_into().unwrap_or(i64::MAX)
}

impl Stat {
    #[cfg(target_os = "linux")]
    pub(crate) fn of_path(path: &Path, follow: Follow) -> Result<Self, UvError> {
        use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
        let flags = match follow {
            Follow::Links => AtFlags::empty(),
            Follow::Nothing => AtFlags::SYMLINK_NOFOLLOW,
        };
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        match statx(CWD, path, flags, wanted) {
            Ok(stat) => Ok(Self::from_statx(&stat)),
            // Old kernels, and sandboxes that know no newer calls.
            Err(rustix::io::Errno::NOSYS) => Self::of_path_without_birth(path, follow),
            Err(error) => Err(error.into()),
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn of_path(path: &Path, follow: Follow) -> Result<Self, UvError> {
        Self::of_path_without_birth(path, follow)
    }

    fn of_path_without_birth(path: &Path, follow: Follow) -> Result<Self, UvError> {
        Ok(Self::from_stat(&match follow {
            Follow::Links => rustix::fs::stat(path)?,
            Follow::Nothing => rustix::fs::lstat(path)?,
        }))
    }

    pub(super) fn of_file(fd: &OwnedFd) -> Result<Self, UvError> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{AtFlags, StatxFlags, statx};
            let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
            if let Ok(stat) = statx(fd, c"", AtFlags::EMPTY_PATH, wanted) {
                return Ok(Self::from_statx(&stat));
            }
        }
        Ok(Self::from_stat(&rustix::fs::fstat(fd)?))
    }

    #[cfg(target_os = "linux")]
    fn from_statx(stat: &rustix::fs::Statx) -> Self {
        let time = |time: rustix::fs::StatxTimestamp| (time.tv_sec, i64::from(time.tv_nsec));
        let device = |major, minor| number(rustix::fs::makedev(major, minor));
        Self {
            mode: i64::from(stat.stx_mode),
            numbers: [
                ("dev", device(stat.stx_dev_major, stat.stx_dev_minor)),
                ("nlink", i64::from(stat.stx_nlink)),
                ("uid", i64::from(stat.stx_uid)),
                ("gid", i64::from(stat.stx_gid)),
                ("rdev", device(stat.stx_rdev_major, stat.stx_rdev_minor)),
                ("ino", number(stat.stx_ino)),
                ("size", number(stat.stx_size)),
                ("blksize", i64::from(stat.stx_blksize)),
                ("blocks", number(stat.stx_blocks)),
            ],
            atime: time(stat.stx_atime),
            mtime: time(stat.stx_mtime),
            ctime: time(stat.stx_ctime),
            birthtime: time(stat.stx_btime),
        }
    }

    fn from_stat(stat: &rustix::fs::Stat) -> Self {
        let changed = (number(stat.st_ctime), number(stat.st_ctime_nsec));
        Self {
            mode: number(stat.st_mode),
            numbers: [
                ("dev", number(stat.st_dev)),
                ("nlink", number(stat.st_nlink)),
                ("uid", number(stat.st_uid)),
                ("gid", number(stat.st_gid)),
                ("rdev", number(stat.st_rdev)),
                ("ino", number(stat.st_ino)),
                ("size", number(stat.st_size)),
                ("blksize", number(stat.st_blksize)),
                ("blocks", number(stat.st_blocks)),
            ],
            atime: (number(stat.st_atime), number(stat.st_atime_nsec)),
            mtime: (number(stat.st_mtime), number(stat.st_mtime_nsec)),
            ctime: changed,
            // As libuv where the system does not tell.
            birthtime: changed,
        }
    }

    pub(crate) fn to_table(&self, lua: &Lua) -> mlua::Result<Table> {
        let table = lua.create_table()?;
        table.raw_set("mode", self.mode)?;
        table.raw_set("type", kind_of_mode(self.mode))?;
        table.raw_set("flags", 0)?;
        table.raw_set("gen", 0)?;
        for (field, value) in self.numbers {
            table.raw_set(field, value)?;
        }
        for (field, (sec, nsec)) in [
            ("atime", self.atime),
            ("mtime", self.mtime),
            ("ctime", self.ctime),
            ("birthtime", self.birthtime),
        ] {
            let time = lua.create_table()?;
            time.raw_set("sec", sec)?;
            time.raw_set("nsec", nsec)?;
            table.raw_set(field, time)?;
        }
        Ok(table)
    }
}

fn kind_of_mode(mode: i64) -> &'static str {
    let raw = rustix::fs::RawMode::try_from(mode).unwrap_or(0);
    match FileType::from_raw_mode(raw) {
        FileType::RegularFile => "file",
        FileType::Directory => "directory",
        FileType::Symlink => "link",
        FileType::Fifo => "fifo",
        FileType::Socket => "socket",
        FileType::CharacterDevice => "char",
        FileType::BlockDevice => "block",
        _ => "unknown",
    }
}

/// What is known of a file system.
pub(super) struct StatFs([(&'static str, i64); 7]);

impl StatFs {
    pub(super) fn of_path(path: &Path) -> Result<Self, UvError> {
        let stat = rustix::fs::statfs(path)?;
        Ok(Self([
            ("type", number(stat.f_type)),
            ("bsize", number(stat.f_bsize)),
            ("blocks", number(stat.f_blocks)),
            ("bfree", number(stat.f_bfree)),
            ("bavail", number(stat.f_bavail)),
            ("files", number(stat.f_files)),
            ("ffree", number(stat.f_ffree)),
        ]))
    }

    pub(super) fn into_table(self, lua: &Lua) -> mlua::Result<Table> {
        lua.create_table_from(self.0)
    }
}
