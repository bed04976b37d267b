//! The pages: every link leads somewhere, nothing of a text becomes markup, and programs stand
//! where they belong.

use sing_contract::Contracts;
use sing_contract_tools::doc::{Page, Program, Usage, pages};
use sing_image::manifest::{Manifest, Side, StartupEndpoint};
use sing_image::system::{Channel, End, SystemManifest};
use std::collections::BTreeMap;
use std::path::Path;

fn texts(text: &str) -> Vec<Contracts> {
    match sing_contract::load(text) {
        Ok(contracts) => vec![contracts],
        Err(errors) => panic!("{}", errors[0]),
    }
}

/// The values of an attribute.
fn values<'a>(text: &'a str, attribute: &str) -> Vec<&'a str> {
    let start = format!(" {attribute}=\"");
    let parts = text.split(start.as_str()).skip(1);
    parts.filter_map(|part| part.split('"').next()).collect()
}

fn check_links(pages: &[Page]) {
    let by_name: BTreeMap<&str, &str> = pages
        .iter()
        .map(|p| (p.name.as_str(), p.text.as_str()))
        .collect();
    for page in pages {
        let ids = values(&page.text, "id");
        for (i, id) in ids.iter().enumerate() {
            assert!(!ids[..i].contains(id), "{}: {id} stands twice", page.name);
        }
        for link in values(&page.text, "href") {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let aim = if file.is_empty() {
                Some(&page.text.as_str())
            } else {
                by_name.get(file)
            };
            let aim = aim.unwrap_or_else(|| panic!("{}: {link}: no such page", page.name));
            let there = anchor.is_empty() || values(aim, "id").contains(&anchor);
            assert!(there, "{}: {link}: no such place", page.name);
        }
    }
}

#[test]
fn the_systems_contracts() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../system/contracts/system.contract");
    let contracts = sing_contract::load_file(&file).unwrap();
    let count = contracts.model.contracts.len();
    let pages = pages(&[contracts], &Usage::default()).unwrap();
    assert_eq!(pages.len(), count + 2);
    check_links(&pages);
}

const TEXT: &str = "
    /// A <b>bold</b> claim & `x < y`.
    enum Colour { Red, Green }
    rep struct Pair { Colour a; index.Exp:Start b; Tree* in ExHeap c; }
    rep struct Tree { Tree*? in ExHeap left; }
    /// First words.
    ///
    /// More <i>words</i>.
    contract index {
      /// Says <script>.
      in message M(int x, Colour c) requires x < 3 && c != Colour.Red;
      out message N();
      state Start: M? -> N! -> Start;
      state Lost: M? -> closed;
    }
    contract types : index {
      in message Give(Pair pair, index.Exp:Start other);
      override state Start: one { M? -> N! -> Start; Give? -> N! -> Start; };
    }
    contract Less narrows types.Imp { M; }
";

#[test]
fn all_kinds_of_things() {
    let pages = pages(&texts(TEXT), &Usage::default()).unwrap();
    check_links(&pages);
    let text = |name: &str| &pages.iter().find(|p| p.name == name).unwrap().text;
    for page in &pages {
        for markup in ["<script", "<i>", "<b>"] {
            assert!(!page.text.contains(markup), "{}: {markup}", page.name);
        }
    }
    let index = text("contract.index.html");
    for part in [
        "x &lt; 3 &amp;&amp; c != Colour.Red",
        "Derived from it: <a href=\"contract.types.html\">types</a>",
        "Its endpoints travel in <a class=\"mono\" href=\"contract.Less.html#message-Give\">",
        "no conversation comes here",
        "only the close is left",
    ] {
        assert!(index.contains(part), "{part}\n{index}");
    }
    assert!(!text("index.html").contains("More"));
    assert!(text("contract.Less.html").contains(
        "Narrows side Imp of <a href=\"contract.types.html\">types</a>: its holder may still say M."
    ));
    assert!(text("types.html").contains("enum <span class=\"mono\">Colour</span>"));
}

#[test]
fn who_speaks_what() {
    let program = |name: &str, side: Side, imports: &[&str]| Program {
        manifest: Manifest {
            name: name.into(),
            endpoints: vec![StartupEndpoint {
                name: "door".into(),
                contract: "index".into(),
                side,
                state: None,
                optional: false,
                many: false,
            }],
            ..Manifest::default()
        },
        imports: imports
            .iter()
            .map(|i| ("contract:index".into(), (*i).into()))
            .collect(),
    };
    let end = |of: &str| End {
        of: of.into(),
        endpoint: "door".into(),
    };
    let usage = Usage {
        programs: vec![
            program("server<1>", Side::Exp, &["exp.recv", "exp.call.N"]),
            program("client", Side::Imp, &["imp.send.M", "imp.recv"]),
        ],
        systems: vec![SystemManifest {
            start: Vec::new(),
            channels: vec![Channel {
                contract: "index".into(),
                imp: end("client"),
                exp: end("server"),
            }],
            ..SystemManifest::default()
        }],
    };
    let pages = pages(&texts(TEXT), &usage).unwrap();
    let text = |name: &str| &pages.iter().find(|p| p.name == name).unwrap().text;
    let page = text("contract.index.html");
    let row = |name: &str| {
        page.lines()
            .find(|l| l.starts_with(&format!("<tr><td class=\"mono\">{name}<")))
            .unwrap()
    };
    assert!(
        row("server&lt;1&gt;").contains("serves (Exp)") && row("server&lt;1&gt;").contains(">N<")
    );
    assert!(
        row("client").contains("uses (Imp)")
            && row("client").contains(">M<")
            && row("client").contains(">door<")
    );
    assert!(page.contains("client.door &rarr; server.door"));
    assert!(text("contract.types.html").contains("None of the programs at hand speaks it itself."));
}

#[test]
fn two_contracts_of_one_name_are_refused() {
    let one = texts("contract C { in message M(); state S: M? -> closed; }");
    let other = texts("contract C { in message N(); state S: N? -> closed; }");
    assert!(pages(&[&one[..], &one[..]].concat(), &Usage::default()).is_ok());
    let error = pages(&[&one[..], &other[..]].concat(), &Usage::default()).unwrap_err();
    assert!(error.contains("different contracts by C"), "{error}");
}
