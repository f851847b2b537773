package boardtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/testwait"
)

// This file has what only reads when its wire breaks.

// question is an operation that changes nothing.
type question struct {
	method  string
	prepare func(w *wired)
	// then changes the answer, by the witness; nil: nothing does.
	then func(w *wired)
	// ask returns the answer as a text, which is that of every board on the same data.
	ask func(ctx context.Context, b board.Board) (string, error)
}

// say is an answer as a text.
func say(err error, answer ...any) (string, error) { return fmt.Sprintf("%q", answer), err }

// elsewhere is a space in which something comes to lie only later.
const elsewhere board.Space = 9

// questions are all that a board can be asked.
func questions() []question { return append(questionsOfKeys(), questionsOfAll()...) }

// stored puts something of each kind on the board.
func stored(w *wired) {
	w.witness.commit(in(sp).Set("rec", set("a", "1"), set("b", "2")).PushRight("list", "x", "y").Include("set", "m", "n").
		SetAlarm("bell", time.UnixMilli(5)).Live("rec", time.UnixMilli(7)).PushLeft("queue:asked", "rec"))
	_, err := w.witness.Next(w.ctx, sp, "drawn", 3)
	w.must(err)
}

// more changes all of it.
func more(w *wired) {
	w.witness.commit(in(sp).Set("rec", set("a", "2"), set("b", "3")).Set("none", set("b", "4")).PushRight("list", "z").Set("list2", set("a", "1")).
		Include("set", "o").SetAlarm("bell", time.UnixMilli(6)).SetAlarm("bell2", time.UnixMilli(7)).Live("none", time.UnixMilli(8)))
	w.witness.commit(in(elsewhere).Set("none", set("a", "1")).PushLeft("queue:asked", "none"))
	_, err := w.witness.Next(w.ctx, sp, "drawn", 3)
	w.must(err)
}

// lapse has a lease on an item run out.
func lapse(item string) func(w *wired) {
	return func(w *wired) {
		w.witness.commit(in(sp).Set(item, set("a", "1")).PushLeft("queue:v", item))
		w.witness.claimOne(ask(1, "gone", "queue:v"), item)
		w.must(w.witness.Void(w.ctx, "gone"))
	}
}

// questionsOfKeys are about what lies under keys.
func questionsOfKeys() []question {
	return []question{
		{"Get", stored, more, func(ctx context.Context, b board.Board) (string, error) {
			recs, err := b.Get(ctx, sp, "rec", "none")
			return say(err, recs)
		}},
		{"GetFields", stored, more, func(ctx context.Context, b board.Board) (string, error) {
			recs, err := b.GetFields(ctx, sp, []string{"b"}, "rec", "none")
			return say(err, recs)
		}},
		{"List", stored, more, func(ctx context.Context, b board.Board) (string, error) {
			list, err := b.List(ctx, sp, "list", 0, 10)
			return say(err, list)
		}},
		{"Len", stored, more, func(ctx context.Context, b board.Board) (string, error) {
			n, err := b.Len(ctx, sp, "list", "nothing")
			return say(err, fmt.Sprint(n))
		}},
		{"Stat", stored, more, func(ctx context.Context, b board.Board) (string, error) {
			stats, err := b.Stat(ctx, sp, "rec", "list", "set", "none")
			return say(err, fmt.Sprint(stats))
		}},
		{"Members", stored, more, func(ctx context.Context, b board.Board) (string, error) {
			members, err := b.Members(ctx, sp, "set", "", 10)
			return say(err, members)
		}},
		{"Keys", stored, more, func(ctx context.Context, b board.Board) (string, error) {
			keys, _, err := b.Keys(ctx, sp, "lis", "", 100)
			return say(err, keys)
		}},
		{"Live", stored, more, func(ctx context.Context, b board.Board) (string, error) {
			live, err := b.Live(ctx, sp, board.LiveItem{}, 10)
			return say(err, fmt.Sprint(live))
		}},
	}
}

