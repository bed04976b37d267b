//! Texts laid out anew keep what they say, with every comment in its place; doing it twice changes
//! nothing.

use proptest::prelude::*;
use sing_contract::{format, parse};

fn formatted(text: &str) -> String {
    match format::source("test", text) {
        Ok(laid) => laid,
        Err(errors) => panic!("{text}\n---\n{}", errors[0]),
    }
}

/// Formats, and holds the promises that every text is given.
fn check(text: &str) -> String {
    let once = formatted(text);
    let twice = formatted(&once);
    assert!(
        once == twice,
        "the second time differs: {text}\n--- once\n{once}\n--- twice\n{twice}"
    );
    assert!(once.lines().all(|l| l.trim_end() == l), "{once}");
    assert!(!once.contains("\n\n\n") && !once.starts_with('\n'));
    once
}

#[test]
fn spaces_and_lines_are_put_right() {
    let text = "\n\npublic   contract C1{in message Request( int x )requires x>0&&-x<!b , y==- 3;\n\n\n\
        out message Reply ( byte [ ] ! in ExHeap d ,B.Exp : S e,R * in ExHeap r);\
        state Start:Request?\n->(Reply! or Error!)\n->Start ; override state T:one{A?->B!->T;C!->closed};state U;};\
        enum E:byte{Red,\nGreen=-3}rep struct P{int ? x; E?y ;byte[ ]?in ExHeap z;};";
    let wanted = "public contract C1 {
  in message Request(int x) requires x > 0 && -x < !b, y == -3;

  out message Reply(byte[]! in ExHeap d, B.Exp:S e, R* in ExHeap r);
  state Start: Request? -> (Reply! or Error!) -> Start;
  override state T: one { A? -> B! -> T; C! -> closed; }
  state U;
}

enum E : byte {
  Red,
  Green = -3,
}

rep struct P { int? x; E? y; byte[]? in ExHeap z; }
";
    assert_eq!(check(text), wanted);
}

#[test]
fn comments_stay_where_they_are() {
    let wanted = "// A header.

// Imports.
import \"a.contract\"; // trailing
import \"b.contract\";

/* a block
     of two lines */

// Documents C.
contract C { // behind the brace
  // Documents M.
  in message M(int a); // behind M
  // Before N, not of N.

  /// Documents N.
  out message N(
    // Documents b.
    int b, // behind b
    // Documents c.
    int c
  );

  // Of the state.
  state S: one {
    // Before the alternative.
    M? -> N! -> S; // behind it
    /* beside */ M? -> /* inside */ S;
    M?
      // why
      -> S;
    // The last word.
  }
  // The last word of C.
} // behind C

// The end.
";
    assert_eq!(check(wanted), wanted);
    let crowded = "contract C{in message M();// of M\n//of S\nstate S:M?->/*x*/S;/*y*/state T:M?->S;\n\n//end\n\n}";
    let wanted = "contract C {
  in message M(); // of M
  //of S
  state S: M? -> /*x*/ S;
  /*y*/ state T: M? -> S;

  //end
}
";
    assert_eq!(check(crowded), wanted);
}

#[test]
fn long_lines_are_broken_where_they_are_loosest() {
    let text = "contract Long {
      in message Numbers(bool first, sbyte second, short third, int fourth, long fifth, char sixth, double seventh);
      in message Held(int number, int other) requires number > 0 && number < 1000 requires other != number || other == 12345;
      state Start: Numbers? -> (AcknowledgedTheNumbers! or RefusedTheNumbers!) -> (Held? or SomethingElse?) -> Start;
      state Both: (Numbers? -> AcknowledgedTheNumbers! -> Held? or Numbers? -> RefusedTheNumbers! -> SomethingElse?) -> Start;
      state Inner: one { Numbers? -> one { AcknowledgedTheNumbers! -> Start; RefusedTheNumbers! -> Start; SomeMore! -> Start; }; }
    }";
    let wanted = "contract Long {
  in message Numbers(
    bool first,
    sbyte second,
    short third,
    int fourth,
    long fifth,
    char sixth,
    double seventh
  );
  in message Held(int number, int other)
    requires number > 0 && number < 1000
    requires other != number || other == 12345;
  state Start: Numbers?
    -> (AcknowledgedTheNumbers! or RefusedTheNumbers!)
    -> (Held? or SomethingElse?)
    -> Start;
  state Both: (
    Numbers? -> AcknowledgedTheNumbers! -> Held?
    or Numbers? -> RefusedTheNumbers! -> SomethingElse?
  )
    -> Start;
  state Inner: one {
    Numbers? -> one {
      AcknowledgedTheNumbers! -> Start;
      RefusedTheNumbers! -> Start;
      SomeMore! -> Start;
    };
  }
}
";
    let laid = check(text);
    assert_eq!(laid, wanted);
    assert!(laid.lines().all(|l| l.len() <= 100));
}

