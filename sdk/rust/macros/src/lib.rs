//! Contracts as Rust types, manifests from declarations.
//!
//! The promise of these macros: a program that compiles speaks its contracts. An endpoint's type
//! carries the state of the conversation, sends and receives take the endpoint and give it back in
//! its next state, and so a message out of turn, a forgotten case and a use after send are errors
//! of the compiler. The kernel checks again at run time, because not every module comes from here.
//!
//! Generated code stands on `sing_sdk::rt` and is the only code of a program with `unsafe` in it.
#![forbid(unsafe_code)]

mod behavior;
mod contract;
mod devices;
mod entry;
mod manifest;
mod names;
mod no_alloc;
mod switch_receive;

use proc_macro::TokenStream;

/// Makes Rust types from contracts.
///
/// ```
/// sing_sdk::contract!(
///     "
///     contract PingContract {
///         in message Ping(uint number);
///         out message Pong(uint number);
///         state Start: Ping? -> Pong! -> Start;
///     }
///     "
/// );
///
/// fn ask(server: PingContract::Imp<PingContract::Start>) -> Option<u32> {
///     let (number, _server) = server.send_ping(7).recv_pong().ok()?;
///     Some(number)
/// }
/// ```
///
/// Paths are relative to the package; several may be given, and a text with a `{` in it is taken as
/// the contract itself. For each contract `C` a module `C` arises beside the call, with
///
/// - a type for each state: `C::Start`; the anonymous states between the steps of a sequence are
///   called after the state and message that lead to them, `C::Start_Request`;
/// - `C::Imp<S>` and `C::Exp<S>`: the endpoints in state `S`, and `C::new_channel()`;
/// - in a state in which a side sends, `send_m(self, …)`, which returns the endpoint in its next
///   state. It never fails: if the other side has closed, the arguments are dropped, and the next
///   receive says so;
/// - in a state in which a side receives, `recv(self)`, which returns `C::imp::S` or `C::exp::S`:
///   an enum with a variant for each message that may come, holding its arguments and the endpoint
///   in its next state, and the variant `Closed`. If just one message may come, also `recv_m(self)
///   -> Result<(…, endpoint), Closed>`;
/// - in a state in which a side sends and then receives, `call_m(self, …)`, both in one.
///
/// Enums and rep structs become Rust types beside the modules.
///
/// After the files may follow `use PATH::{C, …}`: contracts and types that exist already, which the
/// others refer to there instead of making them again; and `const NAME`: then the contracts' text
/// is put into a constant of that name, for a library, instead of into the module that is being
/// built.
#[proc_macro]
pub fn contract(input: TokenStream) -> TokenStream {
    contract::expand(input.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// `sing_embed::contract!`: contracts for a program that has the system inside, which is not one of its own.
#[doc(hidden)]
#[proc_macro]
pub fn embed_contract(input: TokenStream) -> TokenStream {
    contract::embedding::expand(input.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Declares what the program is and what it needs.
///
/// ```
/// use sing_sdk::prelude::*;
///
/// sing_sdk::manifest! {
///     name: "grep",
///     description: "prints the lines that match",
///     privileges: [],
///     endpoints: {
///         stdin: PipeContract.Exp:Start,
///         stdout: PipeContract.Imp:Start,
///         names: optional NamespaceContract.Imp:Start,
///     },
///     memory: 4 MiB,
///     stack: 64 KiB,
/// }
/// # fn main() {}
/// ```
///
/// `deadline: 200 ms` or `5 s` bounds the time for one request, of an extension of the web server.
///
/// Only the name must be there; the version is the package's, unless one is given. For each
/// endpoint arises a function `startup::NAME()` that takes it, once:
/// `Option<PipeContract::Imp<PipeContract::Start>>`. The last may be `many`, and its function is
/// then an iterator. The contracts are named as they are in scope; a path may stand before them.
#[proc_macro]
pub fn manifest(input: TokenStream) -> TokenStream {
    manifest::expand(input.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Marks the function with which the program begins. It takes nothing, or the `Arguments` that
/// `arguments!` makes, and returns nothing, an exit code, or whatever else is
/// `sing_sdk::rt::Termination`. If it is called `main` and is built for another target, as editors
/// do, the resulting program says how to run it.
#[proc_macro_attribute]
pub fn main(arguments: TokenStream, item: TokenStream) -> TokenStream {
    entry::expand(arguments.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Declares that a function allocates nothing, nor lets anything allocate that it calls: no memory
/// for the heap, no block, no object of the kernel.
///
/// ```
/// /// Takes a reading, and returns the mean of the last four.
/// #[sing_sdk::no_alloc]
/// fn take(last: &mut [u32; 4], reading: u32) -> u32 {
///     last.rotate_left(1);
///     last[3] = reading;
///     last.iter().sum::<u32>() / 4
/// }
/// # assert_eq!(take(&mut [4; 4], 8), 5);
/// ```
///
/// The installer checks it over the calls of the whole program, and refuses one that can allocate there
/// with the way, function by function. All ways count, but for those by calls that do not return, as
/// that of a panic, with which the process ends. Such a call is not followed: a function `-> !` may
/// allocate for as long as it runs, and if it serves requests, mark what serves one. A call by `dyn` or
/// a function pointer counts as one of each function of its type. A program has at most 1000 such
/// functions. The function's name is that of the region; two of one name in a program need others:
/// `#[no_alloc("draw::step")]`.
#[proc_macro_attribute]
pub fn no_alloc(arguments: TokenStream, item: TokenStream) -> TokenStream {
    no_alloc::expand(arguments.into(), item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Waits for messages at several endpoints, receives those of the first case that can fire, and
/// does what it says ([O] 4.4).
///
/// ```
/// # use sing_sdk::prelude::*;
/// # use sing_sdk::sync::AutoEvent;
/// # use core::time::Duration;
/// sing_sdk::contract!(
///     "
///     contract C1 {
///         in message Request(int x);
///         out message Reply(int y);
///         out message Error();
///         state Start: Request? -> (Reply! or Error!) -> Start;
///     }
///     "
/// );
///
/// type Asked = C1::Imp<C1::Start_Request>;
///
/// struct Server {
///     clients: EndpointSet<C1::Exp<C1::Start>>,
///     stop: AutoEvent,
/// }
///
/// impl Server {
///     fn turn(&mut self, a: Asked, b: Asked) -> &'static str {
///         switch_receive! {
///             case a.Reply(x) && b.Reply(y) => if x == y { "both, the same" } else { "both" },
///             case a.Error() as a => {
///                 a.send_request(7);
///                 "asked again"
///             }
///             case b.Error() as _ => "b has failed",
///             case a.ChannelClosed() => "a has gone",
///             case self.clients[key].Request(x) as client => {
///                 self.clients.put(key, client.send_reply(x));
///                 "served"
///             }
///             case self.clients[_].ChannelClosed() => "a client has gone",
///             case &self.stop => "stopped",
///             timeout Duration::from_millis(10) => "nothing came",
///             else wait
///         }
///     }
/// }
/// ```
///
/// - A case names endpoints in variables, and messages that can come in their states. With `&&` it
///   fires when all have come. The variables are then bound again, for this case, to the endpoints
///   in their next states, or `as` another name. Endpoints that the case does not name stay what
///   and where they are.
/// - `ChannelClosed()` fires when the other side has closed and no message is left, and when a
///   message comes that breaks what its contract promises; the endpoint is then gone.
/// - `set[key]` stands for any endpoint of an `EndpointSet<E>`, `[Option<E>; N]` or
///   `Vec<Option<E>>`; the endpoint is taken out, its key is bound. The set is a variable or a
///   field of one, since it is looked at more than once.
/// - `&thing` waits for anything else that a thread can wait for: events, interrupts, threads. It
///   may be any expression, which is evaluated once, before the wait; its borrows end before the
///   cases.
/// - `timeout duration` and `deadline time` (of `time::uptime`) fire when nothing else has until
///   then.
/// - Every combination that the endpoints can bring must have a case, or the program does not
///   compile. `else wait` behind the cases waits until one that has a case comes.
/// - Fair: of cases that could fire, none is passed over for ever.
///
/// A switch is an expression; `?`, `break` and `return` in its cases are those of the code around
/// it.
#[proc_macro]
pub fn switch_receive(input: TokenStream) -> TokenStream {
    switch_receive::expand(input.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
