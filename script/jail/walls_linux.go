package jail

import (
	"bytes"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
)

// newWalls tells how this node can wall scripts.
func newWalls(cfg Config, f *fence, filter *filter) *walls {
	w := &walls{privileged: os.Geteuid() == 0, uid: cfg.User, gid: cfg.Group, fence: f, filter: filter, umask: ownUmask(), inherited: inheritedSignals()}
	if !w.privileged {
		w.uid, w.gid = os.Geteuid(), os.Getegid()
	}
	return w
}

// lastSignal is the highest number of a signal.
const lastSignal = 64

// inheritedSignals are those that this program ignores now. The runtime tells of
// those only that it was asked to ignore, not of all that it was started with.
func inheritedSignals() (list []syscall.Signal) {
	for signal := syscall.Signal(1); signal <= lastSignal; signal++ {
		var action [4]uint64 // its first word is the handler, in all that we run on
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(signal), 0, uintptr(unsafe.Pointer(&action)), 8, 0, 0)
		if errno == 0 && action[0] == ignoreSignal {
			list = append(list, signal)
		}
	}
	return list
}

// ignoreSignal is SIG_IGN.
const ignoreSignal = 1

// ignored are the signals that what this program starts would ignore: a script
// would not hear them.
func (w *walls) ignored() []syscall.Signal {
	list := slices.Clone(w.inherited)
	for s := syscall.Signal(1); s <= lastSignal; s++ {
		if signal.Ignored(s) && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// ownUmask reads the node's umask without changing it.
func ownUmask() int {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := bytes.Cut(status, []byte("\nUmask:\t"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	mask, err := strconv.ParseInt(string(line), 8, 32)
	if err != nil {
		return 0o022
	}
	return int(mask)
}

// sightWith is what a walled script sees that runs by these programs, and more
// that an operator granted.
func (j *Jail) sightWith(programs, more []string) (*sight, error) {
	key := strings.Join(programs, "\x00") + "\x00\x00" + strings.Join(more, "\x00")
	edits := j.cfg.Secrets.version()
	j.mu.Lock()
	defer j.mu.Unlock()
	if edits != j.edits {
		clear(j.sights)
		j.edits = edits
	}
	if known := j.sights[key]; known != nil {
		return known, nil
	}
	see, hidden := slices.Concat(j.cfg.See, more), j.cfg.hidden()
	for _, program := range programs {
		see = append(see, home(program, hidden, j.walls.uid)...)
	}
	s, err := newSight(see, j.cfg.Write, hidden, j.walls.uid)
	if err != nil {
		return nil, err
	}
	if j.sights == nil {
		j.sights = map[string]*sight{}
	}
	j.sights[key] = s
	return s, nil
}

func (j *Jail) forgetSights() {
	j.mu.Lock()
	defer j.mu.Unlock()
	clear(j.sights)
}

// probeWalls finds out which levels can be had, and what holds scripts in there.
func (j *Jail) probeWalls() {
	levels := []script.Level{script.Walled, script.Sealed}
	found := j.probeAll(levels)
	changed := false // how cgroups are used, since then
	for i, level := range levels {
		facts, err := found[i].facts, found[i].err
		if changed {
			facts, err = j.probe(level)
		}
		for ; err != nil && j.cgroups.holds(level); facts, err = j.probe(level) {
			changed = true
			if j.cgroups.cloned {
				j.cgroups.cloned = false // containers may forbid it, and old kernels cannot
			} else {
				j.cgroups.unwalled = true
			}
		}
		j.learn(level, facts, err)
	}
}

// learn writes down what the probe of a level behind walls found.
func (j *Jail) learn(level script.Level, facts map[string]bool, err error) {
	if err != nil {
		j.keep(level, state{why: domain.Unavailablef("scripts cannot be %s here: %v%s; to run them without walls, write `isolation: open` into the config file",
			level, err, j.remedy())})
		return
	}
	j.keep(level, state{measures: j.wallMeasures(level, facts)})
}

// probeRefused probes the levels again that could not be had. How cgroups are used stays
// as the first probe found it.
func (j *Jail) probeRefused() {
	for level := range j.refused() {
		facts, err := j.probe(level)
		j.learn(level, facts, err)
	}
}

// probeResult is what a probe found.
type probeResult struct {
	facts map[string]bool
	err   error
}

// probeAll probes levels at once: most of a probe is waiting for the kernel.
func (j *Jail) probeAll(levels []script.Level) []probeResult {
	found := make([]probeResult, len(levels))
	var all sync.WaitGroup
	for i, level := range levels {
		all.Go(func() { found[i].facts, found[i].err = j.probe(level) })
	}
	all.Wait()
	return found
}

// remedies are settings that keep ordinary users from making namespaces.
var remedies = []struct{ file, bad, text string }{
	{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
		"AppArmor keeps them from ordinary users: `sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or a profile for ramet with `userns,`"},
	{"/proc/sys/kernel/unprivileged_userns_clone", "0", "user namespaces are for root only: `sysctl kernel.unprivileged_userns_clone=1`"},
	{"/proc/sys/user/max_user_namespaces", "0", "there are no user namespaces: `sysctl user.max_user_namespaces=10000`"},
	{"/proc/sys/vm/memfd_noexec", "2", "programs in memory are forbidden: `sysctl vm.memfd_noexec=1`"},
}

// remedy says what may be changed on this machine.
func (j *Jail) remedy() string {
	for _, r := range remedies {
		text, err := os.ReadFile(r.file)
		if err == nil && strings.TrimSpace(string(text)) == r.bad {
			return " (" + r.text + ")"
		}
	}
	var caps unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if os.Geteuid() == 0 && unix.Capget(&header, &caps) == nil && caps.Effective&(1<<unix.CAP_SYS_ADMIN) == 0 {
		return " (this root has no CAP_SYS_ADMIN: run the container with it, or as an ordinary user)"
	}
	return ""
}
