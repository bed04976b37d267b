# Writes a core file of the hosted kernel's process with the memory that it has, and not with what is only
# reserved: gdb's own `generate-core-file` writes several GiB for each program. gdb opens the file as any
# other core file, in `sing gdb KERNEL FILE`.

import os
import struct

import gdb

# Registers in the order of `struct user_regs_struct`.
REGISTERS = (
    "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base"
    " ds es fs gs"
).split()
# Numbers of <elf.h>, and the most bytes that are read at once.
ET_CORE, EM_X86_64, PT_LOAD, PT_NOTE, NT_PRSTATUS, NT_AUXV = 4, 62, 1, 4, 1, 6
FLAGS = {"r": 4, "w": 2, "x": 1}
HEADER, ENTRY, PIECE = 64, 56, 1 << 20


def note(kind, data):
    """A note of the system's, with its parts at multiples of four bytes."""
    return struct.pack("<III", 5, len(data), kind) + b"CORE\0\0\0\0" + data + b"\0" * (-len(data) % 4)


def status(thread):
    """The note on a thread: `struct elf_prstatus`, of which debuggers read number and registers."""
    thread.switch()
    frame = gdb.newest_frame()
    registers = []
    for name in REGISTERS:
        try:
            registers.append(int(frame.read_register(name)) & (1 << 64) - 1)
        except (gdb.error, ValueError):
            registers.append(0)
    data = bytearray(336)
    struct.pack_into("<i", data, 32, thread.ptid[1] or thread.ptid[0])
    struct.pack_into("<%dQ" % len(registers), data, 112, *registers)
    return note(NT_PRSTATUS, bytes(data))


def mappings(pid):
    """The readable memory of a process: start, end and access of each mapping."""
    with open("/proc/%d/maps" % pid) as file:
        for line in file:
            words = line.split()
            start, end = (int(word, 16) for word in words[0].split("-"))
            # These are the kernel's, and cannot be read from outside.
            if "r" in words[1] and words[-1] not in ("[vvar]", "[vvar_vclock]", "[vsyscall]"):
                yield start, end, sum(FLAGS.get(letter, 0) for letter in words[1])


def write_core(path):
    """Writes the file; returns its size."""
    inferior, now = gdb.selected_inferior(), gdb.selected_thread()
    if now is None or not os.path.exists("/proc/%d/maps" % inferior.pid):
        raise gdb.GdbError("there is no process of this machine to write a core file of")
    notes = b"".join([status(now)] + [status(t) for t in inferior.threads() if t.num != now.num])
    now.switch()
    with open("/proc/%d/auxv" % inferior.pid, "rb") as file:
        notes += note(NT_AUXV, file.read())
    parts = list(mappings(inferior.pid))
    at = HEADER + ENTRY * (1 + len(parts))
    entries = struct.pack("<IIQQQQQQ", PT_NOTE, 0, at, 0, 0, len(notes), 0, 4)
    at += len(notes)
    for start, end, flags in parts:
        entries += struct.pack("<IIQQQQQQ", PT_LOAD, flags, at, start, 0, end - start, end - start, 1)
        at += end - start
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", ET_CORE, EM_X86_64, 1, 0, HEADER, 0, 0, HEADER, ENTRY, 1 + len(parts), 0, 0, 0
    )
    # Nobody else may read it: it has all that is in the process.
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        # Nor where the file was there before.
        os.fchmod(file.fileno(), 0o600)
        file.write(header + entries + notes)
        for start, end, _ in parts:
            for at in range(start, end, PIECE):
                size = min(PIECE, end - at)
                try:
                    file.write(inferior.read_memory(at, size))
                except gdb.MemoryError:
                    file.seek(size, os.SEEK_CUR)
        file.truncate(max(file.tell(), os.fstat(file.fileno()).st_size))
        return file.tell()


class SaveCore(gdb.Command):
    """Writes a core file of the system's process: save core FILE.
It has the memory that kernel and programs have, and not the addresses that they have reserved."""

    def __init__(self):
        super().__init__("save core", gdb.COMMAND_FILES, gdb.COMPLETE_FILENAME)

    def invoke(self, argument, from_tty):
        path = os.path.expanduser(argument.strip())
        if not path:
            raise gdb.GdbError("save core: name a file")
        try:
            gdb.write("%s: %d bytes\n" % (path, write_core(path)))
        except (gdb.error, OSError) as error:
            raise gdb.GdbError("save core %s: %s" % (path, error))


SaveCore()
