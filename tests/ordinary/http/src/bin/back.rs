//! A handler that asks another server: `/ask/PATH` is answered by the back end at the variable `BACK`, of which each
//! part passes through as it comes.

use wstd::http::{Body, Client, Error, Request, Response};

#[wstd::http_server]
async fn main(request: Request<Body>) -> Result<Response<Body>, Error> {
    let path = request.uri().path().trim_start_matches("/ask/").to_owned();
    let back = std::env::var("BACK").unwrap_or_default();
    let method = request.method().clone();
    let asked = Request::builder()
        .method(method)
        .uri(format!("{back}/{path}"))
        .body(request.into_body())?;
    let answer = match Client::new().send(asked).await {
        Ok(answer) => answer,
        Err(error) => {
            let text = format!("no answer: {error:?}\n");
            return Ok(Response::builder().status(502).body(text.into())?);
        }
    };
    let mut passed = Response::builder().status(answer.status());
    for (name, value) in answer.headers() {
        passed = passed.header(name, value);
    }
    Ok(passed.body(answer.into_body())?)
}
