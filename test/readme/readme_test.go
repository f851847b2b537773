// Package readme runs every command of the README as a reader would.
package readme

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/internal/redistest"
)

var block = regexp.MustCompile("(?ms)^```(sh|yaml)\n(.*?)^```$")

// TestCommands runs the sh blocks in one shell, in order; a yaml block is the
// file that the next commands call jobs.yaml. The two make commands are run by
// CI itself.
func TestCommands(t *testing.T) {
	redis := redistest.Start(t)
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	script := "set -eu\n"
	for _, b := range block.FindAllStringSubmatch(string(text), -1) {
		if b[1] == "yaml" {
			script += "cat >jobs.yaml <<'END_OF_FILE'\n" + b[2] + "END_OF_FILE\n"
			continue
		}
		for _, line := range strings.Split(strings.TrimSpace(b[2]), "\n") {
			script += command(line) + "\n"
		}
	}
	script += "kill $(jobs -p); wait\necho all commands ran\n"
	script = strings.ReplaceAll(script, "127.0.0.1:6379", redis.Addr())
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "RAMET_DATA=", "PATH="+build(t)+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "all commands ran\n") {
		t.Fatalf("%v\n%s\nthe script was:\n%s", err, out, script)
	}
	for _, want := range []string{"42", "the lab is open"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
}

var dataFlag = regexp.MustCompile(`--data (\S+)`)

// command makes a line wait for what a reader would wait for.
func command(line string) string {
	switch {
	case strings.HasPrefix(line, "make "):
		return "true"
	case strings.HasSuffix(line, "&"):
		return line + "\nuntil [ -S " + dataFlag.FindStringSubmatch(line)[1] + "/ramet.sock ]; do sleep 0.05; done"
	}
	return line
}

// build makes the binary and returns its folder.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("go", "build", "-o", filepath.Join(dir, "ramet"), "./cmd/ramet")
	cmd.Dir = filepath.Join("..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}
