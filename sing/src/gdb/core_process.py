# Core files of one of the system's processes, and the command that writes core files. Needs core.py before it.
#
# Such a file has of the process: its threads' registers, the used part of their stacks, its memory, the blocks
# of the exchange heap that its threads hold, the code and the file of its image. Of the kernel it has what
# leads to these: the list of images, cut to this one, and the records of this process and of what its threads
# wait for, which have no content of messages. No other process's memory is in it; but a stack is not cleared when
# it gets another owner, and between frames has what the former one has left.

# Parts of a thread's context record (formats/abi/src/ctx.rs) and of an entry of its table of blocks
# (formats/abi/src/xheap.rs); the most blocks, the most bytes of one, and of a memory.
TABLE_AT, TABLE_MASK_AT, BLOCK_BYTES, BLOCKS, BLOCK, MEMORY = 32, 40, 32, 1 << 20, 1 << 30, 1 << 33
# The bytes below a running thread's stack pointer that its code may use, and those that a debugger looks at to
# know the system's own code by which a signal's handler returns.
RED_ZONE, RETURN = 128, 32
AT_PHDR = 3


def auxiliary():
    """What Linux has told the process at its start, as pairs of numbers; none in a machine."""
    try:
        said = gdb.execute("info auxv", False, True)
    except gdb.error:
        return []
    found = []
    for line in said.splitlines():
        match = re.match(r"(\d+) .* (0x[0-9a-f]+|\d+)$", line.strip())
        if match:
            found.append((int(match[1]), int(match[2], 0)))
    return found


def stopped(thread):
    """The registers of a thread that does not run, for a core file: it stands in the code that will resume it,
    its stack pointer at the frame of that. So any gdb finds the caller, as after `push %rbp`."""
    at = thread.sp
    if saved(thread) is None:
        return {"rip": words(at, 1)[0], "rsp": at + 8}
    values = words(at, 8)
    registers = dict(zip(KEPT[:5], values[1:6]), rip=values[0])
    return dict(registers, rsp=at + 48, rbp=at + 48)


def blocks(thread):
    """The blocks of the exchange heap that a thread holds."""
    context = thread.record.word("context")
    if not context:
        return
    base, mask = struct.unpack("<QI", memory(context + TABLE_AT, 12))
    if mask >= BLOCKS or mask & (mask + 1):
        raise ValueError("thread %d: its table of blocks makes no sense" % thread.id)
    for at, size, _, key, _, _, _ in struct.iter_unpack("<QIIIIII", memory(base, (mask + 1) * BLOCK_BYTES)):
        if key and 0 < size <= BLOCK:
            yield Part(at, at + size)


def apart(parts):
    """These parts without what an earlier one has already: two threads can share a block."""
    end = 0
    for part in sorted(parts, key=lambda part: part.start):
        start = max(part.start, end)
        if start < part.end:
            one = Part(start, part.end, data=part.data and part.data[start - part.start:])
            one.flags, end = part.flags, part.end
            yield one


def image_parts(process):
    """The image of a process, as the only one of the kernel's list."""
    if IMAGES_KNOWN.newest() == 0:
        raise ValueError("the image of process %d is not in the kernel's list" % process.id)
    _, code, code_bytes, file, file_bytes, name, name_bytes = told = words(process.told, WORDS)
    if max(code_bytes, file_bytes) > FILE or name_bytes > NAME:
        raise ValueError("the record of its image makes no sense")
    first = struct.pack("<Q", process.told)
    yield Part(IMAGES_KNOWN.list, IMAGES_KNOWN.list + 8, data=first)
    yield Part(process.told, process.told + 8 * WORDS, data=struct.pack("<%dQ" % WORDS, 0, *told[1:]))
    yield Part(code, code + code_bytes, "rx")
    yield Part(file, file + file_bytes)
    yield Part(name, name + name_bytes)


