//! Text and names in HTML, and what all pages have around them.

/// Text in HTML, in attributes too.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// The anchor of a state on its contract's page.
pub(super) fn anchor(state: &str) -> String {
    format!("state-{}", state.replace('\'', "."))
}

/// The file with a contract's page.
pub(super) fn file(contract: &str) -> String {
    // `index` and `types` are names that a contract may have too.
    format!("contract.{contract}.html")
}

/// Documentation lines as paragraphs; what stands between backquotes is code.
pub(super) fn docs(lines: &[String]) -> String {
    let text = lines.join("\n");
    let mut out = String::new();
    for paragraph in text.split("\n\n").map(str::trim).filter(|p| !p.is_empty()) {
        let parts = paragraph.split('`').enumerate();
        let last = paragraph.matches('`').count();
        let parts: String = parts
            .map(|(i, part)| match (i % 2, i == last) {
                (1, false) => format!("<code>{}</code>", escape(part)),
                // A lone backquote stands for itself.
                (1, true) => format!("`{}", escape(part)),
                _ => escape(part),
            })
            .collect();
        out += &format!("<p>{parts}</p>\n");
    }
    out
}

/// A page.
pub(super) fn page(title: &str, body: &str) -> String {
    let title = escape(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )
}

const STYLE: &str = include_str!("style.css");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_becomes_markup() {
        assert_eq!(
            escape("<a href='x'>&\""),
            "&lt;a href=&#39;x&#39;&gt;&amp;&quot;"
        );
        let lines = ["Some `code <b>`, a lone ` here.", "", "More <i>."].map(String::from);
        assert_eq!(
            docs(&lines),
            "<p>Some <code>code &lt;b&gt;</code>, a lone ` here.</p>\n<p>More &lt;i&gt;.</p>\n"
        );
        assert_eq!(docs(&[]), "");
    }
}
