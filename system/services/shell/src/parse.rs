//! The command language.
//!
//! ```text
//! script   = pipeline { ( ";" | "&" | "&&" | "||" | end of line ) pipeline }
//! pipeline = command { "|" command }
//! command  = word { word } with "<" word, ">" word, ">>" word, "2>" word, "2>>" word or "2>&1"
//!            anywhere behind the first word
//! ```
//!
//! The first command of a pipeline can read from a file, the last one can write to one; the errors
//! of each can go to a file, or where its output goes. Words are quoted as in other shells: `'as it
//! is'`, `"with $NAME and $? expanded"`, `\x`. `#` begins a comment. A command of words
//! `NAME=VALUE` alone sets variables. Invariant: any text is accepted; a mistake is reported with
//! its place.

mod lexer;
mod word;

pub(crate) use lexer::ends_word;

pub use word::{LONGEST, Meaningless, Word};

use lexer::{Lexer, Token};

use alloc::vec::Vec;
use core::fmt;

/// A command: a program and its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The words; never empty.
    pub words: Vec<Word>,
    /// Where its errors go; to the console if nowhere else.
    pub errors: Option<Errors>,
}

/// Where the errors of a command go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Errors {
    /// Into a file.
    File(Output),
    /// Where its output goes.
    WithOutput,
}

/// When a pipeline runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// After success.
    And,
    /// After failure.
    Or,
}

/// Commands connected by pipes, with the condition for running them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// The condition.
    pub when: When,
    /// The commands; at least one.
    pub commands: Vec<Command>,
    /// The file that the first command reads.
    pub input: Option<Word>,
    /// The file that the last command writes.
    pub output: Option<Output>,
    /// Whether the shell does not wait for it.
    pub background: bool,
}

/// A file that a pipeline writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its path.
    pub path: Word,
    /// Whether it is written at its end, else anew.
    pub append: bool,
}

/// A mistake in a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Its description.
    pub message: &'static str,
    /// The line, from 1.
    pub line: usize,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

/// Reads a script, or a line of one.
///
/// # Errors
/// Names the first mistake.
pub fn parse(text: &str) -> Result<Vec<Pipeline>, Error> {
    let mut lexer = Lexer::new(text);
    let mut done = Vec::new();
    let mut when = When::Always;
    let mut commands: Vec<Command> = Vec::new();
    let mut command = Command::default();
    let (mut input, mut output) = (None, None);
    // The line of the `|`, `&&` or `||` that a command must follow.
    let mut open = None;
    loop {
        let token = lexer.token()?;
        let empty = command.words.is_empty();
        match token {
            Some(Token::Word(word)) => {
                command.words.push(word);
                open = None;
                continue;
            }
            Some(Token::ErrorsWithOutput) if !empty => {
                if command.errors.replace(Errors::WithOutput).is_some() {
                    return lexer.fail("there are two 2> ; errors go to one place");
                }
                continue;
            }
            Some(Token::Input) if !empty => {
                let path = path(&mut lexer)?;
                if !commands.is_empty() {
                    return lexer.fail("only the first command of a pipeline reads a file");
                }
                if input.replace(path).is_some() {
                    return lexer.fail("there are two < ; a command reads one file");
                }
                continue;
            }
            Some(ref sign) if !empty && let Some((errors, append)) = sign.writes() => {
                let path = path(&mut lexer)?;
                let file = Output { path, append };
                if errors {
                    if command.errors.replace(Errors::File(file)).is_some() {
                        return lexer.fail("there are two 2> ; errors go to one place");
                    }
                } else if output.replace(file).is_some() {
                    return lexer.fail("there are two > ; a command writes one file");
                }
                continue;
            }
            Some(Token::LineEnd) if empty => {
                lexer.line += 1;
                continue;
            }
            _ => {}
        }
        if empty {
            match token {
                None => {
                    let Some(line) = open else { return Ok(done) };
                    lexer.line = line;
                    return lexer.fail("something must follow |, && or ||");
                }
                Some(_) => return lexer.fail("a command is missing"),
            }
        }
        commands.push(core::mem::take(&mut command));
        if token == Some(Token::Pipe) {
            if output.is_some() {
                return lexer.fail("only the last command of a pipeline writes a file");
            }
            open = Some(lexer.line);
            continue;
        }
        let background = token == Some(Token::Background);
        done.push(Pipeline {
            when,
            commands: core::mem::take(&mut commands),
            input: input.take(),
            output: output.take(),
            background,
        });
        when = match token {
            Some(Token::And) => When::And,
            Some(Token::Or) => When::Or,
            _ => When::Always,
        };
        open = (when != When::Always).then_some(lexer.line);
        match token {
            Some(Token::LineEnd) => lexer.line += 1,
            None => return Ok(done),
            _ => {}
        }
    }
}

