//! The machines: the user, the installed packages and the environment of each.

/// A machine.
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// Whether the commands run as root, and so may install packages.
    pub root: bool,
    /// Packages installed beside a C compiler.
    pub packages: &'static [&'static str],
    /// The clone's folder, below the home.
    pub place: &'static str,
    /// Shell commands before each command: a user's possible set-up.
    pub habits: &'static str,
    /// Parts that the test command must report as left out; nothing may be left out if this is
    /// empty.
    pub left_out: &'static [&'static str],
}

/// All of them.
pub const CASES: &[Case] = &[
    Case {
        name: "root",
        root: true,
        packages: &[],
        place: "singularity",
        habits: "",
        left_out: &[],
    },
    Case {
        name: "user with gcc alone",
        root: false,
        packages: &[],
        place: "my projects/singularity",
        habits: "umask 077",
        left_out: &["clang and lld missing", "QEMU missing"],
    },
    Case {
        name: "user with all and binaryen",
        root: false,
        packages: &["clang", "lld", "qemu-system-x86", "binaryen"],
        place: "singularity",
        habits: "export LC_ALL=C RUSTFLAGS=-Cdebuginfo=2 CARGO_TERM_COLOR=always CARGO_PROFILE_RELEASE_STRIP=true",
        left_out: &[],
    },
    Case {
        name: "user with another clang",
        root: false,
        // The newest in Debian 12; if there is no package of that name, the machine's row says so.
        packages: &["clang-19", "lld-19", "qemu-system-x86", "binaryen"],
        place: "singularity",
        habits: "mkdir -p ~/bin && ln -sf /usr/bin/clang-19 ~/bin/clang && ln -sf /usr/bin/wasm-ld-19 ~/bin/wasm-ld && \
                 export PATH=~/bin:$PATH && \
                 { grep -qs x86-64-v2 ~/.cargo/config.toml || \
                 printf '[build]\\nrustflags = [\"-Ctarget-cpu=x86-64-v2\"]\\n' >> ~/.cargo/config.toml; }",
        left_out: &[],
    },
];

impl Case {
    /// Whether a command behaved as expected: a remark, or the fault.
    pub fn judge(&self, command: &str, success: bool, output: &str) -> Result<String, String> {
        let last = output
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty())
            .unwrap_or("nothing")
            .trim();
        if !success {
            return Err(last.to_string());
        }
        if command == "run" {
            return if output.contains("Hello from a sealed process") {
                Ok("said hello".into())
            } else {
                Err("did not say hello".into())
            };
        }
        for reason in self.left_out {
            if !output
                .lines()
                .any(|line| line.starts_with("not run, ") && line.contains(reason))
            {
                return Err(format!("does not say `{reason}`"));
            }
        }
        let tools = ["clang and lld missing", "QEMU missing"];
        match tools
            .iter()
            .find(|tool| !self.left_out.contains(tool) && output.contains(**tool))
        {
            Some(tool) => Err(format!("left something out: {tool}")),
            None => Ok(last.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_must_be_said_and_nothing_else() {
        let alone = CASES.iter().find(|case| !case.left_out.is_empty()).unwrap();
        let all = &CASES[0];
        let both = "not run, unit: clang and lld missing; x\nnot run, system-q35: QEMU missing; y\n5 passed, 0 failed\n";
        assert_eq!(
            alone.judge("test", true, both),
            Ok("5 passed, 0 failed".into())
        );
        assert!(all.judge("test", true, both).is_err());
        assert!(alone.judge("test", true, "5 passed, 0 failed\n").is_err());
        assert!(all.judge("test", true, "5 passed, 0 failed\n").is_ok());
        assert!(
            all.judge("test", false, "4 passed, 1 failed\n")
                .unwrap_err()
                .contains("1 failed")
        );
        assert!(all.judge("run", true, "").is_err());
    }
}
