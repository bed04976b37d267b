//! How a PCI function is reset between one driver and the next: the steps, for any configuration
//! space.
//!
//! A function is told to reset itself by a function-level reset (of the PCI Express capability, or
//! of that for advanced features), or else by falling asleep (D3hot) and waking again, if it says
//! that this resets it. Then it gets back the configuration that it had at the machine's start.
//!
//! Invariants:
//! - No step waits: each says when the next one is due.
//! - A function that is not as it was a second after its reset has failed for good: it answers at no
//!   address, and does not master the bus.

/// The register with the commands in its low half.
pub const COMMAND: u16 = 0x04;
/// Answers at ports; answers at memory addresses; masters the bus; does not raise its pin.
pub const PORTS: u32 = 1;
pub const MEMORY: u32 = 2;
pub const MASTER: u32 = 4;
pub const NO_PIN: u32 = 1 << 10;

/// Capabilities: power management, PCI Express, advanced features.
const POWER: u8 = 0x01;
const EXPRESS: u8 = 0x10;
const ADVANCED: u8 = 0x13;

/// PCI Express: what a function can do, its control and status, its second control.
const EXPRESS_ABILITIES: u16 = 4;
const EXPRESS_CONTROL: u16 = 8;
const EXPRESS_CONTROL_2: u16 = 0x28;
const EXPRESS_CAN_RESET: u32 = 1 << 28;
const EXPRESS_RESET: u32 = 1 << 15;
const EXPRESS_PENDING: u32 = 1 << 21;
/// Advanced features: the capability's first register has what it can do, the next one control and
/// status.
const ADVANCED_CONTROL: u16 = 4;
const ADVANCED_CAN_RESET: u32 = 1 << 25 | 1 << 24;
const ADVANCED_RESET: u32 = 1;
const ADVANCED_PENDING: u32 = 1 << 8;
/// Power management: the state, 3 for asleep, and whether waking resets nothing.
const POWER_CONTROL: u16 = 4;
const POWER_STATE: u32 = 3;
const POWER_KEEPS: u32 = 1 << 3;
/// A write of one clears this.
const POWER_EVENT: u32 = 1 << 15;

/// Times in nanoseconds: the most for which requests of a function are awaited before its reset; a
/// reset; falling asleep, or waking; between two looks at a function that does not answer; and how
/// long that goes on.
const DRAIN: u64 = 100_000_000;
const RESET: u64 = 100_000_000;
const SLEEP: u64 = 10_000_000;
const LOOK: u64 = 10_000_000;
const PATIENCE: u64 = 1_000_000_000;

/// Registers of the header that a reset clears: what is set at the start, of each the bits that are
/// written again. (Not the bits above those, the last of which starts a self-test.)
const HEADER: [(u16, u32); 9] = [
    (0x0c, 0xffff),
    (0x10, u32::MAX),
    (0x14, u32::MAX),
    (0x18, u32::MAX),
    (0x1c, u32::MAX),
    (0x20, u32::MAX),
    (0x24, u32::MAX),
    (0x30, u32::MAX),
    (0x3c, 0xff),
];

/// A function's configuration space, in words.
pub trait Configuration {
    /// Reads the word at a multiple of 4.
    fn read(&self, register: u16) -> u32;
    /// Writes it.
    fn write(&self, register: u16, value: u32);
}

/// How a function is reset: with the place of its capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Express(u16),
    Advanced(u16),
    Power(u16),
}

/// How a function is reset, and what it is given back afterwards.
pub struct Plan {
    how: How,
    identity: u32,
    command: u32,
    header: [u32; HEADER.len()],
    /// Place and contents of its controls of PCI Express.
    express: Option<(u16, [u32; 2])>,
}

/// Where a reset is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The function is as firmware has left it, at work perhaps.
    Unknown,
    /// None is under way.
    None,
    /// The function's own requests are awaited, until this time.
    Draining(u64),
    /// It falls asleep, until this time.
    Falling(u64),
    /// It resets itself, or wakes: it is looked at from the first time on, until the second.
    Resetting(u64, u64),
    /// It did not come back.
    Failed,
}

