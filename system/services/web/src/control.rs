//! What the server says of itself and is told, over `WebServerContract`.

use crate::server::Server;
use alloc::sync::Arc;
use sing_sdk::prelude::*;
use sing_sdk::provider::Provider;

type Given = NamespaceContract::Exp<NamespaceContract::Start>;

/// Serves those who bind the server's name, until it is to end.
pub fn serve(server: &Arc<Server>, lookup: Given) -> Result<(), Error> {
    let begin = WebServerContract::Exp::send_success;
    let mut provider: Provider<_, _> = Provider::new(lookup, begin)?;
    loop {
        switch_receive! {
            case provider.clients[key].GetStatus() as client => {
                match Text::new(&server.status()) {
                    Ok(text) => provider.clients.put(key, client.send_status(text)),
                    // Without memory for the answer the client finds its channel closed.
                    Err(_) => {
                        drop(client);
                        provider.clients.forget(key);
                    }
                }
            }
            case provider.clients[key].Stop() as client => {
                provider.clients.put(key, client.send_stopping());
                server.stop();
                return Ok(());
            }
            case provider.clients[_].ChannelClosed() => {}
            case &provider.lookup => {
                if provider.answer(|path| (path == "/").then_some(())).is_err() {
                    return Ok(());
                }
            }
        }
    }
}
