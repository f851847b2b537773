package boardtest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// sp is the space that tests use which need only one.
const sp board.Space = 1

// patience is how long a test waits for what must come. Only a broken driver
// makes a test wait that long.
const patience = 2 * time.Minute

// rig is a board under test with short ways to ask and to complain.
type rig struct {
	board.Board
	t   *testing.T
	ctx context.Context
}

func open(t *testing.T, f Factory) *rig {
	t.Helper()
	return newRig(t, f.Open(t))
}

func newRig(t *testing.T, b board.Board) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	t.Cleanup(func() {
		cancel()
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return &rig{Board: b, t: t, ctx: ctx}
}

// in begins a batch.
func in(space board.Space) *board.Batch { return &board.Batch{Space: space} }

// set is a field, for short.
func set(name, value string) board.Field { return board.Field{Name: name, Value: value} }

func (r *rig) commit(b *board.Batch) {
	r.t.Helper()
	if err := r.Commit(r.ctx, *b); err != nil {
		r.t.Fatalf("commit: %v", err)
	}
}

// commitAll commits many batches, as many at a time as is polite.
func (r *rig) commitAll(batches []board.Batch) {
	r.t.Helper()
	for part := range slices.Chunk(batches, 128) {
		for i, err := range r.CommitEach(r.ctx, part) {
			if err != nil {
				r.t.Fatalf("commit batch %d: %v", i, err)
			}
		}
	}
}

// conflict commits a batch whose guard number i must fail.
func (r *rig) conflict(b *board.Batch, i int) {
	r.t.Helper()
	checkConflict(r.t, r.Commit(r.ctx, *b), b, i)
}

func checkConflict(t *testing.T, err error, b *board.Batch, i int) {
	t.Helper()
	var g *board.GuardError
	if !errors.As(err, &g) || !errors.Is(err, domain.ErrConflict) {
		t.Fatalf("got error %v, want a *board.GuardError that is a conflict", err)
	}
	if g.Index != i || g.Guard != b.Guards[i] {
		t.Fatalf("got guard %d (%v) failed, want %d (%v)", g.Index, g.Guard, i, b.Guards[i])
	}
}

// refused commits a batch that must be invalid.
func (r *rig) refused(b *board.Batch) {
	r.t.Helper()
	r.invalid(r.Commit(r.ctx, *b))
}

func (r *rig) invalid(err error) {
	r.t.Helper()
	if !isInvalid(err) {
		r.t.Fatalf("got error %v, want one of kind invalid", err)
	}
}

func isInvalid(err error) bool { return errors.Is(err, domain.ErrInvalid) }

// must complains about an error of a read.
func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) get(space board.Space, key string) board.Record {
	r.t.Helper()
	recs, err := r.Get(r.ctx, space, key)
	r.must(err)
	if len(recs) != 1 {
		r.t.Fatalf("get of 1 key returned %d records", len(recs))
	}
	return recs[0]
}

