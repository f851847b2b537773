package post_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/bus/membus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// tally counts the commits on a board.
type tally struct {
	mu sync.Mutex
	n  int
}

func (c *tally) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

// since is how many there were since it was asked last.
func (c *tally) since() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n
	c.n = 0
	return n
}

// tallied is a board whose commits are counted; refuse may refuse some.
func tallied(refuse func(*board.Batch) error) (*faultboard.Board, *tally) {
	c := &tally{}
	return faultboard.New(memboard.Open(), faultboard.Config{Before: func(_ context.Context, call faultboard.Call) error {
		if call.Batch == nil {
			return nil
		}
		c.add()
		if refuse == nil {
			return nil
		}
		return refuse(call.Batch)
	}}), c
}

// hasOp says whether a commit has an operation on a key that begins so.
func hasOp(b *board.Batch, prefix string) bool {
	return slices.ContainsFunc(b.Ops, func(op board.Op) bool { return strings.HasPrefix(op.Key, prefix) })
}

func TestAJobThereAndBackTakesNineCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, commits := tallied(nil)
		s := newSiteOn(t, "alpha", b)
		s.start("a/1")
		defer s.stop()
		job := func() *domain.Message {
			return s.wait(s.send(domain.Message{MessageType: domain.MessageJob, DstContext: annex,
				Job: domain.List[domain.Job]{{Script: "set x 1", ScriptType: "lines"}}}))
		}
		job() // what is done once is done
		synctest.Wait()
		commits.since()
		done := job()
		synctest.Wait()
		// Sent; received, acknowledged; taken in, with its job; the job's end; the
		// answer; received, acknowledged; taken in, with the end of the message and of
		// the record of its job here, and filed.
		if n := commits.since(); n != 9 || done.Status != domain.MessageProcessed {
			t.Errorf("%d commits, and the message is %s; want 9", n, done.Status)
		}
		inbox, err := s.post.Inbox(t.Context(), home, s.op, 0, 10)
		if err != nil || len(inbox) != 2 {
			t.Errorf("the inbox has %d answers, %v; want 2", len(inbox), err)
		}
		recs, err := s.board.Get(t.Context(), board.Space(annex), layout.NotesPrefix+inbox[1].ReplyTo)
		if err != nil || recs[0] != nil {
			t.Errorf("nobody has looked for log lines, and there is a mark of them: %v, %v", recs[0], err)
		}
	})
}

// What an answer ends has moved since it was read: somebody waits for the job now.
func TestAnAnswerEndsWhatHasMovedStepByStep(t *testing.T) {
	snared(t, func(t *testing.T, snare *snare, a, b *site) {
		sent := a.send(jobTo(b, "sleep 10s\nset x 1"))
		after := &domain.Job{CallerID: a.op, Script: "set y 1", ScriptType: "lines", Dependends: []domain.JobID{sent.Job[0].ID}}
		snare.hold(setsField(layout.JobPrefix, layout.JobFinishedMs), func() {
			receipts, err := a.work.Submit(context.Background(), home, []*domain.Job{after})
			a.must(err)
			a.must(receipts[0].Err)
		})
		begun := time.Now()
		if done := a.wait(sent); done.Status != domain.MessageProcessed || !snare.sprung() {
			t.Errorf("the message is %s %s", done.Status, done.Error)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		j, err := a.work.Wait(ctx, home, after.Key())
		if took := time.Since(begun); err != nil || j.Status != domain.JobFinished || took > 15*time.Second {
			t.Errorf("who waits for its job: %+v, %v, after %v", j, err, took)
		}
		synctest.Wait() // the answer is filed by the last of the steps
		inbox, err := a.post.Inbox(t.Context(), home, a.op, 0, 10)
		if err != nil || len(inbox) != 1 {
			t.Errorf("the inbox has %d answers, %v; want 1", len(inbox), err)
		}
	})
}

// What is too much for one commit of a board, or was taken meanwhile, is made step by step.
func TestWhatABoardRefusesAtOnceIsDoneStepByStep(t *testing.T) {
	for name, err := range map[string]error{"the board refuses it": domain.Invalidf("more than one commit may have"),
		"an id is taken": &board.GuardError{Guard: board.Guard{Kind: board.GuardAbsent}}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var refused sync.Map
				once := func(b *board.Batch) error {
					what := ""
					switch {
					case hasOp(b, layout.MessagePrefix) && hasOp(b, "queue:"):
						what = "taken in"
					case hasOp(b, layout.MessagePrefix) && hasOp(b, layout.JobPrefix) && hasOp(b, layout.Inbox(domain.Operator)):
						what = "answered"
					default:
						return nil
					}
					refused.Store(what, true)
					return err
				}
				net := membus.New(membus.Config{})
				onA, _ := tallied(once)
				onB, _ := tallied(once)
				a, b := newSiteOn(t, "alpha", onA, net.Join("alpha")), newSiteOn(t, "beta", onB, net.Join("beta"))
				meet(a, b)
				a.start("a/1")
				b.start("b/1")
				defer func() { a.stop(); b.stop() }()
				begun := time.Now()
				sent := a.send(jobTo(b, "set x 1"))
				done := a.wait(sent)
				j, err := a.work.Show(t.Context(), home, domain.JobKey{Caller: a.op, ID: sent.Job[0].ID})
				a.must(err)
				if took := time.Since(begun); done.Status != domain.MessageProcessed || j.Result["x"] != "1" || took > 10*time.Second {
					t.Errorf("the message is %s %s, its job %s %v, after %v", done.Status, done.Error, j.Status, j.Result, took)
				}
				for _, what := range []string{"taken in", "answered"} {
					if _, ok := refused.Load(what); !ok {
						t.Errorf("nothing was %s in one commit, which the test is about", what)
					}
				}
			})
		})
	}
}

func TestASilentJobCostsOneCommitALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := membus.New(membus.Config{})
		on, commits := tallied(nil)
		a, b := newSite(t, "alpha", net.Join("alpha")), newSiteOn(t, "beta", on, net.Join("beta"))
		meet(a, b)
		a.start("a/1")
		b.start("b/1")
		defer func() { a.stop(); b.stop() }()
		sent := a.send(jobTo(b, "sleep 58s\nsay at last\nsleep 10s"))
		time.Sleep(3500 * time.Millisecond) // the first look was after a second
		commits.since()
		time.Sleep(50 * time.Second)
		if n := commits.since(); n != 10 {
			t.Errorf("%d commits in 50 seconds; want one every five", n)
		}
		time.Sleep(13 * time.Second)
		if m, err := a.post.Show(t.Context(), home, sent.Key()); err != nil || len(m.Logs) != 1 {
			t.Errorf("the line it said is not there: %+v, %v", m.Logs, err)
		}
		a.wait(sent)
	})
}
