package jail

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ramet-run/ramet/script"
)

// This file has what the probes of all systems have in common: how their script
// is started, and how what it says is read. The script itself is each system's.

// tempDir makes a folder with a work folder in it, for the probe. What a node has
// left that was killed in its probe goes.
func tempDir() (parent *script.TempFolder, dir string, err error) {
	script.SweepTempFolders("", script.ProbePrefix)
	if parent, err = script.NewTempFolder("", script.ProbePrefix); err != nil {
		return nil, "", err
	}
	dir = filepath.Join(parent.Path, "work")
	if err = os.Mkdir(dir, 0o700); err != nil {
		_ = parent.Remove() // the first error says more
	}
	return parent, dir, err
}

// probeSpec starts the probe as a script is started: in dir, a folder of parent,
// whose name tells its environment from the node's.
func probeSpec(parent, dir string, output *os.File, level script.Level, limits script.Limits) Spec {
	limits.Files = 123 // which the script looks for
	return Spec{
		Args: []string{"/bin/sh", "-c", probeScript}, Dir: dir,
		Env:    []string{"PATH=" + script.DefaultPath, "RAMET_PROBE=" + filepath.Base(parent), "PWD=" + dir},
		Limits: limits, Stdout: output, Stderr: output, Level: level, probe: true,
	}
}

// probed waits for the probe and returns the words it said.
func probed(p *Process, output io.Reader) (map[string]bool, error) {
	said, _ := io.ReadAll(io.LimitReader(output, 64<<10))
	if exit, _ := p.Await(context.Background(), 0); exit.Code != 0 {
		return nil, fmt.Errorf("the probe ended with %d: %s", exit.Code, bytes.TrimSpace(said))
	}
	facts := map[string]bool{}
	for _, word := range strings.Fields(string(said)) {
		facts[word] = true
	}
	return facts, nil
}
