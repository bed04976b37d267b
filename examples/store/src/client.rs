//! The writer: puts values, and asks for them.

use crate::{Reason, StoreContract};
use sing_sdk::client::Client;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;

/// A client of the store, which connects again if that is restarted.
pub type Store = Client<StoreContract::Imp<StoreContract::Ready>>;

/// Does what a word says: `KEY=VALUE` puts a value, `KEY` asks for one, which comes back. Each may be
/// repeated without harm, as [`Client::ask`] does when the store is restarted.
///
/// # Errors
/// If the store refuses; the outer one if it does not answer.
pub fn word(
    names: &mut Names,
    store: &mut Store,
    word: &str,
) -> Result<Result<Option<String>, Reason>, Error> {
    use StoreContract::imp::{Ready_Get as Got, Ready_Put as Put};
    let text = |text: &str| Text::new(text).map_err(|_| Closed);
    store.ask(names, |store| match word.split_once('=') {
        Some((key, value)) => match store.call_put(text(key)?, text(value)?) {
            Put::Done(store) => Ok((Ok(None), store)),
            Put::Refused(reason, store) => Ok((Err(reason), store)),
            Put::Closed => Err(Closed),
        },
        None => match store.call_get(text(word)?) {
            Got::Value(value, store) => Ok((Ok(Some(value.to_lossy())), store)),
            Got::Refused(reason, store) => Ok((Err(reason), store)),
            Got::Closed => Err(Closed),
        },
    })
}
