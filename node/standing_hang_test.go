package node_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/node"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/memstream"
)

// hung is a log whose broker does not answer.
type hung struct{ stream.Log }

func (hung) Acked(ctx context.Context, _ domain.StreamName, _ string) (seq, waiting uint64, there bool, err error) {
	<-ctx.Done()
	return 0, 0, false, ctx.Err()
}

// sized is an archive that says its size, the first time not.
type sized struct {
	archive.Archive
	asked int
}

func (*sized) Durability() (d board.Durability) { return d }
func (*sized) Close() error                     { return nil }

func (s *sized) Size(ctx context.Context) (archive.Size, error) {
	if s.asked++; s.asked == 1 {
		return archive.Size{}, errors.New("not now")
	}
	return archive.Size{Bytes: 7}, ctx.Err()
}

type calledAcme struct{}

func (calledAcme) TenantName(context.Context, domain.TenantID) (string, error) { return "acme", nil }
func (calledAcme) TenantByName(context.Context, string) (domain.TenantID, error) {
	return 1, nil
}

// TestABrokerThatHangsTakesNoOtherNumbers along: sizes have time of their own, and are looked at
// again soon where they could not be had.
func TestABrokerThatHangsTakesNoOtherNumbers(t *testing.T) {
	bubble(t, func(t *testing.T, b board.Board) {
		log := memstream.Open()
		defer log.Close()
		n, err := node.New(t.Context(), b, node.Config{DataDir: t.TempDir(), Name: "n1", Archive: &sized{},
			Runtimes: []script.Runtime{echo{typ: "go"}}, Sagas: node.SagasConfig{Log: hung{log}, Names: calledAcme{}}})
		if err != nil {
			t.Fatal(err)
		}
		def := domain.Listener{Name: "shipped", Blueprint: "ship", On: domain.SagaTrigger{Of: "Order", Types: []string{"OrderShipped"}}}
		if _, err := n.Listeners.Apply(t.Context(), 1, def, 1); err != nil {
			t.Fatal(err)
		}
		got := scrape(n)
		wantLines(t, got, "ramet_listeners_unknown 1", "ramet_standing_partial 1")
		for _, not := range []string{"\nramet_listener_lag_seconds", "\nramet_archive_size_bytes"} {
			if strings.Contains(got, not) {
				t.Errorf("what is not known is shown:\n%s", got)
			}
		}
		time.Sleep(10 * time.Second)
		wantLines(t, scrape(n), "ramet_archive_size_bytes 7")
	})
}

// outdone is a log of which another node has gone on with what it refuses, from a moment on.
type outdone struct {
	stream.Log
	by *atomic.Bool
}

func (outdone) Had(domain.StreamName, time.Time, uint64) {}

func (l outdone) Passed() error {
	if l.by.Load() {
		return errors.New("another node has gone on")
	}
	return nil
}

// TestANodeWhoseStreamsAreNoMoreLeavesThemToOthers: it would hold partitions that it cannot read. No rule gives them back.
func TestANodeWhoseStreamsAreNoMoreLeavesThemToOthers(t *testing.T) {
	bubble(t, func(t *testing.T, b board.Board) {
		log := outdone{memstream.Open(), new(atomic.Bool)}
		defer log.Close()
		n := start(t, b, node.Config{DataDir: t.TempDir(), Name: "n1", Sagas: node.SagasConfig{Log: log, Names: calledAcme{}, Serve: true}})
		time.Sleep(time.Minute)
		if off := n.Duties.Off(); len(off) > 0 {
			t.Errorf("while all is well: off %v", off)
		}
		log.by.Store(true)
		time.Sleep(10 * time.Second)
		rules := domain.Duties{Rules: []domain.DutyRule{{Disable: []domain.Role{domain.RoleEffect, domain.RoleKeeper}}}}
		if err := clockwork.DutyRulesOn(b).SetRules(t.Context(), rules); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		const why = "another node has gone on"
		want := []domain.Off{{Role: domain.RoleSaga, Why: why}, {Role: domain.RoleEffect, Why: why},
			{Role: domain.RoleKeeper, Rule: 1, Why: "the rule is for every node"}}
		if off := n.Duties.Off(); !slices.Equal(off, want) {
			t.Errorf("off %v, want %v", off, want)
		}
		recs, err := b.Get(t.Context(), 0, layout.Node("n1"))
		if err != nil || !strings.Contains(recs[0].Get("off"), why) {
			t.Errorf("its record says %v, %v", recs, err)
		}
		if err := n.stop(); err != nil {
			t.Error(err)
		}
	})
}
