package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/door/cli"
)

// TestImportSaysInWhichOrderToApply: a schedule is refused before its blueprint is there, and its file comes
// first by its name.
func TestImportSaysInWhichOrderToApply(t *testing.T) {
	dir := t.TempDir()
	r := ramet(t, cli.Hooks{}, "* * * * * run\n", "import", "crontab", "-", "--write", dir)
	want := "ramet blueprint apply " + filepath.Join(dir, "run.yaml") + ", and only then ramet schedule apply " + filepath.Join(dir, "run.schedule.yaml")
	if r.code != 0 || !strings.Contains(r.err, want) {
		t.Errorf("got %+v, want %s", r, want)
	}
	text, err := os.ReadFile(filepath.Join(dir, "run.schedule.yaml"))
	if err != nil || !strings.Contains(string(text), "overlap: allow\ncatch_up: 0\n") {
		t.Errorf("got %s, %v", text, err)
	}
}
