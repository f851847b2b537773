package jail

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/script"
)

// This file writes the plan by which a walled script is started. Three
// processes carry it out, each the parent of the next:
//
//	outer   makes the namespaces; waits, hands on what it is told, and tells when all is gone
//	init    is process 1 of them: builds the view of files, then collects what ends
//	script  gives up every right and becomes the script, process 2
//
// The kernel kills all that is left in the namespaces when init ends; init ends
// with the script, with outer, or with the node. When outer ends, which nobody waits
// for, the kernel takes down the namespaces: for mounts it waits for all processors.

// Sizes of what a walled script has in memory for files.
const (
	tmpBytes  = 256 << 20 // /tmp
	shmBytes  = 64 << 20  // /dev/shm
	rootBytes = 1 << 20   // folders and links above what is mounted
	tmpFiles  = 16 << 10
)

// walls are what all walled scripts of a jail have in common.
type walls struct {
	privileged bool // by root's rights, not by those of a user namespace
	uid, gid   int  // that scripts run with
	umask      int
	fence      *fence           // for what it scopes; nil where the kernel has none
	filter     *filter          // nil where the kernel has none
	inherited  []syscall.Signal // that were ignored when this node's jail was opened
}

// walled is one script to start.
type walled struct {
	walls
	spec   Spec
	dir    string // its work folder, without links
	level  script.Level
	sight  *sight
	hidden []place // in what is seen
	limits []RLimit
	tag    Tag
	works  []string // of a parent: the folders that hold the work folders of its children
	forked bool     // it is the child of a parent
	enters bool     // a cgroup, by a descriptor behind the others

	*plan
	report, status int // descriptors
	mounts         []mounted
	made           map[string]bool
}

// mounted is what the new root has at a path so far.
type mounted struct {
	path string
	own  bool // empty at first, to be filled
}

// All signals, and those that outer and init wait for.
const (
	allSignals  = ^uint64(0)
	waitSignals = 1<<(unix.SIGCHLD-1) | 1<<(unix.SIGTERM-1)
	statusHello = 1 // init is there
	statusEnd   = 2 // the script has ended, and how
	statusGone  = 3 // nothing that it started is left
)

// cwd is AT_FDCWD.
const cwd = ^uint64(99)

// write writes the whole plan.
func (w *walled) write() *plan {
	first := 3 + len(w.spec.Extra) // behind the script's own descriptors
	w.report, w.status = first, first+1
	w.plan = newPlan(planBase, w.report)
	w.made = map[string]bool{}
	w.try(unix.SYS_PRCTL, unix.PR_SET_NAME, w.text("ramet-wall"))
	if w.enters {
		w.do("enter the cgroup", unix.SYS_WRITE, uint64(first)+2, w.text("0"), 1)
	}
	w.do("close descriptors", unix.SYS_CLOSE_RANGE, uint64(first)+2, 1<<31-1, 0)
	if !w.spec.Parent {
		w.expendable()
	}
	w.do("mark processes", unix.SYS_PRLIMIT64, 0, unix.RLIMIT_RTTIME, w.words(uint64(w.tag), uint64(w.tag)), 0)
	w.do("make namespaces", unix.SYS_UNSHARE, w.namespaces())
	if !w.privileged {
		w.mapIDs()
	}
	all := w.words(allSignals)
	w.do("hold signals", unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, all, 0, 8)
	fork := w.do("start process 1", unix.SYS_CLONE, uint64(unix.SIGCHLD))
	w.outer(fork)
	fork.zero = w.here()
	w.init()
	return w.plan
}

func (w *walled) namespaces() uint64 {
	flags := uint64(unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP)
	if !w.privileged {
		flags |= unix.CLONE_NEWUSER
	}
	if w.level == script.Sealed {
		flags |= unix.CLONE_NEWNET
	}
	return flags
}

