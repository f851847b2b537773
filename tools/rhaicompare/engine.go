package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	maxLine   = 64 << 20         // bytes of one answer
	patience  = 40 * time.Second // for one answer; the reference gives up by itself before that
	maxMemory = "8388608"        // KiB of address space of one engine: allocating for ever ends it, not the machine
)

// Engine is a process that answers cases. It is started anew after it died or said nothing for too long: both are
// answers too, of kind ErrorSystem.
type Engine struct {
	command []string
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan []byte // closed by the reader when the process has ended
}

// NewEngine returns an engine that runs command with --jsonl; it starts at the first question.
func NewEngine(command []string) *Engine { return &Engine{command: command} }

// Ask returns the engine's answer to a case.
//
// Errors: the command cannot be started, or what it writes is not an answer to this case.
func (e *Engine) Ask(c Case) (Answer, error) {
	line, err := json.Marshal(c.Question())
	if err != nil {
		return Answer{}, err
	}
	if e.cmd == nil {
		if err := e.start(); err != nil {
			return Answer{}, fmt.Errorf("start %s: %w", e.command[0], err)
		}
	}
	if _, err := e.in.Write(append(line, '\n')); err != nil {
		e.Close()
		return Answer{Error: "ErrorSystem", Message: "the engine takes no more cases"}, nil
	}
	select {
	case reply, open := <-e.answers:
		if !open {
			state := e.Close()
			return Answer{Error: "ErrorSystem", Message: "the engine died: " + state}, nil
		}
		var a struct {
			ID string `json:"id"`
			Answer
		}
		if err := json.Unmarshal(reply, &a); err != nil {
			return Answer{}, fmt.Errorf("answer of %s to %s: %w: %.200s", e.command[0], c.ID, err, reply)
		}
		if a.ID != c.ID {
			return Answer{}, fmt.Errorf("answer of %s to %s is for %q", e.command[0], c.ID, a.ID)
		}
		if a.Error == "ErrorSystem" {
			// What ran out of time may still be running in there.
			e.Close()
		}
		return a.Answer, nil
	case <-time.After(patience):
		e.Close()
		return Answer{Error: "ErrorSystem", Message: "the engine does not answer"}, nil
	}
}

// greet asks something easy: an engine that fails here would only fill pages with differences.
func (e *Engine) greet() error {
	a, err := e.Ask(Case{ID: "greet", Src: "40 + 2"})
	if err == nil && (a.Expect == nil || a.Expect.Value != "42") {
		err = fmt.Errorf("%s --jsonl says to 40 + 2: %s", strings.Join(e.command, " "), text(a))
	}
	return err
}

func (e *Engine) start() error {
	if _, err := exec.LookPath(e.command[0]); err != nil {
		return err
	}
	limited := []string{"-c", `ulimit -v ` + maxMemory + `; exec "$@"`, "sh"}
	cmd := exec.Command("sh", append(append(limited, e.command...), "--jsonl")...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	answers := make(chan []byte)
	go func() {
		defer close(answers)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, maxLine)
		for lines.Scan() {
			answers <- append([]byte(nil), lines.Bytes()...)
		}
	}()
	e.cmd, e.in, e.answers = cmd, in, answers
	return nil
}

// Close ends the process and says how it ended. The engine may be asked again.
func (e *Engine) Close() string {
	if e.cmd == nil {
		return "not running"
	}
	e.in.Close()
	e.cmd.Process.Kill()
	for range e.answers { // so that the reader is not left waiting
	}
	err := e.cmd.Wait()
	e.cmd = nil
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ProcessState.String()
	}
	return "ended"
}
