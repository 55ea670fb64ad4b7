//! What a user sees, through public doors only.
