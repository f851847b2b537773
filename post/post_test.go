package post_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/bus/membus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/queue"
	"github.com/ramet-run/ramet/work"
)

// TestMessagesWaitForRoom: of the two sites that have none, the one takes no job in, and
// the other the result all the same.
func TestMessagesWaitForRoom(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
		b.full.Store(true)
		m := a.send(jobTo(b, "set sum 3"))
		time.Sleep(10 * time.Minute)
		if n := len(b.lines.ran()); n != 0 || b.counts.all() != 0 {
			t.Fatalf("without room %d jobs ran, and %d messages were refused for good", n, b.counts.all())
		}
		a.full.Store(true)
		b.full.Store(false)
		if done := a.wait(m); done.Status != domain.MessageProcessed {
			t.Errorf("got %+v", done)
		}
	})
}

// TestAMessageToAContextThatIsFullIsRefused: its sender hears why, and may send it again.
func TestAMessageToAContextThatIsFullIsRefused(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
		jobs := make([]*domain.Job, mostWaiting)
		for i := range jobs {
			jobs[i] = &domain.Job{CallerID: b.op, Script: "x", ScriptType: "nobodys"}
		}
		for len(jobs) > 0 {
			n := min(len(jobs), work.MaxSubmit)
			_, err := b.work.Submit(t.Context(), annex, jobs[:n])
			b.must(err)
			jobs = jobs[n:]
		}
		flow := jobTo(b, "")
		flow.Job, flow.Flow = nil, `{"plan":{"name":"p","steps":[{"name":"s","script":"x","script_type":"lines"}]}}`
		for what, m := range map[string]domain.Message{"a job": jobTo(b, "set sum 3"), "a flow": flow} {
			done := a.wait(a.send(m))
			inbox, err := a.post.Inbox(t.Context(), home, a.op, 0, 10)
			a.must(err)
			if text := fmt.Sprint(done, inbox); !strings.Contains(text, "waiting_jobs") {
				t.Errorf("%s: got %+v, %+v", what, done, inbox)
			}
		}
		if n := len(b.lines.ran()); n != 0 {
			t.Errorf("%d jobs were run", n)
		}
	})
}

func TestAJobGoesToAnotherSiteAndItsResultComesBack(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
		m := a.send(jobTo(b, "say hello\nset sum 3"))
		done := a.wait(m)
		if done.Status != domain.MessageProcessed || done.Answer == "" {
			t.Fatalf("got %+v", done)
		}
		if len(done.Logs) != 1 || done.Logs[0].Line != "hello" {
			t.Errorf("logs: got %+v", done.Logs)
		}
		j, err := a.work.Show(t.Context(), home, domain.JobKey{Caller: a.op, ID: m.Job[0].ID})
		a.must(err)
		if j.Status != domain.JobFinished || j.Result["sum"] != "3" {
			t.Errorf("the copy here: got %+v", j)
		}
		synctest.Wait() // until the answer is filed
		inbox, err := a.post.Inbox(t.Context(), home, a.op, 0, 10)
		a.must(err)
		if len(inbox) != 1 || inbox[0].MessageType != domain.MessageResult || inbox[0].ReplyTo != m.Key().String() {
			t.Errorf("inbox: got %+v", inbox)
		}
		if n := len(b.lines.ran()); n != 1 {
			t.Errorf("got %d jobs run there", n)
		}
	})
}

func TestAChatIsFiledIntoTheInbox(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
		m := a.send(domain.Message{MessageType: domain.MessageChat, Message: "good morning", DstContext: annex, DstNode: b.post.Node(), DstPubkey: b.opKey.Pubkey()})
		if done := a.wait(m); done.Status != domain.MessageProcessed {
			t.Fatalf("got %+v", done)
		}
		time.Sleep(time.Second) // virtual: until it is filed
		inbox, err := b.post.Inbox(t.Context(), annex, b.op, 0, 10)
		b.must(err)
		if len(inbox) != 1 || inbox[0].Message != "good morning" || inbox[0].Origin != m.Key().String() {
			t.Fatalf("inbox: got %+v", inbox)
		}
		if err := identity.VerifyMessage(inbox[0]); err != nil {
			t.Errorf("the stored message can no longer be verified: %v", err)
		}
		took, err := b.post.Take(t.Context(), annex, b.op, inbox[0].Key())
		b.must(err)
		if took.Message != "good morning" {
			t.Errorf("took %+v", took)
		}
		if _, err := b.post.Take(t.Context(), annex, b.op, inbox[0].Key()); err == nil {
			t.Error("taken twice")
		}
	})
}

