package jail

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/script"
)

// RLimit is one resource limit.
type RLimit struct {
	Resource   int
	Soft, Hard uint64
}

// RLimits translates limits and the tag into what the kernel takes, for a script
// at level open.
func RLimits(l script.Limits, tag Tag) []RLimit { return rlimits(l, tag, processLimit(l.Processes)) }

// rlimits is [RLimits] with a number of processes as the kernel counts them.
func rlimits(l script.Limits, tag Tag, processes int64) []RLimit {
	list := []RLimit{
		{unix.RLIMIT_RTTIME, uint64(tag), uint64(tag)},
		{unix.RLIMIT_CORE, 0, 0},
	}
	if l.CPU > 0 {
		// The kernel counts whole seconds. SIGXCPU at the soft limit, SIGKILL a
		// second later for those that ignore it.
		seconds := uint64(math.Ceil(l.CPU.Seconds()))
		list = append(list, RLimit{unix.RLIMIT_CPU, seconds, seconds + 1})
	}
	for _, limit := range []struct {
		resource int
		value    int64
	}{
		{unix.RLIMIT_AS, l.MemoryBytes},
		{unix.RLIMIT_FSIZE, l.FileBytes},
		{unix.RLIMIT_NOFILE, int64(l.Files)},
		{unix.RLIMIT_NPROC, processes},
	} {
		if limit.value > 0 {
			value := min(uint64(limit.value), hardest(limit.resource))
			list = append(list, RLimit{limit.resource, value, value})
		}
	}
	return list
}

// hardest is what the node itself may have at most: nobody below root may give
// more.
func hardest(resource int) uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(resource, &limit); err != nil {
		return math.MaxUint64
	}
	return limit.Max
}

// apply sets limits of a process that waits for them.
func apply(pid int, limits []RLimit) error {
	for _, l := range limits {
		if err := unix.Prlimit(pid, l.Resource, &unix.Rlimit{Cur: l.Soft, Max: l.Hard}, nil); err != nil {
			return os.NewSyscallError("prlimit "+strconv.Itoa(l.Resource), err)
		}
	}
	return nil
}

// Whom the kernel ends first when the machine has no more memory: anybody may put
// himself forward, and what he starts with him.
const (
	memoryKiller = "/proc/self/oom_score_adj"
	killFirst    = "1000"
)

// expendable puts a process that waits forward. Where that cannot be done it is
// as well held in as without.
func expendable(pid int) {
	path := strings.Replace(memoryKiller, "self", strconv.Itoa(pid), 1)
	if file, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
		_, _ = file.WriteString(killFirst)
		file.Close()
	}
}

// countEvery is how long a count of the user's processes is good for.
const countEvery = 10 * time.Second

var census struct {
	sync.Mutex
	taken time.Time
	tasks int64
}

// processLimit turns "so many more" into what the kernel counts: all threads
// of the user, those of the node and of an unrelated desktop included. Root is
// exempt from the limit, so there it is not worth counting.
func processLimit(more int) int64 {
	if more <= 0 || os.Getuid() == 0 {
		return 0
	}
	census.Lock()
	defer census.Unlock()
	if now := time.Now(); now.Sub(census.taken) > countEvery {
		census.taken, census.tasks = now, countTasks(uint32(os.Getuid()))
	}
	return census.tasks + int64(more)
}

// countTasks counts the threads of all processes of a user.
func countTasks(uid uint32) (count int64) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		if name := entry.Name(); name[0] < '1' || name[0] > '9' {
			continue
		}
		var stat unix.Stat_t
		if unix.Stat("/proc/"+entry.Name(), &stat) != nil || stat.Uid != uid {
			continue
		}
		status, _ := os.ReadFile("/proc/" + entry.Name() + "/status")
		if _, rest, found := bytes.Cut(status, []byte("\nThreads:\t")); found {
			line, _, _ := bytes.Cut(rest, []byte("\n"))
			threads, _ := strconv.ParseInt(string(line), 10, 64)
			count += threads
		}
	}
	return count
}
