//! What the command says about itself. Completions are made of the same table.

use sing_files::near::did_you_mean;
use std::fmt::Write as _;

/// A command: its words, what it does in a line, how it is called, and more.
pub struct About {
    pub name: &'static str,
    pub summary: &'static str,
    pub usage: &'static str,
    pub text: &'static str,
}

/// All commands, in the order of the list.
pub const COMMANDS: &[About] = &[
    About {
        name: "new",
        summary: "makes a project: a program with a system of its own",
        usage: "sing new [--service|--client|--c|--wasi] [--] DIRECTORY",
        text: "\
Makes a folder with a program, its system manifest (system.json), a test and a README. The folder's name is the
program's: a small letter, then small letters, digits and hyphens, 32 at most.
--service: a contract, a service of it and a client.
--client: a program that finds a service by its name, in a system with a name server.
--c: a contract, a service and a client in C; they need clang and lld, and no cargo.
--wasi: an ordinary program in Rust with its standard library, which needs no SDK and no system.json.
The project needs this command and cargo, and nothing else of Singularity: the sources of the SDK are in the command,
which puts them into the project's folder `.sing`.",
    },
    About {
        name: "build",
        summary: "builds the project's programs and its system image",
        usage: "sing build [--json] [--no-cache] [-v]",
        text: "\
In a project's folder or below it: builds its programs (binaries of its package, and those in C, each in a folder
below c/), verifies and compiles them, checks that they and the system manifest fit together, and writes
target/sing/NAME.img. Of an ordinary program it builds and verifies the module. Programs that system.json names and the
project has not are taken from those in this command. --json: says in JSON what has been made. The code of functions is
kept for the next time, as by `sing compile`. If the Rust target of programs is missing, it is installed by rustup.",
    },
    About {
        name: "run",
        summary: "runs the project's system, or a program of WASI",
        usage: "\
sing run [OPTION]... [-- ARGUMENT...]
  sing run [--dir HOST[::GUEST]]... [--env NAME[=VALUE]]... [--net[=RANGE,...]] [--tcplisten ADDRESS:PORT]...
    [--no-cache] [--perf-map] [-v] MODULE [ARGUMENT...]",
        text: "\
Without a module: builds the project, and runs its system as a process of this machine. The arguments are those that
system.json passes on as $ARGS; the exit status is the system's. A project of an ordinary program is run as its module
would be, with the options for that.
With one: runs an ordinary program, a module of WASI preview 1 or a component of WASI 0.2, in a system of its own:
with the standard streams and the exit status of this command, and with these directories of the host, which it can
change. Without the following, nothing else of the host can be reached. --net: the program, if it is a component,
makes connections, listens, exchanges datagrams, looks up names and asks servers by HTTP (not https), as this user can;
with ranges (10.0.0.0/8, ::1; dns=ADDRESS: a server of names) it reaches those alone, and listens at this machine's
loopback. --tcplisten: the program, if it is a module, has a socket that listens there, at this machine's loopback, as
descriptor 3 and on. A program that traps ends with status 134. The compiled program is kept for the next run, unless
--no-cache: in $SING_CACHE (off: nowhere), or singularity in the user's directory for caches. --perf-map writes the
functions of all programs to /tmp/perf-PID.map, for `perf report`. -v says what is done.",
    },
    About {
        name: "serve",
        summary: "has a program of WASI answer requests of HTTP",
        usage: "\
sing serve [--port PORT] [--dir HOST[::GUEST]]... [--env NAME[=VALUE]]... [--net[=RANGE,...]] [--memory SIZE]
  [--deadline TIME] [--at-once NUMBER] [--body SIZE] [--no-cache] [-v] MODULE",
        text: "\
Serves HTTP on this machine's loopback, until Ctrl-C: each request is answered by a process of its own, which runs the
module by the Common Gateway Interface (RFC 3875), or a component by its wasi:http/incoming-handler. A module has the
request in its environment, and the request's body as its standard input; on standard output it writes headers, an empty
line and the body. What it writes on standard error is in the log, which is that of this command. A program that crashes
costs its request, which is answered by 500 and a name that the log explains.
--port: the port; without it 8080, or another one if that is taken. --dir, --env: as for `sing run`. --net: as there, for
a component, which can then ask others by wasi:http/outgoing-handler, too; what listens does so at the loopback all
the same. --memory: the most of one process (64M); --deadline: the time for one request (30s; also 500ms); --at-once:
the most processes (16, up to 48); --body: the most bytes of a request's body (64M). Ctrl-C has the requests under way
answered first, for five seconds at most; the second one ends at once.",
    },
    About {
        name: "test",
        summary: "runs the project's tests on this machine, without a system",
        usage: "sing test [ARGUMENT...]",
        text: "\
Runs `cargo test` with these arguments. Channels work there, within the test's process: a test can be the other side of
a conversation, or let two threads have it.",
    },
    About {
        name: "check",
        summary: "checks a system, or contracts, without running anything",
        usage: "\
sing check [--json]
  sing check system [--json] SYSTEM.img
  sing check system [--json] --manifest SYSTEM.json... [--bin NAME=FILE]...
  sing check contracts SYSTEM.img | FILE.system | FILE.contract [--any PROCESS]... [--closing] [--limit N] [--svg FILE]
    [--json]
  sing check contracts --manifest SYSTEM.json [--bin NAME=FILE]... (and the same choices)",
        text: "\
Without words: builds the project, and checks its system as `check system` does.
system: says what will start, in which order, and which programs can run, without running anything; or why the system
cannot start as it says: parts that are missing, that wait for each other, or that are in each other's way.
contracts: looks for deadlocks, messages that nobody expects or receives, and states that nobody leaves, and shows a
shortest run that leads to each. Looks at N situations at most. --any: the process may do whatever its
contracts allow, as those without a behavior do; --closing: and close its channels at any time (both for images;
a .system file says so itself). --svg: draws the first run. --json: the result for another program.",
    },
    About {
        name: "boot",
        summary: "runs a system image as a process of this machine",
        usage: "\
sing boot [--disk FILE[,ro][,nvme]]... [--dir HOST::PATH[,rw]]... [--net NET]... [--serial FILE|unix:PATH]
    [--display unix:PATH] [--memory-limit BYTES] [--measure] [--no-preemption] [--perf-map] IMAGE [ARGUMENT...]",
        text: "\
The hosted kernel, in this command or beside it, runs the system; the arguments go to the programs that its manifest says.
`sing boot --help` has each option in full, those for tests, and what the exit statuses from 160 on mean.",
    },
    About {
        name: "gdb",
        summary: "runs gdb, told of a system's programs",
        usage: "sing gdb [--script] [ARGUMENT OF GDB]...",
        text: "\
Runs gdb with these arguments, as in `sing gdb --args sing run tool.wasm`, in `sing gdb -p PID`, with a core file, or, for a
system in QEMU, in `sing gdb KERNEL -ex 'target remote :1234'`. Functions and lines of all programs that the kernel
loads are known to gdb as those of the kernel are: `break main.rs:12`, `backtrace`, `list`, `info singularity`. The lines
are those that the images keep (`sing help compile`). `info processes` lists the processes, `process NUMBER backtrace` shows
the frames of one that need not run, `save core FILE [NUMBER]` writes a core file, of all or of one. --script: prints what
gdb is to read, for one that something else starts.",
    },
    About {
        name: "image",
        summary: "builds a system image of parts",
        usage: "sing image -o OUT --manifest SYSTEM.json... [--bin NAME=FILE]... [--file PATH=FILE]...
  [--versions] [--no-cache] [-v]",
        text: "\
Builds a system image, of one system manifest or of several that belong together. A program may be an image or a
module, which is compiled on the way (--memory, --cpu, --lines, --checks, --no-cache and -v as for `sing compile`).
Refused where a program, an endpoint or a contract does not fit, or programs mean different contracts by one name;
--versions: they may, and the kernel keeps them apart. Programs without checks (--checks none) are named.",
    },
    About {
        name: "verify",
        summary: "says whether a module or an image may become a process",
        usage: "sing verify [--json] FILE...\n  sing verify --limits",
        text: "\
Says of each module or image whether it may become a SIP, and if not, why and where. --json: for another program.
--limits: lists how large a program may be. The kernel applies the same limits.",
    },
    About {
        name: "cc",
        summary: "compiles a program in C to a module",
        usage: "sing cc -o MODULE FILE.c... [FILE.contract]... [-- FLAG...]",
        text: "\
Makes headers of the contracts, those of the system among them, and a WebAssembly module of the sources and the C part of
the SDK, with clang and wasm-ld. The flags are clang's. `sing bind c` makes the headers alone.",
    },
    About {
        name: "compile",
        summary: "compiles a module to an image",
        usage: "\
sing compile MODULE -o IMAGE [--memory guard|explicit] [--cpu baseline|v3|native] [--lines keep|none]
    [--unreached leave|keep] [--checks all|none] [--no-cache] [-v]",
        text: "\
Verifies a WebAssembly module and compiles it to an installed image (ELF).
guard: memory accesses are bounded by guard pages; explicit: by tests. Where the module has debug
information, the image keeps the lines of its text, which crash reports name. Functions that nothing can call are left
out of the code, unless --unreached keep says otherwise.
--checks none leaves out tests of bounds, of signatures and of the stack, to measure what they cost. The program can then
do anything, so a system refuses the image unless it was started for measuring (`sing help boot`).
The code of functions is kept for the next time, where `sing run` keeps programs, unless --no-cache: of a program that
has changed a little, only the functions that have changed are compiled. -v says how many.",
    },
    About {
        name: "strip",
        summary: "takes debug information out of a module or an image",
        usage: "sing strip FILE -o OUT [--names]",
        text: "\
Takes the debug information out of a module, or the lines out of an image; --names: the names of functions, too.",
    },
    About {
        name: "symbols",
        summary: "writes an image's code as other tools read it",
        usage: "sing symbols IMAGE -o FILE",
        text: "\
Writes an ELF file with the image's code, functions and lines in the form that objdump, addr2line and gdb read.",
    },
    About {
        name: "inspect",
        summary: "shows what a module or an image consists of",
        usage: "\
sing inspect FILE [--imports] [--contracts] [--manifest] [--functions] [--disassemble [FUNCTION]] [--json]
    [--memory guard|explicit] [--cpu baseline|v3|native] [--lines keep|none] [--unreached leave|keep] [--checks all|none]",
        text: "\
Shows what a module or an image consists of; without a choice, its sizes. A module is compiled
first, as by `sing compile` with the same --memory, --cpu, --lines, --unreached and --checks. Of a system image, it lists
the programs and files.
--json: for another program, with each choice under its name; without --disassemble.",
    },
    About {
        name: "analyze",
        summary: "says what a program can do at most",
        usage: "sing analyze MODULE [--json] [--functions] [--way IMPORT]",
        text: "\
Says what a program can do at most, by its code: what it can send, by which contract and to whom, which of the
kernel's entries it reaches, and how deep its stack gets, or which calls make that unbounded. --functions: the sizes
of its functions and of the data that each uses; --way: how calls lead to an import, such as debug_print. (--memory,
--cpu and --unreached as for `sing compile`.)",
    },
    About {
        name: "fmt",
        summary: "lays contracts out",
        usage: "sing fmt [--check] FILE.contract...",
        text: "\
Lays contracts out, with all their comments; - reads standard input. With --check it changes nothing and
names the files that are not laid out.",
    },
    About {
        name: "doc",
        summary: "writes web pages about contracts",
        usage: "sing doc -o DIR [--system SYSTEM.json] FILE.contract... [PROGRAM | SYSTEM.img]...",
        text: "\
Writes web pages: messages, states and their diagram for each contract, and, from the programs (modules or
images, also as --bin FILE) and systems given, who serves and who uses it.",
    },
    About {
        name: "count",
        summary: "counts contracts, messages and states",
        usage: "sing count [--each] FILE...",
        text: "Counts contracts, messages and states in texts, modules, images and system images.",
    },
    About {
        name: "diff",
        summary: "compares two versions of contracts",
        usage: "sing diff [--json] OLD NEW",
        text: "\
Compares the contracts of two texts, modules, images or system images: what has changed, and which side breaks where
only the other one is built anew, by which message in which state. --json: for a program instead of for a reader.
Exit status as of `diff`: 0 no difference, 1 differences, 2 a file does not read.",
    },
    About {
        name: "bind",
        summary: "writes C headers for contracts",
        usage: "sing bind c -o DIR FILE.contract...",
        text: "Writes a C header for each contract of the texts and of what they import.",
    },
    About {
        name: "disk",
        summary: "makes disk images, and works with what is in them",
        usage: "\
sing disk create FILE SIZE [--label NAME] [--force]
  sing disk ls FILE [PATH] [--json]; get FILE PATH TO; put FILE FROM PATH; rm FILE PATH; mkdir FILE PATH
  sing disk check FILE; df FILE",
        text: "\
Makes a disk image with a file system (SIZE such as 64M), and works with what is in it. TO may be - for standard
output; PATH a directory to put the file in. In PATH, as in what ls shows, \\n, \\r, \\t and \\u{HEX} are characters that
a terminal would obey, and \\\\ is a backslash; a shell leaves them alone in single quotes. --json: for another
program, with the names as they are. check looks for contradictions; df shows how the space is used.",
    },
    About {
        name: "completions",
        summary: "writes completions for a shell",
        usage: "sing completions bash|zsh|fish",
        text: "\
Prints what the shell is to read: `source <(sing completions bash)`, the same for zsh, and
`sing completions fish | source`.",
    },
    About {
        name: "help",
        summary: "says this, or more about a command",
        usage: "sing help [COMMAND]",
        text: "`sing COMMAND --help` says the same.",
    },
];

