//! The arguments of a program, declared once: names, types, defaults and help ([O] 5.2.1).
//!
//! [`arguments!`](crate::arguments) makes a table ([`Usage`]) and a structure with the values of a
//! declaration. A word that fits no declaration is refused with the usage and status 2 before the
//! program does anything; `--help` prints the usage. The declarations of `main`'s `Arguments` are
//! also a part of the program's manifest, by which the shell does the same before it makes a
//! process; how words are read is in one place for both ([`sing_image::parameters`]).
//!
//! Invariants:
//! - Parsing, the text of the usage and the manifest come from the same table, and nothing else
//!   decides which words are understood.
//! - An argument that is understood has a value of its type; a word that has none is wrong use, not
//!   a default.
//! - A type accepts no word that its kind refuses.

mod declare;
mod section;

use crate::process::status::USAGE;
use crate::{args, eprintln, println};
use alloc::string::String;
use alloc::vec::Vec;

pub use section::{section, section_len};
pub use sing_image::parameters;
use sing_image::parameters::Declaration;
pub use sing_image::parameters::{Count, Refused};

/// The kind of an argument's values, in a program's own table.
pub type Kind = parameters::Kind<&'static str, &'static [&'static str]>;

/// A value that an argument can have.
pub trait Value: Sized {
    /// The kind of value: for the person who gave something else, and for shells.
    const KIND: Kind;

    /// The value that a text means.
    fn parse(text: &str) -> Option<Self>;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Value for $t {
            #[allow(clippy::cast_lossless, reason = "for any of these types")]
            const KIND: Kind = Kind::Whole { least: <$t>::MIN as i64, most: <$t>::MAX as u64 };
            fn parse(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        }
    )*};
}
integers!(u8 u16 u32 u64 i32 i64 usize);

impl Value for f64 {
    const KIND: Kind = Kind::Number;
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().filter(|n: &f64| n.is_finite())
    }
}

impl Value for core::num::NonZeroU32 {
    const KIND: Kind = Kind::Range {
        least: 1,
        most: u32::MAX as u64,
    };
    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl Value for String {
    const KIND: Kind = Kind::Text;
    fn parse(text: &str) -> Option<Self> {
        Some(text.into())
    }
}

impl Value for core::time::Duration {
    const KIND: Kind = Kind::Seconds;
    fn parse(text: &str) -> Option<Self> {
        Self::try_from_secs_f64(f64::parse(text)?).ok()
    }
}

/// An argument that a program takes.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// Its name in the usage; of an option, the word itself.
    pub name: &'static str,
    /// How often.
    pub count: Count,
    /// The kind of its values.
    pub kind: Kind,
    /// Its value if it is left out.
    pub default: Option<&'static str>,
    /// Its meaning.
    pub help: &'static str,
    /// Whether a text is a value.
    pub accepts: fn(&str) -> bool,
}

impl Declaration for Argument {
    type Text = &'static str;
    type Words = &'static [&'static str];

    fn name(&self) -> &str {
        self.name
    }

    fn count(&self) -> Count {
        self.count
    }

    fn kind(&self) -> &Kind {
        &self.kind
    }

    fn if_left_out(&self) -> Option<&str> {
        self.default
    }

    fn help(&self) -> &str {
        self.help
    }

    fn accepts(&self, text: &str) -> bool {
        (self.accepts)(text)
    }
}

/// The arguments that a program takes.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// The arguments, those that are no options in their order.
    pub arguments: &'static [Argument],
}

/// The structure that [`arguments!`](crate::arguments) makes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not declared by `arguments!`",
    label = "not the arguments of a program",
    note = "`main` takes nothing, or the `Arguments` that `arguments!` makes"
)]
pub trait Declared: Sized {
    /// The declarations.
    const USAGE: Usage;

    /// The values of what was given.
    fn of(given: &Given) -> Self;

    /// Reads the program's arguments.
    ///
    /// # Errors
    /// The exit code of the program, if they are not understood or the usage is asked for. The text
    /// for the person has been printed.
    fn get() -> Result<Self, i32> {
        Self::USAGE.get().map(|given| Self::of(&given))
    }
}

/// For a program without standard streams, which says itself why its arguments are refused.
#[diagnostic::do_not_recommend]
impl<T: Declared> Declared for Result<T, Refused> {
    const USAGE: Usage = T::USAGE;

    fn of(given: &Given) -> Self {
        Ok(T::of(given))
    }

    fn get() -> Result<Self, i32> {
        Ok(T::USAGE.read(&args::rest()).map(|given| T::of(&given)))
    }
}