// questionsOfAll are about what a board has beside that.
func questionsOfAll() []question {
	marks := map[board.Board]string{} // of Changed
	return []question{
		{"AlarmOf", stored, more, func(ctx context.Context, b board.Board) (string, error) {
			at, ok, err := b.AlarmOf(ctx, sp, "bell")
			return say(err, fmt.Sprint(at.UnixMilli(), ok))
		}},
		{"Alarms", stored, more, func(ctx context.Context, b board.Board) (string, error) {
			alarms, err := b.Alarms(ctx, board.Alarm{}, 10)
			return say(err, fmt.Sprint(alarms))
		}},
		{"Due", stored, more, func(ctx context.Context, b board.Board) (string, error) {
			alarms, err := b.Due(ctx, 10, patience)
			return say(err, fmt.Sprint(alarms))
		}},
		{"Counters", stored, more, func(ctx context.Context, b board.Board) (string, error) {
			counters, _, err := b.Counters(ctx, sp, "", 100)
			counters = slices.DeleteFunc(counters, func(c board.Counter) bool { return c.Key != "drawn" })
			return say(err, fmt.Sprint(counters))
		}},
		{"Spaces", stored, more, func(ctx context.Context, b board.Board) (string, error) {
			spaces, err := b.Spaces(ctx)
			return say(err, fmt.Sprint(slices.Contains(spaces, elsewhere)))
		}},
		{"Ready", stored, more, func(ctx context.Context, b board.Board) (string, error) {
			spaces, err := b.Ready(ctx, "queue:asked")
			return say(err, fmt.Sprint(slices.Sorted(slices.Values(spaces))))
		}},
		{"Changed", stored, more, func(ctx context.Context, b board.Board) (string, error) {
			c, err := b.Changed(ctx, marks[b])
			if marks[b] == "" {
				marks[b] = c.Next
			}
			return say(err, fmt.Sprint(c.All || slices.Contains(c.Spaces, elsewhere)))
		}},
		{"LeaseOf", nil, func(w *wired) { w.witness.commit(in(sp).Release("other")) }, func(ctx context.Context, b board.Board) (string, error) {
			l, ok, err := b.LeaseOf(ctx, sp, "other")
			return say(err, fmt.Sprint(ok, l.Owner, l.Token))
		}},
		{"Expired", lapse("job:1"), lapse("job:2"), func(ctx context.Context, b board.Board) (string, error) {
			leases, err := b.Expired(ctx, 10, patience)
			for i := range leases {
				leases[i].Until = time.Time{} // as each has seen it
			}
			return say(err, fmt.Sprint(leases))
		}},
		{"Unreadable", nil, nil, func(ctx context.Context, b board.Board) (string, error) {
			list, err := b.Unreadable(ctx)
			return say(err, fmt.Sprint(list))
		}},
		{"Watch", nil, nil, func(ctx context.Context, b board.Board) (string, error) {
			ctx, stop := context.WithCancel(ctx)
			defer stop()
			_, err := b.Watch(ctx, sp, "r")
			return say(err)
		}},
	}
}

// question has one question, or its answer, get lost: what is told is true, also of what
// was changed after the wire broke.
func (w *wired) question(q question, lose func() <-chan struct{}) {
	if q.prepare != nil {
		q.prepare(w)
	}
	want, err := q.ask(w.ctx, w.witness)
	w.must(err)
	if got, err := q.ask(w.ctx, w); err != nil || got != want {
		w.t.Fatalf("before: got %s %v, want %s", got, err, want)
	}
	lose()
	if q.then != nil {
		q.then(w)
		if want, err = q.ask(w.ctx, w.witness); err != nil {
			w.t.Fatal(err)
		}
	}
	lost := lose() // what is lost from now on: the change itself was told, too
	done := make(chan struct{})
	var got string
	go func() {
		defer close(done)
		got, err = q.ask(w.ctx, w)
	}()
	select {
	case <-lost:
	case <-done: // it was answered from memory
	}
	w.way.Mend()
	<-done
	if err == nil && got != want || err != nil && !errors.Is(err, domain.ErrUnavailable) {
		w.t.Errorf("got %s %v, want %s or unavailable", got, err, want)
	}
	testwait.Nil(w.t, func() error {
		got, err := q.ask(w.ctx, w)
		if err == nil && got != want {
			w.t.Fatalf("afterwards: got %s, want %s", got, want)
		}
		return err
	})
	w.goesOn()
}

