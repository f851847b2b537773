package pebbleboard_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/domain"
)

// This file cuts the power at random instants, again and again on the same
// folder, while jobs go through it, and looks at what is left each time:
// what was acknowledged is there wholly, what was not is there wholly or not
// at all, and every part of the board agrees with every other.

func TestPowerCut(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			d := &disks{}
			rng := rand.New(rand.NewPCG(seed, 1))
			j := &journal{finished: map[string]bool{}, queued: map[string]bool{}}
			disk := vfs.NewCrashableMem()
			for life := range 6 {
				b := d.open(t, disk)
				j.check(t, b)
				j.recover(t, b)
				disk = j.live(t, d, b, life, rng)
			}
			b := d.open(t, disk)
			j.check(t, b)
			j.recover(t, b)
			j.drain(t, b)
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestAFirmClaimOutlivesAPowerCut, whether it waited or not: what was leased comes
// back as lost, and its next token is another.
func TestAFirmClaimOutlivesAPowerCut(t *testing.T) {
	for _, wait := range []time.Duration{0, time.Minute} {
		t.Run(wait.String(), func(t *testing.T) {
			d := &disks{}
			b := d.open(t, vfs.NewCrashableMem())
			defer b.Close()
			ask := claimJobs("me", 1, wait)
			ask.Firm = true
			push := func() {
				if err := b.Commit(t.Context(), *(&board.Batch{Space: jobSpace}).PushLeft("queue:v", "job:1")); err != nil {
					t.Error(err)
				}
			}
			if wait == 0 {
				push()
			} else {
				go push()
			}
			got, err := b.Claim(t.Context(), ask)
			if err != nil || len(got) != 1 || got[0].Token != 1 {
				t.Fatalf("got %v %v, want job:1 with token 1", got, err)
			}
			again := d.open(t, d.cut(b, 0, nil))
			defer again.Close()
			lost, err := again.Expired(t.Context(), 5, 0)
			if err != nil || len(lost) != 1 || lost[0].Token != 1 {
				t.Errorf("after the power cut %v are lost (%v), want job:1 with token 1", lost, err)
			}
		})
	}
}

// journal is what the board has acknowledged.
type journal struct {
	mu       sync.Mutex
	counters [4]struct{ begun, acked int }
	queued   map[string]bool // jobs whose submit was acknowledged, or maybe was
	finished map[string]bool // jobs whose finish was acknowledged
	jobs     atomic.Int64
}

// live uses the board until a random instant, and returns its disk as the
// power cut leaves it.
func (j *journal) live(t *testing.T, d *disks, b *pebbleboard.Board, life int, rng *rand.Rand) *vfs.MemFS {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for w := range j.counters {
		wg.Go(func() { j.count(t, ctx, b, w) })
	}
	for range 2 {
		wg.Go(func() { j.submit(t, ctx, b) })
		wg.Go(func() { j.work(t, ctx, b, fmt.Sprintf("life-%d", life)) })
	}
	last := j.jobs.Load() + int64(50+rng.IntN(400))
	for j.jobs.Load() < last {
		if err := b.Commit(t.Context(), *(&board.Batch{}).Set("pace", board.Field{Name: "n", Value: "1"})); err != nil {
			t.Fatal(err)
		}
	}
	j.mu.Lock()
	acked := j.counters
	queued, finished := maps.Clone(j.queued), maps.Clone(j.finished)
	j.mu.Unlock()
	disk := d.cut(b, rng.IntN(101), rng)
	j.mu.Lock()
	for w := range acked { // what was begun by now may be there
		acked[w].begun = j.counters[w].begun
	}
	j.mu.Unlock()
	cancel()
	wg.Wait()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	j.counters, j.queued, j.finished = acked, queued, finished
	return disk
}

// count writes ever higher numbers, each in every kind of thing at once.
func (j *journal) count(t *testing.T, ctx context.Context, b board.Board, w int) {
	name := strconv.Itoa(w)
	for ctx.Err() == nil {
		j.mu.Lock()
		j.counters[w].begun = j.counters[w].acked + 1
		n := j.counters[w].begun
		j.mu.Unlock()
		v := strconv.Itoa(n)
		batch := &board.Batch{Space: board.Space(w)}
		batch.Set("count:"+name, board.Field{Name: "n", Value: v}).Add("sum:"+name, "n", 1).
			PushLeft("left:"+name, v).PushRight("right:"+name, v).Append("log:"+name, 5, v).
			Include("set:"+name, v).Exclude("set:"+name, strconv.Itoa(n-3)).
			SetAlarm("alarm", time.UnixMilli(int64(n))).Live("live", time.UnixMilli(int64(n)))
		if err := b.Commit(ctx, *batch); err != nil {
			if ctx.Err() == nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			return
		}
		j.mu.Lock()
		j.counters[w].acked = n
		j.mu.Unlock()
	}
}

const jobSpace board.Space = 9

func (j *journal) submit(t *testing.T, ctx context.Context, b board.Board) {
	for ctx.Err() == nil {
		key := fmt.Sprintf("job:%d", j.jobs.Add(1))
		batch := &board.Batch{Space: jobSpace}
		batch.Absent(key).Set(key, board.Field{Name: "status", Value: "dispatched"}).Live(key, time.UnixMilli(j.jobs.Load())).PushLeft("queue:v", key)
		if err := b.Commit(ctx, *batch); err != nil {
			if ctx.Err() == nil {
				t.Error(err)
			}
			return
		}
		j.mu.Lock()
		j.queued[key] = true
		j.mu.Unlock()
	}
}

func (j *journal) work(t *testing.T, ctx context.Context, b board.Board, owner string) {
	for ctx.Err() == nil {
		got, err := b.Claim(ctx, claimJobs(owner, 7, time.Millisecond))
		if err != nil {
			if ctx.Err() == nil {
				t.Error(err)
			}
			return
		}
		for i, c := range got {
			if i == 3 { // somebody writes on a job that is running
				if err := b.Commit(ctx, *(&board.Batch{Space: c.Space}).Held(c.Item, owner, c.Token).Set(c.Item, board.Field{Name: "progress", Value: "1"})); err != nil {
					return
				}
			}
			if i < 6 { // and the last one of seven is never finished
				j.finish(t, ctx, b, c, owner)
			}
		}
	}
}

func claimJobs(owner string, n int, wait time.Duration) board.Ask {
	return board.Ask{
		Queues: []board.Queue{{Lists: []string{"queue:v"}}}, Max: n, Owner: owner, Lease: time.Hour, Wait: wait,
		Mark: []board.Field{{Name: "status", Value: "started"}},
	}
}

func (j *journal) finish(t *testing.T, ctx context.Context, b board.Board, c board.Claimed, owner string) {
	batch := &board.Batch{Space: c.Space}
	batch.Held(c.Item, owner, c.Token).Equal(c.Item, "status", "started").Set(c.Item, board.Field{Name: "status", Value: "finished"}).
		Release(c.Item).Settle(c.Item).PushLeft("done", c.Item)
	if err := b.Commit(ctx, *batch); err != nil {
		if ctx.Err() == nil {
			t.Errorf("finish %s: %v", c.Item, err)
		}
		return
	}
	j.mu.Lock()
	j.finished[c.Item] = true
	j.mu.Unlock()
}

// check looks whether everything acknowledged is there, and whole.
func (j *journal) check(t *testing.T, b board.Board) {
	t.Helper()
	for w := range j.counters {
		j.checkCount(t, b, w)
	}
	j.checkJobs(t, b)
}

func (j *journal) checkCount(t *testing.T, b board.Board, w int) {
	t.Helper()
	ctx, name, space := t.Context(), strconv.Itoa(w), board.Space(w)
	recs, err := b.Get(ctx, space, "count:"+name, "sum:"+name)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := strconv.Atoi(recs[0].Get("n"))
	if c := j.counters[w]; n < c.acked || n > max(c.begun, c.acked) {
		t.Fatalf("counter %d is at %d, acknowledged were %d, begun %d", w, n, c.acked, c.begun)
	}
	j.counters[w].acked = n
	if n == 0 {
		return
	}
	v := strconv.Itoa(n)
	left, err1 := b.List(ctx, space, "left:"+name, 0, n+1)
	right, err2 := b.List(ctx, space, "right:"+name, 0, n+1)
	log, err3 := b.List(ctx, space, "log:"+name, 0, n+1)
	set, err4 := b.Members(ctx, space, "set:"+name, "", n+1)
	at, _, err5 := b.AlarmOf(ctx, space, "alarm")
	live, err6 := b.Live(ctx, space, board.LiveItem{}, 10)
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(left)
	all := make([]string, n)
	for i := range all {
		all[i] = strconv.Itoa(i + 1)
	}
	latest := slices.Clone(all[max(0, n-3):])
	slices.Sort(latest)
	ok := recs[1].Get("n") == v && slices.Equal(left, all) && slices.Equal(right, all) && slices.Equal(log, all[max(0, n-5):]) &&
		slices.Equal(set, latest) && at.UnixMilli() == int64(n) && len(live) == 1 && live[0].At.UnixMilli() == int64(n)
	if !ok {
		t.Fatalf("counter %d at %d is torn: sum %s, %d left, %d right, log %v, set %v, alarm %d, live %v",
			w, n, recs[1].Get("n"), len(left), len(right), log, set, at.UnixMilli(), live)
	}
}

// checkJobs wants every job in exactly one place.
func (j *journal) checkJobs(t *testing.T, b board.Board) {
	t.Helper()
	ctx := t.Context()
	queue, err1 := b.List(ctx, jobSpace, "queue:v", 0, 1<<20)
	done, err2 := b.List(ctx, jobSpace, "done", 0, 1<<20)
	leases, err3 := b.Expired(ctx, 1<<20, 0)
	live, err4 := b.Live(ctx, jobSpace, board.LiveItem{}, 1<<20)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	place := map[string]string{}
	put := func(key, where string) {
		if place[key] != "" {
			t.Fatalf("%s is %s and %s", key, place[key], where)
		}
		place[key] = where
	}
	for _, key := range queue {
		put(key, "queued")
	}
	for _, l := range leases {
		put(l.Item, "leased")
	}
	if len(live) != len(place) {
		t.Fatalf("%d jobs are live, %d are queued or leased", len(live), len(place))
	}
	for _, l := range live {
		if place[l.Item] == "" {
			t.Fatalf("%s is live, but neither queued nor leased", l.Item)
		}
	}
	for _, key := range done {
		put(key, "done")
	}
	for key := range j.queued {
		if place[key] == "" {
			t.Fatalf("%s was submitted and is nowhere", key)
		}
	}
	for key := range j.finished {
		if place[key] != "done" {
			t.Fatalf("%s was finished and is %s", key, place[key])
		}
	}
	want := map[string]string{"queued": "dispatched", "leased": "started", "done": "finished"}
	for key, where := range place {
		recs, err := b.Get(ctx, jobSpace, key)
		if err != nil {
			t.Fatal(err)
		}
		if got := recs[0].Get("status"); got != want[where] && !(where == "queued" && got == "started") {
			t.Fatalf("%s is %s, but its status is %q", key, where, got)
		}
		j.queued[key] = true
		if where == "done" {
			j.finished[key] = true
		}
	}
	j.checkCounts(t, b, len(leases))
}

// checkCounts wants the caps to count exactly the leases there are.
func (j *journal) checkCounts(t *testing.T, b board.Board, leases int) {
	t.Helper()
	limit := func(n int) {
		batch := (&board.Batch{Space: jobSpace}).Set(board.LimitsKey, board.Field{Name: "max:queue:v", Value: strconv.Itoa(n)}).
			Set("probe", board.Field{Name: "status", Value: "probe"}).PushRight("queue:v", "probe")
		if err := b.Commit(t.Context(), *batch); err != nil {
			t.Fatal(err)
		}
	}
	limit(leases)
	if got, err := b.Claim(t.Context(), claimJobs("probe", 1, 0)); len(got) > 0 || err != nil {
		t.Fatalf("claimed %v over a cap of the %d leases there are (%v)", got, leases, err)
	}
	limit(leases + 1)
	got, err := b.Claim(t.Context(), claimJobs("probe", 2, 0))
	if len(got) != 1 || got[0].Item != "probe" || err != nil {
		t.Fatalf("claimed %v under a cap of one more than the %d leases there are (%v)", got, leases, err)
	}
	if err := b.Commit(t.Context(), *(&board.Batch{Space: jobSpace}).Delete("probe").Delete(board.LimitsKey).Drop("queue:v", "probe")); err != nil {
		t.Fatal(err)
	}
}

// recover gives jobs back whose leases have run out, as the sweeper does.
func (j *journal) recover(t *testing.T, b board.Board) {
	t.Helper()
	leases, err := b.Expired(t.Context(), 1<<20, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range leases {
		batch := (&board.Batch{Space: l.Space}).Lapsed(l.Item, l.Token).Release(l.Item).PushRight("queue:v", l.Item)
		if err := b.Commit(t.Context(), *batch); err != nil {
			t.Fatal(err)
		}
		err := b.Commit(t.Context(), *(&board.Batch{Space: l.Space}).Held(l.Item, l.Owner, l.Token).Delete(l.Item))
		if !errors.Is(err, domain.ErrConflict) {
			t.Fatalf("a lease of an earlier life was still good: %v", err)
		}
	}
}

// drain finishes everything.
func (j *journal) drain(t *testing.T, b board.Board) {
	t.Helper()
	for {
		got, err := b.Claim(t.Context(), claimJobs("last", 100, 0))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range got {
			j.finish(t, t.Context(), b, c, "last")
		}
		if len(got) == 0 {
			break
		}
	}
	j.checkJobs(t, b)
	if len(j.queued) == 0 || len(j.finished) != len(j.queued) {
		t.Fatalf("%d of %d jobs are finished", len(j.finished), len(j.queued))
	}
}
