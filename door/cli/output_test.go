package cli_test

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/cli"
)

// hostile is a text by which strangers try to act on the terminal of who reads
// it: colours, the window's title, the cursor, C1 controls, another direction,
// what cannot be seen, a bell, another line, bytes that are no text.
const hostile = "a\x1b[31mb\x1b]0;c\x07d\re\u009b2Jf\u202eg\u2066h\u200fi\ufeffj\u2028k\U000e0041l\x00m\x7fn"

// acting returns the first character of an output that may do something.
func acting(out string) (rune, bool) {
	for _, r := range out {
		if r != '\n' && r != '\t' && domain.Acts(r) {
			return r, true
		}
	}
	return 0, false
}

// TestLogsActOnNoTerminal follows, waits for and reads logs and results that
// were made to.
func TestLogsActOnNoTerminal(t *testing.T) {
	f := newFakeNode()
	dir := t.TempDir()
	line := strings.NewReplacer("\x00", "", "\r", "").Replace(hostile) // what a script's text can hold
	script := "out " + line + "\tcolumn\nerr " + line + "\nkey=" + line + "\n"
	for _, args := range [][]string{
		{"job", "submit", "-", "--type", "shell"}, {"job", "logs", "1"}, {"job", "logs", "1", "--follow"}, {"job", "show", "1"}, {"job", "list"},
		{"job", "explain", "1"}, {"run", "-", "--type", "shell"}, {"job", "wait", "1"},
	} {
		got := ramet(t, f.hooks(), script, append(args, "--data", dir)...)
		if r, acts := acting(got.out + got.err); acts || got.code != 0 {
			t.Errorf("%v: got exit code %d, %q in\n%q\n%q", args, got.code, r, got.out, got.err)
		}
	}
	if got := ramet(t, f.hooks(), "", "job", "logs", "1", "--data", dir); !strings.Contains(got.out, "\tcolumn\n") {
		t.Errorf("the columns of a log: got %+v", got)
	}
	for _, format := range []string{"json", "yaml"} {
		if got := ramet(t, f.hooks(), "", "job", "logs", "1", "--data", dir, "-o", format); !strings.Contains(got.out, `\u001b`) &&
			!strings.Contains(got.out, `\e[31m`) {
			t.Errorf("-o %s is not as it was written: got %q", format, got.out)
		}
	}
	if got := ramet(t, f.hooks(), "", "job", "show", hostile, "--data", dir); got.code == 0 || strings.ContainsAny(got.err, "\x1b\x07") {
		t.Errorf("what was typed wrong: got %q", got.err)
	}
}

// TestWhatIsLateIsLateByTheBoardsClock has a board whose clock is not this machine's.
func TestWhatIsLateIsLateByTheBoardsClock(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Hour, 0, time.Hour} {
		f := newFakeNode()
		f.ahead = ahead
		for _, of := range []string{"schedule", "routine"} {
			var out, errs bytes.Buffer
			code := cli.Main(t.Context(), []string{of, "list", "--data", t.TempDir()}, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, f.hooks())
			late := map[string]bool{}
			for line := range strings.Lines(out.String()) {
				name, rest, _ := strings.Cut(line, " ")
				late[name] = strings.Contains(rest, "has come") || strings.Contains(rest, "has not begun")
			}
			if code != 0 || !late["late"] || late["next"] {
				t.Errorf("%s, the board is %v ahead: got %d, %q\n%s", of, ahead, code, &errs, &out)
			}
		}
	}
}

// fullDisk takes some bytes and is full then, as a file is to which output was redirected.
type fullDisk struct{ room int }

func (f *fullDisk) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room >= 0 || len(b) == 0 {
		return len(b), nil
	}
	return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}
}

// TestOutputThatIsNotAllThere is told, by whatever a command writes it; how a script ended is told besides.
func TestOutputThatIsNotAllThere(t *testing.T) {
	f := newFakeNode()
	dir := t.TempDir()
	for _, c := range []struct {
		args  []string
		room  int
		input string
		code  int
	}{
		{args: []string{"job", "submit", "-", "--type", "shell"}, input: "out a line", code: 7},
		{args: []string{"job", "list"}, code: 7},
		{args: []string{"job", "list"}, room: 1 << 10},
		{args: []string{"job", "list", "-o", "name"}, code: 7},
		{args: []string{"job", "list", "-o", "json"}, code: 7},
		{args: []string{"job", "list", "-o", "yaml"}, code: 7},
		{args: []string{"job", "list", "-o", "json", "--fields", "id"}, room: 5, code: 7},
		{args: []string{"job", "logs", "1"}, code: 7},
		{args: []string{"job", "logs", "1", "--follow"}, code: 7},
		{args: []string{"job", "logs", "1", "--follow", "-o", "json"}, code: 7},
		{args: []string{"job", "wait", "1"}, code: 7},
		{args: []string{"job", "wait", "1", "-o", "json"}, code: 7},
		{args: []string{"job", "submit", "-", "--type", "shell", "--id", "9"}, input: "fail", code: 7},
		{args: []string{"job", "wait", "9"}, code: 1},
		{args: []string{"job", "wait", "9"}, room: 40, code: 1},
		{args: []string{"job", "wait", "9", "-o", "json"}, code: 1},
		{args: []string{"job", "list", "--watch=10h"}, room: 5, code: 7},
		{args: []string{"info"}, code: 7},
		{args: []string{"job", "--help"}, code: 7},
		{args: []string{"config", "example"}, room: 100, code: 7},
		{args: []string{"completion", "bash"}, room: 100, code: 7},
		{args: []string{"version"}, code: 7},
		{args: []string{"run", "-", "--type", "shell"}, input: "out a line", code: 7},
		{args: []string{"run", "-", "--type", "shell"}, input: "out a line\nfail", code: 1},
		{args: []string{"run", "-", "--type", "shell"}, input: "a=b\nfail", code: 1},
		{args: []string{"run", "-", "--type", "shell", "-o", "json"}, input: "out a line\nfail", code: 1},
	} {
		var errs bytes.Buffer
		code := cli.Main(t.Context(), append(c.args, "--data", dir), cli.Streams{In: strings.NewReader(c.input), Out: &fullDisk{c.room}, Err: &errs}, f.hooks())
		told := strings.Contains(errs.String(), "ramet: standard output cannot be written: no space left on device; what is there is not all\n")
		if code != c.code || told != (c.code != 0) {
			t.Errorf("%q: got exit code %d and %q; want %d", c.args, code, &errs, c.code)
		}
	}
}