#[test]
fn what_does_not_parse_is_reported_with_the_name_of_its_file() {
    let errors = format::source("some/file.contract", "contract C { in message }").unwrap_err();
    assert!(errors[0].to_string().contains("some/file.contract:1:"));
    assert!(format::source("f", "contract C { /* x }").is_err());
}

#[test]
fn permissions_are_blocks_like_others() {
    let text = "public contract N narrows C . Imp{A;/* why */B}contract M narrows N.Imp{A;\n}rep struct T{T* ? in ExHeap t;int[]?in ExHeap v;}";
    let wanted = "public contract N narrows C.Imp { A; /* why */ B; }

contract M narrows N.Imp {
  A;
}

rep struct T { T*? in ExHeap t; int[]? in ExHeap v; }
";
    assert_eq!(check(text), wanted);
}

#[test]
fn nothing_stays_nothing() {
    assert_eq!(check(""), "");
    assert_eq!(check(" \n\n"), "");
    assert_eq!(check("  // only this\n\n\n"), "// only this\n");
}

#[test]
fn the_systems_contracts_are_laid_out() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../system/contracts");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "contract") {
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(check(&text) == text, "{}: run `sing fmt`", path.display());
            count += 1;
        }
    }
    assert!(count > 5);
}

/// A text that parses, with white space and comments wherever they can be.
const SEED: &str = r#"
import "a.contract";
enum Colour : byte { Red, Green = 5, Blue = -7 }
rep struct Point { int x; long y; Colour c; }
rep struct Tree { Tree*? in ExHeap left; Point[]? in ExHeap points; }
contract Quiet narrows Rich.Imp { Open; Ball }
public contract Base { out message Success(); state Start: Success! -> Bound; state Bound: one { } }
public contract Rich : Base {
  in message Open(char[] in ExHeap path, Base.Exp:Start exp) requires true && !(1 > 2), path.x - -3 < 4 requires a;
  in message Move(Point[]! in points, Point* in ExHeap single, Colour c, double d) requires c == Colour.Red || d <= -1;
  out message Ok(); out message No(Base.Exp exp); message Ball(u8 a);
  override state Start: Success! -> Ready;
  state Many: one { Open? -> Ok! -> Many; } -> Move? -> Ready;
  state Ready: one {
    Open? -> (Ok! or No!) -> Ready;
    Move? -> one { Ok! -> Ready; No! -> Ball? -> (Ball! or Ok!) -> Ready; };
    state Inner: Ball? -> closed;
    Ball? -> Ball! -> Inner
  }
}
"#;

/// The seed's tokens, so that anything may stand between two of them.
fn tokens() -> Vec<&'static str> {
    let mut tokens = Vec::new();
    let mut rest = SEED.trim_start();
    while let Some(first) = rest.chars().next() {
        let len = if first == '"' {
            rest[1..].find('"').unwrap() + 2
        } else if first.is_ascii_alphanumeric() {
            rest.find(|c: char| !c.is_ascii_alphanumeric())
                .unwrap_or(rest.len())
        } else if ["->", "&&", "||", "==", "<="]
            .iter()
            .any(|s| rest.starts_with(s))
        {
            2
        } else {
            1
        };
        tokens.push(&rest[..len]);
        rest = rest[len..].trim_start();
    }
    tokens
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_white_space_and_comments(seldom in 13usize..80, gaps in proptest::collection::vec(0usize..10_000, 400)) {
        let mut text = String::new();
        for (token, gap) in tokens().iter().zip(gaps.iter().cycle()) {
            text.push_str(token);
            text.push_str(match gap % seldom {
                0 => "\n",
                1 => "\n\n\n",
                2 => " // behind\n",
                3 => "\n  // own line\n",
                4 => "\n\n// apart\n\n",
                5 => "/* in line */",
                6 => "\n/* begins */",
                7 => "/* ends */\n",
                8 => " /* over\n   lines */ ",
                9 => "\n/// documents\n",
                10 => " // one\n // two\n\n\n // three\n",
                11 => " /* a */ // b\n\n /* c */ /* d */\r\n",
                12 => " /* a */\n\n /* b */ ",
                _ => " ",
            });
        }
        prop_assert!(parse(&text).is_ok());
        check(&text);
    }

    #[test]
    fn any_width(pad in 1usize..90, which in 0usize..5) {
        let name = ["Open", "Ok", "path", "Ball", "Ready"][which];
        check(&SEED.replace(name, &format!("{name}{}", "x".repeat(pad))));
    }
}
