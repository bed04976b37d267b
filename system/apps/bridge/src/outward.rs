//! The side of the service: requests that come for a subject are carried out by a service here.
//!
//! Invariants:
//! - A request is checked against the contract, to its last byte, before the service sees any of it.
//! - It is carried out once at most: when the service ends meanwhile, the answer says so.
//! - One request at a time, each within a time-out. Those that wait meanwhile wait with the server,
//!   which knows bounds for that.

use crate::attempts::Attempts;
use crate::link::{Link, Server};
use crate::shape::{Bridged, Fault};
use crate::{CONTRACT, MESSAGE, REFUSED};
use bridge::{MOST, Message, Said};
use core::time::Duration;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::sync;
use sing_sdk::time::{Timeout, sleep, uptime};

/// How long the service may take: less than whoever asks waits for it.
const PATIENCE: Duration = Duration::from_secs(4);
/// The most characters of a request's words that an answer repeats.
const SHOWN: usize = 100;
/// How long a server may say nothing: it asks every two minutes whether somebody is there.
const SILENCE: Duration = Duration::from_secs(600);
/// Bridges with one subject share what comes for it.
const GROUP: &str = "bridges";

/// Serves the subject for ever.
pub fn run<B: Bridged>(
    mut names: Names,
    path: &str,
    subject: &str,
    server: Server,
) -> Result<i32, Error> {
    let subscription = bridge::subscribe(subject, Some(GROUP));
    let mut attempts = Attempts::new(server);
    loop {
        let ended = match attempts.connect(&mut names, &subscription) {
            Ok(mut link) => serve::<B>(&mut names, path, subject, &mut link),
            Err(why) => why,
        };
        sleep(attempts.ended(&ended));
    }
}

/// Serves until the connection has ended; why it has.
fn serve<B: Bridged>(names: &mut Names, path: &str, subject: &str, link: &mut Link) -> String {
    let mut service = None;
    let mut go_on = || -> Result<(), String> {
        loop {
            while let Some(said) = link.said().map_err(|bad| bad.to_string())? {
                link.keep(&said)?;
                let (message, useful) = match said {
                    Said::Message(message) => (message, true),
                    Said::Useless(message) => (message, false),
                    _ => continue,
                };
                if let Some(reply) = &message.reply
                    && bridge::not_a_subject(reply).is_none()
                {
                    let answer = match useful {
                        true => answer::<B>(names, path, &mut service, &message),
                        false => {
                            Err("it is longer than a bridge carries, or has no headers".into())
                        }
                    };
                    let headers = [(CONTRACT, B::IDENTITY)];
                    let bytes = match &answer {
                        Ok((name, content)) => {
                            let headers = [headers[0], (MESSAGE, *name)];
                            bridge::publish(reply, None, &headers, content)
                        }
                        Err(why) => {
                            sing_sdk::log!("{subject}: refused: {why}");
                            let headers = [headers[0], (REFUSED, why.as_str())];
                            bridge::publish(reply, None, &headers, &[])
                        }
                    };
                    link.send(&bytes)?;
                }
            }
            sync::wait(&link.input, Timeout::from(SILENCE))
                .map_err(|_| "it has said nothing for long".to_string())?;
            link.receive()?;
        }
    };
    match go_on() {
        Ok(()) => String::new(),
        Err(why) => why,
    }
}

/// What the service answers, or why it does not.
fn answer<B: Bridged>(
    names: &mut Names,
    path: &str,
    kept: &mut Option<B::Service>,
    message: &Message,
) -> Result<(&'static str, Vec<u8>), String> {
    match message.header(CONTRACT) {
        Some(identity) if identity == B::IDENTITY => {}
        other => {
            // As much as the other side shows of a reason: all of it may be longer than headers may.
            let other = other.unwrap_or("no contract").chars().take(SHOWN);
            let other: String = other.collect();
            return Err(format!(
                "the request is of {other}, and here is {}",
                B::IDENTITY
            ));
        }
    }
    let end = uptime() + PATIENCE;
    let service = match kept.take() {
        Some(service) => service,
        None => B::bind(names, path, end).map_err(|e| format!("{path}: {e}"))?,
    };
    let name = message.header(MESSAGE).unwrap_or_default();
    match B::call(service, name, &message.payload, end) {
        Ok((_, content, _)) if content.len() > MOST => {
            Err("the answer is longer than a bridge carries".into())
        }
        Ok((name, content, service)) => {
            *kept = Some(service);
            Ok((name, content))
        }
        Err(fault @ (Fault::Ended | Fault::Late)) => Err(format!("{path}: {}", fault.text())),
        Err(fault) => {
            let name: String = name.chars().take(SHOWN).collect();
            Err(format!("{name}: {}", fault.text()))
        }
    }
}
