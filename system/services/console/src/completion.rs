//! Tab at the prompt: the shell is asked what may come behind the typed text, and the person types
//! on when it has answered.

use console::editor::Editor;
use sing_sdk::contracts::ConsoleContract;
use sing_sdk::rt::Text;

/// The most bytes of an answer: what is inserted, what is shown. Of a longer one, nothing is.
const INSERTED: usize = 8 << 10;
const SHOWN: usize = 16 << 10;
/// The most bytes for a question and its answer, the text for the terminal among them.
pub const MOST: usize = 2 * (INSERTED + SHOWN) + INSERTED;

/// Asks the shell.
///
/// # Errors
/// The channel, if there is no memory for the question.
pub fn ask(
    channel: ConsoleContract::Exp<ConsoleContract::Reading>,
    before: &str,
    columns: u32,
) -> Result<
    ConsoleContract::Exp<ConsoleContract::Completing>,
    ConsoleContract::Exp<ConsoleContract::Reading>,
> {
    match Text::new(before) {
        Ok(before) => Ok(channel.send_complete(before, columns)),
        Err(_) => Err(channel),
    }
}

/// Takes the shell's answer; the text for the terminal is appended to `out`. `None` if the shell
/// has gone.
pub fn answered(
    channel: ConsoleContract::Exp<ConsoleContract::Completing>,
    editor: &mut Editor,
    out: &mut alloc::string::String,
) -> Option<ConsoleContract::Exp<ConsoleContract::Reading>> {
    let (insert, shown, next) = channel.recv_completed().ok()?;
    let insert = insert.get_within(INSERTED).unwrap_or_default();
    let shown = shown.get_within(SHOWN).unwrap_or_default();
    editor.complete(&insert, &shown, out);
    Some(next)
}
