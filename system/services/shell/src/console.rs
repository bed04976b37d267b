//! The shell's channel to the console.

use alloc::string::String;
use sing_sdk::Error;
use sing_sdk::contracts::{ConsoleContract, JobContract, PipeContract};
use sing_sdk::rt::Text;

/// The console.
pub struct Console {
    channel: Option<ConsoleContract::Imp<ConsoleContract::Ready>>,
    /// Asked what may come behind typed text, and has not answered yet.
    completing: Option<ConsoleContract::Imp<ConsoleContract::Completing>>,
    columns: u32,
}

/// What the console says to a request for a line.
pub enum Asked {
    /// It has been read.
    Read(Read),
    /// What may come behind this text? [`Console::complete`] answers.
    Complete(String),
}

/// The outcome of reading a line.
pub enum Read {
    /// A line, with its line feed.
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or no more input.
    End,
}

/// The endpoints of a job in the foreground.
pub struct Foreground {
    /// Over this one the console tells the job to end.
    pub job: JobContract::Exp<JobContract::Start>,
    /// This one brings the text that the person types.
    pub input: PipeContract::Exp<PipeContract::Start>,
}

impl Console {
    /// Begins to use it.
    pub fn new(channel: ConsoleContract::Imp<ConsoleContract::Start>) -> Result<Console, Error> {
        let (columns, _, channel) = channel.recv_welcome()?;
        Ok(Console {
            channel: Some(channel),
            completing: None,
            columns,
        })
    }

    /// Whether it is a terminal with a person.
    pub fn is_terminal(&self) -> bool {
        self.columns > 0
    }

    /// The width of the terminal in characters.
    pub fn columns(&self) -> usize {
        self.columns as usize
    }

    fn take(&mut self) -> Result<ConsoleContract::Imp<ConsoleContract::Ready>, Error> {
        self.channel.take().ok_or(Error::Closed)
    }

    /// Begins to read a line.
    pub fn read_line(&mut self, prompt: &str) -> Result<Asked, Error> {
        let prompt = Text::new(prompt)?;
        let said = self.take()?.call_read_line(prompt);
        self.hear(said)
    }

    /// Completes typed text, and reads on. `wait` waits for memory.
    pub fn complete(&mut self, insert: &str, shown: &str, wait: fn()) -> Result<Asked, Error> {
        let channel = self.completing.take().ok_or(Error::Closed)?;
        let (insert, shown) = loop {
            match (Text::new(insert), Text::new(shown)) {
                (Ok(insert), Ok(shown)) => break (insert, shown),
                // The console waits for an answer: only that can give the prompt back.
                _ => wait(),
            }
        };
        let said = channel.call_completed(insert, shown);
        self.hear(said)
    }

    fn hear(&mut self, said: ConsoleContract::imp::Reading) -> Result<Asked, Error> {
        use ConsoleContract::imp::Reading;
        let (read, channel) = match said {
            Reading::Line(text, next) => (Read::Line(text.to_lossy()), next),
            Reading::Interrupted(next) => (Read::Interrupted, next),
            Reading::EndOfInput(next) => (Read::End, next),
            Reading::Complete(before, columns, next) => {
                self.columns = columns;
                self.completing = Some(next);
                return Ok(Asked::Complete(before.to_lossy()));
            }
            Reading::Closed => return Err(Error::Closed),
        };
        self.channel = Some(channel);
        Ok(Asked::Read(read))
    }

    /// A pipe that is shown.
    pub fn show(&mut self) -> Result<PipeContract::Imp<PipeContract::Start>, Error> {
        let (imp, exp) = PipeContract::new_channel()?;
        self.channel = Some(self.take()?.call_show(exp).ack_show()?);
        Ok(imp)
    }

    /// Puts a job into the foreground; `keys`: it gets them as they are typed.
    pub fn foreground(&mut self, keys: bool) -> Result<Foreground, Error> {
        let (told, job) = JobContract::new_channel()?;
        let (typed, input) = PipeContract::new_channel()?;
        let asked = self.take()?.call_foreground(told, typed, keys);
        self.channel = Some(asked.ack_foreground()?);
        Ok(Foreground { job, input })
    }

    /// Puts a job that was suspended with this number into the foreground again.
    pub fn again(&mut self, number: u32) -> Result<(), Error> {
        self.channel = Some(self.take()?.call_again(number).ack_again()?);
        Ok(())
    }

    /// Waits until all output is shown.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.channel = Some(self.take()?.call_flush().ack_flush()?);
        Ok(())
    }
}