/// The values of each declared argument, as they were given.
#[derive(Debug)]
pub struct Given {
    values: Vec<Vec<String>>,
}

impl Given {
    /// Whether an argument stands there at all.
    #[must_use]
    pub fn is_given(&self, place: usize) -> bool {
        self.values.get(place).is_some_and(|v| !v.is_empty())
    }

    /// The values of an argument; all of them are of its type.
    pub fn values<T: Value>(&self, place: usize) -> impl Iterator<Item = T> + '_ {
        let values = self.values.get(place).map_or(&[][..], Vec::as_slice);
        values.iter().filter_map(|text| T::parse(text))
    }
}

impl Usage {
    /// Reads arguments, the program's name not among them.
    ///
    /// # Errors
    /// The words are wrong, or ask for the usage.
    pub fn read(&self, given: &[String]) -> Result<Given, Refused> {
        let values = parameters::read(self.arguments, given)?;
        Ok(Given { values })
    }

    /// One line: how the program is called.
    #[must_use]
    pub fn line(&self, program: &str) -> String {
        parameters::line(self.arguments, program)
    }

    /// All that is to be said of the arguments.
    #[must_use]
    pub fn text(&self, program: &str) -> String {
        parameters::text(self.arguments, program)
    }

    /// Reads the program's own arguments. If they are not understood, or the usage is asked for,
    /// says so.
    ///
    /// # Errors
    /// The exit code with which the program is to end.
    pub fn get(&self) -> Result<Given, i32> {
        self.read(&args::rest()).map_err(|refused| match refused {
            Refused::Help => {
                println!("{}", self.text(&program()));
                0
            }
            Refused::Wrong(reason) => self.refuse(&reason),
        })
    }

    /// Refuses the program's arguments for a reason that the table cannot hold; the exit code with
    /// which it is to end.
    #[must_use]
    pub fn refuse(&self, reason: &str) -> i32 {
        eprintln!("{}", self.refusal(&program(), reason));
        USAGE
    }

    /// The reason, and how the program is called.
    #[must_use]
    pub fn refusal(&self, program: &str, reason: &str) -> String {
        parameters::refusal(self.arguments, program, reason)
    }
}

/// The program's name.
fn program() -> String {
    args::get(0).unwrap_or_default()
}

