// Package shell is the commands by which a shell script remembers its steps: `ramet step`,
// sleep, wait, now, random, uuid, version. They speak over the channel of the job that
// they run in, and load nothing else: a script may run thousands of them.
package shell

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/durable"
)

// Variable names the socket, in a job.
const Variable = "RAMET_CHANNEL"

// stepKey is the variable by which the command of a step finds its key.
const stepKey = "RAMET_STEP_KEY"

// Exit codes.
const (
	exitFailed    = 1
	exitInvalid   = 2
	exitSuspended = 75  // EX_TEMPFAIL: the process is being ended, and the job goes on later
	exitTimedOut  = 124 // as of timeout(1)
	exitNoCommand = 127 // as of a shell
)

// The verbs that are no words of the channel.
const (
	verbApproval = "approval"
	verbGather   = "gather"
)

// Command is one of them.
type Command struct{ Verb, Use, Short, Example string }

// Commands are the verbs, each with how it is used and what it does.
var Commands = []Command{
	{durable.DoStep, "step NAME [--retries N] [--retry-after SPAN] -- COMMAND [ARG...]",
		"In a script: run a command once, remember what it printed, and print that", "ramet step charge --retries 3 -- ./charge.sh 17"},
	{durable.DoSleep, "sleep NAME SPAN | --until WHEN", "In a script: go on later, without a process and a slot meanwhile", "ramet sleep grace 3d"},
	{durable.DoWait, "wait NAME [--signal SIGNAL | --prerequisite PREREQUISITE] [--timeout SPAN]",
		"In a script: wait for a signal to its job, and print what it brought; or for a prerequisite", "ramet wait click --timeout 3d"},
	{verbApproval, "approval NAME [--text TEXT] [--approver WHO]... [--answers JSON] [--not-submitter] [--timeout SPAN]",
		"In a script: ask a person, and print what was decided; exit code 1 is a no", "ramet approval pay --text 'Pay 17?' --approver admin --timeout 3d"},
	{durable.DoCall, "call NAME --blueprint NAME | --script FILE [--type TYPE] [--param NAME=VALUE]...",
		"In a script: have a job or flow of its own done once, and print its result as JSON", "ramet call bill --blueprint billing --param order=17"},
	{verbGather, "gather JSON...", "In a script: have several calls done side by side, and print their results, a line each",
		`ramet gather '{"name":"a","blueprint":"billing"}' '{"name":"b","script":"echo 1"}'`},
	{durable.DoNow, "now [--unix]", "In a script: the time when it first asked", "ramet now"},
	{durable.DoRandom, "random", "In a script: a number from 0 to 1, the same in each attempt", "ramet random"},
	{durable.DoUUID, "uuid", "In a script: a UUID, the same in each attempt", "ramet uuid"},
}

// Is reports whether args, without the program's name, are one of these commands in a job:
// version is one there where it has a name and a number.
func Is(args []string) bool {
	if len(args) == 0 || os.Getenv(Variable) == "" || slices.Contains(args, "--help") || slices.Contains(args, "-h") {
		return false
	}
	return args[0] == durable.DoVersion && len(args) == 3 || slices.ContainsFunc(Commands, func(c Command) bool { return c.Verb == args[0] })
}

// Main runs a command and returns its exit code.
func Main(args []string, in io.Reader, out, errs io.Writer) int {
	s := session{in: in, out: out, errs: errs, verb: args[0]}
	path := os.Getenv(Variable)
	if path == "" {
		return s.fail(domain.Invalidf("$%s is not set: this command is for scripts that run as jobs", Variable))
	}
	if os.Getenv(stepKey) != "" {
		// It would wait for itself: what is in a step is remembered as a whole.
		return s.fail(domain.Invalidf("what a step does cannot have steps, sleeps and waits of its own: $%s is set, which the command of a step has", stepKey))
	}
	s.node = durable.Dial(path)
	defer s.node.Close()
	code, err := s.run(args[1:])
	if err != nil {
		return s.fail(err)
	}
	return code
}

