//! What a user sees, through public doors only.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests may unwrap as tests do"
)]

mod architecture;
mod layers;
mod readme;
mod repository;
