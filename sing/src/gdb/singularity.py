# Tells gdb of the programs of a running Singularity: where the code of each lies, its functions, and the
# lines of its text. `sing gdb` runs this, and puts the path of `sing` into SING before.
#
# The kernel keeps a list of the images that it has loaded (kernel/core/src/ground/image/debugger.rs). Of
# each, this reads the file in the memory of the process or machine, has `sing symbols` make an ELF file
# of it, and adds that. So it works alike for a process, an emulated machine, and a core file.
#
# Nothing that it reads is trusted: numbers that cannot be right, and memory that is not there, are said
# in a line, and the image is left out.

import atexit
import hashlib
import os
import re
import shutil
import struct
import subprocess
import tempfile

import gdb

KERNEL = "sing_kernel::ground::image::debugger::"
# Words of a record, and the most bytes of a name and of a file, and the most images.
WORDS, NAME, FILE, IMAGES = 7, 256, 256 << 20, 4096
# Signals by which the hosted kernel works: its interrupts, those in a program that it is a part of, and
# accesses to pages that get their memory when they are used.
SIGNALS = ["SIGALRM", "SIGIO", "SIGURG", "SIGUSR1", "SIGWINCH", "SIGSEGV", "SIGBUS"]
SIGNALS += ["SIG%d" % number for number in range(34, 65)]


def printable(text):
    """What an image's author chose, without what would steer the terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)


class Image:
    """An image that gdb knows: its name, the addresses of its code, and its symbols' file."""

    def __init__(self, name, code, code_bytes, symbols):
        self.name, self.code, self.code_bytes, self.symbols = name, code, code_bytes, symbols


class Images:
    """The images that gdb knows, by the addresses of their records."""

    def __init__(self):
        self.known = {}
        self.folder = None
        # The address of the kernel's list.
        self.list = None

    def read(self, at, size):
        return bytes(gdb.selected_inferior().read_memory(at, size))

    def newest(self):
        """The address of the newest image's record, and 0 where there is none."""
        if self.list is None:
            # Of variables, gdb knows the names with which they were linked: with a hash behind them.
            found = gdb.execute("info variables ^%sIMAGES" % KERNEL, False, True)
            found = re.search(r"^(0x[0-9a-f]+) +" + KERNEL + "IMAGES", found, re.MULTILINE)
            if found is None:
                return 0
            self.list = int(found[1], 16)
        return struct.unpack("<Q", self.read(self.list, 8))[0]

    def update(self):
        """Adds all images that gdb does not know yet."""
        if not gdb.selected_inferior().threads():
            return
        try:
            record = self.newest()
        except (gdb.error, gdb.MemoryError):
            # The kernel has not begun.
            return
        for _ in range(IMAGES):
            if record == 0 or record in self.known:
                return
            record = self.add(record)

    def add(self, record, told=False):
        """Adds the image with this record; returns the address of the one before it."""
        try:
            words = struct.unpack("<%dQ" % WORDS, self.read(record, 8 * WORDS))
        except (gdb.error, gdb.MemoryError) as error:
            gdb.write("an image at %#x cannot be read: %s\n" % (record, error), gdb.STDERR)
            return 0
        before, code, code_bytes, file, file_bytes, name, name_bytes = words
        if told and before == 0:
            # The first image of a kernel that starts, in another process or in the same machine.
            self.forget()
        if record in self.known:
            return before
        self.known[record] = None
        shown = "%#x" % record
        try:
            if name_bytes > NAME or file_bytes > FILE:
                raise ValueError("its record makes no sense")
            shown = printable(self.read(name, name_bytes).decode(errors="replace"))
            symbols = self.symbols(shown, self.read(file, file_bytes))
            gdb.execute("add-symbol-file '%s' -o %#x" % (symbols, code), False, True)
        except (gdb.error, gdb.MemoryError, OSError, ValueError) as error:
            gdb.write("image %s: gdb does without its symbols: %s\n" % (shown, error), gdb.STDERR)
            return before
        self.known[record] = Image(shown, code, code_bytes, symbols)
        return before

    def symbols(self, name, image):
        """Makes the file with the symbols of an image; returns its path."""
        if self.folder is None:
            self.folder = tempfile.mkdtemp(prefix="sing-gdb-")
            atexit.register(shutil.rmtree, self.folder, True)
        # gdb splits the words of a command at spaces.
        plain = "".join(c if c.isalnum() or c in "-_." else "_" for c in name)
        # A system that is started again has the same images.
        folder = os.path.join(self.folder, hashlib.sha256(image).hexdigest())
        source, path = os.path.join(folder, "image"), os.path.join(folder, plain + ".sym")
        if os.path.exists(path):
            return path
        os.makedirs(folder, exist_ok=True)
        with open(source, "wb") as file:
            file.write(image)
        made = subprocess.run(
            [SING, "symbols", source, "-o", path],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )
        os.remove(source)
        if made.returncode != 0:
            raise ValueError(printable(made.stderr.decode(errors="replace").strip()))
        return path

    def forget(self):
        """The system has ended: the next one has its code elsewhere."""
        for image in self.known.values():
            if image is not None:
                try:
                    gdb.execute("remove-symbol-file '%s'" % image.symbols, False, True)
                except gdb.error:
                    pass
        self.known, self.list = {}, None


IMAGES_KNOWN = Images()


class Loaded(gdb.Breakpoint):
    """Where the kernel tells of a new image: its record's address is the argument."""

    def __init__(self):
        super().__init__(KERNEL + "tell", internal=True)
        self.silent = True

    def stop(self):
        IMAGES_KNOWN.add(int(gdb.selected_frame().read_register("rdi")) & (1 << 64) - 1, told=True)
        return False


class InfoSingularity(gdb.Command):
    """Lists the programs whose code the system has loaded, with their addresses."""

    def __init__(self):
        super().__init__("info singularity", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        IMAGES_KNOWN.update()
        images = [image for image in IMAGES_KNOWN.known.values() if image is not None]
        if IMAGES_KNOWN.list is None:
            gdb.write("there is no system here, or its kernel has lost its symbols\n")
        elif not images:
            gdb.write("no program is loaded\n")
        for image in sorted(images, key=lambda image: image.code):
            end = image.code + image.code_bytes
            gdb.write("%#x-%#x %s\n" % (image.code, end, image.name))


def start():
    gdb.execute("handle %s nostop noprint pass" % " ".join(SIGNALS), False, True)
    # A place in a program that is not loaded yet is waited for, without a question.
    gdb.execute("set breakpoint pending on")
    InfoSingularity()
    Loaded()
    gdb.events.stop.connect(lambda _: IMAGES_KNOWN.update())
    gdb.events.exited.connect(lambda _: IMAGES_KNOWN.forget())
    IMAGES_KNOWN.update()


start()