// session is one command on the channel.
type session struct {
	in        io.Reader
	out, errs io.Writer
	verb      string
	node      *durable.Conn
}

func (s *session) fail(err error) int {
	fmt.Fprintf(s.errs, "ramet %s: %v\n", s.verb, err)
	if errors.Is(err, domain.ErrInvalid) {
		return exitInvalid
	}
	return exitFailed
}

// The pause before a request that the board did not answer is asked again, and how often.
const (
	again     = time.Second
	mostAgain = 300
)

// ask asks, and asks again while the board does not answer.
func (s *session) ask(r durable.Request) (durable.Answer, error) {
	for try := 0; ; try++ {
		a, err := s.node.Do(context.Background(), r)
		if !errors.Is(err, domain.ErrUnavailable) || try == mostAgain {
			return a, err
		}
		time.Sleep(again)
	}
}

func (s *session) run(args []string) (int, error) {
	switch s.verb {
	case durable.DoStep:
		return s.step(args)
	case durable.DoSleep:
		return s.sleep(args)
	case durable.DoWait:
		return s.wait(args)
	case verbApproval:
		return s.approval(args)
	case durable.DoCall:
		return s.call(args)
	case verbGather:
		return s.gather(args)
	case durable.DoVersion:
		return s.version(args)
	}
	return s.draw(args)
}

// suspended waits for the end of the process, which the node brings about.
func (s *session) suspended() (int, error) {
	s.node.Ended()
	return exitSuspended, nil
}

func (s *session) version(args []string) (int, error) {
	n, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return 0, domain.Invalidf("version %q: %q is no number", args[0], args[1])
	}
	return s.print(durable.Request{Do: durable.DoVersion, Name: args[0], N: n})
}