/// Finds a command in the table.
pub fn find(name: &str) -> Option<&'static About> {
    COMMANDS.iter().find(|about| about.name == name)
}

/// That there is no command of a name, and which one may be meant.
pub fn no_command(name: &str) -> String {
    let known = COMMANDS.iter().map(|about| about.name);
    format!("there is no command {name:?}{}", did_you_mean(name, known))
}

/// The output of `sing help`.
pub fn all() -> String {
    let mut out = String::from(
        "sing: builds, verifies, checks and runs programs and systems of Singularity\n\n",
    );
    for about in COMMANDS {
        // A `String` takes everything.
        let _ = writeln!(out, "  {:<12} {}", about.name, about.summary);
    }
    out += "
`sing help COMMAND` says more. `sing --version` (-V) prints the version.

Exit status: 0 done, 1 refused or failed, 2 the command line was not understood, 3 a check had to stop early; of what it
runs, its own.";
    out
}

impl About {
    /// The output of `sing help COMMAND`.
    pub fn page(&self) -> String {
        let mut out = format!("sing {}: {}\n\n  {}\n", self.name, self.summary, self.usage);
        for line in self.text.lines() {
            let _ = write!(out, "\n  {line}");
        }
        out
    }

    /// Its options, of those that have long names.
    pub fn options(&self) -> Vec<&'static str> {
        let name = |c: char| c.is_ascii_lowercase() || c == '-';
        let words = [self.usage, self.text].into_iter();
        let words = words.flat_map(|text| text.split(|c| !name(c)));
        let mut found: Vec<&str> = words
            .filter(|word| word.starts_with("--") && word.len() > 2)
            .collect();
        found.push("--help");
        found.sort_unstable();
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_a_page_and_its_options() {
        for about in COMMANDS {
            assert!(all().contains(about.summary), "{}", about.name);
            let usage = format!("sing {}", about.name);
            assert!(about.usage.starts_with(&usage), "{}", about.name);
            for line in about.page().lines() {
                assert!(line.len() <= 130, "{line}");
            }
        }
        // Those of other commands are none of theirs, though their pages speak of them.
        for (name, foreign) in [("boot", "--locked"), ("compile", "--measure")] {
            let options = find(name).map(About::options).unwrap_or_default();
            assert!(!options.contains(&foreign), "{name}: {options:?}");
        }
        let options = find("run").map(About::options).unwrap_or_default();
        assert_eq!(
            options,
            [
                "--dir",
                "--env",
                "--help",
                "--net",
                "--no-cache",
                "--perf-map",
                "--tcplisten"
            ]
        );
    }
}
