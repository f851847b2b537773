package scripttest

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/script"
)

func (s *suite) testOutcome(t *testing.T) {
	t.Run("a script that ends well has succeeded", func(t *testing.T) {
		j := s.run(t, s.cfg.Snippets.Succeed)
		j.want(t, script.Succeeded, 0)
		if got := j.outcome.Result[script.KeyExitCode]; got != "0" {
			t.Errorf("got exit_code %q, want 0", got)
		}
	})
	for _, tt := range []struct {
		code int
		want script.Verdict
	}{{1, script.Failed}, {3, script.Failed}, {124, script.Failed}, {125, script.Errored}, {255, script.Errored}} {
		t.Run("exit code "+strconv.Itoa(tt.code)+" has "+string(tt.want), func(t *testing.T) {
			s.needProcess(t)
			j := s.run(t, s.cfg.Snippets.Exit(tt.code))
			j.want(t, tt.want, tt.code)
			if got := j.outcome.Result[script.KeyExitCode]; got != strconv.Itoa(tt.code) {
				t.Errorf("got exit_code %q, want %d", got, tt.code)
			}
		})
	}
	t.Run("a script that crashes has errored and harms no other", func(t *testing.T) {
		s.needProcess(t)
		j := s.run(t, s.cfg.Snippets.Crash)
		j.want(t, script.Errored, 137)
		if !strings.Contains(j.outcome.Error, "SIGKILL") {
			t.Errorf("got error %q, want the signal's name", j.outcome.Error)
		}
		s.run(t, s.cfg.Snippets.Succeed).want(t, script.Succeeded, 0)
	})
}

func (s *suite) testResult(t *testing.T) {
	s.needProcess(t)
	put := s.cfg.Snippets.Put
	t.Run("keys from lines", func(t *testing.T) {
		j := s.run(t, put("RAMET_RESULT", "answer=42\nname=a=b c\n"))
		j.want(t, script.Succeeded, 0)
		if r := j.outcome.Result; r["answer"] != "42" || r["name"] != "a=b c" || r["exit_code"] != "0" {
			t.Errorf("got result %v", r)
		}
	})
	t.Run("keys from a JSON object", func(t *testing.T) {
		j := s.run(t, put("RAMET_RESULT", `{"text": "a", "number": 1.50, "list": [1, {"x": null}]}`))
		j.want(t, script.Succeeded, 0)
		if r := j.outcome.Result; r["text"] != "a" || r["number"] != "1.50" || r["list"] != `[1,{"x":null}]` {
			t.Errorf("got result %v", r)
		}
	})
	t.Run("an unusable result is an error that says where", func(t *testing.T) {
		j := s.run(t, put("RAMET_RESULT", "a=1\nno sense\n"))
		j.want(t, script.Errored, 0)
		if !j.outcome.Invalid || !strings.Contains(j.outcome.Error, "line 2") {
			t.Errorf("got invalid %v, error %q", j.outcome.Invalid, j.outcome.Error)
		}
	})
	t.Run("a checkpoint stays for the caller", func(t *testing.T) {
		j := s.run(t, put("RAMET_CHECKPOINT", "page 7"))
		j.want(t, script.Succeeded, 0)
		if got, _ := os.ReadFile(j.task.CheckpointFile); string(got) != "page 7" {
			t.Errorf("got checkpoint %q", got)
		}
	})
	t.Run("the input can be read", func(t *testing.T) {
		j := s.run(t, s.cfg.Snippets.Show("RAMET_INPUT"))
		j.want(t, script.Succeeded, 0)
		if got := strings.TrimSpace(j.outcome.Result[script.KeyStdout]); got != `{"params":{"n":1}}` {
			t.Errorf("got %q", got)
		}
	})
}

// own are the variables that a process may have beside those of the task:
// what every runtime adds, and what shells and C libraries set themselves.
var own = map[string]bool{"PATH": true, "HOME": true, "PWD": true, "TMPDIR": true, "LANG": true,
	"OLDPWD": true, "SHLVL": true, "_": true, "LC_CTYPE": true}

func (s *suite) testSurroundings(t *testing.T) {
	s.needProcess(t)
	t.Run("the environment is the task's and nothing of the node's", func(t *testing.T) {
		j := s.run(t, s.cfg.Snippets.Env)
		j.want(t, script.Succeeded, 0)
		got := map[string]string{}
		for _, line := range j.Lines("stdout") {
			key, value, _ := strings.Cut(line, "=")
			got[key] = value
		}
		for key, value := range j.task.Env {
			if got[key] != value {
				t.Errorf("got %s=%q, want %q", key, got[key], value)
			}
		}
		for key := range got {
			if _, asked := j.task.Env[key]; !asked && !own[key] {
				t.Errorf("got %s=%q, which nobody asked for", key, got[key])
			}
		}
		if got["HOME"] != j.task.Dir || got["TMPDIR"] != j.task.Dir+"/tmp" || got["LANG"] != "C.UTF-8" || got["PATH"] == "" {
			t.Errorf("got HOME=%q TMPDIR=%q LANG=%q PATH=%q", got["HOME"], got["TMPDIR"], got["LANG"], got["PATH"])
		}
		if info, err := os.Stat(j.task.Dir + "/tmp"); err != nil || !info.IsDir() {
			t.Errorf("TMPDIR is not there: %v", err)
		}
	})
	for _, tt := range []struct{ name, source, want string }{
		{"it stands in its work folder", s.cfg.Snippets.Cwd, ""},
		{"stdin is empty", s.cfg.Snippets.Stdin, "0"},
		{"no descriptor is inherited", s.cfg.Snippets.Files, "0\n1\n2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := s.run(t, tt.source)
			j.want(t, script.Succeeded, 0)
			want := tt.want
			if want == "" {
				want = j.task.Dir
			}
			if got := strings.Join(j.Lines("stdout"), "\n"); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func (s *suite) needProcess(t *testing.T) {
	t.Helper()
	if reason := s.cfg.Features.NoProcess; reason != "" {
		t.Skip(reason)
	}
}
