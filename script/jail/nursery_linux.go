package jail

import (
	"bytes"
	"crypto/rand"
	"math/big"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/domain"
)

// Tag marks every process of one run: it is their hard RLIMIT_RTTIME.
type Tag uint64

// A tag is the node's prefix, seven digits, and eleven digits that count: a
// shell can tell the node by the decimal text of the limit. Enough for 579
// days at 2,000 runs a second, and below 2^63.
const tagsPerNode = 100_000_000_000

// poolCount is for processes that start others with tags of their own: tags can
// only be lowered, so it is the highest.
const poolCount = tagsPerNode - 1

// reapEvery is how often dead orphans of runs that go on are collected.
const reapEvery = time.Second

// nursery finds again what scripts have started. There is one per program,
// for being a subreaper is a matter of the whole process.
type nursery struct {
	prefix   uint64
	count    atomic.Uint64
	children int           // the kernel's list of the main thread's children, open
	stop     chan struct{} // closed by the last close
	stopped  sync.WaitGroup

	mu      sync.Mutex   // guards what follows
	watcher *watcher     // set by watch alone
	claimed map[int]bool // orphans that someone is waiting for
}

var shared struct {
	sync.Mutex
	nursery *nursery
	users   int
}

// openNursery makes this process the subreaper and starts the watcher, or
// joins the others who did.
func openNursery() (*nursery, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.nursery == nil {
		n, err := newNursery()
		if err != nil {
			return nil, err
		}
		shared.nursery = n
	}
	shared.users++
	return shared.nursery, nil
}

func newNursery() (*nursery, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, domain.Unavailablef("become child subreaper: %v", err)
	}
	// At level open a script is the node's user; the node's memory, environment and
	// descriptors are not for it.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, domain.Unavailablef("close this process to others: %v", err)
	}
	random, err := rand.Int(rand.Reader, big.NewInt(9_000_000))
	if err != nil {
		return nil, domain.Unavailablef("choose a tag: %v", err)
	}
	n := &nursery{
		prefix:   1_000_000 + random.Uint64(),
		children: openChildren(),
		stop:     make(chan struct{}),
		claimed:  map[int]bool{},
	}
	if n.watcher, err = startWatcher(n.prefix); err != nil {
		if n.children >= 0 {
			unix.Close(n.children)
		}
		return nil, err
	}
	n.stopped.Go(n.watch)
	n.stopped.Go(n.reap)
	return n, nil
}

// close leaves the nursery; the last to leave ends it. The process stays a
// subreaper: others may have come to count on it.
func (n *nursery) close() {
	shared.Lock()
	defer shared.Unlock()
	if shared.users--; shared.users > 0 {
		return
	}
	shared.nursery = nil
	close(n.stop)
	n.stopped.Wait()
	if n.children >= 0 {
		unix.Close(n.children)
	}
}

// next makes a tag for one run.
func (n *nursery) next() Tag {
	return Tag(n.prefix*tagsPerNode + n.count.Add(1)%poolCount)
}

// pool is the tag for a process that starts runs itself.
func (n *nursery) pool() Tag { return Tag(n.prefix*tagsPerNode + poolCount) }

func (n *nursery) owns(t Tag) bool { return uint64(t)/tagsPerNode == n.prefix }

// sweep kills what carries the tag among the node's children, and what comes
// to the node when those die, until nothing does.
func (n *nursery) sweep(tag Tag) {
	for {
		mine := n.claim(func(pid int) bool { return tagOf(pid) == tag })
		if len(mine) == 0 {
			return
		}
		for _, pid := range mine {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		for _, pid := range mine {
			n.bury(pid)
		}
	}
}

// alive tells whether a child of the node that carries the tag has not ended.
func (n *nursery) alive(tag Tag) bool {
	for _, pid := range n.orphans() {
		if tagOf(pid) == tag && !dead(pid) {
			return true
		}
	}
	return false
}

// reap collects, from time to time, orphans that ended by themselves: a run of
// hours may leave thousands, and they take up process ids.
func (n *nursery) reap() {
	tick := time.NewTicker(reapEvery)
	defer tick.Stop()
	for {
		select {
		case <-n.stop:
			return
		case <-tick.C:
		}
		for _, pid := range n.claim(func(pid int) bool { return n.owns(tagOf(pid)) && dead(pid) }) {
			n.bury(pid)
		}
	}
}

// claim lists those children of the main thread that fit and that nobody else
// is waiting for. Orphans come to the main thread, while processes started by
// a Jail belong to the threads that started them.
func (n *nursery) claim(fits func(pid int) bool) []int {
	n.mu.Lock()
	defer n.mu.Unlock()
	var mine []int
	for _, pid := range n.orphans() {
		if !n.claimed[pid] && fits(pid) {
			n.claimed[pid] = true
			mine = append(mine, pid)
		}
	}
	return mine
}

// bury waits for a claimed orphan to end, and lets go of it.
func (n *nursery) bury(pid int) {
	_, _ = wait(pid)
	n.disclaim(pid)
}

func (n *nursery) disclaim(pid int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.claimed, pid)
}

// wait collects a child of this process.
func wait(pid int) (status unix.WaitStatus, err error) {
	for {
		_, err = unix.Wait4(pid, &status, 0, nil)
		if err != unix.EINTR {
			return status, err
		}
	}
}

// dead tells whether a child has ended, without collecting it.
func dead(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo != 0
}

// tagOf reads a process's tag; 0 when there is no such process.
func tagOf(pid int) Tag {
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &limit); err != nil {
		return 0
	}
	return Tag(limit.Max)
}

// openChildren opens the kernel's list of the main thread's children; -1 where
// there is none (CONFIG_PROC_CHILDREN). It stays open: it is read at the end
// of every run.
func openChildren() int {
	self := strconv.Itoa(os.Getpid())
	fd, err := unix.Open("/proc/"+self+"/task/"+self+"/children", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
}

// orphans lists the children of the main thread.
func (n *nursery) orphans() []int {
	if n.children < 0 {
		return childrenByStat()
	}
	text := make([]byte, 0, 512)
	for {
		count, err := unix.Pread(n.children, text[len(text):cap(text)], int64(len(text)))
		if err != nil {
			return childrenByStat()
		}
		if count == 0 {
			return pids(bytes.Fields(text))
		}
		if text = text[:len(text)+count]; len(text) == cap(text) {
			text = slices.Grow(text, len(text))
		}
	}
}

// childrenByStat looks through all processes, for kernels that lack the list
// of children (CONFIG_PROC_CHILDREN).
func childrenByStat() (children []int) {
	entries, _ := os.ReadDir("/proc")
	self := []byte(strconv.Itoa(os.Getpid()))
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, _ := os.ReadFile("/proc/" + entry.Name() + "/stat")
		// "pid (any text) state ppid ...": the text may hold anything.
		if fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]); len(fields) > 1 && bytes.Equal(fields[1], self) {
			children = append(children, pid)
		}
	}
	return children
}

func pids(fields [][]byte) []int {
	list := make([]int, 0, len(fields))
	for _, field := range fields {
		if pid, err := strconv.Atoi(string(field)); err == nil {
			list = append(list, pid)
		}
	}
	return list
}
