//! The service: its clients, its subscribers, and the loop that serves both.

use crate::table::{News, Table};
use crate::{ChangesContract, Reason, StoreContract};
use alloc::collections::BTreeMap;
use sing_sdk::prelude::*;
use sing_sdk::provider::Provider;

/// The most bytes of a key or a value, and the most subscribers. The table and the news of all of them
/// together fit the memory that the manifest asks for.
pub const LONGEST: usize = 256;
pub const SUBSCRIBERS: usize = 64;

/// A subscriber that has been told of everything, and one that has not acknowledged the last change.
type Resting = ChangesContract::Imp<ChangesContract::Start>;
type Telling = ChangesContract::Imp<ChangesContract::Start_Changed>;

/// All subscribers, by what their channels are waiting for.
struct Subscribers {
    resting: Vec<(Resting, News)>,
    telling: EndpointSet<Telling>,
    /// The news of those that are being told, by their key in the set.
    news: BTreeMap<usize, News>,
}

impl Subscribers {
    fn add(&mut self, prefix: String, channel: Resting, table: &Table) -> Result<(), Reason> {
        if self.resting.len() + self.news.len() >= SUBSCRIBERS {
            return Err(Reason::Full);
        }
        self.resting.push((channel, News::new(prefix, table)));
        self.tell(table);
        Ok(())
    }

    /// A value has been put at this place.
    fn changed(&mut self, key: &str, place: u16, table: &Table) {
        let resting = self.resting.iter_mut().map(|(_, news)| news);
        for news in resting.chain(self.news.values_mut()) {
            news.changed(key, place);
        }
        self.tell(table);
    }

    /// Tells those that rest and for whom there is something.
    fn tell(&mut self, table: &Table) {
        for (channel, mut news) in core::mem::take(&mut self.resting) {
            let Some((key, value)) = news.next(table) else {
                self.resting.push((channel, news));
                continue;
            };
            // One for whom there is no room is dropped, and finds its channel closed: it misses no change
            // without an error.
            let Ok((key, value)) = texts(key, value) else {
                continue;
            };
            if let Ok(key) = self.telling.insert(channel.send_changed(key, value)) {
                news.told();
                self.news.insert(key, news);
            }
        }
    }

    /// A subscriber has acknowledged a change.
    fn told(&mut self, key: usize, channel: Resting, table: &Table) {
        self.telling.release(key, &channel);
        if let Some(news) = self.news.remove(&key) {
            self.resting.push((channel, news));
        }
        self.tell(table);
    }
}

/// A change, in blocks that can be sent.
fn texts(key: &str, value: &str) -> Result<(Text, Text), Error> {
    Ok((Text::new(key)?, Text::new(value)?))
}

/// A text of a client, which may be of any length.
fn short(text: &Text) -> Result<String, Reason> {
    text.get_within(LONGEST).ok_or(Reason::TooLong)
}

/// Serves the clients that are announced over this channel, until nobody announces any more.
///
/// # Errors
/// If handles are short.
pub fn serve(lookup: NamespaceContract::Exp<NamespaceContract::Start>) -> Result<(), Error> {
    let begin = StoreContract::Exp::send_success;
    let mut service: Provider<_, _> = Provider::new(lookup, begin)?;
    let mut table = Table::default();
    let mut subscribers = Subscribers {
        resting: Vec::new(),
        telling: EndpointSet::new()?,
        news: BTreeMap::new(),
    };
    loop {
        switch_receive! {
            case service.clients[client].Put(key, value) as channel => {
                let put = || -> Result<(), Reason> {
                    let (key, value) = (short(&key)?, short(&value)?);
                    let place = table.put(&key, &value)?;
                    subscribers.changed(&key, place, &table);
                    Ok(())
                };
                service.clients.put(client, match { put }() {
                    Ok(()) => channel.send_done(),
                    Err(reason) => channel.send_refused(reason),
                });
            }
            case service.clients[client].Get(key) as channel => {
                let get = || Text::new(table.get(&short(&key)?)?).map_err(|_| Reason::Full);
                service.clients.put(client, match get() {
                    Ok(value) => channel.send_value(value),
                    Err(reason) => channel.send_refused(reason),
                });
            }
            case service.clients[client].Subscribe(prefix, changes) as channel => {
                let added = short(&prefix).and_then(|prefix| subscribers.add(prefix, changes, &table));
                service.clients.put(client, match added {
                    Ok(()) => channel.send_done(),
                    Err(reason) => channel.send_refused(reason),
                });
            }
            case service.clients[_].ChannelClosed() => {}
            case subscribers.telling[key].Ack() as channel => subscribers.told(key, channel, &table),
            case subscribers.telling[key].ChannelClosed() => {
                subscribers.news.remove(&key);
            }
            case &service.lookup => {
                // Clients bind the service itself; there is nothing below it.
                if service.answer(|path| (path == "/").then_some(())).is_err() {
                    return Ok(());
                }
            }
        }
    }
}
