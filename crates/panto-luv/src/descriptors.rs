//! Descriptors that Lua holds by number.
//!
//! What the API opened for Lua is owned here until Lua closes it or gives it to a handle, so an operation under way on
//! another thread keeps its file open, and nothing can close a descriptor of somebody else's. All other numbers are
//! used through a duplicate.

use std::cell::RefCell;
use std::collections::HashMap;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use crate::errno::UvError;
use crate::raw;

/// The descriptors that were given to Lua.
#[derive(Default)]
pub(crate) struct Descriptors {
    lent: RefCell<HashMap<RawFd, Arc<OwnedFd>>>,
}

impl Descriptors {
    /// Gives a descriptor to Lua, as its number.
    pub(crate) fn lend(&self, fd: OwnedFd) -> RawFd {
        let number = fd.as_raw_fd();
        self.lent.borrow_mut().insert(number, Arc::new(fd));
        number
    }

    /// Something to work with for as long as the operation lasts.
    pub(crate) fn get(&self, number: RawFd) -> Result<Arc<OwnedFd>, UvError> {
        if let Some(lent) = self.lent.borrow().get(&number) {
            return Ok(Arc::clone(lent));
        }
        Ok(Arc::new(raw::duplicate(number)?))
    }

    /// A duplicate of any descriptor.
    pub(crate) fn duplicate(&self, number: RawFd) -> Result<OwnedFd, UvError> {
        Ok(raw::duplicate(number)?)
    }

    /// Takes back what was lent: it is closed when the last operation on it ends.
    ///
    /// # Errors
    ///
    /// `EBADF` for a number that was not lent.
    pub(crate) fn take_back(&self, number: RawFd) -> Result<Arc<OwnedFd>, UvError> {
        let lent = self.lent.borrow_mut().remove(&number);
        lent.ok_or_else(|| UvError::named("EBADF"))
    }

    /// What a handle is to own from now on: the descriptor itself if it was lent, else a duplicate.
    pub(crate) fn give_away(&self, number: RawFd) -> Result<OwnedFd, UvError> {
        let lent = self.lent.borrow_mut().remove(&number);
        match lent.map(Arc::try_unwrap) {
            Some(Ok(fd)) => Ok(fd),
            Some(Err(busy)) => Ok(rustix::io::fcntl_dupfd_cloexec(&*busy, 3)?),
            None => self.duplicate(number),
        }
    }
}
