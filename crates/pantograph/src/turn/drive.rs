//! The turn loop.

use super::{Emitter, Opening};
use crate::agent::{Agent, WriterGuard};
use crate::cancel::Cancel;
use crate::ids::TurnId;

pub(crate) struct Drive {
    agent: Agent,
    writer: WriterGuard,
    id: TurnId,
    cancel: Cancel,
    emitter: Emitter,
}
impl Drive {
    pub(crate) fn new(
        agent: Agent,
        writer: WriterGuard,
        id: TurnId,
        cancel: Cancel,
        emitter: Emitter,
    ) -> Self {
        Self {
            agent,
            writer,
            id,
            cancel,
            emitter,
        }
    }
    pub(crate) async fn settle(self, _opening: Opening) {}
}
