package pythonscript

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// oldest is the first version of Python that is good enough.
var oldest = [2]int{3, 8}

// versionTimeout bounds the question for an interpreter's version.
const versionTimeout = 10 * time.Second

// interpreter is a Python that was found.
type interpreter struct {
	// path is the program itself. What is in PATH may be a script that looks
	// for it (pyenv), and takes longer for that than Python to start.
	path    string
	version string
}

// question makes an interpreter tell its path and version. As -S it reads no
// site files, so even a broken installation answers.
const question = "import sys; print(sys.executable); print('.'.join(map(str, sys.version_info[:3])))"

// interpreter finds the configured interpreter, once.
//
// Errors: [domain.ErrUnavailable] with what to do about it; a later call tries
// again.
func (r *Runtime) interpreter(ctx context.Context) (interpreter, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.found.path != "" {
		return r.found, nil
	}
	found, err := find(ctx, r.cfg.Interpreter)
	if err == nil {
		r.found = found
	}
	return found, err
}

func find(ctx context.Context, name string) (found interpreter, err error) {
	const remedy = "set runtimes.python.interpreter in the config file"
	path, err := exec.LookPath(name)
	if err != nil && !errors.Is(err, exec.ErrDot) { // what a person put into the config file is meant
		return found, domain.Unavailablef("runtime \"python\": the command %q was not found in PATH; install it or %s", name, remedy)
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, path, "-I", "-S", "-c", question)
	command.WaitDelay = time.Second
	output, err := command.Output()
	if err != nil {
		return found, domain.Unavailablef("runtime \"python\": the command %q does not work: %v; repair it or %s", name, err, remedy)
	}
	real, version, _ := strings.Cut(strings.TrimSpace(string(output)), "\n")
	if found.path, err = filepath.Abs(cmp.Or(real, path)); err != nil {
		return found, domain.Unavailablef("runtime \"python\": %v", err)
	}
	found.version = version
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return found, domain.Unavailablef("runtime \"python\": %q is no Python: it says its version is %q; %s", name, version, remedy)
	}
	if major < oldest[0] || major == oldest[0] && minor < oldest[1] {
		return found, domain.Unavailablef("runtime \"python\": %q is Python %s; %d.%d or newer is needed: install it or %s", name, version, oldest[0],
			oldest[1], remedy)
	}
	return found, nil
}
