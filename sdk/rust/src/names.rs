//! The name space, for clients: finding and binding services, registering.

use crate::Error;
use crate::contracts::{NamespaceContract, NotifyContract, Refusal, ServiceContract};
use crate::rt::Text;
use alloc::string::String;
use alloc::vec::Vec;

type Ready = NamespaceContract::Imp<NamespaceContract::Ready>;
type Service = ServiceContract::Exp<ServiceContract::Start>;

impl From<Refusal> for Error {
    fn from(reason: Refusal) -> Error {
        match reason {
            Refusal::NotFound => Error::NotFound,
            Refusal::NoResources => Error::NoResources,
            Refusal::Held => Error::Held,
        }
    }
}

/// A channel to the name server.
#[derive(Debug)]
pub struct Names(Option<Ready>);

impl Names {
    /// Begins to use a channel to the name server.
    ///
    /// # Errors
    /// [`Error::Closed`] if that does not take part.
    pub fn new(channel: NamespaceContract::Imp<NamespaceContract::Start>) -> Result<Names, Error> {
        Ok(Names(Some(channel.recv_success()?)))
    }

    /// The channel, for a request that is ready to be sent. A failure after this gives the channel
    /// up.
    fn take(&mut self) -> Result<Ready, Error> {
        self.0.take().ok_or(Error::Closed)
    }

    /// Keeps the channel for the next request, and says whether this one was granted.
    fn done(&mut self, answer: Option<(Ready, Result<(), Refusal>)>) -> Result<(), Error> {
        let (channel, granted) = answer.ok_or(Error::Closed)?;
        self.0 = Some(channel);
        granted.map_err(Error::from)
    }

    /// Hands the exporting side of a fresh channel to the service at this path.
    ///
    /// # Errors
    /// [`Error::NotFound`] where there is no such service, or it refused; [`Error::NoResources`] where it has no room, or this
    /// program its share.
    pub fn bind(&mut self, path: &str, exp: impl Into<Service>) -> Result<(), Error> {
        use NamespaceContract::imp::Binding;
        let path = Text::new(path)?;
        let answer = match self.take()?.call_bind(path, 0, exp.into()) {
            Binding::AckBind(next) => Some((next, Ok(()))),
            Binding::NakBind(reason, _, next) => Some((next, Err(reason))),
            Binding::Closed => None,
        };
        self.done(answer)
    }

    /// A further channel to the name server, for another process.
    ///
    /// # Errors
    /// [`Error::NoResources`] where the name server has no room, or this program its share.
    pub fn connect(&mut self) -> Result<NamespaceContract::Imp<NamespaceContract::Start>, Error> {
        let (imp, exp) = NamespaceContract::new_channel()?;
        self.bind("/", exp)?;
        Ok(imp)
    }

    /// The names directly below a path; directories have a `/` at their end.
    ///
    /// # Errors
    /// [`Error::NotFound`] where there is no such directory, [`Error::NoResources`] where there is no room for the answer.
    pub fn find(&mut self, path: &str) -> Result<Vec<String>, Error> {
        use NamespaceContract::imp::Finding;
        let path = Text::new(path)?;
        match self.take()?.call_find(path) {
            Finding::AckFind(names, next) => {
                self.0 = Some(next);
                Ok(names.to_lossy().lines().map(String::from).collect())
            }
            Finding::NakFind(reason, next) => {
                self.done(Some((next, Err(reason)))).map(|()| Vec::new())
            }
            Finding::Closed => Err(Error::Closed),
        }
    }

    /// Registers a service or name server at a path. The channel that comes back announces clients
    /// that bind that path or one below it.
    ///
    /// # Errors
    /// [`Error::Held`] where the path, or one above or below it, is another's; [`Error::NoResources`] where the name server has
    /// no room, or this program its share; [`Error::NotFound`] for what is no path.
    pub fn register(
        &mut self,
        path: &str,
    ) -> Result<NamespaceContract::Exp<NamespaceContract::Ready>, Error> {
        use NamespaceContract::imp::Ready_Register;
        let (imp, exp) = NamespaceContract::new_channel()?;
        let exp = exp.send_success();
        let path = Text::new(path)?;
        let answer = match self.take()?.call_register(path, imp) {
            Ready_Register::AckRegister(next) => Some((next, Ok(()))),
            Ready_Register::NakRegister(reason, _, next) => Some((next, Err(reason))),
            Ready_Register::Closed => None,
        };
        self.done(answer).map(|()| exp)
    }

    /// Takes back a registration that this channel has made.
    ///
    /// # Errors
    /// [`Error::NotFound`] if nothing was registered there by the caller.
    pub fn deregister(&mut self, path: &str) -> Result<(), Error> {
        use NamespaceContract::imp::Ready_Deregister;
        let path = Text::new(path)?;
        let answer = match self.take()?.call_deregister(path) {
            Ready_Deregister::AckDeregister(next) => Some((next, Ok(()))),
            Ready_Deregister::NakDeregister(next) => Some((next, Err(Refusal::NotFound))),
            Ready_Deregister::Closed => None,
        };
        self.done(answer)
    }

    /// Asks to be told when something has been registered or deregistered below a path.
    ///
    /// # Errors
    /// [`Error::NoResources`] where the name server has no room, or this program its share.
    pub fn notify(
        &mut self,
        path: &str,
    ) -> Result<NotifyContract::Exp<NotifyContract::Start>, Error> {
        use NamespaceContract::imp::Ready_Notify;
        let (imp, exp) = NotifyContract::new_channel()?;
        let path = Text::new(path)?;
        let answer = match self.take()?.call_notify(path, imp) {
            Ready_Notify::AckNotify(next) => Some((next, Ok(()))),
            Ready_Notify::NakNotify(reason, _, next) => Some((next, Err(reason))),
            Ready_Notify::Closed => None,
        };
        self.done(answer).map(|()| exp)
    }
}
