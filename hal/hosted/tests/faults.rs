//! Faults of code in the arena: reported as they are, and gone on with as told.

mod common;

use sing_hosted::{Config, Hooks, HostedHal};
use sing_kernel::fault::{Action, Fault, Kind};
use sing_kernel::hal::{Hal, Reservation};
use std::arch::naked_asm;
use std::os::unix::process::ExitStatusExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

static SEEN: Mutex<Vec<Fault>> = Mutex::new(Vec::new());
/// The stack pointer that [`landing`] goes back to.
static HOME: AtomicU64 = AtomicU64::new(0);
/// What the hook does: see [`decide`].
/// Addresses of which the page at 0x4000 is committed on demand, and where that is.
static NOWHERE: Mutex<Option<Reservation>> = Mutex::new(None);
static DEMAND: AtomicU64 = AtomicU64::new(0);

/// Calls `code(argument)`; returns what it returns, or what [`landing`] was given.
#[unsafe(naked)]
unsafe extern "sysv64" fn enter(code: u64, argument: u64) -> u64 {
    naked_asm!(
        "push rbp", "push rbx", "push r12", "push r13", "push r14", "push r15", "sub rsp, 8",
        "mov [rip + {home}], rsp", "mov rax, rdi", "mov rdi, rsi", "call rax",
        "add rsp, 8", "pop r15", "pop r14", "pop r13", "pop r12", "pop rbx", "pop rbp", "ret",
        home = sym HOME,
    )
}

/// Where a faulting function goes on: returns from [`enter`] with its argument, and bit 63 if the
/// direction flag was set.
#[unsafe(naked)]
unsafe extern "sysv64" fn landing(argument: u64) -> u64 {
    naked_asm!(
        "mov rax, rdi", "pushfq", "pop rcx", "and rcx, 0x400", "shl rcx, 53", "or rax, rcx", "cld",
        "mov rsp, [rip + {home}]",
        "add rsp, 8", "pop r15", "pop r14", "pop r13", "pop r12", "pop rbx", "pop rbp", "ret",
        home = sym HOME,
    )
}

fn decide(fault: &Fault) -> Action {
    SEEN.lock().unwrap().push(*fault);
    let hal = HAL.get().unwrap();
    if !hal.code_arena().contains(&fault.pc) {
        return Action::Fatal;
    }
    let demand = DEMAND.load(SeqCst);
    if demand != 0 && fault.kind == Kind::Page && fault.address & !4095 == demand {
        let mut nowhere = NOWHERE.lock().unwrap();
        assert!(hal.commit(nowhere.as_mut().unwrap().part(0x4000, 4096)));
        return Action::Retry;
    }
    Action::Jump {
        pc: landing as *const () as u64,
        sp: HOME.load(SeqCst) - 8,
        argument: 7,
    }
}

static HAL: std::sync::OnceLock<&'static HostedHal> = std::sync::OnceLock::new();

/// Loads and runs code with an argument; what it or its landing returned, and its address.
fn run(code: &[u8], argument: u64) -> (u64, u64) {
    let at = HAL.get().unwrap().load_code(code).unwrap();
    SEEN.lock().unwrap().clear();
    // SAFETY: each caller's code keeps the callee-saved registers, or faults, and then `landing`
    // restores them.
    (unsafe { enter(at, argument) }, at)
}

fn only_fault() -> Fault {
    let seen = SEEN.lock().unwrap();
    assert_eq!(seen.len(), 1, "{seen:x?}");
    seen[0]
}

