# The parent of the pool: it has the interpreter and the standard library
# loaded, and forks once per job. It never runs anything of a job itself.
#
# Node to parent, on socket 3: frames of <kind u32, value u32, id u64>.
#   kind 1, run. With it come descriptors: stdout, stderr, a file, and a Landlock
#     ruleset if `fenced` was given at start. The file has, if `walled` was given,
#     `value` bytes of a plan by which the new process walls itself in; behind
#     them fields with a NUL behind each: number of variables, path of the script,
#     folder, limits ("resource soft hard " ...), tag, that many KEY=value; behind
#     those the script itself. This process never reads it: what one job was given
#     must not be found in the memory of the next.
#   kind 2, signal: `value` is the signal for the job's process group.
#   kind 3, keep: as run, of a process that runs one job after the other, as the node
#     gives them to it on a fourth descriptor; see `keep`. The file has the plan only.
# Parent to node: frames of <kind u32, value i32, id u64>.
#   kind 1, started: value is the process id; if `walled` was given, a descriptor of
#     its namespace of mounts comes with it, and of one that is kept two more, which
#     stand for it and for process 1 of its world.  kind 2, ended: the wait status.
#   kind 3, ready: sent once; value is this interpreter's hex version.
# When the socket ends, the node is gone: kill all children, and go too.
#
# LIBRARY, the text of the module ramet, stands before this.
import atexit, fcntl, gc, os, resource, select, signal, socket, struct, sys

fenced, walled = sys.argv[1] == "fenced", sys.argv[1] == "walled"
for name in sys.argv[2].split(","):
    try:
        __import__(name)
    except ImportError:  # distributions split the library up
        pass

import builtins, contextvars, locale, logging, random, tempfile, threading, time, types, warnings
import _random, _signal, posix

setrlimit, gc_enable, collect = resource.setrlimit, gc.enable, gc.collect
run_exit_functions, leave, Module = atexit._run_exitfuncs, posix._exit, types.ModuleType
threads, main_thread = threading._active, threading.main_thread()
handlers = logging._handlerList  # it always has the handler of last resort
usual = len(handlers)
CHILD, DEFAULT = int(signal.SIGCHLD), int(signal.SIG_DFL)

try:
    import ctypes
    restrict = ctypes.CDLL(None, use_errno=True).syscall
    # The plain fork of the C library, without letting go of the interpreter's
    # lock. os.fork goes through every lock of every module, to free those that
    # other threads might hold; there are none here, and that alone writes to
    # some hundred pages, which is half of what a small job costs.
    fork = ctypes.PyDLL(None).fork
    if sys.implementation.name != "cpython" or sys.version_info >= (3, 15) or not getattr(sys, "_is_gil_enabled", lambda: True)():
        fork = os.fork  # not known to be safe there
except (ImportError, OSError, AttributeError):
    restrict, fork = None, os.fork  # no fence either; the node sees that and says so

# Behind a wall, there is code that carries out the plan that lies at PLAN: in this
# process one that makes a world for a job, in the job's the one that came for it.
PLAN, NEWPID, NEWNS = 0, 0x20000000, 0x20000
if walled:
    code, PLAN, room, place, plan = bytes.fromhex(sys.argv[3]), *map(int, sys.argv[4:7]), bytes.fromhex(sys.argv[7])
    libc = ctypes.PyDLL(None, use_errno=True)
    setns, mmap = libc.setns, libc.mmap
    mmap.restype = ctypes.c_void_p
    mmap.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long
    # Memory without a file, private; first to be read and written, PLAN at that
    # place, where nothing else may lie: old kernels take it for a wish.
    address = mmap(None, 4096, 3, 0x22, -1, 0)
    ctypes.memmove(address, code, len(code))
    libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(4096), 5)  # to be read and executed
    if mmap(PLAN, room, 3, 0x100022, -1, 0) != PLAN:
        raise OSError("this interpreter has something of its own at %#x" % PLAN)
    ctypes.memmove(PLAN, plan, len(plan))
    carry_out = ctypes.PYFUNCTYPE(ctypes.c_long)(address)
    world = ctypes.c_int.from_address(place)
    own_world, own_mounts = os.open("/proc/self/ns/pid", os.O_RDONLY), os.open("/proc/self/ns/mnt", os.O_RDONLY)

