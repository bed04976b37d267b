//! A tool that keeps notes: `{"write": "title", "text": "…"}` writes one, `{"read": "title"}` answers one,
//! and `{}` with the titles of all. Each is a file in the directory that the host gives to the call.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde_json::{Value, json};
use sing_sdk::fs::{Directory, Options};
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "notes",
    description: "keeps notes in a directory",
    endpoints: {
        calls: CallContract.Exp:Start,
        directories: many DirectoryContract.Imp:Ready,
    },
    memory: 4 MiB,
}

sing_sdk::arguments! {
    /// What the host calls the directories; this tool has one.
    names: many String "NAME";
}

/// Does what the arguments of a call say.
fn answer_of(notes: &mut Directory, arguments: &Value) -> Result<Value, Error> {
    let text = |name: &str| arguments[name].as_str();
    if let Some(title) = text("write") {
        let mut file = notes.open_with(title, Options::create().truncate())?;
        file.write_at(0, text("text").unwrap_or_default().as_bytes())?;
        return Ok(json!("written"));
    }
    if let Some(title) = text("read") {
        let bytes = notes.open_file(title)?.read_to_end()?;
        return Ok(json!(String::from_utf8_lossy(&bytes)));
    }
    let mut titles = Vec::new();
    for entry in notes.list() {
        titles.push(entry?.name);
    }
    titles.sort();
    Ok(json!(titles))
}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    use CallContract::exp::Start;
    let mut notes = startup::directories().next().map(Directory::from_channel);
    let mut request = startup::calls().ok_or(Error::NotFound)?.recv();
    while let Start::Call(bytes, next) = request {
        let arguments = serde_json::from_slice(&bytes.to_vec()).unwrap_or_default();
        let own = notes.as_mut().ok_or(Error::NotFound);
        request = match own.and_then(|notes| answer_of(notes, &arguments)) {
            Ok(answer) => next.call_answer(Vector::from_bytes(answer.to_string().as_bytes())?),
            Err(error) => next.call_refused(Text::new(&error.to_string())?),
        };
    }
    Ok(())
}
