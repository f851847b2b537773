package jail

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
)

// cgroups hands out cgroups (version 2) to runs. They are used again: making
// and removing one costs more than starting a process.
type cgroups struct {
	root     string
	cloned   bool // processes can be started in them; else they enter them
	unwalled bool // walls can do neither
	memory   bool // the memory controller is ours to use
	pids     bool
	mu       sync.Mutex // guards what follows
	made     int
	free     []*cgroup
	everMade []*cgroup
}

// cgroup is one of them.
type cgroup struct {
	path   string
	folder *os.File      // itself
	procs  *os.File      // cgroup.procs
	killer *os.File      // cgroup.kill
	limits script.Limits // as written last
}

// openCgroups makes a folder for our groups beneath the node's own.
//
// Errors: [domain.ErrUnavailable] where there is no cgroup v2, or no right to it.
func openCgroups() (*cgroups, error) {
	own, err := ownCgroup()
	if err != nil {
		return nil, err
	}
	if own, err = settle(own); err != nil {
		return nil, err
	}
	removeLeft(own)
	c := &cgroups{cloned: true, root: filepath.Join(own, "ramet-"+strconv.Itoa(os.Getpid())+"-"+strconv.FormatUint(openings.next(), 10))}
	if err := os.Mkdir(c.root, 0o755); err != nil {
		return nil, domain.Unavailablef("no right to make cgroups here: %v", err)
	}
	if _, err := os.Stat(filepath.Join(c.root, "cgroup.kill")); err != nil {
		_ = os.Remove(c.root)
		return nil, domain.Unavailablef("this kernel's cgroups have no cgroup.kill; it came with Linux 5.14")
	}
	// A controller is there if whoever runs the node delegated it.
	c.memory, c.pids = control(c.root, "memory"), control(c.root, "pids")
	return c, nil
}

// nodeGroup is the cgroup that the node itself moves into where its own was
// delegated to it.
const nodeGroup = "ramet-node"

// settle makes controllers of the node's own cgroup those of groups beneath it,
// and gives the folder for these. A group with processes of its own cannot hand
// controllers on, so the node moves into one beneath: where it is alone in its
// own, and that was given to it to do so with.
func settle(own string) (base string, err error) {
	if filepath.Base(own) == nodeGroup {
		return filepath.Dir(own), nil
	}
	members, alone := members(own)
	if !alone || !delegated(own) {
		return own, nil
	}
	group := filepath.Join(own, nodeGroup)
	if err := os.Mkdir(group, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return "", domain.Unavailablef("no right to make cgroups here: %v", err)
	}
	move := func(to string) (err error) {
		for _, pid := range members {
			err = errors.Join(err, os.WriteFile(filepath.Join(to, "cgroup.procs"), []byte(pid), 0))
		}
		return err
	}
	err = move(group)
	memory, pids := control(own, "memory"), control(own, "pids")
	if err != nil || !memory && !pids { // nothing is gained
		_ = move(own)
		_ = os.Remove(group)
	}
	return own, nil
}

// control hands a controller on to the groups beneath one.
func control(group, controller string) bool {
	return os.WriteFile(filepath.Join(group, "cgroup.subtree_control"), []byte("+"+controller), 0) == nil
}

// members are the processes in a cgroup, and whether they are this one and its
// children alone.
func members(group string) (pids []string, alone bool) {
	text, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
	pids = strings.Fields(string(text))
	self := strconv.Itoa(os.Getpid())
	return pids, err == nil && !slices.ContainsFunc(pids, func(pid string) bool { return pid != self && parentOf(pid) != self })
}

// parentOf reads which process started another.
func parentOf(pid string) string {
	stat, _ := os.ReadFile("/proc/" + pid + "/stat")
	_, rest, _ := strings.Cut(string(stat), ") ")
	if fields := strings.Fields(rest); len(fields) > 1 {
		return fields[1]
	}
	return ""
}

// delegated tells whether a cgroup is the node's to divide. An ordinary user has
// the right only then; root has it everywhere, but what systemd manages is
// systemd's unless it says otherwise.
func delegated(group string) bool {
	if _, err := os.Stat("/run/systemd/system"); os.Geteuid() != 0 || err != nil {
		return true
	}
	var value [8]byte
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		if n, err := unix.Getxattr(group, name, value[:]); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

// holds tells whether groups are of use to a level: the kernel ends what is behind
// walls anyway.
func (c *cgroups) holds(level script.Level) bool {
	return c != nil && (level == script.Open || !c.unwalled && (c.memory || c.pids))
}

// openings tells several jails of one program apart.
var openings counter

type counter struct {
	mu sync.Mutex
	n  uint64
}

func (c *counter) next() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.n
}

