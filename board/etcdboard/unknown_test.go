package etcdboard_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/boardtest"
	"github.com/ramet-run/ramet/board/etcdboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/etcdtest"
	"github.com/ramet-run/ramet/internal/testwait"
)

// pair is a board behind a relay, and another on the same keys that sees what
// the first has done.
func pair(t *testing.T, cfg etcdboard.Config) (b, witness *etcdboard.Board, way *boardtest.Relay) {
	t.Helper()
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	way = boardtest.NewRelay(t, server.Addr())
	b, err := etcdboard.Open(t.Context(), "etcd://"+way.Addr()+"/pair", cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b, open(t, etcdtest.URL("pair", server)), way
}

func number(t *testing.T, b board.Board, key string) string {
	t.Helper()
	recs, err := b.Get(t.Context(), sp, key)
	if err != nil {
		t.Fatal(err)
	}
	return recs[0].Get("n")
}

// TestALostAnswerIsAskedFor has answers lost of transactions that have happened:
// who waits for them learns that they have, and no one does them again.
func TestALostAnswerIsAskedFor(t *testing.T) {
	b, witness, way := pair(t, etcdboard.Config{})
	for i := range 5 {
		done := make(chan error, 1)
		way.Mute()
		go func() { done <- b.Commit(t.Context(), *in(sp).Add("r", "n", 1)) }()
		testwait.Until(t, "it is done", func() bool { return number(t, witness, "r") == fmt.Sprint(i+1) })
		way.Mend()
		if err := <-done; err != nil {
			t.Fatalf("commit: %v", err)
		}
		if got := number(t, b, "r"); got != fmt.Sprint(i+1) { // it watches again, too
			t.Fatalf("got n=%s, want %d", got, i+1)
		}
	}
}

// TestWhatAClaimWhoseAnswerWasLostHasTaken is told to its caller, once.
func TestWhatAClaimWhoseAnswerWasLostHasTaken(t *testing.T) {
	b, witness, way := pair(t, etcdboard.Config{})
	commit(t, witness, in(sp).PushLeft("queue:v", "job:1", "job:2"))
	type answer struct {
		got []board.Claimed
		err error
	}
	done := make(chan answer, 1)
	commit(t, b, in(sp).Set("r", field("a", "1")))
	number(t, b, "r") // it knows of the queue: a commit is answered before its node has seen it
	way.Mute()
	go func() {
		a := ask(1, "me")
		a.Wait = time.Minute
		got, err := b.Claim(t.Context(), a)
		done <- answer{got, err}
	}()
	testwait.Until(t, "it is leased", func() bool {
		_, leased, err := witness.LeaseOf(t.Context(), sp, "job:1")
		return err == nil && leased
	})
	way.Mend()
	if a := <-done; a.err != nil || len(a.got) != 1 || a.got[0].Item != "job:1" || a.got[0].Token != 1 {
		t.Fatalf("got %v %v, want job:1 with token 1", a.got, a.err)
	}
	if got, err := b.Claim(t.Context(), ask(5, "me")); err != nil || len(got) != 1 || got[0].Item != "job:2" {
		t.Fatalf("then got %v %v, want job:2", got, err)
	}
}

// TestNothingIsTakenFromAClaimThatFailed: what would have been leased by a
// transaction of which nobody knows what came is nobody's to begin.
func TestNothingIsTakenFromAClaimThatFailed(t *testing.T) {
	b, witness, way := pair(t, etcdboard.Config{Answer: 2 * time.Second})
	commit(t, b, in(sp).PushLeft("queue:v", "job:1", "job:2").Set("r", field("n", "1")))
	number(t, b, "r") // it has seen them: who knows of no work waits for some, also while etcd is away
	way.Cut()
	a := ask(2, "me")
	a.Wait = time.Minute
	if got, err := b.Claim(t.Context(), a); !errors.Is(err, domain.ErrUnavailable) || len(got) != 0 {
		t.Fatalf("got %v %v, want nothing and unavailable", got, err)
	}
	way.Mend()
	testwait.Until(t, "one of them has both", func() bool {
		got, err := witness.Claim(t.Context(), ask(2, "other"))
		return err == nil && len(got) == 2
	})
}

// TestWhatIsLeftOfALostTransaction: a transaction that is still on its way when
// its board asks for it never happens.
func TestATransactionThatWasLostOnItsWay(t *testing.T) {
	b, witness, way := pair(t, etcdboard.Config{})
	commit(t, b, in(sp).Add("r", "n", 1))
	way.Deafen()
	done := make(chan error, 1)
	go func() { done <- b.Commit(t.Context(), *in(sp).Add("r", "n", 1)) }()
	// The client's own look whether the server is there ends the connection.
	way.Reset()
	way.Mend()
	if err := <-done; err != nil {
		t.Fatalf("commit: %v", err)
	}
	if got := number(t, witness, "r"); got != "2" {
		t.Errorf("got n=%s, want 2", got)
	}
}

// TestOneLostAnswerLocksNobodyOut loses the answers of a node that stands in
// line for its turn; all others go on.
func TestOneLostAnswerLocksNobodyOut(t *testing.T) {
	b, witness, way := pair(t, etcdboard.Config{Answer: 2 * time.Second})
	large := func(n int) *board.Batch {
		batch := in(sp)
		for i := range 300 {
			batch.Add(fmt.Sprint("r", i), "n", int64(n))
		}
		return batch
	}
	commit(t, b, large(1))
	way.Mute()
	failed := make(chan error, 1)
	go func() { failed <- b.Commit(t.Context(), *large(10)) }()
	if err := <-failed; !errors.Is(err, domain.ErrUnavailable) {
		t.Fatalf("while nothing is answered: got %v, want unavailable", err)
	}
	way.Cut() // and never again
	commit(t, witness, large(100))
	commit(t, witness, in(sp).Add("r0", "n", 100))
	if got := number(t, witness, "r0"); got != "201" && got != "211" {
		t.Errorf("got n=%s, want 201, or 211 if that of the lost answer has happened", got)
	}
}

func TestWhoDiesInTheLineIsShownOut(t *testing.T) {
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	c := client(t, server)
	b, err := etcdboard.Open(t.Context(), etcdtest.URL("line", server), etcdboard.Config{Answer: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := c.Put(t.Context(), "line/line/dead", ""); err != nil {
		t.Fatal(err)
	}
	commit(t, b, in(sp).Set("r", field("a", "1")))
	if resp, err := c.Get(t.Context(), "line/line/", clientv3.WithPrefix()); err != nil || len(resp.Kvs) > 0 {
		t.Errorf("in the line there are %v %v, want nobody", resp, err)
	}
}

// Each of them takes Config.Answer, together longer than anybody waits for a line
// that does not move.
func TestWhoStandsBehindSeveralThatDied(t *testing.T) {
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	b, err := etcdboard.Open(t.Context(), etcdtest.URL("patient", server), etcdboard.Config{Answer: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	c := client(t, server)
	for _, dead := range []string{"a", "b", "c"} {
		if _, err := c.Put(t.Context(), "patient/line/"+dead, ""); err != nil {
			t.Fatal(err)
		}
	}
	commit(t, b, in(sp).Add("r", "n", 1))
	if got := number(t, b, "r"); got != "1" {
		t.Errorf("got n=%s, want 1", got)
	}
}

// TestOneThatIsRefusedFailsAlone has a commit that etcd does not take go
// together with others, which it does.
func TestOneThatIsRefusedFailsAlone(t *testing.T) {
	b := open(t, etcdtest.URL("alone", etcdtest.Start(t, "--unsafe-no-fsync", "--max-request-bytes=65536")))
	batches := make([]board.Batch, 5)
	for i := range batches {
		batches[i] = *in(sp).Set(fmt.Sprint("r", i), field("a", "1"))
	}
	batches[2].Set("r2", field("b", strings.Repeat("x", 100<<10)))
	for i, err := range b.CommitEach(t.Context(), batches) {
		if (err != nil) != (i == 2) {
			t.Errorf("batch %d: got %v", i, err)
		}
	}
}

// TestCloseEnds whatever etcd does.
func TestCloseEnds(t *testing.T) {
	b, _, way := pair(t, etcdboard.Config{Answer: time.Second})
	testwait.Nil(t, func() error { return b.Commit(t.Context(), *in(sp).Set("r", field("a", "1"))) }) // a busy machine may take longer
	way.Mute()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 20 {
		go b.Commit(ctx, *in(sp).Add("r", "n", 1))
		go b.Claim(ctx, ask(1, "me"))
	}
	closed := make(chan struct{})
	go func() { b.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(2 * time.Minute):
		t.Fatal("it is not closed after two minutes")
	}
}

// TestWhoHasHadATurnStandsBehindTheOthers has two nodes stand in line, and looks
// at what becomes of their places: while another stands behind it a node keeps
// its own, with the same transaction, and one that has nothing to do leaves.
func TestWhoHasHadATurnStandsBehindTheOthers(t *testing.T) {
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	url, c := etcdtest.URL("stand", server), client(t, server)
	const line = "stand/line/"
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	places := c.Watch(ctx, line, clientv3.WithPrefix())
	var events []*clientv3.Event
	next := func() *clientv3.Event {
		for len(events) == 0 {
			resp, ok := <-places
			if !ok || resp.Err() != nil {
				t.Fatal("nothing more has become of the places: ", resp.Err())
			}
			events = resp.Events
		}
		ev := events[0]
		events = events[1:]
		return ev
	}
	one, two := open(t, url), open(t, url)
	if _, err := c.Put(t.Context(), line+"first", ""); err != nil {
		t.Fatal(err)
	}
	next()
	number(t, one, "r") // both have seen who stands there
	number(t, two, "r")
	done := make(chan error, 2)
	var keys []string
	for _, b := range []board.Board{one, two} {
		go func() { done <- b.Commit(t.Context(), *in(sp).Add("r", "n", 1)) }()
		keys = append(keys, string(next().Kv.Key))
	}
	if _, err := c.Delete(t.Context(), line+"first"); err != nil {
		t.Fatal(err)
	}
	next()
	var got []string
	for range 4 {
		ev := next()
		got = append(got, fmt.Sprint(slices.Index(keys, string(ev.Kv.Key)), ev.Type, ev.Kv.Version))
	}
	if want := []string{"0 PUT 2", "1 PUT 2", "0 DELETE 0", "1 DELETE 0"}; !slices.Equal(got, want) {
		t.Errorf("places: got %q, want %q", got, want)
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := number(t, one, "r"); got != "2" {
		t.Errorf("got n=%s, want 2", got)
	}
}
