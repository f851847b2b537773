package jail

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
)

// This file is for walled runs whose processes are forked by a parent: a process
// that the jail started with [Spec].Parent at level walled. The parent is behind
// a wall of its own, whose view is that of its children, and keeps the rights to
// make namespaces there. It never runs a script. For each job
//
//	the parent   makes a PID namespace with a process 1, and one of mounts ([ForkWorld]); forks; leaves both
//	process 1    collects what ends, hands on SIGTERM, and takes all with it when it is killed
//	process 2    makes its other namespaces, mounts its own folders, and gives up every
//	             right, by the plan that the node wrote ([Jail.ForkPlan])
//
// The work folders of all jobs lie below folders that the parent has at hidden
// places. A job mounts its own one where the node has it, and covers the rest.
//
// Whoever is the last to leave a namespace of mounts takes it down, and for that
// waits for all processors: longer than a small job takes. So the node holds a
// descriptor of it, and closes that when the job has ended.

// keptPlace is where a parent has the folders that hold work folders.
const keptPlace = "/.ramet-work"

// keptNothing is an empty folder.
const keptNothing = keptPlace + "/nothing"

// keptAt is the place of one of them.
func keptAt(index int) string { return keptPlace + "/" + strconv.Itoa(index) }

// Works are the folders below which the work folders of forked runs may lie:
// those that are hidden from scripts, and that for temporary files.
func (j *Jail) Works() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.works != nil {
		return j.works
	}
	found := []string{}
	for _, path := range resolve(append(slices.Clone(j.cfg.Hide), os.TempDir())) {
		if info, err := os.Stat(path); err == nil && info.IsDir() && path != "/" {
			found = append(found, path)
		}
	}
	slices.Sort(found) // what holds others comes before them
	for _, path := range found {
		if !slices.ContainsFunc(j.works, func(w string) bool { return within(path, w) }) {
			j.works = append(j.works, path)
		}
	}
	return j.works
}

// workOf finds the folder of those that holds another.
func workOf(works []string, dir string) (index int, found bool) {
	index = slices.IndexFunc(works, func(w string) bool { return within(dir, w) && dir != w })
	return index, index >= 0
}

// Forks tells whether a parent can have children whose work folder is dir.
func (j *Jail) Forks(dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || real != filepath.Clean(dir) {
		return false
	}
	_, found := workOf(j.Works(), real)
	return found
}

// Where a parent puts plans, and finds the id of a process 1.
const (
	ForkBase = planBase
	ForkRoom = planRoom // bytes that no plan for a child exceeds
	ForkedID = planBase + planHead
)

// ForkCode is machine code, good at any address: a function without arguments that
// carries out the plan at [ForkBase] and returns the result of its last step.
func ForkCode() []byte { return wallCode() }

// ForkWorld writes the plan by which a parent makes the world of a job: a PID
// namespace for its next child, process 1 in it, and a namespace of mounts, in which
// the parent is itself until it leaves it. Its result is a descriptor of the latter, or
// negative. The id of process 1 is at [ForkedID]; it is not changed where there is none.
//
// Process 1 shares the parent's memory, and never leaves this plan: so it costs
// no memory of its own, and no exec. To a job it is as closed as the parent would be.
func ForkWorld() []byte {
	p := newPlan(planBase, 0)
	id := p.words(0) // the first data, and so at ForkedID
	held, kept := p.words(allSignals), p.words(0)
	p.do("", unix.SYS_UNSHARE, unix.CLONE_NEWPID).failed = goBack
	p.try(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, held, kept, 8)
	// The kernel stores the id: with shared memory, who stores last is by chance.
	fork := p.try(unix.SYS_CLONE, unix.CLONE_VM|unix.CLONE_PARENT_SETTID|uint64(unix.SIGCHLD), 0, id)
	p.try(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, kept, 0, 8)
	p.do("", unix.SYS_UNSHARE, unix.CLONE_NEWNS).failed = goBack
	p.do("", unix.SYS_OPENAT, cwd, p.text("/proc/self/ns/mnt"), unix.O_RDONLY|unix.O_CLOEXEC).always(goBack)
	fork.failed = p.here()
	p.try(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, kept, 0, 8)
	p.do("", unix.SYS_CLOSE, ^uint64(0)).always(goBack) // which fails
	fork.zero = p.here()
	p.forkInit()
	return p.encode()
}

