//! Tests of memory protection, of code loading, and of the handling of faults.

use crate::memory::Reserved;
use crate::probe::{Access, attempt, commit_on_demand};
use crate::run::{Outcome, check, image, versus};
use alloc::boxed::Box;
use alloc::vec::Vec;
use sing_kernel::fault::{Fault, Kind};
use sing_kernel::hal::Hal;
use sing_pc::Pc;
use sing_pc::inside::{
    PAGE, Run, direct_alias, frame_counts, guards, kernel_image, kernel_text, loaded_code,
    take_run_leaving,
};

const RETURN: u8 = 0xc3;

fn page_fault(access: Access, at: u64) -> Outcome {
    match attempt(access, at, 0) {
        Some(Fault {
            kind: Kind::Page,
            address,
            ..
        }) if address == at => Ok(()),
        other => Err(alloc::format!("{access:?} at {at:#x}: {other:x?}")),
    }
}

pub fn null_is_unmapped() -> Outcome {
    let image = kernel_image();
    for at in [
        0,
        8,
        PAGE - 1,
        0x8000,
        0xa_0000,
        image.start - 1,
        image.end,
        1 << 30,
        0x7fff_ffff_f000,
    ] {
        page_fault(Access::Read, at)?;
        page_fault(Access::Write, at)?;
    }
    for guard in guards() {
        page_fault(Access::Write, guard)?;
    }
    Ok(())
}

static DATA: [u8; 2] = [RETURN; 2];

pub fn data_is_not_executable() -> Outcome {
    let heap = Box::new([RETURN; 16]);
    let stack = [RETURN; 16];
    let mut r = Reserved::new(PAGE);
    check!(r.commit(r.at, PAGE), "refused");
    let alias = direct_alias(r.at).ok_or("committed memory is not in the direct map")?;
    for at in [
        heap.as_ptr() as u64,
        stack.as_ptr() as u64,
        DATA.as_ptr() as u64,
        r.at,
        alias,
    ] {
        check!(
            attempt(Access::Read, at, 0).is_none(),
            "{at:#x} cannot be read"
        );
        page_fault(Access::Call, at)?;
    }
    Ok(())
}

pub fn code_is_read_only() -> Outcome {
    let text = kernel_text();
    for at in [
        text.start,
        text.end - 1,
        kernel_image().start,
        DATA.as_ptr() as u64,
    ] {
        check!(
            attempt(Access::Read, at, 0).is_none(),
            "{at:#x} cannot be read"
        );
        page_fault(Access::Write, at)?;
    }
    check!(
        direct_alias(text.start).is_none(),
        "the kernel's code has another address"
    );
    let code = Pc.load_code(&[RETURN; 5000]).ok_or("the arena is full")?;
    for at in [code, code + 4999] {
        page_fault(Access::Write, at)?;
        check!(
            attempt(Access::Call, at, 0).is_none(),
            "{at:#x} cannot be executed"
        );
        check!(
            direct_alias(at).is_none(),
            "loaded code has another address"
        );
    }
    Ok(())
}

/// The module is larger than a large page, so that some of its pages are large ones.
pub fn image_is_read_only() -> Outcome {
    let [first, last] = image().ok_or("there is no module: start with one of some MiB")?;
    check!(last - first > 4 << 20, "the module is too small");
    let pages = (first..=last).step_by(PAGE as usize);
    for at in pages.chain([last, last / PAGE * PAGE + PAGE - 1]) {
        check!(
            attempt(Access::Read, at, 0).is_none(),
            "{at:#x} cannot be read"
        );
        page_fault(Access::Write, at)?;
        page_fault(Access::Call, at)?;
    }
    Ok(())
}

pub fn loads_code() -> Outcome {
    let arena = Pc.code_arena();
    for size in [1, 16, 4095, 4096, 4097, 100_000] {
        let bytes: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
        let at = Pc.load_code(&bytes).ok_or("the arena is full")?;
        check!(
            arena.contains(&at) && at + size <= arena.end,
            "{at:#x} is outside the arena"
        );
        check!(at.is_multiple_of(16), "{at:#x} is not aligned");
        // SAFETY: just loaded there, readable, and never changed.
        let there = unsafe { core::slice::from_raw_parts(at as *const u8, bytes.len()) };
        check!(there == bytes, "{size} bytes are not what was loaded");
    }
    Ok(())
}

/// Takes all frames but `left`.
fn leave_frames(left: u64) -> Vec<Run> {
    // Reserved first, as the heap may need some of the frames.
    let mut taken = Vec::with_capacity(256);
    let mut size = 1 << 20;
    while taken.len() < taken.capacity() {
        size = frame_counts().1.saturating_sub(left).min(size);
        if size == 0 {
            break;
        }
        match take_run_leaving(size, PAGE, u64::MAX, left) {
            Some(run) => taken.push(run),
            None => size = (size / 2).max(1),
        }
    }
    taken
}

