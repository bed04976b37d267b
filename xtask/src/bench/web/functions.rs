//! Which functions take the processor's time: samples of it, each with the functions that had called
//! each other then, are attributed to the processes of the system.
//!
//! A sample counts for the process whose function is the nearest on the stack, also where the kernel, or
//! Linux for it, works: calls into the kernel run on the caller's stack. Time of Linux is named after
//! the system call, and that of the kernel after its function.

use super::super::report::Row;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

/// The most functions that are shown of each process, and of the kernel and Linux.
const MOST: usize = 6;
/// What has less than this share, in percent, is not shown.
const LEAST: f64 = 0.5;
/// The longest name that is printed.
const WIDTH: usize = 96;
/// Whose time it is if no process is on the stack.
pub const NOBODY: &str = "no process";

/// The functions of the system's programs, by their addresses.
pub struct Map(Vec<(Range<u64>, String)>);

impl Map {
    /// Reads the hosted kernel's map for `perf`: `ADDRESS SIZE PROGRAM:FUNCTION` in each line. What is no
    /// such line is passed over.
    pub fn read(text: &str) -> Map {
        let line = |line: &str| {
            let (start, rest) = line.split_once(' ')?;
            let (size, name) = rest.split_once(' ')?;
            let start = u64::from_str_radix(start, 16).ok()?;
            let end = start.checked_add(u64::from_str_radix(size, 16).ok()?)?;
            name.contains(':').then(|| (start..end, name.to_owned()))
        };
        let mut all: Vec<_> = text.lines().filter_map(line).collect();
        all.sort_by_key(|(code, _)| code.start);
        Map(all)
    }

    /// The program and the function at an address.
    fn at(&self, address: u64) -> Option<(&str, &str)> {
        let behind = self.0.partition_point(|(code, _)| code.start <= address);
        let (code, name) = self.0.get(behind.checked_sub(1)?)?;
        code.contains(&address).then(|| name.split_once(':'))?
    }
}

/// A function on a stack, as `perf script` prints it: its address, name and file.
struct Frame<'a> {
    address: u64,
    name: &'a str,
    file: &'a str,
}

impl<'a> Frame<'a> {
    fn read(line: &'a str) -> Option<Frame<'a>> {
        let (address, rest) = line.trim().split_once(' ')?;
        let (name, file) = rest.rsplit_once(" (")?;
        Some(Frame {
            address: u64::from_str_radix(address, 16).ok()?,
            name,
            file: file.strip_suffix(')')?,
        })
    }

    /// Whether it is Linux's own: `[kernel.kallsyms]`, or a module such as `[nf_tables]`.
    fn is_linux(&self) -> bool {
        let others = ["[unknown]", "[vdso]", "[vsyscall]", "[heap]", "[stack]"];
        self.file.starts_with('[') && !others.contains(&self.file)
    }
}

/// Where the time of a sample went.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A function of the process's program.
    Own(String),
    /// A function of the kernel, or of a library that it uses.
    Kernel(String),
    /// Linux, in this system call or on another occasion.
    Linux(String),
}

impl Place {
    /// Its name, with whose it is if that is not the process's own.
    fn shown(&self) -> String {
        match self {
            Place::Own(name) => name.clone(),
            Place::Kernel(name) => format!("kernel: {name}"),
            Place::Linux(name) => format!("Linux: {name}"),
        }
    }
}

/// What is shown together: who, how much of the time of whom in its own code, the kernel and Linux, and the
/// functions.
struct Group {
    who: String,
    parts: [u32; 3],
    functions: Vec<(String, u32)>,
}

impl Group {
    fn total(&self) -> u32 {
        self.parts.iter().sum()
    }
}

/// Samples, counted by process and place.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Profile {
    counts: BTreeMap<(String, Place), u32>,
    /// Linux's own functions, whatever they were called for.
    linux: BTreeMap<String, u32>,
    pub samples: u32,
}