#[doc(hidden)]
pub use alloc::string::String as Texts;
#[doc(hidden)]
pub use alloc::vec::Vec as Values;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;
    use sing_image::parameters::Parameter;

    crate::choices! {
        /// How.
        Way: "a \"quoted\" one" Quoted, "tab\t\\" Tab
    }

    crate::arguments! {
        /// Whether.
        all: flag "-a";
        /// How often.
        rounds: default u32 = 3, "ROUNDS";
        /// By how much.
        by: optional i32 "BY";
        /// What.
        what: many String "WHAT";
        /// From where.
        from: option String "--from PLACE";
        /// To where.
        to: option Path "--to PATH";
        /// In which way.
        way: option Way "--way WAY";
    }

    fn read(line: &str) -> Result<Arguments, Refused> {
        let words: Vec<String> = line.split_whitespace().map(String::from).collect();
        USAGE.read(&words).map(|given| Arguments::of(&given))
    }

    fn wrong(line: &str) -> String {
        match read(line) {
            Err(Refused::Wrong(what)) => what,
            Err(Refused::Help) => "help".into(),
            Ok(_) => "understood".into(),
        }
    }

    fn manifest() -> Vec<Parameter> {
        const LEN: usize = section_len(USAGE.arguments);
        let text = section::<LEN>(USAGE.arguments);
        serde_json::from_slice(&text).unwrap()
    }

    #[test]
    fn the_manifest_says_the_same() {
        let all = manifest();
        assert_eq!(parameters::text(&all, "p"), USAGE.text("p"));
        assert_eq!(all[1].default.as_deref(), Some("3"));
        assert_eq!(
            all[2].kind,
            parameters::Kind::Whole {
                least: i32::MIN.into(),
                most: i32::MAX as u64
            }
        );
        assert_eq!(all[5].kind, parameters::Kind::Path);
        let words = ["a \"quoted\" one".into(), "tab\t\\".into()];
        assert_eq!(all[6].kind, parameters::Kind::Choice(words.to_vec()));
        const NONE: [u8; 2] = section(&[]);
        assert_eq!(NONE, *b"[]");
    }

    /// Words that are likely to be near the edge of something.
    fn word() -> impl Strategy<Value = String> {
        prop_oneof![
            "[-+]{0,2}[0-9]{0,22}",
            "-?[0-9]{0,3}\\.?[0-9]{0,3}(e-?[0-9]{1,4})?",
            "(--?)?(a|from|to|way|help|h|in|inf|nan|NaN|tab\t\\\\)?",
            any::<i64>().prop_map(|n| n.to_string()),
            any::<u64>().prop_map(|n| n.to_string()),
            "\\PC{0,8}",
        ]
    }

    fn same<T: Value>(text: &str) -> Result<(), TestCaseError> {
        prop_assert_eq!(T::KIND.accepts(text), T::parse(text).is_some(), "{}", text);
        Ok(())
    }

    proptest! {
        #[test]
        fn a_kind_accepts_what_its_type_does(text in word()) {
            same::<u8>(&text)?;
            same::<u16>(&text)?;
            same::<u32>(&text)?;
            same::<u64>(&text)?;
            same::<i32>(&text)?;
            same::<i64>(&text)?;
            same::<f64>(&text)?;
            same::<core::num::NonZeroU32>(&text)?;
            same::<core::time::Duration>(&text)?;
            same::<String>(&text)?;
            same::<Way>(&text)?;
        }

        #[test]
        fn program_and_manifest_refuse_the_same_words(
            words in proptest::collection::vec(word(), 0..6),
        ) {
            let all = manifest();
            let by_manifest = parameters::read(&all, &words);
            let own = USAGE.read(&words).map(|given| given.values);
            prop_assert_eq!(&by_manifest, &own);
            // Each word is a value, the option before one, or the one `--`.
            if let Ok(values) = own {
                let options: usize = values[4..].iter().map(Vec::len).sum();
                let count = values.iter().map(Vec::len).sum::<usize>() + options;
                prop_assert!(words.len() == count || words.len() == count + 1);
            }
            // What may come next can be told of any words.
            let next = parameters::next(&all, &words);
            prop_assert!(next.value.is_none_or(|place| place < all.len()));
        }
    }

    #[test]
    fn what_is_declared_is_understood() {
        let a = read("").unwrap();
        assert!(!a.all && a.rounds == 3 && a.by.is_none() && a.what.is_empty());
        let a = read("7 -a -5 x y").unwrap();
        assert!(a.all && a.rounds == 7 && a.by == Some(-5) && a.what == ["x", "y"]);
        let a = read("7 --from -a 1 x").unwrap();
        assert!(!a.all && a.from.as_deref() == Some("-a") && a.by == Some(1) && a.what == ["x"]);
        let a = read("7 1 -- -a --help").unwrap();
        assert!(!a.all && a.what == ["-a", "--help"]);
        let words = ["--to".into(), "/x".into(), "--way".into(), "tab\t\\".into()];
        let a = Arguments::of(&USAGE.read(&words).unwrap());
        assert!(a.to.as_deref() == Some("/x") && a.way == Some(Way::Tab));
    }

    #[test]
    fn what_is_not_declared_is_refused() {
        assert_eq!(wrong("-3"), "ROUNDS: -3 is too small");
        assert_eq!(wrong("4294967296"), "ROUNDS: 4294967296 is too large");
        assert_eq!(wrong("1 2147483648"), "BY: 2147483648 is too large");
        assert_eq!(wrong("-"), "ROUNDS: - is not a whole number");
        assert_eq!(wrong("-3x"), "ROUNDS: -3x is not a whole number");
        assert_eq!(wrong("--3"), "unknown option --3");
        assert_eq!(wrong("many"), "ROUNDS: many is not a whole number");
        assert_eq!(wrong("--fast"), "unknown option --fast");
        assert_eq!(wrong("--from"), "--from PLACE: the value is missing");
        assert_eq!(wrong("--from a --from b"), "--from stands twice");
        assert_eq!(wrong("3 --help"), "help");
        const NONE: Usage = Usage { arguments: &[] };
        assert_eq!(
            NONE.read(&["x".into()]).unwrap_err(),
            Refused::Wrong("one argument too many: x".into())
        );
    }

    #[test]
    fn the_usage_says_all() {
        assert_eq!(
            USAGE.line("p"),
            "usage: p [-a] [ROUNDS] [BY] [WHAT…] [--from PLACE] [--to PATH] [--way WAY]"
        );
        let text = USAGE.text("p");
        for part in [
            "-a",
            "How often. (a whole number; 3 if left out)",
            "What. (a text)",
            "To where. (a path)",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
}
