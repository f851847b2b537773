package jail

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
)

// Config says what every process of a jail may do.
type Config struct {
	// Hide lists folders that scripts may not read, the node's data folder for
	// one. Landlock can only allow, so everything beside them is allowed, as
	// it is found at a start: what is made or mounted there later can be read
	// by the scripts that start after it, not by those that run. The root
	// folder and the parents of hidden ones cannot be listed.
	// Default: nothing is hidden.
	Hide []string
	// Write lists folders that scripts may write to beside their work folder.
	// Default: /dev/shm, where POSIX semaphores live.
	Write []string
	// NoCgroup leaves cgroups alone. Default: used where rights allow.
	NoCgroup bool
}

// Jail starts processes. It is safe for concurrent use.
type Jail struct {
	nursery *nursery
	fence   *fence   // Landlock; nil where the kernel has none
	filter  *filter  // seccomp; nil where the kernel has none
	cgroups *cgroups // nil where they cannot be used

	traces bool     // tracing may hold new processes back
	null   *os.File // their stdin

	facts   []script.Measure
	closing sync.Once
}

// Open finds out what can be had on this machine, by really starting a small
// process, and returns a jail that uses it.
//
// Errors: [domain.ErrUnavailable] where no process can be started at all.
func Open(cfg Config) (*Jail, error) {
	if cfg.Write == nil {
		cfg.Write = []string{"/dev/shm"}
	}
	nursery, err := openNursery()
	if err != nil {
		return nil, err
	}
	jail := &Jail{nursery: nursery, traces: true}
	if jail.null, err = os.Open(os.DevNull); err != nil {
		nursery.close()
		return nil, domain.Unavailablef("%v", err)
	}
	var fenceErr, filterErr, cgroupErr error
	jail.fence, fenceErr = newFence(cfg.Hide, cfg.Write)
	jail.filter, filterErr = newFilter()
	if cfg.NoCgroup {
		cgroupErr = domain.Unavailablef("switched off by configuration")
	} else {
		jail.cgroups, cgroupErr = openCgroups()
	}
	facts, err := jail.probe()
	if err != nil { // containers may forbid tracing
		jail.traces = false
		facts, err = jail.probe()
	}
	if err != nil && jail.cgroups != nil { // and moving into cgroups
		jail.cgroups.close()
		jail.cgroups, cgroupErr = nil, err
		facts, err = jail.probe()
	}
	if err != nil {
		jail.Close()
		return nil, domain.Unavailablef("start a process: %v", err)
	}
	jail.facts = jail.measures(facts, fenceErr, filterErr, cgroupErr)
	return jail, nil
}

// Measures reports what holds processes in, as the probe saw it.
func (j *Jail) Measures() []script.Measure { return j.facts }

// Close ends what the jail keeps. Its processes have ended before.
func (j *Jail) Close() error {
	j.closing.Do(func() {
		if j.cgroups != nil {
			j.cgroups.close()
		}
		if j.fence != nil {
			j.fence.close()
		}
		j.null.Close()
		j.nursery.close()
	})
	return nil
}

// tempDir makes a folder with a work folder in it, for the probe.
func tempDir() (parent, dir string, err error) {
	parent, err = os.MkdirTemp("", "ramet-probe-")
	if err != nil {
		return "", "", err
	}
	dir = filepath.Join(parent, "work")
	return parent, dir, os.Mkdir(dir, 0o700)
}
