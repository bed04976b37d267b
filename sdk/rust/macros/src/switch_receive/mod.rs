//! `switch_receive!` ([O] 4.4).
//!
//! A switch becomes two steps. The first waits until a case can fire, and looks at endpoints by
//! reference only. The second receives what the case names, and holds the program's code: it stands
//! inside `match` and nothing else, so that its `?`, `break` and `return` are those of its
//! surroundings, and an endpoint moves on the paths of its own cases alone.
//!
//! The macro does not see types: whether a message can come, and whether all that can come has a
//! case, is said by methods and constants of the endpoints' types, to which the generated code
//! refers.

mod checks;
mod coverage;
mod generate;
mod parse;

use proc_macro2::TokenStream;

pub(crate) fn expand(input: TokenStream) -> syn::Result<TokenStream> {
    let switch: parse::Switch = syn::parse2(input)?;
    generate::Generator::new(&switch)?.expand()
}
