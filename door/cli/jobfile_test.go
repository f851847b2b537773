package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/cli"
)

func TestJobsFile(t *testing.T) {
	f := newFakeNode()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.py": "print(1)", "b": "#!/usr/bin/env -S FOO=1 python3.12 -u\n", "c": "#!/bin/bash\n",
		"d.OSIS.rhai": "1", "e.sal.rhai": "2", "f.x.rhai": "3"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "jobs.yml")
	text := `# all that a caller may ask for
jobs:
  - {id: 1, script_type: node, file: a.py, timeout: 5s, retries: 2, env_vars: {A: "1", B: x}, priority: 3, not_before: 99}
  - id: 2
    file: b
    dependends: [1]
    prerequisites: ["file:x", "approved"]
    prerequisite_timeout: 60
    for_runner: 4
    trace_id: t
    caller_id: 6
  - {file: c}
  - {script: "x", script_type: rhai}
  - {file: d.OSIS.rhai}
  - {file: e.sal.rhai}
  - {file: f.x.rhai}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ramet(t, f.hooks(), "", "job", "submit", file, "--env", "A=2", "--data", t.TempDir()); got.code != 0 {
		t.Fatalf("got %+v", got)
	}
	one, two := f.jobs[domain.JobKey{Caller: 1, ID: 1}], f.jobs[domain.JobKey{Caller: 6, ID: 2}]
	if one.ScriptType != "node" || one.Script != "print(1)" || one.Timeout != 5 || one.Retries != 2 || one.Priority != 3 || one.NotBefore != 99 {
		t.Errorf("got %+v", one)
	}
	if diff := cmp.Diff(map[string]string{"A": "2", "B": "x"}, one.EnvVars); diff != "" {
		t.Error(diff)
	}
	if two.ScriptType != "python" || two.ForRunner != 4 || two.TraceID != "t" || two.PrerequisiteTimeout != 60 || len(two.Prerequisites) != 2 ||
		two.Dependends[0] != 1 {
		t.Errorf("got %+v", two)
	}
	if len(f.jobs) != 7 {
		t.Errorf("got %d jobs", len(f.jobs))
	}
	dialects := map[string]domain.ScriptType{}
	for _, j := range f.jobs {
		if len(j.Script) == 1 && j.Script != "x" {
			dialects[j.Script] = j.ScriptType
		}
	}
	if diff := cmp.Diff(map[string]domain.ScriptType{"1": "osis", "2": "sal", "3": "rhai"}, dialects); diff != "" {
		t.Error(diff)
	}
}

func TestJobsFileInJSONWithTabs(t *testing.T) {
	f := newFakeNode()
	file := write(t, "jobs.json", "{\n\t\"jobs\": [\n\t\t{\n\t\t\t\"id\": 3,\n\t\t\t\"script_type\": \"shell\",\n\t\t\t\"script\": \"a\\tb\\n\\u00e9 "+
		"\\/ \\ud83d\\ude00\"\n\t\t}\n\t]\n}\n")
	got := ramet(t, f.hooks(), "", "job", "submit", file, "--data", t.TempDir())
	if j := f.jobs[domain.JobKey{Caller: 1, ID: 3}]; j == nil || j.Script != "a\tb\né / 😀" {
		t.Errorf("got %+v, %+v", got, j)
	}
}

func TestBadJobsFiles(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", "", "jobs.yaml is empty"},
		{"a list at the top", "- 1\n", "jobs.yaml:1: want a list of jobs under `jobs:`"},
		{"no jobs", "jobs: []\n", "want a list of at least one job"},
		{"jobs that are no list", "jobs: {}\n", "want a list of at least one job"},
		{"an unknown field at the top", "job:\n  - {}\n", `jobs.yaml:1: unknown field "job"; did you mean "jobs"?`},
		{"a misspelt field", "jobs:\n  - id: 1\n    scripttype: v\n", `jobs.yaml:3: unknown field "scripttype"; did you mean "script_type"?`},
		{"two letters swapped", "jobs:\n  - id: 1\n    retires: 3\n", `jobs.yaml:3: unknown field "retires"; did you mean "retries"?`},
		{"a letter too few", "jobs:\n  - {id: 1, scrpt: x}\n", `jobs.yaml:2: unknown field "scrpt"; did you mean "script"?`},
		{"a letter too many", "jobs:\n  - {id: 1, timeoutt: 3}\n", `did you mean "timeout"?`},
		{"the beginning of a field", "jobs:\n  - {id: 1, prereq: [a]}\n", `did you mean "prerequisites"?`},
		{"a field of other programs", "jobs:\n  - depends_on: [1]\n", `did you mean "dependends"?`},
		{"a field nobody knows", "jobs:\n  - zzz: 1\n", `unknown field "zzz"; known are id, caller_id`},
		{"a field of ours", "jobs:\n  - {id: 1, status: finished}\n", `jobs.yaml:2: field "status" is set by ramet; leave it out`},
		{"a field twice", "jobs:\n  - {id: 1, id: 2}\n", `jobs.yaml:2: "id" stands twice`},
		{"a text for a number", "jobs:\n  - id: 1\n    script: x\n    timeout: 1.5s\n",
			`jobs.yaml: line 4: "1.5s" is no span of time; want whole seconds, as 90, "90s", "1h30m" or "2d"`},
		{"a time that is none", "jobs:\n  - id: 1\n    script: x\n    not_before: tomorrow\n",
			`line 4: "tomorrow" is no instant: want RFC 3339, as 2026-01-31T02:00:00Z, or`},
		{"a number that is too large", "jobs:\n  - retries: 300\n", "into a number from 0 to 255"},
		{"a job that is no job", "jobs: [1]\n", "want a job with fields"},
		{"script and file", "jobs:\n  - {script: a, file: b}\n", "jobs.yaml:2: script and file: want one of them"},
		{"two spellings", "jobs:\n  - {depends: [1], dependends: [1], script: a, script_type: v}\n", "are the same field"},
		{"no type", "jobs:\n  - {script: a}\n", "want script_type"},
		{"a bad type", "jobs:\n  - {script: a, script_type: V}\n", `jobs.yaml:2: script type "V"`},
		{"a place that is none", "jobs:\n  - {script: a, script_type: v, at: acme}\n", `jobs.yaml:2: at "acme": want a context's number, as 7`},
		{"no script", "jobs:\n  - {script_type: v}\n", "jobs.yaml:2: script is empty"},
		{"an id twice", "jobs:\n  - {id: 1, script: a, script_type: v}\n  - {id: 1, script: a, script_type: v}\n", "jobs.yaml:3: job 1 stands at line 2 already"},
		{"aliases of 8 GB", "jobs:\n  - &j {script_type: v, script: " + strings.Repeat("x", 900_000) + "}\n" + strings.Repeat("  - *j\n", 9_999),
			"with what its aliases stand for written out"},
		{"two documents", "jobs: []\n---\njobs: []\n", "here begins a second document"},
		{"JSON with a misspelt field", "{\n\"jobs\": [\n{\"id\": 1,\n\"scrpt\": 1}]}", `jobs.yaml:4: unknown field "scrpt"`},
		{"no YAML", "jobs: [\n", "jobs.yaml: line "},
		{"a bad variable", "jobs:\n  - {script: a, script_type: v, env_vars: {RAMET_X: a}}\n", "names that begin with RAMET_"},
		{"an anchor within itself", "jobs:\n  - &a {script: a, script_type: v, env_vars: *a}\n", "jobs.yaml"},
	}
	for _, tt := range tests {
		got := ramet(t, newFakeNode().hooks(), "", "run", write(t, "jobs.yaml", tt.text))
		if got.code != 2 || !strings.Contains(got.err, tt.want) || strings.Count(got.err, "\n") != 1 {
			t.Errorf("%s: got %+v, want %q", tt.name, got, tt.want)
		}
	}
}

