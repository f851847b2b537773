package rhai_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/internal/watched"
)

// TestAnotherModuleCarriesNothingElse builds a program of a module of its own
// that uses rhai, from nothing but this source and Go's own library: there is no
// network, and no module of anybody else's at hand.
func TestAnotherModuleCarriesNothingElse(t *testing.T) {
	watched.Alone(t)
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("needs the go command: ", err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text, err := os.ReadFile("testdata/host/main.go")
	if err != nil {
		t.Fatal(err)
	}
	const module = "module example.com/host\n\ngo 1.26.0\n\nrequire github.com/ramet-run/ramet v0.0.0\n\nreplace github.com/ramet-run/ramet => "
	for name, text := range map[string]string{"main.go": string(text), "go.mod": module + root + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local", "GOMODCACHE="+filepath.Join(dir, "modules"))
		var problems strings.Builder
		cmd.Stderr = &problems
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s%s", name, args, err, out, problems.String())
		}
		return string(out)
	}
	const ours = "github.com/ramet-run/ramet/rhai"
	deps := strings.Fields(run(tool, "list", "-mod=mod", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "."))
	slices.Sort(deps)
	if want := []string{"example.com/host", ours, ours + "/lib", ours + "/syntax", ours + "/value"}; !slices.Equal(deps, want) {
		t.Errorf("the program is made of %q, want %q", deps, want)
	}
	run(tool, "build", "-mod=mod", "-o", "host", ".")
	want := "Ada's [tea cup pot]\n" + `#{"greeting": "[Dear Ada]", "owner": "Ada", "price": 7.5}` + "\nAda 7.5 [Dear Ada]\n"
	if got := run(filepath.Join(dir, "host")); got != want {
		t.Errorf("it prints\n%s\nwant\n%s", got, want)
	}
}
