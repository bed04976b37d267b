//! Contracts may use names that mean something else in Rust.
#![deny(unsafe_code)]
#![allow(dead_code)]

/// A field is no pattern for it.
const LIMIT: i32 = 1;

mod arguments {
    sing_sdk::contract!(
        "contract Names {
           in message First(int None, int Some, int NAME, int self, int type) requires None < Some && NAME > 0;
           in message Second(byte[] in ExHeap __words, int __status, int __message) requires __status > 0;
           in message __take();
           state Start: one { First? -> closed; Second? -> closed; __take? -> closed; }
           state Last: __take? -> Start;
         }
         contract Option { in message Ask(int x); state Start: Ask? -> closed; }",
        const TEXT
    );
}

sing_sdk::contract!(
    "rep struct Plain { int LIMIT; float None; bool Some; int bytes; int words; int self; }
     rep struct Tree { Tree*? in ExHeap LIMIT; char[]? in ExHeap None; int block; int at; int field; }
     contract Holder {
       in message Put(Plain p, Tree* in ExHeap t) requires p.None > 0 && p.LIMIT > 0;
       state Start: Put? -> closed;
     }",
    const TEXT
);

sing_sdk::contract!(
    "contract Keywords {
       in message move(int r);
       in message type(int x);
       state Start: one { move? -> closed; type? -> closed; }
     }",
    const KEYWORDS
);

/// Keywords of Rust as names of messages and of variables.
pub fn keywords(r#in: Keywords::Exp<Keywords::Start>, mut set: Vec<Option<Keywords::Exp<Keywords::Start>>>) -> i32 {
    let first = sing_sdk::switch_receive! {
        case r#in.move(r) as _ => r,
        case r#in.r#type(x) as _ => x,
        case r#in.ChannelClosed() => 0,
    };
    first + sing_sdk::switch_receive! {
        case set[_].move(r) as _ => r,
        case set[_].type(x) as _ => x,
        case set[_].ChannelClosed() => 0,
    }
}

fn main() {
    let _ = keywords as fn(_, _) -> _;
    let (tree, plain) = (
        Tree { LIMIT: None, None: None, block: 1, at: 2, field: 3 },
        Plain { LIMIT, None: 1.0, Some: true, bytes: 1, words: 2, self_: 3 },
    );
    let _ = (tree, plain, arguments::TEXT, TEXT);
}
