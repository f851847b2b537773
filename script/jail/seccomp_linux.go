package jail

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/domain"
)

// denied are the system calls that scripts have no use for and that reach
// beyond their own processes and files. They fail with EPERM.
var denied = slices.Concat(
	// Other processes: their memory, their descriptors, what they share.
	[]uint32{unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP, unix.SYS_PROCESS_MADVISE},
	// What a process sees of the machine is the node's to arrange.
	[]uint32{unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR,
		unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_CHROOT},
	// Files by number go around every path.
	[]uint32{unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT},
	// Keys are kept for users and sessions, not for jobs.
	[]uint32{unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY},
	// Large doors into the kernel, behind which most of its holes were.
	[]uint32{unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER},
	// The machine: its kernel, clock, swap, quotas, name, terminal and log.
	[]uint32{unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_REBOOT,
		unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SWAPON, unix.SYS_SWAPOFF,
		unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_ACCT, unix.SYS_SYSLOG, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP},
)

// families are the kinds of sockets that a script may make: what programs use to
// speak to each other and to the network. The others reach the machine's host
// (vsock), its wires (packet) or corners of the kernel that hardly anybody uses.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// Results of a filter, and offsets in its input (struct seccomp_data).
const (
	seccompAllow = 0x7fff0000
	seccompErrno = 0x00050000
	offNumber    = 0
	offArch      = 4
	offArgument0 = 16 // its low half, on the little-endian machines we know
	offArgument1 = 24
	offArgument2 = 32
	x32Bit       = 0x40000000
	newNamespace = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
		unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
)

// filter is an assembled seccomp program.
type filter struct{ program []unix.SockFilter }

// newFilter assembles the filter for this machine; marks is for a process that
// marks the processes of jobs itself.
//
// Errors: [domain.ErrUnavailable] on an architecture it does not know.
func newFilter(marks bool) (*filter, error) {
	program, err := filterProgram(marks)
	if err != nil {
		return nil, err
	}
	raw, err := bpf.Assemble(program)
	if err != nil {
		return nil, domain.Unavailablef("assemble filter: %v", err)
	}
	f := &filter{program: make([]unix.SockFilter, len(raw))}
	for i, r := range raw {
		f.program[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return f, nil
}

// Results of the filter.
var (
	allow = bpf.RetConstant{Val: seccompAllow}
	deny  = bpf.RetConstant{Val: seccompErrno | uint32(unix.EPERM)}
)

func filterProgram(marks bool) ([]bpf.Instruction, error) {
	arch, known := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	if !known {
		return nil, domain.Unavailablef("no filter for %s", runtime.GOARCH)
	}
	rules := argumentRules(marks)
	for _, number := range denied {
		rules = append(rules, callRule{number: number})
	}
	slices.SortFunc(rules, func(a, b callRule) int { return cmp.Compare(a.number, b.number) })
	program := []bpf.Instruction{
		// Another architecture's numbers mean other calls: deny them all.
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		deny,
		load(offNumber),
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32Bit, SkipTrue: 1},
		deny,
	}
	return append(program, judgeCalls(rules)...), nil
}

// callRule judges one system call: by what it is asked for, else it is denied.
type callRule struct {
	number uint32
	body   []bpf.Instruction // goes on behind its end for what is allowed
}

// leafRules is how many rules are looked through one after the other.
const leafRules = 6

// judgeCalls looks for the rule of the call whose number is loaded, among rules
// that are sorted. It searches by halves, for every process that enters the filter
// has the kernel try it with every call there is, to learn which ones need not be
// filtered: one rule after the other, that took longer than to start a process.
func judgeCalls(rules []callRule) []bpf.Instruction {
	if len(rules) > leafRules {
		middle := len(rules) / 2
		below, above := judgeCalls(rules[:middle]), judgeCalls(rules[middle:])
		return slices.Concat([]bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: rules[middle].number, SkipTrue: skip(below)}}, below, above)
	}
	// From its end, where both results stand.
	list := []bpf.Instruction{allow, deny}
	for _, r := range rules {
		if r.body != nil {
			body := append(slices.Clone(r.body), allow)
			list = slices.Concat([]bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: r.number, SkipTrue: skip(body)}}, body, list)
		}
	}
	for _, r := range rules {
		if r.body == nil {
			list = slices.Insert(list, 0, bpf.Instruction(bpf.JumpIf{Cond: bpf.JumpEqual, Val: r.number, SkipTrue: skip(list[1:])}))
		}
	}
	return list
}

// skip is how far to jump over some instructions.
func skip(over []bpf.Instruction) uint8 {
	if len(over) > math.MaxUint8 {
		panic("BUG: the filter is too long for its jumps")
	}
	return uint8(len(over))
}

func load(offset uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: offset, Size: 4} }

// argumentRules judge system calls by what they are asked for.
func argumentRules(marks bool) (rules []callRule) {
	add := func(number uint32, body ...bpf.Instruction) { rules = append(rules, callRule{number, body}) }
	// The flags of clone3 lie in memory, out of a filter's reach; with
	// ENOSYS the C libraries fall back to clone.
	add(unix.SYS_CLONE3, bpf.RetConstant{Val: seccompErrno | uint32(unix.ENOSYS)})
	// A start needs two of ptrace's requests, and they give no power over
	// others: to be traced by one's parent, and to let one's child go.
	add(unix.SYS_PTRACE, load(offArgument0),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.PTRACE_TRACEME, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.PTRACE_DETACH, SkipTrue: 1},
		deny)
	add(unix.SYS_CLONE, load(offArgument0),
		bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: newNamespace, SkipTrue: 1},
		deny)
	// The limit that marks a job's processes could be lowered, and they would not
	// be found again. To ask for it is to give no new one.
	limit := deny
	if marks {
		limit = bpf.RetConstant{Val: seccompAllow}
	}
	add(unix.SYS_SETRLIMIT, load(offArgument0),
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.RLIMIT_RTTIME, SkipTrue: 1},
		limit)
	// Limits of others are not a script's to set: a second of processor time ends
	// the node. Its own are process 0.
	add(unix.SYS_PRLIMIT64, load(offArgument2),
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 2},
		load(offArgument2+4),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 6},
		load(offArgument0),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
		deny,
		load(offArgument1),
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.RLIMIT_RTTIME, SkipTrue: 1},
		limit)
	body := []bpf.Instruction{load(offArgument0)}
	for i, family := range families {
		body = append(body, bpf.JumpIf{Cond: bpf.JumpEqual, Val: family, SkipTrue: uint8(len(families) - i)})
	}
	body = append(body, bpf.RetConstant{Val: seccompErrno | uint32(unix.EAFNOSUPPORT)})
	add(unix.SYS_SOCKET, body...)
	add(unix.SYS_SOCKETPAIR, body...) // makes two, and what it can do is the family's to say
	// To type into a terminal is to give orders to whoever sits there.
	add(unix.SYS_IOCTL, load(offArgument1),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.TIOCSTI, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: tioclinux, SkipTrue: 1},
		deny)
	return rules
}

// tioclinux is the request for the Linux console, which types and pastes.
const tioclinux = 0x541c

// enter puts the filter on this thread. It needs no_new_privs.
func (f *filter) enter() error {
	prog := unix.SockFprog{Len: uint16(len(f.program)), Filter: &f.program[0]}
	const setModeFilter = 1
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, setModeFilter, 0, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	return nil
}
