//! Asks servers by HTTP: `cargo xtask test ordinary` builds it, and has a server that also misbehaves
//! (`tests/ordinary/http/server.py`).
//!
//! `client WAY URL` does what WAY says and writes what came of it. The first ways are written with `wstd`, as programs
//! are; the last ones with the interface itself, of which they tell the errors.

use std::process::ExitCode;
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, IncomingBody, Method, OutgoingRequest, RequestOptions, Scheme,
};
use wasip2::io::streams::StreamError;
use wstd::http::{Body, Client, Request, Response};

type Done = Result<(), Box<dyn std::error::Error>>;

/// A second, in the nanoseconds of the interface.
const SECOND: u64 = 1_000_000_000;
/// Bytes of a large body, and requests at once.
const LARGE: usize = 3_000_001;
const MANY: usize = 20;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["get", url] => wstd::runtime::block_on(get(url)),
        ["post", url, text] => wstd::runtime::block_on(post(url, text)),
        ["large", url] => wstd::runtime::block_on(large(url)),
        ["many", url] => wstd::runtime::block_on(many(url)),
        ["why", url] => why(url, SECOND),
        ["dropped", url] => dropped(url),
        _ => Err("no such way".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error:?}");
            ExitCode::FAILURE
        }
    }
}

/// Writes status, the fields that begin with `x-`, and the body.
async fn show(response: Response<Body>) -> Done {
    println!("{}", response.status().as_u16());
    for (name, value) in response.headers() {
        if name.as_str().starts_with("x-") {
            println!("{name}: {}", value.to_str()?);
        }
    }
    let mut body = response.into_body();
    println!("{}", body.str_contents().await?);
    Ok(())
}

async fn get(url: &str) -> Done {
    let request = Request::get(url).body(Body::empty())?;
    show(Client::new().send(request).await?).await
}

/// A short body, whose length its server is told.
async fn post(url: &str, text: &str) -> Done {
    let request = Request::post(url)
        .header("X-Asked", "a, b")
        .body(Body::from(text.to_owned()))?;
    show(Client::new().send(request).await?).await
}

/// A body that goes and comes back in many pieces.
async fn large(url: &str) -> Done {
    let sent: Vec<u8> = (0..LARGE).map(|i| (i * 31 / 7) as u8).collect();
    let request = Request::put(url).body(Body::from(sent.clone()))?;
    let mut body = Client::new().send(request).await?.into_body();
    let back = body.contents().await?;
    println!("{}", back == sent);
    Ok(())
}

/// Many requests, none of which has its answer before the last is sent.
async fn many(url: &str) -> Done {
    let tasks: Vec<_> = (0..MANY)
        .map(|number| {
            let url = format!("{url}?{number}");
            wstd::runtime::spawn(async move {
                let request = Request::get(&url).body(Body::empty()).ok()?;
                let mut body = Client::new().send(request).await.ok()?.into_body();
                let text = body.str_contents().await.ok()?.to_owned();
                Some(text == number.to_string())
            })
        })
        .collect();
    let mut answered = 0;
    for task in tasks {
        answered += usize::from(task.await == Some(true));
    }
    println!("{answered}");
    Ok(())
}

/// A request for `SCHEME://AUTHORITY/PATH`.
fn request(url: &str) -> Result<OutgoingRequest, &'static str> {
    let (scheme, rest) = url.split_once("://").ok_or("a URL has ://")?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let scheme = match scheme {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => Scheme::Other(other.into()),
    };
    let request = OutgoingRequest::new(Fields::new());
    let set = request.set_method(&Method::Get);
    set.map_err(|()| "the method")?;
    let set = request.set_scheme(Some(&scheme));
    set.map_err(|()| "the scheme")?;
    let set = request.set_authority(Some(authority));
    set.map_err(|()| "the authority")?;
    let set = request.set_path_with_query(Some(&format!("/{path}")));
    set.map_err(|()| "the path")?;
    Ok(request)
}

/// Writes where a request fails for which each wait may take so long, why, and what came before.
fn why(url: &str, time: u64) -> Done {
    let options = RequestOptions::new();
    let time = Some(time);
    let set = options
        .set_connect_timeout(time)
        .and_then(|()| options.set_first_byte_timeout(time))
        .and_then(|()| options.set_between_bytes_timeout(time));
    set.map_err(|()| "the times")?;
    let future = match handle(request(url)?, Some(options)) {
        Ok(future) => future,
        Err(error) => return told("at once", &error),
    };
    if future.get().is_some() {
        return Err("an answer without a wait".into());
    }
    future.subscribe().block();
    let answer = match future
        .get()
        .ok_or("no answer")?
        .map_err(|()| "told before")?
    {
        Ok(answer) => answer,
        Err(error) => return told("no answer", &error),
    };
    let body = answer.consume().map_err(|()| "no body")?;
    let stream = body.stream().map_err(|()| "no stream")?;
    let mut all = Vec::new();
    loop {
        match stream.blocking_read(1 << 16) {
            Ok(more) => all.extend(more),
            Err(StreamError::Closed) => break,
            Err(StreamError::LastOperationFailed(error)) => {
                println!("{}", String::from_utf8_lossy(&all));
                let code = wasip2::http::types::http_error_code(&error);
                return told("the body", &code.ok_or("another error")?);
            }
        }
    }
    println!("{}", String::from_utf8_lossy(&all));
    drop(stream);
    let trailers = IncomingBody::finish(body);
    trailers.subscribe().block();
    let trailers = trailers
        .get()
        .ok_or("no trailers")?
        .map_err(|()| "told before")?;
    for (name, value) in trailers?.iter().flat_map(Fields::entries) {
        println!("{name}: {}", String::from_utf8_lossy(&value));
    }
    Ok(())
}

fn told(place: &str, error: &ErrorCode) -> Done {
    println!("{place}: {error:?}");
    Ok(())
}

/// Gives requests up before their answers come: more than there are descriptors.
fn dropped(url: &str) -> Done {
    for number in 0..1100 {
        let future = handle(request(url)?, None)?;
        if number % 100 == 0 {
            let pollable = future.subscribe();
            let _ = pollable.ready();
        }
    }
    // Its server takes a while to notice.
    why(&url.replace("/slow", "/text"), 60 * SECOND)
}
