package jail

import (
	"math"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
)

// lingerEvery is how often to look whether what a stopped script started is
// gone. Nothing tells of the end of a process that is not one's child yet.
const lingerEvery = 10 * time.Millisecond

// Process is a started process.
type Process struct {
	// Pid is its id, which is that of its group and session too.
	Pid int
	// Tag marks it and all it starts.
	Tag Tag

	jail   *Jail
	group  *cgroup
	status *os.File      // of a walled one: where its end is told,
	wall   *os.File      // and its outermost process
	done   chan struct{} // closed by its thread when nothing is left
	exit   script.Exit   // set before done is closed

	hard     chan struct{} // closed by Await when the time to stop is over
	mu       sync.Mutex
	reaped   bool // its id may belong to another
	stopping bool // it was told to stop and has until hard
}

// Start starts a process. The caller may close its files as soon as it
// returns.
//
// Errors: those of the system and of spec.Stop, and [domain.ErrUnavailable] for a
// process that could not be held in.
func (j *Jail) Start(spec Spec) (*Process, error) {
	if j.none != nil {
		return nil, j.none
	}
	p := &Process{jail: j, done: make(chan struct{}), hard: make(chan struct{})}
	level := script.Open
	switch {
	case spec.probe:
		level = spec.Level
	case !spec.Parent || spec.Level != "":
		var err error
		if level, err = j.Level(spec.Level, ""); err != nil {
			return nil, err
		}
	}
	if spec.Parent {
		p.Tag = j.reaper.pool()
	} else {
		p.Tag = j.reaper.next()
		if j.cgroups.holds(level) {
			var err error
			limits := spec.Limits
			if level != script.Open && limits.Processes > 0 {
				limits.Processes += wallProcesses
			}
			if p.group, err = j.cgroups.take(limits); err != nil {
				return nil, err
			}
		}
	}
	started := make(chan error, 1)
	onOwnThread(func() {
		if err := p.start(spec, level); err != nil {
			if p.group != nil {
				j.cgroups.give(p.group)
			}
			started <- err
			return
		}
		started <- nil
		p.follow()
	})
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// start runs on the process's own thread. The new process is held back until
// its limits are in place.
func (p *Process) start(spec Spec, level script.Level) error {
	if level != script.Open {
		return p.startWalled(spec, level)
	}
	// The node may have been given descriptors that are not marked to be closed.
	_ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	if err := p.jail.enter(spec); err != nil {
		return err
	}
	// On another thread: this one may no longer set the limit that marks. The last
	// question is asked behind it, for it takes its time.
	limit := func() error {
		done := make(chan error)
		go func() {
			err := p.limit(spec)
			if err == nil {
				err = spec.stop()
			}
			done <- err
		}()
		return <-done
	}
	hold := p.behindGate
	if p.jail.traces {
		hold = p.traced
	}
	err := hold(spec, limit)
	if err != nil && p.Pid > 0 {
		_ = unix.Kill(p.Pid, unix.SIGKILL)
		_, _ = wait(p.Pid)
	}
	return err
}

// limit puts a process that is held back into its cgroup and gives it its limits.
func (p *Process) limit(spec Spec) error {
	if p.group != nil {
		if err := p.group.add(p.Pid); err != nil {
			return domain.Unavailablef("put process into cgroup: %v", err)
		}
	}
	if !spec.Parent {
		expendable(p.Pid)
	}
	if err := apply(p.Pid, RLimits(spec.Limits, p.Tag)); err != nil {
		return domain.Unavailablef("limit process: %v", err)
	}
	return nil
}

// traced starts the process so that it stops at the end of its exec, as it
// would for a debugger, and lets it go when limit returns.
func (p *Process) traced(spec Spec, limit func() error) error {
	attr := attributes(spec, p.jail.null.Fd())
	attr.Sys.Ptrace = true
	if err := p.fork(spec.Args, attr); err != nil {
		return err
	}
	// No matter whether it has stopped or died: follow finds out.
	for unix.Waitid(unix.P_PID, p.Pid, nil, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	if err := limit(); err != nil {
		return err
	}
	if err := unix.PtraceDetach(p.Pid); err != nil && err != unix.ESRCH {
		return os.NewSyscallError("ptrace", err)
	}
	return nil
}

// front holds a new process back until it reads a line. Should the node die
// meanwhile, its stdin ends and so does it.
const front = `read -r r && exec "$@" </dev/null`

// behindGate starts the process behind a shell that waits: half a
// millisecond more, but it works where tracing is forbidden.
func (p *Process) behindGate(spec Spec, limit func() error) error {
	var gate [2]int
	if err := unix.Pipe2(gate[:], unix.O_CLOEXEC); err != nil {
		return os.NewSyscallError("pipe", err)
	}
	defer unix.Close(gate[1])
	err := p.fork(append([]string{"/bin/sh", "-c", front, "sh"}, spec.Args...), attributes(spec, uintptr(gate[0])))
	unix.Close(gate[0])
	if err != nil {
		return err
	}
	if err := limit(); err != nil {
		return err
	}
	_, err = unix.Write(gate[1], []byte{'\n'})
	if err != nil && err != unix.EPIPE { // EPIPE: it is dead already, which is for follow to tell
		return os.NewSyscallError("write", err)
	}
	return nil
}

func attributes(spec Spec, stdin uintptr) *syscall.ProcAttr {
	attr := &syscall.ProcAttr{
		Dir: spec.Dir, Env: spec.Env,
		Files: []uintptr{stdin, spec.Stdout.Fd(), spec.Stderr.Fd()},
		// The signal at the parent's death is that of the thread that forked,
		// which lives as long as the process does.
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	}
	for _, file := range spec.Extra {
		attr.Files = append(attr.Files, file.Fd())
	}
	return attr
}

func (p *Process) fork(args []string, attr *syscall.ProcAttr) error {
	pid, err := syscall.ForkExec(args[0], args, attr)
	if err != nil {
		return &os.PathError{Op: "start", Path: args[0], Err: err}
	}
	p.Pid = pid
	return nil
}

// enter holds this thread in, and so whatever it starts.
func (j *Jail) enter(spec Spec) error {
	if err := dropCapabilities(); err != nil {
		return domain.Unavailablef("drop capabilities: %v", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return domain.Unavailablef("set no_new_privs: %v", err)
	}
	if j.fence != nil && !spec.Parent {
		if err := j.fence.enter(spec.Dir); err != nil {
			return domain.Unavailablef("landlock: %v", err)
		}
	}
	if j.filter != nil {
		filter := j.filter
		if spec.Parent {
			filter = j.marks
		}
		if err := filter.enter(); err != nil {
			return domain.Unavailablef("seccomp: %v", err)
		}
	}
	return nil
}

// follow waits for the process to end and removes all it started.
func (p *Process) follow() {
	if p.status != nil {
		p.followWall()
		return
	}
	defer close(p.done)
	p.exit = script.ExitOf(p.reap())
	if p.group != nil {
		p.jail.cgroups.give(p.group)
	}
}

// reap waits for the process itself to end, and kills all that is left of it.
func (p *Process) reap() syscall.WaitStatus {
	// Not collected yet: while it is a zombie, its id and its group's are its own.
	for unix.Waitid(unix.P_PID, p.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	if p.isStopping() && p.status == nil {
		p.jail.Linger(p.Tag, p.hard)
	}
	if p.group != nil {
		p.group.kill()
	}
	p.mu.Lock()
	_ = unix.Kill(-p.Pid, unix.SIGKILL)
	p.reaped = true
	status, _ := wait(p.Pid)
	p.mu.Unlock()
	p.jail.reaper.sweep(p.Tag)
	return syscall.WaitStatus(status)
}

// terminate tells the group to stop, unless it has ended.
func (p *Process) terminate() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped || dead(p.Pid) {
		return false
	}
	p.stopping = true
	if p.status != nil { // the wall hands it on
		_ = unix.Kill(p.Pid, unix.SIGTERM)
		return true
	}
	_ = unix.Kill(-p.Pid, unix.SIGTERM)
	_ = unix.Kill(-p.Pid, unix.SIGCONT) // a stopped process would not hear it
	return true
}

func (p *Process) isStopping() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopping
}

// Kill kills the process's group at once, unless it has ended.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = unix.Kill(-p.Pid, unix.SIGKILL)
	}
}

// Linger waits until nothing alive that carries the tag is the node's child,
// or until hard is closed. It gives those that a script started the same time
// to stop as the script itself: a shell dies at once, the command that it was
// waiting for may be writing its checkpoint.
func (j *Jail) Linger(tag Tag, hard <-chan struct{}) {
	tick := time.NewTicker(lingerEvery)
	defer tick.Stop()
	for j.reaper.alive(tag) {
		select {
		case <-hard:
			return
		case <-tick.C:
		}
	}
}
