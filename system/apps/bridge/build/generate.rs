//! Rust code for a contract's messages, from its table.
//!
//! A contract can be carried if it is one of requests: in `Ready` the client sends one message, the
//! service answers with one of some, and both are in `Ready` again. What is in the messages must mean
//! the same elsewhere: numbers, truth values, blocks of bytes and texts. An endpoint has its other
//! side on this machine, so a contract that passes one on is refused.

use sing_contract::Contracts;
use sing_image::contract::{Message, identities};
use sing_image::manifest::Side;
use std::fmt::Write;

/// A contract's types, and Rust's.
const TYPES: [(&str, &str); 22] = [
    ("bool", "bool"),
    ("byte", "u8"),
    ("sbyte", "i8"),
    ("ushort", "u16"),
    ("short", "i16"),
    ("uint", "u32"),
    ("int", "i32"),
    ("ulong", "u64"),
    ("long", "i64"),
    ("bool?", "Option<bool>"),
    ("byte?", "Option<u8>"),
    ("sbyte?", "Option<i8>"),
    ("ushort?", "Option<u16>"),
    ("short?", "Option<i16>"),
    ("uint?", "Option<u32>"),
    ("int?", "Option<i32>"),
    ("ulong?", "Option<u64>"),
    ("long?", "Option<i64>"),
    ("byte[] in ExHeap", "Vector<u8>"),
    ("byte[]? in ExHeap", "Option<Vector<u8>>"),
    ("char[]? in ExHeap", "Option<Text>"),
    ("char[] in ExHeap", "Text"),
];

/// The code for one contract of these, or why it cannot be carried.
pub fn code(contracts: &Contracts, name: &str, module: &str) -> Result<String, String> {
    let tables = contracts.tables();
    let tables = tables.as_slice();
    let declared = contracts.model.contract(name);
    let requires = |message: &str| {
        let mut messages = declared.into_iter().flat_map(|contract| &contract.messages);
        messages.any(|m| m.name == message && !m.requires.is_empty())
    };
    let types = |message| types(name, message, requires);
    let missing = || format!("{name}: no such contract in its file");
    let at = tables
        .iter()
        .position(|t| t.name == name)
        .ok_or_else(missing)?;
    let table = &tables[at];
    let identity = identities(tables).map_err(|e| e.message)?[at];
    let identity: String = identity[..16].iter().map(|b| format!("{b:02x}")).collect();
    let refuse = |why: &str| format!("{name} cannot be carried to another machine: {why}");
    let ready = table
        .state("Ready")
        .ok_or_else(|| refuse("it has no state Ready, in which requests come"))?;
    let mut requests = Vec::new();
    for (tag, message) in table.messages.iter().enumerate() {
        let Some(asked) = table.step(ready, tag as u16, Side::Imp) else {
            continue;
        };
        let mut answers = Vec::new();
        for (tag, answer) in table.messages.iter().enumerate() {
            if table.step(asked, tag as u16, Side::Imp).is_some() {
                return Err(refuse(&format!(
                    "behind {} another request may come",
                    message.name
                )));
            }
            match table.step(asked, tag as u16, Side::Exp) {
                Some(next) if next == ready => answers.push((answer, types(answer)?)),
                Some(_) => {
                    return Err(refuse(&format!(
                        "{} does not lead back to Ready",
                        answer.name
                    )));
                }
                None => {}
            }
        }
        let state = table.states[usize::from(asked)].replace('\'', "_");
        requests.push((message, types(message)?, state, answers));
    }
    if requests.is_empty() {
        return Err(refuse("it has no requests"));
    }
    Ok(written(name, module, &identity, &requests))
}

