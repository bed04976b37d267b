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

sing_sdk::arguments! {
    /// Capital and small letters are the same.
    ignore_case: flag "-i";
    /// The lines in which it does not match.
    invert: flag "-v";
    /// Only how many.
    count: flag "-c";
    /// A regular expression.
    pattern: one String "PATTERN";
}

#[sing_sdk::main]
fn main(
    Arguments {
        ignore_case,
        invert,
        count,
        pattern,
    }: Arguments,
) -> i32 {
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
