//! Forgetting a system that has ended, so that another can be started in the same process.
//!
//! The kernel's variables are statics. Each module declares its own with [`variables!`], which also
//! makes the function that gives them their first values again; [`crate::forget`] calls them all.
//! A value that only a HAL can make says that the system has ended, so that nobody can use what a
//! variable referred to.

use alloc::boxed::Box;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};
use sing_arch::link::Link;
use sing_arch::lock::SpinLock;
use sing_arch::slab::Slab;

/// The system has ended: none of its threads runs, now or later, and nobody outside the kernel has a
/// reference to anything of its.
pub(crate) struct Ended(());

impl Ended {
    /// Says so.
    ///
    /// # Safety
    /// It is so, and the thread that says it is the only one in the kernel.
    pub(crate) unsafe fn assume() -> Ended {
        Ended(())
    }

    /// Frees what was kept until now.
    #[expect(clippy::unused_self, reason = "its existence is what counts")]
    pub(crate) fn reclaim<T>(&self, kept: Kept<T>) {
        // SAFETY: the pointer is the one that the box gave, which `kept` alone has; and the system
        // has ended, so nobody uses a reference to the value.
        drop(unsafe { Box::from_raw(kept.0.into_inner()) });
    }
}

/// A value that lives until the system has ended ([`Ended::reclaim`]), in a box of its own. It keeps
/// the pointer that the box gave: by the aliasing models, a reference made of that may not free it.
/// An atomic pointer, as that may be shared; it never changes.
pub(crate) struct Kept<T: 'static>(AtomicPtr<T>);

impl<T: Send + Sync> Kept<T> {
    /// Keeps what is in a box.
    pub(crate) fn new(value: Box<T>) -> Self {
        Kept(AtomicPtr::new(Box::into_raw(value)))
    }

    /// The value.
    pub(crate) fn get(&self) -> &'static T {
        // SAFETY: the value is there until the system has ended, which nobody's reference outlasts
        // ([`Ended::assume`]), and nobody has a reference to change it.
        unsafe { &*self.0.load(Relaxed) }
    }
}

/// A variable that can have its first value again.
pub(crate) trait Restart {
    /// Gives it this value, and frees what the last one owned.
    fn restart(&self, ended: &Ended, first: Self);
}

macro_rules! atomics {
    ($($atomic:ident)*) => {$(
        impl Restart for $atomic {
            fn restart(&self, _: &Ended, first: Self) {
                self.store(first.into_inner(), Relaxed);
            }
        }
    )*};
}

atomics! { AtomicBool AtomicU32 AtomicU64 }

impl<T> Restart for AtomicPtr<T> {
    fn restart(&self, _: &Ended, first: Self) {
        self.store(first.into_inner(), Relaxed);
    }
}

impl<T: Sync> Restart for Link<T> {
    fn restart(&self, _: &Ended, first: Self) {
        self.set(first.get());
    }
}

impl<T> Restart for SpinLock<T> {
    fn restart(&self, _: &Ended, first: Self) {
        // SAFETY: who held it was a thread of a system that has ended.
        unsafe { self.release() };
        drop(core::mem::replace(&mut *self.lock(), first.into_inner()));
    }
}

impl<T: Default + Sync> Restart for Slab<T> {
    fn restart(&self, _: &Ended, _: Self) {
        // SAFETY: the system has ended, so nobody uses a record.
        unsafe { self.forget_all() };
    }
}

impl<T: Restart, const N: usize> Restart for [T; N] {
    fn restart(&self, ended: &Ended, first: Self) {
        for (variable, first) in self.iter().zip(first) {
            variable.restart(ended, first);
        }
    }
}

/// The idle context runs, as at the start.
pub(crate) fn idles(ended: &Ended) {
    super::stack::restart(ended);
}

/// Makes [`Restart`] of a structure's parts that change.
macro_rules! parts_restart {
    ($of:ty: $($part:ident)*) => {
        impl $crate::ground::trusted::Restart for $of {
            fn restart(&self, ended: &$crate::ground::trusted::Ended, first: Self) {
                $($crate::ground::trusted::Restart::restart(&self.$part, ended, first.$part);)*
            }
        }
    };
}
pub(crate) use parts_restart;

/// Declares variables, and the function that gives them their first values again.
macro_rules! variables {
    ($forget:ident: $($(#[$about:meta])* $who:vis static $name:ident: $ty:ty = $first:expr;)*) => {
        $($(#[$about])* $who static $name: $ty = $first;)*

        /// Gives the module's variables their first values again: the system has ended.
        pub(crate) fn $forget(ended: &$crate::ground::trusted::Ended) {
            $({
                let first: $ty = $first;
                $crate::ground::trusted::Restart::restart(&$name, ended, first);
            })*
        }
    };
}
pub(crate) use variables;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::sync::Arc;
    use std::path::Path;
    use std::string::String;
    use std::{format, fs};

    /// Variables that are forgotten by hand, or hold nothing of a system.
    const OTHERS: [&str; 6] = ["HAL", "KEPT", "TABLE", "IDLE", "RUNNING", "PENDING_AT"];

    /// Checks the sources below a folder, and returns how many declare variables.
    fn check(folder: &Path) -> usize {
        let mut found = 0;
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with("tests") || path.ends_with("tests.rs") || path.ends_with("forget.rs")
                // The tables for debuggers never change.
                || path.ends_with("layout.rs")
            {
                continue;
            }
            if path.is_dir() {
                found += check(&path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            found += usize::from(text.contains("variables! {"));
            for line in text.lines() {
                // Those of `variables!`, and of functions, stand further to the right.
                let line = line
                    .trim_start_matches("pub(crate) ")
                    .trim_start_matches("pub(super) ");
                let name = line
                    .strip_prefix("static ")
                    .and_then(|rest| rest.split_once(':'));
                let known = name.is_none_or(|(name, _)| OTHERS.contains(&name));
                let place = format!("{}: {line}", path.display());
                assert!(
                    known,
                    "{place}: declare it by `variables!`, or forget it by hand"
                );
            }
        }
        found
    }

    #[test]
    fn what_is_kept_is_freed_once_the_system_has_ended() {
        let value = Arc::new(7);
        let kept = Kept::new(Box::new((Arc::clone(&value), AtomicU32::new(1))));
        let (first, second) = (kept.get(), kept.get());
        first.1.store(2, Relaxed);
        assert_eq!((*second.0, second.1.load(Relaxed)), (7, 2));
        assert_eq!(Arc::strong_count(&value), 2);
        // SAFETY: there is no system, and the references above are used no more.
        unsafe { Ended::assume() }.reclaim(kept);
        assert_eq!(Arc::strong_count(&value), 1);
    }

    #[test]
    fn every_variable_is_forgotten() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let declaring = check(&source);
        let list = fs::read_to_string(source.join("entry/forget.rs")).unwrap();
        let modules: String = list.replace("::restart(ended)", "::forget(ended)");
        let called = modules.matches("::forget(ended);").count();
        // Four are called by the module above them.
        assert_eq!(called + 4, declaring, "{modules}");
    }
}
