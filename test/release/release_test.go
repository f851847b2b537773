// Package release makes a release for this machine and looks at what is in it,
// and runs what stands in deploy/ as far as that can be done without a container's
// engine.
package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const version = "v9.8.7-rc1"

// made is a release for this machine's processor, twice: in folders that differ
// in all but the commit. Both are gone when the tests are over.
var made [2]string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if short() {
		return m.Run()
	}
	for i, env := range [][]string{{"TZ=UTC"}, {"TZ=Asia/Tokyo", "LANG=tr_TR.UTF-8", "RAMET_DATA=/elsewhere"}} {
		folder, err := os.MkdirTemp("", "ramet-release")
		if err == nil {
			defer os.RemoveAll(folder)
			made[i] = folder
			err = release(folder, env)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}

// short reports whether -short is given; flags are not parsed in TestMain yet.
func short() bool {
	return slices.Contains(os.Args, "-test.short=true") || slices.Contains(os.Args, "-test.short")
}

func release(folder string, env []string) error {
	c := exec.Command("../../scripts/release", version, folder, "linux/"+runtime.GOARCH)
	c.Env = append(os.Environ(), env...)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("scripts/release: %v\n%s", err, out)
	}
	return nil
}

// need skips what takes a release where none was made.
func need(t *testing.T) {
	t.Helper()
	if made[0] == "" {
		t.Skip("a release is not made with -short")
	}
}

func TestTwoReleasesAreTheSameBytes(t *testing.T) {
	need(t)
	sums := [2]string{}
	for i, folder := range made {
		text, err := os.ReadFile(filepath.Join(folder, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = string(text)
	}
	if sums[0] != sums[1] {
		t.Errorf("one has\n%sthe other\n%s", sums[0], sums[1])
	}
	want := 2 // archive and inventory
	if _, err := exec.LookPath("dpkg-deb"); err == nil {
		want++
	}
	if n := strings.Count(sums[0], "\n"); n != want {
		t.Errorf("%d files have sums, want %d:\n%s", n, want, sums[0])
	}
	c := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	c.Dir = made[0]
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// unpack is the archive's content by its path below the archive's folder.
func unpack(t *testing.T) map[string][]byte {
	t.Helper()
	need(t)
	name := "ramet-" + version + "-linux-" + runtime.GOARCH
	f, err := os.Open(filepath.Join(made[0], name+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		rest, inside := strings.CutPrefix(h.Name, name+"/")
		if !inside || h.Uid != 0 || h.Uname != "" {
			t.Fatalf("%s of %d %q: want all in one folder, of nobody in particular", h.Name, h.Uid, h.Uname)
		}
		if h.Typeflag == tar.TypeReg {
			if files[rest], err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestTheArchiveHasWhatAnInstallationNeeds(t *testing.T) {
	files := unpack(t)
	for _, name := range []string{"ramet", "LICENSE", "README.md", "CHANGELOG.md", "completions/ramet.bash", "completions/_ramet", "completions/ramet.fish",
		"man/ramet.1", "man/ramet-job-submit.1", "man/ramet-saga-apply.1", "deploy/systemd/ramet.service", "deploy/kubernetes/ramet.yaml"} {
		if len(files[name]) < 100 {
			t.Errorf("%s has %d bytes; there are %v", name, len(files[name]), slices.Sorted(maps.Keys(files)))
		}
	}
	home, _ := os.UserHomeDir()
	for name, text := range files {
		if name == "ramet" { // what compilers put there is looked at by -trimpath
			continue
		}
		if home != "/" && len(home) > 1 && bytes.Contains(text, []byte(home+"/")) || bytes.Contains(text, []byte("/elsewhere")) {
			t.Errorf("%s names a folder of whoever built it", name)
		}
	}
}

func TestTheInventoryNamesWhatIsLinkedIn(t *testing.T) {
	need(t)
	text, err := os.ReadFile(filepath.Join(made[0], "ramet-"+version+"-linux-"+runtime.GOARCH+".sbom.json"))
	if err != nil {
		t.Fatal(err)
	}
	var bom struct {
		BomFormat string
		Metadata  struct {
			Component struct{ Name, Version string }
		}
		// Components are the modules.
		Components []struct{ Name, Version string }
	}
	if err := json.Unmarshal(text, &bom); err != nil {
		t.Fatal(err)
	}
	if bom.BomFormat != "CycloneDX" || bom.Metadata.Component.Version != version || len(bom.Components) < 30 {
		t.Errorf("got %s of %+v with %d modules", bom.BomFormat, bom.Metadata.Component, len(bom.Components))
	}
	for _, want := range []string{"github.com/cockroachdb/pebble", "modernc.org/sqlite"} {
		found := false
		for _, c := range bom.Components {
			found = found || strings.HasPrefix(c.Name, want) && c.Version != ""
		}
		if !found {
			t.Errorf("%s is not in it", want)
		}
	}
}

func TestTheDebianPackage(t *testing.T) {
	need(t)
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("dpkg-deb is not installed")
	}
	file := filepath.Join(made[0], "ramet_"+strings.TrimPrefix(version, "v")+"_"+runtime.GOARCH+".deb")
	fields := output(t, "dpkg-deb", "--field", file)
	if !strings.Contains(fields, "Version: 9.8.7~rc1\n") || !strings.Contains(fields, "Architecture: "+runtime.GOARCH+"\n") {
		t.Errorf("got %s", fields)
	}
	list := output(t, "dpkg-deb", "--contents", file)
	for _, path := range []string{"/usr/bin/ramet", "/usr/lib/systemd/system/ramet.service", "/etc/ramet/ramet.yaml", "/usr/share/man/man1/ramet-flow.1.gz"} {
		if !strings.Contains(list, " ."+path+"\n") {
			t.Errorf("%s is not in it:\n%s", path, list)
		}
	}
	folder := t.TempDir()
	output(t, "dpkg-deb", "--extract", file, folder)
	if got := output(t, filepath.Join(folder, "usr/bin/ramet"), "version"); !strings.HasPrefix(got, "ramet "+version+"\n") {
		t.Errorf("got %q", got)
	}
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func TestARefusedVersionMakesNothing(t *testing.T) {
	for _, version := range []string{"", "-x", "v1 2", "v1;id", "../v1"} {
		folder := filepath.Join(t.TempDir(), "out")
		c := exec.Command("../../scripts/release", version, folder, "linux/amd64")
		out, err := c.CombinedOutput()
		exit := (*exec.ExitError)(nil)
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), "is no version") {
			t.Errorf("%q: got %v: %s", version, err, out)
		}
		if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q made %s", version, folder)
		}
	}
}
