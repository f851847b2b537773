package jail

import (
	"context"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/script"
)

// BenchmarkStart is a shell that does nothing, from its start to its end, at each
// level. cpu-ms/op is the processor time of the node and of all processes of the
// job; what the kernel clears up later on threads of its own is not in it.
func BenchmarkStart(b *testing.B) {
	for _, level := range []script.Level{script.Open, script.Walled, script.Sealed} {
		b.Run(string(level), func(b *testing.B) {
			j, err := Open(Config{})
			if err != nil {
				b.Fatal(err)
			}
			defer j.Close()
			if _, err := j.Level(level, ""); err != nil {
				b.Skip(err)
			}
			spec := Spec{Args: []string{"/bin/sh", "-c", ":"}, Env: []string{"PATH=" + script.DefaultPath}, Dir: b.TempDir(), Level: level, Stdout: j.null,
				Stderr: j.null}
			before := processorTime(b)
			for b.Loop() {
				p, err := j.Start(spec)
				if err != nil {
					b.Fatal(err)
				}
				if exit, _ := p.Await(context.Background(), 0); exit.Code != 0 {
					b.Fatal(exit)
				}
			}
			b.ReportMetric((processorTime(b)-before)*1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// processorTime is what this process and all its children that have ended have
// taken so far, in seconds.
func processorTime(b *testing.B) (seconds float64) {
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var usage unix.Rusage
		if err := unix.Getrusage(who, &usage); err != nil {
			b.Fatal(err)
		}
		for _, t := range []unix.Timeval{usage.Utime, usage.Stime} {
			seconds += float64(t.Sec) + float64(t.Usec)/1e6
		}
	}
	return seconds
}