impl Plan {
    /// How a function can be reset; `None` if it cannot. Its configuration is complete, and it
    /// does not master the bus.
    pub fn of(function: &impl Configuration, capabilities: &[(u8, u16)]) -> Option<Plan> {
        let find = |kind: u8| capabilities.iter().find(|c| c.0 == kind).map(|c| c.1);
        let express = find(EXPRESS);
        let how = express
            .filter(|at| function.read(at + EXPRESS_ABILITIES) & EXPRESS_CAN_RESET != 0)
            .map(How::Express)
            .or_else(|| {
                let can = |at: &u16| function.read(*at) & ADVANCED_CAN_RESET == ADVANCED_CAN_RESET;
                find(ADVANCED).filter(can).map(How::Advanced)
            })
            .or_else(|| {
                let can = |at: &u16| function.read(at + POWER_CONTROL) & POWER_KEEPS == 0;
                find(POWER).filter(can).map(How::Power)
            })?;
        let express = express.map(|at| {
            // The second control came with the second version.
            let second = match function.read(at) >> 16 & 15 {
                0 | 1 => 0,
                _ => function.read(at + EXPRESS_CONTROL_2) & 0xffff,
            };
            (at, [function.read(at + EXPRESS_CONTROL) & 0xffff, second])
        });
        Some(Plan {
            how,
            identity: function.read(0),
            command: function.read(COMMAND) & 0xffff & !MASTER | NO_PIN,
            header: HEADER.map(|(register, kept)| function.read(register) & kept),
            express,
        })
    }

    /// Begins the reset of a function that neither masters the bus nor raises its pin.
    pub fn begin(&self, function: &impl Configuration, now: u64) -> Stage {
        self.switch_off(function);
        if self.is_pending(function) {
            return Stage::Draining(now + DRAIN);
        }
        self.reset(function, now)
    }

    /// Whether requests of the function have not been answered.
    fn is_pending(&self, function: &impl Configuration) -> bool {
        match self.how {
            How::Express(at) => function.read(at + EXPRESS_CONTROL) & EXPRESS_PENDING != 0,
            How::Advanced(at) => function.read(at + ADVANCED_CONTROL) & ADVANCED_PENDING != 0,
            How::Power(_) => false,
        }
    }

    fn reset(&self, function: &impl Configuration, now: u64) -> Stage {
        match self.how {
            How::Express(at) => {
                let control = function.read(at + EXPRESS_CONTROL) & 0xffff;
                function.write(at + EXPRESS_CONTROL, control | EXPRESS_RESET);
            }
            How::Advanced(at) => function.write(at + ADVANCED_CONTROL, ADVANCED_RESET),
            How::Power(at) => {
                self.set_power(function, at, POWER_STATE);
                return Stage::Falling(now + SLEEP);
            }
        }
        Stage::Resetting(now + RESET, now + PATIENCE)
    }

    fn set_power(&self, function: &impl Configuration, at: u16, state: u32) {
        let control = function.read(at + POWER_CONTROL) & 0xffff;
        let control = control & !(POWER_STATE | POWER_EVENT);
        function.write(at + POWER_CONTROL, control | state);
    }

    /// The next stage, and when to look again if that is not the end. `is_whole` gives the function
    /// back what is not in its header, and says whether it has taken that.
    pub fn go_on<C: Configuration>(
        &self,
        function: &C,
        stage: Stage,
        now: u64,
        is_whole: impl FnOnce(&C) -> bool,
    ) -> (Stage, Option<u64>) {
        match stage {
            Stage::Unknown => waiting(self.begin(function, now)),
            Stage::None | Stage::Failed => (stage, None),
            Stage::Draining(until) if now < until && self.is_pending(function) => {
                (stage, Some(until.min(now + LOOK)))
            }
            // What is still pending is lost: it can reach nothing.
            Stage::Draining(_) => waiting(self.reset(function, now)),
            Stage::Falling(until) if now < until => (stage, Some(until)),
            Stage::Falling(_) => {
                if let How::Power(at) = self.how {
                    self.set_power(function, at, 0);
                }
                waiting(Stage::Resetting(now + SLEEP, now + PATIENCE))
            }
            Stage::Resetting(from, _) if now < from => (stage, Some(from)),
            Stage::Resetting(_, until) => {
                if function.read(0) == self.identity {
                    if self.restore(function) && is_whole(function) {
                        return (Stage::None, None);
                    }
                    self.switch_off(function);
                }
                if now < until {
                    (stage, Some(until.min(now + LOOK)))
                } else {
                    (Stage::Failed, None)
                }
            }
        }
    }

