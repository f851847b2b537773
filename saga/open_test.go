package saga_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/stream"
)

// slowLog takes a second to open a consumer, and counts those that it opens at once.
type slowLog struct {
	stream.Log
	mu      sync.Mutex
	opening map[string]int // by context
	most    map[string]int
	opened  int
}

func (l *slowLog) Read(ctx context.Context, c stream.Consumer) (stream.Reader, error) {
	tenant, _, _ := strings.Cut(strings.TrimPrefix(c.Durable, "saga-"), "-")
	l.mu.Lock()
	l.opening[tenant]++
	l.opening["any"]++
	for _, of := range []string{tenant, "any"} {
		l.most[of] = max(l.most[of], l.opening[of])
	}
	l.mu.Unlock()
	time.Sleep(time.Second)
	l.mu.Lock()
	l.opening[tenant]--
	l.opening["any"]--
	l.opened++
	l.mu.Unlock()
	return l.Log.Read(ctx, c)
}

func TestConsumersOfAContextAreOpenedOneByOne(t *testing.T) {
	bubble(t, func(r *rig) {
		def := machineOf("s", `fn on_event(state, event) { #{} }`)
		def.Partitions = 5
		for _, of := range []domain.TenantID{shop, 9} {
			r.apply(of, def)
		}
		l := &slowLog{Log: r.log, opening: map[string]int{}, most: map[string]int{}}
		defer r.workOn(r.board, l, saga.WorkerConfig{})()
		time.Sleep(time.Minute)
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.opened < 20 || l.most["7"] != 1 || l.most["9"] != 1 || l.most["any"] != 2 {
			t.Errorf("%d consumers were opened, at once at the most %v; want one of each context", l.opened, l.most)
		}
	})
}
