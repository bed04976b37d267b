//! Starts that return nothing, a code; one that takes the program's arguments.
#![deny(unsafe_code)]

mod a {
    #[sing_sdk::main]
    pub fn start() {}
}

mod b {
    #[sing_sdk::main]
    pub fn start() -> i32 {
        3
    }
}

mod c {
    sing_sdk::arguments! {
        /// How often.
        times: default u32 = 2, "TIMES";
    }

    #[sing_sdk::main]
    pub fn start(Arguments { times }: Arguments) -> i32 {
        times.cast_signed()
    }
}

fn main() {
    assert_eq!(c::start(c::Arguments { times: 2 }), 2);
    a::start();
    b::start();
}
