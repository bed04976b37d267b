//! `singularity [OPTIONS] IMAGE [ARGUMENTS...]`: runs a system image as a Linux process.
#![forbid(unsafe_code)]

fn main() {
    sing_hosted::command::main("singularity", std::env::args_os().skip(1));
}
