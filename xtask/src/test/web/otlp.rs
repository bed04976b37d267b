//! The shape of what a collector gets by OTLP over HTTP in JSON, after opentelemetry-proto's
//! `trace.proto` and the rules for JSON: a field that is not there is a fault.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Export {
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ResourceSpans {
    resource: Resource,
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Resource {
    attributes: Vec<Attribute>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScopeSpans {
    scope: Scope,
    spans: Vec<Span>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scope {
    name: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Span {
    pub trace_id: String,
    pub span_id: String,
    #[serde(default)]
    pub parent_span_id: String,
    pub name: String,
    pub kind: u8,
    pub start_time_unix_nano: String,
    pub end_time_unix_nano: String,
    pub attributes: Vec<Attribute>,
    pub status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Status {
    pub code: u8,
    pub message: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attribute {
    pub key: String,
    pub value: Value,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub enum Value {
    StringValue(String),
    IntValue(String),
}

impl Span {
    /// The value of an attribute, as text.
    pub fn value(&self, key: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|a| a.key == key)?;
        Some(match &found.value {
            Value::StringValue(text) | Value::IntValue(text) => text,
        })
    }

    /// When it was, in nanoseconds.
    pub fn times(&self) -> Result<(u64, u64)> {
        let begin = self.start_time_unix_nano.parse()?;
        Ok((begin, self.end_time_unix_nano.parse()?))
    }
}

fn is_id(text: &str, digits: usize) -> bool {
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    text.len() == digits && text.bytes().all(hex) && text.bytes().any(|b| b != b'0')
}

/// The spans of a request's body, each of which is what it should be.
pub fn read(body: &[u8]) -> Result<Vec<Span>> {
    let export: Export = serde_json::from_slice(body).context("not OTLP's JSON")?;
    let mut all = Vec::new();
    for of in export.resource_spans {
        let name = of
            .resource
            .attributes
            .iter()
            .find(|a| a.key == "service.name");
        let name = name.context("no service.name")?;
        ensure!(name.value == Value::StringValue("web".into()), "{name:?}");
        for scope in of.scope_spans {
            ensure!(!scope.scope.name.is_empty(), "a scope without a name");
            all.extend(scope.spans);
        }
    }
    for span in &all {
        let ids = is_id(&span.trace_id, 32) && is_id(&span.span_id, 16);
        let parent = &span.parent_span_id;
        ensure!(ids && (parent.is_empty() || is_id(parent, 16)), "{span:?}");
        ensure!((1..=3).contains(&span.kind), "{span:?}");
        let (begin, end) = span.times()?;
        ensure!(begin <= end, "it ends before it begins: {span:?}");
        // Since 2020, and for less than a minute.
        ensure!(begin > 1_577_836_800_000_000_000, "{span:?}");
        ensure!(end - begin < 60_000_000_000, "{span:?}");
        for attribute in &span.attributes {
            if let Value::IntValue(digits) = &attribute.value {
                digits.parse::<i64>().context("not a number")?;
            }
        }
    }
    Ok(all)
}
