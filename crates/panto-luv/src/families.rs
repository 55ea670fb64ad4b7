//! The families of functions, in the order in which luv's documentation has them.

use crate::api::Api;

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    crate::loop_functions::register(api)?;
    crate::request::register(api)?;
    crate::handle::register(api)?;
    crate::timer::register(api)?;
    crate::steps::register(api)?;
    crate::async_handle::register(api)?;
    crate::poll::register(api)?;
    crate::signal_handle::register(api)?;
    crate::process::register(api)?;
    crate::socket_options::register(api)?;
    crate::stream::register(api)?;
    crate::tcp::register(api)?;
    crate::pipe::register(api)?;
    crate::tty::register(api)?;
    crate::udp::register(api)?;
    crate::fs_event::register(api)?;
    crate::fs_poll::register(api)?;
    crate::fs::register(api)?;
    crate::work::register(api)?;
    crate::dns::register(api)?;
    crate::thread::register(api)?;
    crate::semaphore::register(api)?;
    crate::wide_text::register(api)?;
    crate::time::register(api)?;
    crate::os::register(api)?;
    crate::machine::register(api)?;
    crate::random::register(api)?;
    crate::constants::register(api)
}
