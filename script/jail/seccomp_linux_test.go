package jail

import (
	"encoding/binary"
	"slices"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The filter looks for a call by halves. Whatever it is asked, its answer is that
// of its rules, one by one.
func TestTheFilterDeniesWhatIsListed(t *testing.T) {
	program, err := filterProgram(false)
	if err != nil {
		t.Skip(err)
	}
	machine, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	arch := program[1].(bpf.JumpIf).Val
	ask := func(arch, number uint32, arguments ...uint64) uint32 {
		t.Helper()
		call := make([]byte, 64)
		binary.BigEndian.PutUint32(call[offNumber:], number) // the machine reads numbers as networks do
		binary.BigEndian.PutUint32(call[offArch:], arch)
		for i, argument := range arguments {
			binary.BigEndian.PutUint32(call[offArgument0+8*i:], uint32(argument))
			binary.BigEndian.PutUint32(call[offArgument0+8*i+4:], uint32(argument>>32))
		}
		result, err := machine.Run(call)
		if err != nil {
			t.Fatal(err)
		}
		return uint32(result)
	}
	judged := []uint32{unix.SYS_SETRLIMIT}
	const no, none = seccompErrno | uint32(unix.EPERM), seccompErrno | uint32(unix.ENOSYS)
	for _, tt := range []struct {
		name      string
		number    uint32
		arguments []uint64
		want      uint32
	}{
		{"clone3 is not known", unix.SYS_CLONE3, nil, none},
		{"a new process", unix.SYS_CLONE, []uint64{uint64(unix.SIGCHLD)}, seccompAllow},
		{"a new process in a namespace", unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER}, no},
		{"to be traced", unix.SYS_PTRACE, []uint64{unix.PTRACE_TRACEME}, seccompAllow},
		{"to let go", unix.SYS_PTRACE, []uint64{unix.PTRACE_DETACH}, seccompAllow},
		{"to trace", unix.SYS_PTRACE, []uint64{unix.PTRACE_ATTACH}, no},
		{"a limit of one's own", unix.SYS_PRLIMIT64, []uint64{0, unix.RLIMIT_NOFILE, 1}, seccompAllow},
		{"to read a limit of another", unix.SYS_PRLIMIT64, []uint64{7, unix.RLIMIT_NOFILE, 0}, seccompAllow},
		{"a limit of another", unix.SYS_PRLIMIT64, []uint64{7, unix.RLIMIT_NOFILE, 1}, no},
		{"a limit of another, at an address high up", unix.SYS_PRLIMIT64, []uint64{7, unix.RLIMIT_NOFILE, 1 << 32}, no},
		{"the limit that marks", unix.SYS_PRLIMIT64, []uint64{0, unix.RLIMIT_RTTIME, 1}, no},
		{"the limit that marks, by the old call", unix.SYS_SETRLIMIT, []uint64{unix.RLIMIT_RTTIME}, no},
		{"another limit, by the old call", unix.SYS_SETRLIMIT, []uint64{unix.RLIMIT_NOFILE}, seccompAllow},
		{"a socket of the network", unix.SYS_SOCKET, []uint64{unix.AF_INET}, seccompAllow},
		{"a socket of the network, version 6", unix.SYS_SOCKET, []uint64{unix.AF_INET6}, seccompAllow},
		{"a socket of the machine", unix.SYS_SOCKET, []uint64{unix.AF_UNIX}, seccompAllow},
		{"a socket of the wire", unix.SYS_SOCKET, []uint64{unix.AF_PACKET}, seccompErrno | uint32(unix.EAFNOSUPPORT)},
		{"a pair of sockets", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX}, seccompAllow},
		{"a pair of sockets of another kind", unix.SYS_SOCKETPAIR, []uint64{unix.AF_TIPC}, seccompErrno | uint32(unix.EAFNOSUPPORT)},
		{"to type", unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI}, no},
		{"to paste", unix.SYS_IOCTL, []uint64{0, tioclinux}, no},
		{"to ask a terminal", unix.SYS_IOCTL, []uint64{0, unix.TCGETS}, seccompAllow},
	} {
		judged = append(judged, tt.number)
		if got := ask(arch, tt.number, tt.arguments...); got != tt.want {
			t.Errorf("%s: got %#x, want %#x", tt.name, got, tt.want)
		}
		if got := ask(arch^1, tt.number, tt.arguments...); got != no {
			t.Errorf("%s, by the numbers of another architecture: got %#x, want %#x", tt.name, got, no)
		}
	}
	for number := range uint32(1024) {
		if slices.Contains(judged, number) {
			continue
		}
		want := uint32(seccompAllow)
		if slices.Contains(denied, number) {
			want = no
		}
		if got := ask(arch, number); got != want {
			t.Errorf("call %d: got %#x, want %#x", number, got, want)
		}
		if got := ask(arch, number|x32Bit); got != no {
			t.Errorf("call %d of x32: got %#x, want %#x", number, got, no)
		}
	}
}
