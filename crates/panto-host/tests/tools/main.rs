//! The standard tools of `rocks/agent`, called by a scripted model on real files.

mod changing;
mod looking;
mod shell;
mod support;
