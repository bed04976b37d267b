//! The kernel for a PC: connects this HAL to the portable kernel.
//!
//! `README.md` beside `Cargo.toml` has the command lines.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod kernel {
    extern crate alloc;

    use alloc::string::String;
    use alloc::vec::Vec;
    use sing_abi::exit::machine::NO_IMAGE;
    use sing_kernel::hal::Hal;
    use sing_kernel::{BootImage, Options};
    use sing_pc::{Hooks, Pc, Start};

    sing_pc::hooks!(Hooks {
        start,
        interrupt: sing_kernel::interrupt::arrive,
        fault: sing_kernel::fault::handle,
    });

    fn start(machine: Start<'_>) -> ! {
        let Some(image) = machine.image else {
            sing_pc::say(format_args!(
                "cannot start: no system image: pass one with -initrd to QEMU, or with module2 in GRUB"
            ));
            Pc.exit(NO_IMAGE)
        };
        let request = machine.request;
        let args: Vec<String> = request.words().map(|w| w.chars().collect()).collect();
        let options = Options {
            args,
            tick: request.watch,
            stress: request.stress,
        };
        // SAFETY: whoever starts the machine vouches for the image that its loader brings, as for
        // the kernel; its memory is mapped to be read only, and used for nothing else.
        let image = unsafe { BootImage::new(image) };
        sing_kernel::boot(&Pc, options, image)
    }
}

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("sing-pc is a kernel; build it with --target x86_64-unknown-none");
    std::process::exit(2);
}
