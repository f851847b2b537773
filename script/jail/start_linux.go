package jail

import (
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
)

// This file starts walled scripts and reads how they ended.

// startWalled runs on the process's own thread, whose end is the wall's.
func (p *Process) startWalled(spec Spec, level script.Level) error {
	enters := p.group != nil && !p.jail.cgroups.cloned
	plan, err := p.jail.plan(spec, level, p.Tag, enters)
	if err != nil {
		return err
	}
	wall, err := wallFile(plan)
	if err != nil {
		return err
	}
	defer wall.Close()
	report, reportEnd, err := plainPipe()
	if err != nil {
		return err
	}
	defer report.Close()
	status, statusEnd, err := plainPipe()
	if err != nil {
		reportEnd.Close()
		return err
	}
	files := []uintptr{p.jail.null.Fd(), spec.Stdout.Fd(), spec.Stderr.Fd()}
	for _, file := range spec.Extra {
		files = append(files, file.Fd())
	}
	files = append(files, reportEnd.Fd(), statusEnd.Fd())
	if enters {
		files = append(files, p.group.procs.Fd())
	}
	files = append(files, wall.Fd())
	pidfd := -1
	sys := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, PidFD: &pidfd}
	if p.group != nil && !enters { // from its first moment: to move there takes longer than to start
		sys.UseCgroupFD, sys.CgroupFD = true, int(p.group.folder.Fd())
	}
	if err = spec.stop(); err != nil {
		reportEnd.Close()
		statusEnd.Close()
		status.Close()
		return err
	}
	p.Pid, err = syscall.ForkExec("/proc/self/fd/"+strconv.Itoa(len(files)-1), []string{"ramet-wall"},
		&syscall.ProcAttr{Dir: "/", Env: []string{}, Files: files, Sys: sys})
	reportEnd.Close()
	statusEnd.Close()
	if err != nil {
		status.Close()
		return domain.Unavailablef("start the wall: %v", err)
	}
	p.status, p.wall = status, os.NewFile(uintptr(pidfd), "wall")
	told := make([]byte, planTrash)
	n, _ := report.Read(told)
	if n == 0 {
		return nil // closed by the script's beginning, or by a death that follow will see
	}
	status.Close()
	p.wall.Close()
	_, _ = wait(p.Pid)
	p.jail.reaper.sweep(p.Tag)
	p.jail.forgetSights() // what was to be seen may have gone
	what, errno := plan.failure(told[:n])
	if what == execStep {
		return &os.PathError{Op: "start", Path: spec.Args[0], Err: errno}
	}
	return domain.Unavailablef("wall: %s: %v", what, errno)
}

// plan writes the plan for a script.
func (j *Jail) plan(spec Spec, level script.Level, tag Tag, enters bool) (*plan, error) {
	sight, err := j.sightWith(spec.Programs, spec.See)
	if err != nil {
		return nil, err
	}
	w := walled{walls: *j.walls, spec: spec, level: level, sight: sight, tag: tag, enters: enters}
	if w.dir, err = filepath.EvalSymlinks(spec.Dir); err != nil {
		return nil, err
	}
	if w.dir != spec.Dir {
		w.sight = sight.reaching(spec.Dir)
	}
	w.hidden = w.sight.hides(j.cfg.hidden())
	processes := int64(spec.Limits.Processes)
	switch {
	case spec.Parent:
		w.works = j.Works()
	case w.privileged:
		givePipes(w.uid, w.gid, spec.Stdout, spec.Stderr)
		err = giveFolder(w.dir, w.uid, w.gid)
	case processes > 0:
		processes += wallProcesses // which the kernel counts with the script's
	}
	w.limits = rlimits(spec.Limits, tag, processes)
	return w.write(), err
}

// wallProcesses are outer and init.
const wallProcesses = 2

// plainPipe is a pipe whose ends block, for threads that may.
func plainPipe() (read, write *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe", err)
	}
	return os.NewFile(uintptr(fds[0]), "wall"), os.NewFile(uintptr(fds[1]), "wall"), nil
}

// giveFolder makes a folder and all in it another user's.
func giveFolder(dir string, uid, gid int) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, uid, gid)
	})
}

// givePipes lets another user open the outputs anew, as /dev/stdout.
func givePipes(uid, gid int, files ...*os.File) {
	for _, file := range files {
		var stat unix.Stat_t
		if err := unix.Fstat(int(file.Fd()), &stat); err == nil && stat.Mode&unix.S_IFMT == unix.S_IFIFO {
			_ = unix.Fchown(int(file.Fd()), uid, gid)
		}
	}
}

// followWall waits until nothing of a walled script is left.
func (p *Process) followWall() {
	defer p.status.Close()
	defer p.wall.Close()
	exit, gone := ending(p.status, p.wall)
	if !gone { // the wall was killed from outside, and its process 1 may still be dying
		p.reap()
	}
	p.mu.Lock()
	p.reaped = true
	p.mu.Unlock()
	p.exit = exit
	p.jail.falling.Add(1)
	defer p.jail.falling.Done()
	close(p.done)
	if gone { // what is left are namespaces with nothing in them
		_, _ = wait(p.Pid)
	}
	if p.group != nil {
		p.jail.cgroups.give(p.group)
	}
}

// ending reads how a walled script ended, and whether all that it started is gone.
// It does not wait for what a killed wall has left behind, which has the other end
// of the pipe, too.
func ending(status, wall *os.File) (exit script.Exit, gone bool) {
	exit = script.Exit{Code: 128 + int(unix.SIGKILL), Signal: unix.SIGKILL} // unless the wall tells of another
	fds := []unix.PollFd{{Fd: int32(status.Fd()), Events: unix.POLLIN}, {Fd: int32(wall.Fd()), Events: unix.POLLIN}}
	var record [8]byte
	for {
		if _, err := unix.Poll(fds, -1); err == unix.EINTR {
			continue
		}
		if fds[0].Revents == 0 { // the wall has died, and said nothing more
			return exit, false
		}
		if n, err := unix.Read(int(fds[0].Fd), record[:]); n < len(record) || err != nil {
			return exit, false
		}
		switch binary.NativeEndian.Uint32(record[:]) {
		case statusEnd:
			exit = script.ExitOf(syscall.WaitStatus(binary.NativeEndian.Uint32(record[4:])))
		case statusGone:
			return exit, true
		}
	}
}
