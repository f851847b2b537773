// Package readme runs every command of the README, and of those of the
// examples, as a reader would, and compares what is shown with what came out.
package readme

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/internal/testbinary"
	"github.com/ramet-run/ramet/internal/testport"
)

var update = flag.Bool("update", false, "write what came out into the READMEs")

// bin is the folder with the binary under test.
var bin string

func TestMain(m *testing.M) {
	os.Exit(testbinary.Run(m, func(folder string) { bin = folder }))
}

func TestCommands(t *testing.T) {
	check(t, "../../README.md", t.TempDir(), "")
}

// TestCommandsOfTour runs the tour, with a Redis.
func TestCommandsOfTour(t *testing.T) {
	redis := redistest.Start(t)
	check(t, "../../docs/tour.md", t.TempDir(), redis.Addr())
}

// TestCommandsOfSagas runs the tutorial of sagas.
func TestCommandsOfSagas(t *testing.T) {
	// Not t.TempDir: its long names do not fit into a socket's 108 bytes.
	dir, err := os.MkdirTemp("", "ramet-readme")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	check(t, "../../docs/sagas.md", dir, "")
}

// TestCommandsOfKeeping backs a node up, restores it and moves it.
func TestCommandsOfKeeping(t *testing.T) {
	dir, err := os.MkdirTemp("", "ramet-readme")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	check(t, "../../docs/keep.md", dir, redistest.Start(t).Addr())
}

// TestCommandsOfSchedules makes, shows and removes schedules.
func TestCommandsOfSchedules(t *testing.T) {
	dir, err := os.MkdirTemp("", "ramet-readme")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	check(t, "../../docs/schedules.md", dir, "")
}

// TestCommandsOfFlows runs the first flow of the page, which is that of the example.
func TestCommandsOfFlows(t *testing.T) {
	dir, err := os.MkdirTemp("", "ramet-readme")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.CopyFS(dir, os.DirFS("../../examples/nightly")); err != nil {
		t.Fatal(err)
	}
	check(t, "../../docs/flows.md", dir, "")
}

// TestCommandsOfRecipes does each thing that the page has a recipe for.
func TestCommandsOfRecipes(t *testing.T) {
	dir, err := os.MkdirTemp("", "ramet-readme")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	check(t, "../../docs/recipes.md", dir, "")
}

// TestCommandsOfApprovals asks a person.
func TestCommandsOfApprovals(t *testing.T) {
	dir, err := os.MkdirTemp("", "ramet-readme")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	check(t, "../../docs/approvals.md", dir, "")
}

// TestCommandsOfDurableScripts suspends a script and has it go on.
func TestCommandsOfDurableScripts(t *testing.T) {
	dir, err := os.MkdirTemp("", "ramet-readme")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	check(t, "../../docs/durable.md", dir, "")
}

// TestCommandsOfHardening sets a node up for strangers, and has a stranger's job look around.
func TestCommandsOfHardening(t *testing.T) {
	dir, err := os.MkdirTemp("", "ramet-readme")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	check(t, "../../docs/hardening.md", dir, "")
	for _, pattern := range []string{"*.key", "*.token", "secrets/*"} {
		files, _ := filepath.Glob(filepath.Join(dir, pattern))
		if len(files) == 0 {
			t.Errorf("no %s was made", pattern)
		}
		for _, file := range files {
			if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s is for others to read: %v, %v", filepath.Base(file), info.Mode(), err)
			}
		}
	}
}

// TestCommandsOfUpgrading changes the program of a node that a unit runs.
func TestCommandsOfUpgrading(t *testing.T) {
	dir := machine(t)
	if err := os.Symlink(filepath.Join(bin, "ramet"), filepath.Join(dir, "ramet")); err != nil {
		t.Fatal(err)
	}
	check(t, "../../docs/upgrade.md", dir, "")
}

// TestCommandsOfMetrics reads them with curl.
func TestCommandsOfMetrics(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	check(t, "../../docs/metrics.md", machine(t), "")
}

func TestCommandsOfTraces(t *testing.T) {
	check(t, "../../docs/tracing.md", machine(t), "")
}