impl Profile {
    /// Counts what `perf script -F comm,tid,ip,sym,dso` prints: of each sample a line that begins
    /// without a space, one for each function on the stack, the innermost first, and an empty one.
    pub fn read(script: &str, map: &Map) -> Profile {
        let mut profile = Profile::default();
        let mut stack = Vec::new();
        for line in script.lines().chain([""]) {
            if line.starts_with([' ', '\t']) && !line.trim().is_empty() {
                stack.extend(Frame::read(line));
            } else {
                profile.count(&stack, map);
                stack.clear();
            }
        }
        profile
    }

    fn count(&mut self, stack: &[Frame<'_>], map: &Map) {
        let Some(leaf) = stack.first() else { return };
        let who = stack.iter().find_map(|frame| map.at(frame.address));
        let who = who.map_or(NOBODY, |(program, _)| program);
        let place = if let Some((_, function)) = map.at(leaf.address) {
            Place::Own(function.to_owned())
        } else if leaf.is_linux() {
            *self.linux.entry(leaf.name.to_owned()).or_default() += 1;
            Place::Linux(occasion(stack))
        } else {
            Place::Kernel(named(leaf))
        };
        *self.counts.entry((who.to_owned(), place)).or_default() += 1;
        self.samples += 1;
    }

    fn percent(&self, count: u32) -> f64 {
        f64::from(count) * 100.0 / f64::from(self.samples.max(1))
    }

    /// The groups that are shown: the processes by what they take, the kernel, Linux.
    fn groups(&self) -> Vec<Group> {
        let mut processes: BTreeMap<&str, Group> = BTreeMap::new();
        let mut kernel: BTreeMap<&str, u32> = BTreeMap::new();
        for ((who, place), count) in &self.counts {
            let group = processes.entry(who).or_insert_with(|| Group {
                who: who.clone(),
                parts: [0; 3],
                functions: Vec::new(),
            });
            let part = match place {
                Place::Own(_) => 0,
                Place::Kernel(name) => {
                    *kernel.entry(name).or_default() += count;
                    1
                }
                Place::Linux(_) => 2,
            };
            group.parts[part] += count;
            group.functions.push((place.shown(), *count));
        }
        let mut groups: Vec<Group> = processes.into_values().collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.total()));
        let kernel = kernel
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count));
        let kernel: Vec<_> = kernel.collect();
        let linux: Vec<_> = self.linux.clone().into_iter().collect();
        let sum = |all: &[(String, u32)]| all.iter().map(|(_, count)| count).sum::<u32>();
        for (who, parts, functions) in [
            (KERNEL, [0, sum(&kernel), 0], kernel),
            (LINUX, [0, 0, sum(&linux)], linux),
        ] {
            groups.push(Group {
                who: who.into(),
                parts,
                functions,
            });
        }
        for group in &mut groups {
            group
                .functions
                .sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        }
        groups.retain(|group| self.percent(group.total()) >= LEAST);
        groups
    }

    /// The functions of a group that are shown, with their shares.
    fn shown<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = (&'a str, u32)> {
        let most = group.functions.iter().take(MOST);
        most.map(|(name, count)| (name.as_str(), *count))
            .filter(|(_, count)| self.percent(*count) >= LEAST)
    }

    /// The table that a person reads.
    pub fn table(&self, phase: &str) -> String {
        let mut text = format!("{phase}, by function ({} samples)\n", self.samples);
        for group in self.groups() {
            let share = self.percent(group.total());
            let [own, kernel, linux] = group.parts.map(|count| self.percent(count));
            let _ = write!(text, "  {share:>5.1} %  {}", group.who);
            if ![KERNEL, LINUX].contains(&group.who.as_str()) {
                let _ = write!(
                    text,
                    ": {own:.1} in its own code, {kernel:.1} in the kernel, {linux:.1} in Linux"
                );
            }
            text.push('\n');
            for (name, count) in self.shown(&group) {
                let share = self.percent(count);
                let name: String = name.chars().take(WIDTH).collect();
                let _ = writeln!(text, "    {share:>5.1} %  {name}");
            }
        }
        text
    }

    /// The same as rows of the result.
    pub fn rows(&self, phase: &str) -> Vec<Row> {
        let row = |name: String, count: u32| {
            let value = self.percent(count);
            Row {
                id: Some("E7".into()),
                name: format!("{phase}: {name}"),
                value,
                unit: "% of samples".into(),
                p10: value,
                p90: value,
                paper: None,
                peers: BTreeMap::new(),
            }
        };
        let mut rows = Vec::new();
        for group in self.groups() {
            let who = &group.who;
            rows.push(row(format!("samples of {who}"), group.total()));
            for (part, count) in ["its own code", "the kernel", "Linux"]
                .iter()
                .zip(group.parts)
                .filter(|(_, count)| *count > 0)
            {
                rows.push(row(format!("samples of {who} in {part}"), count));
            }
            let shown = self.shown(&group);
            rows.extend(shown.map(|(name, count)| row(format!("{who}: {name}"), count)));
        }
        rows
    }
}

