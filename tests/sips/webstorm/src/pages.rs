//! Pages, each fetched again until it comes: what may be said meanwhile is that nobody listens, that
//! the connection has ended, or that the server cannot answer now. Any other answer is a failure, as
//! is one that is whole and has another content.

use crate::client::{Answer, Client};
use crate::services;
use crate::startup;
use core::time::Duration;
use sing_sdk::contracts::NamespaceContract;
use sing_sdk::fs::File;
use sing_sdk::names::Names;
use sing_sdk::net;
use sing_sdk::prelude::*;
use sing_sdk::time;

/// How long a page may take, with all attempts.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(2);

/// A page of this machine, with a word that it must have, or the file whose content it is.
const PAGES: [(&str, Wanted); 6] = [
    (
        "/hello?name=storm",
        Wanted::Word("Hello, storm, from a process"),
    ),
    ("/try/page?bytes=70000", Wanted::Letters(70_000)),
    ("/try/stream?bytes=50000", Wanted::Bytes(50_000)),
    ("/notes.txt", Wanted::File("/boot/notes.txt")),
    ("/shell", Wanted::File("/boot/bin/shell")),
    ("/system", Wanted::Word("<!doctype html>")),
];

/// What a page must be.
enum Wanted {
    Word(&'static str),
    Letters(usize),
    Bytes(usize),
    File(&'static str),
}

/// Does it again while the name server, or a service behind it, is away.
fn again<T>(mut what: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    let end = time::uptime() + PATIENCE;
    loop {
        match what() {
            Err(Error::Closed | Error::NotFound | Error::Refused(Refusal::Again))
                if time::uptime() < end =>
            {
                time::sleep(PAUSE)
            }
            outcome => return outcome,
        }
    }
}

/// A client of all pages.
pub struct Pages<'a> {
    names: &'a mut Names,
    port: u16,
    far: &'a str,
    files: Vec<(&'static str, Vec<u8>)>,
}

impl<'a> Pages<'a> {
    pub fn new(names: &'a mut Names, port: u16, far: &'a str) -> Pages<'a> {
        Pages {
            names,
            port,
            far,
            files: Vec::new(),
        }
    }

    /// What is in a file of the boot image.
    fn file(&mut self, path: &'static str) -> Result<&[u8], Error> {
        let at = match self.files.iter().position(|(own, _)| *own == path) {
            Some(at) => at,
            None => {
                let bytes = again(|| File::open(self.names, path)?.read_to_end())?;
                self.files.push((path, bytes));
                self.files.len() - 1
            }
        };
        Ok(&self.files[at].1)
    }

    fn is(&mut self, wanted: &Wanted, body: &[u8]) -> Result<bool, Error> {
        Ok(match *wanted {
            Wanted::Word(word) => String::from_utf8_lossy(body).contains(word),
            Wanted::Letters(count) => {
                let letter = |at: usize| b'a' + (at % 26) as u8;
                body.len() == count && body.iter().enumerate().all(|(at, b)| *b == letter(at))
            }
            Wanted::Bytes(count) => body.len() == count && body.iter().all(|b| *b == b'x'),
            Wanted::File(path) => body == self.file(path)?,
        })
    }

    /// Every page once, from within; one that the machine beyond the card has, and two that it
    /// fetches from here.
    pub fn all(&mut self) -> Result<(), Error> {
        for (path, wanted) in &PAGES {
            self.page("127.0.0.1", self.port, path, wanted)?;
        }
        let far = self.far;
        self.page(far, 80, "/", &Wanted::Word("from afar\n"))?;
        for (path, wanted) in [&PAGES[0], &PAGES[3]] {
            self.page(far, 80, &format!("/back/{}{path}", self.port), wanted)?;
        }
        Ok(())
    }

    /// Fetches a page until it has come.
    fn page(&mut self, host: &str, port: u16, path: &str, wanted: &Wanted) -> Result<(), Error> {
        let end = time::uptime() + PATIENCE;
        let mut said = String::new();
        while time::uptime() < end {
            match self.attempt(host, port, path) {
                Err(error) => said = format!("{error}"),
                Ok(answer) if !answer.whole => said = "only a part has come".into(),
                Ok(answer) => match answer.status {
                    200 if self.is(wanted, &answer.body)? => return Ok(()),
                    0 | 500 | 502 | 503 | 504 => said = format!("status {}", answer.status),
                    status => {
                        let start = answer.body.len().min(200);
                        let body = String::from_utf8_lossy(&answer.body[..start]).into_owned();
                        println!("webstorm: {host}{path}: {status}, {body:?}");
                        return Err(Error::BadState);
                    }
                },
            }
            time::sleep(PAUSE);
        }
        println!("webstorm: {host}{path}: has not come: {said}");
        Err(Error::Timeout)
    }

    fn attempt(&mut self, host: &str, port: u16, path: &str) -> Result<Answer, Error> {
        let connection = net::connect(self.names, &format!("/tcp/{host}/{port}"))?;
        let mut client = Client::over(connection)?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        client.send(request.as_bytes())?;
        Ok(client.answer(false))
    }
}

/// Fetches pages and asks for the time until its pipe is closed, and at least once.
pub fn client(
    names: NamespaceContract::Imp<NamespaceContract::Start>,
    port: u16,
    far: &str,
) -> Result<i32, Error> {
    let until = startup::until().ok_or(Error::NotFound)?;
    let mut names = Names::new(names)?;
    let mut clock = services::client("/clock");
    loop {
        clock.ask(&mut names, |clock| clock.call_get_utc().utc())?;
        Pages::new(&mut names, port, far).all()?;
        if until.is_ready() {
            return Ok(0);
        }
    }
}