func TestAFlowGoesOnWithTheResultOfARemoteStep(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
		first := domain.Step{Name: "make", Script: "set part 41", ScriptType: "lines"}
		second := domain.Step{Name: "work", Script: "need make part\nset more 1\nsay there", ScriptType: "lines", Needs: []string{"make"}, At: "7@beta",
			Env: map[string]string{"WHO": "alpha"}}
		third := domain.Step{Name: "end", Script: "need work got", ScriptType: "lines", Needs: []string{"work"}}
		f := a.flow(&domain.Blueprint{Name: "across", Steps: []domain.Step{first, second, third}})
		if f.Status != domain.FlowFinished || f.Result["end.got"] != "41" {
			t.Fatalf("got %s %s: %+v", f.Status, f.Error, f.Result)
		}
		if diff := cmp.Diff(1, len(b.lines.ran())); diff != "" {
			t.Errorf("jobs run there: %s", diff)
		}
		for _, env := range b.lines.envs() {
			if env["WHO"] != "alpha" {
				t.Errorf("environment: got %v", env)
			}
		}
	})
}

func TestAStrangerIsRefusedWithASignedReceipt(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
		guest, err := b.registry.ActorByKey(t.Context(), a.opKey.Pubkey())
		b.must(err)
		_, _, err = b.registry.Revoke(t.Context(), annex, guest.ID, domain.Admin)
		b.must(err)
		time.Sleep(2 * time.Second) // virtual: rights are known for a second
		m := a.send(jobTo(b, "set x 1"))
		done := a.wait(m)
		if done.Status != domain.MessageError || done.Receipt == "" || done.Node != b.post.Node() {
			t.Fatalf("got %+v", done)
		}
		j, err := a.work.Show(t.Context(), home, domain.JobKey{Caller: a.op, ID: m.Job[0].ID})
		a.must(err)
		if j.Status != domain.JobError || j.Reason != domain.ReasonRefused {
			t.Errorf("the copy here: got %s %s", j.Status, j.Reason)
		}
		if diff := cmp.Diff([]string{"no_right"}, b.refused.causes()); diff != "" {
			t.Error(diff)
		}
		if len(b.lines.ran()) != 0 {
			t.Error("it ran all the same")
		}
	})
}

func TestASiteThatIsAwayGetsItsMessagesLater(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, net *membus.Network, a, b *site) {
		net.Cut("alpha", "beta")
		m := a.send(jobTo(b, "set x 1"))
		time.Sleep(time.Hour)
		if now, err := a.post.Show(t.Context(), home, m.Key()); err != nil || now.Status != domain.MessageDispatched {
			t.Fatalf("got %+v, %v", now, err)
		}
		net.Heal()
		if done := a.wait(m); done.Status != domain.MessageProcessed {
			t.Fatalf("got %+v", done)
		}
		for key, n := range b.lines.ran() {
			if n != 1 {
				t.Errorf("job %s ran %d times", key, n)
			}
		}
	})
}

func TestTimeoutsNameTheStage(t *testing.T) {
	t.Run("no bus takes it", func(t *testing.T) {
		bubble(t, membus.Config{}, func(t *testing.T, net *membus.Network, a, b *site) {
			net.Cut("alpha", "beta")
			m := jobTo(b, "set x 1")
			m.Timeout, m.TimeoutAck = 30, 60
			done := a.wait(a.send(m))
			if done.Status != domain.MessageError || done.Stage != domain.StageDelivery {
				t.Fatalf("got %+v", done)
			}
		})
	})
	t.Run("nobody acknowledges", func(t *testing.T) {
		bubble(t, membus.Config{Loss: 1}, func(t *testing.T, net *membus.Network, a, b *site) {
			m := jobTo(b, "set x 1")
			m.Timeout, m.TimeoutAck = 30, 60
			done := a.wait(a.send(m))
			if done.Status != domain.MessageError || done.Stage != domain.StageAck {
				t.Fatalf("got %+v", done)
			}
			net.Calm()
			time.Sleep(time.Hour)
			if len(b.lines.ran()) != 0 {
				t.Error("it ran after it had expired")
			}
		})
	})
	t.Run("no result comes", func(t *testing.T) {
		bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
			m := jobTo(b, "sleep 1h")
			m.TimeoutResult = 60
			done := a.wait(a.send(m))
			if done.Status != domain.MessageError || done.Stage != domain.StageResult {
				t.Fatalf("got %+v", done)
			}
			j, err := a.work.Show(t.Context(), home, domain.JobKey{Caller: a.op, ID: done.Job[0].ID})
			a.must(err)
			if j.Reason != domain.ReasonTimeout {
				t.Errorf("got %+v", j)
			}
		})
	})
}