/// Rust's types of a message's arguments.
fn types<'a>(
    contract: &str,
    message: &'a Message,
    requires: impl Fn(&str) -> bool,
) -> Result<Vec<(&'a str, &'static str)>, String> {
    let refuse = |why: &str| {
        format!(
            "{contract} cannot be carried to another machine: {} {why}",
            message.name
        )
    };
    if message.words.iter().any(|word| word.contract().is_some()) {
        return Err(refuse(
            "passes on an endpoint, whose other side is on this machine; bridge the contract of that \
             endpoint under a name of its own",
        ));
    }
    // That words are values of their types holds for every value that the bridge makes; what the kernel
    // does not judge, the sender does, and ends.
    if requires(&message.name) {
        return Err(refuse(
            "requires something of its arguments, which a bridge cannot judge; have the service answer \
             what it does not take",
        ));
    }
    let one = |argument: &'a sing_image::contract::Argument| {
        let ty = argument.ty.split_whitespace().collect::<Vec<_>>().join(" ");
        let found = TYPES.iter().find(|(own, _)| *own == ty);
        let found = found.map(|(_, rust)| (argument.name.as_str(), *rust));
        found.ok_or_else(|| {
            refuse(&format!(
                "has an argument of type {ty}; a bridge carries numbers, bytes and texts"
            ))
        })
    };
    message.arguments.iter().map(one).collect()
}

type Typed<'a> = (&'a Message, Vec<(&'a str, &'static str)>);
type Request<'a> = (
    &'a Message,
    Vec<(&'a str, &'static str)>,
    String,
    Vec<Typed<'a>>,
);

fn written(name: &str, module: &str, identity: &str, requests: &[Request<'_>]) -> String {
    let list = |count: usize| (0..count).map(|i| format!("v{i}, ")).collect::<String>();
    let puts = |count: usize| {
        (0..count)
            .map(|i| format!("v{i}.put(&mut out); "))
            .collect::<String>()
    };
    let takes = |types: &[(&str, &str)]| {
        let all = types.iter().enumerate();
        all.map(|(i, (_, ty))| format!("let v{i}: {ty} = values.take()?; "))
            .collect::<String>()
    };
    let (mut asked, mut cases, mut answers, mut calls) =
        (String::new(), String::new(), String::new(), String::new());
    for (message, types, state, replies) in requests {
        let (own, count) = (&message.name, types.len());
        let args = (0..count)
            .map(|i| format!("v{i}"))
            .collect::<Vec<_>>()
            .join(", ");
        let _ = writeln!(asked, "        {own}(C::Exp<C::{state}>),");
        let _ = writeln!(
            cases,
            "                case provider.clients[key].{own}({args}) as client => {{\n\
             \x20                   #[allow(unused_mut)] let mut out = Vec::new(); {}\n\
             \x20                   Event::Asked(key, {own:?}, out, Asked::{own}(client))\n\
             \x20               }}",
            puts(count)
        );
        let (snake, received) = (snake(own), replies);
        let mut given = String::new();
        for (reply, types) in received {
            let _ = writeln!(
                answers,
                "                (Asked::{own}(client), {:?}) => {{ {}values.end()?; Ok(client.send_{}({})) }}",
                reply.name,
                takes(types),
                self::snake(&reply.name),
                list(types.len())
            );
            let _ = writeln!(
                given,
                "                        C::imp::{state}::{}({}next) => {{ {}Ok(({:?}, out, next)) }}",
                reply.name,
                list(types.len()),
                puts(types.len()),
                reply.name
            );
        }
        let _ = writeln!(
            calls,
            "                {own:?} => {{\n\
             \x20                   {}values.end()?;\n\
             \x20                   let asked = service.send_{snake}({});\n\
             \x20                   switch_receive! {{ case &asked => {{}}, deadline end => return Err(Fault::Late), }}\n\
             \x20                   match asked.recv() {{\n{given}\
             \x20                       C::imp::{state}::Closed => Err(Fault::Ended),\n\
             \x20                   }}\n\
             \x20               }}",
            takes(types),
            list(count)
        );
    }
    let file = snake(name);
    format!(
        "pub mod {file} {{
    use crate::shape::{{Bridged, Event, Fault, Put, Values}};
    use core::time::Duration;
    use {module}::{name} as C;
    use sing_sdk::io::Reader;
    use sing_sdk::names::Names;
    use sing_sdk::prelude::*;
    use sing_sdk::provider::Provider;

    pub enum Asked {{
{asked}    }}

    pub struct Carried;

    impl Bridged for Carried {{
        const NAME: &'static str = {name:?};
        const IDENTITY: &'static str = \"{name}/{identity}\";
        type Start = C::Exp<C::Start>;
        type Ready = C::Exp<C::Ready>;
        type Asked = Asked;
        type Service = C::Imp<C::Ready>;

        fn register(names: &mut Names, path: &str) -> Result<Provider<Self::Start, Self::Ready>, Error> {{
            Provider::register(names, path, C::Exp::send_success)
        }}

        fn next(
            provider: &mut Provider<Self::Start, Self::Ready>,
            input: &Reader,
            end: Duration,
        ) -> Event<Asked> {{
            switch_receive! {{
{cases}                case provider.clients[_].ChannelClosed() => Event::Gone,
                case &provider.lookup => Event::Lookup,
                case &*input => Event::Input,
                deadline end => Event::Late,
            }}
        }}

        fn answer(asked: Asked, message: &str, payload: &[u8]) -> Result<Self::Ready, Fault> {{
            #[allow(unused_mut)] let mut values = Values::new(payload);
            match (asked, message) {{
{answers}                _ => Err(Fault::OutOfTurn),
            }}
        }}

        fn bind(names: &mut Names, path: &str, end: Duration) -> Result<Self::Service, Error> {{
            let (imp, exp) = C::new_channel()?;
            names.bind(path, exp)?;
            switch_receive! {{
                case imp.Success() as ready => Ok(ready),
                case imp.ChannelClosed() => Err(Error::Closed),
                deadline end => Err(Error::Timeout),
            }}
        }}

        fn call(
            service: Self::Service,
            message: &str,
            payload: &[u8],
            end: Duration,
        ) -> Result<(&'static str, Vec<u8>, Self::Service), Fault> {{
            #[allow(unused_mut)] let mut values = Values::new(payload);
            #[allow(unused_mut)] let mut out = Vec::new();
            match message {{
{calls}                _ => Err(Fault::OutOfTurn),
            }}
        }}
    }}
}}
"
    )
}

