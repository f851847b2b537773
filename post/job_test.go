package post_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/bus/membus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/post"
	"github.com/ramet-run/ramet/queue"
)

func TestAJobThatEndsBeforeItsMessageIsLetGoIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The commit by which the supervisor lets go of the received message,
		// which has the next number, is held up until its job has ended.
		received, held := domain.MessageKey{Caller: domain.Operator, ID: 2}.String(), atomic.Int64{}
		letsGo := func(o board.Op) bool { return o.Kind == board.OpRelease && o.Key == received }
		b := faultboard.New(memboard.Open(), faultboard.Config{Before: func(_ context.Context, c faultboard.Call) error {
			if c.Batch != nil && slices.ContainsFunc(c.Batch.Ops, letsGo) && held.Add(1) == 1 {
				time.Sleep(10 * time.Second)
			}
			return nil
		}})
		s := newSiteOn(t, "alpha", b)
		s.start("a/1")
		defer s.stop()
		begun := time.Now()
		// Jobs that need each other are not taken in by one commit.
		m := s.send(domain.Message{MessageType: domain.MessageJob, Job: domain.List[domain.Job]{{ID: 1001, Script: "set x 1", ScriptType: "lines"},
			{ID: 1002, Script: "set x 2", ScriptType: "lines", Dependends: []domain.JobID{1001}}}})
		if done := s.wait(m); done.Status != domain.MessageProcessed || held.Load() == 0 {
			t.Fatalf("got %s %s, held up %d times", done.Status, done.Error, held.Load())
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestAJobOfTheSameNumberIsLeftAlone(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
		mine := &domain.Job{ID: 5, CallerID: a.op, ContextID: home, Script: "sleep 1h\nset mine 1", ScriptType: "lines"}
		if _, err := a.work.Submit(t.Context(), home, []*domain.Job{mine}); err != nil {
			t.Fatal(err)
		}
		m := jobTo(b, "set x 1")
		m.CallerID, m.Job[0].ID = a.op, 5
		if _, err := a.post.Send(t.Context(), home, &m); !errors.Is(err, domain.ErrConflict) {
			t.Fatalf("a job that is there: got %v, want a conflict", err)
		}
		// Other programs' messages do not ask; their jobs of that number keep no record here.
		a.write("message:1:77", "message_type", "job", "dst_context", "7", "dst_node", b.post.Node(), "job", `[{"id":5,"script":"set x 1","script_type":"lines"}]`)
		a.push(queue.MsgOut, "message:1:77")
		if done := a.wait(&domain.Message{CallerID: a.op, ID: 77}); done.Status != domain.MessageProcessed {
			t.Fatalf("got %s %s", done.Status, done.Error)
		}
		time.Sleep(2 * time.Hour)
		j, err := a.work.Show(t.Context(), home, mine.Key())
		a.must(err)
		if j.Result["mine"] != "1" || j.Message != "" {
			t.Errorf("got %s %v of %q", j.Status, j.Result, j.Message)
		}
		// One without a number takes one that is free.
		free := a.send(jobTo(b, "set x 2"))
		if free.Job[0].ID == 5 || a.wait(free).Status != domain.MessageProcessed {
			t.Errorf("got %+v", free)
		}
	})
}

func TestAJobFindsWhatItNeedsUnderTheNumberThatItsSenderGave(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
		m := jobTo(b, "")
		m.Job = domain.List[domain.Job]{
			{ID: 2011, Script: "set n 7", ScriptType: "lines"},
			{ID: 2012, Script: "need 2011 n", ScriptType: "lines", Dependends: []domain.JobID{2011}},
		}
		done := a.wait(a.send(m))
		j, err := a.work.Show(t.Context(), home, domain.JobKey{Caller: a.op, ID: 2012})
		a.must(err)
		if done.Status != domain.MessageProcessed || j.Result["got"] != "7" {
			t.Errorf("got %s, %v", done.Status, j.Result)
		}
	})
}

// The numbers of a file only say which job needs which: the same file is sent as often
// as one likes, past numbers that others have taken.
func TestJobsOfAFileAreNumberedAnewEachTime(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
		for _, id := range []string{"2", "4", "5"} {
			a.write("job:"+strconv.FormatUint(uint64(a.op), 10)+":"+id, "status", "started")
		}
		for range 2 {
			m := jobTo(b, "")
			m.CallerID = a.op
			m.Job = domain.List[domain.Job]{
				{ID: 1, Script: "set n 7", ScriptType: "lines"},
				{ID: 2, Script: "need 1 n", ScriptType: "lines", Dependends: []domain.JobID{1}},
			}
			a.must(a.post.NumberJobs(t.Context(), home, &m))
			done := a.wait(a.send(m))
			j, err := a.work.Show(t.Context(), home, domain.JobKey{Caller: a.op, ID: m.Job[1].ID})
			a.must(err)
			if done.Status != domain.MessageProcessed || j.Result["got"] != "7" || m.Job[1].ID < 6 {
				t.Errorf("got %s %s, job %d: %v", done.Status, done.Error, m.Job[1].ID, j.Result)
			}
		}
	})
}

