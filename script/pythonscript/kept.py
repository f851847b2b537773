# This follows zygote.py in the same module.
#
# An interpreter that is kept. What it looks at after a job are accidents of honest
# scripts: it is not believed that a script has left nothing that runs, the node sees to that.
KEPT_GROWTH = 64 << 20  # bytes of memory that it may grow by
KEPT_SECONDS = 1.0  # of processor time that it may use, where that is limited
SIGNALS = tuple(sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}))
LIMITED = resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC
stdin, stderr = sys.stdin, sys.stderr


class Kept:
    "What an interpreter that is kept is like before its first job."

    def __init__(self, channel):
        self.descriptors = {"0", "1", "2", str(channel)}
        gc_enable()
        self.usual, self.ends = self.look(), ends()
        global unchanged
        unchanged = self.ends[0]
        self.modules, self.names = modules.copy(), builtins.__dict__.copy()
        self.size = self.memory()
        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        self.growth = KEPT_GROWTH if most < 0 else min(KEPT_GROWTH, most // 8)
        self.timed = resource.getrlimit(resource.RLIMIT_CPU)[1] >= 0
        self.path = path[:]

    def look(self):
        "What a job must not have changed."
        mask = posix.umask(0)
        posix.umask(mask)
        empty = posix.stat(0)
        return (
            mask, empty.st_dev, empty.st_ino, sys.stdin is stdin, sys.stdout is stdout, sys.stderr is stderr, stdout.closed, stderr.closed,
            stdout.encoding, stdout.errors, stdout.line_buffering, stdout.write_through, stderr.encoding, stderr.errors,
            sys.excepthook, sys.displayhook, threading.excepthook, sys.gettrace(), sys.getprofile(), sys.path_hooks[:], sys.meta_path[:],
            sys.getrecursionlimit(), sys.getswitchinterval(), gc.isenabled(), gc.get_threshold(), os.environ._data is environ,
            warnings.filters[:], socket.getdefaulttimeout(), locale.setlocale(locale.LC_ALL), posix.sched_getaffinity(0),
            logging.root.level, logging.root.handlers[:], logging.root.manager.disable, len(handlers), len(threads),
            signal.getitimer(signal.ITIMER_REAL), posix.getpriority(0, 0), posix.sched_getscheduler(0),
            [_signal.getsignal(number) for number in SIGNALS], _signal.pthread_sigmask(_signal.SIG_BLOCK, ()),
            [resource.getrlimit(limit) for limit in LIMITED],
            posix.listdir("/tmp"), posix.listdir("/dev/shm"),
        )

    def memory(self):
        with open("/proc/self/statm", "rb", 0) as file:
            return int(file.read(20).split()[0]) * 4096

    def unusual(self, folder):
        "Tells whether a job has left what the next one would find."
        open_files = set(posix.listdir("/proc/self/fd"))
        if len(open_files) != 5 or not self.descriptors < open_files:  # one is that of the list itself
            return True
        try:
            posix.waitpid(-1, 1)
            return True  # it has children
        except ChildProcessError:
            pass
        if self.look() != self.usual or builtins.__dict__ != self.names or ended_with[0] != self.ends:
            return True
        if self.timed and time.process_time() > KEPT_SECONDS or self.memory() - self.size > self.growth:
            return True
        for name, module in self.modules.items():
            if name != "__main__" and modules.get(name) is not module:
                return True
        for name in [name for name in modules if name not in self.modules]:
            file = getattr(modules[name], "__file__", None)
            if not isinstance(file, str) or file.startswith(folder):
                del modules[name]  # it came from the job's folder, which is gone
        return False

    def renew(self, folder):
        "Takes back what belongs to every job."
        path[:] = self.path
        sys.path_importer_cache.pop(folder, None)
        tempfile.tempdir = None
        for key in environ:
            posix.unsetenv(key)
        environ.clear()


def keep(descriptors, length):
    """Is the whole life of a process that runs one job after the other. On its channel
    it gets frames, `value` is 1 with the last job and `number` counts them, with three descriptors each: stdout,
    stderr, and a file with the fields of a run. It answers by kind 2 when a job begins, by kind 1
    when that has succeeded and left nothing behind; else it ends, as the job did."""
    code = 255
    try:
        posix.dup2(descriptors[3], 1)  # walls close all that lies above
        posix.dup2(descriptors[1], 2)
        wall(descriptors[2], length)
        channel = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 1)
        posix.dup2(0, 1)
        posix.dup2(0, 2)
        control = socket.socket(fileno=channel)
        space = socket.CMSG_SPACE(3 * 4)
        kept = Kept(channel)
        own = posix.getpid()
        job = 0  # its number, which answers are about
        while True:
            control.send(REPLY.pack(1, 0, job))
            data, ancillary, _, _ = control.recvmsg(FRAME.size, space)
            if len(data) < FRAME.size or not ancillary:
                code = 0
                break
            (_, last, job), code = FRAME.unpack(data), 255
            given = struct.unpack("3i", ancillary[0][2])
            posix.dup2(given[0], 1)
            posix.dup2(given[1], 2)
            file = given[2]
            body = posix.pread(file, posix.lseek(file, 0, 2), 0)
            for descriptor in given:
                posix.close(descriptor)
            fields = body.split(b"\0", FIRST + int(body[: body.index(b"\0")]))
            posix.chdir(fields[2])
            folder = fields[2].decode("utf-8", "surrogateescape")
            special = prepare(fields)
            control.send(REPLY.pack(2, 0, job))
            code = contextvars.Context().run(run, argv[0], fields.pop())
            if last or special or code != 0 or posix.getpid() != own or kept.unusual(folder + "/"):
                break
            kept.renew(folder)
            posix.chdir("/")
            posix.dup2(0, 1)
            posix.dup2(0, 2)
            del body, fields
    except BaseException as error:
        posix.write(2, ("the job could not be run: %r\n" % error).encode())
    finally:
        leave(code)
