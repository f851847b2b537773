package circle_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/rueidis"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/circle"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/layout"
)

// client is a program that knows of Redis, and of nothing else here.
type client struct {
	*testing.T
	rueidis.Client
}

func (c client) do(args ...string) rueidis.RedisResult {
	c.Helper()
	return c.Do(c.Context(), c.B().Arbitrary(args...).Build())
}

func (c client) must(args ...string) {
	c.Helper()
	if err := c.do(args...).Error(); err != nil {
		c.Fatalf("%v: %v", args, err)
	}
}

// blpop is how the seed's client waits.
func (c client) blpop(list string) map[string]string {
	c.Helper()
	got, err := c.do("BLPOP", list, "20").AsStrSlice()
	if err != nil {
		c.Fatalf("BLPOP %s: %v", list, err)
	}
	var m map[string]string
	if err := json.Unmarshal([]byte(got[1]), &m); err != nil {
		c.Fatalf("%s: %v", got[1], err)
	}
	return m
}

// onRedis starts a server with a worker for context 1, and a client of its DB 1.
func onRedis(t *testing.T) (*rig, client) {
	s := redistest.Start(t)
	b, err := redisboard.Open(t.Context(), s.URL(), redisboard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, board: b, engine: circle.New(b, circle.Config{})}
	t.Cleanup(func() { b.Close() })
	contexts := board.Batch{} // where foreign pushes are looked for
	if err := b.Commit(t.Context(), *contexts.Include(layout.Contexts, "1")); err != nil {
		t.Fatal(err)
	}
	return r, dial(t, s, 1)
}

func dial(t *testing.T, s *redistest.Server, db int) client {
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr()}, SelectDB: db, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return client{t, c}
}

func TestAClientOfTheSeedOnRedis(t *testing.T) {
	t.Parallel()
	r, c := onRedis(t)
	r.worker()
	t.Run("the text: the record first", func(t *testing.T) {
		c := client{t, c.Client}
		c.must("HSET", "rhai_task_details:a", "script", "40 + 2", "status", "pending", "client_rpc_id", "7", "reply_queue_name", "rhai_reply:a")
		c.must("LPUSH", "rhai_tasks:friends", "a")
		want := map[string]string{"task_id": "a", "status": "completed", "output": "42", "client_rpc_id": "7"}
		if diff := cmp.Diff(want, c.blpop("rhai_reply:a")); diff != "" {
			t.Errorf("reply (-want +got):\n%s", diff)
		}
		got, err := c.do("HGETALL", "rhai_task_details:a").AsStrMap()
		if err != nil || got["status"] != "completed" || got["output"] != "42" || got["lease_owner"] != "" {
			t.Errorf("got %v, %v", got, err)
		}
		if ttl, err := c.do("TTL", "rhai_task_details:a").AsInt64(); err != nil || ttl < 86_000 || ttl > 86_400 {
			t.Errorf("TTL of the task: got %d, %v, want a day", ttl, err)
		}
	})
	t.Run("the diagram: the id first", func(t *testing.T) {
		c := client{t, c.Client}
		c.must("LPUSH", "rhai_tasks:friends", "b")
		c.must("HSET", "rhai_task_details:b", "script", `throw "no"`, "status", "pending", "reply_to", "rhai_reply:b")
		want := map[string]string{"task_id": "b", "status": "error", "error": "Runtime error: no (line 1, position 1)"}
		if diff := cmp.Diff(want, c.blpop("rhai_reply:b")); diff != "" {
			t.Errorf("reply (-want +got):\n%s", diff)
		}
	})
	t.Run("a record without a script", func(t *testing.T) {
		c := client{t, c.Client}
		c.must("HSET", "rhai_task_details:n", "code", "1", "status", "pending", "reply_to_queue", "rhai_reply:n")
		c.must("LPUSH", "rhai_tasks:friends", "n")
		got := c.blpop("rhai_reply:n")
		if got["status"] != "error" || !strings.Contains(got["error"], "want the field script") {
			t.Errorf("got %v", got)
		}
		if status, err := c.do("HGET", "rhai_task_details:n", "status").ToString(); err != nil || status != "error" {
			t.Errorf("status: got %q, %v", status, err)
		}
	})
	t.Run("a reply that nobody fetches expires", func(t *testing.T) {
		c := client{t, c.Client}
		c.must("HSET", "rhai_task_details:c", "script", "1", "reply_to_queue", "rhai_reply:c")
		c.must("LPUSH", "rhai_tasks:friends", "c")
		if _, err := r.engine.Wait(t.Context(), home, "c"); err != nil {
			t.Fatal(err)
		}
		if ttl, err := c.do("TTL", "rhai_reply:c").AsInt64(); err != nil || ttl < 200 || ttl > 300 {
			t.Errorf("TTL of the reply: got %d, %v, want five minutes", ttl, err)
		}
	})
	t.Run("what lies under the id is no hash", func(t *testing.T) {
		c := client{t, c.Client}
		c.must("SET", "rhai_task_details:d", "x")
		c.must("LPUSH", "rhai_tasks:friends", "d", "")
		c.must("HSET", "rhai_task_details:e", "script", "5", "reply_to", "rhai_reply:e")
		c.must("LPUSH", "rhai_tasks:friends", "e")
		if got := c.blpop("rhai_reply:e"); got["output"] != "5" {
			t.Errorf("got %v", got)
		}
		if got, err := c.do("GET", "rhai_task_details:d").ToString(); err != nil || got != "x" {
			t.Errorf("got %q, %v", got, err)
		}
	})
	t.Run("bytes that are no text", func(t *testing.T) {
		c := client{t, c.Client}
		c.must("HSET", "rhai_task_details:f", "script", "\"\xff\x00\"", "reply_to", "rhai_reply:f", "created_at", "\xfe", "client_rpc_id", "\xff")
		c.must("LPUSH", "rhai_tasks:friends", "f")
		if got := c.blpop("rhai_reply:f"); got["status"] != "error" || got["task_id"] != "f" {
			t.Errorf("got %v", got)
		}
	})
}

