package scripttest

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// processAttempts are about other processes: the node, another job, what started
// the script.
var processAttempts = slices.Concat(
	targetAttempts("the node", func(w *world) int { return w.Node }),
	targetAttempts("another job", func(w *world) int { return w.Victim }),
	targetAttempts("what started it", func(*world) int { return starter() }),
	targetAttempts("process 1", func(*world) int { return 1 }),
	[]attempt{
		{name: "see others in the list of processes", open: openProc, try: findOthers},
		{name: "have a descriptor of the node", try: findDescriptors},
		{name: "have the node's environment", try: func(*world) error {
			if value, found := os.LookupEnv("RAMET_TEST_SECRET"); found {
				return through(value)
			}
			return errors.New("it is not there")
		}},
		{name: "have the rights of root", openRoot: "open leaves root the rights that container engines leave", try: func(*world) error {
			status, err := os.ReadFile("/proc/self/status")
			if err != nil {
				return err
			}
			for line := range strings.Lines(string(status)) {
				key, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
				if slices.Contains([]string{"CapEff", "CapPrm", "CapInh", "CapAmb"}, key) && strings.Trim(value, "0") != "" {
					return through(line)
				}
			}
			return errors.New("no capabilities")
		}},
		{name: "win rights by a setuid program", try: func(*world) error {
			on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
			if err != nil || on == 1 {
				return errors.New("no_new_privs is set")
			}
			return through("no_new_privs is not set")
		}},
		{name: "become root", openRoot: "open leaves root root", try: func(*world) error {
			if os.Getuid() == 0 {
				return through("it is")
			}
			if _, _, errno := unix.RawSyscall(unix.SYS_SETUID, 0, 0, 0); errno != 0 {
				return errno
			}
			return through("it is now")
		}},
		{name: "be root to the machine", try: rootOutside, openRoot: "open leaves root root"},
		{name: "raise its own limits", try: func(*world) error {
			var limit unix.Rlimit
			if err := unix.Getrlimit(unix.RLIMIT_NPROC, &limit); err != nil {
				return err
			}
			limit.Cur, limit.Max = limit.Max+1, limit.Max+1
			return unix.Setrlimit(unix.RLIMIT_NPROC, &limit)
		}},
		{name: "outlive the node when memory runs out", try: func(*world) error {
			text, err := os.ReadFile("/proc/self/oom_score_adj")
			if err == nil && strings.TrimSpace(string(text)) != "1000" {
				return through("its score is " + string(text))
			}
			return errors.New("it is ended first")
		}},
		{name: "save itself from the memory killer", try: func(*world) error {
			return os.WriteFile("/proc/self/oom_score_adj", []byte("-1000"), 0)
		}},
	})

// rootOutside tells by whom the work folder is owned, as far as the script is.
func rootOutside(w *world) error {
	var stat unix.Stat_t
	if err := unix.Stat(".", &stat); err != nil {
		return err
	}
	if stat.Uid == 0 {
		return through("its files are root's")
	}
	return fmt.Errorf("user %d", stat.Uid)
}

// starter is the parent of the job's first process, which leads its session; 0 where
// that is in another world.
func starter() int {
	leader, err := unix.Getsid(0)
	if err != nil {
		return 0
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(leader) + "/stat")
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if err != nil || len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}

// target is a process that the job is after.
type target struct {
	whose string
	pid   func(*world) int // 0 where it is in another world
}

// targetAttempts are what there is to do with one process.
func targetAttempts(whose string, pid func(*world) int) []attempt {
	t := target{whose, pid}
	return slices.Concat(t.reads(), t.signals(), t.control())
}

// at is for what is done to a process by its number.
func (t target) at(try func(pid int) error) func(*world) error {
	return func(w *world) error {
		if id := t.pid(w); id > 0 {
			return try(id)
		}
		return errors.New("it is in another world")
	}
}

// outer is for what a job may do to the first process of its own world.
func (t target) outer(try func(*world) error) func(*world) error {
	return func(w *world) error {
		if t.pid(w) == 1 {
			return impossible("it is the first process of the job's own world")
		}
		return try(w)
	}
}

// file is for what is done with a file that /proc has of the process.
func (t target) file(name string, try func(string) error) func(*world) error {
	return t.at(func(pid int) error { return try(filepath.Join("/proc", strconv.Itoa(pid), name)) })
}

// call is for a system call whose first argument is the process.
func (t target) call(number uintptr, args ...uintptr) func(*world) error {
	return t.at(func(pid int) error {
		var all [6]uintptr
		all[0] = uintptr(pid)
		copy(all[1:], args)
		return answered(unix.RawSyscall6(number, all[0], all[1], all[2], all[3], all[4], all[5]))
	})
}

// reads are of what /proc shows.
func (t target) reads() []attempt {
	return []attempt{
		{name: "read the arguments of " + t.whose, open: openProc, try: t.outer(t.file("cmdline", read))},
		{name: "read the environment of " + t.whose, try: t.file("environ", read)},
		{name: "read the memory of " + t.whose, try: t.file("mem", open)},
		{name: "read the map of the memory of " + t.whose, try: t.file("maps", read)},
		{name: "reach the root folder of " + t.whose, try: t.file("root", list)},
		{name: "reach the work folder of " + t.whose, try: t.file("cwd", list)},
		{name: "reach the program of " + t.whose, try: t.file("exe", open)},
		{name: "reach the descriptors of " + t.whose, try: t.file("fd", openEntries)},
		{name: "reach the namespaces of " + t.whose, try: t.file("ns", openEntries)},
	}
}

