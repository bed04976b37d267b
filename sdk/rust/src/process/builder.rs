//! Making a child: its arguments, and its endpoints by the names that its manifest declares.
//!
//! Invariants:
//! - An endpoint belongs to the builder until the kernel has made the child; a builder that fails
//!   closes it.
//! - Programs say names. The positions that the kernel counts by are computed here, from the
//!   manifest of the image.
//! - A builder without endpoints asks for no manifest, so that the shortest way to a child stays
//!   one call.

use super::{Child, Manifest, StartupEndpoint, manifest};
use crate::Error;
use crate::handle::Object;
use crate::rt::{Side, TypedEndpoint};
use crate::sys;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use sing_abi::{MAX_ARGUMENT_BYTES, MAX_ARGUMENTS};

/// A child in the making.
///
/// ```
/// use sing_sdk::prelude::*;
/// use sing_sdk::process::{Child, NotMade};
///
/// /// Starts `pong`, whose manifest declares `ping: PingContract.Exp:Start`.
/// fn pong() -> Result<(Child, PingContract::Imp<PingContract::Start>), NotMade> {
///     let (imp, exp) = PingContract::new_channel().map_err(|e| NotMade::new("pong", e))?;
///     Ok((Child::of("pong").arg("pong").endpoint("ping", exp).start()?, imp))
/// }
/// ```
#[derive(Debug)]
pub struct Builder<'a> {
    image: &'a str,
    args: Vec<u8>,
    endpoints: Vec<Given<'a>>,
    manifest: Option<&'a Manifest>,
}

/// An endpoint for the child.
#[derive(Debug)]
struct Given<'a> {
    name: &'a str,
    object: Object,
    /// Contract, side and state. They explain a refusal; the kernel decides.
    kind: (&'static str, Side, &'static str),
}

impl<'a> Builder<'a> {
    pub(super) fn new(image: &'a str) -> Self {
        Builder {
            image,
            args: Vec::new(),
            endpoints: Vec::new(),
            manifest: None,
        }
    }

    /// Adds an argument. The first is the program's name by custom.
    #[must_use]
    pub fn arg(mut self, arg: &str) -> Self {
        self.args.reserve(arg.len().saturating_add(4));
        self.args
            .extend_from_slice(&(arg.len() as u32).to_le_bytes());
        self.args.extend_from_slice(arg.as_bytes());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: AsRef<str>>(self, args: impl IntoIterator<Item = S>) -> Self {
        args.into_iter().fold(self, |b, a| b.arg(a.as_ref()))
    }

    /// Gives the child the endpoint that its manifest calls `name`. A name that the manifest
    /// declares `many` can be given again and again; the child gets them in this order.
    #[must_use]
    pub fn endpoint<T: TypedEndpoint>(mut self, name: &'a str, endpoint: T) -> Self {
        self.endpoints.push(Given {
            name,
            object: endpoint.into(),
            kind: (T::CONTRACT, T::SIDE, T::STATE),
        });
        self
    }

    /// Takes the image's manifest from a caller that has read it already; without this, the builder
    /// reads it.
    #[must_use]
    pub fn manifest(mut self, manifest: &'a Manifest) -> Self {
        self.manifest = Some(manifest);
        self
    }

    /// Makes the child, which does not run yet.
    ///
    /// # Errors
    /// The endpoints are not those that the child's manifest asks for, there are too many
    /// arguments, no such image is installed, or memory is short.
    pub fn create(self) -> Result<Child, NotMade> {
        let image = self.image;
        let refused = |reason| NotMade {
            image: image.to_owned(),
            reason,
        };
        if self.endpoints.is_empty() {
            return make(image, &self.args, &[]).map_err(|e| {
                // Only a refusal needs the manifest: it says which endpoint the child cannot do
                // without.
                let missing = || {
                    manifest(image)
                        .ok()
                        .and_then(|m| places::<&str>(&m, &[]).err())
                };
                refused(reason_of(e, &self.args, missing))
            });
        }
        let own;
        let manifest = match self.manifest {
            Some(manifest) => manifest,
            None => {
                own = manifest(image).map_err(|e| refused(Reason::Refused(e)))?;
                &own
            }
        };
        let raw: Vec<u32> = places(manifest, &self.endpoints)
            .map_err(refused)?
            .into_iter()
            .map(|place| place.map_or(0, |given| self.endpoints[given].object.raw()))
            .collect();
        let child = make(image, &self.args, &raw).map_err(|e| {
            let odd = || self.endpoints.iter().find_map(|g| g.mismatch(manifest));
            refused(reason_of(e, &self.args, odd))
        })?;
        // They are the child's now.
        for given in self.endpoints {
            given.object.into_raw();
        }
        Ok(child)
    }

    /// Makes the child and lets it run.
    ///
    /// # Errors
    /// As [`Builder::create`].
    pub fn start(self) -> Result<Child, NotMade> {
        let image = self.image;
        let child = self.create()?;
        child.start().map_err(|e| NotMade::new(image, e))?;
        Ok(child)
    }
}

/// Why the kernel has refused to make a child with these arguments; `odd` says what is wrong with
/// the endpoints, if anything is.
#[cold]
fn reason_of(e: Error, args: &[u8], odd: impl FnOnce() -> Option<Reason>) -> Reason {
    let reason = match e {
        Error::BadArgument => too_many(args).or_else(odd),
        _ => None,
    };
    reason.unwrap_or(Reason::Refused(e))
}

/// The reason for which arguments are refused that are too many or too long.
fn too_many(args: &[u8]) -> Option<Reason> {
    let (mut count, mut rest) = (0, args);
    while let Some((len, tail)) = rest.split_first_chunk::<4>() {
        count += 1;
        rest = tail.get(u32::from_le_bytes(*len) as usize..).unwrap_or(&[]);
    }
    let bytes = args.len();
    let fits = count <= MAX_ARGUMENTS as usize && bytes <= MAX_ARGUMENT_BYTES as usize;
    (!fits).then_some(Reason::TooManyArguments { count, bytes })
}

fn make(image: &str, args: &[u8], endpoints: &[u32]) -> Result<Child, Error> {
    // SAFETY: all three are readable for their lengths.
    let code = unsafe {
        sys::process_create(
            image.as_ptr(),
            image.len(),
            args.as_ptr(),
            args.len(),
            endpoints.as_ptr(),
            endpoints.len(),
        )
    };
    Object::from_status(code).map(|object| Child { object })
}

impl AsRef<str> for Given<'_> {
    fn as_ref(&self) -> &str {
        self.name
    }
}

