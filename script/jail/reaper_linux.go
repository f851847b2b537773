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

// reaper finds what scripts have started and left behind: orphans, which the
// kernel gives to this process as their subreaper, and which it kills and
// collects. There is one per program, for being a subreaper is a matter of the
// whole process.
type reaper struct {
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
	reaper *reaper
	users  int
}

// openReaper makes this process the subreaper and starts the watcher, or
// joins the others who did.
func openReaper() (*reaper, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.reaper == nil {
		r, err := newReaper()
		if err != nil {
			return nil, err
		}
		shared.reaper = r
	}
	shared.users++
	return shared.reaper, nil
}

func newReaper() (*reaper, error) {
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
	r := &reaper{
		prefix:   1_000_000 + random.Uint64(),
		children: openChildren(),
		stop:     make(chan struct{}),
		claimed:  map[int]bool{},
	}
	if r.watcher, err = startWatcher(r.prefix); err != nil {
		if r.children >= 0 {
			unix.Close(r.children)
		}
		return nil, err
	}
	r.stopped.Go(r.watch)
	r.stopped.Go(r.collect)
	return r, nil
}

// close leaves the reaper; the last to leave ends it. The process stays a
// subreaper: others may have come to count on it.
func (r *reaper) close() {
	shared.Lock()
	defer shared.Unlock()
	if shared.users--; shared.users > 0 {
		return
	}
	shared.reaper = nil
	close(r.stop)
	r.stopped.Wait()
	if r.children >= 0 {
		unix.Close(r.children)
	}
}

// next makes a tag for one run.
func (r *reaper) next() Tag {
	return Tag(r.prefix*tagsPerNode + r.count.Add(1)%poolCount)
}

// pool is the tag for a process that starts runs itself.
func (r *reaper) pool() Tag { return Tag(r.prefix*tagsPerNode + poolCount) }

func (r *reaper) owns(t Tag) bool { return uint64(t)/tagsPerNode == r.prefix }

// sweep kills what carries the tag among the node's children, and what comes
// to the node when those die, until nothing does.
func (r *reaper) sweep(tag Tag) {
	for {
		mine := r.claim(func(pid int) bool { return tagOf(pid) == tag })
		if len(mine) == 0 {
			return
		}
		for _, pid := range mine {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		for _, pid := range mine {
			r.reap(pid)
		}
	}
}

// alive tells whether a child of the node that carries the tag has not ended.
func (r *reaper) alive(tag Tag) bool {
	for _, pid := range r.orphans() {
		if tagOf(pid) == tag && !dead(pid) {
			return true
		}
	}
	return false
}

// collect reaps, from time to time, orphans that ended by themselves: a run of
// hours may leave thousands, and they take up process ids.
func (r *reaper) collect() {
	tick := time.NewTicker(reapEvery)
	defer tick.Stop()
	for {
		select {
		case <-r.stop:
			return
		case <-tick.C:
		}
		for _, pid := range r.claim(func(pid int) bool { return r.owns(tagOf(pid)) && dead(pid) }) {
			r.reap(pid)
		}
	}
}

// claim lists those children of the main thread that fit and that nobody else
// is waiting for. Orphans come to the main thread, while processes started by
// a Jail belong to the threads that started them.
func (r *reaper) claim(fits func(pid int) bool) []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	var mine []int
	for _, pid := range r.orphans() {
		if !r.claimed[pid] && fits(pid) {
			r.claimed[pid] = true
			mine = append(mine, pid)
		}
	}
	return mine
}

// reap waits for a claimed orphan to end, and lets go of it.
func (r *reaper) reap(pid int) {
	_, _ = wait(pid)
	r.disclaim(pid)
}

func (r *reaper) disclaim(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.claimed, pid)
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
func (r *reaper) orphans() []int {
	if r.children < 0 {
		return childrenByStat()
	}
	text := make([]byte, 0, 512)
	for {
		count, err := unix.Pread(r.children, text[len(text):cap(text)], int64(len(text)))
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
