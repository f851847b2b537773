package pythonscript_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/pythonscript"
)

// benchScript is a small job that does something: it reads its environment,
// uses the standard library, and prints.
const benchScript = "import json, os\nprint(json.dumps({'n': 1, 'job': os.environ.get('RAMET_JOB')}))\n"

type quiet struct{}

func (quiet) Log(string, []byte) {}

// callers runs b.N jobs from several goroutines, each in a folder of its own,
// and reports jobs per second.
func callers(b *testing.B, count int, job func(dir string) error) {
	var taken atomic.Int64
	var group sync.WaitGroup
	root := b.TempDir()
	b.ResetTimer()
	for caller := range count {
		dir := filepath.Join(root, fmt.Sprint(caller))
		if err := os.Mkdir(dir, 0o700); err != nil {
			b.Fatal(err)
		}
		group.Go(func() {
			for taken.Add(1) <= int64(b.N) {
				if err := job(dir); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}

func benchmarkRuntime(b *testing.B, cfg pythonscript.Config, source string) {
	runtime := open(b, cfg)
	defer runtime.Close()
	if err := runtime.Check(b.Context()); err != nil {
		b.Fatal(err)
	}
	for _, count := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("callers=%d", count), func(b *testing.B) {
			callers(b, count, func(dir string) error {
				task := script.Task{Name: "bench", Dir: dir, Script: source, ResultFile: filepath.Join(dir, "result"),
					Env: map[string]string{"RAMET_JOB": "job:1:1", "RAMET_RESULT": filepath.Join(dir, "result")}}
				outcome, err := runtime.Run(context.Background(), task, quiet{})
				if err == nil && outcome.Verdict != script.Succeeded {
					err = fmt.Errorf("%+v", outcome)
				}
				return err
			})
		})
	}
}

// BenchmarkPool is the forked pool, with all that holds its jobs in.
func BenchmarkPool(b *testing.B) { benchmarkRuntime(b, pythonscript.Config{}, benchScript) }

// BenchmarkPoolEmpty is the same with a script that does nothing.
func BenchmarkPoolEmpty(b *testing.B) { benchmarkRuntime(b, pythonscript.Config{}, "pass\n") }

// BenchmarkReused keeps interpreters, and BenchmarkReusedEmpty does nothing in them.
func BenchmarkReused(b *testing.B) { benchmarkRuntime(b, pythonscript.Config{Reuse: 100}, benchScript) }

func BenchmarkReusedEmpty(b *testing.B) {
	benchmarkRuntime(b, pythonscript.Config{Reuse: 100}, "pass\n")
}

// BenchmarkPoolPlain starts an interpreter per job, held in like the pool's.
func BenchmarkPoolPlain(b *testing.B) {
	benchmarkRuntime(b, pythonscript.Config{Plain: true}, benchScript)
}

// BenchmarkOpenPool and BenchmarkOpenPoolPlain are the same without walls.
func BenchmarkOpenPool(b *testing.B) {
	benchmarkRuntime(b, pythonscript.Config{Level: script.Open}, benchScript)
}

func BenchmarkOpenPoolPlain(b *testing.B) {
	benchmarkRuntime(b, pythonscript.Config{Level: script.Open, Plain: true}, benchScript)
}

// BenchmarkPlain is `python3 FILE` by os/exec, with nothing around it: what the
// pool is measured against.
func BenchmarkPlain(b *testing.B) {
	for _, count := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("callers=%d", count), func(b *testing.B) {
			callers(b, count, func(dir string) error {
				path := filepath.Join(dir, "script.py")
				if err := os.WriteFile(path, []byte(benchScript), 0o600); err != nil {
					return err
				}
				output, err := exec.Command("python3", path).CombinedOutput()
				if err != nil {
					err = fmt.Errorf("%w: %s", err, output)
				}
				return err
			})
		})
	}
}
