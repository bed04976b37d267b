//! Figures of a running system: what its commands `mem` and `df` print, and what Linux knows of its
//! process.

use std::collections::BTreeMap;

/// A line of `mem`: how it begins, the place of the number among what follows, and the figure.
const OF_MEM: [(&str, usize, &str); 9] = [
    ("pages in use", 0, "pages"),
    ("kernel", 0, "kernel pages"),
    ("code", 0, "code pages"),
    ("chunks", 0, "chunk pages"),
    ("exchange heap", 0, "blocks"),
    ("processes", 0, "processes"),
    ("threads", 0, "threads"),
    ("channels", 0, "channels"),
    ("handles", 0, "handles"),
];

/// Reads what `mem` and `df` have printed; lines of others between theirs are passed over.
pub fn of_system(lines: &[String]) -> BTreeMap<String, f64> {
    let mut figures = BTreeMap::new();
    for line in lines {
        for (start, place, name) in OF_MEM {
            let rest = line.trim_start().strip_prefix(start);
            let rest = rest.filter(|rest| rest.starts_with(' '));
            let number = rest.and_then(|rest| rest.split_whitespace().nth(place)?.parse().ok());
            if let Some(number) = number {
                figures.insert(name.to_string(), number);
            }
        }
        // DISK AT SIZE UNIT FREE UNIT NODES
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["/dev/disk0", "/", _, _, free, unit, nodes] = words[..]
            && let (Ok(free), Some(unit), Ok(nodes)) =
                (free.parse::<f64>(), kib(unit), nodes.parse())
        {
            figures.insert("free KiB".into(), free * unit);
            figures.insert("nodes".into(), nodes);
        }
    }
    figures
}

fn kib(unit: &str) -> Option<f64> {
    match unit {
        "KiB" => Some(1.0),
        "MiB" => Some(1024.0),
        "GiB" => Some(1048576.0),
        _ => None,
    }
}

/// What Linux says of a process: its memory, open files and threads.
pub fn of_host(process: u32) -> BTreeMap<String, f64> {
    let mut figures = BTreeMap::new();
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    for (start, name) in [("VmRSS:", "host KiB"), ("Threads:", "host threads")] {
        let line = status.lines().find_map(|line| line.strip_prefix(start));
        let number = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        figures.extend(number.map(|number| (name.to_string(), number)));
    }
    if let Ok(files) = std::fs::read_dir(format!("/proc/{process}/fd")) {
        figures.insert("host files".into(), files.count() as f64);
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_commands_are_read_and_others_are_not() {
        let text = "\
machine        hosted (1 processors, scheduler minimum-latency round robin)
pages in use   2882 of 4990293 (4 KiB each)
  free         4987185
crash: web-try (SIP 21) died of: integer division by zero
  kernel       100 (99 of records)
  code         1927
  chunks       128 of small blocks
exchange heap  2 allocations, 76 bytes
processes      7
threads        9
channels       40
handles        94
DISK             AT                     SIZE       FREE      NODES
/dev/disk0       /                  63.9 MiB   15.5 MiB          3
/dev/disk1       /other             63.9 MiB    1.5 MiB          4";
        let lines: Vec<String> = text.lines().map(String::from).collect();
        let figures = of_system(&lines);
        let wanted = [
            ("pages", 2882.0),
            ("kernel pages", 100.0),
            ("code pages", 1927.0),
            ("chunk pages", 128.0),
            ("blocks", 2.0),
            ("processes", 7.0),
            ("threads", 9.0),
            ("channels", 40.0),
            ("handles", 94.0),
            ("free KiB", 15872.0),
            ("nodes", 3.0),
        ];
        assert_eq!(figures.len(), wanted.len(), "{figures:?}");
        for (name, value) in wanted {
            assert_eq!(figures.get(name), Some(&value), "{name}");
        }
    }

    #[test]
    fn the_host_knows_of_this_process() {
        let figures = of_host(std::process::id());
        assert!(figures["host KiB"] > 100.0 && figures["host files"] >= 1.0);
        assert!(figures["host threads"] >= 1.0);
    }
}
