//! Handles of kernel objects, owned: given up when dropped.

use crate::rt::{Endpoint, TypedEndpoint};
use crate::{Error, error, sys};

/// A handle of any kind but an allocation's. Dropping it gives it up.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Object(u32);

impl Object {
    /// The handle, which is no longer given up on drop.
    pub fn into_raw(self) -> u32 {
        core::mem::ManuallyDrop::new(self).0
    }

    /// The handle, for one call.
    #[must_use]
    pub fn raw(&self) -> u32 {
        self.0
    }

    /// Takes ownership of the object that a call of the kernel has just made: `code` is the call's
    /// answer and nothing else.
    pub(crate) fn from_status(code: i32) -> Result<Object, Error> {
        error::check(code).map(Object)
    }
}

impl From<Endpoint> for Object {
    fn from(endpoint: Endpoint) -> Object {
        Object(endpoint.into_raw().raw())
    }
}

impl<T: TypedEndpoint> From<T> for Object {
    fn from(endpoint: T) -> Object {
        endpoint.into_endpoint().into()
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        sys::handle_dispose(self.0);
    }
}