// fields is a record in lexical order of names, as "a=1 b=2"; "-" for none.
func fields(rec board.Record) string {
	if rec == nil {
		return "-"
	}
	parts := make([]string, len(rec))
	for i, f := range rec {
		parts[i] = f.Name + "=" + f.Value
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// wantRecord compares a record with "a=1 b=2"; "-" for none.
func (r *rig) wantRecord(space board.Space, key, want string) {
	r.t.Helper()
	if got := fields(r.get(space, key)); got != want {
		r.t.Fatalf("record %q: got %q, want %q", key, got, want)
	}
}

// wantList compares a whole list, from the left.
func (r *rig) wantList(space board.Space, list string, want ...string) {
	r.t.Helper()
	got, err := r.List(r.ctx, space, list, 0, 10000)
	r.must(err)
	if !slices.Equal(got, want) {
		r.t.Fatalf("list %q: got %q, want %q", list, got, want)
	}
	n, err := r.Len(r.ctx, space, list)
	r.must(err)
	if len(n) != 1 || n[0] != len(want) {
		r.t.Fatalf("length of %q: got %v, want [%d]", list, n, len(want))
	}
}

func (r *rig) wantMembers(space board.Space, set string, want ...string) {
	r.t.Helper()
	got, err := r.Members(r.ctx, space, set, "", 10000)
	r.must(err)
	if !slices.Equal(got, want) {
		r.t.Fatalf("set %q: got %q, want %q", set, got, want)
	}
}

// wantKeys compares all keys with a prefix, in lexical order.
func (r *rig) wantKeys(space board.Space, prefix string, want ...string) {
	r.t.Helper()
	got := r.keys(space, prefix, 3)
	if !slices.Equal(got, want) {
		r.t.Fatalf("keys %q: got %q, want %q", prefix, got, want)
	}
}

// keys pages through the keys with a prefix and returns them sorted, each once.
func (r *rig) keys(space board.Space, prefix string, page int) []string {
	r.t.Helper()
	var all []string
	for cursor := ""; ; {
		got, next, err := r.Keys(r.ctx, space, prefix, cursor, page)
		r.must(err)
		all = append(all, got...)
		if next == "" {
			slices.Sort(all)
			return slices.Compact(all)
		}
		cursor = next
	}
}

func (r *rig) wantReady(group string, want ...board.Space) {
	r.t.Helper()
	got, err := r.Ready(r.ctx, group)
	r.must(err)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		r.t.Fatalf("spaces ready in %q: got %v, want %v", group, got, want)
	}
}

// ask is a claim of up to limit items from queues, each list a queue of its own.
func ask(limit int, owner string, lists ...string) board.Ask {
	a := board.Ask{Max: limit, Owner: owner, Lease: time.Minute}
	for _, l := range lists {
		a.Queues = append(a.Queues, board.Queue{Lists: []string{l}})
	}
	return a
}

func (r *rig) claim(a board.Ask) []board.Claimed {
	r.t.Helper()
	got, err := r.Claim(r.ctx, a)
	r.must(err)
	if len(got) > a.Max {
		r.t.Fatalf("claim of %d items returned %d", a.Max, len(got))
	}
	return got
}

// claimOne claims exactly one item, which must be want.
func (r *rig) claimOne(a board.Ask, want string) board.Claimed {
	r.t.Helper()
	a.Max, a.Wait = 1, patience
	got := r.claim(a)
	if len(got) != 1 || got[0].Item != want {
		r.t.Fatalf("claim: got %v, want [%s]", items(got), want)
	}
	return got[0]
}

// wantNone makes a claim that must find nothing.
func (r *rig) wantNone(a board.Ask) {
	r.t.Helper()
	if got := r.claim(a); len(got) > 0 {
		r.t.Fatalf("claim: got %v, want nothing", items(got))
	}
}

func items(cs []board.Claimed) []string {
	out := make([]string, len(cs))
	for i, c := range cs {
		out[i] = c.Item
	}
	return out
}

func (r *rig) wantItems(got []board.Claimed, want ...string) {
	r.t.Helper()
	if diff := cmp.Diff(want, items(got)); diff != "" {
		r.t.Fatalf("claimed items (-want +got):\n%s", diff)
	}
}

// held begins a batch that only the holder of the claim may commit.
func held(c board.Claimed, owner string) *board.Batch {
	return in(c.Space).Held(c.Item, owner, c.Token)
}

func (r *rig) extend(owner string, cs ...board.Claimed) []board.Answer {
	r.t.Helper()
	hs := make([]board.Held, len(cs))
	for i, c := range cs {
		hs[i] = board.Held{Space: c.Space, Item: c.Item, Token: c.Token}
	}
	got, err := r.Extend(r.ctx, owner, time.Minute, hs)
	r.must(err)
	return got
}

func (r *rig) lease(space board.Space, item string) board.Lease {
	r.t.Helper()
	l, ok, err := r.LeaseOf(r.ctx, space, item)
	r.must(err)
	if !ok {
		r.t.Fatalf("lease of %q: got none", item)
	}
	if l.Space != space || l.Item != item {
		r.t.Fatalf("lease of %q in space %d: got %v", item, space, l)
	}
	return l
}

func (r *rig) wantFree(space board.Space, item string) {
	r.t.Helper()
	l, ok, err := r.LeaseOf(r.ctx, space, item)
	r.must(err)
	if ok {
		r.t.Fatalf("got lease %v, want none", l)
	}
}

// lapsed waits until the leases of all items have run out, and returns them
// in order of the items.
func (r *rig) lapsed(want ...string) []board.Lease {
	r.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		ls, err := r.Expired(r.ctx, 1000, patience)
		r.must(err)
		ls = slices.DeleteFunc(ls, func(l board.Lease) bool { return !slices.Contains(want, l.Item) })
		if len(ls) == len(want) {
			slices.SortFunc(ls, func(a, b board.Lease) int { return strings.Compare(a.Item, b.Item) })
			return ls
		}
	}
	r.t.Fatalf("leases of %q did not run out within %v", want, patience)
	return nil
}

// each runs n functions at once and waits for all of them.
func each(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// pause lets goroutines that have just begun a call come to wait in it. No
// test needs it to pass; without it a driver that forgets to wake those who
// wait could pass too, by being quick.
func pause() { <-time.After(10 * time.Millisecond) }

// answer is what a call in the background came back with.
type answer[T any] struct {
	value T
	err   error
}

// async makes a call in the background and gives it time to come to wait.
func async[T any](call func() (T, error)) <-chan answer[T] {
	ch := make(chan answer[T], 1)
	go func() {
		v, err := call()
		ch <- answer[T]{v, err}
	}()
	pause()
	return ch
}

// soon receives the answer of a waiting call. One that nobody woke comes only
// when its own time, which is longer, is over.
func soon[T any](t *testing.T, ch <-chan answer[T]) T {
	t.Helper()
	select {
	case a := <-ch:
		if a.err != nil {
			t.Fatal(a.err)
		}
		return a.value
	case <-time.After(patience / 2):
		t.Fatalf("a waiting call was not woken within %v", patience/2)
		panic("unreachable")
	}
}

// waiting makes a claim in the background that waits.
func (r *rig) waiting(a board.Ask) <-chan answer[[]board.Claimed] {
	a.Wait = patience
	return async(func() ([]board.Claimed, error) { return r.Claim(r.ctx, a) })
}

// within fails the test if f has not returned after d.
func within(t *testing.T, d time.Duration, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(d):
		t.Fatalf("%s: still not back after %v", what, d)
	}
}

func name(prefix string, i int) string { return prefix + strconv.Itoa(i) }
