package cluster

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/internal/testwait"
)

// receipts are whom each number was acknowledged to, as those who submit write them down.
type receipts struct {
	mu    sync.Mutex
	whose map[string]string
	twice []string
}

func (r *receipts) note(key, whose string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if first, again := r.whose[key]; again {
		r.twice = append(r.twice, fmt.Sprintf("%s is that of %s and of %s", key, first, whose))
	}
	r.whose[key] = whose
}

// awaitMore waits until so many more were acknowledged.
func (r *receipts) awaitMore(t *testing.T, n int) {
	t.Helper()
	count := func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.whose)
	}
	n += count()
	testwait.Until(t, "more receipts", func() bool { return count() >= n })
}

// TestNoNumberTwiceOnARedisThatIsSetBack has nodes submit jobs and flows, while their Redis, of which each answer
// lies on the disk, gets the disk of a moment before, again and again.
func TestNoNumberTwiceOnARedisThatIsSetBack(t *testing.T) {
	t.Parallel()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	server := redistest.Start(t, "appendonly yes", "appendfsync always")
	dir := t.TempDir()
	job := domain.Job{Script: "1", ScriptType: domain.ScriptRhai}
	r := &receipts{whose: map[string]string{}}
	ctx, end := context.WithCancel(t.Context())
	var submitters sync.WaitGroup
	defer submitters.Wait()
	defer end()
	for i := range 3 {
		data := filepath.Join(dir, string(rune('a'+i)))
		d := newDaemon(t, filepath.Base(data), func() *exec.Cmd {
			return exec.Command(bin, "serve", "--data", data, "--board", server.URL(), "--listen", "none", "--log-level", "warn",
				"--archive", "sqlite:"+filepath.Join(dir, "archive.db"))
		})
		c := dialNode(t, d, data)
		for _, submit := range []func() (key string, err error){
			func() (string, error) {
				key, err := c.SubmitJob(ctx, 1, job)
				return key.String(), err
			},
			func() (string, error) {
				f, err := c.SubmitFlow(ctx, 1, api.FlowInput{Jobs: []api.JobInput{{Job: job}}})
				if err == nil && f.Error != nil {
					err = &client.Error{Problem: *f.Error}
				}
				return f.Key, err
			},
		} {
			submitters.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					if key, err := submit(); err == nil {
						r.note(key, fmt.Sprintf("submit %d at node %d", n, i))
						continue
					}
					select { // Redis is just being restarted
					case <-time.After(5 * time.Millisecond):
					case <-ctx.Done():
					}
				}
			})
		}
	}
	for range rounds(t) {
		r.awaitMore(t, 100)
		server.Keep()
		r.awaitMore(t, 100)
		server.Lose()
	}
	r.awaitMore(t, 100)
	end()
	submitters.Wait()
	if len(r.twice) > 0 {
		t.Errorf("%d of %d numbers were given out twice: %s", len(r.twice), len(r.whose), strings.Join(r.twice[:min(5, len(r.twice))], "; "))
	}
	t.Logf("%d numbers over %d times that the server was set back", len(r.whose), rounds(t))
}
