package jail

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"sync"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
)

// nobody is the user of that name, and its group, on most systems.
const nobody = 65534

// machine is what Linux has to hold processes in.
type machine struct {
	reaper  *reaper
	fence   *fence   // Landlock; nil where the kernel has none
	filter  *filter  // seccomp; nil where the kernel has none
	marks   *filter  // for those that mark their children themselves
	cgroups *cgroups // nil where they cannot be used

	traces bool     // tracing may hold new processes back
	null   *os.File // their stdin

	walls   *walls
	falling sync.WaitGroup // walls with nothing in them, which the kernel takes down

	mu     sync.Mutex // guards what follows
	sights map[string]*sight
	edits  int      // of the secrets for which those are
	works  []string // see Works
}

// shell is what watches over processes, holds them back where tracing is forbidden,
// and finds out how they are held in. Images of containers may have none.
var shell = "/bin/sh"

// Open finds out what can be had on this machine, by really starting a small
// process, and returns a jail that uses it. Where there is no shell no level can be
// had: a node serves then what runs inside it.
//
// Errors: [domain.ErrUnavailable] where no process can be started at all.
func Open(cfg Config) (*Jail, error) {
	cfg.Level = cmp.Or(cfg.Level, script.Walled)
	cfg.User, cfg.Group = cmp.Or(cfg.User, nobody), cmp.Or(cfg.Group, nobody)
	if _, err := os.Stat(shell); errors.Is(err, fs.ErrNotExist) {
		none := domain.Unavailablef("scripts that are processes need %s, which is not here: only types that run inside the node are served, such as rhai", shell)
		jail := &Jail{cfg: cfg, none: none, levels: map[script.Level]state{}}
		for _, level := range script.Levels {
			jail.levels[level] = state{why: none}
		}
		return jail, nil
	}
	reaper, err := openReaper()
	if err != nil {
		return nil, err
	}
	jail := &Jail{cfg: cfg, machine: machine{reaper: reaper, traces: true}}
	if jail.null, err = os.Open(os.DevNull); err != nil {
		reaper.close()
		return nil, domain.Unavailablef("%v", err)
	}
	var fenceErr, filterErr, cgroupErr error
	jail.fence, fenceErr = newFence(cfg)
	if fenceErr != nil && !errors.Is(fenceErr, errNoLandlock) {
		jail.Close() // never without a fence where there could be one
		return nil, fenceErr
	}
	if jail.filter, filterErr = newFilter(false); filterErr == nil {
		jail.marks, filterErr = newFilter(true)
	}
	if cfg.NoCgroup {
		cgroupErr = domain.Unavailablef("switched off by configuration")
	} else {
		jail.cgroups, cgroupErr = openCgroups()
	}
	jail.walls = newWalls(cfg, jail.fence, jail.filter)
	if err := jail.probeOpen(fenceErr, filterErr, cgroupErr); err != nil {
		jail.Close()
		return nil, domain.Unavailablef("start a process: %v", err)
	}
	jail.probeWalls()
	return jail, nil
}

// Close ends what the jail keeps. Its processes have ended before.
func (j *Jail) Close() error {
	if j.none != nil {
		return nil
	}
	j.closing.Do(func() {
		j.falling.Wait() // who is in a cgroup keeps it
		if j.cgroups != nil {
			j.cgroups.close()
		}
		if j.fence != nil {
			j.fence.close()
		}
		j.null.Close()
		j.reaper.close()
	})
	return nil
}
