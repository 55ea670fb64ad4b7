//! What a user sees, through public doors only.

mod architecture;
mod layers;
mod readme;
mod repository;
