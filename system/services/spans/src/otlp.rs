//! Spans as OTLP has them in JSON (opentelemetry-proto, `ExportTraceServiceRequest`): numbers of
//! traces and spans in hexadecimal digits, 64-bit numbers as texts, enums as numbers.

use crate::record::{Span, Value};
use alloc::format;
use alloc::string::{String, ToString};
use watch::json::Object;

/// A status that says that a span has failed.
const FAILED: u64 = 2;

/// What spans are of: who has made them.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The service's name.
    pub service: &'a str,
    /// Its version.
    pub version: &'a str,
}

fn attribute(object: &mut Object<'_>, key: &str, value: &Value) {
    object.text("key", key);
    object.object("value", |of| match value {
        Value::Text(text) => of.text("stringValue", text),
        Value::Number(number) => of.text("intValue", &number.to_string()),
    });
}

fn span(object: &mut Object<'_>, span: &Span) {
    object.text("traceId", &format!("{:032x}", span.trace));
    object.text("spanId", &format!("{:016x}", span.id));
    if span.parent != 0 {
        object.text("parentSpanId", &format!("{:016x}", span.parent));
    }
    object.text("name", &span.name);
    object.number("kind", span.kind as u64);
    object.text("startTimeUnixNano", &span.begin.to_string());
    object.text("endTimeUnixNano", &span.end.to_string());
    object.list("attributes", &span.attributes, |object, (key, value)| {
        attribute(object, key, value);
    });
    object.object("status", |status| {
        if let Some(reason) = &span.failure {
            status.text("message", reason);
            status.number("code", FAILED);
        }
    });
}

/// The body of a request to a collector.
#[must_use]
pub fn request(source: Source<'_>, spans: &[Span]) -> String {
    let of = [
        ("service.name", source.service),
        ("service.version", source.version),
    ];
    let mut out = String::new();
    let mut all = Object::new(&mut out);
    all.list("resourceSpans", [()], |object, ()| {
        object.object("resource", |resource| {
            resource.list("attributes", of, |object, (key, text)| {
                attribute(object, key, &Value::Text(text.into()));
            });
        });
        object.list("scopeSpans", [()], |object, ()| {
            object.object("scope", |scope| scope.text("name", "singularity"));
            object.list("spans", spans, span);
        });
    });
    all.end();
    out
}

/// How many of so many spans a collector has taken, by the body of its answer, which may reject some
/// (`partialSuccess`). An answer that says nothing of that has taken all.
#[must_use]
pub fn taken(answer: &str, sent: u32) -> u32 {
    let rejected = answer
        .split_once("\"rejectedSpans\"")
        .and_then(|(_, rest)| {
            let rest = rest.trim_start().strip_prefix(':')?.trim_start();
            let rest = rest.strip_prefix('"').unwrap_or(rest);
            let end = rest.find(|c: char| !c.is_ascii_digit());
            rest[..end.unwrap_or(rest.len())].parse::<u64>().ok()
        });
    let rejected = rejected.unwrap_or(0).min(sent.into());
    sent - rejected as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;
    use serde_json::{Value as JsonValue, json};
    use sing_sdk::contracts::SpanKind;

    const SOURCE: Source<'static> = Source {
        service: "web",
        version: "1",
    };

    fn spans(name: &str) -> vec::Vec<Span> {
        let server = Span {
            trace: 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736,
            id: 0x00f0_67aa_0ba9_02b7,
            parent: 0,
            begin: 1_790_000_000_000_000_001,
            end: 1_790_000_000_000_000_009,
            kind: SpanKind::Server,
            name: name.into(),
            failure: None,
            attributes: vec![
                ("url.path".into(), Value::Text(name.into())),
                ("http.response.status_code".into(), Value::Number(200)),
            ],
        };
        let run = Span {
            parent: server.id,
            id: 1,
            kind: SpanKind::Internal,
            failure: Some("trap".into()),
            ..server.clone()
        };
        vec![server, run]
    }

    fn read(spans: &[Span]) -> JsonValue {
        serde_json::from_str(&request(SOURCE, spans)).expect("JSON")
    }

    #[test]
    fn a_request_has_the_fields_of_otlp() {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        let attributes = json!([
            { "key": "url.path", "value": { "stringValue": "GET \"/a\"" } },
            { "key": "http.response.status_code", "value": { "intValue": "200" } },
        ]);
        let resource = json!({ "attributes": [
            { "key": "service.name", "value": { "stringValue": "web" } },
            { "key": "service.version", "value": { "stringValue": "1" } },
        ] });
        let both = [
            json!({
                "traceId": trace, "spanId": "00f067aa0ba902b7", "name": "GET \"/a\"", "kind": 2,
                "startTimeUnixNano": "1790000000000000001",
                "endTimeUnixNano": "1790000000000000009",
                "attributes": attributes, "status": {},
            }),
            json!({
                "traceId": trace, "spanId": "0000000000000001",
                "parentSpanId": "00f067aa0ba902b7", "name": "GET \"/a\"", "kind": 1,
                "startTimeUnixNano": "1790000000000000001",
                "endTimeUnixNano": "1790000000000000009",
                "attributes": attributes, "status": { "message": "trap", "code": 2 },
            }),
        ];
        let whole = json!({ "resourceSpans": [{
            "resource": resource,
            "scopeSpans": [{ "scope": { "name": "singularity" }, "spans": both }],
        }] });
        assert_eq!(read(&spans("GET \"/a\"")), whole);
    }

    #[test]
    fn what_a_collector_rejects_is_not_taken() {
        for (answer, is) in [
            ("", 5),
            ("{}", 5),
            ("{\"partialSuccess\":{}}", 5),
            ("{\"partialSuccess\":{\"rejectedSpans\":\"2\"}}", 3),
            (
                "{\"partialSuccess\": {\"rejectedSpans\" : 2, \"errorMessage\":\"\"}}",
                3,
            ),
            (
                "{\"partialSuccess\":{\"rejectedSpans\":\"99999999999\"}}",
                0,
            ),
            ("{\"rejectedSpans\":\"-2\"}", 5),
            ("\"rejectedSpans\"", 5),
            ("\u{0}\u{fffd}nonsense", 5),
        ] {
            assert_eq!(taken(answer, 5), is, "{answer}");
        }
    }

    proptest! {
        #[test]
        fn no_text_of_a_client_breaks_it(name: String, answer: String) {
            let all = read(&spans(&name));
            let spans = &all["resourceSpans"][0]["scopeSpans"][0]["spans"];
            prop_assert_eq!(spans.as_array().map(|spans| spans.len()), Some(2));
            prop_assert!(taken(&answer, 3) <= 3);
        }
    }
}