    /// Keeps a function from answering at any address, and so from being set to work.
    fn switch_off(&self, function: &impl Configuration) {
        function.write(COMMAND, self.command & !(PORTS | MEMORY));
    }

    /// Writes back what the reset has cleared. Returns whether the function has taken it.
    fn restore(&self, function: &impl Configuration) -> bool {
        for ((register, _), value) in HEADER.iter().zip(self.header) {
            function.write(*register, value);
        }
        if let Some((at, [first, second])) = self.express {
            function.write(at + EXPRESS_CONTROL, first & !EXPRESS_RESET);
            if second != 0 {
                function.write(at + EXPRESS_CONTROL_2, second);
            }
        }
        function.write(COMMAND, self.command);
        let header = HEADER.iter().zip(self.header);
        header.fold(true, |all, ((register, kept), value)| {
            all && function.read(*register) & kept == value
        })
    }
}

/// A stage in which there is something to wait for.
fn waiting(stage: Stage) -> (Stage, Option<u64>) {
    let until = match stage {
        Stage::Draining(until) | Stage::Falling(until) | Stage::Resetting(until, _) => Some(until),
        Stage::Unknown | Stage::None | Stage::Failed => None,
    };
    (stage, until)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    const AT: u16 = 0x40;

    /// A function with one capability at [`AT`], which loses its configuration when it is reset.
    struct Function {
        words: RefCell<[u32; 64]>,
        kind: u8,
        resets: Cell<u32>,
        /// How often it answers with ones after a reset, and says that requests are pending before.
        silent: Cell<u32>,
        pending: Cell<u32>,
        /// Whether it takes back what is not in its header.
        takes_all: Cell<bool>,
    }

    impl Function {
        fn new(kind: u8) -> Function {
            let mut words = [0; 64];
            words[0] = 0x1234_8086;
            words[1] = 0x0010_0547;
            for (register, _) in HEADER {
                words[usize::from(register) / 4] = 0xfe00_0000 | u32::from(register);
            }
            let at = usize::from(AT) / 4;
            match kind {
                EXPRESS => {
                    words[at] = 2 << 16;
                    words[at + 1] = EXPRESS_CAN_RESET;
                    words[at + 2] = 0x0000_2810;
                    words[at + 10] = 9;
                }
                ADVANCED => words[at] = ADVANCED_CAN_RESET,
                _ => {}
            }
            Function {
                words: RefCell::new(words),
                kind,
                resets: Cell::new(0),
                silent: Cell::new(0),
                pending: Cell::new(0),
                takes_all: Cell::new(true),
            }
        }

        fn plan(&self) -> Option<Plan> {
            Plan::of(self, &[(0x05, 0xe0), (self.kind, AT)])
        }

        fn reset(&self) {
            let mut words = self.words.borrow_mut();
            words[1] = 0;
            for (register, _) in HEADER {
                words[usize::from(register) / 4] = 0;
            }
            words[usize::from(AT) / 4 + 2] = 0;
            self.resets.set(self.resets.get() + 1);
        }

        /// Goes on to the end: the stage there, and when that was.
        fn finish(&self, plan: &Plan, mut stage: Stage) -> (Stage, u64) {
            let (mut now, mut steps) = (0, 0);
            loop {
                let (next, again) = plan.go_on(self, stage, now, |_| self.takes_all.get());
                stage = next;
                let Some(again) = again else {
                    return (stage, now);
                };
                assert!(again > now && steps < 1000);
                (now, steps) = (again, steps + 1);
            }
        }
    }

    impl Configuration for Function {
        fn read(&self, register: u16) -> u32 {
            if self.resets.get() > 0 && self.silent.get() > 0 {
                self.silent.set(self.silent.get() - 1);
                return u32::MAX;
            }
            let mut word = self.words.borrow()[usize::from(register) / 4];
            if self.kind == EXPRESS && register == AT + 8 && self.pending.get() > 0 {
                self.pending.set(self.pending.get() - 1);
                word |= EXPRESS_PENDING;
            }
            word
        }

        fn write(&self, register: u16, value: u32) {
            let old = self.read(register);
            self.words.borrow_mut()[usize::from(register) / 4] = value;
            let resets = match (self.kind, register) {
                (EXPRESS, 0x48) => value & EXPRESS_RESET != 0,
                (ADVANCED, 0x44) => value & ADVANCED_RESET != 0,
                (POWER, 0x44) => old & 3 == 3 && value & 3 == 0,
                _ => false,
            };
            if resets {
                self.reset();
            }
        }
    }

    #[test]
    fn each_kind_of_reset_gives_back_what_it_has_cleared() {
        for kind in [EXPRESS, ADVANCED, POWER] {
            let function = Function::new(kind);
            let before = *function.words.borrow();
            let plan = function.plan().unwrap();
            let stage = plan.begin(&function, 0);
            // It answers at no address meanwhile.
            assert_eq!(function.read(COMMAND) & (PORTS | MEMORY | MASTER), 0);
            let (stage, end) = function.finish(&plan, stage);
            assert_eq!(
                (stage, function.resets.get()),
                (Stage::None, 1),
                "{kind:#x}"
            );
            assert!(end >= if kind == POWER { 2 * SLEEP } else { RESET });
            let mut wanted = before;
            wanted[1] = before[1] & 0xffff & !MASTER | NO_PIN;
            for (register, kept) in HEADER {
                wanted[usize::from(register) / 4] &= kept;
            }
            let mut now = *function.words.borrow();
            // The one that orders it reads as zero.
            if kind == ADVANCED {
                now[usize::from(AT) / 4 + 1] = 0;
            }
            assert_eq!(now, wanted, "{kind:#x}");
        }
    }

    #[test]
    fn a_function_that_cannot_be_reset_has_no_plan() {
        for (kind, offset, value) in [(EXPRESS, 4, 0), (ADVANCED, 0, 1 << 25), (POWER, 4, 8)] {
            let function = Function::new(kind);
            function.words.borrow_mut()[usize::from(AT + offset) / 4] = value;
            assert!(function.plan().is_none(), "{kind:#x}");
        }
        assert!(Function::new(0x05).plan().is_none());
    }

    #[test]
    fn one_that_is_slow_is_awaited_and_one_that_does_not_come_back_has_failed() {
        let function = Function::new(EXPRESS);
        function.silent.set(20);
        let plan = function.plan().unwrap();
        let (stage, end) = function.finish(&plan, plan.begin(&function, 0));
        assert_eq!((stage, end), (Stage::None, RESET + 20 * LOOK));
        let gone = Function::new(EXPRESS);
        gone.silent.set(u32::MAX);
        let plan = gone.plan().unwrap();
        let (stage, end) = gone.finish(&plan, plan.begin(&gone, 0));
        assert_eq!((stage, end), (Stage::Failed, PATIENCE));
    }

    #[test]
    fn one_that_does_not_take_back_what_it_needs_is_switched_off() {
        let function = Function::new(EXPRESS);
        function.takes_all.set(false);
        let plan = function.plan().unwrap();
        let (stage, end) = function.finish(&plan, plan.begin(&function, 0));
        assert_eq!((stage, end), (Stage::Failed, PATIENCE));
        assert_eq!(function.read(COMMAND) & (PORTS | MEMORY | MASTER), 0);
    }

    #[test]
    fn pending_requests_are_awaited_before_a_reset_but_not_for_ever() {
        let function = Function::new(EXPRESS);
        function.pending.set(3);
        let plan = function.plan().unwrap();
        let (stage, _) = plan.go_on(&function, Stage::Unknown, 0, |_| true);
        assert_eq!((stage, function.resets.get()), (Stage::Draining(DRAIN), 0));
        let (stage, end) = function.finish(&plan, stage);
        assert_eq!((stage, function.resets.get()), (Stage::None, 1));
        assert!(end < DRAIN + RESET);
        function.pending.set(u32::MAX);
        let (stage, end) = function.finish(&plan, plan.begin(&function, 0));
        assert_eq!((stage, end), (Stage::None, DRAIN + RESET));
    }
}