func TestARunnerElsewhereIsFoundByItsRecord(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
		a.write("runner:20", "id", "20", "address", "7@beta", "topic", "runner1", "local", "false")
		f := a.flow(&domain.Blueprint{Name: "far", Steps: []domain.Step{{Name: "there", Script: "set x 1", ScriptType: "lines", At: "runner:20"}}})
		if f.Status != domain.FlowFinished || f.Result["there.x"] != "1" || len(b.lines.ran()) != 1 {
			t.Errorf("got %s %s: %v", f.Status, f.Error, f.Result)
		}
		sent, _, err := a.post.List(t.Context(), home, post.Filter{Sent: true}, "")
		a.must(err)
		if len(sent) != 1 || sent[0].Topic != "runner1" || sent[0].DstContext != annex {
			t.Errorf("got %+v", sent)
		}
		a.write("runner:21", "id", "21", "address", "somewhere", "topic", "", "local", "false")
		lost := &domain.Blueprint{Name: "lost", Steps: []domain.Step{{Name: "there", Script: "x", ScriptType: "lines", At: "runner:21"}}}
		receipts, err := a.flows.Submit(t.Context(), home, []flow.Request{{Caller: a.op, Plan: lost}})
		if err == nil {
			err = receipts[0].Err
		}
		if !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("a runner that is nowhere: got %v", err)
		}
	})
}

// TestAMessageOfWhichNothingCanBeMadeEndsInError, on both sides: nothing was processed.
func TestAMessageOfWhichNothingCanBeMadeEndsInError(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
		bad := jobTo(b, "set x 1")
		bad.Job[0].Needs = map[string]domain.Need{"n": {State: "succeeded", Job: 3}}
		for _, tt := range []struct {
			name, text string
			m          domain.Message
		}{
			{"a job", "names a job of another board", bad},
			{"a flow", "nowhere", domain.Message{MessageType: domain.MessageJob, DstContext: annex, DstNode: b.post.Node(), Flow: `{"blueprint":"nowhere"}`}},
		} {
			m := a.send(tt.m)
			done := a.wait(m)
			if done.Status != domain.MessageError || !strings.Contains(done.Error, tt.text) || done.Answer == "" {
				t.Errorf("%s: got %s %q, answered by %q", tt.name, done.Status, done.Error, done.Answer)
			}
			if len(tt.m.Job) > 0 {
				j, err := a.work.Show(t.Context(), home, domain.JobKey{Caller: a.op, ID: m.Job[0].ID})
				a.must(err)
				if j.Status != domain.JobError || j.Reason != domain.ReasonRefused || !strings.Contains(j.Error, tt.text) {
					t.Errorf("%s: its record here: got %s %s %q", tt.name, j.Status, j.Reason, j.Error)
				}
			}
			there, _, err := b.post.List(t.Context(), annex, post.Filter{}, "")
			b.must(err)
			for _, got := range there {
				if got.MessageType == domain.MessageJob && got.Status != domain.MessageError {
					t.Errorf("%s, where it came: got %s %q", tt.name, got.Status, got.Error)
				}
			}
		}
	})
}

// TestATopicOfNoRunnerIsRefused: its job would wait in a queue that nobody has.
func TestATopicOfNoRunnerIsRefused(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
		m := jobTo(b, "set x 1")
		m.Topic = "runner99"
		if done := a.wait(a.send(m)); done.Status != domain.MessageError || !strings.Contains(done.Error, `topic "runner99": no runner 99`) {
			t.Errorf("got %s %q", done.Status, done.Error)
		}
		m.Job[0].ID, m.Topic = 0, "runner1"
		if done := a.wait(a.send(m)); done.Status != domain.MessageProcessed {
			t.Errorf("one that is there: got %s %q", done.Status, done.Error)
		}
	})
}

// TestContextIDIsWhereAMessageGoes, as programs of the seed write it.
func TestContextIDIsWhereAMessageGoes(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, _ *site) {
		a.write("message:1:77", "message_type", "job", "context_id", "7", "job", `[{"id":5,"script":"set x 1","script_type":"lines"}]`)
		a.push(queue.MsgOut, "message:1:77")
		done := a.wait(&domain.Message{CallerID: a.op, ID: 77})
		if done.Status != domain.MessageProcessed || done.DstContext != annex || done.ContextID != home {
			t.Errorf("got %s %q, to context %d", done.Status, done.Error, done.DstContext)
		}
		sent := domain.Message{MessageType: domain.MessageJob, ContextID: annex, Job: domain.List[domain.Job]{{Script: "set x 1", ScriptType: "lines"}}}
		if done := a.wait(a.send(sent)); done.DstContext != annex {
			t.Errorf("sent: got context %d", done.DstContext)
		}
	})
}