// mapIDs gives a new user namespace the user and group that there are already.
func (w *walled) mapIDs() {
	for _, file := range []struct{ path, text string }{
		{"/proc/self/setgroups", "deny"},
		{"/proc/self/uid_map", fmt.Sprintf("%d %d 1\n", w.uid, w.uid)},
		{"/proc/self/gid_map", fmt.Sprintf("%d %d 1\n", w.gid, w.gid)},
	} {
		open := w.do("open "+file.path, unix.SYS_OPENAT, cwd, w.text(file.path), unix.O_WRONLY|unix.O_CLOEXEC)
		write := w.do("write "+file.path, unix.SYS_WRITE, 0, w.text(file.text), uint64(len(file.text)))
		shut := w.try(unix.SYS_CLOSE)
		// One result goes to one place only; the descriptor is the lowest that is free.
		open.storeIn(write, 0)
		shut.args[0] = uint64(w.status + 1)
	}
}

// expendable lets the kernel end the script, and not the node, when the machine's
// memory is at its end: what a script takes need not be its own memory in the eyes of
// the kernel, which otherwise ends who has most.
func (w *walled) expendable() {
	open := w.try(unix.SYS_OPENAT, cwd, w.text(memoryKiller), unix.O_WRONLY|unix.O_CLOEXEC)
	write := w.try(unix.SYS_WRITE, 0, w.text(killFirst), uint64(len(killFirst)))
	open.storeIn(write, 0)
	w.try(unix.SYS_CLOSE, uint64(w.status+1)) // the lowest that was free
}

// outer waits for init to end, and hands on that it should.
func (w *walled) outer(fork *step) {
	signals := w.words(waitSignals)
	w.try(unix.SYS_CLOSE_RANGE, 0, uint64(w.report), 0)
	wait := w.here()
	signal := w.do("wait", unix.SYS_RT_SIGTIMEDWAIT, signals, 0, 0, 8)
	signal.value, signal.failed = uint64(unix.SIGTERM), wait
	end := w.do("wait", unix.SYS_WAIT4, ^uint64(0), 0, unix.WNOHANG|unix.WALL, 0)
	w.try(unix.SYS_WRITE, uint64(w.status), w.words(statusGone), 8)
	leave := w.do("leave", unix.SYS_EXIT_GROUP, 0)
	leave.always(w.here() - 1)
	end.zero, end.failed = wait, w.here()-1
	signal.same = w.here()
	hand := w.try(unix.SYS_KILL, 0, uint64(unix.SIGTERM))
	hand.always(wait)
	fork.storeIn(hand, 0)
}

// init builds the view, starts the script, and collects what ends.
func (w *walled) init() {
	w.do("die with parent", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uint64(unix.SIGKILL))
	// Should the node have died before that, nobody reads what is written here.
	hello := w.words(statusHello)
	w.do("greet the node", unix.SYS_WRITE, uint64(w.status), hello, 8)
	w.view()
	fork := w.do("start process 2", unix.SYS_CLONE, uint64(unix.SIGCHLD))
	w.try(unix.SYS_CLOSE_RANGE, 0, uint64(w.report), 0)
	w.collect()
	fork.zero = w.here()
	if w.spec.Parent {
		w.keep()
	} else {
		w.become()
	}
	w.execute()
}

// collect is the rest of init's life. Before it was told to stop it ends with
// the script, then when there is nothing left.
func (w *walled) collect() {
	signals, term := w.words(waitSignals), uint64(unix.SIGTERM)
	record := w.words(0)
	status := record + 4
	w.data[record-w.base-planHead] = statusEnd

	wait := w.here()
	signal := w.do("wait", unix.SYS_RT_SIGTIMEDWAIT, signals, 0, 0, 8)
	signal.value, signal.failed = term, wait
	reap := w.do("wait", unix.SYS_WAIT4, ^uint64(0), status, unix.WNOHANG|unix.WALL, 0)
	reap.value, reap.zero, reap.failed, reap.other = 2, wait, wait, w.here()-1
	tell := w.try(unix.SYS_WRITE, uint64(w.status), record, 8)
	leave := w.do("leave", unix.SYS_EXIT_GROUP, 0)
	leave.always(w.here() - 1)
	_ = tell

	stop := w.here()
	signal.same = stop
	group := w.do("stop the script", unix.SYS_KILL, ^uint64(1), term)
	alone := w.try(unix.SYS_KILL, 2, term) // before it has a group
	awake := w.try(unix.SYS_KILL, ^uint64(1), uint64(unix.SIGCONT))
	group.failed, group.zero, group.other = w.here()-2, w.here()-1, w.here()-1
	_, _ = alone, awake
	last := w.here()
	again := w.do("wait", unix.SYS_RT_SIGTIMEDWAIT, signals, 0, 0, 8)
	again.value, again.same, again.failed = term, stop, last
	rest := w.do("wait", unix.SYS_WAIT4, ^uint64(0), status, unix.WNOHANG|unix.WALL, 0)
	rest.value, rest.zero, rest.other = 2, last, w.here()-1
	rest.failed = w.here() + 1
	w.try(unix.SYS_WRITE, uint64(w.status), record, 8).always(w.here() - 2)
	w.do("leave", unix.SYS_EXIT_GROUP, 0).always(w.here() - 1)
}

