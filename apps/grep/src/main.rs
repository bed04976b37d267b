//! Prints those lines of its input in which a regular expression matches.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use regex::RegexBuilder;

sing_sdk::manifest! {
    name: "grep",
    description: "prints the lines of its input that match PATTERN: grep [-i] [-v] [-c] PATTERN",
    endpoints: { stdin: optional PipeContract.Exp:Start, stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
    memory: 16 MiB,
}

#[sing_sdk::main]
fn main() -> i32 {
    let (mut ignore_case, mut invert, mut count, mut pattern) = (false, false, false, None);
    for arg in sing_sdk::args::rest() {
        match arg.as_str() {
            "-i" => ignore_case = true,
            "-v" => invert = true,
            "-c" => count = true,
            _ if pattern.is_none() => pattern = Some(arg),
            _ => pattern = Some(String::new()),
        }
    }
    let Some(pattern) = pattern.filter(|p| !p.is_empty()) else {
        eprintln!("usage: grep [-i] [-v] [-c] PATTERN");
        return 2;
    };
    let regex = match RegexBuilder::new(&pattern)
        .case_insensitive(ignore_case)
        .build()
    {
        Ok(regex) => regex,
        Err(e) => {
            eprintln!("grep: {e}");
            return 2;
        }
    };
    let mut found = 0_u64;
    for line in sing_sdk::io::stdin().lines() {
        if regex.is_match(&line) != invert {
            found += 1;
            if !count {
                println!("{line}");
            }
        }
    }
    if count {
        println!("{found}");
    }
    i32::from(found == 0)
}