/// For each start-up endpoint, in the manifest's order, which of the given ones it is.
fn places<G: AsRef<str>>(manifest: &Manifest, given: &[G]) -> Result<Vec<Option<usize>>, Reason> {
    let is_declared = |name: &str| manifest.endpoints.iter().any(|e| e.name == name);
    let mut names = given.iter().map(AsRef::as_ref);
    if let Some(name) = names.find(|name| !is_declared(name)) {
        return Err(Reason::Undeclared {
            name: name.to_owned(),
            declared: manifest.endpoints.iter().map(|e| e.name.clone()).collect(),
        });
    }
    let mut places = Vec::with_capacity(manifest.endpoints.len());
    for declared in &manifest.endpoints {
        let name = &declared.name;
        let mut here = (0..given.len()).filter(|i| given[*i].as_ref() == name);
        if declared.many {
            places.extend(here.map(Some));
            continue;
        }
        let first = here.next();
        if first.is_none() && !declared.optional {
            return Err(Reason::Missing {
                name: name.clone(),
                kind: kind(declared),
            });
        }
        if here.next().is_some() {
            return Err(Reason::Twice { name: name.clone() });
        }
        places.push(first);
    }
    Ok(places)
}

/// `PingContract.Exp:Start`.
fn kind(declared: &StartupEndpoint) -> String {
    let StartupEndpoint {
        contract,
        side,
        state,
        ..
    } = declared;
    match state {
        Some(state) => format!("{contract}.{}:{state}", side.name()),
        None => format!("{contract}.{}", side.name()),
    }
}

impl Given<'_> {
    /// How its type differs from the declaration.
    fn mismatch(&self, manifest: &Manifest) -> Option<Reason> {
        let declared = manifest.endpoints.iter().find(|e| e.name == self.name)?;
        let (contract, side, state) = self.kind;
        let is_exp = side == Side::Exp;
        let same = declared.contract == contract
            && (declared.side == super::Side::Exp) == is_exp
            && declared.state.as_deref().is_none_or(|s| s == state);
        (!same).then(|| Reason::Mismatch {
            name: self.name.to_owned(),
            declared: kind(declared),
            given: format!("{contract}.{}:{state}", if is_exp { "Exp" } else { "Imp" }),
        })
    }
}

/// A child was not made, or not started: of which image, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotMade {
    /// The image's name.
    pub image: String,
    /// The reason.
    pub reason: Reason,
}

/// Why a child was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The manifest declares no endpoint of a name that was given.
    Undeclared {
        /// The name.
        name: String,
        /// The names that the manifest declares.
        declared: Vec<String>,
    },
    /// An endpoint that the child cannot do without was not given.
    Missing {
        /// Its name.
        name: String,
        /// Its contract, side and state.
        kind: String,
    },
    /// Several endpoints were given for a name that stands for one.
    Twice {
        /// The name.
        name: String,
    },
    /// An endpoint is of another contract, side or state than declared.
    Mismatch {
        /// Its name.
        name: String,
        /// The declared contract, side and state.
        declared: String,
        /// Those of the endpoint that was given.
        given: String,
    },
    /// There are too many arguments, or they are too long.
    TooManyArguments {
        /// How many there are.
        count: usize,
        /// Their bytes together, with four more for each.
        bytes: usize,
    },
    /// The kernel refused.
    Refused(Error),
}

