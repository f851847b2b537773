package scripts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ramet-run/ramet/internal/postgrestest"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/internal/setting"
)

// patience bounds everything that is waited for. It only keeps what never comes from
// holding up the rest: a machine may be as busy as it likes.
const patience = 2 * time.Minute

// rig is what a script has beside its files.
type rig struct {
	t         *testing.T
	nodes     map[string]*node
	databases map[string]*postgrestest.Server // by variable
	redises   map[string]*redistest.Server    // by variable
}

// outcome is what a command left.
type outcome struct {
	code     int
	out, err string
}

// run runs the binary as the script's next command would.
func run(ts *testscript.TestScript, args []string) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := command(ctx, ts, args)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil {
		ts.Fatalf("ramet %s: did not end within %v\n%s%s", strings.Join(args, " "), patience, &out, &errs)
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		ts.Fatalf("ramet %s: %v", strings.Join(args, " "), err)
	}
	return outcome{code: cmd.ProcessState.ExitCode(), out: out.String(), err: errs.String()}
}

func command(ctx context.Context, ts *testscript.TestScript, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "ramet"), args...)
	cmd.Dir = ts.MkAbs(".")
	names := []string{"PATH", "HOME", "TMPDIR", "LC_ALL", "TZ", "RAMET_GARCE"} // the last is a slip
	for _, s := range setting.All() {
		if v := s.Variable(); v != "" {
			names = append(names, v)
		}
	}
	for _, name := range names {
		if value := ts.Getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	return cmd
}

// show gives an outcome to the commands that look at it.
func (o outcome) show(ts *testscript.TestScript) {
	fmt.Fprint(ts.Stdout(), o.out)
	fmt.Fprint(ts.Stderr(), o.err)
}

func (r *rig) ramet(ts *testscript.TestScript, args []string) {
	got := run(ts, args)
	got.show(ts)
	if got.code != 0 {
		ts.Fatalf("got exit code %d", got.code)
	}
}

func (r *rig) fails(ts *testscript.TestScript, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := run(ts, args[1:])
	got.show(ts)
	if got.code != want {
		ts.Fatalf("got exit code %d, want %d", got.code, want)
	}
	for _, word := range []string{"goroutine ", "panic", ".go:"} {
		if strings.Contains(got.err, word) {
			ts.Fatalf("got %q in the message", word)
		}
	}
	lines := slices.DeleteFunc(slicesOf(got.err), func(line string) bool { return strings.HasPrefix(line, "ramet: warning: ") })
	if len(lines) == 0 || !strings.HasPrefix(lines[len(lines)-1], "ramet: ") {
		ts.Fatalf("want a last line that says what is wrong")
	}
	if len(lines) > 1 && want != 1 && args[1] != "rhai" && args[1] != "blueprint" && args[1] != "saga" {
		ts.Fatalf("got %d lines, want one", len(lines))
	}
}

// slicesOf are the lines of a text, without what a node logs.
func slicesOf(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "time=") {
			lines = append(lines, line)
		}
	}
	return lines
}

func (r *rig) waitFor(ts *testscript.TestScript, args []string) {
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	// Another process cannot be waited for in any other way than by asking.
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for end := time.Now().Add(patience); ; <-pause.C {
		got := run(ts, args[1:])
		if pattern.MatchString(got.out) {
			got.show(ts)
			return
		}
		if time.Now().After(end) {
			got.show(ts)
			ts.Fatalf("still no %q after %v", args[0], patience)
		}
	}
}

func (r *rig) redisPy(ts *testscript.TestScript, args []string) {
	ts.Setenv(args[0], redistest.Python(r.t))
}

func (r *rig) redis(ts *testscript.TestScript, args []string) {
	if s := r.redises[args[0]]; s != nil { // one that runs
		switch strings.Join(args[1:], " ") {
		case "keep":
			s.Keep()
		case "lose":
			s.Lose()
		default:
			ts.Fatalf("usage: redis VAR [keep|lose]")
		}
		return
	}
	s := redistest.Start(r.t, args[1:]...)
	r.redises[args[0]] = s
	ts.Setenv(args[0], s.Addr())
}

func (r *rig) postgres(ts *testscript.TestScript, args []string) {
	if len(args) == 2 { // of one that runs
		switch args[1] {
		case "kill":
			r.databases[args[0]].Kill()
		case "restart":
			r.databases[args[0]].Restart()
		default:
			ts.Fatalf("usage: postgres VAR [kill|restart]")
		}
		return
	}
	s := postgrestest.Start(r.t, "fsync = off")
	r.databases[args[0]] = s
	ts.Setenv(args[0], s.URL())
}

// lookInto compares a value in a JSON text: jobs.0.key.
func lookInto(ts *testscript.TestScript, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: json PATH WANT")
	}
	d := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		ts.Fatalf("stdout is no JSON: %v", err)
	}
	for step := range strings.SplitSeq(args[0], ".") {
		v = at(v, step)
	}
	got := text(v)
	if pattern, ok := strings.CutPrefix(args[1], "~"); ok {
		if !regexp.MustCompile(pattern).MatchString(got) {
			ts.Fatalf("got %s %q, want a match of %q", args[0], got, pattern)
		}
	} else if got != args[1] {
		ts.Fatalf("got %s %q, want %q", args[0], got, args[1])
	}
}

// at is one step into v; nil where there is no such thing.
func at(v any, step string) any {
	switch v := v.(type) {
	case map[string]any:
		return v[step]
	case []any:
		if step == "len" {
			return json.Number(strconv.Itoa(len(v)))
		}
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(v) {
			return v[i]
		}
	}
	return nil
}

// text writes strings as they are and the rest as JSON.
func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, _ := json.Marshal(v) // it came from JSON
	return string(b)
}

func fill(ts *testscript.TestScript, args []string) {
	size, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), bytes.Repeat([]byte("x"), size), 0o600))
}

func flip(ts *testscript.TestScript, args []string) {
	files, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(files) == 0 {
		ts.Fatalf("no file %s", args[0])
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		ts.Check(err)
		text[len(text)/2] ^= 1
		ts.Check(os.WriteFile(f, text, 0o600))
	}
}

func corrupt(ts *testscript.TestScript, args []string) {
	files, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(files) == 0 {
		ts.Fatalf("no file %s", args[0])
	}
	for _, f := range files {
		ts.Check(os.WriteFile(f, []byte("this is what a broken disk wrote\x00\xff\n"), 0o600))
	}
}
