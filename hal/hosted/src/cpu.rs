//! Features of the processor, by their names in the documentation of `cpuid`.

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
    use super::has;

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
