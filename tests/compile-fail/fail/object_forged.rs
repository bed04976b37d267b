//! A handle has one owner; a second cannot be made from its number.
#![deny(unsafe_code)]
use sing_sdk::handle::Object;
use sing_sdk::rt::Waitable;
use sing_sdk::sync::AutoEvent;

fn twin(event: &AutoEvent) -> (Object, Object) {
    (Object::from_raw(event.handle().raw()), Object(event.handle().raw()))
}

fn main() {}
