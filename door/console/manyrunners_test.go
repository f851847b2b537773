package console_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/service/servicetest"
)

// counting counts the records of workers that are read.
type counting struct {
	service.Records
	read atomic.Int64
}

func (c *counting) Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error) {
	if len(keys) > 0 && strings.HasPrefix(keys[0], layout.RunnerPrefix) {
		c.read.Add(int64(len(keys)))
	}
	return c.Records.Get(ctx, space, keys...)
}

// TestManyWorkersAreReadOnce for the pages of all who look: a page shows all of them, and those that come next do not
// have them read again.
func TestManyWorkersAreReadOnce(t *testing.T) {
	const workers = 700 // two pages of them
	var count *counting
	r := newRig(t, func(_ *rig, p *service.Parts) {
		count = &counting{Records: p.Records}
		p.Records = count
	})
	for i := range workers {
		about := domain.Runner{ID: domain.RunnerID(1000 + i), Worker: fmt.Sprintf("w%03d", i), Actor: executor, SeenMs: time.Now().UnixMilli(),
			Serves: []domain.Service{{ScriptType: "mail", Served: true, SlotUse: domain.SlotUse{Slots: 1, PerContext: 1}}}}
		b := board.Batch{Space: board.Space(servicetest.House)}
		if err := r.board.Commit(t.Context(), *b.Set(layout.Runner(about.ID), layout.EncodeRunner(about)...)); err != nil {
			t.Fatal(err)
		}
	}
	b := r.as(reader)
	b.has(b.get(200, path("operate/runners")), "w000", "w699", "700 runners are alive")
	first := count.read.Load()
	for range 5 {
		b.get(200, path(""))
		b.get(200, path("operate/queues"))
	}
	if again := count.read.Load() - first; again > 0 {
		t.Errorf("%d records were read again, of %d", again, first)
	}
}
