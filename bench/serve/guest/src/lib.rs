//! Answers `/page?bytes=N` with a page of so many letters, as `web-try` does under the web server: what
//! `wasmtime serve` starts an instance of for each request.

use std::io::Write;
use wasip2::exports::http::incoming_handler::Guest;
use wasip2::http::types::{
    Fields, IncomingRequest, OutgoingBody, OutgoingResponse, ResponseOutparam,
};

wasip2::http::proxy::export!(Pages);

/// The most bytes of a page.
const MOST: usize = 1 << 20;

struct Pages;

impl Guest for Pages {
    fn handle(request: IncomingRequest, out: ResponseOutparam) {
        let target = request.path_with_query().unwrap_or_default();
        let bytes = target
            .split_once("bytes=")
            .and_then(|(_, text)| text.parse().ok())
            .unwrap_or(0_usize)
            .min(MOST);
        let mut page: Vec<u8> = (b'a'..=b'z').collect();
        page = page.repeat(bytes / page.len() + 1);
        page.truncate(bytes);
        let headers = [
            ("content-type".to_owned(), b"text/plain".to_vec()),
            ("content-length".to_owned(), bytes.to_string().into_bytes()),
        ];
        // Without these headers, or a body, the client sees a wrong answer and says so.
        let headers = Fields::from_list(&headers).unwrap_or_else(|_| Fields::new());
        let response = OutgoingResponse::new(headers);
        let body = response.body();
        ResponseOutparam::set(out, Ok(response));
        let Ok(body) = body else { return };
        let whole = body
            .write()
            .is_ok_and(|mut stream| stream.write_all(&page).is_ok());
        if whole {
            let _ = OutgoingBody::finish(body, None);
        }
    }
}
