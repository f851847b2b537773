package jail

import (
	"cmp"
	"slices"
	"sync"
	"time"

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
	// Secrets are hidden as those in Hide are, and may change. Default: none.
	Secrets *Secrets
	// Write lists folders that scripts may write to beside their work folder, and
	// at level open /dev/shm, where POSIX semaphores live. Default: none.
	Write []string
	// Level is what scripts get for which nobody chose one. Default: walled.
	Level script.Level
	// See lists files and folders that walled scripts may read besides the
	// system's. Write lists those that they may write to.
	See []string
	// User and Group are those with which scripts run that are walled by a node
	// of root's. Default: 65534, nobody's.
	User, Group int
	// NoCgroup leaves cgroups alone. Default: used where rights allow.
	NoCgroup bool
}

// state is what is known of a level.
type state struct {
	measures []script.Measure
	why      error // it cannot be had
}

// Jail starts processes. It is safe for concurrent use.
type Jail struct {
	cfg     Config
	closing sync.Once

	none error // why no process can be started here, whatever its level

	found  sync.RWMutex           // guards what follows
	levels map[script.Level]state // what the probe found
	probes time.Time              // when

	probing sync.Mutex // held while it is probed again

	machine // what this system has
}

// Level is the level of a script whose type has one and whose task asks for
// another: the tightest of both. "" as that of a type is the jail's own.
//
// Errors: [domain.ErrUnavailable] with what to do where that cannot be had.
func (j *Jail) Level(ofType, ofTask script.Level) (script.Level, error) {
	want := domain.Tightest(cmp.Or(ofType, j.cfg.Level), ofTask)
	return want, j.state(want).why
}

func (j *Jail) state(level script.Level) state {
	j.found.RLock()
	defer j.found.RUnlock()
	return j.levels[level]
}

// probeAgain is how old a probe must be to be made again by Check.
const probeAgain = 10 * time.Second

// Check is Level of a type, and finds out anew whether what could not be had can be: walls
// may fail on a machine that has no room for a moment.
//
// Errors: those of Level.
func (j *Jail) Check(ofType script.Level) error {
	want, err := j.Level(ofType, "")
	if err == nil || j.none != nil {
		return err
	}
	j.probing.Lock()
	defer j.probing.Unlock()
	j.found.RLock()
	old := time.Since(j.probes) > probeAgain
	j.found.RUnlock()
	if old {
		j.probeRefused()
	}
	return j.state(want).why
}

// keep writes down what a probe found of a level.
func (j *Jail) keep(level script.Level, s state) {
	j.found.Lock()
	defer j.found.Unlock()
	j.levels[level], j.probes = s, time.Now()
}

// Levels are all that can be had here.
func (j *Jail) Levels() []script.Level {
	return slices.DeleteFunc(slices.Clone(script.Levels), func(l script.Level) bool { return j.state(l).why != nil })
}

// Measures reports what holds processes in at a level, as the probe saw it.
func (j *Jail) Measures(level script.Level) []script.Measure { return j.state(level).measures }

// Describe says in info what holds scripts in whose type has that level; "" is
// the jail's own.
func (j *Jail) Describe(info *script.Info, ofType script.Level) {
	if level, err := j.Level(ofType, ""); err == nil {
		info.Level, info.Levels, info.Refused, info.Isolation = level, j.Levels(), j.refused(), j.Measures(level)
	}
}

// refused says why the others cannot be had.
func (j *Jail) refused() map[script.Level]string {
	why := map[script.Level]string{}
	j.found.RLock()
	defer j.found.RUnlock()
	for level, state := range j.levels {
		if state.why != nil {
			why[level] = state.why.Error()
		}
	}
	return why
}

// common are the measures of every level.
func (j *Jail) common() []script.Measure {
	return []script.Measure{
		{Name: "private_folder", Detail: "work folder and TMPDIR of its own"},
		{Name: "clean_environment", Detail: "nothing of the node's environment but PATH"},
		{Name: "closed_stdin", Detail: "stdin is empty, no descriptors are inherited"},
	}
}

// judge marks the measures that the probe saw.
func judge(list []script.Measure, facts map[string]bool) []script.Measure {
	for i := range list {
		list[i].InForce = facts[list[i].Name]
		if !list[i].InForce && list[i].Detail != "" {
			list[i].Detail = "not in force: " + list[i].Detail
		}
	}
	return list
}
