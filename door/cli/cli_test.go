package cli_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/identity/cookie"
)

func TestMain(m *testing.M) {
	for _, name := range []string{"RAMET_DATA", "RAMET_NODE", "RAMET_KEY", "RAMET_BOARD", "RAMET_CONFIG"} {
		os.Unsetenv(name)
	}
	os.Setenv("RAMET_EMBED", "true") // the node of these tests is one that a command makes
	os.Exit(m.Run())
}

// write makes a file in a folder of its own.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRunOfOneScript(t *testing.T) {
	f := newFakeNode()
	file := write(t, "a.sh", "out hello\nerr careful\nout bye\nsum=3\n")
	got := ramet(t, f.hooks(), "", "run", file, "--env", "A=1", "--timeout", "90s", "--retries", "2", "--priority", "4")
	want := result{0, "hello\nbye\nsum  3\n", "careful\n"}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	j := f.jobs[domain.JobKey{Caller: 1, ID: 1}]
	if j.ScriptType != "shell" || j.EnvVars["A"] != "1" || j.Timeout != 90 || j.Retries != 2 || j.Priority != 4 {
		t.Errorf("submitted %+v", j)
	}
	o := f.options[0]
	if !o.Run || f.stopped != 1 {
		t.Errorf("started %+v, stopped %d times", o, f.stopped)
	}
	if _, err := os.Stat(o.DataDir); !os.IsNotExist(err) {
		t.Errorf("the throw-away folder is still there: %v", err)
	}
}

func TestWhatOthersWroteDoesNothingToTheTerminal(t *testing.T) {
	f := newFakeNode()
	if got := ramet(t, f.hooks(), "", "run", "no\x1b[2J\u009b.sh"); got.code == 0 || !strings.Contains(got.err, "no [2J .sh") {
		t.Errorf("got %d, %q", got.code, got.err)
	}
}