// ForkPlan writes the plan by which a parent's child becomes a job.
//
// Errors: those of the system, and [domain.ErrUnavailable].
func (j *Jail) ForkPlan(spec Spec, level script.Level, tag Tag) ([]byte, error) {
	sight, err := j.sightWith(spec.Programs, spec.See)
	if err != nil {
		return nil, err
	}
	w := walled{walls: *j.walls, spec: spec, dir: filepath.Clean(spec.Dir), level: level, sight: sight, tag: tag, works: j.Works(), forked: true,
		hidden: sight.hides(j.cfg.hidden())}
	index, found := workOf(w.works, w.dir)
	if !found {
		return nil, domain.Unavailablef("wall: the work folder %s lies in none of %s", w.dir, strings.Join(w.works, ", "))
	}
	room := filepath.Clean(cmp.Or(spec.Room, spec.Dir))
	if !within(room, w.works[index]) {
		return nil, domain.Unavailablef("wall: the folder %s does not lie in %s", room, w.works[index])
	}
	if err := j.Give(room, spec.Stdout, spec.Stderr); err != nil {
		return nil, err
	}
	w.limits = rlimits(spec.Limits, tag, int64(spec.Limits.Processes))
	w.writeFork(index, room)
	code := w.encode()
	if len(code) > ForkRoom {
		return nil, domain.Unavailablef("wall: a plan of %d bytes, more than %d: too many files are to be hidden", len(code), ForkRoom)
	}
	return code, nil
}

// Give makes a folder with all in it, and outputs, those of the user that walled
// scripts run with.
func (j *Jail) Give(dir string, outputs ...*os.File) error {
	if !j.walls.privileged {
		return nil
	}
	givePipes(j.walls.uid, j.walls.gid, outputs...)
	return giveFolder(dir, j.walls.uid, j.walls.gid)
}

// WorkOf is the one of [Jail.Works] that holds a folder.
func (j *Jail) WorkOf(dir string) (work string, found bool) {
	works := j.Works()
	index, found := workOf(works, dir)
	if !found {
		return "", false
	}
	return works[index], true
}

