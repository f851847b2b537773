package circle_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/circle"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/value"
	"github.com/ramet-run/ramet/script/rhaiscript"
)

const (
	home = domain.TenantID(1)
	club = "friends" // a circle
)

// rig is circles on a board, with workers where a test starts some.
type rig struct {
	*testing.T
	board  board.Board
	engine *circle.Engine

	mu   sync.Mutex
	said []string // what scripts called say with, in order
}

// newRig is to be used in a bubble.
func newRig(t *testing.T, cfg circle.Config) *rig {
	b := memboard.Open()
	t.Cleanup(func() { b.Close() })
	return &rig{T: t, board: b, engine: circle.New(b, cfg)}
}

func bubble(t *testing.T, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newRig(t, circle.Config{})) })
}

// worker starts one; the returned function drains it, and is called at the end
// in any case.
func (r *rig) worker(change ...func(*circle.WorkerConfig)) (stop func() error) {
	r.Helper()
	cfg := circle.WorkerConfig{Circles: []domain.ServedCircle{{Name: club, Context: home}}, Owner: "n1/a", Slots: 4, Runtime: r.runtime()}
	for _, c := range change {
		c(&cfg)
	}
	w := circle.NewWorker(r.engine, cfg)
	ctx, cancel := context.WithCancel(r.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	stop = sync.OnceValue(func() error { cancel(); return <-done })
	r.Cleanup(func() { _ = stop() })
	return stop
}

// runtime is the real one, with a function that tells the test.
func (r *rig) runtime() *rhaiscript.Runtime {
	return rhaiscript.New(rhaiscript.Config{Slots: 4, Extend: func(e *rhai.Engine) {
		e.Register(&value.Native{Name: "say", Params: []value.Param{{Kinds: value.Of(value.StringKind)}}, Volatile: true, Signature: "say(text: string)",
			Call: func(_ *value.Ctx, text *value.Value, _ []value.Value) value.Value {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.said = append(r.said, text.AsString())
				return value.Unit
			}})
	}})
}

func (r *rig) heard() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.said...)
}

// recoverer starts what brings back lost leases.
func (r *rig) recoverer() {
	ctx, cancel := context.WithCancel(r.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = clockwork.Run(ctx, r.board, clockwork.Config{Owner: "clock/a"},
			[]clockwork.Maintenance{clockwork.Leases(r.board, slog.New(slog.DiscardHandler), r.engine.RecoverLease)})
	})
	r.Cleanup(func() { cancel(); wg.Wait() })
}

// commit changes the board as a foreign program would.
func (r *rig) commit(b *board.Batch) {
	r.Helper()
	b.Space = layout.SpaceOf(home)
	if err := r.board.Commit(r.Context(), *b); err != nil {
		r.Fatal(err)
	}
}

// write writes a task's record as a foreign client does: names and values.
func (r *rig) write(id string, fields ...string) {
	r.Helper()
	var list []board.Field
	for i := 0; i < len(fields); i += 2 {
		list = append(list, board.Field{Name: fields[i], Value: fields[i+1]})
	}
	r.commit(new(board.Batch).Set("rhai_task_details:"+id, list...))
}

// push pushes ids as a foreign client does.
func (r *rig) push(ids ...string) {
	r.Helper()
	r.commit(new(board.Batch).PushLeft("rhai_tasks:"+club, ids...))
}

func (r *rig) record(id string) board.Record {
	r.Helper()
	recs, err := r.board.Get(r.Context(), layout.SpaceOf(home), "rhai_task_details:"+id)
	if err != nil {
		r.Fatal(err)
	}
	return recs[0]
}

func (r *rig) list(key string) []string {
	r.Helper()
	items, err := r.board.List(r.Context(), layout.SpaceOf(home), key, 0, 100)
	if err != nil {
		r.Fatal(err)
	}
	return items
}

// wait returns the ended task.
func (r *rig) wait(id string) *domain.Task {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 24*time.Hour) // of the bubble
	defer cancel()
	t, err := r.engine.Wait(ctx, home, id)
	if err != nil {
		x, _ := r.engine.Explain(r.Context(), home, id)
		r.Fatalf("wait for %s: %v; %+v", id, err, x)
	}
	return t
}

func (r *rig) submit(id, text string) {
	r.Helper()
	t := &domain.Task{ID: id, Circle: club, Script: text, CallerID: 12}
	if _, err := r.engine.Submit(r.Context(), home, t); err != nil {
		r.Fatal(err)
	}
}

// reply is the one message on a reply queue, taken apart.
func (r *rig) reply(list string) map[string]string {
	r.Helper()
	items := r.list(list)
	if len(items) != 1 {
		r.Fatalf("%s: got %d messages %q, want one", list, len(items), items)
	}
	var m map[string]string
	if err := json.Unmarshal([]byte(items[0]), &m); err != nil {
		r.Fatalf("%s: %v", items[0], err)
	}
	return m
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