// closes ends a board whose wire is broken: nobody waits for it for long.
func (w *wired) closes(lose func() <-chan struct{}) {
	lose()
	within(w.t, patience, "close", func() { w.must(w.Close()) })
	w.way.Mend()
}

// asksNobody has what needs no wire be answered without one.
func (w *wired) asksNobody() {
	limits, durable, now := w.Limits(), w.Durability(), w.Now()
	w.way.Cut()
	within(w.t, patience, "what asks nobody", func() {
		if got := w.Limits(); got != limits {
			w.t.Errorf("limits: got %v, want %v", got, limits)
		}
		if got := w.Durability(); got != durable {
			w.t.Errorf("durability: got %v, want %v", got, durable)
		}
		if got := w.Now(); got.Before(now) {
			w.t.Errorf("now: got %v, want no earlier than %v", got, now)
		}
	})
	w.way.Mend()
	w.goesOn()
}

// waits breaks the connections of those who wait: what comes then is theirs all the same.
func (w *wired) waits() {
	waiting := func(what string, ask func() (int, error)) <-chan struct{} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			testwait.Nil(w.t, func() error {
				n, err := ask()
				if err == nil && n != 1 {
					w.t.Errorf("%s: got %d, want 1", what, n)
				}
				return err
			})
		}()
		return done
	}
	w.witness.commit(in(sp).Set("job:1", set("a", "1")).PushLeft("queue:w", "job:1"))
	w.witness.claimOne(ask(1, "gone", "queue:w"), "job:1")
	all := []<-chan struct{}{
		waiting("due", func() (int, error) { list, err := w.Due(w.ctx, 10, patience); return len(list), err }),
		waiting("expired", func() (int, error) { list, err := w.Expired(w.ctx, 10, patience); return len(list), err }),
		waiting("claim", func() (int, error) {
			a := ask(1, "me", "queue:v")
			a.Wait = patience
			got, err := w.Claim(w.ctx, a)
			return len(got), err
		}),
	}
	w.way.Reset()
	w.witness.commit(in(sp).SetAlarm("bell", time.UnixMilli(5)).Set("job:2", set("a", "1")).PushLeft("queue:v", "job:2"))
	w.must(w.witness.Void(w.ctx, "gone"))
	for _, done := range all {
		within(w.t, patience, "who waits", func() { <-done })
	}
}

// watches changes something while a watcher's wire is broken: it hears of it, or that it
// is to look at everything again.
func (w *wired) watches() {
	events, err := w.Watch(w.ctx, sp, "seen")
	w.must(err)
	w.way.Cut()
	w.witness.commit(in(sp).Set("seen", set("a", "1")))
	w.way.Mend()
	select {
	case e, open := <-events:
		if !open || e.Key != "seen" && e.Key != "" {
			w.t.Errorf("got %v %v, want seen, or that something was missed", e, open)
		}
	case <-time.After(patience):
		w.t.Error("nobody told what changed while the wire was broken")
	}
	w.goesOn()
}

// covers wants a case for each method of the contract.
func covers(t *testing.T, cases map[string]bool) {
	t.Helper()
	for _, method := range methods() {
		if !cases[method] {
			t.Errorf("%s has no case: say what becomes of it when its answer is lost", method)
		}
		delete(cases, method)
	}
	for method := range cases {
		t.Errorf("%s has a case, and is no operation of the contract", method)
	}
}