// TestManyClientsAndWorkersOnRedis: each script runs once, whichever of three
// workers takes it, in the order of one producer where one worker has one slot.
func TestManyClientsAndWorkersOnRedis(t *testing.T) {
	t.Parallel()
	r, c := onRedis(t)
	for n := range 3 {
		r.worker(func(cfg *circle.WorkerConfig) { cfg.Owner = fmt.Sprintf("n%d/a", n) })
	}
	const clients, each = 8, 40
	var wg sync.WaitGroup
	for n := range clients {
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprintf("t%d-%d", n, i)
				c.must("HSET", "rhai_task_details:"+id, "script", fmt.Sprintf("say(%q); %d", id, i), "status", "pending", "reply_to_queue", "rhai_reply:"+id)
				c.must("LPUSH", "rhai_tasks:friends", id)
				if got := c.blpop("rhai_reply:" + id); got["output"] != fmt.Sprint(i) {
					t.Errorf("%s: got %v", id, got)
				}
			}
		})
	}
	wg.Wait()
	runs := map[string]int{}
	for _, id := range r.heard() {
		runs[id]++
	}
	if len(runs) != clients*each || len(r.heard()) != clients*each {
		t.Errorf("got %d runs of %d scripts, want %d", len(r.heard()), len(runs), clients*each)
	}
}