/// `GetUtc` as `get_utc`.
fn snake(name: &str) -> String {
    let mut text = String::new();
    for (at, letter) in name.char_indices() {
        if letter.is_uppercase() && at > 0 {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(messages: &str, ready: &str) -> Result<String, String> {
        let text = format!(
            "contract P {{ in message W(); state Start: W? -> closed; }}
             rep struct Q {{ int x; }}
             contract S {{ out message Success(); {messages}
               state Start: Success! -> Ready; state Ready: {ready} -> Ready; }}"
        );
        let contracts = sing_contract::load(&text).expect("a contract");
        code(&contracts, "S", "crate")
    }

    #[test]
    fn what_cannot_cross_is_refused_with_the_reason() {
        let answer = "out message A(int x);";
        for (messages, why) in [
            ("in message R(P.Exp:Start e);", "passes on an endpoint"),
            ("in message R(int x) requires x > 0;", "requires something"),
            (
                "in message R(int? x) requires !x.HasValue || x.Value > 0;",
                "requires something",
            ),
            // Not judged by the kernel, but by the sender.
            (
                "in message R(byte[]? in ExHeap b) requires b.HasValue;",
                "requires something",
            ),
            (
                "in message R(byte[] in ExHeap b) requires b.Length > 3;",
                "requires something",
            ),
            ("in message R(Q q);", "of type Q"),
            ("in message R(Q? q);", "of type Q?"),
            ("in message R(double? d);", "of type double?"),
        ] {
            let refused = made(&format!("{messages} {answer}"), "R? -> A!").unwrap_err();
            assert!(
                refused.contains(why) && refused.starts_with("S cannot be"),
                "{refused}"
            );
        }
        let refused = made(&format!("in message R(); {answer}"), "R? -> A! -> A!").unwrap_err();
        assert!(refused.contains("does not lead back"), "{refused}");
        assert!(made(&format!("in message R(); {answer}"), "R? -> A!").is_ok());
        let code = made(
            &format!("in message R(bool on, int? x, byte[]? in ExHeap b); {answer}"),
            "R? -> A!",
        )
        .unwrap();
        assert!(
            code.contains("let v2: Option<Vector<u8>> = values.take()?;"),
            "{code}"
        );
    }

    #[test]
    fn a_changed_contract_is_another() {
        let of = |ty: &str| {
            let code = made(
                &format!("in message R(); out message A({ty} x);"),
                "R? -> A!",
            );
            let code = code.expect("code");
            code.lines()
                .find(|l| l.contains("IDENTITY"))
                .map(String::from)
        };
        assert_eq!(of("int"), of("int"));
        assert_ne!(of("int"), of("uint"));
        assert_ne!(of("int"), of("int?"));
    }
}
