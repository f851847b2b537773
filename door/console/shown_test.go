package console

// Inside the package: what many viewers have in common is looked at without them.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
)

// board is where changes come from, in a test.
type board struct{ each func([]service.Change) error }

func (b *board) changes(ctx context.Context, _ domain.TenantID, each func([]service.Change) error) error {
	b.each = each
	_ = each(nil)
	<-ctx.Done()
	return ctx.Err()
}

var flow1 = service.Change{Noun: "flow", Key: "flow:1"}

// made waits for the turn, and makes a page of a text that follows flow 1.
func made(t *testing.T, s *shown, text string) *fragment {
	t.Helper()
	<-s.turn
	if err := s.make(func() (piece, error) { return piece{status: 200, text: []byte(text), follow: follows(flow1)}, nil }); err != nil {
		t.Fatal(err)
	}
	now, _ := s.now()
	return now.page
}

func TestOneMakesThePageOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &board{}
		h := newHub(b.changes)
		key := shownKey{page: "a"}
		first, second, other := h.join(key), h.join(key), h.join(shownKey{page: "b"})
		if first != second || first == other {
			t.Fatal("the page is not one")
		}
		made(t, first, "a\nb\nc")
		synctest.Wait()
		_, changed := first.now()
		_ = b.each([]service.Change{{Noun: "flow", Key: "flow:2"}}) // none of its own
		began := time.Now()
		_ = b.each([]service.Change{flow1})
		_ = b.each([]service.Change{flow1})
		f := made(t, second, "a\nB\nc")
		if waited := time.Since(began); waited > 200*time.Millisecond {
			t.Errorf("a change is shown after %v", waited)
		}
		select {
		case <-changed:
		default:
			t.Error("nobody is told")
		}
		if e := f.event(f.from); e.Name != "patch" || !strings.Contains(fmt.Sprintf("%s", e.Data), `[{"at":1,"drop":1,"add":["B"]}]`) {
			t.Errorf("got %s %s", e.Name, e.Data)
		}
		if e := f.event(""); e.Name != "whole" {
			t.Errorf("got %s", e.Name)
		}
		// Nothing happens: it is made anew for its ages, and what is the same is not told.
		_, changed = first.now()
		began = time.Now()
		made(t, first, "a\nB\nc")
		if waited := time.Since(began); waited != 10*time.Second {
			t.Errorf("it is made anew after %v", waited)
		}
		select {
		case <-changed:
			t.Error("what is the same was told")
		default:
		}
		h.leave(first)
		h.leave(second)
		h.leave(other)
		if len(h.shown)+len(h.feeds) != 0 {
			t.Errorf("%d pages and %d watches are left", len(h.shown), len(h.feeds))
		}
	})
}

// TestWhatChangesMeanwhileIsNotMissed has a job that the page does not name yet change while
// the page that names it is being made.
func TestWhatChangesMeanwhileIsNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &board{}
		h := newHub(b.changes)
		s := h.join(shownKey{})
		made(t, s, "a")
		synctest.Wait()
		job := service.Change{Noun: "job", Key: "job:1:1"}
		_ = b.each([]service.Change{flow1})
		<-s.turn
		if err := s.make(func() (piece, error) {
			_ = b.each([]service.Change{job})
			return piece{status: 200, text: []byte("b"), follow: follows(flow1, job)}, nil
		}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		made(t, s, "c")
		if waited := time.Since(began); waited > 200*time.Millisecond {
			t.Errorf("it is made anew after %v", waited)
		}
		h.leave(s)
	})
}

// TestWhoFailsLeavesTheTurnToAnother has viewers go while it is their turn.
func TestWhoFailsLeavesTheTurnToAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(nil)
		s := h.join(shownKey{})
		<-s.turn
		if err := s.make(func() (piece, error) { return piece{}, context.Canceled }); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		<-s.turn
		func() {
			defer func() { _ = recover() }()
			_ = s.make(func() (piece, error) { panic("a page") })
		}()
		// What is away is said to all, and tried again.
		<-s.turn
		if err := s.make(func() (piece, error) { return piece{}, domain.Unavailablef("the board is away") }); err != nil {
			t.Error(err)
		}
		if now, _ := s.now(); now.page.event("x").Name != "away" {
			t.Errorf("got %v", now.page.event("x"))
		}
		if f := made(t, s, "a"); f.event("").Name != "whole" {
			t.Errorf("got %v", f.event(""))
		}
		h.leave(s)
	})
}

// TestManyViewersAreToldLessOften bounds what a page costs that changes all the time.
func TestManyViewersAreToldLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &board{}
		h := newHub(b.changes)
		var s *shown
		for range 2000 {
			s = h.join(shownKey{})
		}
		made(t, s, "a")
		synctest.Wait()
		began := time.Now()
		for i := range 10 {
			_ = b.each([]service.Change{flow1})
			made(t, s, fmt.Sprint(i))
		}
		if took := time.Since(began); took < 3*time.Second || took > 6*time.Second {
			t.Errorf("ten changes took %v", took)
		}
		for range 2000 {
			h.leave(s)
		}
	})
}

// TestDifferencesMakeOneTextOfAnother applies the differences of random texts.
func TestDifferencesMakeOneTextOfAnother(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func() (lines []string) {
		for range 1 + random.IntN(8) {
			lines = append(lines, string(rune('a'+random.IntN(3))))
		}
		return lines
	}
	for range 5000 {
		a, b := text(), text()
		got := slices.Clone(a)
		for _, h := range slices.Backward(difference(a, b)) {
			got = slices.Replace(got, h.At, h.At+h.Drop, h.Add...)
		}
		if !slices.Equal(got, b) {
			t.Fatalf("%v to %v: got %v by %v", a, b, got, difference(a, b))
		}
	}
}

func TestALargePageIsNotSent(t *testing.T) {
	f := newFragment(make([]byte, maxFragment+1), nil, false)
	if e := f.event(""); e.Name != "change" {
		t.Errorf("got %s", e.Name)
	}
	if e := newFragment([]byte("a"), f, false).event(f.id); e.Name != "whole" {
		t.Errorf("got %s", e.Name)
	}
}
