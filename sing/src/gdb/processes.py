# The processes (SIPs) and threads of a running Singularity, from the records of its kernel, which says
# where what lies in them (kernel/core/src/ground/layout.rs). Needs singularity.py before it.
#
# It reads the memory of the process, of the emulated machine or of a core file, and changes nothing. What it
# reads may make no sense: all numbers are bounded, and memory that is not there is a record less.

LAYOUTS = r"^(0x[0-9a-f]+) +sing_kernel::\S*::layout::([A-Z]+)_LAYOUT"
# The most records of a kind that are looked at, parts of one, bytes of one, and records that are read at once.
RECORDS, PARTS, RECORD, AT_ONCE = 1 << 20, 64, 1 << 16, 64
SEGMENTS = 32
# What reading records that make no sense ends with.
WRONG = (gdb.error, gdb.MemoryError, KeyError, ValueError, struct.error)
# What a thread's state is called, by the kernel's numbers.
CREATED, READY, RUNNING, BLOCKED, ENDED, ENDING = 0, 1, 2, 3, 4, 6
STATES = {CREATED: "not started", READY: "ready", RUNNING: "running", BLOCKED: "waits", ENDING: "ends"}
PAGE = 4096
# The most bytes of a thread's stack.
STACK = 1 << 32


def memory(at, size):
    return bytes(gdb.selected_inferior().read_memory(at & (1 << 64) - 1, size))


def words(at, count):
    return struct.unpack("<%dQ" % count, memory(at, 8 * count))


class Record:
    """A record of the kernel's: its address, its number, and what is in it."""

    def __init__(self, kind, index, at, data):
        self.kind, self.index, self.at, self.data = kind, index, at, data

    def place(self, name, size):
        at = self.kind.places[name]
        if at + size > len(self.data):
            raise ValueError("%s is not in a record" % name)
        return self.data[at:at + size]

    def word(self, name):
        return struct.unpack("<Q", self.place(name, 8))[0]

    def half(self, name):
        return struct.unpack("<I", self.place(name, 4))[0]

    def flag(self, name):
        return self.place(name, 1)[0] != 0


class Kind:
    """The records of a kind: where they lie, and what lies where in them."""

    def __init__(self, table):
        # How many records are not there: a core file of one process has that process's only.
        self.table, self.missing = table, 0
        self.store, segments, fresh, self.first, self.bytes, self.mark, count = words(table, 7)
        self.segments, self.fresh = self.store + segments, self.store + fresh
        sizes = 8 <= self.bytes <= RECORD and self.mark <= self.bytes - 4 and count <= PARTS
        if not sizes or self.first not in (1 << n for n in range(20)):
            raise ValueError("what the kernel says of its records makes no sense")
        self.places = {}
        data = memory(table + 56, 32 * count)
        for name, at in struct.iter_unpack("<24sQ", data):
            self.places[name.rstrip(b"\0").decode("ascii", "replace")] = at
        self.table_bytes = 56 + len(data)

    def parts(self):
        """The segments: address, number of the first record, and number of records."""
        bases = words(self.segments, SEGMENTS)
        left = min(struct.unpack("<I", memory(self.fresh, 4))[0], RECORDS)
        number, size = 0, self.first
        for base in bases:
            count = min(size, left - number)
            if base == 0 or count <= 0:
                return
            yield base, number, count
            number, size = number + count, 2 * size

    def used(self):
        """All records in use."""
        for base, number, count in self.parts():
            for i in range(0, count, AT_ONCE):
                yield from self.some(base, number, range(i, min(i + AT_ONCE, count)))

    def some(self, base, number, part):
        try:
            data = memory(base + part[0] * self.bytes, len(part) * self.bytes)
        except gdb.MemoryError:
            self.missing += len(part) == 1
            for i in part if len(part) > 1 else ():
                yield from self.some(base, number, range(i, i + 1))
            return
        for n, i in enumerate(part):
            one = data[n * self.bytes:(n + 1) * self.bytes]
            if struct.unpack_from("<I", one, self.mark)[0] == 1:
                yield Record(self, number + i, base + i * self.bytes, one)

    def around(self, address):
        """The number and the address of the record that this address is in."""
        for base, number, count in self.parts():
            if base <= address < base + count * self.bytes:
                place = (address - base) // self.bytes
                return number + place, base + place * self.bytes
        return None

    def record(self, address):
        """The record at this address; none where there is none, or its memory is not there."""
        found = self.around(address)
        if found is None or found[1] != address:
            return None
        try:
            return Record(self, found[0], address, memory(address, self.bytes))
        except gdb.MemoryError:
            return None


class Process:
    """A process: its number, its name, and its threads."""

    def __init__(self, record):
        self.record, self.threads = record, []
        self.id, self.parent = record.half("id"), record.half("parent")
        self.name = "?"
        # What the kernel tells of its image (`Images`).
        self.told = record.word("image") + record.kind.places["image.told"]
        try:
            name, name_bytes = words(self.told, WORDS)[5:]
            if name_bytes <= NAME:
                self.name = printable(memory(name, name_bytes).decode(errors="replace"))
        except (gdb.MemoryError, gdb.error):
            pass

    def is_halted(self):
        return self.record.half("halted") != 0


