package script_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ramet-run/ramet/script"
)

func TestALibraryIsForScriptsThatNameIt(t *testing.T) {
	l := script.Library{Files: map[string]string{"lib/ramet.py": "x = 1"}, Variable: "PYTHONPATH", Path: "lib"}
	for _, tt := range []struct {
		name, source, before string
		there                bool
		want                 func(dir string) string
	}{
		{"another script has no more in its folder", "print(1)", "", false, func(string) string { return "" }},
		{"one that names it finds it", "import ramet", "", true, func(dir string) string { return filepath.Join(dir, "lib") }},
		{"before what it has already", "import ramet", "/own", true, func(dir string) string { return filepath.Join(dir, "lib") + ":/own" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			task := script.Task{Script: tt.source, Dir: t.TempDir(), Env: map[string]string{}}
			if tt.before != "" {
				task.Env["PYTHONPATH"] = tt.before
			}
			if err := l.Add(&task); err != nil {
				t.Fatal(err)
			}
			_, err := os.Stat(filepath.Join(task.Dir, "lib", "ramet.py"))
			if (err == nil) != tt.there || task.Env["PYTHONPATH"] != tt.want(task.Dir) {
				t.Errorf("got the file %t, and the path %q", err == nil, task.Env["PYTHONPATH"])
			}
		})
	}
}