impl NotMade {
    /// The kernel, or something that the child needs, refused.
    #[must_use]
    pub fn new(image: &str, error: Error) -> NotMade {
        NotMade {
            image: image.to_owned(),
            reason: Reason::Refused(error),
        }
    }

    /// The same as one of the errors that programs match on.
    #[must_use]
    pub fn error(&self) -> Error {
        match self.reason {
            Reason::Refused(error) => error,
            _ => Error::BadArgument,
        }
    }
}

impl fmt::Display for NotMade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.image)?;
        match &self.reason {
            Reason::Undeclared { name, declared } if declared.is_empty() => {
                write!(
                    f,
                    "declares no endpoint `{name}`; its manifest declares none"
                )
            }
            Reason::Undeclared { name, declared } => {
                let all = declared.join("`, `");
                write!(
                    f,
                    "declares no endpoint `{name}`; its manifest declares `{all}`"
                )
            }
            Reason::Missing { name, kind } => {
                write!(
                    f,
                    "needs the endpoint `{name}` ({kind}), and was given none; a program that starts it must give that"
                )
            }
            Reason::Twice { name } => {
                write!(
                    f,
                    "takes one endpoint `{name}`, and was given more: its manifest does not declare it `many`"
                )
            }
            Reason::Mismatch {
                name,
                declared,
                given,
            } => write!(f, "declares `{name}: {declared}`, and was given {given}"),
            Reason::TooManyArguments { count, bytes } => write!(
                f,
                "was given {count} arguments of {bytes} bytes; {MAX_ARGUMENTS} of {MAX_ARGUMENT_BYTES} may be"
            ),
            Reason::Refused(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for NotMade {}

impl From<NotMade> for Error {
    fn from(not_made: NotMade) -> Error {
        not_made.error()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Side as Declared;
    use alloc::string::ToString;

    fn server() -> Manifest {
        let endpoint = |name: &str, optional, many| StartupEndpoint {
            name: name.into(),
            contract: "EchoContract".into(),
            side: Declared::Exp,
            state: Some("Start".into()),
            optional,
            many,
        };
        Manifest {
            endpoints: [
                endpoint("stdout", true, false),
                endpoint("first", false, false),
                endpoint("others", false, true),
            ]
            .into(),
            ..Manifest::default()
        }
    }

    fn refused(given: &[&str]) -> String {
        match places(&server(), given) {
            Ok(places) => format!("{places:?}"),
            Err(reason) => NotMade {
                image: "server".into(),
                reason,
            }
            .to_string(),
        }
    }

    #[test]
    fn too_many_arguments_are_refused_with_their_number() {
        let refused = |args: Builder<'_>| {
            let (reason, image) = (too_many(&args.args)?, "p".into());
            Some(NotMade { image, reason }.to_string())
        };
        let with = |count| Builder::new("p").args((0..count).map(|_| "ab"));
        assert_eq!(refused(with(4096)), None);
        assert_eq!(
            refused(with(4097)).as_deref(),
            Some("p: was given 4097 arguments of 24582 bytes; 4096 of 1048576 may be")
        );
        let long = "x".repeat((1 << 20) - 4);
        assert_eq!(refused(Builder::new("p").arg(&long)), None);
        assert!(refused(Builder::new("p").arg(&long).arg("")).is_some());
    }

    #[test]
    fn endpoints_are_found_by_their_names() {
        let given = |given: &[&str]| places(&server(), given);
        assert_eq!(given(&["first"]), Ok([None, Some(0)].into()));
        assert_eq!(given(&["first", "stdout"]), Ok([Some(1), Some(0)].into()));
        assert_eq!(
            given(&["others", "first", "others"]),
            Ok([None, Some(1), Some(0), Some(2)].into())
        );
    }

    #[test]
    fn names_that_do_not_fit_the_manifest_are_refused() {
        assert_eq!(
            refused(&["first", "second"]),
            "server: declares no endpoint `second`; its manifest declares `stdout`, `first`, `others`"
        );
        assert_eq!(
            refused(&["others"]),
            "server: needs the endpoint `first` (EchoContract.Exp:Start), and was given none; a program that starts it must give that"
        );
        assert_eq!(
            refused(&["first", "first"]),
            "server: takes one endpoint `first`, and was given more: its manifest does not declare it `many`"
        );
        let none = places(&Manifest::default(), &["x"]).map_err(|reason| NotMade {
            image: "p".into(),
            reason,
        });
        assert_eq!(
            none.map_err(|e| e.to_string()),
            Err("p: declares no endpoint `x`; its manifest declares none".into())
        );
    }
}