func TestRunOfAFailingScript(t *testing.T) {
	got := ramet(t, newFakeNode().hooks(), "", "run", write(t, "a.py", "fail"))
	want := result{1, "", "ramet: job:1:1 failed (script_failed): exit code 3\n"}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestRunOfAJobsFile(t *testing.T) {
	f := newFakeNode()
	dir := t.TempDir()
	file := write(t, "jobs.yaml", "jobs:\n  - {id: 4, script_type: shell, script: \"out a\\nx=1\"}\n  - {id: 5, script_type: shell, script: fail, depends: [4]}\n")
	got := ramet(t, f.hooks(), "", "run", file, "--data", dir)
	if got.code != 1 || got.out != "4 │ a\n4  x  1\n" && !strings.Contains(got.out, "4 │ a\n") {
		t.Errorf("got %+v", got)
	}
	for _, line := range []string{"4 │ finished in 1.5s\n", "5 │ failed (script_failed): exit code 3\n", "ramet: 1 of 2 jobs failed\n"} {
		if !strings.Contains(got.err, line) {
			t.Errorf("stderr %q lacks %q", got.err, line)
		}
	}
	if diff := cmp.Diff([]domain.JobID{4}, f.jobs[domain.JobKey{Caller: 1, ID: 5}].Dependends); diff != "" {
		t.Error(diff)
	}
	again := ramet(t, f.hooks(), "", "run", file, "--data", dir, "-o", "json")
	var list api.JobPage
	if err := json.Unmarshal([]byte(again.out), &list); err != nil || len(list.Jobs) != 2 {
		t.Errorf("%v in %q", err, again.out)
	}
	if again.code != 1 || !strings.Contains(again.err, "job:1:4 is known already") {
		t.Errorf("got %+v", again)
	}
}

func TestInterruptCancelsTheJobs(t *testing.T) {
	f := newFakeNode()
	ctx, interrupt := context.WithCancel(t.Context())
	file := write(t, "jobs.json", `{"jobs": [{"id": 1, "script_type": "shell", "script": "hang"}, {"id": 2, "script_type": "shell", "script": "hang"}]}`)
	done := make(chan result)
	go func() { done <- rametIn(ctx, f.hooks(), "", "run", file) }()
	<-f.begun
	<-f.begun
	interrupt()
	got := <-done
	if got.code != 130 || !strings.Contains(got.err, "ramet: cancelled: 1, 2\n") {
		t.Errorf("got %+v", got)
	}
	for key, j := range f.jobs {
		if j.Reason != domain.ReasonCancelled {
			t.Errorf("%s is %s", key, j.Status)
		}
	}
	if f.stopped != 1 {
		t.Errorf("the node was stopped %d times", f.stopped)
	}
}

func TestRefusedJobs(t *testing.T) {
	f := newFakeNode()
	got := ramet(t, f.hooks(), "", "run", write(t, "a", "x"), "--type", "cobol")
	want := result{2, "", "ramet: job 1 of 1 refused: nobody serves cobol\n"}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestJobCommands(t *testing.T) {
	f := newFakeNode()
	dir := t.TempDir()
	on := func(stdin string, args ...string) result {
		return ramet(t, f.hooks(), stdin, append(args, "--data", dir)...)
	}

	tests := []struct {
		args  string
		stdin string
		code  int
		out   string // part of it
		err   string // part of it
	}{
		{args: "job submit -", stdin: "#!/bin/sh\nout hello\nsum=3\n", out: "job:1:1\n"},
		{args: "job submit - --type python", stdin: "fail", out: "job:1:2\n"},
		{args: "job submit -", stdin: "jobs: [{id: 7, script_type: v, script: hang}]", out: "job:1:7\n"},
		{args: "job submit -", stdin: "jobs: [{id: 7, script_type: v, script: hang}]", out: "job:1:7\n", err: "known already"},
		{args: "job show 1", out: "result sum     3\n"},
		{args: "job show job:1:1 -o yaml", out: "script_type: shell\n"},
		{args: "job show 99", code: 4, err: "ramet: job:1:99: not found\n"},
		{args: "job show x", code: 2, err: `ramet: job "x": want job:<caller>:<id>`},
		{args: "job list", out: "job:1:7  v       started\n"},
		{args: "job list --limit 1", out: "job:1:1  shell   finished\n"},
		{args: "job list --status done", code: 2, err: `--status "done": want dispatched`},
		{args: "job list --status finishd", code: 2, err: `started, error or finished; did you mean finished?`},
		{args: "job list --since soon", code: 2, err: `--since "soon": want 90m or 7d (ago)`},
		{args: "job list --caller me", code: 2, err: `--caller "me": want a number from 0 to 4294967295`},
		{args: "job list --flow x", code: 2, err: `flow "x": want its number`},
		{args: "job cancel --all --until x", code: 2, err: `--until "x": want 90m or 7d`},
		{args: "flow list --reason bad", code: 2, err: `--reason "bad": want succeeded, failed, errored, cancelled or stuck`},
		{args: "message list --kind letter", code: 2, err: `--kind "letter": want job, chat, mail or result`},
		{args: "deadletter drop saga 1 --saga order", code: 2, err: `filters, --yes and --detach are for --all dead letters`},
		{args: "saga pause --all", code: 2, err: "accepts 1 arg(s), received 0; want `ramet saga pause NAME [CORRELATION] | pause NAME --all"},
		{args: "saga pause order 1 --all", code: 2, err: `--all is for all instances that the filters fit`},
		{args: "schedule list --limit 0", code: 2, err: `--limit 0: want 1 or more`},
		{args: "job logs 1", out: "hello\n"},
		{args: "job logs 1 -f -o json", out: `"line": "hello"`},
		{args: "job logs 2 --follow", code: 1, err: "failed (script_failed)"},
		{args: "job wait 1:1", out: "finished"},
		{args: "job wait 2", code: 1, out: "script_failed", err: "exit code 3"},
		{args: "job explain 7", out: "3 are before it"},
		{args: "job cancel 7", out: "cancelled"},
		{args: "job cancel 7", code: 5, err: "ramet: it has ended\n"},
		{args: "job retry 7", out: "job:1:7"},
	}
	for _, tt := range tests {
		got := on(tt.stdin, strings.Fields(tt.args)...)
		flat := strings.Join(strings.Fields(got.out), " ")
		want := strings.Join(strings.Fields(tt.out), " ")
		if got.code != tt.code || !strings.Contains(flat, want) || !strings.Contains(got.err, tt.err) {
			t.Errorf("%s: got %+v, want %+v", tt.args, got, tt)
		}
	}
	if f.options[0].Run || f.options[0].DataDir != dir {
		t.Errorf("started %+v", f.options[0])
	}
}

func TestOtherCommands(t *testing.T) {
	f := newFakeNode()
	dir := t.TempDir()
	key := write(t, "my.key", "")
	tests := []struct {
		args []string
		code int
		want string // part of the output
	}{
		{args: []string{"version"}, want: "ramet v1.2.3\n"},
		{args: []string{"info"}, want: "durability process"},
		{args: []string{"info", "-o", "json"}, want: `"runner_id": 3`},
		{args: []string{"doctor"}, code: 1, want: "bad work of context 1 job:1:9 is stuck: odd"},
		{args: []string{"doctor"}, code: 1, want: "warning board memory; what is acknowledged survives the end of the process, but not of the machine"},
		{args: []string{"doctor"}, code: 1, want: "warning runner fake not seen since 2001-02-0"},
		{args: []string{"audit"}, code: 1, want: "stuck job:1:9 odd"},
		{args: []string{"runner", "list"}, want: "not served v is not installed"},
		{args: []string{"runner", "list"}, want: "not in force cgroup: not delegated"},
		{args: []string{"prerequisite", "meet", "approved"}, want: "approved is met"},
		{args: []string{"context", "create", "--admin", "1,2", "--executor", "3", "--max-running-type", "v=2"}, want: "max running v 2"},
		{args: []string{"context", "create", "--admin", "0"}, code: 2, want: "actor 0"},
		{args: []string{"context", "show", "0"}, code: 2, want: `context "0"`},
		{args: []string{"actor", "new", "--file", filepath.Join(dir, "k")}, want: "actor 12 pubkey abab"},
		{args: []string{"actor", "new", "--no-register", "--id", "9", "-o", "json"}, want: `"mycelium": "myc"`},
		{args: []string{"actor", "new", "--no-register"}, code: 2, want: "wants --id"},
		{args: []string{"token", "--key", key, "--audience", "n"}, want: "signed for n\n"},
		{args: []string{"token", "--key", key}, code: 2, want: "--audience is missing"},
		{args: []string{"serve"}, code: 2, want: "cannot run a node"},
		{args: []string{"job", "lst"}, code: 2, want: `unknown command "lst" for "ramet job"; did you mean list?`},
		{args: []string{"jbo"}, code: 2, want: "did you mean job?"},
		{args: []string{"job", "show"}, code: 2, want: "accepts 1 arg(s), received 0; want `ramet job show KEY"},
		{args: []string{"info", "--quux"}, code: 2, want: "unknown flag: --quux; see `ramet info --help`"},
		{args: []string{"info", "-o", "xml"}, code: 2, want: `-o "xml"`},
		{args: []string{"info", "--context", "0"}, code: 2, want: "--context 0"},
		{args: []string{"info", "--node", "localhost"}, code: 2, want: "--data and --node: want one of them"},
		{args: []string{"completion", "bash"}, want: "bash completion"},
		{args: []string{"--help"}, want: "Run scripts that must not be lost"},
		{args: []string{"info", "--key", filepath.Join(dir, "none")}, code: 4, want: "does not exist"},
	}
	for _, tt := range tests {
		got := ramet(t, f.hooks(), "", append(tt.args, "--data", dir)...)
		flat := strings.Join(strings.Fields(got.out+got.err), " ")
		if got.code != tt.code || !strings.Contains(flat, strings.TrimSpace(tt.want)) {
			t.Errorf("%v: got %+v, want %d and %q", tt.args, got, tt.code, tt.want)
		}
	}
}

func TestEveryAnswerCanBeHadAsJSONAndYAML(t *testing.T) {
	f := newFakeNode()
	dir := t.TempDir()
	key := write(t, "my.key", "")
	ramet(t, f.hooks(), "out hello\n", "job", "submit", "-", "--type", "shell", "--data", dir)
	for _, args := range []string{
		"version", "info", "doctor", "audit", "runner list", "actor list", "actor show 1", "context list", "context show 1", "context create",
		"prerequisite meet x", "token --audience n --key " + key, "actor new --no-register --id 9",
		"job list", "job show 1", "job logs 1", "job wait 1", "job explain 1",
	} {
		for format, parse := range map[string]func([]byte, any) error{"json": json.Unmarshal, "yaml": yaml.Unmarshal} {
			got := ramet(t, f.hooks(), "", append(strings.Fields(args), "-o", format, "--data", dir)...)
			var v map[string]any
			if err := parse([]byte(got.out), &v); err != nil || len(v) == 0 {
				t.Errorf("%s -o %s: got %+v: %v", args, format, got, err)
			}
		}
	}
}

func TestANodeByURLGetsATokenForItsName(t *testing.T) {
	f := newFakeNode()
	s := httptest.NewServer(f)
	defer s.Close()
	t.Setenv("RAMET_NODE", s.URL+"#fake")
	got := ramet(t, f.hooks(), "", "job", "list", "--key", write(t, "k", ""))
	if got.code != 0 || len(f.options) != 0 {
		t.Fatalf("got %+v, started %v", got, f.options)
	}
	if diff := cmp.Diff([]string{"Bearer signed for fake", "Bearer signed for fake"}, f.tokens); diff != "" {
		t.Error(diff)
	}
}

// TestSeveralNodes: where one does not answer the next is asked, also for what may not be asked twice; each gets a token of its own
// once it is known for the one that is meant.
func TestSeveralNodes(t *testing.T) {
	f := newFakeNode()
	s := httptest.NewServer(f)
	defer s.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	key, script := write(t, "k", ""), write(t, "a.sh", "exit 0")
	tests := []struct {
		name, node, key string
		code            int
		want            string // in the complaint
	}{
		{"the first is away", gone.URL + "#anna , " + s.URL + "#fake", key, 0, ""},
		{"the last is away", s.URL + "#fake," + gone.URL + "#anna", key, 0, ""},
		{"without a key", gone.URL + "," + s.URL, "", 0, ""},
		{"another name", gone.URL + "#anna," + s.URL + "#prod", key, 3, s.URL + ` is the node "fake", not "prod"`},
		{"no name", gone.URL + "#anna," + s.URL, key, 2, `--node '` + s.URL + `#fake'`},
		{"no address", s.URL + "#fake,", key, 2, "want an address"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f.tokens = nil
			got := ramet(t, f.hooks(), "", "job", "submit", script, "--node", tt.node, "--key", tt.key)
			if got.code != tt.code || !strings.Contains(got.err, tt.want) {
				t.Errorf("got %+v, want %d and %q", got, tt.code, tt.want)
			}
			for _, token := range f.tokens {
				if token != "" && (token != "Bearer signed for fake" || tt.code != 0) {
					t.Errorf("it got the token %q", token)
				}
			}
			if tt.code == 0 && tt.key != "" && len(f.tokens) == 0 {
				t.Error("it got no token")
			}
		})
	}
	for _, about := range []string{"node drain", "node reload", "node log-level debug", "backup f", "console"} {
		args := append(strings.Fields(about), "--node", s.URL+","+gone.URL)
		if got := ramet(t, f.hooks(), "", args...); got.code != 2 || !strings.Contains(got.err, "is about one node") {
			t.Errorf("%s: got %+v", about, got)
		}
	}
}

func TestANodeThatIsNotTheOneMeantGetsNoToken(t *testing.T) {
	f := newFakeNode()
	s := httptest.NewServer(f)
	defer s.Close()
	key := write(t, "k", "")
	tests := []struct {
		name, node, key string
		code            int
		want            string // in the complaint
	}{
		{"another name", s.URL + "#prod", key, 3, s.URL + ` is the node "fake", not "prod"`},
		{"another name, without a key", s.URL + "#prod", "", 3, `is the node "fake", not "prod"`},
		{"no name", s.URL, key, 2, `--node '` + s.URL + `#fake'`},
		{"an empty name", s.URL + "#", key, 2, `says that it is "fake"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f.tokens = nil
			got := ramet(t, f.hooks(), "", "job", "list", "--node", tt.node, "--key", tt.key)
			if got.code != tt.code || !strings.Contains(got.err, tt.want) {
				t.Errorf("got %+v, want %d and %q", got, tt.code, tt.want)
			}
			for _, token := range f.tokens {
				if token != "" {
					t.Errorf("it got the token %q", token)
				}
			}
		})
	}
}

func TestAListeningNodeIsUsed(t *testing.T) {
	f := newFakeNode()
	dir := t.TempDir()
	l, err := net.Listen("unix", cli.SocketPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: f}
	go s.Serve(l)
	defer s.Close()
	if got := ramet(t, f.hooks(), "", "info", "--data", dir); got.code != 4 || !strings.Contains(got.err, "no cookie file "+cli.CookiePath(dir)) {
		t.Errorf("without a cookie: got %+v", got)
	}
	if err := cookie.New().Save(dir); err != nil {
		t.Fatal(err)
	}
	if got := ramet(t, f.hooks(), "", "info", "--data", dir); got.code != 0 || len(f.options) != 0 {
		t.Errorf("got %+v, started %v", got, f.options)
	}
}

func TestNoNode(t *testing.T) {
	got := ramet(t, cli.Hooks{}, "", "info", "--node", "http://127.0.0.1:1")
	if got.code != 7 || !strings.HasSuffix(got.err, "is the node running?\n") || strings.Count(got.err, "\n") != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestServe(t *testing.T) {
	var got cli.ServeOptions
	hooks := cli.Hooks{Serve: func(_ context.Context, o cli.ServeOptions) error {
		got = o
		return domain.Unavailablef("cannot listen")
	}}
	dir := filepath.Join(t.TempDir(), "new")
	r := ramet(t, hooks, "", "serve", "--data", dir, "--board", "mem:", "--listen", ":1", "--name", "n", "--runner-id", "4", "--lease", "5s",
		"--log-level", "debug", "--log-format", "json")
	if r.code != 7 || got.BoardURL != "mem:" || got.RunnerID != 4 || got.Lease.Seconds() != 5 || got.Socket != filepath.Join(dir, "ramet.sock") {
		t.Errorf("got %+v with %+v", r, got)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"--listen=x", "--log-format=xml", "--log-level=loud", "--grace=-1s"} {
		if r := ramet(t, hooks, "", "serve", "--data", dir, bad); r.code != 2 {
			t.Errorf("%s: got %+v", bad, r)
		}
	}
}

func TestSocketPath(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	if got := cli.SocketPath("/data/"); got != "/data/ramet.sock" {
		t.Errorf("got %s", got)
	}
	long := "/" + strings.Repeat("long/", 30)
	got := cli.SocketPath(long)
	if !strings.HasPrefix(got, os.TempDir()) || len(got) > 107+len(os.TempDir()) || got != cli.SocketPath(long+"x/..") || got == cli.SocketPath(long+"x") {
		t.Errorf("got %s", got)
	}
	deep := filepath.Join(t.TempDir(), strings.Repeat("d", 120))
	f := newFakeNode()
	if r := ramet(t, f.hooks(), "", "info", "--data", deep); r.code != 0 {
		t.Fatalf("got %+v", r)
	}
	dir := filepath.Dir(cli.SocketPath(deep))
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got %v, %v", info, err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if r := ramet(t, f.hooks(), "", "info", "--data", deep); r.code != 3 {
		t.Errorf("a folder that all may write to was trusted: %+v", r)
	}
}

func TestYAMLSaysWhatJSONSays(t *testing.T) {
	f := newFakeNode()
	dir := t.TempDir()
	script := "yes=no\nn=1\nodd=\"é: \\ {}\u2028\n<&>=x\n" + strings.Repeat("k", 1500) + "=long\n"
	ramet(t, f.hooks(), script, "job", "submit", "-", "--type", "shell", "--data", dir)
	var fromYAML, fromJSON map[string]any
	if err := yaml.Unmarshal([]byte(ramet(t, f.hooks(), "", "job", "show", "1", "--data", dir, "-o", "yaml").out), &fromYAML); err != nil {
		t.Fatal(err)
	}
	text := ramet(t, f.hooks(), "", "job", "show", "1", "--data", dir, "-o", "json").out
	if err := json.Unmarshal([]byte(text), &fromJSON); err != nil {
		t.Fatal(err)
	}
	same, _ := json.Marshal(fromYAML)
	json.Unmarshal(same, &fromYAML)
	if diff := cmp.Diff(fromJSON, fromYAML); diff != "" {
		t.Error(diff)
	}
}

// TestInfoSaysWhyANodeIsNotReady, as a table too.
func TestInfoSaysWhyANodeIsNotReady(t *testing.T) {
	f := newFakeNode()
	f.away = "the server of the event streams gives no answer"
	if got := ramet(t, f.hooks(), "", "info"); got.code != 0 || !strings.Contains(got.out, f.away) {
		t.Errorf("got %+v", got)
	}
}