/// The groups behind those of the processes, which have their part of these.
const KERNEL: &str = "all of the kernel";
const LINUX: &str = "all of Linux";

/// For what Linux works: a system call, or what interrupted the program.
fn occasion(stack: &[Frame<'_>]) -> String {
    let within = stack.iter().take_while(|frame| frame.is_linux());
    // The innermost: an interrupt may come within a call.
    let mut found = within.filter_map(|frame| {
        let name = frame.name;
        let call = ["__x64_sys_", "__se_sys_", "__do_sys_"]
            .iter()
            .find_map(|start| name.strip_prefix(start));
        if let Some(call) = call {
            return Some(call.to_owned());
        }
        let what = match name.strip_prefix("asm_").unwrap_or(name) {
            "exc_page_fault" => "page fault",
            what if what.starts_with("sysvec_") => "interrupt",
            what if what.starts_with("common_interrupt") => "interrupt",
            what if what.starts_with("exit_to_user_mode") => "signals, and turns of others",
            "syscall_exit_to_user_mode" => "signals, and turns of others",
            _ => return None,
        };
        Some(what.to_owned())
    });
    found
        .next()
        .unwrap_or_else(|| stack.first().map_or("", |leaf| leaf.name).to_owned())
}

/// The name of a function of the kernel's, without the hash that Rust puts behind it; of one in a library,
/// with the library's.
fn named(frame: &Frame<'_>) -> String {
    let name = match frame.name.rsplit_once("::h") {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => {
            name
        }
        _ => frame.name,
    };
    match frame.file.rsplit_once('/') {
        Some((_, file)) if file.contains(".so") => format!("{file} {name}"),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = "100000 100 web:web::server::serve\n100100 80 web:<web::A<B, C> as D>::e\n\
                       200000 10 files:files::read\nno line\n300000 zz a:b\n";

    /// As `perf` 6.1 prints it.
    const SCRIPT: &str = "singularity  3538 \n\
        \t          100110 [unknown] (/tmp/perf-3538.map)\n\
        \t          100010 web:web::server::serve (/tmp/perf-3538.map)\n\
        \n\
        singularity  3538 \n\
        \tffffffff81234567 copy_user_generic_string ([kernel.kallsyms])\n\
        \tffffffff81234568 tcp_sendmsg ([kernel.kallsyms])\n\
        \tffffffff81234569 __x64_sys_sendto ([kernel.kallsyms])\n\
        \tffffffff8123456a entry_SYSCALL_64_after_hwframe ([kernel.kallsyms])\n\
        \t           9abcd sing_hosted::socket::send::h0123456789abcdef (/target/release/singularity)\n\
        \t          200008 files:files::read (/tmp/perf-3538.map)\n\
        \n\
        singularity  3538 \n\
        \t           9abce <A as sing_kernel::B>::c::h0123456789abcdef (/target/release/singularity)\n\
        \t          100020 web:web::server::serve (/tmp/perf-3538.map)\n\
        \n\
        singularity  3538 \n\
        \tffffffff81111111 clear_page_erms ([kernel.kallsyms])\n\
        \tffffffff81111112 asm_exc_page_fault ([kernel.kallsyms])\n\
        \t          16d840 __memmove_avx512_unaligned_erms (/usr/lib/x86_64-linux-gnu/libc.so.6)\n\
        \n\
        singularity  3539 \n\
        \t          16d840 __memmove_avx512_unaligned_erms (/usr/lib/x86_64-linux-gnu/libc.so.6)\n";

    fn profile() -> Profile {
        Profile::read(SCRIPT, &Map::read(MAP))
    }

    #[test]
    fn samples_are_attributed_to_whom_they_serve() {
        let profile = profile();
        let counts: Vec<_> = profile
            .counts
            .iter()
            .map(|((who, place), count)| (who.as_str(), place.shown(), *count))
            .collect();
        let memmove = "kernel: libc.so.6 __memmove_avx512_unaligned_erms";
        assert_eq!(
            counts,
            [
                ("files", "Linux: sendto".into(), 1),
                (NOBODY, memmove.into(), 1),
                (NOBODY, "Linux: page fault".into(), 1),
                ("web", "<web::A<B, C> as D>::e".into(), 1),
                ("web", "kernel: <A as sing_kernel::B>::c".into(), 1),
            ]
        );
        assert_eq!(profile.samples, 5);
        assert_eq!(profile.linux["clear_page_erms"], 1);
    }

    #[test]
    fn addresses_between_functions_are_nobodys() {
        let map = Map::read(MAP);
        assert_eq!(map.at(0x1000ff), Some(("web", "web::server::serve")));
        assert_eq!(map.at(0x100180), None);
        assert_eq!(map.at(0x0f_ffff), None);
        assert_eq!(map.at(0x20_0010), None);
    }

    #[test]
    fn the_table_has_each_process_once_and_the_kernel_and_linux_behind() {
        let text = profile().table("mix");
        let groups: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("   "))
            .filter(|line| !line.starts_with("  "))
            .collect();
        assert_eq!(
            groups,
            [
                "40.0 %  no process: 0.0 in its own code, 20.0 in the kernel, 20.0 in Linux",
                "40.0 %  web: 20.0 in its own code, 20.0 in the kernel, 0.0 in Linux",
                "20.0 %  files: 0.0 in its own code, 0.0 in the kernel, 20.0 in Linux",
                "40.0 %  all of the kernel",
                "40.0 %  all of Linux"
            ]
        );
        assert!(
            text.contains("     20.0 %  kernel: <A as sing_kernel::B>::c\n"),
            "{text}"
        );
        assert!(text.starts_with("mix, by function (5 samples)\n"));
        let rows = profile().rows("mix");
        let row = rows
            .iter()
            .find(|row| row.name == "mix: files: Linux: sendto");
        assert_eq!(row.map(|row| row.value), Some(20.0));
        let value = |name: &str| {
            let row = rows.iter().find(|row| row.name == name);
            row.map(|row| row.value)
        };
        assert_eq!(value("mix: samples of web"), Some(40.0));
        assert_eq!(value("mix: samples of web in the kernel"), Some(20.0));
    }

    #[test]
    fn what_is_no_sample_counts_for_nothing() {
        for text in ["", "\n\n", "perf: failed\n", "a 1\n\tno address\n\n"] {
            let profile = Profile::read(text, &Map::read(""));
            assert_eq!(profile, Profile::default(), "{text:?}");
            assert!(profile.groups().is_empty());
        }
    }

    #[test]
    fn an_interrupt_within_a_call_is_not_the_calls() {
        let text = "a 1\n\tffffffff81000000 ktime_get ([kernel.kallsyms])\n\
                    \tffffffff81000001 asm_sysvec_apic_timer_interrupt ([kernel.kallsyms])\n\
                    \tffffffff81000002 __x64_sys_ppoll ([kernel.kallsyms])\n\n\
                    a 1\n\tffffffff81000000 nft_do_chain ([nf_tables])\n\
                    \tffffffff81000002 __x64_sys_ppoll ([kernel.kallsyms])\n\n\
                    a 1\n\tffffffff81000000 ret_from_fork ([kernel.kallsyms])\n";
        let profile = Profile::read(text, &Map::read(""));
        let names: Vec<_> = profile
            .counts
            .keys()
            .map(|(_, place)| place.shown())
            .collect();
        assert_eq!(
            names,
            ["Linux: interrupt", "Linux: ppoll", "Linux: ret_from_fork"]
        );
    }
}
