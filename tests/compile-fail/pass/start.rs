//! Starts that return nothing, a code, an error.
#![deny(unsafe_code)]

mod a {
    #[sing_sdk::main]
    pub fn main() {}
}

mod b {
    #[sing_sdk::main]
    pub fn main() -> i32 {
        3
    }
}

fn main() {
    a::main();
    b::main();
}