// view makes the new root and what is in it.
func (w *walled) view() {
	w.try(unix.SYS_UMASK, 0)
	none := w.text("none")
	w.do("make mounts private", unix.SYS_MOUNT, none, w.text("/"), 0, unix.MS_REC|unix.MS_PRIVATE, 0)
	w.mount("tmpfs", w.sight.root, unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("mode=755,size=%d,nr_inodes=4096", rootBytes))
	w.do("enter the new root", unix.SYS_CHDIR, w.text(w.sight.root))
	w.mounts = []mounted{{"/", true}}
	var late []place
	for _, p := range w.sight.places {
		if p.write || within(p.path, "/tmp") || within(p.path, "/dev/shm") {
			late = append(late, p)
			continue
		}
		w.place(p)
	}
	w.hideIn(late, false)
	for _, dir := range append([]string{"/proc", "/dev", "/tmp"}, w.points()...) {
		if !within(dir, "/tmp") || dir == "/tmp" {
			w.folder(dir)
		}
	}
	for _, p := range late {
		if !within(p.path, "/tmp") && !within(p.path, "/dev") {
			w.folder(filepath.Dir(p.path))
			w.point(p)
		}
	}
	w.attributes(".", unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	w.devices()
	w.temporary()
	for _, p := range late {
		w.placeLate(p)
	}
	w.hideIn(late, true)
	if !w.spec.Parent {
		w.placeLate(place{path: w.dir, dir: true, write: true})
	}
	w.mount("proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	if w.spec.Parent {
		w.keepWorks()
	}
	if w.level == script.Sealed {
		w.loopback()
	}
	dot := w.text(".")
	w.do("change the root", unix.SYS_PIVOT_ROOT, dot, dot)
	w.do("leave the old root", unix.SYS_UMOUNT2, dot, unix.MNT_DETACH)
	w.do("enter the root", unix.SYS_CHDIR, w.text("/"))
}

func (w *walled) mount(kind, target string, flags uint64, options string) {
	w.do("mount "+kind+" at "+target, unix.SYS_MOUNT, w.text(kind), w.text(target), w.text(kind), flags, w.text(options))
}

// own mounts an empty folder.
func (w *walled) own(path string, flags uint64, options string) {
	w.mount("tmpfs", path[1:], flags, options)
	w.mounts = append(w.mounts, mounted{path, true})
}

// attributes sets flags on all that is mounted at and below a path.
func (w *walled) attributes(path string, flags uint64) {
	attr := unix.MountAttr{Attr_set: flags}
	w.do("protect "+path, unix.SYS_MOUNT_SETATTR, cwd, w.text(path), unix.AT_RECURSIVE, w.bytes(raw(&attr)), uint64(unsafe.Sizeof(attr)))
}

// folder makes a folder with those above it, where it is not there by being
// mounted.
func (w *walled) folder(path string) {
	at := mounted{}
	for _, m := range w.mounts {
		if within(path, m.path) && len(m.path) >= len(at.path) {
			at = m
		}
	}
	if !at.own || path == at.path || w.made[path] {
		return
	}
	w.folder(filepath.Dir(path))
	w.made[path] = true
	w.do("make folder "+path, unix.SYS_MKDIRAT, cwd, w.text(path[1:]), 0o755)
}

// point makes what a place is mounted over.
func (w *walled) point(p place) {
	if p.dir {
		w.folder(p.path)
		return
	}
	if w.made[p.path] {
		return
	}
	w.folder(filepath.Dir(p.path))
	w.made[p.path] = true
	w.try(unix.SYS_MKNODAT, cwd, w.text(p.path[1:]), unix.S_IFREG|0o444, 0)
}

// place puts something of the machine's where it is.
func (w *walled) place(p place) {
	if p.link != "" {
		w.folder(filepath.Dir(p.path))
		w.do("make link "+p.path, unix.SYS_SYMLINKAT, w.text(p.link), cwd, w.text(p.path[1:]))
		return
	}
	w.point(p)
	w.do("show "+p.path, unix.SYS_MOUNT, w.text(p.path), w.text(p.path[1:]), 0, unix.MS_BIND|unix.MS_REC, 0)
	w.mounts = append(w.mounts, mounted{p.path, false})
}

// placeLate is place for what is not read-only with all the rest.
func (w *walled) placeLate(p place) {
	w.place(p)
	flags := uint64(unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV)
	if !p.write {
		flags |= unix.MOUNT_ATTR_RDONLY
	}
	if p.link == "" {
		w.attributes(p.path[1:], flags)
	}
}

// hideIn hides what lies in those places, or what lies in none of them.
func (w *walled) hideIn(places []place, in bool) {
	for _, h := range w.hidden {
		if in == slices.ContainsFunc(places, func(p place) bool { return p.link == "" && within(h.path, p.path) }) {
			w.hide(h)
		}
	}
}

// hide puts nothing in the place of what lies there.
func (w *walled) hide(p place) {
	if p.dir {
		w.own(p.path, unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=64k,nr_inodes=64")
		return
	}
	// A file may have gone since somebody looked: a database's journal comes and goes.
	// Nothing is to be hidden then; whatever else is wrong still ends everything.
	null, path := w.text("/dev/null"), w.text(p.path[1:])
	hidden := w.try(unix.SYS_MOUNT, null, path, 0, unix.MS_BIND, 0)
	there := w.try(unix.SYS_FACCESSAT, cwd, path, 0)
	w.do("hide "+p.path, unix.SYS_MOUNT, null, path, 0, unix.MS_BIND, 0)
	hidden.zero, there.failed = w.here(), w.here()
}

// devices makes /dev.
func (w *walled) devices() {
	w.own("/dev", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=755,size=64k,nr_inodes=64")
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		path := "/dev/" + name
		w.point(place{path: path})
		w.do("show "+path, unix.SYS_MOUNT, w.text(path), w.text(path[1:]), 0, unix.MS_BIND, 0)
	}
	for _, link := range [][2]string{{"/proc/self/fd", "dev/fd"}, {"/proc/self/fd/0", "dev/stdin"}, {"/proc/self/fd/1", "dev/stdout"},
		{"/proc/self/fd/2", "dev/stderr"}, {"pts/ptmx", "dev/ptmx"}} {
		w.do("make link "+link[1], unix.SYS_SYMLINKAT, w.text(link[0]), cwd, w.text(link[1]))
	}
	w.folder("/dev/pts")
	w.folder("/dev/shm")
	w.terminals()
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	w.do("protect dev", unix.SYS_MOUNT_SETATTR, cwd, w.text("dev"), 0, w.bytes(raw(&attr)), uint64(unsafe.Sizeof(attr)))
	w.memory()
}

func (w *walled) terminals() {
	w.mount("devpts", "dev/pts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
}

func (w *walled) memory() {
	w.own("/dev/shm", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("mode=1777,size=%d,nr_inodes=%d", shmBytes, tmpFiles))
}

func (w *walled) temporary() {
	w.own("/tmp", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("mode=1777,size=%d,nr_inodes=%d", tmpBytes, tmpFiles))
}

// loopback switches on the only device of a new network.
func (w *walled) loopback() {
	request, _ := unix.NewIfreq("lo")
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	open := w.do("make a socket", unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	up := w.do("switch on loopback", unix.SYS_IOCTL, 0, unix.SIOCSIFFLAGS, w.bytes(raw(request)))
	open.storeIn(up, 0)
}

// become gives up every right and becomes the script.
func (w *walled) become() {
	w.do("make a session", unix.SYS_SETSID)
	if w.privileged {
		w.do("give up groups", unix.SYS_SETGROUPS, 0, 0)
		gid, uid := uint64(w.gid), uint64(w.uid)
		w.do("become an ordinary group", unix.SYS_SETRESGID, gid, gid, gid)
		w.do("keep capabilities", unix.SYS_PRCTL, unix.PR_SET_KEEPCAPS, 1) // to drop them, where that takes one
		w.do("become an ordinary user", unix.SYS_SETRESUID, uid, uid, uid)
		w.do("own /proc/self", unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 1)
	}
	if w.privileged || w.forked {
		// A user namespace, so that its processes are counted apart from those of
		// other jobs. Where there are none, they are counted together.
		// A process has all capabilities in a new one, and otherwise those that it
		// kept: either way one that is needed to drop what programs could gain.
		unshare := w.do("make a user namespace", unix.SYS_UNSHARE, unix.CLONE_NEWUSER)
		w.mapIDs()
		unshare.failed = w.here()
		w.do("keep one capability", unix.SYS_CAPSET, w.capabilities(1<<unix.CAP_SETPCAP, 0)...)
	}
	for _, l := range w.limits {
		w.do("limit resource "+fmt.Sprint(l.Resource), unix.SYS_PRLIMIT64, 0, uint64(l.Resource), w.words(l.Soft, l.Hard), 0)
	}
	w.dropBounding()
	w.try(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL)
	w.do("give up capabilities", unix.SYS_CAPSET, w.capabilities(0, 0)...)
	w.do("set no_new_privs", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1)
	if w.fence != nil && w.fence.scoped != 0 {
		attr := unix.LandlockRulesetAttr{Scoped: w.fence.scoped | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET}
		ruleset := w.do("make a Landlock ruleset", unix.SYS_LANDLOCK_CREATE_RULESET, w.bytes(raw(&attr)), uint64(unsafe.Sizeof(attr)), 0)
		restrict := w.do("enter the Landlock ruleset", unix.SYS_LANDLOCK_RESTRICT_SELF, 0, 0)
		ruleset.storeIn(restrict, 0)
	}
	w.hear()
	w.try(unix.SYS_UMASK, uint64(w.umask))
	w.do("enter "+w.spec.Dir, unix.SYS_CHDIR, w.text(w.spec.Dir))
	shut := w.do("close descriptors", unix.SYS_CLOSE_RANGE, uint64(w.report), 1<<31-1, unix.CLOSE_RANGE_CLOEXEC)
	if w.forked { // without an exec
		shut.args[2] = 0
	}
	if w.filter != nil {
		w.do("enter the seccomp filter", unix.SYS_SECCOMP, 1, 0, w.filterProgram())
	}
}

// hear makes every signal do what it does by default, also one that the node was
// started to ignore: as by nohup, or by a shell that started it in the background.
// A forked script has what its language makes of signals.
func (w *walled) hear() {
	if !w.forked {
		byDefault := w.words(0, 0, 0, 0)
		for _, signal := range w.ignored() {
			w.do("hear a signal", unix.SYS_RT_SIGACTION, uint64(signal), byDefault, 0, 8)
		}
	}
	w.do("hear signals", unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, w.words(0), 0, 8)
}

// execute becomes the program.
func (w *walled) execute() {
	args, env := w.list(w.spec.Args), w.list(w.spec.Env)
	w.do(execStep, unix.SYS_EXECVE, w.text(w.spec.Args[0]), args, env)
}

// execStep names the step that fails when the program cannot be started.
const execStep = "start"

// capabilities are the arguments of capset for a process that is to have some,
// and to leave some to what it becomes.
func (w *walled) capabilities(own, left uint64) []uint64 {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	sets := [2]unix.CapUserData{
		{Effective: uint32(own), Permitted: uint32(own), Inheritable: uint32(left)},
		{Effective: uint32(own >> 32), Permitted: uint32(own >> 32), Inheritable: uint32(left >> 32)},
	}
	return []uint64{w.bytes(raw(&header)), w.bytes(raw(&sets))}
}

// dropBounding takes every capability from what programs could ever gain.
func (w *walled) dropBounding() {
	for c := range uint64(unix.CAP_LAST_CAP + 1) {
		w.try(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c)
	}
}

// filterProgram is the seccomp filter as the kernel takes it.
func (w *walled) filterProgram() uint64 {
	var b strings.Builder
	for i := range w.filter.program {
		b.Write(raw(&w.filter.program[i]))
	}
	code := w.bytes([]byte(b.String()))
	return w.words(uint64(len(w.filter.program)), code)
}