#[test]
fn faults() {
    let hooks = Hooks {
        interrupt: |_, _| {},
        fault: decide,
    };
    let config = Config {
        memory_limit: Some(64 << 20),
        hooks,
        ..Config::default()
    };
    let hal = HAL.get_or_init(|| HostedHal::new(config).unwrap());
    match common::my_scene().as_deref() {
        None => {}
        // SAFETY: this scene is to die of it.
        Some("kernel") => unsafe { *(0x1238 as *mut u8) = 1 },
        Some("sent") => {
            // To this thread, which has an alternate stack of the kernel's, as all threads of a
            // hosted system have. One to the process would go to the test harness' main thread,
            // whose alternate stack, the standard library's, has no room for an unoptimized report.
            // SAFETY: sends a signal to this thread.
            unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGSEGV) };
            std::thread::sleep(std::time::Duration::from_secs(5));
        }
        Some(other) => panic!("no scene {other}"),
    }

    // lea eax, [rdi + 1]; ret
    assert_eq!(run(&[0x8d, 0x47, 0x01, 0xc3], 41).0, 42);

    // std (the direction flag must be clear at the landing); ud2
    let (result, at) = run(&[0xfd, 0x0f, 0x0b], 0);
    assert_eq!(result, 7);
    let fault = only_fault();
    assert_eq!((fault.kind, fault.pc), (Kind::Undefined, at + 1));
    assert_eq!(
        fault.sp,
        HOME.load(SeqCst) - 8,
        "the stack pointer is the function's"
    );

    // xor edx, edx; mov eax, 1; div edi
    let (result, at) = run(&[0x31, 0xd2, 0xb8, 1, 0, 0, 0, 0xf7, 0xf7], 0);
    assert_eq!(result, 7);
    assert_eq!((only_fault().kind, only_fault().pc), (Kind::Divide, at + 7));

    // mov eax, i32::MIN; cdq; mov ecx, -1; idiv ecx: the quotient that does not fit
    let code = [
        0xb8, 0, 0, 0, 0x80, 0x99, 0xb9, 0xff, 0xff, 0xff, 0xff, 0xf7, 0xf9,
    ];
    assert_eq!(run(&code, 0).0, 7);
    assert_eq!(only_fault().kind, Kind::Divide);

    // push rbp; mov rbp, rsp; mov eax, [rdi]; pop rbp; ret
    let load = [0x55, 0x48, 0x89, 0xe5, 0x8b, 0x07, 0x5d, 0xc3];
    let range = hal.reserve(1 << 20).unwrap();
    let nowhere = range.at();
    *NOWHERE.lock().unwrap() = Some(range);
    for address in [nowhere + 0x123, 0, 8, nowhere + 0xf_ffff] {
        let (result, at) = run(&load, address);
        assert_eq!(result, 7);
        let fault = only_fault();
        assert_eq!(
            (fault.kind, fault.pc, fault.address),
            (Kind::Page, at + 4, address)
        );
        assert_eq!(fault.fp, fault.sp, "the frame pointer is the function's");
    }
    // Beyond what addresses can be, the processor tells none.
    assert_eq!(run(&load, 1 << 63).0, 7);
    assert_eq!(only_fault().kind, Kind::Other);

    // Retried once the page is there: mov byte [rdi], 5; movzx eax, byte [rdi]; ret
    DEMAND.store(nowhere + 0x4000, SeqCst);
    let (result, _) = run(&[0xc6, 0x07, 5, 0x0f, 0xb6, 0x07, 0xc3], nowhere + 0x4321);
    assert_eq!(result, 5);
    assert_eq!(only_fault().address, nowhere + 0x4321);

    // A stack that overflows into its guard is no place for a handler.
    // mov rsp, rdi; l: push rax; jmp l
    let mut range = NOWHERE.lock().unwrap();
    assert!(hal.commit(range.as_mut().unwrap().part(0x8000, 0x4000)));
    drop(range);
    let (result, _) = run(&[0x48, 0x89, 0xfc, 0x50, 0xeb, 0xfd], nowhere + 0xc000);
    assert_eq!(result, 7);
    assert_eq!(only_fault().address, nowhere + 0x7ff8);

    // Again and again: no signal stays blocked, the alternate stack stays usable.
    for _ in 0..10_000 {
        // SAFETY: `ud2`, which lands.
        assert_eq!(unsafe { enter(at, 0) }, 7);
    }

    // What is not a SIP's fault ends the system and says what it was.
    let output = common::scene("faults", "kernel").output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(160), "{text}");
    assert!(
        text.contains("fatal fault (Page, address 0x1238; SIGSEGV code 1)"),
        "{text}"
    );
    assert!(
        text.contains("rsp ") && text.contains("this program + 0x"),
        "{text}"
    );
    let output = common::scene("faults", "sent").output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        (output.status.code(), output.status.signal()),
        (Some(160), None),
        "{text}"
    );
    assert!(text.contains("fatal signal (; SIGSEGV code -6)"), "{text}");
}
