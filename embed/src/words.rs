//! The words of a call's process behind its name: the names of its directories, the environment, and arguments.
//!
//! The environment is for ordinary programs: each variable is a word `--env=NAME=VALUE`, and a `--` ends them. There
//! is one, too, in front of arguments that could be taken for these.

use crate::Error;
use sing_calls::{WORD_BYTES, WORDS};

/// What stands before a variable.
const ENV: &str = "--env=";
/// What ends them.
const END: &str = "--";

/// Arguments and variables of the environment for the processes of calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
}

impl Words {
    /// The arguments of a process behind its name: each a length and bytes; first these names.
    ///
    /// # Errors
    /// If there are too many, or one cannot be.
    pub(crate) fn encode<'n>(
        &self,
        program: &str,
        names: impl Iterator<Item = &'n str>,
    ) -> Result<Vec<u8>, Error> {
        let refused = |reason: String| Error::Words {
            program: program.into(),
            reason,
        };
        let mut bytes = Vec::new();
        let mut count = 0;
        let mut put = |word: &str| {
            if word.contains('\0') {
                return Err(refused(format!("its word {word:?} has a zero byte")));
            }
            count += 1;
            if count > WORDS || bytes.len() + 4 + word.len() > WORD_BYTES {
                return Err(refused(format!(
                    "it has more words or longer ones than the {WORDS} in {WORD_BYTES} bytes that a call may have, with \
                     the names of its directories and its environment"
                )));
            }
            bytes.extend_from_slice(&(word.len() as u32).to_le_bytes());
            bytes.extend_from_slice(word.as_bytes());
            Ok(())
        };
        for name in names {
            put(name)?;
        }
        for (name, value) in &self.environment {
            if name.is_empty() || name.contains('=') {
                return Err(refused(format!(
                    "a variable of its environment cannot have the name {name:?}: it has a byte at least, and no `=`"
                )));
            }
            put(&format!("{ENV}{name}={value}"))?;
        }
        let is_taken = |first: &String| first == END || first.starts_with(ENV);
        if !self.environment.is_empty() || self.arguments.first().is_some_and(is_taken) {
            put(END)?;
        }
        for word in &self.arguments {
            put(word)?;
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(
        names: &[&str],
        environment: &[(&str, &str)],
        arguments: &[&str],
    ) -> Result<Vec<String>, String> {
        let words = Words {
            arguments: arguments.iter().map(|&word| word.into()).collect(),
            environment: environment
                .iter()
                .map(|&(name, value)| (name.into(), value.into()))
                .collect(),
        };
        let mut bytes = &words
            .encode("program", names.iter().copied())
            .map_err(|error| error.to_string())?[..];
        let mut all = Vec::new();
        while let Some((len, rest)) = bytes.split_first_chunk() {
            let (word, rest) = rest.split_at(u32::from_le_bytes(*len) as usize);
            all.push(String::from_utf8(word.to_vec()).unwrap());
            bytes = rest;
        }
        Ok(all)
    }

    #[test]
    fn words_are_names_then_the_environment_then_arguments() {
        let words = |names, environment, arguments| encoded(names, environment, arguments).unwrap();
        assert!(words(&[], &[], &[]).is_empty());
        assert_eq!(words(&["/"], &[], &["a", "--b"]), ["/", "a", "--b"]);
        assert_eq!(
            words(&["/"], &[("A", "b=c"), ("E", "")], &["x"]),
            ["/", "--env=A=b=c", "--env=E=", "--", "x"]
        );
        assert_eq!(words(&[], &[], &["--env=A=B"]), ["--", "--env=A=B"]);
        assert_eq!(words(&[], &[], &["--", "x"]), ["--", "--", "x"]);
        assert_eq!(words(&[], &[("A", "")], &[]), ["--env=A=", "--"]);
    }

    #[test]
    fn words_that_cannot_be_are_refused_with_the_reason() {
        let long = "x".repeat(WORD_BYTES);
        let many = vec![""; WORDS + 1];
        for (environment, arguments, why) in [
            (&[("", "x")][..], &[][..], "name \"\""),
            (&[("A=B", "x")], &[], "name \"A=B\""),
            (&[("A\0", "x")], &[], "zero byte"),
            (&[("A", "x\0")], &[], "zero byte"),
            (&[], &["a\0b"], "zero byte"),
            (&[], &[&long], "more words or longer ones"),
            (&[], &many, "more words or longer ones"),
        ] {
            let error = encoded(&[], environment, arguments).unwrap_err();
            assert!(
                error.starts_with("program") && error.contains(why),
                "{error}"
            );
        }
        assert_eq!(encoded(&[], &[], &many[1..]).unwrap().len(), WORDS);
    }
}
