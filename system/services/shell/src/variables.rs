//! Variables: `NAME=VALUE`, and `$NAME` or `${NAME}` in words.
//!
//! They are the shell's own, but for those that `export` names: ordinary programs have these in
//! their environment. Other programs get their arguments, and no environment. The value of one is
//! never split into words. Invariant: names are identifiers of at most [`LONGEST`] bytes, and there
//! are at most [`MOST`]; values are as long as a line may be, and all that are exported have room
//! among the arguments of a process.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

/// The most variables.
pub const MOST: usize = 256;
/// The most bytes of a name.
pub const LONGEST: usize = 64;
/// The most bytes of a value.
pub const VALUE: usize = 16 << 10;
/// The most bytes of all that are exported.
pub const EXPORTED: usize = 256 << 10;

/// Whether a character may stand in a name, first or behind others.
#[must_use]
pub fn in_name(c: char, first: bool) -> bool {
    c == '_' || c.is_ascii_alphabetic() || !first && c.is_ascii_digit()
}

/// Whether a text is a name.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| in_name(c, true)) && chars.all(|c| in_name(c, false))
}

/// What stands for `$` in words: the variables of a session, and its last status.
#[derive(Debug, Default)]
pub struct Variables {
    /// The last status, `$?`.
    pub status: i32,
    values: BTreeMap<String, Variable>,
}

#[derive(Debug)]
struct Variable {
    value: String,
    exported: bool,
}

impl Variables {
    /// The value of a variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|v| v.value.as_str())
    }

    /// Gives a variable a value.
    ///
    /// # Errors
    /// What there is to say if there are too many, or name or value are too long.
    pub fn set(&mut self, name: String, value: String) -> Result<(), String> {
        if name.len() > LONGEST || value.len() > VALUE {
            return Err(format!(
                "a variable has a name of {LONGEST} bytes at most, and a value of {VALUE}"
            ));
        }
        if self.values.len() >= MOST && !self.values.contains_key(&name) {
            return Err(format!(
                "{name}: there are {MOST} variables already; `unset NAME` forgets one"
            ));
        }
        let exported = self.values.get(&name).is_some_and(|old| old.exported);
        if exported {
            self.has_room(&name, &value)?;
        }
        self.values.insert(name, Variable { value, exported });
        Ok(())
    }

    /// Puts a variable into the environment of programs that have one.
    ///
    /// # Errors
    /// What there is to say if there is no such variable, or no room for it.
    pub fn export(&mut self, name: &str) -> Result<(), String> {
        let value = self.get(name);
        let value = value.ok_or_else(|| format!("{name}: is not set; export {name}=VALUE does"))?;
        self.has_room(name, value)?;
        if let Some(variable) = self.values.get_mut(name) {
            variable.exported = true;
        }
        Ok(())
    }

    fn has_room(&self, name: &str, value: &str) -> Result<(), String> {
        let others = self.exported().filter(|(other, _)| *other != name);
        let all = others.chain([(name, value)]);
        match all.map(|(n, v)| n.len() + v.len()).sum::<usize>() > EXPORTED {
            true => Err(format!(
                "{name}: an environment has {EXPORTED} bytes at most; `unset NAME` frees some"
            )),
            false => Ok(()),
        }
    }

    /// The environment: those that are exported, by name.
    pub fn exported(&self) -> impl Iterator<Item = (&str, &str)> {
        let exported = self.values.iter().filter(|(_, v)| v.exported);
        exported.map(|(n, v)| (n.as_str(), v.value.as_str()))
    }

    /// Forgets a variable; whether there was one.
    pub fn unset(&mut self, name: &str) -> bool {
        self.values.remove(name).is_some()
    }

    /// All of them, by name.
    pub fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values
            .iter()
            .map(|(n, v)| (n.as_str(), v.value.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn names_are_identifiers() {
        for name in ["a", "_", "A9_z"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "9", "a-b", "ä", "a b"] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn what_is_exported_stays_so_and_is_bounded() {
        let mut all = Variables::default();
        assert!(all.export("a").is_err());
        for name in ["a", "b"] {
            all.set(name.into(), "1".into()).unwrap();
        }
        all.export("b").unwrap();
        all.set("b".into(), "2".into()).unwrap();
        assert_eq!(all.exported().collect::<alloc::vec::Vec<_>>(), [("b", "2")]);
        all.unset("b");
        all.set("b".into(), "3".into()).unwrap();
        assert_eq!(all.exported().count(), 0);
        for i in 0..EXPORTED / VALUE {
            let name = format!("v{i}");
            all.set(name.clone(), "x".repeat(VALUE)).unwrap();
            // The names take room, too.
            assert_eq!(all.export(&name).is_ok(), i + 1 < EXPORTED / VALUE, "{i}");
        }
        all.export("a").unwrap();
        assert!(all.set("a".into(), "x".repeat(VALUE)).is_err());
        assert_eq!(all.get("a"), Some("1"));
    }

    #[test]
    fn there_are_not_too_many() {
        let mut all = Variables::default();
        for i in 0..MOST {
            all.set(format!("v{i}"), "x".into()).unwrap();
        }
        assert!(all.set("more".into(), String::new()).is_err());
        assert_eq!(all.set("v0".into(), "y".into()), Ok(()));
        assert_eq!(all.get("v0"), Some("y"));
        assert!(all.unset("v1") && !all.unset("v1"));
        assert_eq!(all.set("more".into(), String::new()), Ok(()));
        assert!(all.set("a".repeat(LONGEST + 1), String::new()).is_err());
        assert!(
            all.set("v2".into(), "x".repeat(VALUE + 1).to_string())
                .is_err()
        );
    }
}
