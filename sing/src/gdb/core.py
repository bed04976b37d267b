# Writes a core file of the hosted kernel's process with the memory that it has, and not with what is only
# reserved: gdb's own `generate-core-file` writes several GiB for each program. gdb opens the file as any
# other core file, in `sing gdb KERNEL FILE`. Needs frames.py before it, for a core file of one of the system's
# processes (core_process.py).

import os
import struct

import gdb

# Registers in the order of `struct user_regs_struct`.
REGISTERS = (
    "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base"
    " ds es fs gs"
).split()
# Numbers of <elf.h>, and the most bytes that are read at once.
ET_CORE, EM_X86_64, PT_LOAD, PT_NOTE, NT_PRSTATUS, NT_PRPSINFO, NT_AUXV = 4, 62, 1, 4, 1, 3, 6
FLAGS = {"r": 4, "w": 2, "x": 1}
HEADER, ENTRY_BYTES, PIECE = 64, 56, 1 << 20


def note(kind, data):
    """A note of the system's, with its parts at multiples of four bytes."""
    return struct.pack("<III", 5, len(data), kind) + b"CORE\0\0\0\0" + data + b"\0" * (-len(data) % 4)


def status(number, registers):
    """The note on a thread: `struct elf_prstatus`, of which debuggers read number and registers."""
    data = bytearray(336)
    struct.pack_into("<i", data, 32, number)
    struct.pack_into("<%dQ" % len(REGISTERS), data, 112, *(registers.get(name, 0) for name in REGISTERS))
    return note(NT_PRSTATUS, bytes(data))


def registers_of(frame):
    """The registers of a frame, as far as they are known."""
    registers = {}
    for name in REGISTERS:
        try:
            registers[name] = number(frame, name)
        except (gdb.error, ValueError):
            pass
    return registers


def status_of(thread):
    """The note on one of gdb's threads."""
    thread.switch()
    return status(thread.ptid[1] or thread.ptid[0], registers_of(gdb.newest_frame()))


class Part:
    """A part of the memory: its addresses, what it may be used for, and, where that is not what it has now,
    what is in it."""

    def __init__(self, start, end, flags="r", data=None):
        self.start, self.end, self.data = start, end, data
        self.flags = sum(FLAGS.get(letter, 0) for letter in flags)

    def write(self, file):
        if self.data is not None:
            file.write(self.data)
            return
        for at in range(self.start, self.end, PIECE):
            size = min(PIECE, self.end - at)
            try:
                self.pages(file, memory(at, size))
            except gdb.MemoryError:
                self.those_there(file, at, at + size)

    def those_there(self, file, start, end):
        """Writes the pages that can be read, with zeros for the others."""
        while start < end:
            size = min(PAGE - start % PAGE, end - start)
            try:
                file.write(memory(start, size))
            except gdb.MemoryError:
                file.seek(size, os.SEEK_CUR)
            start += size

    def pages(self, file, data):
        """Writes all pages but those of zeros, which take no room on the disk."""
        if not any(data):
            file.seek(len(data), os.SEEK_CUR)
            return
        for at in range(0, len(data), PAGE):
            page = data[at:at + PAGE]
            file.write(page) if any(page) else file.seek(len(page), os.SEEK_CUR)


def mappings(pid):
    """The readable memory of a process."""
    with open("/proc/%d/maps" % pid) as file:
        for line in file:
            words = line.split()
            start, end = (int(word, 16) for word in words[0].split("-"))
            # These are the kernel's, and cannot be read from outside.
            if "r" in words[1] and words[-1] not in ("[vvar]", "[vvar_vclock]", "[vsyscall]"):
                yield Part(start, end, words[1])


def write_file(path, notes, parts):
    """Writes a core file; returns its size."""
    at = HEADER + ENTRY_BYTES * (1 + len(parts))
    entries = struct.pack("<IIQQQQQQ", PT_NOTE, 0, at, 0, 0, len(notes), 0, 4)
    at += len(notes)
    for part in parts:
        size = part.end - part.start
        entries += struct.pack("<IIQQQQQQ", PT_LOAD, part.flags, at, part.start, 0, size, size, 1)
        at += size
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", ET_CORE, EM_X86_64, 1, 0, HEADER, 0, 0, HEADER, ENTRY_BYTES, 1 + len(parts), 0, 0, 0
    )
    # Nobody else may read it: it has all that is in the process. It takes the path's place when it is whole, as what
    # is there may be the core file that gdb reads.
    new = "%s.%d.part" % (path, os.getpid())
    try:
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(header + entries + notes)
            for part in parts:
                part.write(file)
            size = max(file.tell(), os.fstat(file.fileno()).st_size)
            file.truncate(size)
        os.replace(new, path)
    except BaseException:
        if os.path.lexists(new):
            os.remove(new)
        raise
    return size


def write_core(path):
    """Writes the file of the whole system's process; returns its size."""
    inferior, now = gdb.selected_inferior(), gdb.selected_thread()
    # gdb makes up a number for what runs in a machine, or ran.
    native = getattr(getattr(inferior, "connection", None), "type", "native") == "native"
    if now is None or not native or not os.path.exists("/proc/%d/maps" % inferior.pid):
        raise gdb.GdbError(
            "only of a process of this machine can all be saved; name one of the system's, as `info processes` has it"
        )
    notes = b"".join([status_of(now)] + [status_of(t) for t in inferior.threads() if t.num != now.num])
    now.switch()
    with open("/proc/%d/auxv" % inferior.pid, "rb") as file:
        notes += note(NT_AUXV, file.read())
    return write_file(path, notes, list(mappings(inferior.pid)))