func TestAScriptThatAJobsFileNamesIsNotThere(t *testing.T) {
	got := ramet(t, newFakeNode().hooks(), "", "run", write(t, "jobs.yaml", "jobs:\n  - {file: nowhere.sh}\n"))
	if got.code != 4 || !strings.Contains(got.err, "jobs.yaml:2: ") || !strings.Contains(got.err, "nowhere.sh: no such file") {
		t.Errorf("got %+v", got)
	}
}

func TestBadScripts(t *testing.T) {
	f := newFakeNode()
	script := write(t, "a.sh", "x")
	tests := []struct {
		args string
		code int
		want string
	}{
		{"run " + write(t, "a.txt", "x"), 2, "give --type"},
		{"run nowhere.sh", 4, "no such file"},
		{"run " + t.TempDir(), 2, "is a directory"},
		{"run " + write(t, "e.sh", ""), 2, "script is empty"},
		{"run " + script + " --timeout 1500ms", 2, "whole seconds"},
		{"run " + script + " --env A", 2, "want NAME=VALUE"},
		{"run " + script + " --env RAMET_A=1", 2, "RAMET_"},
		{"run " + script + " --priority 10", 2, "priority 10"},
		{"run " + write(t, "latin.sh", "echo a\necho caf\xe9\n"), 2, "not UTF-8, near line 2"},
		{"run " + script + " --env A=\xe9", 2, "variable A is not UTF-8"},
		{"run " + script + " --type V", 2, `script type "V"`},
		{"run " + write(t, "l.sh", strings.Repeat("x", domain.MaxScriptBytes+1)), 2, "longer than a script may be"},
		{"run " + write(t, "j.yaml", "jobs: []") + " --retries 1", 2, "--retries is for a single script"},
	}
	for _, tt := range tests {
		got := ramet(t, f.hooks(), "", strings.Fields(tt.args)...)
		if got.code != tt.code || !strings.Contains(got.err, tt.want) {
			t.Errorf("%s: got %+v, want %d and %q", tt.args, got, tt.code, tt.want)
		}
	}
}

func FuzzJobsFile(f *testing.F) {
	f.Add("jobs:\n  - {id: 1, script_type: v, script: a, depends: [2]}\n")
	f.Add(`{"jobs": [{"id": 1, "file": "nowhere", "env_vars": {"A": null}}]}`)
	f.Add("jobs: [&a {env_vars: *a}]")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(dir, "jobs.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		// Nothing is hooked up: what is well formed ends there.
		hooks := cli.Hooks{TempFolder: tempFolder, Embedded: func(context.Context, cli.EmbeddedOptions) (cli.Embedded, error) {
			return cli.Embedded{}, domain.Exhaustedf("no node here")
		}}
		got := rametIn(t.Context(), hooks, "", "run", file)
		if got.code != 2 && got.code != 4 && got.code != 6 || strings.Count(got.err, "\n") != 1 {
			t.Errorf("%q: got %+v", text, got)
		}
	})
}