func (s *session) draw(args []string) (int, error) {
	f := flags{"unix": {}}
	rest, err := f.parse(args)
	if err != nil || len(rest) > 0 {
		return 0, cmp.Or(err, error(domain.Invalidf("%s: unexpected %q", s.verb, rest)))
	}
	if s.verb != durable.DoNow {
		return s.print(durable.Request{Do: s.verb})
	}
	a, err := s.ask(durable.Request{Do: s.verb})
	if err != nil {
		return 0, err
	}
	ms, err := strconv.ParseInt(string(a.Value), 10, 64)
	if err != nil {
		return 0, err
	}
	if f["unix"].set {
		fmt.Fprintln(s.out, ms/1000)
	} else {
		fmt.Fprintln(s.out, time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00"))
	}
	return 0, nil
}

func (s *session) print(r durable.Request) (int, error) {
	a, err := s.ask(r)
	if err == nil {
		s.show(a.Value)
	}
	return 0, err
}

// show prints a value: a text as it is, nothing for null, else JSON.
func (s *session) show(value json.RawMessage) {
	var text string
	var bytes raw
	switch {
	case len(value) == 0 || string(value) == "null":
	case json.Unmarshal(value, &text) == nil:
		if text != "" {
			fmt.Fprintln(s.out, text)
		}
	case s.verb == durable.DoStep && json.Unmarshal(value, &bytes) == nil && bytes.Base64 != nil:
		fmt.Fprintf(s.out, "%s\n", bytes.Base64)
	default:
		fmt.Fprintf(s.out, "%s\n", value)
	}
}

func (s *session) sleep(args []string) (int, error) {
	f := flags{"until": {value: true}}
	rest, err := f.parse(args)
	if err != nil {
		return 0, err
	}
	r := durable.Request{Do: durable.DoSleep, Stop: true}
	switch {
	case len(rest) == 2 && !f["until"].set:
		span, err := domain.ParseSpan(rest[1])
		if err != nil {
			return 0, err
		}
		ms := span.Time().Milliseconds()
		r.ForMs = &ms
	case len(rest) == 1 && f["until"].set:
		at, err := time.Parse(time.RFC3339, f["until"].text)
		if err != nil {
			return 0, domain.Invalidf("--until %q: want an instant such as 2026-12-24T18:00:00Z", f["until"].text)
		}
		ms := at.UnixMilli()
		r.UntilMs = &ms
	default:
		return 0, domain.Invalidf("want sleep NAME SPAN, such as sleep grace 3d, or sleep NAME --until 2026-12-24T18:00:00Z")
	}
	r.Name = rest[0]
	a, err := s.ask(r)
	if err == nil && a.Suspend {
		return s.suspended()
	}
	return 0, err
}

func (s *session) wait(args []string) (int, error) {
	f := flags{"signal": {value: true}, "prerequisite": {value: true}, "timeout": {value: true}}
	rest, err := f.parse(args)
	if err != nil || len(rest) != 1 {
		return 0, cmp.Or(err, error(domain.Invalidf("want wait NAME [--signal SIGNAL | --prerequisite PREREQUISITE] [--timeout SPAN]")))
	}
	r := durable.Request{Do: durable.DoWait, Name: rest[0], Signal: f["signal"].text, Prerequisite: f["prerequisite"].text, Stop: true}
	what := fmt.Sprintf("no signal %q came", cmp.Or(r.Signal, r.Name))
	if r.Prerequisite != "" {
		what = fmt.Sprintf("prerequisite %q was not met", r.Prerequisite)
	}
	a, code, err := s.await(r, f["timeout"], what)
	if err == nil && code == 0 && r.Prerequisite == "" {
		s.show(a.Value)
	}
	return code, err
}

// await waits for what comes, at most for the time of a flag. code is not 0 where it has not.
func (s *session) await(r durable.Request, timeout *flag, what string) (a durable.Answer, code int, err error) {
	if timeout.set {
		span, err := domain.ParseSpan(timeout.text)
		if err != nil {
			return a, 0, err
		}
		ms := span.Time().Milliseconds()
		r.TimeoutMs = &ms
	}
	a, err = s.ask(r)
	switch {
	case err != nil:
		return a, 0, err
	case a.Suspend:
		code, err = s.suspended()
	case a.TimedOut:
		fmt.Fprintf(s.errs, "ramet %s: %s in time\n", s.verb, what)
		code = exitTimedOut
	case a.Failure != nil:
		code, err = s.answered(r.Name, a)
	}
	return a, code, err
}

func (s *session) step(args []string) (int, error) {
	at := slices.Index(args, "--")
	if at < 0 || at == len(args)-1 {
		return 0, domain.Invalidf("want step NAME -- COMMAND, such as step charge -- ./charge.sh 17")
	}
	f := flags{"retries": {value: true}, "retry-after": {value: true}}
	rest, err := f.parse(args[:at])
	if err != nil || len(rest) != 1 {
		return 0, cmp.Or(err, error(domain.Invalidf("want step NAME -- COMMAND: %q before -- is not one name", rest)))
	}
	retries, after := 0, time.Second
	if f["retries"].set {
		if retries, err = strconv.Atoi(f["retries"].text); err != nil || retries < 0 {
			return 0, domain.Invalidf("--retries %q: want a number", f["retries"].text)
		}
	}
	if f["retry-after"].set {
		span, err := domain.ParseSpan(f["retry-after"].text)
		if err != nil {
			return 0, err
		}
		after = span.Time()
	}
	r := durable.Request{Do: durable.DoStep, Name: rest[0], Stop: true}
	for {
		a, err := s.ask(r)
		switch {
		case err != nil:
			return 0, err
		case a.Suspend:
			return s.suspended()
		case a.Done:
			return s.answered(rest[0], a)
		}
		done := durable.Request{Do: durable.DoDone, Name: rest[0], N: a.N}
		code, err := s.command(args[at+1:], a, &done)
		if err != nil || code != 0 {
			return code, err // it was not done: the connection ends, and the step with it
		}
		if done.Failure != nil && done.Failure.Kind == "exit" && a.Attempt <= retries {
			ms := after.Milliseconds()
			done.RetryAfterMs = &ms
		}
		told, err := s.ask(done)
		switch {
		case err != nil:
			return 0, err
		case told.Again:
			r.N = a.N
		default:
			return s.answered(rest[0], durable.Answer{Value: done.Value, Failure: done.Failure})
		}
	}
}

// answered tells what came of a step.
func (s *session) answered(name string, a durable.Answer) (int, error) {
	if a.Failure == nil {
		s.show(a.Value)
		return 0, nil
	}
	fmt.Fprintf(s.errs, "ramet %s: %s: %s\n", s.verb, name, a.Failure.Text)
	return cmp.Or(a.Failure.Code, exitFailed), nil
}

// command runs what a step does, and puts what came of it into done. A code that is not 0
// says that it was not done: there is no such command, or it was killed.
func (s *session) command(args []string, a durable.Answer, done *durable.Request) (code int, err error) {
	c := exec.Command(args[0], args[1:]...)
	var out bounded
	c.Stdin, c.Stdout, c.Stderr = s.in, &out, s.errs
	c.Env = append(os.Environ(), stepKey+"="+a.Key, "RAMET_STEP_ATTEMPT="+strconv.Itoa(a.Attempt))
	err = c.Run()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended) && ended.ExitCode() < 0:
		fmt.Fprintf(s.errs, "ramet step: %s: %v\n", done.Name, err)
		return 128 + 15, nil
	case errors.As(err, &ended):
		done.Failure = &durable.Failure{Kind: "exit", Text: fmt.Sprintf("%s ended with exit code %d", args[0], ended.ExitCode()), Code: ended.ExitCode()}
		return 0, nil
	case err != nil:
		fmt.Fprintf(s.errs, "ramet step: %s: %v\n", done.Name, err)
		return exitNoCommand, nil
	}
	// What was done is remembered as a failure where its answer cannot be: it is not done again.
	if done.Value, err = printed(strings.TrimRight(out.String(), "\r\n")); err == nil && (out.over || len(done.Value) > durable.MaxAnswer) {
		done.Value, done.Failure = nil, &durable.Failure{Kind: "limit", Text: fmt.Sprintf("%s printed more than %d bytes, which is what a step can remember; "+
			"have it print where it put them", args[0], durable.MaxAnswer)}
		return 0, nil
	}
	return 0, err
}

