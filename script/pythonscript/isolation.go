package pythonscript

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
)

// probeScript tells, in words of its own, how a job of the pool is held in.
const probeScript = `
import os, resource, sys
status = dict(line.split(":\t", 1) for line in open("/proc/self/status") if ":\t" in line)
words = {
    "process_group": os.getpgid(0) == os.getsid(0) == os.getpid(),
    "rlimits": resource.getrlimit(resource.RLIMIT_NOFILE) == (123, 123),
    "no_new_privileges": status.get("NoNewPrivs", "").strip() == "1",
    "seccomp": status.get("Seccomp", "").strip() == "2",
    "closed_stdin": sys.stdin.read() == "",
    "clean_environment": "RAMET_PROBE" in os.environ and len(os.environ) == 6,
    "private_folder": os.path.realpath(os.getcwd()) == os.path.realpath(os.environ["RAMET_PROBE"]),
    "namespaces": os.getpid() == 2 and open("/proc/1/comm").read() == "ramet-wall\n",
    "unprivileged": os.getuid() != 0 and not int(status.get("CapBnd", "1"), 16) and not int(status.get("CapPrm", "1"), 16),
    "processes": open("/proc/self/uid_map").read().split()[2] == "1",
    "network": len(open("/proc/net/route").readlines()) <= 1,
}
def create(path):
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        return True
    except OSError:
        return False
words["landlock"] = create("inside") and not create("../outside")
words["view"] = not os.path.exists("../beside") and not create("/usr/probe")
words["private_tmp"] = create("/tmp/probe") and create("/dev/shm/probe")
print(*(word for word, seen in words.items() if seen))
`

// isolation runs a small job, once, and reports what it saw.
//
// Errors: [domain.ErrUnavailable] when the pool does not work; then a later
// call tries again.
func (r *Runtime) isolation() ([]script.Measure, error) {
	r.mu.Lock()
	known := r.measures
	r.mu.Unlock()
	if known != nil {
		return known, nil
	}
	cell, err := r.jail.Get()
	if err != nil {
		return nil, domain.Unavailablef("runtime \"python\": %v", err)
	}
	if err := cell.Check(r.cfg.Level); err != nil {
		return nil, domain.Unavailablef("runtime \"python\": %v", err)
	}
	level, err := cell.Level(r.cfg.Level, "")
	if err != nil {
		return nil, domain.Unavailablef("runtime \"python\": %v", err)
	}
	words, err := r.probe()
	if err != nil {
		return nil, domain.Unavailablef("runtime \"python\": the pool does not work: %v", err)
	}
	// To move a job into a cgroup takes longer than to fork it: none is promised here.
	measures := slices.DeleteFunc(slices.Clone(cell.Measures(level)), func(m script.Measure) bool {
		return m.Name == "cgroup" || m.Name == script.JobMemory || m.Name == "job_processes"
	})
	for i := range measures {
		m := &measures[i]
		was := m.InForce
		m.InForce = slices.Contains(words, m.Name)
		switch {
		case m.Name == "landlock" && level != script.Open: // it holds abstract sockets only
			m.InForce = was
		case was && !m.InForce:
			m.Detail = "not in force in the pool: " + m.Detail
		}
	}
	r.mu.Lock()
	r.measures = measures
	r.mu.Unlock()
	return measures, nil
}

// probe runs probeScript.
func (r *Runtime) probe() ([]string, error) {
	folder, err := script.NewTempFolder("", script.ProbePrefix)
	if err != nil {
		return nil, err
	}
	defer folder.Remove()
	parent := folder.Path
	dir := filepath.Join(parent, "work")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(parent, "beside"), nil, 0o600); err != nil {
		return nil, err
	}
	task := script.Task{Name: "probe", Script: probeScript, Dir: dir, ResultFile: filepath.Join(dir, "result"),
		Env: map[string]string{"RAMET_PROBE": dir}, Limits: script.Limits{Files: 123}}
	outcome, err := r.Run(context.Background(), task, silent{})
	if err != nil {
		return nil, err
	}
	if outcome.Verdict != script.Succeeded {
		return nil, fmt.Errorf("%s: %s", outcome.Error, strings.TrimSpace(outcome.Result[script.KeyStderr]))
	}
	return strings.Fields(outcome.Result[script.KeyStdout]), nil
}

// silent is a host for the probe.
type silent struct{}

func (silent) Log(string, []byte) {}
