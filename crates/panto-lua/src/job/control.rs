//! A control: cancels and steers a job while that owns its agent.

use std::sync::{Arc, Weak};

use mlua::{UserData, UserDataFields};
use pantograph::{Metadata, Sender, Submission, Timing};

use super::shared::Shared;
use crate::class::{self, Class, Methods};
use crate::fault::{Fault, values};
use crate::message::blocks_argument;

/// Cancels and steers a job. Keeps neither it nor its agent alive.
pub(crate) struct Control {
    job: Weak<Shared>,
}

impl Control {
    pub(super) fn new(job: &Arc<Shared>) -> Self {
        Self {
            job: Arc::downgrade(job),
        }
    }

    /// The job, if it still runs and was not closed.
    fn live(&self) -> Option<Arc<Shared>> {
        self.job
            .upgrade()
            .filter(|job| !job.is_settled() && !job.is_closed())
    }
}

impl UserData for Control {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        class::fields(fields);
    }
}

impl Class for Control {
    const NAME: &'static str = "panto.JobControl";

    fn methods(methods: &Methods<'_, Self>) -> mlua::Result<()> {
        methods.add("alive", |lua, _, this, _| {
            values(lua, this.live().is_some())
        })?;
        methods.add("request_cancel", |lua, _, this, mut args| {
            if let Some(job) = this.live() {
                job.stop().ask_as(&mut args)?;
            }
            values(lua, true)
        })?;
        methods.add("steer", |lua, _, this, mut args| {
            let submission = Submission {
                blocks: blocks_argument(&args.next("prompt"))?,
                metadata: Metadata::new(),
                timing: Timing::Steering,
                sender: Sender::Code,
            };
            let gone = || Fault::expected("the job has settled; start another turn instead");
            let job = this.live().ok_or_else(gone)?;
            job.agent().ok_or_else(gone)?.submit(submission);
            values(lua, true)
        })
    }
}
