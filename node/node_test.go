package node_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/node"
	"github.com/ramet-run/ramet/script"
)

// echo is a runtime whose scripts succeed, or wait for their end.
type echo struct {
	typ    domain.ScriptType
	broken error
}

func (e echo) Type() domain.ScriptType     { return e.typ }
func (e echo) Check(context.Context) error { return e.broken }
func (e echo) Close() error                { return nil }
func (e echo) Info() script.Info {
	return script.Info{Summary: "echo", Slots: 3, InProcess: true, Isolation: []script.Measure{
		{Name: "memory", InForce: true}, {Name: "landlock", Detail: "no kernel for it"}}}
}

func (e echo) Run(ctx context.Context, t script.Task, _ script.Host) (script.Outcome, error) {
	if t.Script == "hang" {
		<-ctx.Done()
		return script.Outcome{Verdict: script.Stopped}, nil
	}
	return script.Outcome{Verdict: script.Succeeded}, nil
}

// life is one life of a node.
type life struct {
	*node.Node
	stop func() error
}

func start(t *testing.T, b board.Board, cfg node.Config, services ...node.Service) life {
	t.Helper()
	cfg.Runtimes = []script.Runtime{echo{typ: "go"}, echo{typ: "old", broken: errors.New("install it")}}
	n, err := node.New(t.Context(), b, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx, services...) }()
	return life{n, func() error { cancel(); return <-done }}
}

func bubble(t *testing.T, test func(t *testing.T, b board.Board)) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		var batch board.Batch
		if err := b.Commit(t.Context(), *batch.Include(layout.Contexts, "1")); err != nil {
			t.Fatal(err)
		}
		test(t, b)
	})
}

func submit(t *testing.T, n *node.Node, id domain.JobID, text string) domain.JobKey {
	t.Helper()
	receipts, err := n.Work.Submit(t.Context(), 1, []*domain.Job{{ID: id, CallerID: 1, Script: text, ScriptType: "go"}})
	if err != nil || receipts[0].Err != nil {
		t.Fatal(err, receipts)
	}
	return receipts[0].Key
}

func TestANodeRunsJobsAndSaysWhatItServes(t *testing.T) {
	bubble(t, func(t *testing.T, b board.Board) {
		n := start(t, b, node.Config{Name: "n1", DataDir: t.TempDir()})
		j, err := n.Work.Wait(t.Context(), 1, submit(t, n.Node, 1, "ok"))
		if err != nil || j.Status != domain.JobFinished || j.RunnerID != n.RunnerID() {
			t.Errorf("got %+v, %v", j, err)
		}
		synctest.Wait() // the record is written beside the first job, not before it
		recs, err := b.Get(t.Context(), 0, layout.Runner(n.RunnerID()))
		if err != nil {
			t.Fatal(err)
		}
		r, err := layout.DecodeRunner("runner:1", recs[0])
		if err != nil || r.Node != "n1" || len(r.Serves) != 2 || !r.Serves[0].Served || r.Serves[1].Served || r.Serves[1].Why != "install it" {
			t.Errorf("got %+v, %v", r, err)
		}
		if s := r.Serves[0]; len(s.Isolation) != 1 || s.NotInForce[0] != "landlock: no kernel for it" {
			t.Errorf("got %+v", s)
		}
		if !n.Ready() {
			t.Error("not ready while it runs")
		}
		if err := n.stop(); err != nil || n.Ready() {
			t.Errorf("stopped: %v, ready %v", err, n.Ready())
		}
	})
}

