package salscript

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ramet-run/ramet/script"
)

// This file runs commands.

const (
	// maxOutputBytes is how much of the end of each output of a command the
	// script gets. All of it goes to the log.
	maxOutputBytes = 1 << 20
	// hangOn is how long a command's output is waited for when the command has
	// ended and something it left in the background holds it open.
	hangOn = time.Second
)

// commandResult is how a command ended.
type commandResult struct {
	stdout, stderr string
	code           int
}

// command is one to be run by a shell.
type command struct {
	text                      string
	silent, lenient, logs, bg bool
}

// run(cmd) hands the text to /bin/sh, which is its purpose: a script that puts
// strangers' words into it must quote them itself.
func (h *host) commandFunctions() []function {
	silent := func(c *command) *command { c.silent = true; return c }
	lenient := func(c *command) *command { c.lenient = true; return c }
	logs := func(c *command) *command { c.logs = true; return c }
	return []function{
		{"run", func(text string) *command { return &command{text: text} }},
		{"silent", silent}, {"ignore_error", lenient}, {"log", logs}, {"execute", h.execute},
		{"run_command", func(text string) (*commandResult, error) { return h.execute(&command{text: text}) }},
		{"run_silent", func(text string) (*commandResult, error) { return h.execute(&command{text: text, silent: true}) }},
		{"run_with_options", h.runWithOptions},
		{"new_run_options", func() map[string]bool {
			return map[string]bool{"die": true, "silent": false, "async": false, "log": false}
		}},
	}
}

// runWithOptions takes what new_run_options gives; what is left out is as there.
func (h *host) runWithOptions(text string, options map[string]any) (*commandResult, error) {
	c := &command{text: text}
	for name, v := range options {
		on, ok := v.(bool)
		if !ok {
			return nil, fmt.Errorf("run_with_options: %s: want true or false", name)
		}
		switch name {
		case "die":
			c.lenient = !on
		case "silent":
			c.silent = on
		case "log":
			c.logs = on
		case "async":
			c.bg = on
		default:
			return nil, fmt.Errorf("run_with_options: there is no option %q; want die, silent, async or log", name)
		}
	}
	return h.execute(c)
}

// execute runs the command. A text of several lines ends at the first one that
// fails. A command that fails is an error unless that is to be ignored.
func (h *host) execute(c *command) (*commandResult, error) {
	args := []string{"/bin/sh", "-c", c.text}
	if strings.Contains(strings.TrimSpace(c.text), "\n") {
		args = []string{"/bin/sh", "-e", "-c", c.text}
	}
	if c.logs {
		h.Log("ramet", []byte("run: "+c.text))
	}
	result, err := h.start(args, nil, !c.silent, c.bg)
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	if result.code != 0 && !c.lenient {
		return nil, fmt.Errorf("run: the command ended with code %d%s", result.code, remark(result.stderr))
	}
	return result, nil
}

// output runs a program that is no shell and gives what it printed.
func (h *host) output(args ...string) (string, error) { return h.outputWith(nil, args...) }

// outputWith adds to the environment.
func (h *host) outputWith(env []string, args ...string) (string, error) {
	result, err := h.start(args, env, false, false)
	if err != nil {
		return "", err
	}
	if result.code != 0 {
		return "", fmt.Errorf("%s: it ended with code %d%s", args[0], result.code, remark(result.stderr))
	}
	return strings.TrimRight(result.stdout, "\n"), nil
}

// remark is the end of what a command said about its failure.
func remark(stderr string) string {
	const most = 400
	text := strings.TrimSpace(stderr)
	if text == "" {
		return ""
	}
	if len(text) > most {
		text = "..." + strings.ToValidUTF8(text[len(text)-most:], "")
	}
	return ": " + text
}

// bounded gives a command the job's limit of memory before it begins: this process
// has more, for what Go reserves, and may set nobody's limits but its own.
const bounded = `ulimit -v "$0" 2>/dev/null; exec "$@"`

// start runs a program and waits for it, unless it is to stay in the
// background. Its output is kept in part, and shown as it comes.
func (h *host) start(args, env []string, show, background bool) (*commandResult, error) {
	if h.ctx.Err() != nil {
		return nil, context.Cause(h.ctx)
	}
	program, err := exec.LookPath(args[0])
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("not available: %s", args[0])
	} else if err != nil {
		return nil, err
	}
	// Not CommandContext: who stops the script has told its whole group.
	cmd := exec.Command(program, args[1:]...)
	if most := h.cfg.MemoryBytes; most > 0 {
		cmd = exec.Command("/bin/sh", append([]string{"-c", bounded, strconv.FormatInt(most>>10, 10), program}, args[1:]...)...)
	}
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = hangOn
	stdout, stderr := script.NewTail(maxOutputBytes), script.NewTail(maxOutputBytes)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if show {
		cmd.Stdout, cmd.Stderr = io.MultiWriter(stdout, h.stdout), io.MultiWriter(stderr, h.stderr)
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if background {
		go func() { _ = cmd.Wait() }() // what runs at the script's end is ended by the jail
		return &commandResult{}, nil
	}
	err = cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return nil, err
	}
	result := &commandResult{stdout: stdout.String(), stderr: stderr.String(), code: cmd.ProcessState.ExitCode()}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		result.code = 128 + int(status.Signal())
	}
	return result, nil
}

// lines splits output.
func lines(text string) []string {
	list := []string{}
	for line := range bytes.Lines([]byte(text)) {
		if line := strings.TrimRight(string(line), "\r\n"); line != "" {
			list = append(list, line)
		}
	}
	return list
}
