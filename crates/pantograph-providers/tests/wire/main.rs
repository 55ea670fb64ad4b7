//! What goes over the wire and what comes back, for each protocol: through public doors, with a
//! server on loopback that breaks in every way.

mod anthropic;
mod connection;
mod openai_responses;
mod support;
