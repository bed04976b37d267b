//! The beginning of a conversation with a service, for both sides: contracts that begin with
//! `Success` have functions for it, so that no program writes it down again.

use super::Generator;
use crate::names;
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use sing_contract::model::Side;

/// The message with which a service accepts a client.
const ACCEPTED: &str = "Success";

impl Generator<'_> {
    /// The state in which a client has been accepted, of a contract that begins so.
    pub(super) fn accepted(&self) -> Option<Ident> {
        let c = self.contract;
        let [only] = &c.states[0].transitions[..] else {
            return None;
        };
        let message = &c.messages[only.message];
        let accepts = message.name == ACCEPTED && message.arguments.is_empty();
        let is_service = accepts && only.sender == Side::Exp && c.narrows.is_none();
        is_service.then(|| names::state(c, &c.states[only.target].name))
    }

    /// `connect`, `client`, `service`, `service_at`. They can be called if the contract derives from
    /// the SDK's `ServiceContract`.
    pub(super) fn service(&self) -> TokenStream {
        let Some(ready) = self.accepted() else {
            return TokenStream::new();
        };
        // A bound over a lifetime is looked at where the function is called, and not here: the
        // contract may derive from another `ServiceContract`.
        let derives = quote!(for<'derived> Exp<Initial>: ::sing_sdk::names::ServiceEnd);
        let lookup = quote!(::sing_sdk::contracts::NamespaceContract);
        let service = quote!(::sing_sdk::serve::Service);
        quote! {
            /// Connects with the service at a path: a channel on which it has accepted this client.
            ///
            /// For a service that may be starting or be started again meanwhile, this is what
            /// `client::bind` and `client::reach` take.
            ///
            /// # Errors
            /// As `Names::bind`; `Closed` if the service does not accept it.
            pub fn connect(
                names: &mut ::sing_sdk::names::Names,
                path: &str,
            ) -> ::core::result::Result<Imp<#ready>, ::sing_sdk::rt::Error>
            where #derives
            {
                let (service, exp) = new_channel()?;
                names.bind(path, exp)?;
                ::core::result::Result::Ok(service.recv_success()?)
            }

            /// A client of the service at a path, which connects when it is asked first, and again
            /// if the service is restarted.
            #[must_use]
            pub fn client(path: &str) -> ::sing_sdk::client::Client<Imp<#ready>>
            where #derives
            {
                ::sing_sdk::client::Client::new(path, connect)
            }

            /// A service of this contract, to whose clients the channel from the program's start
            /// leads: `serves` in the manifest declares it.
            ///
            /// # Errors
            /// `NotFound` if none was given, `NoResources` if handles are short.
            pub fn service(
                lookup: ::core::option::Option<#lookup::Exp<#lookup::Start>>,
            ) -> ::core::result::Result<#service<'static, Exp<Initial>, Exp<#ready>>, ::sing_sdk::rt::Error>
            where #derives
            {
                #service::given(lookup, Exp::<Initial>::send_success)
            }

            /// A service of this contract that registers at a path.
            ///
            /// # Errors
            /// As `Names::register`.
            pub fn service_at<'names>(
                names: &'names mut ::sing_sdk::names::Names,
                path: &str,
            ) -> ::core::result::Result<#service<'names, Exp<Initial>, Exp<#ready>>, ::sing_sdk::rt::Error>
            where #derives
            {
                #service::registered(names, path, Exp::<Initial>::send_success)
            }
        }
    }
}
