//! `arguments!` and `choices!`: declarations that become the tables and types of
//! [`usage`](crate::usage).
//!
//! Invariant: the fields of `Arguments` and the rows of `USAGE` come from the same declarations in
//! the same order, so that a field reads the row of its own argument.

/// Declares the arguments of a program, in their order, and makes a structure `Arguments` with a
/// field for each, and a constant `USAGE`. A `flag` is an option, `true` if it stands there. An
/// `option` is followed by a value of its type. Any other argument has a type: `one` of it,
/// `optional`, `default` (with the default), `many` or `some`, which is at least one. The types
/// `Path`, `Program` and `Service` stand for a `String` that is a path of the name space or the name of a
/// program or a service: a shell completes it so; it completes processes for a type whose kind is
/// [`Kind::Process`](crate::usage::Kind::Process). `Pattern` stands for one that is a path specification, which the
/// program looks for itself: a shell leaves its wildcards to the program.
///
/// If `main` takes the structure, the declarations are also a part of the program's manifest.
///
/// A program's `main` takes the structure. It does not run if the arguments are not understood or
/// the usage is asked for:
///
/// ```no_run,standalone_crate
/// #![no_std]
/// #![no_main]
/// use sing_sdk::prelude::*;
///
/// sing_sdk::manifest! {
///     name: "repeat",
///     endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
/// }
///
/// sing_sdk::arguments! {
///     /// How often.
///     times: default u32 = 2, "TIMES";
/// }
///
/// #[sing_sdk::main]
/// fn main(Arguments { times }: Arguments) {
///     (0..times).for_each(|_| println!("again"));
/// }
/// ```
///
/// A test can read words of its own:
///
/// ```
/// sing_sdk::arguments! {
///     /// Say it loudly.
///     loud: flag "--loud";
///     /// How often.
///     rounds: default u32 = 3, "ROUNDS";
///     /// To whom.
///     names: many String "NAME";
/// }
///
/// let given = USAGE.read(&["--loud".into(), "2".into(), "you".into()]).unwrap();
/// let arguments = Arguments::of(&given);
/// assert!(arguments.loud && arguments.rounds == 2 && arguments.names == ["you"]);
/// assert_eq!(USAGE.line("greet"), "usage: greet [--loud] [ROUNDS] [NAME…]");
/// assert!(USAGE.read(&["often".into()]).is_err());
/// ```
#[macro_export]
macro_rules! arguments {
    ($($(#[doc = $help:literal])+ $field:ident: $count:ident $($type:ident $(= $default:expr,)?)? $name:literal;)*) => {
        /// The arguments that the program takes.
        pub const USAGE: $crate::usage::Usage = $crate::usage::Usage {
            arguments: &[$($crate::usage::Argument {
                name: $name,
                count: $crate::arguments!(@count $count),
                kind: $crate::arguments!(@kind $($type)?),
                default: $crate::arguments!(@default $($($default)?)?),
                help: ::core::concat!($($help),+),
                accepts: $crate::arguments!(@accepts $($type)?),
            }),*],
        };

        /// The values that the program was given.
        pub struct Arguments {
            $($(#[doc = $help])+ pub $field: $crate::arguments!(@type $count $($type)?),)*
        }

        impl Arguments {
            /// The values of what was given.
            #[allow(unused_variables, unused_mut, unused_assignments, reason = "a program may take none")]
            #[must_use]
            pub fn of(given: &$crate::usage::Given) -> Arguments {
                let mut place = 0;
                $(
                    let $field = $crate::arguments!(@value $count given, place, $($type $(, $default)?)?);
                    place += 1;
                )*
                Arguments { $($field),* }
            }
        }

        impl $crate::usage::Declared for Arguments {
            const USAGE: $crate::usage::Usage = USAGE;

            fn of(given: &$crate::usage::Given) -> Arguments {
                Arguments::of(given)
            }
        }
    };
    (@count flag) => { $crate::usage::Count::Flag };
    (@count option) => { $crate::usage::Count::Valued };
    (@count one) => { $crate::usage::Count::One };
    (@count optional) => { $crate::usage::Count::Optional };
    (@count default) => { $crate::usage::Count::Optional };
    (@count many) => { $crate::usage::Count::Many };
    (@count some) => { $crate::usage::Count::Some };
    // In declarations, these are texts of which the manifest says what they name.
    (@rust Path) => { $crate::usage::Texts };
    (@rust Pattern) => { $crate::usage::Texts };
    (@rust Program) => { $crate::usage::Texts };
    (@rust Service) => { $crate::usage::Texts };
    (@rust $type:ident) => { $type };
    (@kind) => { $crate::usage::Kind::Text };
    (@kind Path) => { $crate::usage::Kind::Path };
    (@kind Pattern) => { $crate::usage::Kind::Pattern };
    (@kind Program) => { $crate::usage::Kind::Program };
    (@kind Service) => { $crate::usage::Kind::Service };
    (@kind $type:ident) => { <$type as $crate::usage::Value>::KIND };
    (@default) => { ::core::option::Option::None };
    (@default $default:expr) => { ::core::option::Option::Some(::core::stringify!($default)) };
    (@accepts) => { |_| false };
    (@accepts $type:ident) => { |text| <$crate::arguments!(@rust $type) as $crate::usage::Value>::parse(text).is_some() };
    (@type flag) => { bool };
    (@type option $type:ident) => { ::core::option::Option<$crate::arguments!(@rust $type)> };
    (@type one $type:ident) => { $crate::arguments!(@rust $type) };
    (@type optional $type:ident) => { ::core::option::Option<$crate::arguments!(@rust $type)> };
    (@type default $type:ident) => { $crate::arguments!(@rust $type) };
    (@type many $type:ident) => { $crate::usage::Values<$crate::arguments!(@rust $type)> };
    (@type some $type:ident) => { $crate::usage::Values<$crate::arguments!(@rust $type)> };
    (@value flag $given:ident, $place:ident,) => { $given.is_given($place) };
    (@value option $given:ident, $place:ident, $type:ident) => { $given.values::<$crate::arguments!(@rust $type)>($place).next() };
    (@value one $given:ident, $place:ident, $type:ident) => {
        $given.values::<$crate::arguments!(@rust $type)>($place).next().unwrap_or_default()
    };
    (@value optional $given:ident, $place:ident, $type:ident) => { $given.values::<$crate::arguments!(@rust $type)>($place).next() };
    (@value default $given:ident, $place:ident, $type:ident, $default:expr) => {
        $given.values::<$crate::arguments!(@rust $type)>($place).next().unwrap_or($default)
    };
    (@value many $given:ident, $place:ident, $type:ident) => { $given.values::<$crate::arguments!(@rust $type)>($place).collect() };
    (@value some $given:ident, $place:ident, $type:ident) => { $given.values::<$crate::arguments!(@rust $type)>($place).collect() };
}

/// Declares words of which an argument is one, as a type for [`arguments!`](crate::arguments). The
/// first is the type's default.
///
/// ```
/// sing_sdk::choices! {
///     /// How to greet.
///     Way: "aloud" Aloud, "in writing" Written
/// }
/// sing_sdk::arguments! {
///     /// How to greet.
///     way: one Way "WAY";
/// }
///
/// let given = USAGE.read(&["in writing".into()]).unwrap();
/// assert!(Arguments::of(&given).way == Way::Written);
/// assert_eq!(
///     USAGE.read(&["loud".into()]).unwrap_err().to_string(),
///     "WAY: loud is not one of: aloud, in writing",
/// );
/// ```
#[macro_export]
macro_rules! choices {
    ($(#[$doc:meta])* $name:ident: $first:literal $default:ident $(, $word:literal $choice:ident)* $(,)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $name {
            #[doc = ::core::concat!("`", $first, "`")]
            #[default]
            $default,
            $(#[doc = ::core::concat!("`", $word, "`")] $choice,)*
        }

        impl $crate::usage::Value for $name {
            const KIND: $crate::usage::Kind = $crate::usage::Kind::Choice(&[$first $(, $word)*]);
            fn parse(text: &str) -> ::core::option::Option<Self> {
                match text {
                    $first => ::core::option::Option::Some($name::$default),
                    $($word => ::core::option::Option::Some($name::$choice),)*
                    _ => ::core::option::Option::None,
                }
            }
        }
    };
}