// places are folders of a machine, which lie in the folder of the test instead.
var places = []string{"/etc/ramet", "/usr/local/bin", "/var/lib/ramet", "/run/secrets"}

// systemctl starts and stops the unit of deploy/systemd as systemd would, as far as a page
// goes by it.
const systemctl = `#!/bin/bash
case $1 in
start) cd %[1]s/var/lib
	%[1]s/usr/local/bin/ramet serve --data %[1]s/var/lib/ramet --name n1 --listen none >%[1]s/log 2>&1 </dev/null &
	echo $! >%[1]s/pid
	until test -S %[1]s/var/lib/ramet/ramet.sock; do sleep 0.05; done;;
stop) kill $(cat %[1]s/pid)
	while kill -0 $(cat %[1]s/pid) 2>/dev/null; do sleep 0.05; done;;
esac
`

// machine is a folder with those of a machine in it, and a unit that runs.
func machine(t *testing.T) string {
	t.Helper()
	// Not t.TempDir: its long names do not fit into a socket's 108 bytes.
	dir, err := os.MkdirTemp("", "ramet-readme")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, place := range places {
		if err := os.MkdirAll(filepath.Join(dir, place), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "usr/local/bin")
	before := fmt.Appendf(nil, "#!/bin/bash\nexec %s \"$@\"\n", filepath.Join(bin, "ramet")) // the program that is to be replaced
	if err := os.WriteFile(filepath.Join(program, "ramet"), before, 0o700); err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(program, "systemctl")
	if err := os.WriteFile(unit, fmt.Appendf(nil, systemctl, dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(unit, "start").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command(unit, "stop").Run() })
	return dir
}

// TestCommandsOfHTTP asks a node with curl.
func TestCommandsOfHTTP(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	dir, err := os.MkdirTemp("", "ramet-readme")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	check(t, "../../docs/http.md", dir, "")
}

// tokenShown is a token among the arguments of a command, where every user of the machine can read
// it; given to a variable it is not.
var tokenShown = regexp.MustCompile(`(?m)^.*[^=]\$\(ramet token.*$`)

func TestNoPagePutsATokenOnACommandLine(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("got %q, %v", pages, err)
	}
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range tokenShown.FindAllString(string(text), -1) {
			t.Errorf("%s: %s", filepath.Base(page), line)
		}
	}
}

func TestCommandsOfExamples(t *testing.T) {
	readmes, err := filepath.Glob("../../examples/*/README.md")
	if err != nil || len(readmes) == 0 {
		t.Fatalf("got %q, %v", readmes, err)
	}
	for _, readme := range readmes {
		t.Run(filepath.Base(filepath.Dir(readme)), func(t *testing.T) {
			// Not t.TempDir: its long names do not fit into a socket's 108 bytes.
			dir, err := os.MkdirTemp("", "ramet-readme")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			if err := os.CopyFS(dir, os.DirFS(filepath.Dir(readme))); err != nil {
				t.Fatal(err)
			}
			check(t, readme, dir, "")
		})
	}
}

// fromPages are the pages of docs/from whose commands run here; those with Python are run by the tests of its SDK.
var fromPages = []string{"river", "asynq", "temporal", "dagu", "cron", "github-actions"}

// TestCommandsOfThoseFromElsewhere runs our side of the pages that compare. Theirs stands in blocks that
// are called otherwise (yml, py): see theirs.
func TestCommandsOfThoseFromElsewhere(t *testing.T) {
	for _, page := range fromPages {
		t.Run(page, func(t *testing.T) {
			// Not t.TempDir: its long names do not fit into a socket's 108 bytes.
			dir, err := os.MkdirTemp("", "ramet-readme")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			check(t, "../../docs/from/"+page+".md", dir, "")
		})
	}
}

// block is a part of a page: commands (sh), the file that the next commands
// call by its name's line, else jobs.yaml (yaml), what the commands before
// write to standard output (text), or a program if its first line names it (go). Commands
// that want a registry of packages (sh sdk) are not run.
var block = regexp.MustCompile("(?ms)^```(sh|yaml|text|go)\n(.*?)^```$")

