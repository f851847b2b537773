//go:build unix && !linux

package jail

import (
	"math"
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/script"
)

// Process is a started process.
type Process struct {
	// Pid is its id, which is that of its group and session too.
	Pid int

	done chan struct{} // closed when nothing of its group is left
	exit script.Exit   // set before done is closed
	hard chan struct{} // closed by Await when the time to stop is over

	mu     sync.Mutex
	reaped bool // its id may belong to another
}

// front gives a new process its limits, where this system knows them, and becomes
// it: processor time in seconds, blocks of 512 bytes, kilobytes of address space, files.
const front = `ulimit -c 0
[ "$1" ] && ulimit -t "$1"
[ "$2" ] && ulimit -f "$2"
[ "$3" ] && ulimit -v "$3" 2>/dev/null
[ "$4" ] && ulimit -n "$4"
shift 4
exec "$@"`

// Start starts a process. The caller may close its files as soon as it
// returns.
//
// Errors: those of the system and of spec.Stop, and [domain.ErrUnavailable] for a
// level that cannot be had.
func (j *Jail) Start(spec Spec) (*Process, error) {
	if _, err := j.Level(spec.Level, ""); err != nil {
		return nil, err
	}
	if _, err := os.Stat(spec.Args[0]); err != nil { // the shell would only say so
		return nil, err
	}
	args := append([]string{"/bin/sh", "-c", front, "sh"}, limits(spec.Limits)...)
	args = append(args, spec.Args...)
	attr := &syscall.ProcAttr{
		Dir: spec.Dir, Env: spec.Env,
		Files: []uintptr{j.null.Fd(), spec.Stdout.Fd(), spec.Stderr.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}
	for _, file := range spec.Extra {
		attr.Files = append(attr.Files, file.Fd())
	}
	if err := spec.stop(); err != nil {
		return nil, err
	}
	pid, err := syscall.ForkExec(args[0], args, attr)
	if err != nil {
		return nil, &os.PathError{Op: "start", Path: spec.Args[0], Err: err}
	}
	p := &Process{Pid: pid, done: make(chan struct{}), hard: make(chan struct{})}
	go p.follow()
	return p, nil
}

// limits are the arguments of front; "" is no limit.
func limits(l script.Limits) []string {
	list := make([]string, 4)
	for i, value := range []int64{int64(math.Ceil(l.CPU.Seconds())), (l.FileBytes + 511) / 512, l.MemoryBytes / 1024, int64(l.Files)} {
		if value > 0 {
			list[i] = strconv.FormatInt(value, 10)
		}
	}
	return list
}

// follow waits for the process to end and kills what is left of its group.
func (p *Process) follow() {
	defer close(p.done)
	var status syscall.WaitStatus
	for {
		if _, err := syscall.Wait4(p.Pid, &status, 0, nil); err != syscall.EINTR {
			break
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	// While anything of the group is left, its id is nobody else's.
	_ = unix.Kill(-p.Pid, unix.SIGKILL)
	p.reaped = true
	p.exit = script.ExitOf(status)
}

// terminate tells the group to stop, unless it has ended.
func (p *Process) terminate() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return false
	}
	_ = unix.Kill(-p.Pid, unix.SIGTERM)
	_ = unix.Kill(-p.Pid, unix.SIGCONT) // a stopped process would not hear it
	return true
}

// Kill kills the process's group at once, unless it has ended.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = unix.Kill(-p.Pid, unix.SIGKILL)
	}
}