RESTRICT_SELF = 446
FRAME = struct.Struct("<IIQ")
REPLY = struct.Struct("<IiQ")
DESCRIPTOR = struct.Struct("i")
SOCKET = 3

# Where the kernel tells of a child's end by a descriptor, no signal handler is
# needed, which a new process would have to remove.
pidfds = hasattr(os, "pidfd_open")
if pidfds:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        pidfds = False


# What a new process does before the script begins is kept small, and in terms
# of the C functions: each page of memory that it is the first to write to costs
# a microsecond or two, and the wrappers of the library write to many.
environ = os.environ._data  # bytes to bytes: the wrapper's own store
modules, argv, path = sys.modules, sys.argv, sys.path
stdout = sys.stdout
stdout.reconfigure(line_buffering=True)  # logs are followed live
seed = _random.Random.seed.__get__(random._inst)
FIRST = 5  # index of the first variable in the fields


def wall(file, length):
    "Walls the new process in."
    if mmap(PLAN, length, 3, 0x12, file, 0) != PLAN:  # to be read and written, private, there
        raise OSError("no room for the plan")
    if carry_out() != 0:
        error, place = ctypes.c_long.from_address(PLAN), ctypes.c_ulong.from_address(PLAN + 8)
        raise OSError(-error.value, "wall: " + os.strerror(-error.value) + " at %#x" % place.value)


def restrain(fields, descriptors, highest):
    "Holds the new process in where there are no walls."
    posix.setsid()
    tag = int(fields[4])
    setrlimit(15, (tag, tag))  # first: from here on the node finds it
    if not pidfds:
        _signal.set_wakeup_fd(-1)
        _signal.signal(CHILD, DEFAULT)
    posix.chdir(fields[2])
    try:  # the kernel is to end this process, and not the node, when memory is at its end
        file = posix.open("/proc/self/oom_score_adj", 1)
        posix.write(file, b"1000")
    except OSError:
        pass
    if fenced and restrict and restrict(RESTRICT_SELF, descriptors[3], 0) != 0:
        raise OSError(ctypes.get_errno(), "landlock_restrict_self")
    posix.closerange(SOCKET, highest)
    limits = fields[3].split()
    for i in range(0, len(limits), 3):
        setrlimit(int(limits[i]), (int(limits[i + 1]), int(limits[i + 2])))


class Library:
    """Finds the module ramet where no package of that name is installed. It stands behind all
    other finders, so a module of a script's own goes before, and so does the SDK."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        return ModuleSpec(name, Library, origin="ramet") if name == "ramet" else None

    @staticmethod
    def create_module(spec):
        return library

    @staticmethod
    def exec_module(module):
        pass  # it was run before the fork: a job that ran it would write to 250 pages for that


class First(Library):
    """Finds it before all other finders, where they would find none: this process has asked
    them, its folders have not changed since, and those of the job have nothing of that name."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "ramet":
            return None
        try:
            for folder in sys.path:
                if folder in searched:
                    if changed(folder) != searched[folder]:
                        return None
                elif any(file.startswith("ramet") for file in posix.listdir(folder)):
                    return None
        except OSError:
            return None
        return Library.find_spec(name)


def changed(folder):
    "Tells when a folder has changed, None where there is none."
    try:
        return posix.stat(folder).st_mtime_ns
    except FileNotFoundError:
        return None


def rehearse():
    """Has the library do what scripts have it do. What types and code note of themselves when
    they are used first stands in this process's memory then, and in no page of a job's own."""
    here, there = socket.socketpair()
    connection = library._Connection(here)
    answers = b'{"done":false,"n":1,"key":"","attempt":1}\n', b'{"done":true}\n'

    def send(request):
        there.sendall(answers[request["do"] == "done"])
        answer = connection.send(request)
        there.recv(4096)
        return answer

    steps = library.Steps(send)
    for _ in range(REHEARSALS):
        steps.step("rehearsal", lambda: 0)
    here.close()
    there.close()