// patience bounds the commands of one page.
const patience = 3 * time.Minute

// startWait is how long a block's commands wait for the node that it has just started:
// by themselves ten seconds, which such a start may take where other programs have the processors.
const startWait = "RAMET_START_WAIT=2m"

// check runs the commands of a page in one shell, in order. The two make
// commands are run by CI itself.
func check(t *testing.T, page, dir, redis string) {
	t.Helper()
	w := world{}
	if redis != "" {
		w.names = []string{"127.0.0.1:6379", redis}
	}
	w.check(t, page, dir)
}

// world is what a page takes for granted.
type world struct {
	// before are commands that are run before those of the page.
	before string
	// names are pairs: what the page calls something, and what it is called in the test.
	names []string
}

// check is [check] in a world.
func (w world) check(t *testing.T, page, dir string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := block.FindAllStringSubmatch(string(text), -1)
	buildPrograms(t, blocks, dir)
	out := strings.Split(w.run(t, script(w.before, blocks), dir), mark+"\n")
	n := -1
	for _, b := range blocks {
		switch b[1] {
		case "sh":
			n++
		case "text":
			if *update {
				text = bytes.Replace(text, []byte(b[0]), []byte("```text\n"+out[n]+"```"), 1)
			} else if got, want := lines(out[n]), lines(b[2]); !alike(got, want) {
				t.Errorf("%s: not what is shown (-shown +got):\n%s", page, cmp.Diff(want, got))
			}
		}
	}
	if *update {
		if err := os.WriteFile(page, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var programLine = regexp.MustCompile(`^// (\w+)\.go\n`)

// buildPrograms compiles the Go programs of a page as a module would that has this one.
func buildPrograms(t *testing.T, blocks [][]string, dir string) {
	t.Helper()
	for _, b := range blocks {
		m := programLine.FindStringSubmatch(b[2])
		if b[1] != "go" || m == nil {
			continue
		}
		program := filepath.Join(dir, m[1])
		if formatted, err := format.Source([]byte(b[2])); err != nil || string(formatted) != b[2] {
			t.Errorf("%s.go is not as gofmt has it: %v", m[1], err)
		}
		if err := os.WriteFile(program+".go", []byte(b[2]), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("go", "build", "-o", program, program+".go").CombinedOutput(); err != nil {
			t.Fatalf("build %s.go: %v\n%s", m[1], err, out)
		}
	}
}

// mark stands behind what each block of commands has written.
const mark = "-- end of block --"

func script(before string, blocks [][]string) string {
	script := "set -eu\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n" + before + "\n" // also where a command fails
	for _, b := range blocks {
		switch b[1] {
		case "yaml":
			script += "cat >" + fileName(b[2]) + " <<'END_OF_FILE'\n" + b[2] + "END_OF_FILE\n"
		case "sh":
			if m := decision.FindStringSubmatch(b[2]); m != nil {
				// Somebody decides who has been asked.
				script += "until ramet flow explain " + m[1] + " 2>&1 | grep deciding >/dev/null; do sleep 0.05; done\n"
			}
			for line := range strings.Lines(strings.TrimSpace(b[2])) {
				script += command(strings.TrimSpace(line)) + "\n"
			}
			script += "echo '" + mark + "'\n"
		}
	}
	return script + "for node in $(jobs -p); do kill $node; done; wait\n"
}

var nameLine = regexp.MustCompile(`^# (\S+\.yaml)\n`)

// fileName is what the first line of a file says, else jobs.yaml.
func fileName(text string) string {
	if m := nameLine.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return "jobs.yaml"
}

var (
	dataFlag = regexp.MustCompile(`--data (\S+)`)
	behind   = regexp.MustCompile(`&( |$)`)
	address  = regexp.MustCompile(`\.py ([0-9.]+:\d+)`)
	decision = regexp.MustCompile(`(?m)^ramet flow (?:approve|reject) (\S+)`)
	payment  = regexp.MustCompile(`^ramet event publish TripPaid --aggregate Trip/(\S+)`)
	program  = regexp.MustCompile(`^go run (\w+)\.go`)
	instance = regexp.MustCompile(`^ramet saga (?:show|explain|history) (\S+) (\S+)`)
)

// command makes a line wait for what a reader would wait for.
func command(line string) string {
	switch {
	case strings.HasPrefix(line, "make "):
		return "true"
	case strings.HasPrefix(line, "ramet serve ") && !behind.MatchString(line): // in a terminal of its own
		return line + " >>serve.log 2>&1 &\nramet info --start-wait 1m " + dataFlag.FindString(line) + " >/dev/null || { cat serve.log >&2; exit 1; }"
	case strings.HasSuffix(line, "&") && address.MatchString(line): // a server of the example's own
		return line + "\nat=" + address.FindStringSubmatch(line)[1] + "; until (: </dev/tcp/${at%:*}/${at#*:}) 2>/dev/null; do sleep 0.05; done"
	case program.MatchString(line): // it was built before
		return "until test -S \"$RAMET_DATA/ramet.sock\"; do sleep 0.05; done\n" + program.ReplaceAllString(line, "./$1")
	case payment.MatchString(line): // somebody pays who has been told that there is a room
		return stands("trip "+payment.FindStringSubmatch(line)[1], "timer") + line
	case instance.MatchString(line):
		return stands(strings.Join(instance.FindStringSubmatch(line)[1:], " ")+" "+dataFlag.FindString(line), "timer|events|held|ended") + line
	case line == "ramet deadletter list":
		return "until ramet deadletter list | grep -v ^KIND >/dev/null; do sleep 0.05; done\n" + line
	}
	return line
}

// stands waits until an instance of a saga is said to stand so.
func stands(instance, so string) string {
	return "until ramet saga explain " + instance + " 2>&1 | grep -E '^standing +(" + so + ")' >/dev/null; do sleep 0.05; done\n"
}

// run runs a script and returns what it wrote to standard output.
func (w world) run(t *testing.T, script, dir string) string {
	t.Helper()
	script = strings.NewReplacer(w.names...).Replace(script)
	for _, address := range []string{"127.0.0.1:7422", "127.0.0.1:8099", "127.0.0.1:4222"} {
		script = strings.ReplaceAll(script, address, freePort(t))
	}
	for _, place := range places {
		if _, err := os.Stat(filepath.Join(dir, place)); err == nil {
			script = strings.ReplaceAll(script, place, filepath.Join(dir, place))
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir = dir
	source, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "HOME="+dir, "RAMET_DATA=", "TZ=UTC", startWait,
		"PATH="+filepath.Join(dir, "usr/local/bin")+":"+bin+":"+os.Getenv("PATH"), "RAMET_SRC="+source)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = 10 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // and what it started
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s\nthe script was:\n%s", err, &out, &errs, script)
	}
	shown := out.String()
	for _, place := range places {
		shown = strings.ReplaceAll(shown, filepath.Join(dir, place), place)
	}
	return shown
}

// freePort is an address where nothing listens.
func freePort(t *testing.T) string {
	t.Helper()
	return testport.Free(t)
}

// passing are times and lengths of time.
var passing = regexp.MustCompile(`(\w{3} )?\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d| \w{3,4}\b)?)?|\b20\d{12}\b|\b\d+(\.\d+)?m?s\b`)

// lines are those of a text, without what differs from run to run.
func lines(text string) (list []string) {
	for line := range strings.Lines(text) {
		list = append(list, strings.Join(strings.Fields(passing.ReplaceAllString(line, "0s")), " "))
	}
	return list
}

// alike compares lines; where "…" is shown, anything may have come, and where it
// is the whole last line, any further lines or none.
func alike(got, want []string) bool {
	if last := len(want) - 1; last >= 0 && want[last] == "…" && len(got) >= last {
		got, want = got[:last], want[:last]
	}
	if len(got) != len(want) {
		return false
	}
	for i := range want {
		pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(want[i]), "…", ".*") + "$"
		if !regexp.MustCompile(pattern).MatchString(got[i]) {
			return false
		}
	}
	return true
}
