package jail

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
)

// probeScript tells, in words of its own, how it is held in.
const probeScript = `
read -r go <&3
read -r pid name state ppid group session rest </proc/$$/stat
[ "$group" = "$$" ] && [ "$session" = "$$" ] && echo process_group
[ "$(ulimit -n)" = 123 ] && echo rlimits
while read -r key value rest; do
	case "$key $value" in
	"NoNewPrivs: 1") echo no_new_privileges ;;
	"Seccomp: 2") echo seccomp ;;
	"CapBnd: 0000000000000000") powers=none ;;
	"Uid: 0") root=yes ;;
	esac
done </proc/$$/status
[ "$powers" ] && [ -z "$root" ] && echo unprivileged
( : >../outside ) 2>/dev/null || { ( : >inside ) 2>/dev/null && echo fenced; }
read -r line || echo closed_stdin
[ "$RAMET_PROBE" ] && [ -z "$RAMET_PROBE_LEAK" ] && echo clean_environment
[ "$(cd .. && pwd)" != "$PWD" ] && echo private_folder
[ $$ = 2 ] && [ "$(cat /proc/1/comm)" = ramet-wall ] && echo namespaces
[ -e ../beside ] || { [ -d /usr ] && ! ( : >/usr/probe ) 2>/dev/null && echo view; }
( : >"/tmp/$RAMET_PROBE.tmp" && : >"/dev/shm/$RAMET_PROBE.tmp" ) 2>/dev/null && echo private_tmp
read -r inner outer count </proc/self/uid_map && [ "$count" = 1 ] && echo processes
[ "$(wc -l </proc/net/route)" -le 1 ] && echo network
exit 0
`

// probe starts a small process as a script is started, and returns the words
// it said.
func (j *Jail) probe(level script.Level) (map[string]bool, error) {
	folder, dir, err := tempDir()
	if err != nil {
		return nil, err
	}
	defer folder.Remove()
	parent := folder.Path
	if err := os.WriteFile(filepath.Join(parent, "beside"), nil, 0o600); err != nil {
		return nil, err
	}
	output, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer output.Close()
	gate, open, err := os.Pipe() // which holds it until it was looked at from outside
	if err != nil {
		write.Close()
		return nil, err
	}
	// As many as no other program of the user starts meanwhile: where the kernel
	// counts what belongs to a user, those are counted, too.
	spec := probeSpec(parent, dir, write, level, script.Limits{Processes: 10_000})
	spec.Extra = []*os.File{gate}
	p, err := j.Start(spec)
	write.Close()
	gate.Close()
	grouped := err == nil && p.group != nil && p.group.has(p.Pid)
	open.Close()
	if err != nil {
		return nil, err
	}
	facts, err := probed(p, output)
	if err != nil {
		return nil, err
	}
	if grouped {
		facts["cgroup"], facts[script.JobMemory], facts["job_processes"] = true, j.cgroups.memory, j.cgroups.pids
	}
	for _, shared := range []string{"/tmp/", "/dev/shm/"} { // what is still there was not private
		if os.Remove(shared+filepath.Base(parent)+".tmp") == nil {
			delete(facts, "private_tmp")
		}
	}
	return facts, nil
}

// probeOpen finds out what holds a script in at level open.
func (j *Jail) probeOpen(fenceErr, filterErr, cgroupErr error) error {
	j.levels = map[script.Level]state{}
	facts, err := j.probe(script.Open)
	if err != nil { // containers may forbid tracing
		j.traces = false
		facts, err = j.probe(script.Open)
	}
	if err != nil && j.cgroups != nil { // and moving into cgroups
		j.cgroups.close()
		j.cgroups, cgroupErr = nil, err
		facts, err = j.probe(script.Open)
	}
	if err != nil {
		return err
	}
	j.levels[script.Open] = state{measures: j.measures(facts, fenceErr, filterErr, cgroupErr)}
	return nil
}

