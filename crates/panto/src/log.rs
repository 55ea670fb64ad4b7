//! Logs for developers, on standard error, only when `PANTO_LOG` asks for them.
//!
//! They hold ids, names and counts, never a prompt or what a file or a key holds.

use tracing_subscriber::EnvFilter;

use crate::failure::Failure;

/// Starts logging, if it is asked for.
///
/// # Errors
///
/// `PANTO_LOG` is not a filter.
pub(crate) fn start() -> Result<(), Failure> {
    let Some(filter) = std::env::var_os("PANTO_LOG").filter(|filter| !filter.is_empty()) else {
        return Ok(());
    };
    let filter = EnvFilter::try_new(filter.to_string_lossy()).map_err(|error| {
        Failure::usage(format!("PANTO_LOG is not a log filter: {error}"))
            .with_hint("for example PANTO_LOG=debug, or PANTO_LOG=pantograph=trace")
    })?;
    tracing_subscriber::fmt()
        .with_env_filter(without_frames(filter))
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
    Ok(())
}

/// The filter without the HTTP/2 library, which logs frames as they come: a server may repeat a
/// key in one.
fn without_frames(filter: EnvFilter) -> EnvFilter {
    match "h2=off".parse() {
        Ok(off) => filter.add_directive(off),
        Err(_) => filter,
    }
}
