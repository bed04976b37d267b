# The frames of threads that do not run at this moment. Needs processes.py before it.
#
# The kernel leaves a thread by a call (kernel/arch/src/x86_64): on the thread's stack are, from its saved
# stack pointer on, the address of the code that will resume it, the six registers that calls keep, and the
# address to return to. An unwinder says to gdb that the function that called this one is that thread's. No
# register of the process is written, so it works alike in a process, an emulated machine, and a core file.

import gdb.unwinder

# The registers that calls keep, as they lie behind the address of the code that resumes.
KEPT = "r15 r14 r13 r12 rbx rbp rip".split()
# How far below its end a stack begins on which nothing has run.
UNUSED = 80
# The most frames that are shown.
FRAMES = 1000


def saved(thread):
    """The registers with which a thread goes on in the code that it left; none where it never began."""
    if not thread.is_on(thread.sp) or not thread.is_on(thread.sp + 64) or thread.sp % 8:
        raise gdb.GdbError("thread %d: its saved stack pointer is not on its stack" % thread.id)
    if thread.sp == thread.top - UNUSED:
        return None
    registers = dict(zip(KEPT, words(thread.sp + 8, len(KEPT))))
    registers["rsp"] = thread.sp + 64
    return registers


class Place:
    """A frame's name for gdb: it stands above all of the thread's."""

    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


class Frames(gdb.unwinder.Unwinder):
    """Whose function called the one that runs: another thread's, as long as that is looked at."""

    def __init__(self):
        super().__init__("singularity")
        self.top, self.registers = None, None

    def __call__(self, pending):
        try:
            rip, rsp, rbp = (number(pending, name) for name in ("rip", "rsp", "rbp"))
            if self.top == (rip, rsp):
                return self.caller(pending, self.registers["rsp"] - 64, rip, self.registers)
            if rsp == rbp and words(rsp - 48, 1)[0] == rip:
                # A thread in a core file: `stopped` has made its registers.
                registers = dict(zip(KEPT, words(rsp - 40, len(KEPT))))
                return self.caller(pending, rsp - 48, rip, dict(registers, rsp=rsp + 16))
        except (gdb.error, gdb.MemoryError, ValueError):
            pass
        return None

    def caller(self, pending, sp, pc, registers):
        kind = pending.read_register("rsp").type
        place = Place(gdb.Value(sp).cast(kind), gdb.Value(pc).cast(kind))
        info = pending.create_unwind_info(place)
        for name, value in registers.items():
            of = pending.read_register(name).type
            info.add_saved_register(name, gdb.Value(value).cast(of))
        return info


FRAMES_OF = Frames()


def number(frame, name):
    return int(frame.read_register(name)) & (1 << 64) - 1


class Looking:
    """While this is entered, the function that runs seems to be called by a thread's. Gives the number of the
    first of that thread's frames."""

    def __init__(self, registers):
        self.registers = registers

    def __enter__(self):
        frame, level = gdb.newest_frame(), 1
        while frame.type() == gdb.INLINE_FRAME:
            frame, level = frame.older(), level + 1
        FRAMES_OF.top = (number(frame, "rip"), number(frame, "rsp"))
        FRAMES_OF.registers = self.registers
        gdb.invalidate_cached_frames()
        return level

    def __exit__(self, *_):
        FRAMES_OF.top = None
        gdb.invalidate_cached_frames()


def frames_of(registers):
    """The frames of a thread that does not run, as gdb shows them."""
    with Looking(registers) as first:
        said = gdb.execute("backtrace %d" % (first + FRAMES), False, True)
    shown = []
    for line in said.splitlines():
        match = re.match(r"#(\d+)( +.*)", line)
        if match is None:
            # What a frame says in further lines, or that there are more.
            shown += [line] if shown else []
        elif int(match[1]) >= first:
            shown.append("#%-2d %s" % (int(match[1]) - first, match[2].strip()))
    return shown


def runs_in(thread):
    """gdb's thread in which one of the system's runs, and the first frame of it that is on the stack."""
    now = gdb.selected_thread()
    try:
        for one in gdb.selected_inferior().threads():
            one.switch()
            frame = gdb.newest_frame()
            for _ in range(FRAMES):
                if frame is None:
                    break
                if thread.is_on(number(frame, "rsp")):
                    return one, frame
                frame = frame.older()
    finally:
        now.switch()
    return None, None


def show(system, process, thread):
    """Shows a thread's state and frames."""
    gdb.write("thread %d of %s %s\n" % (thread.id, process.name, system.state(process, thread)))
    if thread.state == RUNNING:
        one, _ = runs_in(thread)
        if one is None:
            gdb.write("its frames are not in any thread that gdb sees\n")
            return
        now = gdb.selected_thread()
        one.switch()
        try:
            gdb.write(gdb.execute("backtrace %d" % FRAMES, False, True))
        finally:
            now.switch()
        return
    registers = saved(thread)
    if registers is None:
        gdb.write("it has not run yet\n")
        return
    for line in frames_of(registers):
        gdb.write(line + "\n")


class ShowProcess(gdb.Command):
    """Shows the frames of a process's threads: process NUMBER [backtrace].
They need not run at this moment. `info processes` lists the numbers."""

    def __init__(self):
        super().__init__("process", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        given = argument.split()
        if not given or given[1:] not in ([], ["backtrace"], ["bt"]):
            raise gdb.GdbError("process: say `process NUMBER backtrace`; `info processes` lists the numbers")
        system = look()
        process = system.process(given[0])
        selected = gdb.selected_thread(), gdb.selected_frame()
        try:
            for thread in sorted(process.threads, key=lambda thread: thread.id):
                try:
                    show(system, process, thread)
                except (*WRONG, gdb.GdbError) as error:
                    gdb.write("thread %d: its frames cannot be read: %s\n" % (thread.id, error))
        finally:
            selected[0].switch()
            if selected[1].is_valid():
                selected[1].select()
        if not process.threads:
            gdb.write("process %d has no threads\n" % process.id)


gdb.unwinder.register_unwinder(None, FRAMES_OF, replace=True)
ShowProcess()
