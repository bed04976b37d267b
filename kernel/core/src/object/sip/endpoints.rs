//! What a SIP is given (arguments and endpoints, at its start and in messages), and how an
//! endpoint's contract is checked and narrowed on the way.

use super::{Sip, StartupEnd};
use crate::object::channel::{self, Channel};
use crate::object::handle::Object;
use sing_abi::status;
use sing_abi::trap::Trap;
use sing_image::manifest::Side;

impl Sip {
    /// Calls `f` with its arguments: each is a `u32` length and bytes.
    pub(crate) fn with_arguments<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(&self.inner.lock().arguments)
    }

    /// Gives it its start-up endpoints, in the order of its manifest; they have no owner before.
    /// Room for them was reserved when it was created ([`super::Making::endpoints`]).
    pub(crate) fn give_startup(&'static self, endpoints: impl Iterator<Item = StartupEnd>) {
        for end in endpoints {
            if let Some((channel, side)) = end {
                channel.lock().ends[side.index()].owner.set(Some(self));
            }
            let kept = self.inner.lock().endpoints.push(end, self.account());
            debug_assert!(kept.is_ok());
        }
    }

    /// Frees its arguments and the slots of its start-up endpoints, which have all been taken or
    /// closed.
    pub(super) fn free_startup(&self) {
        let mut inner = self.inner.lock();
        debug_assert!(inner.endpoints.iter().all(Option::is_none));
        let startup = (
            core::mem::take(&mut inner.arguments),
            core::mem::take(&mut inner.endpoints),
        );
        drop(inner);
        drop(startup);
    }

    /// Gives the SIP's start-up endpoint number `index` a handle, under the contract that its
    /// manifest names: the handle, `NOT_FOUND`, or `NO_RESOURCES`, in which case it can be taken
    /// later.
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

    /// Gives an endpoint a handle, under which it is used as one of contract `name`. Narrowing to a
    /// permission is permanent.
    pub(crate) fn insert_endpoint(
        &'static self,
        channel: &'static Channel,
        side: Side,
        name: &str,
    ) -> Option<u32> {
        let handle = self.own_endpoint(channel, side, name)?;
        self.narrow(channel, side, name);
        Some(handle)
    }

    /// As [`Sip::insert_endpoint`], but without the narrowing, so that the endpoint can be returned
    /// as it was; [`Sip::narrow_endpoint`] completes it.
    pub(crate) fn own_endpoint(
        &'static self,
        channel: &'static Channel,
        side: Side,
        name: &str,
    ) -> Option<u32> {
        let bits = {
            let inner = channel.lock();
            inner.contract?;
            let held = self.image().held_as(&inner.ends[side.index()], name, side);
            self.image().operation_bits(held, side)
        };
        let handle = self.insert(Object::Endpoint(channel, side, bits))?;
        channel.lock().ends[side.index()].owner.set(Some(self));
        Some(handle)
    }

    /// Uses an endpoint of its own under contract `name`. Narrowing to a permission is permanent.
    pub(crate) fn narrow_endpoint(&self, handle: u32, name: &str) {
        if let Object::Endpoint(channel, side, _) = self.object(handle) {
            self.narrow(channel, side, name);
        }
    }

    fn narrow(&self, channel: &'static Channel, side: Side, name: &str) {
        let mut inner = channel.lock();
        let end = &mut inner.ends[side.index()];
        if let Some((_, held)) = self.image().held_as(end, name, side) {
            end.narrow(held);
        }
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
        let Object::Endpoint(channel, has, bits) = self.object(handle) else {
            return Err(Trap::BadHandle);
        };
        if core::ptr::eq(channel, carrier) || has != side {
            return Err(Trap::BadHandle);
        }
        let inner = channel.lock();
        let real = inner.contract.ok_or(Trap::BadHandle)?;
        let end = &inner.ends[side.index()];
        let image = self.image();
        let used = image.uses_as_another(bits, real);
        match image.asked_for(end, contract, side, state, used) {
            Some(_) => Ok(()),
            None => Err(Trap::BadHandle),
        }
    }

    /// Takes an endpoint out of its table to be sent as one of contract `name`: the word that
    /// represents it in a message.
    pub(crate) fn send_endpoint(&self, handle: u32, name: &str) -> Option<u64> {
        let mut handles = self.handles.lock();
        let Object::Endpoint(channel, side, _) = handles.get(handle) else {
            return None;
        };
        handles.remove(handle);
        drop(handles);
        channel.lock().contract?;
        self.narrow(channel, side, name);
        channel.release(side);
        Some(channel::to_word(channel, side))
    }

    /// Takes an endpoint out of its table again because the message that brought it cannot be
    /// received.
    pub(crate) fn return_endpoint(&self, handle: u32) {
        if let Object::Endpoint(channel, side, _) = self.handles.lock().remove(handle) {
            channel.release(side);
        }
    }

    /// Whether a received endpoint conforms to what this SIP's image knows as contract `name`, in
    /// this state.
    pub(crate) fn knows_as(
        &self,
        channel: &'static Channel,
        side: Side,
        name: &str,
        state: Option<&str>,
    ) -> bool {
        let inner = channel.lock();
        let end = &inner.ends[side.index()];
        // The sender may have used it under another contract than its channel's.
        let known = self.image().asked_for(end, name, side, state, true);
        inner.contract.is_some() && known.is_some()
    }

    /// Uses an endpoint under contract `number` of its SIP's image from now on. False, with nothing
    /// changed, if the endpoint's contract and state do not allow that.
    pub(crate) fn use_endpoint_as(
        &self,
        handle: u32,
        number: u32,
        as_side: Side,
        state: u32,
    ) -> Result<bool, Trap> {
        let Object::Endpoint(channel, side, bits) = self.object(handle) else {
            return Err(Trap::BadHandle);
        };
        let image = self.image();
        let &wanted = image
            .contracts
            .get(number as usize)
            .ok_or(Trap::BadArgument)?;
        let bits = {
            let mut inner = channel.lock();
            let real = inner.contract.ok_or(Trap::BadHandle)?;
            let end = &mut inner.ends[side.index()];
            let used = image.uses_as_another(bits, real);
            let asked = u16::try_from(state).ok();
            let can = asked.is_some_and(|asked| {
                end.permission
                    .is_some_and(|own| own.stands_for(wanted, side, end.state, Some(asked), used))
            });
            if side != as_side || !can {
                return Ok(false);
            }
            end.narrow(wanted);
            image.operation_bits(Some((number, wanted)), side)
        };
        self.handles.lock().relabel(handle, bits);
        Ok(true)
    }
}
