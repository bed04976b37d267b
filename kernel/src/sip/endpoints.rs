//! What a SIP is given: arguments and endpoints, at its start and in messages.

use super::Sip;
use crate::channel::{self, Channel};
use crate::handle::Object;
use sing_abi::status;
use sing_abi::trap::Trap;
use sing_image::manifest::Side;

impl Sip {
    /// Works with its arguments.
    pub(crate) fn with_arguments<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(&self.inner.lock().arguments)
    }

    /// Takes a start-up endpoint; its handle, or a status.
    pub(crate) fn take_startup(&'static self, index: u32) -> i32 {
        let taken = match self.inner.lock().endpoints.get_mut(index as usize) {
            Some(e) => e.take(),
            None => None,
        };
        let Some((channel, side)) = taken else {
            return status::NOT_FOUND;
        };
        let declared = &self.image().manifest.endpoints;
        let declared = declared.get(index as usize).or_else(|| declared.last());
        let name = declared.map_or("", |e| e.contract.as_str());
        match self.insert_endpoint(channel, side, name) {
            Some(h) => h as i32,
            None => {
                if let Some(e) = self.inner.lock().endpoints.get_mut(index as usize) {
                    *e = Some((channel, side));
                }
                status::NO_RESOURCES
            }
        }
    }

    /// Gives an endpoint a handle, under which it is used as one of contract `name`.
    pub(crate) fn insert_endpoint(
        &'static self,
        channel: &'static Channel,
        side: Side,
        name: &str,
    ) -> Option<u32> {
        let bits = {
            let inner = channel.lock();
            self.image().operation_bits(inner.contract?, name, side)
        };
        let handle = self
            .handles
            .lock()
            .insert(Object::Endpoint(channel, side, bits))?;
        channel.lock().ends[side.index()].owner.set(Some(self));
        Some(handle)
    }

    /// Whether a handle names an endpoint that may travel on `carrier` as an argument of this type.
    pub(crate) fn check_endpoint(
        &self,
        handle: u32,
        carrier: &'static Channel,
        contract: &str,
        side: Side,
        state: Option<&str>,
    ) -> Result<(), Trap> {
        let Object::Endpoint(channel, has, _) = self.object(handle) else {
            return Err(Trap::BadHandle);
        };
        if core::ptr::eq(channel, carrier) || has != side {
            return Err(Trap::BadHandle);
        }
        let inner = channel.lock();
        let Some(real) = inner.contract else {
            return Err(Trap::BadHandle);
        };
        let now = real.state_name(inner.ends[side.index()].state);
        let fits = state.is_none_or(|s| s == now);
        if real.is_a(contract) && fits {
            Ok(())
        } else {
            Err(Trap::BadHandle)
        }
    }

    /// Takes an endpoint out of its table, as a word of a message.
    pub(crate) fn take_endpoint(&self, handle: u32) -> Option<u64> {
        let mut handles = self.handles.lock();
        let Object::Endpoint(channel, side, _) = handles.get(handle) else {
            return None;
        };
        handles.remove(handle);
        drop(handles);
        let inner = channel.lock();
        let end = &inner.ends[side.index()];
        end.owner.set(None);
        // Whoever received here finds that the endpoint is not the SIP's any more.
        end.wake_all();
        Some(channel::to_word(channel, side))
    }

    /// Puts an endpoint from a message into its table.
    pub(crate) fn give_endpoint(&'static self, word: u64, name: &str) -> Option<u32> {
        let (channel, side) = channel::from_word(word)?;
        self.insert_endpoint(channel, side, name)
    }
}
