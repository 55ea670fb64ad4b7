//! The scripted protocol as an agent meets it: requests in, events out.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may unwrap, too")]

mod checks;
mod faults;
mod files;
mod matching;
mod page;
mod playing;
mod recording;
mod support;
mod taking;
