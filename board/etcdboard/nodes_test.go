package etcdboard_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/boardtest"
	"github.com/ramet-run/ramet/board/etcdboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/etcdtest"
)

const sp board.Space = 1

func open(t *testing.T, url string) *etcdboard.Board {
	t.Helper()
	b, err := etcdboard.Open(t.Context(), url, etcdboard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// client is a plain client of a server, to do what no board does.
func client(t *testing.T, members ...*etcdtest.Member) *clientv3.Client {
	t.Helper()
	var conf clientv3.Config
	for _, m := range members {
		conf.Endpoints = append(conf.Endpoints, m.Addr())
	}
	c, err := clientv3.New(conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func commit(t *testing.T, b board.Board, batch *board.Batch) {
	t.Helper()
	if err := b.Commit(t.Context(), *batch); err != nil {
		t.Fatal(err)
	}
}

func in(space board.Space) *board.Batch { return &board.Batch{Space: space} }

func ask(limit int, owner string) board.Ask {
	return board.Ask{Queues: []board.Queue{{Lists: []string{"queue:v"}}}, Max: limit, Owner: owner, Lease: time.Minute}
}

func field(name, value string) board.Field { return board.Field{Name: name, Value: value} }

// TestNodesNeitherDoubleNorLose lets several nodes, each with several
// claimers, run the jobs of spaces with and without a cap, while all of them
// also push and add to one record.
func TestNodesNeitherDoubleNorLose(t *testing.T) {
	url := etcdtest.URL("nodes", etcdtest.Start(t, "--unsafe-no-fsync"))
	const nodes, claimers, per = 5, 4, 60
	boards := make([]*etcdboard.Board, nodes)
	for i := range boards {
		boards[i] = open(t, url)
	}
	commit(t, boards[0], in(2).Set(board.LimitsKey, field("max", "3")))

	var mu sync.Mutex
	claimed, running, left := map[string]int{}, 0, 2*nodes*per
	var wg sync.WaitGroup
	for node, b := range boards {
		wg.Go(func() {
			for i := range per {
				for s := board.Space(1); s <= 2; s++ {
					item := fmt.Sprintf("job:%d:%d", node, i)
					if err := b.Commit(t.Context(), *in(s).Set(item, field("a", "1")).PushLeft("queue:v", item).Add("pushed", "n", 1)); err != nil {
						t.Errorf("push: %v", err)
					}
				}
			}
		})
		for range claimers {
			wg.Go(func() {
				for {
					a := ask(2, fmt.Sprint("node", node))
					a.Wait = 100 * time.Millisecond // only so that the last ones notice the end
					got, err := b.Claim(t.Context(), a)
					if err != nil {
						t.Errorf("claim: %v", err)
						return
					}
					mu.Lock()
					for _, c := range got {
						claimed[fmt.Sprint(c.Space, c.Item)]++
						if c.Space == 2 {
							running++
						}
					}
					if running > 3 {
						t.Errorf("%d run under a cap of 3", running)
					}
					mu.Unlock()
					for _, c := range got {
						mu.Lock()
						left--
						if c.Space == 2 {
							running--
						}
						mu.Unlock()
						if err := b.Commit(t.Context(), *in(c.Space).Held(c.Item, a.Owner, c.Token).Delete(c.Item).Add("done", "n", 1)); err != nil {
							t.Errorf("finish: %v", err)
						}
					}
					mu.Lock()
					end := left == 0
					mu.Unlock()
					if end {
						return
					}
				}
			})
		}
	}
	wg.Wait()
	for item, n := range claimed {
		if n != 1 {
			t.Errorf("%s was claimed %d times", item, n)
		}
	}
	for s := board.Space(1); s <= 2; s++ {
		recs, err := boards[nodes-1].Get(t.Context(), s, "pushed", "done")
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range recs {
			if got, want := rec.Get("n"), fmt.Sprint(nodes*per); got != want {
				t.Errorf("space %d: counted %s, want %s", s, got, want)
			}
		}
	}
}

func TestANodeReadsWhatAnotherHasCommitted(t *testing.T) {
	url := etcdtest.URL("reads", etcdtest.Start(t, "--unsafe-no-fsync"))
	a, b := open(t, url), open(t, url)
	for i := range 200 {
		want := fmt.Sprint(i)
		commit(t, a, in(sp).Set("r", field("n", want)))
		recs, err := b.Get(t.Context(), sp, "r")
		if err != nil || recs[0].Get("n") != want {
			t.Fatalf("got %v %v, want n=%s", recs, err, want)
		}
		// A guard is judged by what is there, not by what this node has seen.
		commit(t, b, in(sp).Equal("r", "n", want).Add("other", "n", 1))
		commit(t, a, in(sp).Equal("other", "n", fmt.Sprint(i+1)))
	}
}

// TestALargeBatchIsWholeForOtherNodes has two nodes make large batches, which
// need their turn, beside small ones, and a third that must never see half of one.
func TestALargeBatchIsWholeForOtherNodes(t *testing.T) {
	url := etcdtest.URL("large", etcdtest.Start(t, "--unsafe-no-fsync"))
	boards := []*etcdboard.Board{open(t, url), open(t, url), open(t, url)}
	const records, rounds = 400, 6
	large := func(b board.Board) error {
		batch := in(sp)
		for i := range records {
			batch.Add(fmt.Sprint("r", i), "n", 1)
		}
		return b.Commit(t.Context(), *batch)
	}
	var wg sync.WaitGroup
	for i, b := range boards[:2] {
		wg.Go(func() {
			for range rounds {
				if err := large(b); err != nil {
					t.Errorf("large batch: %v", err)
				}
				if err := b.Commit(t.Context(), *in(sp).Add("small", fmt.Sprint(i), 1)); err != nil {
					t.Errorf("small batch: %v", err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		recs, err := boards[2].Get(t.Context(), sp, "r0", fmt.Sprint("r", records/2), fmt.Sprint("r", records-1))
		if err != nil {
			t.Fatal(err)
		}
		if recs[0].Get("n") != recs[1].Get("n") || recs[1].Get("n") != recs[2].Get("n") {
			t.Fatalf("saw half a batch: %v", recs)
		}
	}
	recs, err := boards[2].Get(t.Context(), sp, "r0")
	if want := fmt.Sprint(2 * rounds); err != nil || recs[0].Get("n") != want {
		t.Fatalf("got %v %v, want n=%s", recs, err, want)
	}
}

func TestWhatEtcdDoesNotTakeIsRefusedAndSaidWhy(t *testing.T) {
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	few := etcdtest.Start(t, "--unsafe-no-fsync", "--max-txn-ops=16")
	mib := strings.Repeat("x", 1<<20)
	members := make([]string, 5000)
	for i := range members {
		members[i] = fmt.Sprint(i)
	}
	many := in(sp)
	for i := range 40 {
		many.Set(fmt.Sprint("r", i), field("a", "1"))
	}
	for i, c := range []struct {
		name   string
		server *etcdtest.Member
		batch  *board.Batch
		kind   error
		want   string
	}{
		{"a record over the size of a request", server, in(sp).Set("r", field("a", mib), field("b", mib)), domain.ErrInvalid, "--max-request-bytes"},
		{"more members than a transaction has room for", server, in(sp).Include("s", members...), domain.ErrInvalid, "--max-txn-ops"},
		{"a server that allows few operations", few, many, domain.ErrExhausted, "--max-txn-ops"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, etcdtest.URL(fmt.Sprint("limits", i), c.server))
			err := b.Commit(t.Context(), *c.batch)
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %v that names %s", err, c.kind, c.want)
			}
			keys, _, err := b.Keys(t.Context(), sp, "", "", 10)
			if err != nil || len(keys) > 0 {
				t.Errorf("then there are %v %v, want nothing", keys, err)
			}
			commit(t, b, in(sp).Set("r", field("a", "1"))) // and it goes on
		})
	}
}

func TestTheLeaderMayDie(t *testing.T) {
	members := etcdtest.Cluster(t, 3, "--unsafe-no-fsync")
	url := etcdtest.URL("leader", members...)
	a, b := open(t, url), open(t, url)
	if got := a.Durability(); got != board.DurableQuorum {
		t.Errorf("durability: got %s, want quorum", got)
	}
	events, err := b.Watch(t.Context(), sp, "r")
	if err != nil {
		t.Fatal(err)
	}
	commit(t, a, in(sp).Set("before", field("a", "1")).PushLeft("queue:v", "job:1"))
	etcdtest.Leader(t, members).Kill()
	// Calls may fail while there is no leader. Then the work goes on.
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var failed error
	for {
		err := a.Commit(ctx, *in(sp).Set("r", field("a", "1")))
		if err == nil {
			break
		}
		if failed = err; !errors.Is(err, domain.ErrUnavailable) {
			t.Fatalf("while there is no leader: %v", failed)
		}
	}
	select {
	case ev := <-events:
		if ev.Key != "r" && ev.Key != "" {
			t.Errorf("got an event of %s", ev.Key)
		}
	case <-ctx.Done():
		t.Fatal("the watch has missed what was committed after the leader's end")
	}
	w := ask(1, "me")
	w.Wait = 10 * time.Second
	got, err := b.Claim(ctx, w)
	if err != nil || len(got) != 1 || got[0].Item != "job:1" {
		t.Fatalf("claim: got %v %v, want job:1", got, err)
	}
	recs, err := b.Get(ctx, sp, "before", "r")
	if err != nil || recs[0] == nil || recs[1] == nil {
		t.Fatalf("got %v %v, want both records", recs, err)
	}
}

// TestAServerThatIsStartedAgain loses the server for a while, and its history
// by a compaction meanwhile: who has watched must look at everything anew.
func TestAServerThatIsStartedAgain(t *testing.T) {
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	url := etcdtest.URL("again", server)
	link := boardtest.NewRelay(t, server.Addr())
	a, b := open(t, "etcd://"+link.Addr()+"/again"), open(t, url)
	commit(t, a, in(sp).Set("kept", field("a", "1")).Set("gone", field("a", "1")).PushLeft("queue:v", "job:1"))
	events, err := a.Watch(t.Context(), sp, "")
	if err != nil {
		t.Fatal(err)
	}
	link.Cut()
	var rev int64
	c := client(t, server)
	for i := range 20 {
		commit(t, b, in(sp).Set("new", field("n", fmt.Sprint(i))).Delete("gone"))
	}
	resp, err := c.Get(t.Context(), "again/head")
	if err != nil {
		t.Fatal(err)
	}
	rev = resp.Header.Revision
	if _, err := c.Compact(t.Context(), rev); err != nil {
		t.Fatal(err)
	}
	link.Mend()
	missing := map[string]bool{"new": true, "gone": true}
	for limit := time.After(20 * time.Second); len(missing) > 0; {
		select {
		case ev := <-events:
			delete(missing, ev.Key)
		case <-limit:
			t.Fatalf("no events of %v", missing)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	recs, err := a.Get(ctx, sp, "kept", "gone", "new")
	if err != nil || recs[0] == nil || recs[1] != nil || recs[2].Get("n") != "19" {
		t.Fatalf("got %v %v, want kept and the last of new", recs, err)
	}
	if got, err := a.Claim(ctx, ask(1, "me")); err != nil || len(got) != 1 {
		t.Fatalf("claim: got %v %v", got, err)
	}
}

// TestNodesJudgeListsAsTheyAre has one node change a long list and the other,
// which may not know of that yet, act on it at once.
func TestNodesJudgeListsAsTheyAre(t *testing.T) {
	url := etcdtest.URL("nodes", etcdtest.Start(t, "--unsafe-no-fsync"))
	one, two := open(t, url), open(t, url)
	const n = 200 // items that stay, in several segments
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprint(i)
	}
	commit(t, one, in(sp).PushRight("l", items...))
	conflict := func(b *board.Batch) {
		t.Helper()
		if err := two.Commit(t.Context(), *b); !errors.Is(err, domain.ErrConflict) {
			t.Fatalf("%v: got %v, want a conflict", b.Guards, err)
		}
	}
	for range 20 {
		commit(t, one, in(sp).PushRight("l", "x").PushLeft("l", "x"))
		commit(t, two, in(sp).Drop("l", "x"))
		commit(t, one, in(sp).PushRight("l", "x").PushLeft("l", "x"))
		conflict(in(sp).Length("l", n))
		commit(t, two, in(sp).Length("l", n+2).DropSome("l", 1, "x").DropSome("l", -1, "x"))
		commit(t, one, in(sp).PushRight("l", "x"))
		conflict(in(sp).ItemAt("l", -1, items[n-1]))
		commit(t, one, in(sp).DropSome("l", 1, items[n/2])) // neither end changes
		conflict(in(sp).Length("l", n+1))
		commit(t, one, in(sp).DropSome("l", -1, items[n/2-1]))
		conflict(in(sp).ItemAt("l", 0, items[0]).ItemAt("l", n/2, items[n/2+1]))
		commit(t, two, in(sp).Delete("l").PushRight("l", items...))
	}
}