class Thread:
    """A thread: its number, its state, and what the kernel has saved of it."""

    def __init__(self, record):
        self.record = record
        self.id, self.state, self.sp = record.half("id"), record.half("state"), record.word("sp")
        # Below it is a page without access.
        self.stack = record.word("stack") + PAGE
        self.top = self.stack + min(record.word("stack.bytes"), STACK)

    def is_on(self, address):
        return self.stack <= address <= self.top


class System:
    """The processes of the system at this moment."""

    def __init__(self):
        found = gdb.execute("info variables ::layout::", False, True)
        tables = re.findall(LAYOUTS, found, re.MULTILINE)
        try:
            self.kinds = {kind: Kind(int(at, 16)) for at, kind in tables}
        except gdb.MemoryError:
            self.kinds = {}
        if "PROCESSES" not in self.kinds or "THREADS" not in self.kinds:
            raise gdb.GdbError("there is no system here, or its kernel has lost its symbols")
        # The highest number that is known: they are given in turn.
        self.processes, self.highest, by_address = {}, 0, {}
        for record in self.kinds["PROCESSES"].used():
            self.highest = max(self.highest, record.half("id"))
            if not record.flag("alive"):
                continue
            process = Process(record)
            self.processes[process.id] = by_address[record.at] = process
        for record in self.kinds["THREADS"].used():
            process = by_address.get(record.word("sip"))
            if process is not None and record.half("state") in STATES:
                process.threads.append(Thread(record))
        self.nodes = {}
        for node in self.kinds["NODES"].used() if "NODES" in self.kinds else ():
            if node.word("list"):
                self.nodes.setdefault(node.word("thread"), []).append(node.word("list"))

    def process(self, word):
        """The process with the number that a user has typed."""
        if not word.isdigit():
            raise gdb.GdbError("`%s` is no process: name its number, as `info processes` has it" % word)
        number = int(word)
        if number in self.processes:
            return self.processes[number]
        why = "process %d has ended" if 0 < number < self.highest else "there is no process %d"
        if self.kinds["PROCESSES"].missing:
            why = "process %d is not in this core file"
        raise gdb.GdbError((why + "; `info processes` lists those that are there") % number)

    def state(self, process, thread):
        """What a thread does, in words."""
        if thread.state == READY and process.is_halted():
            return "is suspended"
        if thread.state == BLOCKED:
            return "waits " + self.waits(thread)
        return ("is " if thread.state in (CREATED, READY, RUNNING) else "") + STATES[thread.state]

    def waits(self, thread):
        record, for_what = thread.record, [name for name, _ in self.wanted(thread)]
        if record.half("wait.timer"):
            return "for %s, or a time" % " or ".join(for_what) if for_what else "for a time"
        return "for " + " or ".join(for_what) if for_what else "in the kernel"

    def wanted(self, thread):
        """What a thread waits for, in words, and the records of it, where they are known."""
        record = thread.record
        lists = [record.word("wait.own"), record.word("wait.one")] + self.nodes.get(record.at, [])
        found = [self.named(at) for at in lists if at]
        # Where it is the only one that waits there, its address is noted in place of a list.
        channels, sets = self.kinds["CHANNELS"], self.kinds["SETS"]
        at = channels.around(record.word("wait.end"))
        channel = at and channels.record(at[1])
        for side in range(2) if channel else ():
            end = channels.places["end"] + side * channels.places["end.bytes"]
            receiver = channel.data[end + channels.places["end.receiver"]:][:8]
            if receiver == struct.pack("<Q", record.at):
                found.append(self.named(channel.at))
        waited = sets.record(record.word("wait.set"))
        if waited and waited.word("waiter") == record.at:
            found.append(self.named(waited.at))
        return found

    def named(self, address):
        """What the kernel's object at this address is, in words, and its record."""
        for name, kind in self.kinds.items():
            at = kind.around(address)
            if at is None or name == "NODES":
                continue
            record = kind.record(at[1])
            if name in ("PROCESSES", "THREADS"):
                what = "process" if name == "PROCESSES" else "thread"
                return ("the end of %s %s" % (what, record.half("id") if record else "?"), None)
            if name == "CHANNELS":
                return "a message on channel %d" % at[0], record
            if name == "SETS":
                borrows = record is not None and record.flag("borrows")
                return "a message of those that it selects from" if borrows else "a message of set %d" % at[0], record
            return "%s %d" % ("event" if name == "EVENTS" else "mutex", at[0]), record
        return "a device's interrupt", None


class InfoProcesses(gdb.Command):
    """Lists the live processes of the system, and what each of their threads does.
`process NUMBER` shows the frames of one."""

    def __init__(self):
        super().__init__("info processes", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        if argument.strip():
            raise gdb.GdbError("info processes: takes no arguments; `process NUMBER` shows one of them")
        system = look()
        for _, process in sorted(system.processes.items()):
            gdb.write("%d %s\n" % (process.id, process.name))
            for thread in sorted(process.threads, key=lambda thread: thread.id):
                gdb.write("  thread %d %s\n" % (thread.id, system.state(process, thread)))


def look():
    """The system now."""
    if not gdb.selected_inferior().threads():
        raise gdb.GdbError("no system runs; start it, or name a core file")
    IMAGES_KNOWN.update()
    try:
        return System()
    except WRONG as error:
        raise gdb.GdbError("the kernel's records cannot be read: %s" % error)


InfoProcesses()
