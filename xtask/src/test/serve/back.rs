//! A handler that asks a back end of this machine (`tests/ordinary/http`), with leave and without.

use super::{LARGE, Place};
use crate::test::ordinary::{HttpServer, built_for_http};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::net::TcpListener;

/// The test's name.
pub const BACK: &str = "a back end";

/// All of it.
pub fn back(place: &Place<'_>) -> Result<()> {
    let project = &place.run.project;
    fs::copy(
        built_for_http(project, "back")?,
        place.folder.join("back.wasm"),
    )?;
    let end = HttpServer::start(project)?;
    let variable = format!("BACK=http://127.0.0.1:{}", end.port);
    let serve = |net: &[&str]| place.serve("back.wasm", &[net, &["--env", &variable]].concat());
    let server = serve(&["--net"])?;
    server.answers(
        "ask/text",
        &["HTTP/1.1 200 OK\r\n", "x-a: b\r\n", "\r\n\r\nhello"],
    )?;
    server.answers(
        "ask/missing",
        &["HTTP/1.1 404 Not Found\r\n", "\r\n\r\nnone"],
    )?;
    server.answers("ask/nothing", &["HTTP/1.1 502 ", "ConnectionTerminated"])?;
    // What it has of the body before the end fails, its client does not take for the whole.
    let output = server.curl(&[], "ask/bad-chunk").output()?;
    ensure!(!output.status.success(), "{output:?}");
    let body: Vec<u8> = (0..LARGE as u32).map(|i| (i * 31 / 7) as u8).collect();
    let file = place.folder.join("asked");
    fs::write(&file, &body)?;
    let data = format!("@{}", file.display());
    let output = server
        .curl(&["--data-binary", &data], "ask/echo")
        .output()?;
    let count = output.stdout.len();
    let good = output.status.success() && output.stdout == body;
    ensure!(good, "{count} bytes came back; {}", server.log()?);
    // It is no server for others, though it may ask all.
    let elsewhere = TcpListener::bind(("127.0.0.2", server.port));
    elsewhere.context("the server listens at more than 127.0.0.1")?;
    drop(server);
    let denied = ["HTTP/1.1 502 ", "HttpRequestDenied"];
    for (net, answer) in [
        (&[][..], &denied[..]),
        (&["--net=10.0.0.0/8"], &denied),
        (&["--net=127.0.0.1"], &["\r\n\r\nhello"]),
    ] {
        let server = serve(net)?;
        let answered = server.answers("ask/text", answer);
        answered.with_context(|| format!("{net:?}"))?;
    }
    let module = place.command(&["--net"], "cgi.wasm".as_ref()).output()?;
    let said = String::from_utf8_lossy(&module.stderr).into_owned();
    let refused = "--net: cgi.wasm is no component, and only a component (WASI 0.2) makes sockets; make it one \
         (wasm32-wasip2), or leave --net out\n";
    ensure!(said.contains(refused), "{said}");
    Ok(())
}
