//! Semaphores, to be shared between threads.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use crate::api::Api;
use crate::call::Call;
use crate::failure::Failure;

/// A number that waits rather than become negative.
#[derive(Clone)]
pub(crate) struct Semaphore(Arc<(Mutex<u32>, Condvar)>);

pub(crate) fn register(api: &mut Api<'_>) -> mlua::Result<()> {
    api.function("new_sem", |call| {
        let value = match call.optional_integer(1)? {
            None => 0,
            Some(_) => call.narrow(1)?,
        };
        let semaphore = Semaphore(Arc::new((Mutex::new(value), Condvar::new())));
        Ok(call.lua.create_any_userdata(semaphore)?)
    })?;
    api.function("sem_post", |call| {
        let Semaphore(shared) = argument(call)?;
        let mut value = shared.0.lock();
        *value = value.saturating_add(1);
        shared.1.notify_one();
        Ok(())
    })?;
    api.function("sem_wait", |call| {
        let Semaphore(shared) = argument(call)?;
        let mut value = shared.0.lock();
        while *value == 0 {
            shared.1.wait(&mut value);
        }
        *value -= 1;
        Ok(())
    })?;
    api.function("sem_trywait", |call| {
        let Semaphore(shared) = argument(call)?;
        let mut value = shared.0.lock();
        let is_free = *value > 0;
        *value = value.saturating_sub(1);
        Ok(is_free)
    })?;
    api.class::<Semaphore>(
        "luv_sem_t",
        &[
            ("post", "sem_post"),
            ("wait", "sem_wait"),
            ("trywait", "sem_trywait"),
        ],
    )
}

fn argument(call: &Call<'_>) -> Result<Semaphore, Failure> {
    let userdata = call.userdata(1, "luv_sem")?;
    match userdata.borrow::<Semaphore>() {
        Ok(semaphore) => Ok(semaphore.clone()),
        Err(_) => Err(call.bad(1, "luv_sem expected, got another userdata")),
    }
}
