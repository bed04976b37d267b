//! The kernel's watchdog: a watched system's last line says how long interrupts have waited for its
//! kernel.

use crate::machine::Machine;

/// The last line of a watched system; the nanoseconds and the place follow.
const LINE: &str = "watchdog: interrupts waited ";
/// How long an interrupt may wait for the kernel, in nanoseconds. On a hosted system this counts
/// only the kernel's own work, so that other load on the machine hardly lengthens it; on an
/// emulated one a nanosecond is an instruction. The target is a twentieth.
const MOST_HELD: u64 = 20_000_000;
/// The most boots in which a hosted system is watched; one must keep within [`MOST_HELD`]. The
/// clock of a thread goes on while a hypervisor gives the processor to others, for tens of
/// milliseconds on a busy machine; a long step of the kernel itself is long in every boot.
const WATCHED: u32 = 3;

/// Microseconds between ticks of the timer of a watched system: more if it is emulated, as each
/// tick costs it much more.
pub fn tick(machine: Machine) -> u32 {
    if machine.is_emulated() { 1000 } else { 250 }
}

/// How often a system is watched at most.
pub fn watchings(machine: Machine) -> u32 {
    if machine.is_emulated() { 1 } else { WATCHED }
}

/// Takes a watched system's last line out of its output, and judges it.
///
/// # Errors
/// Interrupts have waited too long, or the line is not there.
pub fn judge(output: &mut String) -> Result<(), String> {
    let (said, kept): (Vec<&str>, Vec<&str>) =
        output.lines().partition(|line| line.starts_with(LINE));
    let last = said.last().map(|line| (*line).to_string());
    let text = kept.join("\n") + if kept.is_empty() { "" } else { "\n" };
    *output = text;
    let held = last.as_deref().and_then(|line| {
        let number = line.strip_prefix(LINE)?.split(' ').next()?;
        number.parse::<u64>().ok()
    });
    match (held, last) {
        (Some(held), Some(line)) if held > MOST_HELD => {
            Err(format!("{line}; {MOST_HELD} ns are allowed"))
        }
        (Some(_), _) => Ok(()),
        _ => Err("the system did not say how long interrupts have waited".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_that_wait_too_long_fail() {
        let verdict = |said: &str| {
            let mut output = format!("a\n{said}b\n");
            let verdict = judge(&mut output);
            assert_eq!(output, "a\nb\n");
            verdict
        };
        let said = "watchdog: interrupts waited 20000001 ns at most, until k.rs:7\n";
        let failure = verdict(said).unwrap_err();
        assert!(failure.contains("k.rs:7"), "{failure}");
        let short = "watchdog: interrupts waited 20000000 ns at most, until k.rs:7\n";
        assert!(verdict(short).is_ok());
        assert!(verdict("").is_err(), "nothing was said");
    }
}
