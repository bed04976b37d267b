//! Features of the processor, by their names in the documentation of `cpuid`.
//!
//! In a virtual machine each `cpuid` goes to the machine's host, which takes as long as a thousand
//! instructions or more. The C library has done those that it needs when it was loaded, and tells: what
//! is known so is not asked again.

/// A register of what `cpuid` answers: the number of the question in the C library's list, and of the
/// register in the order of their names (`sys/platform/x86.h`).
type Register = (u32, usize);
/// Question 1, its `ecx`.
const ONE_C: Register = (0, 2);
/// Question 7, its `ebx`.
const SEVEN_B: Register = (1, 1);
/// Question 0x8000_0001, its `ecx`.
const EXTENDED_C: Register = (2, 2);

/// Where the features of the baseline for which programs are compiled are, and their bits.
const BITS: [(&[u8], Register, u32); 8] = [
    (b"bmi1", SEVEN_B, 3),
    (b"bmi2", SEVEN_B, 8),
    (b"lzcnt", EXTENDED_C, 5),
    (b"popcnt", ONE_C, 23),
    (b"sse3", ONE_C, 0),
    (b"sse41", ONE_C, 19),
    (b"sse42", ONE_C, 20),
    (b"ssse3", ONE_C, 9),
];

/// The features in this register that programs can use, as far as the C library knows; none where it does
/// not say. What it does not know the processor may have all the same.
#[cfg(target_env = "gnu")]
fn known((question, register): Register) -> u32 {
    use std::sync::OnceLock;
    /// `struct cpuid_feature`: all features, and those that can be used.
    #[repr(C)]
    struct Answer {
        all: [u32; 4],
        active: [u32; 4],
    }
    type Get = unsafe extern "C" fn(u32) -> *const Answer;
    static GET: OnceLock<Option<Get>> = OnceLock::new();
    let get = GET.get_or_init(|| {
        let name = c"__x86_get_cpuid_feature_leaf";
        // SAFETY: a name that ends with a zero byte.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        // SAFETY: null, or glibc's function of this name and type, from version 2.33 on.
        unsafe { std::mem::transmute::<*mut libc::c_void, Option<Get>>(found) }
    });
    // SAFETY: it returns null or a structure that stays, for any number.
    let answer = get.and_then(|get| unsafe { get(question).as_ref() });
    answer.map_or(0, |answer| answer.active[register])
}

#[cfg(not(target_env = "gnu"))]
fn known(_: Register) -> u32 {
    0
}

/// Whether the processor (and Linux, if it must save registers) has the feature. Spellings are
/// equivalent: `sse4.1`, `SSE4_1` and `sse41` are one.
pub(crate) fn has(name: &str) -> bool {
    let mut plain = [0u8; 24];
    let letters = name.bytes().filter(|b| !matches!(b, b'.' | b'_' | b'-'));
    let mut len = 0;
    for byte in letters {
        let Some(slot) = plain.get_mut(len) else {
            return false;
        };
        *slot = byte.to_ascii_lowercase();
        len += 1;
    }
    let place = BITS.iter().find(|(name, _, _)| *name == &plain[..len]);
    if place.is_some_and(|(_, register, bit)| known(*register) >> bit & 1 == 1) {
        return true;
    }
    macro_rules! features {
        ($($plain:literal => $feature:tt),* $(,)?) => {
            match &plain[..len] {
                // Every x86-64 processor has these.
                b"sse" | b"sse2" | b"fxsr" | b"cmov" | b"cx8" => true,
                $($plain => std::is_x86_feature_detected!($feature),)*
                _ => false,
            }
        };
    }
    features! {
        b"sse3" => "sse3",
        b"ssse3" => "ssse3",
        b"sse41" => "sse4.1",
        b"sse42" => "sse4.2",
        b"popcnt" => "popcnt",
        b"cx16" => "cmpxchg16b",
        b"cmpxchg16b" => "cmpxchg16b",
        b"avx" => "avx",
        b"avx2" => "avx2",
        b"fma" => "fma",
        b"f16c" => "f16c",
        b"bmi1" => "bmi1",
        b"bmi2" => "bmi2",
        b"lzcnt" => "lzcnt",
        b"abm" => "lzcnt",
        b"movbe" => "movbe",
        b"adx" => "adx",
        b"aes" => "aes",
        b"pclmulqdq" => "pclmulqdq",
        b"sha" => "sha",
        b"rdrand" => "rdrand",
        b"rdseed" => "rdseed",
        b"gfni" => "gfni",
        b"vaes" => "vaes",
        b"vpclmulqdq" => "vpclmulqdq",
        b"avx512f" => "avx512f",
        b"avx512bw" => "avx512bw",
        b"avx512cd" => "avx512cd",
        b"avx512dq" => "avx512dq",
        b"avx512vl" => "avx512vl",
        b"avx512vbmi" => "avx512vbmi",
        b"avx512bitalg" => "avx512bitalg",
        b"avx512vpopcntdq" => "avx512vpopcntdq",
    }
}

#[cfg(test)]
mod tests {
    use super::{BITS, ONE_C, SEVEN_B, has, known};

    #[test]
    fn the_c_library_knows_what_the_processor_says() {
        use core::arch::x86_64::{__cpuid, __cpuid_count};
        let (one, seven, extended) = (__cpuid(1), __cpuid_count(7, 0), __cpuid(0x8000_0001));
        for (name, register, bit) in BITS {
            let says = match register {
                ONE_C => one.ecx,
                SEVEN_B => seven.ebx,
                _ => extended.ecx,
            };
            let name = name.escape_ascii();
            assert!(known(register) >> bit & 1 <= says >> bit & 1, "{name}");
        }
    }

    #[test]
    fn names_are_those_of_linux() {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let flags = info.lines().find(|line| line.starts_with("flags")).unwrap();
        let flags: Vec<_> = flags.split_whitespace().collect();
        for name in [
            "sse4_1", "sse4_2", "ssse3", "popcnt", "avx", "avx2", "bmi1", "bmi2", "fma",
        ] {
            assert_eq!(has(name), flags.contains(&name), "{name}");
        }
        assert_eq!(has("sse4.1"), has("SSE4_1"));
        assert_eq!(has("sse4.1"), has("sse41"));
        for name in [
            "",
            "sse9",
            "a feature with a name that is far too long",
            "sse4.1 ",
        ] {
            assert!(!has(name), "{name}");
        }
    }
}
