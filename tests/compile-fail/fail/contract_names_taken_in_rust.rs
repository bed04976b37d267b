//! Names of a contract that clash with names in the generated Rust.
#![deny(unsafe_code)]

mod initial {
    sing_sdk::contract!(
        "contract C { in message M(); state Start: M? -> Initial; state Initial: M? -> closed; }",
        const TEXT
    );
}

mod received {
    sing_sdk::contract!("contract C { in message M(); state exp: M? -> closed; }", const TEXT);
}

mod number {
    sing_sdk::contract!("contract C { in message M(); state u32: M? -> closed; }", const TEXT);
}

mod text {
    sing_sdk::contract!(
        "rep struct str { int x; } contract C { in message M(str s); state S: M? -> closed; }",
        const TEXT
    );
}

mod constant {
    sing_sdk::contract!(
        "contract C {
           in message Set(int x) requires x > 0;
           in message SetChecked();
           state S: (Set? or SetChecked?) -> closed;
         }",
        const TEXT
    );
}

fn main() {}
