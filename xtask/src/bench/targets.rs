//! The targets, with the figures that the papers measured on their machines of 2004 to 2006.

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its number in `SPECIFICATION.md`, and the id that the programs print.
    pub id: &'static str,
    /// The unit of the row that the figures below belong to.
    pub unit: &'static str,
    /// The papers' figure for Singularity, in this row's unit.
    pub paper: Option<f64>,
    /// The most that `SPECIFICATION.md` promises, in this row's unit.
    pub most: Option<f64>,
    /// The target in words, if it is more than a number.
    pub note: &'static str,
}

/// The rows of `cargo xtask bench` that promises refer to.
pub const TARGETS: &[Target] = &[
    Target {
        id: "T1",
        unit: "cycles",
        paper: Some(80.0),
        most: Some(8.0),
        note: "",
    },
    Target {
        id: "T2",
        unit: "cycles",
        paper: Some(346.0),
        most: Some(55.0),
        note: "",
    },
    Target {
        id: "T3",
        unit: "cycles",
        paper: Some(803.0),
        most: Some(150.0),
        note: "and at most 1/38 of a Linux pipe; as two calls at most 175",
    },
    Target {
        id: "T4",
        unit: "ratio",
        paper: Some(1.0),
        most: Some(1.05),
        note: "",
    },
    Target {
        id: "T5",
        unit: "cycles",
        paper: Some(1_600.0),
        most: Some(60.0),
        note: "a set of 8; an array of 8 at most 100",
    },
    Target {
        id: "T6",
        unit: "cycles",
        paper: Some(353_000.0),
        most: Some(2_700.0),
        note: "and 2.5 times ahead of wasmtime's pooling allocator",
    },
    Target {
        id: "T7",
        unit: "KiB",
        paper: Some(408.0),
        most: Some(60.0),
        note: "",
    },
    Target {
        id: "T7",
        unit: "KiB more",
        paper: None,
        most: Some(40.0),
        note: "",
    },
    Target {
        id: "T8",
        unit: "ratio",
        paper: None,
        most: Some(1.35),
        note: "the target: and 5 % ahead of wasmtime with SIMD",
    },
    Target {
        id: "T9",
        unit: "ratio",
        paper: None,
        most: Some(1.15),
        note: "explicit tests over no tests",
    },
    Target {
        id: "T9",
        unit: GUARDED,
        paper: None,
        most: Some(1.01),
        note: "",
    },
    Target {
        id: "T10",
        unit: "ratio",
        paper: None,
        most: Some(1.01),
        note: "",
    },
    Target {
        id: "T11",
        unit: "ms",
        paper: None,
        most: Some(50.0),
        note: "",
    },
    Target {
        id: "T11",
        unit: EMULATED_MS,
        paper: None,
        most: Some(1_500.0),
        note: "",
    },
    Target {
        id: "T12",
        unit: "MB/s",
        paper: None,
        most: None,
        note: "at least 1.5 of one processor",
    },
    Target {
        id: "T14",
        unit: "cycles",
        paper: None,
        most: None,
        note: "at least 0.9 of the throughput of pread and pwrite",
    },
    Target {
        id: "T15",
        unit: "cycles",
        paper: None,
        most: None,
        note: "at least 0.5 of the throughput of pread and pwrite",
    },
    Target {
        id: "T16",
        unit: "requests/s",
        paper: None,
        most: None,
        note: "at least nginx's with a back end, and three times wasmtime serve's",
    },
    Target {
        id: "T17",
        unit: "requests/s",
        paper: None,
        most: None,
        note: "at least 0.75 of nginx's",
    },
    Target {
        id: "T18",
        unit: "cycles",
        paper: None,
        most: None,
        note: "the target: at most 3 times T6",
    },
    Target {
        id: "T19",
        unit: "ratio",
        paper: None,
        most: Some(0.33),
        note: "",
    },
    Target {
        id: "T22",
        unit: "us",
        paper: None,
        most: Some(1_000.0),
        note: "",
    },
];

/// The unit of what guard pages cost.
pub const GUARDED: &str = "ratio, guard";

/// The unit of counts that hold waits for devices: an instruction takes a nanosecond.
pub const WITH_WAITS: &str = "instructions and ns waited";

/// The unit of times by the wall clock on an emulated machine.
pub const EMULATED_MS: &str = "ms, emulated";

/// The target with this number for rows in this unit.
pub fn target(id: &str, unit: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|t| t.id == id && t.unit == unit)
}
