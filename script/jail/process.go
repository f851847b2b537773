package jail

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ramet-run/ramet/script"
)

// Spec is a process to start.
type Spec struct {
	// Args are the program, as a path, and its arguments.
	Args []string
	// Env is its whole environment, KEY=value.
	Env []string
	// Dir is its work folder, and what it may write to.
	Dir string
	// Room is of a walled run that a parent forks: the folder that it finds at Dir,
	// where that is another. Both lie below the same one of [Jail.Works].
	Room string
	// Limits bound it.
	Limits script.Limits
	// Stdout and Stderr are its outputs; both are needed.
	Stdout, Stderr *os.File
	// Extra are further descriptors, from 3 on.
	Extra []*os.File
	// Stop is asked right before the process begins what it is for, when all else
	// is ready: its error ends the start. To make ready takes time, in which a node
	// may be stopped for longer than it holds a lease. Default: it begins.
	Stop func() error
	// Level is how much of the machine it sees. Default: the jail's own.
	Level script.Level
	// Programs are those by which it runs, as an operator chose them. A walled
	// process sees what they were installed with.
	Programs []string
	// See lists files and folders that a walled process sees besides.
	See []string
	// Parent is set for a process that starts those of several runs itself, as
	// a pool does: it gets no fence of files and no cgroup, which it could
	// not undo for its children, and a tag that they can lower. At level walled
	// it keeps the rights that its children need for walls of their own. Its Level
	// is open or walled. Default: open.
	Parent bool

	probe bool // it finds out whether its level can be had
}

func (s *Spec) stop() error {
	if s.Stop == nil {
		return nil
	}
	return s.Stop()
}

// SearchPath lists the folders of a PATH that an operator gives all scripts of a
// type: they are to be seen.
func SearchPath(env map[string]string) []string {
	return slices.DeleteFunc(filepath.SplitList(env["PATH"]), func(folder string) bool { return !filepath.IsAbs(folder) })
}

// Await waits for the process to end. When ctx ends first, the process's group
// is told to stop, and killed with all it started when grace is over. stopped
// is why ctx ended, or nil for a process that ended by itself.
func (p *Process) Await(ctx context.Context, grace time.Duration) (exit script.Exit, stopped error) {
	select {
	case <-p.done:
		return p.exit, nil
	case <-ctx.Done():
	}
	if !p.terminate() {
		<-p.done // it has ended, and what it left is being removed
		return p.exit, nil
	}
	if full := (*script.FullError)(nil); errors.As(context.Cause(ctx), &full) {
		grace = time.Millisecond // it would go on to write
	}
	timer := time.NewTimer(cmp.Or(grace, script.DefaultGrace))
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		close(p.hard)
		p.Kill()
		<-p.done
	}
	return p.exit, context.Cause(ctx)
}

// Done is closed when neither the process nor anything it started is left.
func (p *Process) Done() <-chan struct{} { return p.done }