/// Leaves so few frames that loading fails at each of its steps in turn.
pub fn loads_all_or_nothing() -> Outcome {
    let code = [RETURN; 3 * PAGE as usize];
    // Most frames are taken once, as clearing them takes long.
    let most = leave_frames(64);
    let mut refused = 0;
    for left in 0..12 {
        let next = loaded_code().end;
        let taken = leave_frames(left);
        let before = frame_counts().1;
        let loaded = Pc.load_code(&code);
        let (after, end) = (frame_counts().1, loaded_code().end);
        let executable: Vec<bool> = (0..3)
            .map(|page| attempt(Access::Call, next + page * PAGE, 0).is_none())
            .collect();
        drop(taken);
        check!(before == left, "{before} frames were left, not {left}");
        match loaded {
            Some(at) => {
                check!(
                    at == next && executable == [true; 3],
                    "{executable:?} of {at:#x}"
                );
                check!(
                    (0..3).all(|p| direct_alias(at + p * PAGE).is_none()),
                    "writable, too"
                );
            }
            None => {
                refused += 1;
                check!(end == next, "the arena has grown by code that was refused");
                check!(
                    executable == [false; 3],
                    "refused, and can be executed: {executable:?}"
                );
                // New page tables stay, to be used again.
                check!(before - after <= 4, "{} frames are lost", before - after);
            }
        }
    }
    drop(most);
    check!(refused > 2, "only {refused} were refused");
    let kept = loaded_code();
    for page in kept.step_by(PAGE as usize) {
        check!(direct_alias(page).is_none(), "{page:#x} is writable, too");
        page_fault(Access::Write, page)?;
    }
    Ok(())
}

pub fn are_told_apart() -> Outcome {
    // Each is at offset 1 of its code, after a `nop`.
    let cases: [(&[u8], Kind, u64); 6] = [
        (&[0x90, 0x0f, 0x0b], Kind::Undefined, 0),      // ud2
        (&[0x90, 0xf7, 0xf7], Kind::Divide, 0),         // div edi
        (&[0x90, 0x8b, 0x07], Kind::Page, 0x7777_7000), // mov eax, [rdi]
        (&[0x90, 0x89, 0x07], Kind::Page, 0x7777_7000), // mov [rdi], eax
        (&[0x90, 0xff, 0xd7], Kind::Page, 0x7777_7000), // call rdi
        (&[0x90, 0x8b, 0x07], Kind::Other, 0x8888_0000_0000_0000), // not canonical
    ];
    for (code, kind, argument) in cases {
        let at = Pc.load_code(code).ok_or("the arena is full")?;
        let stack = 0u64;
        let f = attempt(Access::Call, at, argument).ok_or("no fault")?;
        check!(f.kind == kind, "{}", versus(f.kind, kind));
        let called = code[1] == 0xff;
        let pc = if called { argument } else { at + 1 };
        check!(f.pc == pc, "pc: {}", versus(f.pc, pc));
        let here = &raw const stack as u64;
        check!(
            f.sp < here && here - f.sp < 4096,
            "sp {:#x}, which is not near {here:#x}",
            f.sp
        );
        if kind == Kind::Page {
            check!(
                f.address == argument,
                "address: {}",
                versus(f.address, argument)
            );
        }
    }
    Ok(())
}

pub fn retries() -> Outcome {
    let r = Reserved::new(2 * PAGE);
    let at = r.at + PAGE + 8;
    // mov eax, [rdi]; mov dword ptr [rdi], 77; mov eax, [rdi]; cmp eax, 77; je +2; ud2; ret
    let code = Pc.load_code(&[
        0x8b, 0x07, 0xc7, 0x07, 77, 0, 0, 0, 0x8b, 0x07, 0x83, 0xf8, 77, 0x74, 0x02, 0x0f, 0x0b,
        RETURN,
    ]);
    let code = code.ok_or("the arena is full")?;
    commit_on_demand(r.at + PAGE);
    let fault = attempt(Access::Call, code, at);
    commit_on_demand(0);
    check!(
        fault.is_some_and(|f| f.kind == Kind::Page && f.address == at),
        "{fault:x?}"
    );
    // SAFETY: committed by the retry.
    let value = unsafe { (at as *const u32).read() };
    check!(value == 77, "{}", versus(value, 77));
    page_fault(Access::Read, r.at)
}

pub fn survives_a_bad_stack() -> Outcome {
    // mov rsp, rdi; push rax
    let code = Pc
        .load_code(&[0x48, 0x89, 0xfc, 0x50])
        .ok_or("the arena is full")?;
    let r = Reserved::new(PAGE);
    for stack in [r.at, r.at + PAGE, 8, 0x7777_0000] {
        let f = attempt(Access::Call, code, stack).ok_or("no fault")?;
        check!(
            f.kind == Kind::Page && f.sp == stack && f.pc == code + 3,
            "{f:x?}"
        );
        check!(
            f.address == stack - 8,
            "address: {}",
            versus(f.address, stack - 8)
        );
    }
    Ok(())
}