// measures puts the probe's words into what people read of level open.
func (j *Jail) measures(facts map[string]bool, fenceErr, filterErr, cgroupErr error) []script.Measure {
	limits := eachProcess + ", processes"
	if os.Getuid() == 0 {
		limits = eachProcess + "; a limit of processes has no effect on root"
	}
	list := append(j.common(),
		script.Measure{Name: "process_group", Detail: "own process group and session; what leaves them is found by its tag and killed too"},
		script.Measure{Name: "rlimits", Detail: limits},
		script.Measure{Name: "no_new_privileges", Detail: "setuid programs give no rights" + j.rootDetail()},
		script.Measure{Name: "landlock", Detail: j.fenceDetail(fenceErr)},
		script.Measure{Name: "seccomp", Detail: detail(filterErr, filterDetail)})
	if cgroupErr == nil { // where it cannot be had, nothing is promised
		list = append(list, script.Measure{Name: "cgroup", Detail: "all processes of a job are killed at once"})
	}
	facts["landlock"] = facts["fenced"]
	return judge(append(list, j.jobMeasures(script.Open)...), facts)
}

// jobMeasures are those that hold a job as a whole, as far as the machine gives
// the node what that takes.
func (j *Jail) jobMeasures(level script.Level) (list []script.Measure) {
	if !j.cgroups.holds(level) {
		return nil
	}
	if j.cgroups.memory {
		list = append(list, script.Measure{Name: script.JobMemory,
			Detail: "memory of all processes of a job together, with what it has in /tmp and /dev/shm behind walls"})
	}
	if j.cgroups.pids {
		list = append(list, script.Measure{Name: "job_processes", Detail: "number of processes of a job, whoever they run as"})
	}
	return list
}

// wallMeasures is measures of the other levels.
func (j *Jail) wallMeasures(level script.Level, facts map[string]bool) []script.Measure {
	scoped, filterErr := error(nil), error(nil)
	if j.fence == nil || j.fence.scoped == 0 {
		scoped = domain.Unavailablef("this kernel cannot keep scripts from abstract sockets: Landlock ABI 6 (Linux 6.12) is needed")
	}
	if j.filter == nil {
		filterErr = domain.Unavailablef("no filter for this processor")
	}
	list := append(j.common(),
		script.Measure{Name: "namespaces", Detail: "processes, mounts, IPC and host name of its own; all that it started ends with it"},
		script.Measure{Name: "view", Detail: "system folders read-only and its work folder; nothing else exists"},
		script.Measure{Name: "private_tmp", Detail: fmt.Sprintf("/tmp of %d MiB and /dev/shm of %d MiB, gone at its end", tmpBytes>>20, shmBytes>>20)},
		script.Measure{Name: "unprivileged", Detail: fmt.Sprintf("user %d, no capabilities", j.walls.uid)},
		script.Measure{Name: "process_group", Detail: "own process group and session"},
		script.Measure{Name: "rlimits", Detail: eachProcess},
		script.Measure{Name: "processes", Detail: "counted for each job apart"},
		script.Measure{Name: "no_new_privileges", Detail: "setuid programs give no rights"},
		script.Measure{Name: "landlock", Detail: detail(scoped, "no abstract sockets of other processes")},
		script.Measure{Name: "seccomp", Detail: detail(filterErr, filterDetail)})
	if level == script.Sealed {
		list = append(list, script.Measure{Name: "network", Detail: "loopback only"})
	}
	list = append(list, j.jobMeasures(level)...)
	facts["landlock"] = scoped == nil
	return judge(list, facts)
}

const eachProcess = "of each process: processor time, address space, file size, open files"

const filterDetail = "no ptrace, mounts, namespaces, keyrings, BPF, kernel modules, io_uring"

func (j *Jail) rootDetail() string {
	if os.Getuid() != 0 {
		return ""
	}
	return "; of root's capabilities only those about files, identity and low ports are left"
}

func (j *Jail) fenceDetail(err error) string {
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("ABI %d: everything is read-only but the work folder, common devices and the folders the configuration names "+
		"(default /dev/shm)", j.fence.abi)
	if j.fence.handled&readRights != 0 {
		text += "; the folders to hide cannot be read"
	}
	if v, err := j.fence.current(); err == nil {
		for _, dir := range v.closed {
			text += fmt.Sprintf("; %s has more than %d entries, so that what lies beside the hidden one cannot be read", dir, maxNeighbours)
		}
		j.fence.release(v)
	}
	if j.fence.scoped != 0 {
		text += "; no signals to processes outside the run"
	}
	return text
}

func detail(err error, good string) string {
	if err != nil {
		return err.Error()
	}
	return good
}