// ownCgroup is the folder of the node's own cgroup.
func ownCgroup() (string, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", domain.Unavailablef("find cgroups: %v", err)
	}
	mount := ""
	for line := range strings.Lines(string(mounts)) {
		before, after, _ := strings.Cut(line, " - ")
		if fields := strings.Fields(before); strings.HasPrefix(after, "cgroup2 ") && len(fields) > 4 {
			mount = fields[4]
		}
	}
	if mount == "" {
		return "", domain.Unavailablef("cgroup version 2 is not mounted")
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", domain.Unavailablef("find cgroups: %v", err)
	}
	for line := range bytes.Lines(groups) {
		if path, found := bytes.CutPrefix(bytes.TrimSpace(line), []byte("0::")); found {
			return filepath.Join(mount, string(path)), nil
		}
	}
	return "", domain.Unavailablef("this process is in no cgroup of version 2")
}

// removeLeft removes what nodes that were killed left behind. Groups in use
// cannot be removed, so there is nothing to get wrong.
func removeLeft(own string) {
	left, _ := filepath.Glob(filepath.Join(own, "ramet-*"))
	for _, root := range left {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(root), "ramet-"), "-")
		if number, err := strconv.Atoi(pid); err != nil || unix.Kill(number, 0) != unix.ESRCH {
			continue
		}
		jobs, _ := filepath.Glob(filepath.Join(root, "job-*"))
		for _, job := range jobs {
			_ = os.Remove(job)
		}
		_ = os.Remove(root)
	}
}

// take gives a cgroup with these limits, where they can be had.
func (c *cgroups) take(limits script.Limits) (*cgroup, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var group *cgroup
	if n := len(c.free); n > 0 {
		group, c.free = c.free[n-1], c.free[:n-1]
	} else {
		var err error
		if group, err = c.make(); err != nil {
			return nil, domain.Unavailablef("make cgroup: %v", err)
		}
	}
	if c.memory && group.limits.MemoryBytes != limits.MemoryBytes {
		group.write("memory.max", limits.MemoryBytes)
		_ = os.WriteFile(filepath.Join(group.path, "memory.swap.max"), []byte("0"), 0) // or it would hold in swap what it may not in memory
	}
	if c.pids && group.limits.Processes != limits.Processes {
		group.write("pids.max", int64(limits.Processes))
	}
	group.limits = limits
	return group, nil
}

func (c *cgroups) make() (*cgroup, error) {
	c.made++
	path := filepath.Join(c.root, "job-"+strconv.Itoa(c.made))
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, err
	}
	// The file is opened here, by the node: the thread that adds a process
	// may no longer write anywhere but in the work folder.
	procs, err := os.OpenFile(filepath.Join(path, "cgroup.procs"), os.O_WRONLY, 0)
	if err != nil {
		_ = os.Remove(path)
		return nil, err
	}
	kill, err := os.OpenFile(filepath.Join(path, "cgroup.kill"), os.O_WRONLY, 0)
	if err != nil {
		procs.Close()
		_ = os.Remove(path)
		return nil, err
	}
	folder, err := os.Open(path)
	if err != nil {
		procs.Close()
		kill.Close()
		_ = os.Remove(path)
		return nil, err
	}
	group := &cgroup{path: path, folder: folder, procs: procs, killer: kill}
	c.everMade = append(c.everMade, group)
	return group, nil
}

// give takes an empty cgroup back.
func (c *cgroups) give(group *cgroup) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, group)
}

func (c *cgroups) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, group := range c.everMade {
		group.kill()
		group.folder.Close()
		group.procs.Close()
		group.killer.Close()
		_ = os.Remove(group.path)
	}
	_ = os.Remove(c.root)
}

// kill ends every process in the group at once.
func (g *cgroup) kill() {
	_, _ = g.killer.WriteAt([]byte("1"), 0)
}

// add moves a process into the group.
func (g *cgroup) add(pid int) error {
	_, err := g.procs.WriteAt([]byte(strconv.Itoa(pid)), 0)
	return err
}

// has tells whether a process is in the group.
func (g *cgroup) has(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	return err == nil && bytes.Contains(text, []byte("/"+filepath.Base(filepath.Dir(g.path))+"/"+filepath.Base(g.path)+"\n"))
}

func (g *cgroup) write(file string, limit int64) {
	text := "max"
	if limit > 0 {
		text = strconv.FormatInt(limit, 10)
	}
	_ = os.WriteFile(filepath.Join(g.path, file), []byte(text), 0)
}
