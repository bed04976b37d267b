//! Calls: of a process made for each, or of one that is kept; each to be waited for by a thread or
//! as a future.

use crate::directory::{self, Access, Directory, Given};
use crate::link::{Endpoint, Link};
use crate::words::Words;
use crate::{Error, MOST_BYTES, System};
use sing_calls::{Limits, NAME, Op, Outcome};
use sing_hosted::{Asked, GivenDirectories, GivenDirectory, Pending, Reply};
use std::borrow::Cow;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// A program of the system image, with what its calls may use.
#[derive(Clone, Debug)]
pub struct Program<'s> {
    pub(crate) system: &'s System,
    pub(crate) name: String,
    pub(crate) limits: Limits,
    directories: Vec<Directory>,
    words: Words,
}

/// A process that is kept, and asked many times, one call after the other. Dropping it ends it.
#[derive(Debug)]
pub struct Process<'s> {
    program: Program<'s>,
    number: u64,
    /// The directories that it has, until it is dropped.
    _given: GivenDirectories,
}

/// A call that is under way: a future of its answer. Dropping it ends the call's process.
#[must_use = "a call that is dropped is ended"]
pub struct Call<'p> {
    program: &'p Program<'p>,
    pending: Result<Pending, Option<Error>>,
    /// The directories of its process, until it is over.
    given: GivenDirectories,
    over: bool,
}

impl<'s> Program<'s> {
    pub(crate) fn new(system: &'s System, name: &str) -> Program<'s> {
        Program {
            system,
            name: name.into(),
            limits: Limits::NONE,
            directories: Vec::new(),
            words: Words::default(),
        }
    }

    /// The program's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sets how many bytes of memory the process of a call may have, with its stack, its messages and what
    /// the kernel keeps for it. More than its manifest grants it does not get. With less than a process takes
    /// before it runs, calls are refused with [`Error::NotMade`], which says how much that is: an ordinary
    /// program (WASI preview 1) has a stack of 1000 KiB, and its own memory from the beginning.
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

    /// Gives the process of each call a directory of the host, and what is below it, under the name `at`:
    /// to read, or to change. It is opened when the call begins, and given back when it is over. Each
    /// call sees its own directories and nothing else of the host, and no path leads out of them.
    ///
    /// The program's manifest has to have the start-up endpoint
    /// `directories: many DirectoryContract.Imp:Ready`, as that of each ordinary program (WASI preview 1)
    /// has. It is given eight at the most. The names are its arguments, in the same order; an ordinary
    /// program has its directories by them.
    ///
    /// ```no_run
    /// use sing_embed::{Access, Image, System};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let system = System::start(&Image::open("tools.img".as_ref())?)?;
    /// let tool = system
    ///     .program("notes")
    ///     .dir("/srv/manuals".as_ref(), "/manuals", Access::ReadOnly)
    ///     .dir("/srv/session-7".as_ref(), "/work", Access::Writable);
    /// tool.call(br#"{"find":"pump"}"#)?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn dir(mut self, host: &Path, at: &str, access: Access) -> Self {
        self.directories.push(Directory::new(host, at, access));
        self
    }