// notForked are the namespaces that the children of a parent do not make: those of
// processes and mounts are made before, that of users later, and the others hold
// nothing that a process without rights could change.
const notForked = unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWUSER | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// writeFork writes the plan of process 2, whose folder is what lies in room.
func (w *walled) writeFork(work int, room string) {
	w.plan = newPlan(planBase, 0)
	// A failure leaves with a number that is not 0.
	w.steps[0].number, w.steps[1].number = unix.SYS_GETPID, unix.SYS_GETPID
	w.steps[0].always(goBack)
	w.steps[1].always(goBack)
	w.report, w.status = 3, 2 // the lowest descriptor that is free is 3
	w.made = map[string]bool{}
	w.mounts = []mounted{{"/", false}}
	w.do("close descriptors", unix.SYS_CLOSE_RANGE, 3, 1<<31-1, 0)
	w.expendable()
	w.do("make namespaces", unix.SYS_UNSHARE, w.namespaces()&^notForked)
	w.try(unix.SYS_UMASK, 0)
	w.temporary()
	if !within(w.works[work], "/tmp") {
		w.own(w.works[work], unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=64k,nr_inodes=64")
	}
	for _, p := range w.sight.places {
		if index, found := workOf(w.works, p.path); found && within(p.path, "/tmp") && p.link == "" {
			w.bind(keptAt(index)+strings.TrimPrefix(p.path, w.works[index]), p)
			if !p.write {
				w.attributes(p.path[1:], unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
			}
		}
	}
	// The parent has hidden them too, but a file that was replaced since is another.
	for _, p := range w.hidden {
		if p.dir && within(w.dir, p.path) && !within(p.path, "/tmp") {
			continue // an empty folder lies there already, for the work folder
		}
		w.hide(p)
	}
	w.bind(keptAt(work)+strings.TrimPrefix(room, w.works[work]), place{path: w.dir, dir: true, write: true})
	w.attributes(w.dir[1:], unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if !within(w.works[work], "/tmp") {
		attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		w.do("protect "+w.works[work], unix.SYS_MOUNT_SETATTR, cwd, w.text(w.works[work]), 0, w.bytes(raw(&attr)), uint64(unsafe.Sizeof(attr)))
	}
	w.memory()
	w.terminals()
	w.mount("proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	if w.level == script.Sealed {
		w.loopback()
	}
	// Covered, not unmounted, which would wait for all processors. It has no right
	// to uncover them.
	w.do("leave the other work folders", unix.SYS_MOUNT, w.text(keptNothing), w.text(keptPlace), 0, unix.MS_BIND, 0)
	w.become()
	w.try(unix.SYS_GETPPID).always(goBack) // 0: its parent is in another world
}

// bind mounts what lies at source at a place.
func (w *walled) bind(source string, p place) {
	w.point(p)
	w.do("show "+p.path, unix.SYS_MOUNT, w.text(source), w.text(p.path[1:]), 0, unix.MS_BIND|unix.MS_REC, 0)
	w.mounts = append(w.mounts, mounted{p.path, false})
}

// points are the folders to be made in a new root for what is mounted there later.
func (w *walled) points() []string {
	if !w.spec.Parent {
		return []string{w.dir}
	}
	points := append(slices.Clone(w.works), keptNothing)
	for i := range w.works {
		points = append(points, keptAt(i))
	}
	return points
}

// keepWorks mounts the folders that hold work folders at their hidden places.
func (w *walled) keepWorks() {
	for i, path := range w.works {
		w.do("keep "+path, unix.SYS_MOUNT, w.text(path), w.text(keptAt(i)[1:]), 0, unix.MS_BIND|unix.MS_REC, 0)
	}
}

// keep prepares a parent, which keeps its rights over exec.
func (w *walled) keep() {
	w.do("make a session", unix.SYS_SETSID)
	for _, l := range w.limits {
		w.do("limit resource "+fmt.Sprint(l.Resource), unix.SYS_PRLIMIT64, 0, uint64(l.Resource), w.words(l.Soft, l.Hard), 0)
	}
	const all = 1<<(unix.CAP_LAST_CAP+1) - 1
	w.try(unix.SYS_CAPSET, w.capabilities(all, all)...)
	for c := range uint64(unix.CAP_LAST_CAP + 1) {
		w.try(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, c, 0, 0)
	}
	w.hear()
	w.do("close descriptors", unix.SYS_CLOSE_RANGE, uint64(w.report), 1<<31-1, unix.CLOSE_RANGE_CLOEXEC)
}

// forkInit is what process 1 of a forked run does. All signals are held when it
// begins. It collects what ends, and is killed with the job. When the job is told
// to stop, it tells all; then it leaves when nothing is left, and the parent wakes
// it by SIGCHLD when it has collected process 2, which is not a child of this one.
func (p *plan) forkInit() {
	p.try(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uint64(unix.SIGKILL))
	p.try(unix.SYS_PRCTL, unix.PR_SET_NAME, p.text("ramet-wall"))
	p.try(unix.SYS_CLOSE_RANGE, 0, 1<<31-1, 0)
	signals, term := p.words(waitSignals), uint64(unix.SIGTERM)

	wait := p.here()
	signal := p.do("", unix.SYS_RT_SIGTIMEDWAIT, signals, 0, 0, 8)
	signal.value, signal.failed = term, wait
	reap := p.do("", unix.SYS_WAIT4, ^uint64(0), 0, unix.WNOHANG|unix.WALL, 0)
	reap.always(p.here() - 1)
	reap.zero, reap.failed = wait, wait

	stop := p.here()
	signal.same = stop
	p.try(unix.SYS_KILL, ^uint64(0), term)
	p.try(unix.SYS_KILL, ^uint64(0), uint64(unix.SIGCONT)) // a stopped process would not hear it
	rest := p.here()
	more := p.do("", unix.SYS_WAIT4, ^uint64(0), 0, unix.WNOHANG|unix.WALL, 0)
	more.always(rest)
	sleep := p.here() + 1
	more.zero, more.failed = sleep, p.here()
	job := p.do("", unix.SYS_KILL, 2, 0)
	job.always(sleep)
	again := p.do("", unix.SYS_RT_SIGTIMEDWAIT, signals, 0, 0, 8)
	again.always(rest)
	again.value, again.same = term, stop
	job.failed = p.here()
	p.do("", unix.SYS_EXIT_GROUP, 0)
}
