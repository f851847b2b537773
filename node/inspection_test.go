package node_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/node"
	"github.com/ramet-run/ramet/script"
)

// meeting is a runtime whose check ends when that of the others has begun.
type meeting struct {
	echo
	all *sync.WaitGroup
}

func (m meeting) Check(context.Context) error {
	m.all.Done()
	m.all.Wait()
	return m.broken
}

// repairable is a runtime that does not work at first.
type repairable struct {
	echo
	works *atomic.Bool
}

func (r repairable) Check(ctx context.Context) error {
	if r.works.Load() {
		return nil
	}
	return domain.Unavailablef("no room for walls")
}

// TestARuntimeIsServedWhenItWorks, though it did not when the node started.
func TestARuntimeIsServedWhenItWorks(t *testing.T) {
	bubble(t, func(t *testing.T, b board.Board) {
		var works atomic.Bool
		n, err := node.New(t.Context(), b, node.Config{Name: "n", DataDir: t.TempDir(), Runtimes: []script.Runtime{repairable{echo{typ: "go"}, &works}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- n.Run(ctx) }()
		key := submit(t, n, 1, "ok")
		serves := func() domain.Service {
			t.Helper()
			recs, err := b.Get(t.Context(), 0, layout.Runner(n.RunnerID()))
			if err != nil {
				t.Fatal(err)
			}
			r, err := layout.DecodeRunner(layout.Runner(n.RunnerID()), recs[0])
			if err != nil || len(r.Serves) != 1 {
				t.Fatal(r, err)
			}
			return r.Serves[0]
		}
		time.Sleep(time.Hour)
		if x, err := n.Work.Explain(t.Context(), 1, key); err != nil || x.Outlook != domain.OutlookLacking || serves().Why != "no room for walls" ||
			slices.Contains(n.Roles(), domain.RoleRunner) {
			t.Errorf("got %+v, %v; it says %+v", x, err, serves())
		}
		works.Store(true)
		soon, stop := context.WithTimeout(t.Context(), 15*time.Minute)
		defer stop()
		if j, err := n.Work.Wait(soon, 1, key); err != nil || j.Status != domain.JobFinished {
			t.Errorf("got %+v, %v", j, err)
		}
		synctest.Wait()
		if s := serves(); !s.Served || s.Why != "" || s.Slots != 3 || !slices.Contains(n.Roles(), domain.RoleRunner) {
			t.Errorf("it says %+v", s)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Runtimes are inspected at once, none waits for another, and are told of in their
// order; what a node was given of them it does not ask for again.
func TestRuntimesAreInspectedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // one that waits for another is a deadlock here
		var all sync.WaitGroup
		all.Add(3)
		var said bytes.Buffer
		log := slog.New(slog.NewTextHandler(&said, nil))
		runtimes := []script.Runtime{
			meeting{echo{"python", domain.Unavailablef("no python")}, &all}, meeting{echo{"shell", nil}, &all},
			meeting{echo{"v", domain.Unavailablef("no v")}, &all},
		}
		found := node.Inspect(t.Context(), runtimes, map[domain.ScriptType]int{"shell": 7}, log)
		if python, v := strings.Index(said.String(), "no python"), strings.Index(said.String(), "no v"); python < 0 || v < python {
			t.Errorf("it said %s", said.String())
		}
		n, err := node.New(t.Context(), memboard.Open(), node.Config{Name: "n", DataDir: t.TempDir(), Runtimes: runtimes,
			Inspected: found, Slots: map[domain.ScriptType]int{"shell": 7}})
		if err != nil { // to check again would have panicked
			t.Fatal(err)
		}
		for i, want := range []domain.Service{{ScriptType: "python", Why: "no python"}, {ScriptType: "shell", Served: true, SlotUse: domain.SlotUse{Slots: 7}},
			{ScriptType: "v", Why: "no v"}} {
			got := n.Runner(time.Now()).Serves[i]
			if got.ScriptType != want.ScriptType || got.Why != want.Why || got.Served != want.Served || got.Slots != want.Slots {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
	})
}

// TestAStartThatIsGivenUpBlamesNoCommand: it ended them itself.
func TestAStartThatIsGivenUpBlamesNoCommand(t *testing.T) {
	ctx, giveUp := context.WithCancel(t.Context())
	var text bytes.Buffer
	log := slog.New(slog.NewTextHandler(&text, nil))
	var works atomic.Bool
	broken := []script.Runtime{repairable{echo{typ: "go"}, &works}}
	node.Inspect(ctx, broken, nil, log)
	if !strings.Contains(text.String(), "script type not served") {
		t.Errorf("a command that does not work is not told of: %q", text.String())
	}
	text.Reset()
	giveUp()
	node.Inspect(ctx, broken, nil, log)
	if text.Len() > 0 {
		t.Errorf("got %s", text.String())
	}
}
