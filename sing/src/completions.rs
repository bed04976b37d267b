//! `sing completions`: what a shell reads to complete the words of this command. Made of the table
//! that `sing help` prints, so that no command or option is forgotten.

use crate::args::help::COMMANDS;
use std::fmt::Write as _;

/// A shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Shell {
    /// Finds it by its name.
    pub fn of(name: &str) -> Result<Shell, String> {
        match name {
            "bash" => Ok(Shell::Bash),
            "zsh" => Ok(Shell::Zsh),
            "fish" => Ok(Shell::Fish),
            _ => Err("there are bash, zsh and fish".into()),
        }
    }
}

/// Words that may follow a command.
const WORDS: [(&str, &str); 4] = [
    ("check", "system contracts"),
    ("bind", "c"),
    ("disk", "create ls get put rm mkdir check df"),
    ("completions", "bash zsh fish"),
];

/// The text for a shell.
pub fn text(shell: Shell) -> String {
    match shell {
        Shell::Bash => bash(),
        // Zsh reads completions of bash.
        Shell::Zsh => {
            format!(
                "autoload -U +X compinit bashcompinit && compinit && bashcompinit\n{}",
                bash()
            )
        }
        Shell::Fish => fish(),
    }
}

fn names() -> String {
    let names: Vec<&str> = COMMANDS.iter().map(|about| about.name).collect();
    names.join(" ")
}

/// What may follow a command, options first.
fn following(name: &str, options: &[&str]) -> String {
    let mut words = options.join(" ");
    if let Some((_, more)) = WORDS.iter().find(|(command, _)| *command == name) {
        let _ = write!(words, " {more}");
    }
    if name == "help" {
        let _ = write!(words, " {}", names());
    }
    words
}

fn bash() -> String {
    let mut out = String::from(
        "_sing() {\n    local word=\"${COMP_WORDS[COMP_CWORD]}\" words=\"\"\n    \
         if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words=\"",
    );
    out += &names();
    out += " --version --help\"\n    else\n        case \"${COMP_WORDS[1]}\" in\n";
    for about in COMMANDS {
        let words = following(about.name, &about.options());
        let _ = writeln!(out, "            {}) words=\"{words}\" ;;", about.name);
    }
    out += "        esac\n    fi\n    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\n\
            complete -o default -F _sing sing\n";
    out
}

fn fish() -> String {
    let mut out = String::new();
    for about in COMMANDS {
        let (name, summary) = (about.name, about.summary.replace('\'', "\\'"));
        let _ = writeln!(
            out,
            "complete -c sing -n __fish_use_subcommand -a {name} -d '{summary}'"
        );
        for option in about.options() {
            let option = option.trim_start_matches('-');
            let _ = writeln!(
                out,
                "complete -c sing -n '__fish_seen_subcommand_from {name}' -l {option}"
            );
        }
        let words = following(name, &[]);
        if !words.trim().is_empty() {
            let _ = writeln!(
                out,
                "complete -c sing -n '__fish_seen_subcommand_from {name}' -a '{}'",
                words.trim()
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn bash_completes_commands_and_options() {
        let complete = |words: &str, number: usize| {
            let script = format!(
                "{}\nCOMP_WORDS=({words}); COMP_CWORD={number}; _sing; echo \"${{COMPREPLY[*]}}\"",
                text(Shell::Bash)
            );
            let output = Command::new("bash").args(["-c", &script]).output().unwrap();
            assert!(output.stderr.is_empty(), "{output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        assert_eq!(complete("sing bu", 1), "build\n");
        assert_eq!(complete("sing build --j", 2), "--json\n");
        assert_eq!(complete("sing compile --no-c", 2), "--no-cache\n");
        assert_eq!(complete("sing serve --n", 2), "--net --no-cache\n");
        assert_eq!(complete("sing inspect --me", 2), "--memory\n");
        assert_eq!(complete("sing inspect --un", 2), "--unreached\n");
        assert_eq!(complete("sing check sys", 2), "system\n");
        assert_eq!(complete("sing help comp", 2), "compile completions\n");
    }

    #[test]
    fn each_shell_gets_all_commands() {
        for shell in ["bash", "zsh", "fish"] {
            let text = Shell::of(shell).map(text).unwrap();
            for about in COMMANDS {
                assert!(text.contains(about.name), "{shell}: {}", about.name);
            }
        }
        assert!(Shell::of("tcsh").is_err());
    }
}
