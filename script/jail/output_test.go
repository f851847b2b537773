//go:build unix

package jail

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/script"
)

// said is a host that keeps lines in the order in which they come.
type said struct {
	script.Host
	lines []string
}

func (h *said) Log(stream string, line []byte) { h.lines = append(h.lines, stream+" "+string(line)) }

// TestWhatLiesInBothOutputsIsReadInOneOrder: of what a process has written to both at once,
// what it does comes before what went wrong with it, each time.
func TestWhatLiesInBothOutputsIsReadInOneOrder(t *testing.T) {
	for range 200 {
		h := &said{}
		capture := script.NewCapture(script.Task{}, h)
		o, err := NewOutput(capture)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(o.Stdout, "one\ntwo\n")
		fmt.Fprint(o.Stderr, "bad\n")
		o.Started()
		o.Wait()
		if want := []string{"stdout one", "stdout two", "stderr bad"}; !slices.Equal(h.lines, want) {
			t.Fatalf("got %q, want %q", h.lines, want)
		}
	}
}

// TestAllOfBothOutputsIsRead, also of more than is read at once.
func TestAllOfBothOutputsIsRead(t *testing.T) {
	h := &said{}
	o, err := NewOutput(script.NewCapture(script.Task{}, h))
	if err != nil {
		t.Fatal(err)
	}
	out, bad := o.Stdout, o.Stderr
	copies := func(line string) string { return strings.Repeat(line+"\n", 40_000) }
	o.readers.Go(func() { o.drain(o.ends[0], o.capture.Stdout, nil) })
	o.readers.Go(func() { o.drain(o.ends[1], o.capture.Stderr, o.ends[0]) })
	go func() { fmt.Fprint(out, copies("out")); out.Close() }()
	go func() { fmt.Fprint(bad, copies("bad")); bad.Close() }()
	o.Wait()
	count := map[string]int{}
	for _, l := range h.lines {
		count[l]++
	}
	if len(count) != 2 || count["stdout out"] != 40_000 || count["stderr bad"] != 40_000 {
		t.Errorf("got %v, want 40000 of each", count)
	}
}
