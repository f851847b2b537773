package jail

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ramet-run/ramet/script"
)

// probeScript tells, in words of its own, how it is held in.
const probeScript = `
read -r pid name state ppid group session rest </proc/$$/stat
[ "$group" = "$$" ] && [ "$session" = "$$" ] && echo process_group
[ "$(ulimit -n)" = 123 ] && echo rlimits
while read -r key value rest; do
	case "$key $value" in
	"NoNewPrivs: 1") echo no_new_privileges ;;
	"Seccomp: 2") echo seccomp ;;
	esac
done </proc/$$/status
( : >../outside ) 2>/dev/null || { ( : >inside ) 2>/dev/null && echo landlock; }
read -r line || echo closed_stdin
[ "$RAMET_PROBE" ] && [ -z "$RAMET_PROBE_LEAK" ] && echo clean_environment
[ "$(cd .. && pwd)" != "$PWD" ] && echo private_folder
grep -q job- /proc/$$/cgroup && echo cgroup
exit 0
`

// probe starts a small process as a script is started, and returns the words
// it said.
func (j *Jail) probe() (map[string]bool, error) {
	parent, dir, err := tempDir()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(parent)
	output, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer output.Close()
	p, err := j.Start(Spec{
		Args: []string{"/bin/sh", "-c", probeScript}, Dir: dir,
		Env:    []string{"PATH=" + script.DefaultPath, "RAMET_PROBE=1", "PWD=" + dir},
		Limits: script.Limits{Files: 123}, Stdout: write, Stderr: write,
	})
	write.Close()
	if err != nil {
		return nil, err
	}
	said, _ := io.ReadAll(io.LimitReader(output, 64<<10))
	if exit, _ := p.Await(context.Background(), 0); exit.Code != 0 {
		return nil, fmt.Errorf("the probe ended with %d: %s", exit.Code, bytes.TrimSpace(said))
	}
	facts := map[string]bool{}
	for _, word := range strings.Fields(string(said)) {
		facts[word] = true
	}
	return facts, nil
}

// measures puts the probe's words into what people read.
func (j *Jail) measures(facts map[string]bool, fenceErr, filterErr, cgroupErr error) []script.Measure {
	limits := "processor time, address space, file size, open files, processes"
	if os.Getuid() == 0 {
		limits = "processor time, address space, file size, open files; a limit of processes has no effect on root"
	}
	list := []script.Measure{
		{Name: "process_group", Detail: "own process group and session; what leaves them is found by its tag and killed too"},
		{Name: "rlimits", Detail: limits},
		{Name: "private_folder", Detail: "work folder and TMPDIR of its own"},
		{Name: "clean_environment", Detail: "nothing of the node's environment but PATH"},
		{Name: "closed_stdin", Detail: "stdin is empty, no descriptors are inherited"},
		{Name: "no_new_privileges", Detail: "setuid programs give no rights" + j.rootDetail()},
		{Name: "landlock", Detail: j.fenceDetail(fenceErr)},
		{Name: "seccomp", Detail: detail(filterErr, "no ptrace, mounts, namespaces, keyrings, BPF, kernel modules, io_uring")},
		{Name: "cgroup", Detail: detail(cgroupErr, j.cgroupDetail())},
	}
	for i := range list {
		list[i].InForce = facts[list[i].Name]
		if !list[i].InForce && list[i].Detail != "" {
			list[i].Detail = "not in force: " + list[i].Detail
		}
	}
	return list
}

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
	text := fmt.Sprintf("ABI %d: everything is read-only but the work folder, common devices and the folders the configuration names (default /dev/shm)", j.fence.abi)
	if j.fence.handled&readRights != 0 {
		text += "; the folders to hide cannot be read"
	}
	if j.fence.scoped != 0 {
		text += "; no signals to processes outside the run"
	}
	return text
}

func (j *Jail) cgroupDetail() string {
	if j.cgroups == nil {
		return ""
	}
	text := "all processes of a run are killed at once"
	if j.cgroups.memory {
		text += "; memory of all of them together is limited"
	} else {
		text += "; the memory controller is not delegated here, so memory is limited per process only"
	}
	return text
}

func detail(err error, good string) string {
	if err != nil {
		return err.Error()
	}
	return good
}
