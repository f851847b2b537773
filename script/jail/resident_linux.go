package jail

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Resident is a process that a parent forked into a world of its own, and that runs
// one job after the other there. The node holds it between two of them, and looks
// itself whether a job has left something that runs: what a job did to the process
// cannot change that.
type Resident struct {
	process int // a descriptor that stands for it
	// Files of /proc, which stay those of the same process.
	stat, children, orphans int
}

// Looks tells whether this system lists the children of processes, without which there
// is no [Resident].
func (j *Jail) Looks() bool { return j.reaper.children >= 0 }

// NewResident takes over two descriptors that stand for processes: for the one that
// runs the jobs, and for process 1 of its world.
//
// Errors: those of the system, also where the kernel does not list children.
func NewResident(process, first int) (*Resident, error) {
	defer unix.Close(first)
	r := &Resident{process: process, stat: -1, children: -1, orphans: -1}
	err := r.open(first)
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Resident) open(first int) error {
	pid, err := pidOf(r.process)
	if err != nil {
		return err
	}
	init, err := pidOf(first)
	if err != nil {
		return err
	}
	for _, file := range []struct {
		fd   *int
		path string
	}{
		{&r.stat, fmt.Sprintf("/proc/%d/stat", pid)},
		{&r.children, fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)},
		{&r.orphans, fmt.Sprintf("/proc/%d/task/%d/children", init, init)},
	} {
		if *file.fd, err = unix.Open(file.path, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return &os.PathError{Op: "open", Path: file.path, Err: err}
		}
	}
	// They were there until now, and so the numbers were theirs.
	for _, fd := range []int{r.process, first} {
		if err := unix.PidfdSendSignal(fd, 0, nil, 0); err != nil {
			return os.NewSyscallError("pidfd_send_signal", err)
		}
	}
	return nil
}

// Hold stops it, and tells whether nothing else runs in its world: no thread, no
// child of its own, none that lost its parent. From here on it can start nothing.
func (r *Resident) Hold() (alone bool) {
	if unix.PidfdSendSignal(r.process, unix.SIGSTOP, nil, 0) != nil {
		return false
	}
	// A child of a child goes to process 1 when its parent ends: it is looked for there
	// before and after.
	return empty(r.orphans) && empty(r.children) && empty(r.orphans) && threads(r.stat) == 1
}

// Release lets it go on.
func (r *Resident) Release() error {
	return os.NewSyscallError("pidfd_send_signal", unix.PidfdSendSignal(r.process, unix.SIGCONT, nil, 0))
}

// Close lets go of the descriptors. The process is its parent's to end.
func (r *Resident) Close() {
	for _, fd := range []int{r.process, r.stat, r.children, r.orphans} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// pidOf is the id of the process that a descriptor stands for.
func pidOf(fd int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(text, []byte("\nPid:\t"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	pid, err := strconv.Atoi(string(line))
	if err != nil || pid <= 0 {
		return 0, fmt.Errorf("the process has ended, or cannot be seen: %q", line)
	}
	return pid, nil
}

func empty(fd int) bool {
	var some [8]byte
	n, err := unix.Pread(fd, some[:], 0)
	return err == nil && n == 0
}

// threads is how many a process has; 0 where that cannot be read.
func threads(stat int) int {
	var text [1024]byte
	n, err := unix.Pread(stat, text[:], 0)
	if err != nil {
		return 0
	}
	// "pid (any text) state ...": it is the 18th field behind the text.
	fields := bytes.Fields(text[bytes.LastIndexByte(text[:n], ')')+1 : n])
	if len(fields) < 18 {
		return 0
	}
	count, _ := strconv.Atoi(string(fields[17]))
	return count
}