// TestAMessageThatSaysNotWhenItWasMadeHasNoDuration: else it took since 1970.
func TestAMessageThatSaysNotWhenItWasMadeHasNoDuration(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, _ *site) {
		a.write("message:99:77", "message_type", "chat", "message", "hello", "dst_actor", "1") // of nobody
		a.push(queue.MsgOut, "message:99:77")
		done := a.wait(&domain.Message{CallerID: 99, ID: 77})
		if longest := time.Duration(a.counts.longest.Load()); done.Status != domain.MessageError || longest != 0 {
			t.Errorf("got %s after %v", done.Status, longest)
		}
	})
}

// TestAnExecutorWritesToPeople, and asks for no work: step 7 of the seed, where a runner
// sends a result.
func TestAnExecutorWritesToPeople(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, _ *site) {
		k, err := identity.NewKey()
		a.must(err)
		runner, _, err := a.registry.CreateActor(t.Context(), domain.Actor{Pubkey: k.Pubkey()})
		a.must(err)
		_, _, err = a.registry.Grant(t.Context(), annex, runner.ID, domain.Executor)
		a.must(err)
		for n, typ := range []domain.MessageType{domain.MessageChat, domain.MessageMail, domain.MessageJob} {
			want := domain.MessageProcessed
			m := &domain.Message{ID: domain.MessageID(101 + n), CallerID: runner.ID, MessageType: typ, MessageFormatType: domain.FormatText,
				Message: "done", SrcContext: annex, DstContext: annex,
				CreatedAt: domain.At(time.Now()), ExpiresAt: domain.At(time.Now().Add(time.Hour)), DstNode: a.post.Node()}
			if typ == domain.MessageJob {
				m.Job, want = domain.List[domain.Job]{{ID: 1, Script: "set x 1", ScriptType: "lines"}}, domain.MessageError
			} else {
				m.DstPubkey = a.opKey.Pubkey()
			}
			a.must(identity.SignMessage(k, m))
			_, err := a.post.Send(t.Context(), annex, m)
			a.must(err)
			done, err := a.post.Wait(t.Context(), annex, m.Key())
			a.must(err)
			if done.Status != want {
				t.Errorf("%s: got %s %q, want %s", typ, done.Status, done.Error, want)
			}
		}
	})
}

// Lists where jobs, a peer and a message would be: jobs take other numbers, and
// whoever lists peers and messages passes them over.
func TestKeysOfTheWrongKindHoldUpNoMessage(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
		a.push("job:"+strconv.FormatUint(uint64(a.op), 10)+":1", "x")
		guest, err := b.registry.ActorByKey(t.Context(), a.opKey.Pubkey())
		a.must(err)
		there := board.Batch{Space: board.Space(annex)}
		b.must(b.board.Commit(t.Context(), *there.PushLeft(domain.JobKey{Caller: guest.ID, ID: 1}.String(), "x")))
		a.must(a.board.Commit(t.Context(), *new(board.Batch).PushLeft(layout.PeerPrefix+"strange", "x").PushLeft(layout.NodePrefix+"strange", "x")))
		m := a.send(jobTo(b, "set x 1"))
		if done := a.wait(m); done.Status != domain.MessageProcessed || m.Job[0].ID == 1 {
			t.Errorf("got %s %s, job %d", done.Status, done.Error, m.Job[0].ID)
		}
		chosen := jobTo(b, "set x 1")
		chosen.CallerID, chosen.Job[0].ID = a.op, 1
		if _, err := a.post.Send(t.Context(), home, &chosen); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("a number that a list has: got %v, want a conflict", err)
		}
		a.push("message:1:99", "x")
		a.push(layout.Inbox(a.op), "message:1:99")
		if _, err := a.post.Inbox(t.Context(), home, a.op, 0, 10); err != nil {
			t.Errorf("inbox: got %v", err)
		}
	})
}

// A list where the record here of a job elsewhere was does not keep its message from ending.
func TestAMessageEndsWhoseJobsRecordIsOfTheWrongKind(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
		m := a.send(jobTo(b, "sleep 1m\nset x 1"))
		strange := board.Batch{Space: board.Space(home)}
		key := domain.JobKey{Caller: a.op, ID: m.Job[0].ID}.String()
		a.must(a.board.Commit(t.Context(), *strange.Delete(key).PushLeft(key, "x")))
		if done := a.wait(m); done.Status != domain.MessageProcessed {
			t.Errorf("got %s %s", done.Status, done.Error)
		}
	})
}
