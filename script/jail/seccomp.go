package jail

import (
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/domain"
)

// denied are the system calls that scripts have no use for and that reach
// beyond their own processes and files. They fail with EPERM.
var denied = []uint32{
	unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, // other processes
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN,
	unix.SYS_FSMOUNT, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, // keys of the session
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, // large doors into the kernel
	unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_REBOOT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_SYSLOG, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME,
}

// Results of a filter, and offsets in its input (struct seccomp_data).
const (
	seccompAllow = 0x7fff0000
	seccompErrno = 0x00050000
	offNumber    = 0
	offArch      = 4
	offArgument0 = 16 // its low half, on the little-endian machines we know
	x32Bit       = 0x40000000
	newNamespace = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
		unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
)

// filter is an assembled seccomp program.
type filter struct{ program []unix.SockFilter }

// newFilter assembles the filter for this machine.
//
// Errors: [domain.ErrUnavailable] on an architecture it does not know.
func newFilter() (*filter, error) {
	arch, known := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	if !known {
		return nil, domain.Unavailablef("no filter for %s", runtime.GOARCH)
	}
	deny := bpf.RetConstant{Val: seccompErrno | uint32(unix.EPERM)}
	program := []bpf.Instruction{
		// Another architecture's numbers mean other calls: deny them all.
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		deny,
		bpf.LoadAbsolute{Off: offNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32Bit, SkipTrue: 1},
		deny,
		// The flags of clone3 lie in memory, out of a filter's reach; with
		// ENOSYS the C libraries fall back to clone.
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_CLONE3, SkipTrue: 1},
		bpf.RetConstant{Val: seccompErrno | uint32(unix.ENOSYS)},
	}
	for _, number := range denied {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: 1}, deny)
	}
	program = append(program,
		// A start needs two of ptrace's requests, and they give no power over
		// others: to be traced by one's parent, and to let one's child go.
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_PTRACE, SkipTrue: 4},
		bpf.LoadAbsolute{Off: offArgument0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.PTRACE_TRACEME, SkipTrue: 6},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.PTRACE_DETACH, SkipTrue: 5},
		deny,
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_CLONE, SkipTrue: 3},
		bpf.LoadAbsolute{Off: offArgument0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: newNamespace, SkipTrue: 1},
		deny,
		bpf.RetConstant{Val: seccompAllow},
	)
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