/// The path that must come next.
fn path(lexer: &mut Lexer<'_>) -> Result<Word, Error> {
    match lexer.token()? {
        Some(Token::Word(path)) => Ok(path),
        _ => lexer.fail("a path must follow < or >"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::Variables;
    use alloc::format;
    use alloc::string::String;
    use alloc::vec;

    fn words(p: &Pipeline) -> Vec<Vec<String>> {
        p.commands
            .iter()
            .map(|c| {
                let words = c.words.iter();
                words.map(|w| w.expand(&variables()).unwrap()).collect()
            })
            .collect()
    }

    fn variables() -> Variables {
        let mut variables = Variables::default();
        variables.status = 7;
        variables.set("y".into(), "a  b".into()).unwrap();
        variables
    }

    fn one(text: &str) -> Vec<Vec<String>> {
        let done = parse(text).unwrap();
        assert_eq!(done.len(), 1, "{text}");
        words(&done[0])
    }

    #[test]
    fn pipes_and_words() {
        assert_eq!(
            one("cat /boot/notes.txt | grep -i sealed|wc"),
            [
                vec!["cat", "/boot/notes.txt"],
                vec!["grep", "-i", "sealed"],
                vec!["wc"]
            ]
        );
        assert_eq!(one("a |\n b"), [vec!["a"], vec!["b"]]);
    }

    #[test]
    fn quoting() {
        assert_eq!(
            one(r#"echo 'a  b' "c d"e f\ g '' "\"$?\$" $?x \$y \# #no"#),
            [vec![
                "echo", "a  b", "c de", "f g", "", "\"7$", "7x", "$y", "#"
            ]]
        );
        assert_eq!(one("echo a\\\nb"), [vec!["echo", "ab"]]);
    }

    #[test]
    fn a_word_is_bounded_whatever_its_variables_are() {
        let mut variables = variables();
        let value = "x".repeat(1 << 10);
        variables.set("k".into(), value).unwrap();
        let word = |text: &str| parse(text).unwrap()[0].commands[0].words[0].clone();
        let most = LONGEST >> 10;
        let longest = word(&"$k".repeat(most));
        assert_eq!(longest.expand(&variables).unwrap().len(), LONGEST);
        for more in ["$k".repeat(most + 1), "$k".repeat(most) + "*"] {
            let more = word(&more);
            assert_eq!(more.expand(&variables), Err(Meaningless::TooLong));
            assert_eq!(more.value(&variables), Err(Meaningless::TooLong));
        }
        let wild = word(&("$k".repeat(most) + "*"));
        assert_eq!(wild.glob(&variables), Err(Meaningless::TooLong));
        // What has no wildcards is not even looked at.
        assert_eq!(longest.glob(&variables), Ok(None));
    }

    #[test]
    fn variables_stand_in_words() {
        assert_eq!(
            one(r#"echo $y "$y" x${y}z '$y' $ $9 $- a$ "$ ${y}""#),
            [vec![
                "echo", "a  b", "a  b", "xa  bz", "$y", "$", "$9", "$-", "a$", "$ a  b"
            ]]
        );
        let word = |text: &str| parse(text).unwrap()[0].commands[0].words[0].clone();
        assert_eq!(
            word("$nothing").expand(&variables()),
            Err(Meaningless::NotSet("nothing".into()))
        );
        for (text, sets) in [
            ("a=b", Some(("a", "b"))),
            ("a_9='b c'", Some(("a_9", "b c"))),
            ("a=$y=", Some(("a", "a  b="))),
            ("a=", Some(("a", ""))),
            ("9a=b", None),
            ("'a'=b", None),
            ("a\\=b", None),
            ("=b", None),
            ("$y=b", None),
        ] {
            let word = word(text);
            let value = word.value(&variables()).unwrap();
            assert_eq!(word.sets().map(|name| (name, &value[..])), sets, "{text}");
        }
        assert_eq!(one("echo a=b 'c'=d"), [vec!["echo", "a=b", "c=d"]]);
        for text in [
            "echo ${",
            "echo ${}",
            "echo ${a",
            "echo ${9}",
            "echo ${a b}",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sequences() {
        let p = parse("a; b && c || d\n# nothing\n\ne &\nf").unwrap();
        let when: Vec<_> = p.iter().map(|p| (p.when, p.background)).collect();
        use When::{Always, And, Or};
        assert_eq!(
            when,
            [
                (Always, false),
                (Always, false),
                (And, false),
                (Or, false),
                (Always, true),
                (Always, false)
            ]
        );
    }

    #[test]
    fn files_are_read_and_written() {
        let done = parse("a <in x >>'o u t'; b | c>$? & d 2 >e").unwrap();
        assert_eq!(words(&done[0]), [vec!["a", "x"]]);
        let files = |p: &Pipeline| {
            let input = p
                .input
                .as_ref()
                .map(|word| word.expand(&variables()).unwrap());
            let output = p
                .output
                .as_ref()
                .map(|o| (o.path.expand(&variables()).unwrap(), o.append));
            (input, output)
        };
        assert_eq!(
            files(&done[0]),
            (Some("in".into()), Some(("o u t".into(), true)))
        );
        assert_eq!(words(&done[1]), [vec!["b"], vec!["c"]]);
        assert_eq!(files(&done[1]), (None, Some(("7".into(), false))));
        assert!(done[1].background);
        assert_eq!(words(&done[2]), [vec!["d", "2"]]);
        assert_eq!(files(&done[2]), (None, Some(("e".into(), false))));
        // Quoted, they are text.
        assert_eq!(one("a '>' \\< \">>\""), [vec!["a", ">", "<", ">>"]]);
    }

    #[test]
    fn errors_go_elsewhere() {
        let done = parse("a 2>x b | c 2>>'y z'| d 2>&1|e 2 >f; g 22 a2>h").unwrap();
        assert_eq!(
            words(&done[0]),
            [vec!["a", "b"], vec!["c"], vec!["d"], vec!["e", "2"]]
        );
        let errors = |c: &Command| match &c.errors {
            Some(Errors::File(o)) => {
                format!("{} {}", o.path.expand(&variables()).unwrap(), o.append)
            }
            Some(Errors::WithOutput) => "1".into(),
            None => String::new(),
        };
        let of = |p: &Pipeline| p.commands.iter().map(errors).collect::<Vec<_>>();
        assert_eq!(of(&done[0]), ["x false", "y z true", "1", ""]);
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (text, line) in [
            ("a\nb |", 2),
            ("| a", 1),
            ("a ;; b", 1),
            ("a &&\n\n&& b", 3),
            ("a\n'b", 2),
            ("\"b\\", 1),
            ("a \\", 1),
            ("a >", 1),
            ("\na > > b", 2),
            ("a >\nb", 1),
            ("> b", 1),
            ("a | > b", 1),
            ("a << b", 1),
            ("a 1> b", 1),
            ("a 2>", 1),
            ("2> b", 1),
            ("2>&1", 1),
            ("a 2>&2", 1),
            ("a 2>&", 1),
            ("a 2>&1b", 1),
            ("a 2> b 2> c", 1),
            ("a 2> b 2>&1", 1),
            ("a 2< b", 1),
            ("a > b > c", 1),
            ("a < b < c", 1),
            ("a | b < c", 1),
            ("a > b | c", 1),
            ("a &> b", 1),
            ("a ||", 1),
            // The line that is not complete, not the one behind its end.
            ("a &&\n", 1),
            ("a\nb |\n\n", 2),
        ] {
            match parse(text) {
                Err(e) => assert_eq!(e.line, line, "{text}: {e}"),
                Ok(p) => panic!("{text}: {p:?}"),
            }
        }
        assert!(parse("").unwrap().is_empty());
        assert!(parse(" \n # x").unwrap().is_empty());
    }

    #[test]
    fn any_text_is_taken() {
        let parts = [
            "a", " ", "|", "&", ";", "'", "\"", "\\", "$?", "#", "\n", ">", "<", "é",
        ];
        for i in 0..parts.len().pow(4) {
            let pick = |n: usize| parts[i / parts.len().pow(n as u32) % parts.len()];
            let text = format!("{}{}{}{}", pick(0), pick(1), pick(2), pick(3));
            if let Ok(done) = parse(&text) {
                assert!(
                    done.iter()
                        .all(|p| p.commands.iter().all(|c| !c.words.is_empty()))
                );
                assert!(done.iter().all(|p| !p.commands.is_empty()));
            }
        }
    }
}
