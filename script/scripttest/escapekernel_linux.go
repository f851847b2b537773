package scripttest

import (
	"os"
	"os/exec"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const none = ^uintptr(0) // a descriptor that is not open

// kernelAttempts are about what the kernel does for all.
var kernelAttempts = slices.Concat([]attempt{
	{name: "set the clock to what it is", try: func(*world) error {
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_REALTIME, &now); err != nil {
			return err
		}
		return answered(unix.RawSyscall(unix.SYS_CLOCK_SETTIME, unix.CLOCK_REALTIME, uintptr(unsafe.Pointer(&now)), 0))
	}},
	{name: "tune the clock to what it is", try: func(*world) error {
		var now unix.Timex
		if _, err := unix.Adjtimex(&now); err != nil {
			return err
		}
		now.Modes = unix.ADJ_TICK
		_, err := unix.Adjtimex(&now)
		return err
	}},
	{name: "make a user namespace in a child", try: func(*world) error {
		command := exec.Command("./"+stranger, "nothing")
		command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
		return command.Run()
	}},
	{name: "make a user namespace by clone3", try: func(*world) error {
		args := [11]uint64{unix.CLONE_NEWUSER | unix.CLONE_NEWPID | 1<<63} // the last is no flag: nothing is made in any case
		return answered(unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0))
	}},
	{name: "change its root folder", try: func(*world) error { return exec.Command("./"+stranger, "chroot").Run() },
		openRoot: "open leaves root the rights that container engines leave; a root folder of its own shows it no more than it sees"},
	{name: "enter a namespace", try: func(*world) error {
		fd, err := unix.Open("/proc/self/ns/user", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return answered(unix.RawSyscall(unix.SYS_SETNS, uintptr(fd), unix.CLONE_NEWUSER, 0))
	}},
	{name: "find the node's shared memory", open: "open has the machine's System V memory and message queues", try: func(w *world) error {
		return answered2(unix.RawSyscall(unix.SYS_SHMGET, uintptr(w.Segment), 0, 0))
	}},
	{name: "leave shared memory and a message queue", open: "open has the machine's System V memory and message queues", try: func(w *world) error {
		// Made they may be; the test looks that the machine does not have them.
		unix.RawSyscall(unix.SYS_SHMGET, uintptr(w.left()), 4096, unix.IPC_CREAT|0o666)
		name, _ := unix.BytePtrFromString(w.queue())
		unix.RawSyscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(name)), unix.O_CREAT|unix.O_RDWR, 0o666, 0, 0, 0)
		return os.ErrNotExist
	}},
}, callAttempts())

// callAttempts are system calls with arguments that do nothing even where the
// call is let through.
func callAttempts() (list []attempt) {
	text := func(s string) uintptr {
		p, _ := unix.BytePtrFromString(s)
		pinned = append(pinned, p)
		return uintptr(unsafe.Pointer(p))
	}
	for _, c := range []struct {
		name   string
		number uintptr
		args   []uintptr
	}{
		{"make a user namespace", unix.SYS_UNSHARE, []uintptr{unix.CLONE_NEWUSER}},
		{"make a mount namespace", unix.SYS_UNSHARE, []uintptr{unix.CLONE_NEWNS}},
		{"mount", unix.SYS_MOUNT, []uintptr{text("none"), text("./tmp"), text("tmpfs"), 0, 0}},
		{"remount what is read-only", unix.SYS_MOUNT, []uintptr{0, text("."), 0, unix.MS_REMOUNT | unix.MS_BIND, 0}},
		{"unmount", unix.SYS_UMOUNT2, []uintptr{text("./tmp"), 0}},
		{"pivot_root", unix.SYS_PIVOT_ROOT, []uintptr{text("./tmp"), text("./tmp")}},
		{"open a tree of mounts", unix.SYS_OPEN_TREE, []uintptr{none, text(""), 1}},
		{"open a tree of mounts and change it", unix.SYS_OPEN_TREE_ATTR, []uintptr{none, text(""), 0, 0, 0}},
		{"move a mount", unix.SYS_MOVE_MOUNT, []uintptr{none, text(""), none, text(""), 0}},
		{"open a file system", unix.SYS_FSOPEN, []uintptr{text("no-such-file-system"), 0}},
		{"mount a file system", unix.SYS_FSMOUNT, []uintptr{none, 0, 0}},
		{"pick a mount", unix.SYS_FSPICK, []uintptr{none, text(""), 0}},
		{"change a mount", unix.SYS_MOUNT_SETATTR, []uintptr{none, text(""), 0, 0, 0}},
		{"find a key", unix.SYS_KEYCTL, []uintptr{0, ^uintptr(2), 0}},
		{"add a key", unix.SYS_ADD_KEY, []uintptr{0, 0, 0, 0, 0}},
		{"request a key", unix.SYS_REQUEST_KEY, []uintptr{0, 0, 0, 0}},
		{"bpf", unix.SYS_BPF, []uintptr{^uintptr(0), 0, 0}},
		{"userfaultfd", unix.SYS_USERFAULTFD, []uintptr{^uintptr(0)}},
		{"io_uring", unix.SYS_IO_URING_SETUP, []uintptr{0, 0}},
		{"perf_event_open", unix.SYS_PERF_EVENT_OPEN, []uintptr{0, 0, 0, none, 0}},
		{"load a kernel", unix.SYS_KEXEC_LOAD, []uintptr{0, 99, 0, 0}},
		{"load a kernel from a file", unix.SYS_KEXEC_FILE_LOAD, []uintptr{none, none, 0, 0, 0}},
		{"govern quotas", unix.SYS_QUOTACTL, []uintptr{^uintptr(0), 0, 0, 0}},
		{"govern quotas by a descriptor", unix.SYS_QUOTACTL_FD, []uintptr{none, 0, 0, 0}},
		{"load a module", unix.SYS_INIT_MODULE, []uintptr{0, 0, 0}},
		{"load a module from a file", unix.SYS_FINIT_MODULE, []uintptr{none, 0, 0}},
		{"remove a module", unix.SYS_DELETE_MODULE, []uintptr{text("ramet-no-such-module"), 0}},
		{"restart the machine", unix.SYS_REBOOT, []uintptr{0, 0, 0, 0}}, // without the magic numbers
		{"swap on", unix.SYS_SWAPON, []uintptr{0, 0}},
		{"swap off", unix.SYS_SWAPOFF, []uintptr{0}},
		{"write accounts", unix.SYS_ACCT, []uintptr{text("/ramet/no/such/file")}},
		{"read the kernel's log", unix.SYS_SYSLOG, []uintptr{10, 0, 0}},
		{"set the time of day", unix.SYS_SETTIMEOFDAY, []uintptr{1, 0}}, // an address that is none
		{"set the name of the machine", unix.SYS_SETHOSTNAME, []uintptr{1, 1}},
		{"watch the files of all", unix.SYS_FANOTIFY_INIT, []uintptr{^uintptr(0), 0}},
		{"hang up the terminal", unix.SYS_VHANGUP, nil},
	} {
		var a [6]uintptr
		copy(a[:], c.args)
		list = append(list, attempt{name: c.name, try: func(*world) error {
			return answered(unix.RawSyscall6(c.number, a[0], a[1], a[2], a[3], a[4], a[5]))
		}})
	}
	return list
}

// pinned keeps the texts of system calls where they are.
var pinned []*byte

// answered2 is answered for calls that say "there is none".
func answered2(a, b uintptr, errno syscall.Errno) error {
	if errno == unix.ENOENT {
		return errno
	}
	return answered(a, b, errno)
}