// raw is how an answer is remembered that is no text: JSON has only such.
type raw struct {
	Base64 []byte `json:"base64"`
}

// printed is what a command has printed, as JSON.
func printed(text string) (json.RawMessage, error) {
	if utf8.ValidString(text) {
		return json.Marshal(text)
	}
	return json.Marshal(raw{[]byte(text)})
}

// bounded keeps what fits into an answer.
type bounded struct {
	bytes.Buffer
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > durable.MaxAnswer {
		b.over = true
		return len(p), nil
	}
	return b.Buffer.Write(p)
}

// flags are the few that a command has. A package of flags would take the numbers of a
// script for such.
type flags map[string]*flag

type flag struct {
	value bool // it has one
	set   bool
	text  string   // the last
	all   []string // where it may stand more than once
}

func (f flags) parse(args []string) (rest []string, err error) {
	for i := 0; i < len(args); i++ {
		name, text, has := strings.Cut(args[i], "=")
		name, dashed := strings.CutPrefix(name, "--")
		if !dashed {
			rest = append(rest, args[i])
			continue
		}
		one := f[name]
		switch {
		case one == nil:
			return nil, domain.Invalidf("there is no flag --%s", name)
		case one.value && !has:
			if i++; i == len(args) {
				return nil, domain.Invalidf("--%s wants a value", name)
			}
			text = args[i]
		}
		one.set, one.text, one.all = true, text, append(one.all, text)
	}
	return rest, nil
}
