package processscript_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/processscript"
)

type quiet struct{}

func (quiet) Log(string, []byte) {}

// BenchmarkShell is one shell job after the other, with all that holds it in.
func BenchmarkShell(b *testing.B) {
	for _, level := range script.Levels {
		b.Run(string(level), func(b *testing.B) { benchmarkShell(b, level, false) })
	}
}

// BenchmarkShellParallel is the same with a caller per processor.
func BenchmarkShellParallel(b *testing.B) {
	for _, level := range script.Levels {
		b.Run(string(level), func(b *testing.B) { benchmarkShell(b, level, true) })
	}
}

func benchmarkShell(b *testing.B, level script.Level, parallel bool) {
	runtime := processscript.Shell(processscript.Config{Level: level})
	defer runtime.Close()
	runtime.Info() // opens the jail
	run := func(dir string) {
		task := script.Task{Name: "bench", Dir: dir, ResultFile: filepath.Join(dir, "result"), Script: "x=1\n"}
		outcome, err := runtime.Run(context.Background(), task, quiet{})
		if err != nil || outcome.Verdict != script.Succeeded {
			b.Error(outcome, err)
		}
	}
	if !parallel {
		dir := b.TempDir()
		for b.Loop() {
			run(dir)
		}
		return
	}
	b.RunParallel(func(pb *testing.PB) {
		dir, err := os.MkdirTemp(b.TempDir(), "job")
		if err != nil {
			b.Fatal(err)
		}
		for pb.Next() {
			run(dir)
		}
	})
}

// BenchmarkPlain is what the operating system needs for the same shell
// without anything around it.
func BenchmarkPlain(b *testing.B) {
	path := filepath.Join(b.TempDir(), "script.sh")
	if err := os.WriteFile(path, []byte("x=1\n"), 0o700); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if output, err := exec.Command("/bin/sh", path).CombinedOutput(); err != nil {
			b.Fatal(err, string(output))
		}
	}
}