REHEARSALS = 20  # the interpreter makes code faster that has run eight times
ModuleSpec = type(sys.__spec__)
library = Module("ramet")
exec(compile(LIBRARY, "<ramet>", "exec", 0, True), library.__dict__)
rehearse()
sys.path[:] = [p for p in sys.path if p]
searched = {folder: changed(folder) for folder in sys.path}
if not any(finder.find_spec("ramet", None) for finder in sys.meta_path):
    sys.meta_path.insert(0, First)
sys.meta_path.append(Library)


def prepare(fields):
    "Gives the process what is the job's, and tells whether that is more than a next job can lose."
    special = False
    for i in range(FIRST, FIRST + int(fields[0])):
        key, _, value = fields[i].partition(b"=")
        posix.putenv(key, value)
        environ[key] = value
        if key in SPECIAL:
            special = True
    argv[:] = [fields[1].decode("utf-8", "surrogateescape")]
    path.insert(0, fields[2].decode("utf-8", "surrogateescape"))
    main_thread._native_id = posix.getpid()
    seed()
    gc_enable()
    if special:
        adapt()
    return special


SPECIAL = frozenset((b"PYTHONPATH", b"PYTHONUNBUFFERED", b"PYTHONDONTWRITEBYTECODE", b"TZ"))


def adapt():
    "What a new interpreter would have taken from its environment."
    if b"PYTHONPATH" in environ:
        path[1:1] = [p for p in os.environ["PYTHONPATH"].split(":") if p]
    if environ.get(b"PYTHONUNBUFFERED"):
        stdout.reconfigure(write_through=True)
    if environ.get(b"PYTHONDONTWRITEBYTECODE"):
        sys.dont_write_bytecode = True
    if b"TZ" in environ:
        time.tzset()


def run(script, source):
    "Runs the script as __main__ and returns the exit code."
    module = Module("__main__")
    names = module.__dict__
    names["__file__"] = script
    names["__builtins__"] = builtins
    modules["__main__"] = module
    try:
        exec(compile(source, script, "exec", 0, True), names)
        code = 0
    except SystemExit as error:
        code = exit_code(error.code)
    except BaseException as error:
        code = report(error)
    return finish(names, code)


def exit_code(value):
    if value is None:
        return 0
    if isinstance(value, int):
        return value & 0xFF
    print(value, file=sys.stderr)
    return 1


def report(error):
    "Prints a traceback that begins in the script."
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals is globals():
        trace = trace.tb_next
    error.__traceback__ = trace
    try:
        sys.excepthook(type(error), error, trace)
    except BaseException:
        sys.__excepthook__(type(error), error, trace)
    if isinstance(error, KeyboardInterrupt):
        sys.stdout.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return 1


def ends():
    "Counts what an interpreter has to do at its end."
    return atexit._ncallbacks(), len(threads), len(handlers)


ended_with = [ends()]  # before that was done, at the end of the last job
unchanged = -1  # functions for the end that wait for that of an interpreter which is kept