def record_parts(system, process):
    """What leads to the records of a process, and these."""
    for kind in system.kinds.values():
        yield Part(kind.table, kind.table + kind.table_bytes)
        yield Part(kind.segments, kind.segments + 8 * SEGMENTS)
        yield Part(kind.fresh, kind.fresh + 4)
    records = [process.record] + [thread.record for thread in process.threads]
    records += [record for thread in process.threads for _, record in system.wanted(thread) if record]
    for record in records:
        yield Part(record.at, record.at + record.kind.bytes)


def returns(frame):
    """The code by which a signal's handler returns, where a frame is in code of neither kernel nor program."""
    for _ in range(FRAMES):
        if frame is None:
            return
        pc = frame.pc()
        if frame.find_sal().symtab is None and gdb.solib_name(pc):
            yield Part(pc - RETURN, pc + RETURN, "rx")
        frame = frame.older()


def thread_parts(thread):
    """The registers of a thread, and the memory that shows its frames."""
    if thread.state == RUNNING:
        one, frame = runs_in(thread)
        if one is None:
            raise ValueError("the registers of thread %d are in none that gdb sees" % thread.id)
        now = gdb.selected_thread()
        one.switch()
        try:
            registers = registers_of(frame)
            code = list(returns(frame))
        finally:
            now.switch()
        bottom = registers["rsp"] - RED_ZONE
    else:
        registers, bottom = stopped(thread), thread.sp
        code = []
        if saved(thread):
            with Looking(saved(thread)):
                code = list(returns(gdb.newest_frame()))
    return registers, [Part(max(bottom, thread.stack), thread.top, "rw")] + code


def write_core_of(path, system, process):
    """Writes a core file of one process; returns its size."""
    parts, notes = [], b""
    # What runs comes first: gdb shows it at the start.
    why = None
    for thread in sorted(process.threads, key=lambda thread: (thread.state != RUNNING, thread.id)):
        try:
            registers, of_thread = thread_parts(thread)
            of_thread += blocks(thread)
            notes += status(thread.id, registers)
        except WRONG as error:
            # One that ends has no frames any more; that is no reason to be without the others.
            why = error
            gdb.write("thread %d is left out: %s\n" % (thread.id, error))
            continue
        parts += of_thread
    if not notes:
        raise why or ValueError("process %d has no threads" % process.id)
    base, size = process.record.word("memory"), process.record.word("memory.bytes")
    if size > MEMORY:
        raise ValueError("the size of its memory makes no sense")
    parts.append(Part(base, base + size, "rw"))
    # Before the records of images, which are parts of what these describe.
    parts = list(image_parts(process)) + parts + list(record_parts(system, process))
    numbers = auxiliary()
    if numbers:
        notes += note(NT_AUXV, b"".join(struct.pack("<2Q", *pair) for pair in numbers))
        headers = dict(numbers).get(AT_PHDR)
        if headers:
            page = headers & -PAGE
            parts.append(Part(page, page + PAGE))
    named = struct.pack("<4I", process.id, process.parent, 0, 0) + process.name.encode()[:15].ljust(16, b"\0")
    info = bytes(24) + named + process.name.encode()[:79].ljust(80, b"\0")
    return write_file(path, note(NT_PRPSINFO, info) + notes, list(apart(parts)))


class SaveCore(gdb.Command):
    """Writes a core file: save core FILE [PROCESS].
Without a process, it is one of the hosted kernel's with all that it has in memory, but without the addresses
that it has only reserved. With the number of a process, as `info processes` has it, it has that process alone."""

    def __init__(self):
        super().__init__("save core", gdb.COMMAND_FILES, gdb.COMPLETE_FILENAME)

    def invoke(self, argument, from_tty):
        given = gdb.string_to_argv(argument)
        if not given:
            raise gdb.GdbError("save core: name a file, and behind it the number of a process, or none for all")
        if len(given) > 2:
            raise gdb.GdbError("save core: takes a file and a process; put a file's name with spaces in quotes")
        path = os.path.expanduser(given[0])
        try:
            if len(given) == 2:
                system = look()
                size = write_core_of(path, system, system.process(given[1]))
            else:
                size = write_core(path)
            gdb.write("%s: %d bytes\n" % (path, size))
        except (*WRONG, OSError) as error:
            raise gdb.GdbError("save core %s: %s" % (path, error))


SaveCore()
