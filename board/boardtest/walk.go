package boardtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
)

var walkTests = []test{
	{"all alarms come, earliest first, in pages", testAlarms},
	{"all counters come, with what they gave out", testCounters},
	{"the spaces in which something lies are known", testSpaces},
	{"a snapshot is the board as it was", testSnapshot},
}

func testAlarms(t *testing.T, f Factory) {
	r := open(t, f)
	now := time.Now().Truncate(time.Millisecond)
	want := []string{}
	for i := range 7 {
		name := fmt.Sprintf("a%d", i)
		r.commit(in(board.Space(1+i%3)).SetAlarm(name, now.Add(time.Duration(i/2)*time.Hour))) // two at an instant
		want = append(want, name)
	}
	r.commit(in(1).SetAlarm("gone", now))
	r.commit(in(1).ClearAlarm("gone"))
	for _, limit := range []int{1, 2, 3, 100} {
		var got []string
		last := board.Alarm{}
		for {
			page, err := r.Alarms(r.ctx, last, limit)
			r.must(err)
			if len(page) == 0 {
				break
			}
			if len(page) > limit {
				t.Fatalf("got %d alarms, asked for %d", len(page), limit)
			}
			for _, a := range page {
				if a.At.Before(last.At) {
					t.Errorf("alarm %s at %v comes behind %v", a.Name, a.At, last.At)
				}
				last = a
				got = append(got, a.Name)
				if i := slices.Index(want, a.Name); i < 0 || a.Space != board.Space(1+i%3) || !a.At.Equal(now.Add(time.Duration(i/2)*time.Hour)) {
					t.Errorf("got alarm %+v", a)
				}
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("in pages of %d: got %v, want %v", limit, got, want)
		}
	}
	_, err := r.Alarms(r.ctx, board.Alarm{}, 0)
	r.invalid(err)
}

func testCounters(t *testing.T, f Factory) {
	r := open(t, f)
	want := map[string]int64{}
	for i := range 300 {
		key := fmt.Sprintf("ramet:seq:job:%d", i)
		_, err := r.Next(r.ctx, sp, key, i+1)
		r.must(err)
		want[key] = int64(i + 1)
	}
	_, err := r.Next(r.ctx, 2, "other", 1)
	r.must(err)
	got := map[string]int64{}
	for cursor := ""; ; {
		page, next, err := r.Counters(r.ctx, sp, cursor, 100)
		r.must(err)
		for _, c := range page {
			got[c.Key] = c.Last
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d counters, want %d", len(got), len(want))
	}
	for key, n := range want {
		if got[key] != n {
			t.Errorf("counter %s: got %d, want %d", key, got[key], n)
		}
	}
	if page, next, err := r.Counters(r.ctx, 9, "", 10); err != nil || len(page) > 0 || next != "" {
		t.Errorf("of a space without counters: got %v, %q, %v", page, next, err)
	}
}

func testSpaces(t *testing.T, f Factory) {
	r := open(t, f)
	r.commit(in(0).Set("a", set("x", "1")))
	r.commit(in(3).PushLeft("queue:v", "job:1:1"))
	r.commit(in(5).SetAlarm("a", time.Now()))
	r.commit(in(9).Live("job:1:1", time.Now()))
	r.commit(in(15).Include("s", "m"))
	got, err := r.Spaces(r.ctx)
	r.must(err)
	for _, s := range []board.Space{0, 3, 5, 9, 15} {
		if !slices.Contains(got, s) {
			t.Errorf("space %d is not among %v", s, got)
		}
	}
	if !slices.IsSorted(got) {
		t.Errorf("got %v, want them in order", got)
	}
}

func testSnapshot(t *testing.T, f Factory) {
	r := open(t, f)
	s, ok := r.Board.(board.Snapshotter)
	if !ok {
		t.Skip("the driver has no snapshots")
	}
	long := strings.Repeat("x", 1000)
	r.commit(in(sp).Set("rec", set("a", "1"), set("b", long)).PushRight("log", "1", "2", "3").Include("set", "m", "n").
		SetAlarm("alarm", time.UnixMilli(5)).Live("rec", time.UnixMilli(7)).PushLeft("queue:v", "job:1:1").Set("job:1:1", set("x", "1")))
	_, err := r.Next(r.ctx, sp, "n", 41)
	r.must(err)
	claimed, err := r.Claim(r.ctx, board.Ask{Queues: []board.Queue{{Lists: []string{"queue:v"}}}, Owner: "me", Lease: time.Minute, Max: 1})
	r.must(err)
	if len(claimed) != 1 {
		t.Fatalf("claimed %d items, want 1", len(claimed))
	}
	was, err := s.Snapshot(r.ctx)
	r.must(err)
	old := newRig(t, was)
	r.commit(in(sp).Delete("rec").Delete("log").Delete("set").ClearAlarm("alarm").Set("new", set("a", "1")).Delete("job:1:1"))
	_, err = r.Next(r.ctx, sp, "n", 1)
	r.must(err)
	old.wantRecord(sp, "rec", "a=1 b="+long)
	old.wantRecord(sp, "new", "-")
	if got := old.get(sp, "job:1:1"); got.Get(board.FieldAttempt) != "1" || got.Get(board.FieldOwner) != "me" {
		t.Errorf("a claimed record: got %v, want attempt 1 of me", got)
	}
	items, err := old.List(old.ctx, sp, "log", 0, 10)
	if old.must(err); !slices.Equal(items, []string{"1", "2", "3"}) {
		t.Errorf("list: got %v", items)
	}
	members, err := old.Members(old.ctx, sp, "set", "", 10)
	if old.must(err); !slices.Equal(members, []string{"m", "n"}) {
		t.Errorf("set: got %v", members)
	}
	if alarms, err := old.Alarms(old.ctx, board.Alarm{}, 10); err != nil || len(alarms) != 1 || alarms[0].Name != "alarm" {
		t.Errorf("alarms: got %v, %v", alarms, err)
	}
	if live, err := old.Live(old.ctx, sp, board.LiveItem{}, 10); err != nil || len(live) != 1 || live[0].Item != "rec" {
		t.Errorf("live: got %v, %v", live, err)
	}
	if counters, _, err := old.Counters(old.ctx, sp, "", 10); err != nil || len(counters) != 1 || counters[0].Last != 41 {
		t.Errorf("counters: got %v, %v", counters, err)
	}
	r.wantRecord(sp, "rec", "-")
}
