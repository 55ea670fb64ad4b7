//! Bugs of ours: told as any failure is, not as a backtrace.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};

use crate::failure::{Exit, Failure};

thread_local! {
    /// Where this thread panicked last: the payload does not say.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// From now on a panic says nothing by itself, unless `RUST_BACKTRACE` asks for it: whoever
/// catches it says what it came to.
pub(crate) fn keep_quiet() {
    let backtrace = std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0");
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let place = info.location().map(ToString::to_string);
        PLACE.with_borrow_mut(|last| *last = place);
        if backtrace {
            default(info);
        }
    }));
}

/// Does `work`; a panic is its failure.
///
/// # Errors
///
/// Those of a bug, or of a system that gives no more threads or file descriptors where a
/// library does not expect that.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Failure> {
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let place = PLACE.take();
        let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
        let error = anyhow::anyhow!("internal error: {}{place}", text(&*panic));
        Failure::new(Exit::TurnFailed, "internal", error).with_hint(
            "if the system still has threads and file descriptors to give (`ulimit -a`), this is \
             a bug of panto; please report it",
        )
    })
}

fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no more is known")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_failure_that_says_what_happened() {
        assert_eq!(guarded(|| 1).unwrap(), 1);
        let failure = guarded(|| panic!("no {}", "luck")).unwrap_err();
        let error = failure.to_run_error();
        assert_eq!(failure.exit.code(), 1);
        assert_eq!(error.kind, "internal");
        assert!(
            error.message.starts_with("internal error: no luck"),
            "{error:?}"
        );
    }
}
