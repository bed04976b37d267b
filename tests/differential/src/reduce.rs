//! Smaller modules: each with one piece less, and still valid.

use crate::sip::{self, ADDED};
use anyhow::Result;
use wasm_encoder::Encode;
use wasmparser::{FunctionBody, Parser, Payload};

/// The most modules of a step.
const MOST: usize = 40;

/// All valid modules that result from removing one piece of one function: the larger pieces first.
pub fn all(wasm: &[u8]) -> Result<Vec<Vec<u8>>> {
    let mut bodies: Vec<FunctionBody<'_>> = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::CodeSectionEntry(body) = payload? {
            bodies.push(body);
        }
    }
    let ours = bodies.len().saturating_sub(ADDED as usize);
    let mut found = Vec::new();
    for part in [1, 2, 4, 8, 16, 64, usize::MAX] {
        for (index, body) in bodies[..ours].iter().enumerate() {
            // Where each instruction begins; the last one, `end`, stays.
            let mut reader = body.get_operators_reader()?;
            let mut at = Vec::new();
            while !reader.eof() {
                at.push(reader.original_position() as usize);
                reader.read()?;
            }
            let count = at.len().saturating_sub(1);
            let size = if part == usize::MAX { 1 } else { count / part };
            if size == 0 || (part != usize::MAX && size == 1) {
                continue;
            }
            for first in (0..count).step_by(size) {
                let last = (first + size).min(count);
                for filling in [&[][..], &[0x00]] {
                    let smaller = without(wasm, &bodies, index, at[first]..at[last], filling)?;
                    if smaller.len() < wasm.len() && sip::validate(&smaller).is_ok() {
                        found.push(smaller);
                        break;
                    }
                }
                if found.len() >= MOST {
                    return Ok(found);
                }
            }
        }
    }
    Ok(found)
}

/// The module with a range of a function's code replaced.
fn without(
    wasm: &[u8],
    bodies: &[FunctionBody<'_>],
    index: usize,
    range: std::ops::Range<usize>,
    filling: &[u8],
) -> Result<Vec<u8>> {
    let mut out = wasm[..8].to_vec();
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload?;
        let Some((id, section)) = payload.as_section() else {
            continue;
        };
        let body = if id == 10 {
            let mut code = Vec::new();
            (bodies.len() as u32).encode(&mut code);
            for (i, body) in bodies.iter().enumerate() {
                let whole = sip::bytes(&body.range());
                let function = if i == index {
                    [
                        &wasm[whole.start..range.start],
                        filling,
                        &wasm[range.end..whole.end],
                    ]
                    .concat()
                } else {
                    wasm[whole].to_vec()
                };
                (function.len() as u32).encode(&mut code);
                code.extend(function);
            }
            code
        } else {
            wasm[sip::bytes(&section)].to_vec()
        };
        out.push(id);
        (body.len() as u32).encode(&mut out);
        out.extend(body);
    }
    Ok(out)
}
