package console_test

import (
	"bufio"
	nethttp "net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/http"
	"github.com/ramet-run/ramet/internal/budget"
	"github.com/ramet-run/ramet/service"
)

// BenchmarkViewersOfWhatHasEnded is what 1,000 who look at a flow that has ended cost in a minute in which nothing happens.
func BenchmarkViewersOfWhatHasEnded(b *testing.B) {
	r := newRig(b, func(r *rig, _ *service.Parts) {
		r.doors = http.Config{Budget: budget.New(budget.Config{Streams: 4000, StreamsPerActor: 4000}, nil)}
	})
	id := r.flow("name: a\nsteps: [{name: x, script: fail, script_type: words}]")
	r.ended(id)
	look(r, id, 1000, func() {})
	for b.Loop() {
		began, used := time.Now(), processor()
		time.Sleep(time.Minute)
		b.ReportMetric(100*(processor()-used).Seconds()/time.Since(began).Seconds(), "%core")
	}
}

// BenchmarkViewers is what 1,000 and 2,000 who look at one flow cost a node while the flow
// changes twice a second: processor time as a share of one core, those of the readers in
// the same process included, memory for each, and how long a change is on its way.
func BenchmarkViewers(b *testing.B) {
	for _, n := range []int{1000, 2000} {
		b.Run(map[int]string{1000: "1000", 2000: "2000"}[n], func(b *testing.B) { benchmarkViewers(b, n) })
	}
}

func benchmarkViewers(b *testing.B, n int) {
	r := newRig(b, func(r *rig, _ *service.Parts) {
		r.doors = http.Config{Budget: budget.New(budget.Config{Streams: 4000, StreamsPerActor: 4000}, nil)}
	})
	id := r.flow("name: a\nsteps:\n  - {name: look, kind: approval}\n  - {name: x, needs: look, script: say a, script_type: words}\n")
	memory := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	before := memory()
	var told atomic.Int64
	look(r, id, n, func() { told.Add(1) })
	each := float64(memory()-before) / float64(n) / 1024
	p := api.FlowParams{Context: 7, Flow: id}
	var took []time.Duration
	changes := 0
	began, used := time.Now(), processor()
	for b.Loop() {
		want := told.Load() + int64(n)
		at := time.Now()
		if changes++; changes%2 == 1 {
			do(r, admin, api.FlowPause, p)
		} else {
			do(r, admin, api.FlowResume, p)
		}
		for told.Load() < want {
			time.Sleep(time.Millisecond)
		}
		took = append(took, time.Since(at))
		time.Sleep(time.Until(at.Add(500 * time.Millisecond)))
	}
	b.ReportMetric(100*(processor()-used).Seconds()/time.Since(began).Seconds(), "%core")
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "ms-to-all")
	b.ReportMetric(each, "KB/viewer")
}

// look has n browsers look at a flow, and returns when they see it; told is called at each change.
func look(r *rig, id domain.FlowID, n int, told func()) {
	who := r.as(reader)
	who.client.Transport = &nethttp.Transport{MaxConnsPerHost: 0}
	var open sync.WaitGroup
	coming := make(chan struct{}, 50) // who comes waits for a page that is made from then on
	for range n {
		open.Add(1)
		coming <- struct{}{}
		go func() {
			events, end := who.stream(livePath("flows/%d", id))
			r.Cleanup(end)
			<-coming
			first := true
			for range events {
				if first {
					first = false
					open.Done()
					continue
				}
				told()
			}
		}()
	}
	open.Wait()
}

// processor is the processor time of this process so far.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// stream is follow for many: it passes on that something came, not what.
func (b *browser) stream(path string) (events <-chan struct{}, end func()) {
	b.Helper()
	req, err := nethttp.NewRequestWithContext(b.Context(), "GET", b.server.URL+"/console/"+path, nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := b.client.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	if resp.StatusCode != 200 {
		b.Fatalf("got %s", resp.Status)
	}
	found := make(chan struct{}, 100)
	go func() {
		defer close(found)
		lines := bufio.NewReaderSize(resp.Body, 4096)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			if strings.HasPrefix(line, "id: ") {
				found <- struct{}{}
			}
		}
	}()
	return found, func() { resp.Body.Close() }
}
