//! What was found, for a reader.

use super::privilege;
use crate::output;
use serde_json::Value;

/// A line is filled to this width.
const WIDTH: usize = 100;
/// So many functions of a path are shown.
const SHOWN: usize = 24;
/// Where the second column begins.
const COLUMN: usize = 14;

fn row(what: &str, text: &str) {
    output::line(format!("{what:<COLUMN$} {text}"));
}

/// A row whose text goes on below where it is long.
fn filled(what: &str, words: impl IntoIterator<Item = String>) {
    let (mut what, mut line) = (what, String::new());
    for word in words {
        if !line.is_empty() && COLUMN + 1 + line.len() + 1 + word.len() > WIDTH {
            row(what, &line);
            (what, line) = ("", String::new());
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += &word;
    }
    if !line.is_empty() {
        row(what, &line);
    }
}

fn texts(value: &Value) -> impl Iterator<Item = String> {
    let all = value.as_array().into_iter().flatten();
    all.map(|text| text.as_str().unwrap_or_default().to_owned())
}

/// Words with a comma behind each but the last.
fn listed(words: Vec<String>) -> impl Iterator<Item = String> {
    let last = words.len().saturating_sub(1);
    let comma = move |(at, word)| if at < last { word + "," } else { word };
    words.into_iter().enumerate().map(comma)
}

/// Prints the report.
pub fn print(found: &Value) {
    row("program", found["program"].as_str().unwrap_or_default());
    let code = &found["code"];
    let idle = &code["unreached"];
    let left = match idle["bytes"].as_u64() {
        Some(0) => "and are left out",
        _ => "which are kept",
    };
    row(
        "code",
        &format!(
            "{} bytes in {} functions, of which nothing reaches {} ({} bytes of the module), {left}",
            code["bytes"], code["functions"], idle["functions"], idle["module_bytes"]
        ),
    );
    let data = &found["data"];
    let segments = data["segments"].as_array().map_or(0, Vec::len);
    row(
        "data",
        &format!(
            "{} bytes in {segments} segments{}",
            data["bytes"],
            places(data)
        ),
    );
    if let Some(note) = data["note"].as_str() {
        row("", note);
    }
    talks(&found["contracts"]);
    entries(&found["kernel_entries"]);
    let instructions: Vec<String> = texts(&found["kernel_instructions"]).collect();
    filled("and by code", listed(instructions));
    let idle: Vec<String> = texts(&found["imports_never_reached"]).collect();
    filled("never called", listed(idle));
    for region in found["regions_without_allocation"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let text = |what: &str| region[what].as_str().unwrap_or_default();
        row(
            "no allocation",
            &format!(
                "{}: in {}, nor in all that it calls ({} functions)",
                text("name"),
                text("function"),
                region["functions"]
            ),
        );
    }
    depths(&found["stack"]);
    for function in found["functions"].as_array().into_iter().flatten() {
        let reached = match function["reached"].as_bool() {
            Some(false) => "  (never called)",
            _ => "",
        };
        output::line(format!(
            "{:>8} bytes, data {:>7} (alone {:>7}), frame {:>6}  {}{reached}",
            function["code"].to_string(),
            function["data"].to_string(),
            function["data_alone"].to_string(),
            function["frame"].to_string(),
            function["name"].as_str().unwrap_or_default()
        ));
    }
}

/// How the data is reached, where there is some.
fn places(data: &Value) -> String {
    let words = [
        ("named", "named by functions"),
        ("pointed_to", "behind pointers in these"),
        ("unreached", "named by functions that are never called"),
        ("not_attributed", "not attributed"),
    ];
    let parts = words.iter().filter(|(key, _)| data[*key] != 0);
    let parts: Vec<String> = parts
        .map(|(key, what)| format!("{} {what}", data[*key]))
        .collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!(": {}", parts.join(", ")),
    }
}

/// What is said on each contract, and to whom.
fn talks(contracts: &Value) {
    let contracts = contracts.as_array().map_or(&[][..], Vec::as_slice);
    if contracts.is_empty() {
        row("can send", "nothing");
    }
    for talk in contracts {
        let name = talk["contract"].as_str().unwrap_or_default();
        let sends: Vec<String> = texts(&talk["sends"]).collect();
        let mut with: Vec<String> = texts(&talk["with"]).collect();
        if talk["makes_channels"] == true {
            with.push("whoever it gives an end of its own channels".into());
        }
        with.push("endpoints that come in messages".into());
        let with: Vec<String> = listed(with).collect();
        row("contract", &format!("{name}: with {}", with.join(" ")));
        let receives = match talk["receives"].as_bool() {
            Some(true) => "receives messages",
            _ => "receives nothing",
        };
        match sends.is_empty() {
            true => row("", receives),
            false => filled(
                "",
                std::iter::once("sends".to_owned())
                    .chain(listed(sends))
                    .chain([format!("and {receives}")]),
            ),
        }
    }
}

/// The kernel's entries.
fn entries(entries: &Value) {
    let words = texts(entries).map(|name| match privilege(&name) {
        Some(privilege) => format!("{name} (privilege {privilege})"),
        None => name,
    });
    let words: Vec<String> = words.collect();
    match words.is_empty() {
        true => row("kernel", "nothing is called"),
        false => filled("kernel", listed(words)),
    }
}

/// The depth of the stack.
fn depths(stack: &Value) {
    let usable = &stack["usable"];
    let greatest = &stack["greatest"];
    if greatest["bytes"].is_number() {
        row(
            "stack",
            &format!("at most {} of {usable} bytes", greatest["bytes"]),
        );
        return path(greatest);
    }
    let groups = &greatest["groups"];
    let what = match groups.as_u64() {
        Some(1) => "functions that can call each other in a circle".into(),
        _ => format!("{groups} groups of functions that can call each other in circles"),
    };
    row(
        "stack",
        &format!("unbounded by the calls alone ({usable} bytes, tested at run-time), for {what}:"),
    );
    for circle in greatest["circles"].as_array().into_iter().flatten() {
        let mut names: Vec<String> = texts(circle).collect();
        names.extend(names.first().cloned());
        for (at, name) in names.iter().enumerate() {
            row(
                "",
                &format!("{}{name}", if at == 0 { "" } else { "calls " }),
            );
        }
    }
    let direct = &stack["without_calls_by_type"];
    if direct["bytes"].is_number() {
        let bytes = &direct["bytes"];
        row(
            "",
            &format!("without calls by tables and references at most {bytes} bytes"),
        );
        path(direct);
    }
}

/// The way to the greatest depth.
fn path(depth: &Value) {
    let path = depth["path"].as_array().map_or(&[][..], Vec::as_slice);
    for function in path.iter().take(SHOWN) {
        let frame = function["frame"].to_string();
        let name = function["name"].as_str().unwrap_or_default();
        row("", &format!("{frame:>6}  {name}"));
    }
    if let Some(more) = path.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        row("", &format!("… and {more} more (--json has all)"));
    }
}
