package pythonscript

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
)

// command is the one that is used where no other is configured.
const command = "python3"

// oldest is the first version of Python that is good enough.
var oldest = [2]int{3, 8}

// Interpreter is a Python that was found.
type Interpreter struct {
	// path is the program itself. What is in PATH may be a script that looks
	// for it (pyenv), and takes longer for that than Python to start.
	path, version string
}

// question makes an interpreter tell its path and version. As -S it reads no
// site files, so even a broken installation answers.
const question = "import sys; print(sys.executable); print('.'.join(map(str, sys.version_info[:3])))"

// interpreter finds the configured interpreter, once, and again when it has gone: an
// upgrade may have put another in its place.
//
// Errors: [domain.ErrUnavailable] with what to do about it; a later call tries
// again.
func (r *Runtime) interpreter(ctx context.Context) (Interpreter, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.found.path != "" {
		if _, err := os.Stat(r.found.path); err == nil {
			return r.found, nil
		}
		r.found = Interpreter{}
	}
	find := func() (Interpreter, error) { return Find(ctx, r.cfg.Interpreter) }
	if r.cfg.Found != nil { // which is true of one moment, as an answer here is
		find, r.cfg.Found = r.cfg.Found, nil
	}
	found, err := find()
	if err == nil {
		r.found = found
	}
	return found, err
}

// Find finds the interpreter that a command starts; "" is the default. Who has a
// jail to open first calls it beside that, for [Config.Found].
//
// Errors: [domain.ErrUnavailable] with what to do about it.
func Find(ctx context.Context, name string) (found Interpreter, err error) {
	const remedy = "set runtimes.python.interpreter in the config file"
	name = cmp.Or(name, command)
	path, err := exec.LookPath(name)
	if err != nil && !errors.Is(err, exec.ErrDot) { // what a person put into the config file is meant
		return found, domain.Unavailablef("runtime \"python\": the command %q was not found in PATH; install it or %s", name, remedy)
	}
	ctx, cancel := context.WithTimeout(ctx, script.AnswerTime)
	defer cancel()
	asked := exec.CommandContext(ctx, path, "-I", "-S", "-c", question)
	asked.WaitDelay = time.Second
	output, err := asked.Output()
	if err != nil {
		return found, domain.Unavailablef("runtime \"python\": the command %q does not work: %v; repair it or %s", name, script.AnswerError(ctx, err), remedy)
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
