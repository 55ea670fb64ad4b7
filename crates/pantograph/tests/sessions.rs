//! The store of sessions as files, through its public face.
#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

#[path = "sessions/any.rs"]
mod any;
#[path = "sessions/content.rs"]
mod content;
#[path = "sessions/damage.rs"]
mod damage;
#[path = "sessions/doctor.rs"]
mod doctor;
#[path = "sessions/json.rs"]
mod json;
#[path = "sessions/listing.rs"]
mod listing;
#[path = "sessions/locks.rs"]
mod locks;
#[path = "sessions/support.rs"]
mod support;
#[path = "sessions/writing.rs"]
mod writing;
