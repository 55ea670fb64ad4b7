//! What goes over the wire and what comes back, for each protocol: through public doors, with a
//! server on loopback that breaks in every way.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agent;
mod anthropic;
mod certificates;
mod connection;
mod frames;
mod google_generate;
mod long;
mod many;
mod moves;
mod odd_streams;
mod openai_chat;
mod openai_responses;
mod parallel;
mod party;
mod refusals;
mod strict;
mod support;
mod turns;
