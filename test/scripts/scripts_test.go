package scripts

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ramet-run/ramet/internal/postgrestest"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/internal/testbinary"
)

// bin is the folder with the binary under test.
var bin string

func TestMain(m *testing.M) {
	os.Exit(testbinary.Run(m, func(folder string) { bin = folder }))
}

// early is the command of the library that ends a script before its end.
var early = regexp.MustCompile(`(?m)^stop\b`)

func TestScripts(t *testing.T) {
	files, err := filepath.Glob("*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("got scripts %q, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(file, ".txtar"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil || early.Match(text) {
				t.Fatalf("%v: the library's own stop would end the script here, as passed; ours is halt", err)
			}
			testscript.RunT(script{t}, params(t, file))
		})
	}
}

func params(t *testing.T, file string) testscript.Params {
	// Not t.TempDir: its long names do not fit into a socket's 108 bytes.
	root, err := os.MkdirTemp("", "ramet-scripts")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	examples, err := filepath.Abs(filepath.Join("..", "..", "examples"))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, nodes: map[string]*node{}, databases: map[string]*postgrestest.Server{}, redises: map[string]*redistest.Server{}}
	return testscript.Params{
		Files: []string{file}, WorkdirRoot: root, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("EXAMPLES", examples)
			env.Setenv("RAMET_START_WAIT", "0s")
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("DATA", filepath.Join(env.WorkDir, "home", ".local", "share", "ramet"))
			env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Defer(r.killAll)
			return os.MkdirAll(filepath.Join(env.WorkDir, "home"), 0o700)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"ramet": positive(r.ramet), "fails": positive(r.fails), "waitfor": positive(r.waitFor),
			"serve": positive(r.serve), "sites": positive(r.sites), "crash": positive(r.crash), "halt": positive(r.stop), "drained": positive(r.drained),
			"log":  positive(r.log),
			"json": positive(lookInto), "redis": positive(r.redis), "redispy": positive(r.redisPy), "postgres": positive(r.postgres),
			"fill": positive(fill), "corrupt": positive(corrupt), "flip": positive(flip),
		},
	}
}

// positive refuses a `!` before a command that has no opposite.
func positive(do func(ts *testscript.TestScript, args []string)) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg {
			ts.Fatalf("! makes no sense here")
		}
		do(ts, args)
	}
}

// script runs in the goroutine of its test, so that servers for tests can
// skip and fail it.
type script struct{ *testing.T }

func (s script) Run(_ string, f func(testscript.T)) { f(s) }
func (s script) Parallel()                          {} // it is already
func (s script) Verbose() bool                      { return testing.Verbose() }
