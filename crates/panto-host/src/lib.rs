//! One panto session: configuration, composition, the session handle, headless output.

pub mod headless;
pub mod session;