// signals go to the process by its number and by a descriptor.
func (t target) signals() []attempt {
	return []attempt{
		{name: "signal " + t.whose, try: t.outer(t.at(func(pid int) error {
			if abi() < 6 {
				if err := unix.Kill(pid, 0); err != nil {
					return err
				}
				return impossible("this kernel's Landlock does not hold signals")
			}
			return unix.Kill(pid, 0)
		}))},
		{name: "signal " + t.whose + " by a descriptor", try: t.outer(t.at(func(pid int) error {
			fd, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			if abi() < 6 {
				return impossible("this kernel's Landlock does not hold signals")
			}
			return unix.PidfdSendSignal(fd, 0, nil, 0)
		}))},
	}
}

// control is what debuggers and managers of processes do to others.
func (t target) control() []attempt {
	const priorities = "open may be as unkind to its user's other processes as any of them"
	return []attempt{
		{name: "take a descriptor of " + t.whose, try: t.at(func(pid int) error {
			fd, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return answered(unix.RawSyscall(unix.SYS_PIDFD_GETFD, uintptr(fd), 0, 0))
		})},
		{name: "trace " + t.whose, try: t.at(func(pid int) error {
			const seize = 0x4206
			_, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, seize, uintptr(pid), 0, 0, 0, 0)
			if errno != 0 {
				return errno
			}
			unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(pid), 0, 0, 0, 0)
			return through("it traced it")
		})},
		{name: "copy the memory of " + t.whose, try: t.at(func(pid int) error {
			var into [8]byte
			local := unix.Iovec{Base: &into[0], Len: 8}
			remote := unix.RemoteIovec{Base: uintptr(unsafe.Pointer(&pinned)), Len: 8}
			_, _, errno := unix.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(pid), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
			if errno == unix.EFAULT {
				return through("let in")
			}
			return answered(0, 0, errno)
		})},
		{name: "change the limits of " + t.whose, try: t.outer(t.at(func(pid int) error {
			var limit unix.Rlimit
			if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &limit); err != nil {
				return err
			}
			return unix.Prlimit(pid, unix.RLIMIT_NOFILE, &limit, nil) // to what they are
		}))},
		{name: "change the priority of " + t.whose, open: priorities,
			try: t.outer(t.at(func(pid int) error { return unix.Setpriority(unix.PRIO_PROCESS, pid, 0) }))},
		{name: "change the processors of " + t.whose, open: priorities, try: t.outer(t.at(func(pid int) error {
			var set unix.CPUSet
			if err := unix.SchedGetaffinity(pid, &set); err != nil {
				return err
			}
			return unix.SchedSetaffinity(pid, &set)
		}))},
		{name: "move the memory of " + t.whose, try: t.outer(t.call(unix.SYS_MIGRATE_PAGES, 0, 0, 0)), open: priorities},
		{name: "compare itself with " + t.whose, try: t.at(func(pid int) error {
			return answered(unix.RawSyscall6(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(pid), 1, 0, 0, 0))
		})},
	}
}

// answered turns what a system call gave into an error where there was nobody or
// it was refused.
func answered(_, _ uintptr, errno syscall.Errno) error {
	if errno == unix.ESRCH {
		return errno
	}
	return refused(errno)
}

// abi is the version of the kernel's Landlock; 0 is none.
func abi() int {
	version, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

func open(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	file.Close()
	return through("opened " + path)
}

// openEntries opens what the links of a folder stand for.
func openEntries(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if target, err := os.Readlink(filepath.Join(path, entry.Name())); err == nil {
			return through(entry.Name() + " is " + target)
		}
	}
	return syscall.EACCES
}

// findOthers looks for a process that is not of this job.
func findOthers(w *world) error {
	for _, pid := range processesWith(w.Token) {
		return through("process " + strconv.Itoa(pid))
	}
	return errors.New("there are none")
}

// findDescriptors looks for one that the job was not given for its outputs.
func findDescriptors(*world) error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		target, err := os.Readlink("/proc/self/fd/" + entry.Name())
		if err != nil || slices.Contains([]string{"0", "1", "2"}, entry.Name()) {
			continue
		}
		here, _ := os.Getwd()
		// Its own: the result, what Go waits with, the folder that is being read.
		if strings.HasPrefix(target, here) || strings.HasPrefix(target, "anon_inode:[event") || strings.HasPrefix(target, "/proc/") ||
			strings.HasPrefix(target, "/sys/fs/cgroup/") || target == "anon_inode:[pidfd]" {
			continue
		}
		return through(entry.Name() + " is " + target)
	}
	return errors.New("there are none")
}

// beVictim is the job that the others are after. It tells at its end whether
// anything reached it.
func beVictim(w *world) error {
	if err := os.WriteFile("mine", []byte(w.Token), 0o600); err != nil {
		return err
	}
	var got atomic.Int32
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGUSR1, unix.SIGUSR2, unix.SIGHUP, unix.SIGINT, unix.SIGTERM)
	fmt.Println("ready")
	for s := range signals {
		if s == unix.SIGTERM {
			break
		}
		got.Add(1)
	}
	text, err := os.ReadFile("mine")
	entries, listErr := os.ReadDir(".")
	for _, entry := range entries {
		if entry.Name() == w.Token {
			err = errors.New("somebody made a file here")
		}
	}
	if err = errors.Join(err, listErr); err != nil || string(text) != w.Token || got.Load() > 0 {
		return fmt.Errorf("touched: %d signals, file %q, %w", got.Load(), text, err)
	}
	fmt.Println("untouched")
	return nil
}
