//! Calls: of a process made for each, or of one that is kept; each to be waited for by a thread or
//! as a future.

use crate::{Error, MOST_BYTES, System};
use sing_calls::{Limits, NAME, Op, Outcome};
use sing_hosted::{Pending, Reply};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// A program of the system image, with what its calls may use.
#[derive(Clone, Debug)]
pub struct Program<'s> {
    system: &'s System,
    name: String,
    limits: Limits,
}

/// A process that is kept, and asked many times, one call after the other. Dropping it ends it.
#[derive(Debug)]
pub struct Process<'s> {
    program: Program<'s>,
    number: u64,
}

/// A call that is under way: a future of its answer. Dropping it ends the call's process.
#[must_use = "a call that is dropped is ended"]
pub struct Call<'p> {
    program: &'p Program<'p>,
    pending: Result<Pending, Option<Error>>,
    over: bool,
}

impl<'s> Program<'s> {
    pub(crate) fn new(system: &'s System, name: &str) -> Program<'s> {
        Program {
            system,
            name: name.into(),
            limits: Limits::NONE,
        }
    }

    /// The program's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sets how many bytes of memory the process of a call may have, with its stack, its messages and what
    /// the kernel keeps for it. More than its manifest grants it does not get.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.limits.memory = bytes;
        self
    }

    /// Sets how long a call may use the processor: then its process is ended, within a millisecond.
    #[must_use]
    pub fn time(mut self, time: Duration) -> Self {
        self.limits.time = nanoseconds(time);
        self
    }

    /// Sets how long a call may take, from when the system takes it: then its process is ended.
    #[must_use]
    pub fn deadline(mut self, time: Duration) -> Self {
        self.limits.deadline = nanoseconds(time);
        self
    }

    /// Makes a process, hands it these bytes, and waits for its answer. The process has ended when
    /// this returns.
    ///
    /// # Errors
    /// [`Error`] says what has become of the process.
    pub fn call(&self, bytes: &[u8]) -> Result<Vec<u8>, Error> {
        self.ask_here(Op::Call, 0, &self.name, bytes)
    }

    /// The same without waiting: the call is under way when this returns, and is a future.
    pub fn begin<'p>(&'p self, bytes: &[u8]) -> Call<'p> {
        self.ask(Op::Call, 0, &self.name, bytes)
    }

    /// Makes a process that is kept.
    ///
    /// # Errors
    /// [`Error::NotMade`].
    pub fn open(&self) -> Result<Process<'s>, Error> {
        let call = self.ask(Op::Open, 0, &self.name, &[]);
        let number = call.pending.as_ref().map_or(0, Pending::id);
        call.wait()?;
        Ok(Process {
            program: self.clone(),
            number,
        })
    }

    /// Asks, with the system on this thread while it is nobody else's.
    fn ask_here(&self, op: Op, process: u64, name: &str, bytes: &[u8]) -> Result<Vec<u8>, Error> {
        checked(op, name, bytes)?;
        let port = self.system.port();
        self.result(port.call(op, process, self.limits, name, bytes))
    }

    fn ask<'p>(&'p self, op: Op, process: u64, name: &str, bytes: &[u8]) -> Call<'p> {
        let pending = checked(op, name, bytes).map_err(Some).map(|()| {
            let port = self.system.port();
            port.ask(op, process, self.limits, name, bytes)
        });
        Call {
            program: self,
            pending,
            over: false,
        }
    }

    fn result(&self, reply: Reply) -> Result<Vec<u8>, Error> {
        let program = || self.name.clone();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let bytes = reply.bytes;
        match reply.outcome {
            Some(Outcome::Done) => Ok(bytes),
            Some(Outcome::Refused) => Err(Error::Refused {
                program: program(),
                reason: text(&bytes),
            }),
            Some(Outcome::Crashed) => Err(Error::Crashed {
                program: program(),
                report: text(&bytes),
            }),
            Some(Outcome::Ended) => Err(Error::Gone {
                program: program(),
                how: text(&bytes),
            }),
            Some(Outcome::TimedOut) => Err(Error::TimedOut {
                program: program(),
                time: Duration::from_nanos(self.limits.deadline),
            }),
            Some(Outcome::OutOfTime) => Err(Error::OutOfTime {
                program: program(),
                time: Duration::from_nanos(self.limits.time),
            }),
            Some(Outcome::OutOfMemory) => Err(Error::OutOfMemory {
                program: program(),
                report: text(&bytes),
            }),
            Some(Outcome::NotMade) => Err(Error::NotMade(text(&bytes))),
            None => Err(self.system.ended()),
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn checked(op: Op, name: &str, bytes: &[u8]) -> Result<(), Error> {
    if bytes.is_empty() && op != Op::Open {
        return Err(Error::Empty);
    }
    let too_long = |what: String, bytes, most| Error::TooLong { what, bytes, most };
    if name.len() > NAME {
        let what = format!("the name {}...", name.chars().take(20).collect::<String>());
        return Err(too_long(what, name.len(), NAME));
    }
    if bytes.len() > MOST_BYTES {
        return Err(too_long("a call".into(), bytes.len(), MOST_BYTES));
    }
    Ok(())
}

impl Process<'_> {
    /// Hands the process these bytes, and waits for its answer.
    ///
    /// # Errors
    /// [`Error`] says what has become of it. It goes on after [`Error::Refused`], [`Error::Empty`],
    /// [`Error::TooLong`], and [`Error::NotMade`] if the call had no room; after all others it has
    /// ended.
    pub fn call(&mut self, bytes: &[u8]) -> Result<Vec<u8>, Error> {
        self.program.ask_here(Op::Ask, self.number, "", bytes)
    }

    /// The same without waiting: the call is under way when this returns, and is a future. A
    /// process whose call is dropped is ended.
    pub fn begin(&mut self, bytes: &[u8]) -> Call<'_> {
        self.program.ask(Op::Ask, self.number, "", bytes)
    }
}

impl Drop for Process<'_> {
    fn drop(&mut self) {
        self.program.system.port().tell(Op::Close, self.number);
    }
}

impl Call<'_> {
    /// Waits for the answer.
    ///
    /// # Errors
    /// As [`Program::call`].
    pub fn wait(mut self) -> Result<Vec<u8>, Error> {
        self.over = true;
        match &mut self.pending {
            Ok(pending) => self.program.result(pending.wait()),
            Err(error) => Err(error.take().unwrap_or_else(|| self.program.system.ended())),
        }
    }
}

impl Future for Call<'_> {
    type Output = Result<Vec<u8>, Error>;

    /// # Panics
    /// If it is polled again after it was ready.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        assert!(!this.over, "a call is polled after its answer");
        let result = match &mut this.pending {
            Ok(pending) => match pending.poll(context) {
                Poll::Ready(reply) => this.program.result(reply),
                Poll::Pending => return Poll::Pending,
            },
            Err(error) => Err(error.take().unwrap_or_else(|| this.program.system.ended())),
        };
        this.over = true;
        Poll::Ready(result)
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if let (Ok(pending), false) = (&self.pending, self.over) {
            self.program.system.port().tell(Op::Cancel, pending.id());
        }
    }
}