// TestARunnersRecordSaysHowItIsReached, as the seeds have it; what a person wrote stays.
func TestARunnersRecordSaysHowItIsReached(t *testing.T) {
	bubble(t, func(t *testing.T, b board.Board) {
		dir := t.TempDir()
		registry := identity.NewRegistry(b)
		if _, err := registry.EnsureOperator(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		keys, err := identity.OpenKeyring(dir)
		if err != nil {
			t.Fatal(err)
		}
		cfg := node.Config{DataDir: dir, Post: node.PostConfig{Keys: keys, Registry: registry, Access: identity.NewAccess(registry, nil)}}
		var key string
		runs := func() domain.Runner {
			n := start(t, b, cfg)
			if _, err := n.Work.Wait(t.Context(), 1, submit(t, n.Node, 1, "ok")); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			key = layout.Runner(n.RunnerID())
			recs, err := b.Get(t.Context(), 0, key)
			if err != nil {
				t.Fatal(err)
			}
			r, err := layout.DecodeRunner(key, recs[0])
			if err := errors.Join(err, n.stop()); err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := runs(); r.Pubkey != keys.Node.Pubkey() || r.Address != "node:"+r.Pubkey || r.Topic != "runner1" {
			t.Errorf("got key %q, address %q, topic %q", r.Pubkey, r.Address, r.Topic)
		}
		var by board.Batch
		if err := b.Commit(t.Context(), *by.Set(key, board.Field{Name: "address", Value: "mycelium://x"})); err != nil {
			t.Fatal(err)
		}
		if r := runs(); r.Address != "mycelium://x" {
			t.Errorf("what a person wrote: got %q", r.Address)
		}
	})
}

func TestANodeStaysWhoItIs(t *testing.T) {
	bubble(t, func(t *testing.T, b board.Board) {
		dir := t.TempDir()
		first := start(t, b, node.Config{DataDir: dir})
		name, id := first.Name(), first.RunnerID()
		if err := first.stop(); err != nil {
			t.Fatal(err)
		}
		again := start(t, b, node.Config{DataDir: dir})
		if again.Name() != name || again.RunnerID() != id {
			t.Errorf("was %s %d, is %s %d", name, id, again.Name(), again.RunnerID())
		}
		if err := again.stop(); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"{", `{"name":"a","name":"b"}`, `{"name":"a","Name":"b"}`, strings.Repeat(" ", 5000) + "{}"} {
			if err := os.WriteFile(filepath.Join(dir, "node.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := node.New(t.Context(), b, node.Config{DataDir: dir}); !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("damaged file %.30q: got %v", text, err)
			}
		}
	})
}

func TestTwoNodesDoNotShareAName(t *testing.T) {
	bubble(t, func(t *testing.T, b board.Board) {
		dir := t.TempDir()
		n1 := start(t, b, node.Config{Name: "same", DataDir: dir})
		if _, err := node.New(t.Context(), b, node.Config{Name: "same", DataDir: t.TempDir()}); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("the same name: got %v, want a conflict", err)
		}
		if _, err := node.New(t.Context(), b, node.Config{Name: "a/b", DataDir: t.TempDir()}); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("a bad name: got %v", err)
		}
		// Without names they find some: the host's is taken by the first.
		n2 := start(t, b, node.Config{DataDir: t.TempDir()})
		n3 := start(t, b, node.Config{DataDir: t.TempDir()})
		if n2.Name() == n3.Name() || !strings.HasPrefix(n3.Name(), n2.Name()+"-") {
			t.Errorf("named %q and %q", n2.Name(), n3.Name())
		}
		for _, n := range []life{n1, n2, n3} {
			if err := n.stop(); err != nil {
				t.Fatal(err)
			}
		}
		// Given back, it may be had at once.
		n4 := start(t, b, node.Config{Name: "same", DataDir: t.TempDir()})
		if err := n4.stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// Who was stopped on purpose is not looked for.
func TestANodeThatStopsSaysSoOfItsRunner(t *testing.T) {
	bubble(t, func(t *testing.T, b board.Board) {
		n := start(t, b, node.Config{Name: "n1", DataDir: t.TempDir()})
		synctest.Wait() // it has said that it is there
		key := layout.Runner(n.RunnerID())
		seen := func() int64 {
			recs, err := b.Get(t.Context(), 0, key)
			if err != nil {
				t.Fatal(err)
			}
			r, _ := layout.DecodeRunner(key, recs[0])
			return r.SeenMs
		}
		if seen() == 0 {
			t.Error("a node that runs does not say so of its runner")
		}
		if err := n.stop(); err != nil {
			t.Fatal(err)
		}
		if at := seen(); at != 0 {
			t.Errorf("after it has stopped its runner was seen at %d", at)
		}
	})
}

// A board may lose what it was told: a Redis without a file that is started again, or one
// that throws keys away. Then nobody else has the node's name, and it says anew that it is there.
func TestANodeWhoseRecordIsLostSaysAnewThatItIsThere(t *testing.T) {
	bubble(t, func(t *testing.T, b board.Board) {
		n := start(t, b, node.Config{Name: "n1", DataDir: t.TempDir()})
		synctest.Wait() // it has said so
		keys := []string{layout.Node("n1"), layout.Runner(n.RunnerID())}
		for round := range 2 {
			var loss board.Batch
			if err := b.Commit(t.Context(), *loss.Delete(keys[0]).Delete(keys[1])); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			recs, err := b.Get(t.Context(), 0, keys...)
			if err != nil {
				t.Fatal(err)
			}
			about, _ := layout.DecodeNode(keys[0], recs[0])
			if age := time.Since(time.UnixMilli(about.SeenMs)); recs[0] == nil || recs[1] == nil || age >= domain.NodeSilence {
				t.Errorf("round %d: got %v, last seen %v ago", round, recs, age)
			}
		}
		if err := n.stop(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestTwoNodesDoNotShareARunnerID(t *testing.T) {
	bubble(t, func(t *testing.T, b board.Board) {
		n1 := start(t, b, node.Config{Name: "n1", DataDir: t.TempDir(), RunnerID: 5})
		synctest.Wait() // it has said so
		if _, err := node.New(t.Context(), b, node.Config{Name: "n2", DataDir: t.TempDir(), RunnerID: 5}); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("the same id: got %v, want a conflict", err)
		}
		// A folder that was copied remembers it.
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "node.json"), []byte(`{"id":"x","name":"n3","runner_id":5}`), 0o600); err != nil {
			t.Fatal(err)
		}
		n3 := start(t, b, node.Config{DataDir: dir})
		if n3.RunnerID() == 5 || n3.RunnerID() == 0 {
			t.Errorf("a copy has runner id %d", n3.RunnerID())
		}
		for _, n := range []life{n1, n3} {
			if err := n.stop(); err != nil {
				t.Fatal(err)
			}
		}
		again := start(t, b, node.Config{DataDir: dir})
		if again.RunnerID() != n3.RunnerID() {
			t.Errorf("it was %d, and is %d", n3.RunnerID(), again.RunnerID())
		}
		// Given back, it may be had at once.
		n4 := start(t, b, node.Config{Name: "n4", DataDir: t.TempDir(), RunnerID: 5})
		for _, n := range []life{n4, again} {
			if err := n.stop(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestANodeSaysThatItStoodElsewhere(t *testing.T) {
	bubble(t, func(t *testing.T, b board.Board) {
		var log bytes.Buffer
		cfg := node.Config{DataDir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&log, nil))}
		for _, c := range []struct {
			board string
			said  bool
		}{{"redis://a", false}, {"redis://a", false}, {"embedded", true}, {"embedded", false}} {
			log.Reset()
			cfg.Board = c.board
			if _, err := node.New(t.Context(), b, cfg); err != nil {
				t.Fatal(err)
			}
			if said := strings.Contains(log.String(), "another board"); said != c.said {
				t.Errorf("on %s: got the log %s", c.board, &log)
			}
		}
	})
}

func TestANodeFencesItsEarlierLife(t *testing.T) {
	bubble(t, func(t *testing.T, b board.Board) {
		n1 := start(t, b, node.Config{Name: "n1", DataDir: t.TempDir(), Grace: time.Second})
		defer n1.stop()
		// An earlier life of n2 has taken a job and died.
		ask := board.Ask{Queues: layout.Queues("late", 9), Max: 1, Owner: "n2/dead", Lease: time.Hour, Mark: []board.Field{{Name: "status", Value: "started"}}}
		var batch board.Batch
		batch.Space = 1
		batch.Set("job:1:5", layout.EncodeJob(&domain.Job{ID: 5, CallerID: 1, ContextID: 1, Script: "ok", ScriptType: "late", QueuedMs: 1, Status: "dispatched"})...)
		if err := b.Commit(t.Context(), *batch.Live("job:1:5", time.Now()).PushLeft("queue:late", "job:1:5")); err != nil {
			t.Fatal(err)
		}
		if got, err := b.Claim(t.Context(), ask); err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		begun := time.Now()
		n2 := start(t, b, node.Config{Name: "n2", DataDir: t.TempDir()})
		defer n2.stop()
		for {
			synctest.Wait()
			if n, err := b.Len(t.Context(), 1, "queue:late"); err != nil || n[0] == 1 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("the job was back after %v, want 2s at most", took)
		}
	})
}

func TestAServiceThatFailsEndsTheNode(t *testing.T) {
	bubble(t, func(t *testing.T, b board.Board) {
		broken := errors.New("the port is gone")
		fail := make(chan struct{})
		n := start(t, b, node.Config{Name: "n1", DataDir: t.TempDir(), Grace: time.Second}, func(ctx context.Context) error {
			<-fail
			return broken
		})
		k := submit(t, n.Node, 1, "hang")
		synctest.Wait()
		close(fail)
		synctest.Wait()
		if n.Ready() {
			t.Error("still ready")
		}
		time.Sleep(10 * time.Second)
		if err := n.stop(); !errors.Is(err, broken) {
			t.Errorf("got %v, want the service's error", err)
		}
		if j, err := n.Work.Show(t.Context(), 1, k); err != nil || j.LeaseOwner != "" || j.Final() {
			t.Errorf("the job was not given back: %+v, %v", j, err)
		}
	})
}

func TestServicesOutliveTheDrain(t *testing.T) {
	bubble(t, func(t *testing.T, b board.Board) {
		var ended time.Time
		n := start(t, b, node.Config{Name: "n1", DataDir: t.TempDir(), Grace: 10 * time.Second}, func(ctx context.Context) error {
			<-ctx.Done()
			ended = time.Now()
			return nil
		})
		submit(t, n.Node, 1, "hang")
		synctest.Wait()
		begun := time.Now()
		if err := n.stop(); err != nil {
			t.Fatal(err)
		}
		if d := ended.Sub(begun); d < 10*time.Second {
			t.Errorf("the door was closed %v after the drain began, want the grace of 10s", d)
		}
	})
}

func TestAFolderIsOneProcesss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "new")
		first, err := node.Lock(t.Context(), dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := node.Lock(t.Context(), dir, time.Second); !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
			t.Errorf("got %v, want a conflict that names the process", err)
		}
		time.AfterFunc(3*time.Second, func() { first.Close() })
		second, err := node.Lock(t.Context(), dir, 5*time.Second)
		if err != nil {
			t.Fatalf("of one that leaves: %v", err)
		}
		defer second.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := node.Lock(ctx, dir, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the context", err)
		}
	})
}

func TestANodeKnowsTheBoardThatItStoodOn(t *testing.T) {
	bubble(t, func(t *testing.T, b board.Board) {
		dir, place := t.TempDir(), "redis://here:6379"
		knows := func(b board.Board, place string) error { return node.KnowsBoard(t.Context(), b, dir, place) }
		if err := knows(b, place); err != nil {
			t.Errorf("a new node: got %v", err)
		}
		if err := start(t, b, node.Config{DataDir: dir, Board: place}).stop(); err != nil {
			t.Fatal(err)
		}
		if err := knows(b, place); err != nil {
			t.Errorf("the same board: got %v", err)
		}
		empty := memboard.Open()
		defer empty.Close()
		if err := knows(empty, place); !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), "--accept-loss") {
			t.Errorf("an empty board in its place: got %v, want that it is gone", err)
		}
		if err := knows(empty, "redis://elsewhere:6379"); err != nil {
			t.Errorf("a board elsewhere: got %v", err)
		}
		if err := start(t, empty, node.Config{DataDir: dir, Board: place}).stop(); err != nil { // as with --accept-loss
			t.Fatal(err)
		}
		if err := knows(empty, place); err != nil {
			t.Errorf("the board that was accepted: got %v", err)
		}
		if err := knows(b, place); !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("the one before: got %v, want that it is another", err)
		}
	})
}
