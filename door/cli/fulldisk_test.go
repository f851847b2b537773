package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/internal/testmount"
)

// TestAFullDiskLeavesFilesAsTheyWere: a script that is to be formatted is not lost, and nothing stands where an import or an
// artifact goes, so that it can be repeated.
func TestAFullDiskLeavesFilesAsTheyWere(t *testing.T) {
	if !testmount.Own(t) {
		return
	}
	dir, data := t.TempDir(), t.TempDir()
	testmount.Small(t, dir, "128k")
	in := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	f := newFakeNode()
	f.jobs[domain.JobKey{Caller: 1, ID: 1}] = &domain.Job{ID: 1, CallerID: 1, ContextID: 1, Status: domain.JobFinished}
	run := func(want int, args ...string) {
		t.Helper()
		var errs bytes.Buffer
		if code := cli.Main(t.Context(), args, cli.Streams{Out: &bytes.Buffer{}, Err: &errs}, f.hooks()); code != want {
			t.Errorf("%q: got exit code %d and %q; want %d", args, code, &errs, want)
		}
	}
	text := strings.Repeat("let x=1;", 2_000)
	must(os.WriteFile(in("script.rhai"), []byte(text), 0o640))
	must(os.WriteFile(in("tab"), []byte("0 2 * * * echo a\n"), 0o600))
	must(os.Mkdir(in("out"), 0o700))
	t.Setenv("XDG_CONFIG_HOME", dir)
	run(0, "profile", "add", "one", "--node", "http://127.0.0.1:1")
	profiles, err := os.ReadFile(in("ramet/profiles.yaml"))
	must(err)

	full, err := os.Create(in("full"))
	must(err)
	for err == nil {
		_, err = full.Write(make([]byte, 4<<10))
	}
	must(full.Close())
	run(7, "rhai", "fmt", "-w", in("script.rhai"))
	if is, err := os.ReadFile(in("script.rhai")); err != nil || string(is) != text {
		t.Errorf("the script has %d bytes, and had %d: %v", len(is), len(text), err)
	}
	run(7, "profile", "add", "two", "--node", "http://127.0.0.1:2")
	if is, err := os.ReadFile(in("ramet/profiles.yaml")); err != nil || !bytes.Equal(is, profiles) {
		t.Errorf("the profiles are %q, and were %q: %v", is, profiles, err)
	}
	run(7, "job", "artifacts", "get", "1", "--output", in("out"), "--data", data)
	if list, err := os.ReadDir(in("out")); err != nil || len(list) > 0 {
		t.Errorf("an artifact has left %v, %v", list, err)
	}
	run(7, "import", "crontab", in("tab"), "--write", in("out"))
	if list, err := os.ReadDir(in("out")); err != nil || len(list) > 0 {
		t.Errorf("the import has left %v, %v", list, err)
	}

	must(os.Remove(in("full")))
	run(0, "job", "artifacts", "get", "1", "--output", in("out"), "--data", data)
	run(0, "import", "crontab", in("tab"), "--write", in("out"))
	run(0, "rhai", "fmt", "-w", in("script.rhai"))
	st, err := os.Stat(in("script.rhai"))
	must(err)
	if st.Mode().Perm() != 0o640 || st.Size() <= int64(len(text)) {
		t.Errorf("the script has %v and %d bytes", st.Mode(), st.Size())
	}
}
