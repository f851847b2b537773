package boardtest

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

var alarmTests = []test{
	{"alarms are set, moved and cleared", testAlarmSet},
	{"alarms come in order, in pages, and stay until cleared", testDueOrder},
	{"alarms are never early and seldom late", testDuePunctual},
	{"an earlier alarm wakes who waits", testDueWoken},
	{"waiting for an alarm ends in time", testDueWaitEnds},
	{"of two handlers of an alarm one wins", testAlarmHandlers},
}

func (r *rig) due(limit int, wait time.Duration) []board.Alarm {
	r.t.Helper()
	got, err := r.Due(r.ctx, limit, wait)
	r.must(err)
	for _, a := range got {
		// Judged by the board's clock, which may be another machine's, but is
		// this one's in tests.
		if now := time.Now(); a.At.After(now) {
			r.t.Errorf("alarm %s came %v early", a.Name, a.At.Sub(now))
		}
	}
	return got
}

func names(as []board.Alarm) []string {
	out := make([]string, len(as))
	for i, a := range as {
		out[i] = a.Name
	}
	return out
}

func testAlarmSet(t *testing.T, f Factory) {
	r := open(t, f)
	far := time.Now().Add(time.Hour)
	r.commit(in(sp).SetAlarm("a", far).SetAlarm("b", far).SetAlarm("past", time.UnixMilli(5)))
	at, ok, err := r.AlarmOf(r.ctx, sp, "a")
	r.must(err)
	if !ok || !at.Equal(time.UnixMilli(far.UnixMilli())) {
		t.Fatalf("alarm a: got %v %v, want %v to the millisecond", at, ok, far)
	}
	if got := r.due(10, 0); len(got) != 1 || got[0].Name != "past" || got[0].Space != sp || !got[0].At.Equal(time.UnixMilli(5)) {
		t.Fatalf("due: got %v, want [past]", got)
	}
	r.commit(in(sp).SetAlarm("past", far).SetAlarm("a", time.UnixMilli(7)))
	if got := names(r.due(10, 0)); !slices.Equal(got, []string{"a"}) {
		t.Fatalf("due after moving: got %v, want [a]", got)
	}
	r.commit(in(sp).ClearAlarm("a").ClearAlarm("none"))
	if got := names(r.due(10, 0)); len(got) != 0 {
		t.Fatalf("due after clearing: got %v", got)
	}
	// An alarm is no key: deleting a record of that name leaves it.
	r.commit(in(sp).Set("b", set("x", "1")).Delete("b").SetAlarm("b", time.UnixMilli(9)).Delete("b"))
	if got := names(r.due(10, 0)); !slices.Equal(got, []string{"b"}) {
		t.Fatalf("due after deleting a record b: got %v, want [b]", got)
	}
}

func testDueOrder(t *testing.T, f Factory) {
	r := open(t, f)
	var want []string
	for i := range 40 {
		s := board.Space(i % 4)
		r.commit(in(s).SetAlarm(name("a", i), time.UnixMilli(int64(1000+(i*17)%40))))
	}
	for at := range 40 {
		for i := range 40 {
			if (i*17)%40 == at {
				want = append(want, name("a", i))
			}
		}
	}
	if got := names(r.due(100, 0)); !slices.Equal(got, want) {
		t.Fatalf("due: got %v\nwant %v", got, want)
	}
	for len(want) > 0 {
		got := r.due(7, 0)
		n := min(7, len(want))
		if !slices.Equal(names(got), want[:n]) {
			t.Fatalf("page: got %v, want %v", names(got), want[:n])
		}
		for _, a := range got {
			r.commit(in(a.Space).AlarmAt(a.Name, a.At).ClearAlarm(a.Name))
		}
		want = want[n:]
	}
	if got := r.due(7, 0); len(got) != 0 {
		t.Fatalf("due: got %v, want none", got)
	}
}

func testDuePunctual(t *testing.T, f Factory) {
	r := open(t, f)
	began := time.Now()
	const n = 20
	b := in(sp)
	for i := range n {
		b.SetAlarm(name("a", i), began.Add(time.Duration(i)*15*time.Millisecond))
	}
	r.commit(b)
	for got := 0; got < n; {
		as := r.due(10, patience)
		if len(as) == 0 {
			t.Fatalf("nothing due within %v, with %d alarms left", patience, n-got)
		}
		for _, a := range as {
			if late := time.Since(a.At); late > patience/6 {
				t.Errorf("alarm %s came %v late", a.Name, late)
			}
			r.commit(in(sp).AlarmAt(a.Name, a.At).ClearAlarm(a.Name))
			got++
		}
	}
	// Nor is one early for who asks again and again.
	for range 3 {
		r.commit(in(sp).SetAlarm("asked", time.Now().Add(20*time.Millisecond)))
		for len(r.due(1, 0)) == 0 {
		}
	}
}

func testDueWoken(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).SetAlarm("far", time.Now().Add(time.Hour)))
	for i := range 10 {
		got := async(func() ([]board.Alarm, error) { return r.Due(r.ctx, 10, patience) })
		at := time.Now().Add(time.Duration(i%3) * 20 * time.Millisecond)
		r.commit(in(board.Space(i)).SetAlarm(name("a", i), at))
		as := soon(t, got)
		if !slices.Equal(names(as), []string{name("a", i)}) {
			t.Fatalf("round %d: got %v", i, as)
		}
		if late := time.Since(at); late > patience/3 {
			t.Fatalf("round %d: woken %v late", i, late)
		}
		r.commit(in(as[0].Space).ClearAlarm(as[0].Name))
	}
}

func testDueWaitEnds(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(sp).SetAlarm("far", time.Now().Add(time.Hour)))
	began := time.Now()
	if got := r.due(10, 40*time.Millisecond); len(got) != 0 {
		t.Fatalf("due: got %v", got)
	}
	if d := time.Since(began); d < 40*time.Millisecond || d > patience/3 {
		t.Fatalf("waited %v, want 40ms", d)
	}
}

func testAlarmHandlers(t *testing.T, f Factory) {
	r := open(t, f)
	b := in(sp)
	for i := range 30 {
		b.SetAlarm(name("a", i), time.UnixMilli(int64(1000+i)))
	}
	r.commit(b)
	var handled atomic.Int32
	each(4, func(int) {
		for {
			as, err := r.Due(r.ctx, 5, 0)
			if err != nil || len(as) == 0 {
				if err != nil {
					t.Errorf("due: %v", err)
				}
				return
			}
			for _, a := range as {
				err := r.Commit(r.ctx, *in(sp).AlarmAt(a.Name, a.At).ClearAlarm(a.Name).Add("handled", a.Name, 1))
				switch {
				case err == nil:
					handled.Add(1)
				case !errors.Is(err, domain.ErrConflict):
					t.Errorf("handle: %v", err)
				}
			}
		}
	})
	if n := handled.Load(); n != 30 {
		t.Fatalf("%d alarms were handled, want 30", n)
	}
	for _, fl := range r.get(sp, "handled") {
		if fl.Value != "1" {
			t.Errorf("alarm %s was handled %s times", fl.Name, fl.Value)
		}
	}
}