def finish(names, code):
    "Does what an interpreter does at its end, as far as it can be seen from outside."
    ended_with[0] = ends()
    try:
        if len(threads) > 1:
            threading._shutdown()
        if ended_with[0][0] != unchanged:
            run_exit_functions()
        if len(handlers) > usual:
            logging.shutdown()
    except BaseException:
        sys.excepthook(*sys.exc_info())
    # Files that were left open are written out when nothing refers to them. The
    # first collection is an interpreter's too: it decides the order in the second.
    collect()
    for name in list(names):
        if name != "__builtins__":
            names[name] = None
    collect()
    for stream in (sys.stdout, sys.stderr) if sys.stdout is stdout else (sys.stdout, stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except BaseException:
            code = code or 120
    return code


def job(descriptors, highest, length):
    "Is the whole life of a forked process."
    code = 255
    try:
        posix.dup2(descriptors[0], 1)
        posix.dup2(descriptors[1], 2)
        file = descriptors[2]
        body = posix.pread(file, posix.lseek(file, 0, 2) - length, length)
        fields = body.split(b"\0", FIRST + int(body[:body.index(b"\0")]))
        if walled:
            wall(file, length)
        else:
            restrain(fields, descriptors, highest)
        prepare(fields)
        code = run(argv[0], fields[-1])
    except BaseException as error:
        posix.write(2, ("the job could not be started: %r\n" % error).encode())
    finally:
        leave(code)


class Parent:
    def __init__(self):
        self.control = socket.socket(fileno=SOCKET)
        self.data = b""
        self.descriptors = []
        self.children = {}  # process id -> job id
        self.running = {}  # job id -> process id
        self.watched = {}  # descriptor -> process id
        self.inits = {}  # process id -> that of process 1 of its world
        self.stopping = set()  # process ids of jobs that were told to stop
        self.worlds = {}  # process id of process 1 -> process id and status of a job that has ended
        self.highest = 16  # descriptors of this process lie below
        self.room = socket.CMSG_SPACE(16 * 4)
        self.poll = select.poll()

    def serve(self):
        woken = -1
        if not pidfds:
            woken, wake = os.pipe()
            os.set_blocking(woken, False)
            os.set_blocking(wake, False)
            signal.signal(signal.SIGCHLD, lambda number, frame: None)
            signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
            self.poll.register(woken, select.POLLIN)
        self.poll.register(SOCKET, select.POLLIN)
        self.control.sendall(REPLY.pack(3, sys.hexversion, 0))
        poll, watched = self.poll.poll, self.watched
        while True:
            for ready, _ in poll():
                if ready in watched:
                    self.collect(ready)
                elif ready == woken:
                    os.read(woken, 4096)
                    self.reap()
                elif not self.receive():
                    return

    def receive(self):
        data, ancillary, _, _ = self.control.recvmsg(1 << 16, self.room)
        if not data:
            return False
        for _, _, packed in ancillary:
            self.descriptors += struct.unpack("%di" % (len(packed) // 4), packed)
            self.highest = max(self.highest, self.descriptors[-1] + 4)
        self.data += data
        while len(self.data) >= FRAME.size:
            kind, value, number = FRAME.unpack_from(self.data)
            self.data = self.data[FRAME.size:]
            if kind != 2:
                self.start(number, value, kind == 3)
            elif number in self.running:
                self.signal(self.running[number], value)
        return True

    def signal(self, process, number):
        if walled:
            if number != signal.SIGCONT:  # process 1 hands that on with SIGTERM
                self.stopping.add(process)
                os.kill(self.inits[process], number)
            return
        try:
            os.killpg(process, number)
        except OSError:  # it has not made its group yet
            try:
                os.kill(process, number)
            except OSError:
                pass

    def fork(self):
        "Forks; behind a wall into a world of its own."
        if not walled:
            return fork(), 0, -1
        world.value, process = 0, -1
        mounts = carry_out()
        init = world.value
        if mounts >= 0:
            try:
                process = fork()
            except OSError:
                pass
        if process != 0:
            setns(own_mounts, NEWNS)
            setns(own_world, NEWPID)
            if process < 0 and init > 0:
                os.kill(init, signal.SIGKILL)
                os.waitpid(init, 0)
        return process, init, mounts

    def start(self, number, length, kept):
        count = 4 if fenced or kept else 3
        mine, self.descriptors = self.descriptors[:count], self.descriptors[count:]
        # The job waits until the node has been told of it: should this process be
        # killed before, it ends without having begun, and may be given to another.
        gate, opened = posix.pipe()
        try:
            process, init, mounts = self.fork()
        except OSError:
            process, mounts = -1, -1
        if process == 0:
            posix.close(opened)
            if not posix.read(gate, 1):
                posix._exit(255)
            posix.close(gate)
            if kept:
                keep(mine, length)
            job(mine, self.highest, length)
        if process > 0:
            self.children[process] = number
            self.running[number] = process
            if walled:
                self.inits[process] = init
            if pidfds:
                self.watch(process)
        self.started(number, process, mounts, init if kept else 0)
        if process > 0:
            posix.write(opened, b"1")  # the child is there to read it, or has ended
        for descriptor in (gate, opened, *mine):
            posix.close(descriptor)

    def started(self, number, process, mounts, init):
        "Tells the node, and leaves to it a job's namespace of mounts."
        reply, rights = REPLY.pack(1, process, number), []
        if mounts >= 0:
            left = [mounts]
            if process > 0:
                if init > 0:
                    left += os.pidfd_open(process), os.pidfd_open(init)
                rights.append((socket.SOL_SOCKET, socket.SCM_RIGHTS, b"".join(map(DESCRIPTOR.pack, left))))
            sent = self.control.sendmsg([reply], rights)
            reply = reply[sent:]
            for descriptor in left:
                posix.close(descriptor)
        self.control.sendall(reply)

    def watch(self, process):
        descriptor = os.pidfd_open(process)
        self.highest = max(self.highest, descriptor + 4)
        self.watched[descriptor] = process
        self.poll.register(descriptor, 1)  # POLLIN

    def collect(self, descriptor):
        "Takes the end of the child that the descriptor stands for."
        process = self.watched.pop(descriptor)
        self.poll.unregister(descriptor)
        posix.close(descriptor)
        _, status = posix.waitpid(process, 0)
        if not walled:
            self.ended(process, status)
        elif process in self.worlds:
            self.ended(*self.worlds.pop(process))
        else:  # its end is told when nothing is left of its world
            init = self.inits[process]
            self.worlds[init] = process, status
            os.kill(init, signal.SIGCHLD if process in self.stopping else signal.SIGKILL)
            self.watch(init)

    def reap(self):
        "Takes the ends of all children that have ended."
        while self.children:
            process, status = posix.waitpid(-1, os.WNOHANG)
            if process == 0:
                return
            self.ended(process, status)

    def ended(self, process, status):
        number = self.children.pop(process)
        del self.running[number]
        self.stopping.discard(process)
        self.inits.pop(process, None)
        self.control.sendall(REPLY.pack(2, status, number))


def fill(allocate, sizes, full):
    "Takes pieces of memory, and keeps them, until full says that there are no more."
    allocate.restype, allocate.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
    for size in sizes:
        last = 0
        for _ in range(1 << 16):
            piece = allocate(size)
            if full(piece, last, size):
                break
            last = piece


def fill_holes():
    """Uses up the free pieces of memory between what was loaded. A new process
    would take them, one here and one there, and each lies on another page; now
    all that it allocates lies together."""
    libc = ctypes.PyDLL(None)
    if hasattr(libc, "malloc_trim"):  # GNU's, whose heap ends at a known place
        libc.sbrk.restype = ctypes.c_void_p
        libc.malloc_trim(0)
        end = libc.sbrk(0)
        fill(libc.malloc, range(1032, 8, -16), lambda piece, last, size: piece + size + 4096 > end)
    # The interpreter has pools of 16 KiB for each size up to 512; one that has
    # just begun gives out neighbours.
    fill(ctypes.pythonapi.PyObject_Malloc, range(16, 513, 16), lambda piece, last, size: last % 16384 == 48 and piece == last + size)


def main():
    os.environ.clear()
    atexit.unregister(logging.shutdown)  # finish sees to it where it is needed
    parent = Parent()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # one for every job; jobs have limits of their own
    gc.collect()
    if fork is not os.fork:
        fill_holes()
    gc.disable()
    gc.freeze()
    try:
        parent.serve()
    except (BrokenPipeError, ConnectionResetError):
        pass
    for process in parent.children:
        parent.signal(process, signal.SIGKILL)
    os._exit(0)
