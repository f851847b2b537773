package migrate_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/migrate"
)

var update = flag.Bool("update", false, "write what comes out of the samples")

// samples are texts as people have them; the ending of each is its format.
func samples(t testing.TB) []string {
	all, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, f := range all {
		if filepath.Ext(f) != ".golden" && filepath.Base(f) != "fuzz" {
			files = append(files, f)
		}
	}
	if len(files) < 6 {
		t.Fatalf("got %q", files)
	}
	return files
}

func format(file string) string { return strings.TrimPrefix(filepath.Ext(file), ".") }

// text is all of what came out, as the golden files have it.
func text(in *migrate.Imported) []byte {
	var b bytes.Buffer
	for _, n := range in.Notes {
		fmt.Fprintf(&b, "# line %d: %s\n", n.Line, strings.ReplaceAll(n.Text, "\n", " "))
	}
	for _, p := range in.Blueprints {
		b.WriteString("---\n")
		b.Write(blueprint.YAML(p))
	}
	for i := range in.Schedules {
		s := &in.Schedules[i]
		fmt.Fprintf(&b, "--- # schedule %s of %s: %s %s %s, catches up %d s\n", s.Name, s.Blueprint, s.Cron, s.Zone, s.Overlap, *s.CatchUp)
	}
	return b.Bytes()
}

func TestSamples(t *testing.T) {
	for _, file := range samples(t) {
		sample, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		in, err := migrate.Import(format(file), file, sample)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		got := text(in)
		if *update {
			if err := os.WriteFile(file+".golden", got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file + ".golden"); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v, or it is not what was: go test ./migrate -update, and look at the difference\n%s", file, err, got)
		}
		for _, b := range in.Blueprints {
			if again, err := blueprint.Parse("", blueprint.YAML(b)); err != nil || blueprint.Hash(again) != blueprint.Hash(b) {
				t.Errorf("%s: %s printed and read again: %v", file, b.Name, err)
			}
		}
	}
}

func TestWhatCannotBeImported(t *testing.T) {
	for _, tc := range []struct{ format, text, want string }{
		{"cron", "* * * * * a", "did you mean crontab?"},
		{"crontab", "# nothing\n", "nothing in it"},
		{"dagu", "a: [", "line 1"},
		{"dagu", "name: x", "no steps"},
		{"dagu", "steps: []", "valid blueprint"},
		{"github-actions", "on: push", "no jobs"},
		{"github-actions", "- a", "want a workflow"},
		{"conductor", "{}", "no tasks"},
		{"tascreed", "[]", "no job define"},
		{"dagu", "a: 1\na: 2\nsteps: [x]", "a"},
		{"dagu", strings.Repeat("#", migrate.MaxBytes+1), "bytes"},
	} {
		if _, err := migrate.Import(tc.format, "x.yaml", []byte(tc.text)); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s %.40q: got %v, want one with %q", tc.format, tc.text, err, tc.want)
		}
	}
}

// FuzzImport has each format read what is thrown at it: what is taken comes out as blueprints
// and schedules that pass their checks, written and read again the same, twice the same.
func FuzzImport(f *testing.F) {
	for _, file := range samples(f) {
		sample, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(format(file), string(sample))
	}
	f.Add("tascreed", `{"jobName":"a","steps":[{"stepName":"b"}]}`)
	f.Fuzz(func(t *testing.T, format, text string) {
		in, err := migrate.Import(format, "x.yaml", []byte(text))
		if err != nil {
			if !errors.Is(err, domain.ErrInvalid) {
				t.Fatalf("%s: got %v, want that it is invalid", format, err)
			}
			return
		}
		lines := strings.Count(text, "\n") + 1
		for _, n := range in.Notes {
			if n.Line < 0 || n.Line > lines+1 || n.Text == "" {
				t.Errorf("a note is about line %d of %d: %q", n.Line, lines, n.Text)
			}
		}
		for _, b := range in.Blueprints {
			if again, err := blueprint.Parse("", blueprint.YAML(b)); err != nil || blueprint.Hash(again) != blueprint.Hash(b) {
				t.Errorf("%s printed and read again: %v", b.Name, err)
			}
		}
	})
}