func TestOrderOnRedis(t *testing.T) {
	t.Parallel()
	r, c := onRedis(t)
	var want []string
	for i := range 100 {
		id := fmt.Sprint(i)
		c.must("HSET", "rhai_task_details:"+id, "script", fmt.Sprintf("say(%q)", id), "reply_to", "rhai_reply:"+id)
		c.must("LPUSH", "rhai_tasks:friends", id)
		want = append(want, id)
	}
	r.worker(func(cfg *circle.WorkerConfig) { cfg.Slots = 1 })
	c.blpop("rhai_reply:99")
	if diff := cmp.Diff(want, r.heard()); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// TestAForeignWorkerOnRedis: a worker of the seed serves tasks that came
// through Ramet.
func TestAForeignWorkerOnRedis(t *testing.T) {
	t.Parallel()
	r, c := onRedis(t)
	task := &domain.Task{ID: "t1", Circle: club, Script: "1", CallerID: 12, ReplyToQueue: "rhai_reply:t1"}
	if _, err := r.engine.Submit(t.Context(), home, task); err != nil {
		t.Fatal(err)
	}
	popped, err := c.do("BLPOP", "rhai_tasks:friends", "5").AsStrSlice()
	if err != nil || popped[1] != "t1" {
		t.Fatalf("got %v, %v", popped, err)
	}
	details, err := c.do("HGETALL", "rhai_task_details:t1").AsStrMap()
	if err != nil || details["script"] != "1" || details["status"] != "pending" || details["reply_to_queue"] != "rhai_reply:t1" {
		t.Fatalf("got %v, %v", details, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	waited := make(chan *domain.Task, 1)
	go func() {
		got, err := r.engine.Wait(ctx, home, "t1")
		if err != nil {
			t.Errorf("wait: %v", err)
		}
		waited <- got
	}()
	c.must("HSET", "rhai_task_details:t1", "status", "processing")
	c.must("HSET", "rhai_task_details:t1", "status", "error", "error_msg", "not today")
	if got := <-waited; got == nil || got.Status != domain.TaskError || got.Error != "not today" {
		t.Errorf("got %+v", got)
	}
}

// TestAKeyThatIsNoListPoisonsNobody: it lies where a circle's list would be.
func TestAKeyThatIsNoListPoisonsNobody(t *testing.T) {
	t.Parallel()
	r, c := onRedis(t)
	r.T = t
	submit := func(circle, id string) {
		if _, err := r.engine.Submit(t.Context(), home, &domain.Task{ID: id, Circle: circle, Script: "1"}); err != nil {
			t.Fatal(err)
		}
	}
	old := fmt.Sprint(time.Now().Add(-time.Hour).Unix())
	submit("bad", "b1")
	submit(club, "f1")
	c.must("SET", "rhai_tasks:bad", "x")
	c.must("DEL", "rhai_tasks:friends")
	c.must("HSET", "rhai_tasks:worse", "a", "b")
	for _, id := range []string{"b1", "f1"} { // long ago
		c.must("HSET", "rhai_task_details:"+id, "updated_at", old)
		b := board.Batch{Space: layout.SpaceOf(home)}
		if err := r.board.Commit(t.Context(), *b.Live(layout.Task(id), time.Now().Add(-time.Hour))); err != nil {
			t.Fatal(err)
		}
	}
	c.must("HSET", "rhai_task_details:left", "script", "1", "created_at", old)
	c.must("HSET", "rhai_task_details:waits", "script", "1", "created_at", old)
	c.must("LPUSH", "rhai_tasks:others", "waits")

	a, err := r.engine.Audit(t.Context(), home, 0)
	if err != nil {
		t.Fatal(err)
	}
	var stuck []string
	for _, f := range a.Stuck {
		stuck = append(stuck, f.Key+": "+f.Text)
	}
	want := []string{"rhai_tasks:bad: where the tasks of the circle bad would wait is no list, but a thing of another kind: nobody can put a task in " +
		"or take one out until that key, rhai_tasks:bad, is deleted"}
	if diff := cmp.Diff(want, stuck); diff != "" {
		t.Errorf("stuck (-want +got):\n%s", diff)
	}
	if len(a.Repaired) != 1 || a.Repaired[0].Key != "rhai_task_details:f1" {
		t.Errorf("repaired: got %v", a.Repaired)
	}
	for id, expires := range map[string]bool{"left": true, "waits": false} {
		if ttl, err := c.do("TTL", "rhai_task_details:"+id).AsInt64(); err != nil || (ttl > 0) != expires {
			t.Errorf("TTL of %s: got %d, %v", id, ttl, err)
		}
	}
	list, err := r.engine.List(t.Context(), home)
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		list[i].Fault = strings.TrimPrefix(strings.Split(list[i].Fault, ":")[0], "where the tasks of the circle ")
	}
	if diff := cmp.Diff([]domain.Circle{{Name: "bad", Fault: "bad would wait is no list, but a thing of another kind"},
		{Name: club, Queued: 1}, {Name: "others", Queued: 1},
		{Name: "worse", Fault: "worse would wait is no list, but a hash"}}, list); diff != "" {
		t.Errorf("circles (-want +got):\n%s", diff)
	}
	if x, err := r.engine.Explain(t.Context(), home, "waits"); err != nil || x.Standing != domain.StandingQueued || x.Circle != "others" {
		t.Errorf("waits: got %+v, %v", x, err)
	}
	if x, err := r.engine.Explain(t.Context(), home, "b1"); err != nil ||
		x.Standing != domain.StandingStuck || !strings.Contains(x.Text, "where the tasks of the circle bad") {
		t.Errorf("b1: got %+v, %v", x, err)
	}
	if _, err := r.engine.Delete(t.Context(), home, "b1"); err != nil {
		t.Errorf("delete: %v", err)
	}
	if kept, err := c.do("GET", "rhai_tasks:bad").ToString(); err != nil || kept != "x" {
		t.Errorf("what lay there: got %q, %v", kept, err)
	}
}

// TestTasksInDatabase0AreNamed: a client that has not selected the database of its
// context waits for ever.
func TestTasksInDatabase0AreNamed(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	b, err := redisboard.Open(t.Context(), s.URL(), redisboard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	r := &rig{T: t, board: b, engine: circle.New(b, circle.Config{})}
	r.worker()
	r.submit("here", "1")
	r.wait("here") // so that the circle is announced
	c := dial(t, s, 0)
	audit := func() domain.List[domain.Finding] {
		a, err := r.engine.Audit(t.Context(), home, 0)
		if err != nil {
			t.Fatal(err)
		}
		return a.Stuck
	}
	stale, now := fmt.Sprint(time.Now().Add(-time.Minute).Unix()), fmt.Sprint(time.Now().Add(time.Minute).Unix())
	c.must("HSET", "rhai_task_details:new", "script", "1", "created_at", now)
	c.must("LPUSH", "rhai_tasks:friends", "new")
	if got := audit(); len(got) != 0 {
		t.Errorf("one that a worker of another program may be about to take: got %v", got)
	}
	c.must("HSET", "rhai_task_details:old", "script", "1", "created_at", stale)
	c.must("RPUSH", "rhai_tasks:friends", "old")
	got := audit()
	if len(got) != 1 || got[0].Key != "rhai_tasks:friends" || !strings.Contains(got[0].Text, "tasks wait in database 0") ||
		!strings.Contains(got[0].Text, "SELECT 1") {
		t.Errorf("got %v", got)
	}
	c.must("DEL", "rhai_tasks:friends")
	c.must("SET", "rhai_tasks:friends", "no list")
	if got := audit(); len(got) != 0 {
		t.Errorf("no list: got %v", got)
	}
	if left, err := c.do("EXISTS", "rhai_task_details:old").AsInt64(); err != nil || left != 1 {
		t.Errorf("what lies in database 0 is its client's: got %d, %v", left, err)
	}
}