func TestMessagesOfForeignProgramsAreSignedAndSent(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
		// As an actor of the seeds does it: HSET, then LPUSH.
		key := domain.MessageKey{Caller: a.op, ID: 101}
		job := `[{"id":2001,"caller_id":1,"context_id":7,"script":"set x 9","script_type":"lines"}]`
		a.write("job:1:2001", "id", "2001", "caller_id", "1", "context_id", "1", "script", "set x 9", "script_type", "lines", "status", "dispatched")
		a.write(key.String(), "id", "101", "caller_id", "1", "context_id", "1", "message_type", "job", "job", job, "dst_context", "7", "dst_node", b.post.Node())
		a.push(queue.MsgOut, key.String())
		done := a.wait(&domain.Message{CallerID: a.op, ID: 101})
		if done.Status != domain.MessageProcessed {
			t.Fatalf("got %+v", done)
		}
		j, err := a.work.Show(t.Context(), home, domain.JobKey{Caller: 1, ID: 2001})
		a.must(err)
		if j.Status != domain.JobFinished || j.Result["x"] != "9" {
			t.Errorf("got %+v", j)
		}
	})
}

func TestWithinOneBoardNoBusIsNeeded(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, _ *site) {
		m := a.send(domain.Message{MessageType: domain.MessageJob, DstContext: annex, Job: domain.List[domain.Job]{{Script: "set x 1\nsay hi", ScriptType: "lines"}}})
		done := a.wait(m)
		if done.Status != domain.MessageProcessed || len(done.Logs) != 1 {
			t.Fatalf("got %+v", done)
		}
		if left, err := a.board.Len(t.Context(), 1, queue.MsgOut, queue.MsgSent, queue.PostPush); err != nil || left[0]+left[1]+left[2] != 0 {
			t.Errorf("left in queues: %v, %v", left, err)
		}
	})
}

func TestABadBusLosesNothing(t *testing.T) {
	cfg := membus.Config{Seed: 7, Loss: 0.3, Double: 0.3, Delay: 20 * time.Second, Reorder: 0.3}
	bubble(t, cfg, func(t *testing.T, _ *membus.Network, a, b *site) {
		var sent []*domain.Message
		for range 40 {
			sent = append(sent, a.send(jobTo(b, "set x 1")))
		}
		for _, m := range sent {
			if done := a.wait(m); done.Status != domain.MessageProcessed {
				t.Fatalf("got %+v", done)
			}
		}
		if len(b.lines.ran()) != 40 {
			t.Errorf("got %d jobs run", len(b.lines.ran()))
		}
		for key, n := range b.lines.ran() {
			if n != 1 {
				t.Errorf("job %s ran %d times", key, n)
			}
		}
	})
}

func TestAJobForARunnerThatIsElsewhereGoesThere(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
		// The record of the seeds: local is false, the address says where.
		a.write("runner:1", "id", "1", "local", "false", "address", "7@beta", "topic", "runner1")
		j := &domain.Job{CallerID: a.op, Script: "set x 5", ScriptType: "lines", ForRunner: 1}
		receipts, err := a.work.Submit(t.Context(), home, []*domain.Job{j})
		a.must(err)
		a.must(receipts[0].Err)
		done, err := a.work.Wait(t.Context(), home, receipts[0].Key)
		a.must(err)
		if done.Status != domain.JobFinished || done.Result["x"] != "5" {
			t.Fatalf("got %+v", done)
		}
		theirs, err := b.work.Show(t.Context(), annex, domain.JobKey{Caller: guestOf(a, b), ID: done.ID})
		b.must(err)
		if theirs.ForRunner != 1 {
			t.Errorf("there it was for runner %d, want 1", theirs.ForRunner)
		}
	})
}

// guestOf is the number of a's operator at b.
func guestOf(a, b *site) domain.ActorID {
	guest, err := b.registry.ActorByKey(b.Context(), a.opKey.Pubkey())
	b.must(err)
	return guest.ID
}