    /// Gives the process of each call one more argument, behind those that it has. The first of an ordinary
    /// program is its name; those of another come behind the names of its directories, to its `arguments!`.
    ///
    /// ```no_run
    /// use sing_embed::{Image, System};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let system = System::start(&Image::open("tools.img".as_ref())?)?;
    /// let sort = system.program("sort").arg("--reverse").env("LC_ALL", "C");
    /// assert_eq!(sort.call(b"a\nb\n")?, b"b\na\n");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn arg(mut self, word: &str) -> Self {
        self.words.arguments.push(word.into());
        self
    }

    /// Gives the process of each call a variable of the environment, in the place of one that had this name. It
    /// has no others: what the host's environment has it does not see. It is for ordinary programs (WASI
    /// preview 1); another program has no environment, and gets an argument `--env=NAME=VALUE` that it does not know.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        let all = &mut self.words.environment;
        match all.iter_mut().find(|(its, _)| its == name) {
            Some(variable) => variable.1 = value.into(),
            None => all.push((name.into(), value.into())),
        }
        self
    }

    /// Makes a process, hands it these bytes, and waits for its answer. The process has ended when
    /// this returns.
    ///
    /// # Errors
    /// [`Error`] says what has become of the process.
    pub fn call(&self, bytes: &[u8]) -> Result<Vec<u8>, Error> {
        checked(Op::Call, &self.name, bytes)?;
        let given = self.give()?;
        let reply = given.with(&self.asked(Op::Call, bytes), |asked| {
            self.system.port().call(asked)
        });
        self.result(reply, &given.all)
    }

    /// The same without waiting: the call is under way when this returns, and is a future.
    pub fn begin<'p>(&'p self, bytes: &[u8]) -> Call<'p> {
        self.ask(&self.asked(Op::Call, bytes))
    }

    /// Makes a process that is kept. Its directories are its own until it is dropped.
    ///
    /// # Errors
    /// [`Error::NotMade`], [`Error::Directory`] or [`Error::Words`].
    pub fn open(&self) -> Result<Process<'s>, Error> {
        let mut call = self.ask(&self.asked(Op::Open, &[]));
        let number = call.pending.as_ref().map_or(0, Pending::id);
        call.finish()?;
        Ok(Process {
            program: self.clone(),
            number,
            _given: std::mem::take(&mut call.given),
        })
    }

    /// Makes a process that is kept, and holds an endpoint to it: the other end of its start-up endpoint of this
    /// name, of the contract, in the state and of the other side than the endpoint's type says ([`contract!`](crate::contract)).
    /// The process needs no endpoint for calls. Its directories and words are as those of a call.
    ///
    /// The process may have its `memory` all the time. Each receive has the `deadline` anew, and the `time` from the
    /// last message that the host has received on.
    ///
    /// # Errors
    /// [`Error::NotMade`], [`Error::Directory`] or [`Error::Words`].
    pub fn connect<E: Endpoint<'s>>(&self, endpoint: &str) -> Result<E, Error> {
        let wanted = E::WANTED;
        let link = self.link(wanted.of(endpoint), wanted.contract.name.into())?;
        Ok(E::with(link))
    }

    /// The same without types: the endpoint of a contract that is known when the program runs. The kernel checks what
    /// is said there as it does for all.
    ///
    /// # Errors
    /// As [`Program::connect`].
    #[doc(hidden)]
    pub fn link(
        &self,
        wanted: sing_calls::Endpoint<'_>,
        contract: Cow<'static, str>,
    ) -> Result<Link<'s>, Error> {
        let mut call = self.ask(&Asked {
            endpoint: Some(wanted),
            ..self.asked(Op::Talk, &[])
        });
        let number = call.pending.as_ref().map_or(0, Pending::id);
        call.finish()?;
        let given = std::mem::take(&mut call.given);
        Ok(Link::new(self.clone(), number, given, contract))
    }

    fn asked<'a>(&'a self, op: Op, bytes: &'a [u8]) -> Asked<'a> {
        Asked {
            limits: self.limits,
            name: &self.name,
            bytes,
            ..Asked::of(op, 0)
        }
    }

    /// What a process is given: directories, each served, and words.
    fn give(&self) -> Result<Given, Error> {
        directory::check(&self.name, &self.directories)?;
        let names = self.directories.iter().map(Directory::name);
        let arguments = self.words.encode(&self.name, names)?;
        let all = self.system.give(&self.directories)?;
        Ok(Given { all, arguments })
    }

    /// Begins what is asked; a process that is made has its directories and words.
    fn ask<'p>(&'p self, asked: &Asked<'_>) -> Call<'p> {
        let makes = asked.op != Op::Ask;
        let checked = checked(asked.op, asked.name, asked.bytes);
        let given = checked.and_then(|()| match makes {
            true => self.give(),
            false => Ok(Given::default()),
        });
        let (pending, given) = match given {
            Ok(given) => {
                let pending = given.with(asked, |asked| self.system.port().ask(asked));
                (Ok(pending), given.all)
            }
            Err(error) => (Err(Some(error)), GivenDirectories::default()),
        };
        Call {
            program: self,
            pending,
            given,
            over: false,
        }
    }

    pub(crate) fn result(&self, reply: Reply, given: &GivenDirectories) -> Result<Vec<u8>, Error> {
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
            Some(Outcome::Broken) => Err(Error::Broken {
                program: program(),
                reason: text(&bytes),
            }),
            Some(Outcome::NotMade) => {
                // A directory that could not be served is the reason, rather than what the kernel says of the process.
                let refused = given.iter().find_map(GivenDirectory::refusal);
                Err(Error::NotMade(match refused {
                    Some(why) => format!("{}: no directory for it: {why}", self.name),
                    None => text(&bytes),
                }))
            }
            None => Err(self.system.ended()),
        }
    }
}

pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn checked(op: Op, name: &str, bytes: &[u8]) -> Result<(), Error> {
    if bytes.is_empty() && !matches!(op, Op::Open | Op::Talk) {
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
        checked(Op::Ask, "", bytes)?;
        let port = self.program.system.port();
        self.program
            .result(port.call(&self.asked(bytes)), &GivenDirectories::default())
    }

    /// The same without waiting: the call is under way when this returns, and is a future. A
    /// process whose call is dropped is ended.
    pub fn begin(&mut self, bytes: &[u8]) -> Call<'_> {
        self.program.ask(&self.asked(bytes))
    }

    fn asked<'a>(&self, bytes: &'a [u8]) -> Asked<'a> {
        Asked {
            limits: self.program.limits,
            bytes,
            ..Asked::of(Op::Ask, self.number)
        }
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
        self.finish()
    }

    fn finish(&mut self) -> Result<Vec<u8>, Error> {
        self.over = true;
        match &mut self.pending {
            Ok(pending) => self.program.result(pending.wait(), &self.given),
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
                Poll::Ready(reply) => this.program.result(reply, &this.given),
                Poll::Pending => return Poll::Pending,
            },
            Err(error) => Err(error.take().unwrap_or_else(|| this.program.system.ended())),
        };
        this.over = true;
        drop(std::mem::take(&mut this.given));
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
