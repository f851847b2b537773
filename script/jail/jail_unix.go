//go:build unix && !linux

package jail

import (
	"cmp"
	"os"
	"runtime"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
)

// This file and its siblings are for systems that are not Linux: there scripts can
// be limited, but not walled.

// machine is what such a system has.
type machine struct {
	null *os.File // the stdin of all processes
}

// Open finds out what can be had on this machine, by really starting a small
// process, and returns a jail that uses it.
//
// Errors: [domain.ErrUnavailable] where no process can be started at all.
func Open(cfg Config) (*Jail, error) {
	cfg.Level = cmp.Or(cfg.Level, script.Walled)
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, domain.Unavailablef("%v", err)
	}
	j := &Jail{cfg: cfg, machine: machine{null: null}, levels: map[script.Level]state{script.Open: {}}}
	for _, level := range []script.Level{script.Walled, script.Sealed} {
		j.levels[level] = state{why: domain.Unavailablef("scripts cannot be %s on %s, which has no namespaces: that takes Linux; to run them without "+
			"walls, write `isolation: open` into the config file",
			level, runtime.GOOS)}
	}
	facts, err := j.probe()
	if err != nil {
		null.Close()
		return nil, domain.Unavailablef("start a process: %v", err)
	}
	j.levels[script.Open] = state{measures: judge(append(j.common(),
		script.Measure{Name: "process_group", Detail: "own process group and session; what leaves them is not found again"},
		script.Measure{Name: "rlimits", Detail: "processor time, file size, open files, and address space where the system has it; processes are not limited"},
	), facts)}
	return j, nil
}

// probeRefused has nothing to find out: what cannot be had here never can.
func (j *Jail) probeRefused() {}

// Forks tells whether a pool can have walled children: not here.
func (j *Jail) Forks(string) bool { return false }

// Close ends what the jail keeps. Its processes have ended before.
func (j *Jail) Close() error {
	j.closing.Do(func() { j.null.Close() })
	return nil
}

// probeScript tells, in words of its own, how it is held in.
const probeScript = `
[ "$(ps -o pgid= -p $$ | tr -d ' ')" = "$$" ] && echo process_group
[ "$(ulimit -n)" = 123 ] && echo rlimits
read -r line || echo closed_stdin
[ "$RAMET_PROBE" ] && [ -z "$RAMET_PROBE_LEAK" ] && echo clean_environment
[ "$(cd .. && pwd)" != "$PWD" ] && echo private_folder
exit 0
`

// probe starts a small process as a script is started, and returns the words
// it said.
func (j *Jail) probe() (map[string]bool, error) {
	parent, dir, err := tempDir()
	if err != nil {
		return nil, err
	}
	defer parent.Remove()
	output, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer output.Close()
	p, err := j.Start(probeSpec(parent.Path, dir, write, script.Open, script.Limits{}))
	write.Close()
	if err != nil {
		return nil, err
	}
	return probed(p, output)
}

// pipe is os.Pipe with a write end that blocks, as a script expects.
func pipe() (read, write *os.File, err error) {
	if read, write, err = os.Pipe(); err == nil {
		write.Fd() // which lets it block
	}
	return read, write, err
}

// lingerRead is how long to read on what a daemon may hold open.
const lingerRead = time.Second

// bound ends the reading: what left the process's group may hold the other ends.
func bound(ends [2]*os.File) {
	for _, end := range ends {
		_ = end.SetReadDeadline(time.Now().Add(lingerRead))
	}
}
