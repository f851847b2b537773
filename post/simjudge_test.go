package post_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// This file holds the ends of a simulation against what is promised.

// account is a board that keeps account of what may happen once only.
type account struct {
	board.Board
	t    *testing.T
	name string

	mu      sync.Mutex
	status  map[ref]domain.MessageStatus // of messages
	listed  map[ref]int                  // ends of jobs and flows
	filed   map[ref]int                  // into inboxes
	retried map[ref]int                  // by hand: each gives it another end
	trace   []string                     // every commit, where -trace asks for it
}

// place is a key of a context.
type ref struct {
	in  domain.TenantID
	key string
}

func newAccount(t *testing.T, name string, b board.Board) *account {
	return &account{Board: b, t: t, name: name, status: map[ref]domain.MessageStatus{}, listed: map[ref]int{}, filed: map[ref]int{},
		retried: map[ref]int{}}
}

func (a *account) Commit(ctx context.Context, b board.Batch) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.Board.Commit(ctx, b); err != nil {
		return err
	}
	if *simTrace {
		a.trace = append(a.trace, strings.ReplaceAll(fmt.Sprintf("%s %s %d: %+v", time.Now().UTC().Format("15:04:05.000"), a.name, b.Space, b.Ops), "\n", "|"))
	}
	for _, op := range b.Ops {
		p := ref{domain.TenantID(b.Space), op.Key}
		switch {
		case op.Kind == board.OpDelete: // removed: another message may get the key
			delete(a.status, p)
			delete(a.listed, p)
			delete(a.filed, p)
			delete(a.retried, p)
		case op.Kind == board.OpAdd && op.Field == layout.JobRetried:
			a.retried[p]++
		case op.Kind == board.OpPushLeft && op.Key == layout.Finished:
			for _, it := range op.Items {
				a.listed[ref{p.in, it}]++
			}
		case op.Kind == board.OpPushLeft && strings.HasPrefix(op.Key, "ramet:inbox:"):
			for _, it := range op.Items {
				a.filed[ref{p.in, it}]++
			}
		case op.Kind == board.OpSet && strings.HasPrefix(op.Key, layout.MessagePrefix):
			for _, f := range op.Fields {
				if f.Name == layout.MessageStatus {
					a.moved(p, domain.MessageStatus(f.Value))
				}
			}
		}
	}
	return nil
}

// moved checks that a message's status moves as it may, and ends once.
func (a *account) moved(p ref, to domain.MessageStatus) {
	was := a.status[p]
	if was != "" && was != to && !was.CanBecome(to) || was.Final() {
		a.t.Errorf("%v: %s: %s of context %d became %s, but was %s", time.Now().UTC(), a.name, p.key, p.in, to, was)
	}
	a.status[p] = to
}

func (a *account) CommitEach(ctx context.Context, batches []board.Batch) []error {
	errs := make([]error, len(batches))
	for i := range batches {
		errs[i] = a.Commit(ctx, batches[i])
	}
	return errs
}

// each gives every message of the site.
func (x *simSite) each(do func(in domain.TenantID, m *domain.Message, rec board.Record)) {
	ctx := context.Background()
	for _, in := range simSpaces {
		for cursor := ""; ; {
			keys, next, err := x.board.Keys(ctx, board.Space(in), layout.MessagePrefix, cursor, 1000)
			x.sim.must(err)
			slices.Sort(keys)
			recs, err := x.board.Get(ctx, board.Space(in), keys...)
			x.sim.must(err)
			for i, key := range keys {
				k, err := domain.ParseMessageKey(key)
				x.sim.must(err)
				m, err := layout.DecodeMessage(k, recs[i])
				x.sim.must(err)
				m.ContextID = in
				do(in, m, recs[i])
			}
			if cursor = next; cursor == "" {
				break
			}
		}
	}
}

// simQueues are all those that messages lie in.
var simQueues = []string{queue.MsgOut, queue.MsgSent, queue.MsgIn, queue.PostPush, queue.PostResult, queue.PostLogs, queue.PostJobs}

// left is what is still there of unfinished things.
func (x *simSite) left() (left []string) {
	ctx := context.Background()
	for _, in := range simSpaces {
		live, err := x.board.Live(ctx, board.Space(in), board.LiveItem{}, 100)
		x.sim.must(err)
		for _, it := range live {
			left = append(left, x.name+": live: "+it.Item)
		}
		for _, q := range simQueues {
			items, err := x.board.List(ctx, board.Space(in), q, 0, 100)
			x.sim.must(err)
			for _, it := range items {
				left = append(left, x.name+": in "+q+": "+it)
			}
		}
		logs, _, err := x.board.Keys(ctx, board.Space(in), "ramet:logs:"+layout.MessagePrefix, "", 100)
		x.sim.must(err)
		for _, key := range logs {
			left = append(left, x.name+": log: "+key)
		}
	}
	x.each(func(in domain.TenantID, m *domain.Message, _ board.Record) {
		for _, kind := range []layout.AlarmKind{layout.AlarmLate, layout.AlarmPush, layout.AlarmNotes} {
			if at, set, err := x.board.AlarmOf(ctx, board.Space(in), layout.MessageAlarm(kind, m.Key())); err != nil || set {
				left = append(left, x.name+": alarm: "+layout.MessageAlarm(kind, m.Key())+at.UTC().String())
			}
		}
		for _, item := range []string{m.Key().String(), layout.Notes(m.Key())} {
			if l, held, err := x.board.LeaseOf(ctx, board.Space(in), item); err != nil || held {
				left = append(left, x.name+": lease of "+l.Owner+" on "+item)
			}
		}
	})
	return left
}

// drained waits until every message, job and flow has ended and nothing is left
// of what moved them. It takes no time-out of a stage, unless somebody asked for
// a short one.
func (s *sim) drained() {
	var left []string
	for range 720 {
		left = left[:0]
		for _, x := range s.sites {
			left = append(left, x.left()...)
		}
		if len(left) == 0 {
			time.Sleep(20 * time.Minute) // late alarms, doubled entries, parcels that were held up
			return
		}
		time.Sleep(10 * time.Second)
	}
	for _, what := range left {
		s.t.Errorf("not drained: %s", what)
	}
	for _, x := range s.sites {
		x.each(func(in domain.TenantID, m *domain.Message, rec board.Record) {
			if !m.Final() {
				why, err := x.calm.post.Explain(context.Background(), in, m.Key())
				s.t.Errorf("%s, context %d: %+v %v: %v", x.name, in, why, err, rec)
			}
		})
	}
}

// received is a message where it arrived.
type received struct {
	at  *simSite
	in  domain.TenantID
	m   *domain.Message
	rec board.Record
}

// judge checks the promises at the end.
func (s *sim) judge() {
	for _, what := range s.leftAtAll() {
		s.t.Errorf("left: %s", what)
	}
	if s.prunes {
		for _, x := range s.sites {
			x.judgePruned()
			s.must(x.board.Close())
		}
		return
	}
	got := map[string]received{} // by digest
	for _, x := range s.sites {
		x.each(func(in domain.TenantID, m *domain.Message, rec board.Record) {
			if !m.Final() {
				s.t.Errorf("%s, context %d: %s has not ended: %s", x.name, in, m.Key(), m.Status)
			}
			if m.Origin == "" {
				return
			}
			if was, twice := got[identity.Digest(m)]; twice {
				s.t.Errorf("%s of %s was received twice: as %s and as %s of %s", m.Origin, m.Pubkey, m.Key(), was.m.Key(), was.at.name)
			}
			got[identity.Digest(m)] = received{x, in, m, rec}
			x.judgeReceived(in, m, rec)
		})
	}
	for _, x := range s.sites {
		x.each(func(in domain.TenantID, m *domain.Message, _ board.Record) {
			if m.Origin == "" {
				x.judgeSent(in, m, got)
			}
		})
		x.judgeWork()
	}
	for _, x := range s.sites {
		s.must(x.board.Close())
	}
}

// judgePruned checks that nothing is left of what has ended but what nobody has
// taken out of the inboxes.
func (x *simSite) judgePruned() {
	ctx := context.Background()
	for _, in := range simSpaces {
		inbox, err := x.board.List(ctx, board.Space(in), layout.Inbox(domain.Operator), 0, 10_000)
		x.sim.must(err)
		for cursor := ""; ; {
			keys, next, err := x.board.Keys(ctx, board.Space(in), "", cursor, 1000)
			x.sim.must(err)
			for _, key := range keys {
				kind, _, _ := strings.Cut(strings.TrimPrefix(key, "ramet:"), ":")
				if slices.Contains([]string{"context", "limits", "seq", "seen", "inbox", "failed"}, kind) || key == layout.Trimmed || slices.Contains(inbox, key) {
					continue
				}
				recs, _ := x.board.Get(ctx, board.Space(in), key)
				x.sim.t.Errorf("%s: after all was removed there is still %s in context %d: %v", x.name, key, in, recs)
			}
			if cursor = next; cursor == "" {
				break
			}
		}
	}
	x.judgeEnds()
}

func (s *sim) leftAtAll() (left []string) {
	for _, x := range s.sites {
		left = append(left, x.left()...)
		due, err := x.board.Due(context.Background(), 10, 0)
		s.must(err)
		for _, a := range due {
			left = append(left, x.name+": due: "+a.Name)
		}
	}
	return left
}

// judgeReceived checks what was done with a message where it arrived.
func (x *simSite) judgeReceived(in domain.TenantID, m *domain.Message, rec board.Record) {
	filed := x.board.filed[ref{in, m.Key().String()}]
	if m.MessageType != domain.MessageJob {
		want := 1
		if m.MessageType == domain.MessageResult && !x.waits(in, m) {
			want = 0
		}
		if m.Status != domain.MessageProcessed || filed != want {
			x.sim.t.Errorf("%s: %s of type %s is %s (%s), and was filed into an inbox %d times", x.name, m.Key(), m.MessageType, m.Status, m.Error, filed)
		}
		return
	}
	made, decided := layout.MadeOf(rec)
	if m.Status != domain.MessageProcessed || m.Answer == "" || !decided || filed != 0 {
		x.sim.t.Errorf("%s: %s is %s (%s), answered by %q, filed %d times", x.name, m.Key(), m.Status, m.Error, m.Answer, filed)
	}
	for _, d := range made {
		if d.Error != "" || d.Flow != 0 {
			continue
		}
		key := domain.JobKey{Caller: m.CallerID, ID: d.Ours}
		j, err := x.calm.work.Show(context.Background(), in, key)
		if err != nil || !j.Final() || j.Message != m.Key().String() {
			x.sim.t.Errorf("%s: %s was made of %s: %+v, %v", x.name, key, m.Key(), j, err)
		} else if j.Status == domain.JobFinished && x.lines.ran(in, key) == 0 {
			x.sim.t.Errorf("%s: %s finished, but never ran", x.name, key)
		}
	}
}

// waits reports whether somebody waits for a result: it answered a message, and
// that was not sent for a job alone.
func (x *simSite) waits(in domain.TenantID, m *domain.Message) bool {
	recs, err := x.board.Get(context.Background(), board.Space(in), m.ReplyTo)
	x.sim.must(err)
	return recs[0].Get(layout.MessageAnswer) == m.Key().String() && recs[0].Get(layout.MessageQuiet) == ""
}

// judgeSent checks how a message ended where it came from, and what became of
// the jobs that it took away.
func (x *simSite) judgeSent(in domain.TenantID, m *domain.Message, got map[string]received) {
	there, arrived := got[identity.Digest(m)]
	switch {
	case m.Status == domain.MessageProcessed && !arrived:
		x.sim.t.Errorf("%s: %s was processed, but nobody received it", x.name, m.Key())
	case m.Status == domain.MessageError && m.Error == "":
		x.sim.t.Errorf("%s: %s ended in error without a reason", x.name, m.Key())
	case m.Receipt != "" && arrived:
		x.sim.t.Errorf("%s: %s was refused (%s), and received all the same", x.name, m.Key(), m.Error)
	}
	if m.MessageType != domain.MessageJob {
		return
	}
	how := map[domain.JobID]domain.Job{}
	if m.Status == domain.MessageProcessed {
		key, err := domain.ParseMessageKey(m.Answer)
		x.sim.must(err)
		answer, err := x.calm.post.Show(context.Background(), in, key)
		if err != nil || answer.ReplyTo != m.Key().String() {
			x.sim.t.Errorf("%s: %s was answered by %s: %+v, %v", x.name, m.Key(), m.Answer, answer, err)
			return
		}
		for _, j := range answer.Job {
			how[j.ID] = j
		}
		if arrived {
			x.judgeLog(m, there)
		}
	}
	for i := range m.Job {
		x.judgeCopy(in, m, &m.Job[i], how)
	}
}

// judgeCopy checks the record, here, of a job that ran elsewhere.
func (x *simSite) judgeCopy(in domain.TenantID, m *domain.Message, j *domain.Job, how map[domain.JobID]domain.Job) {
	here, err := x.calm.work.Show(context.Background(), in, domain.JobKey{Caller: m.CallerID, ID: j.ID})
	if err != nil || here.Message != m.Key().String() {
		return // it has the id of another, or its sender keeps no record of it
	}
	if here.Reason == domain.ReasonCancelled || here.Reason == domain.ReasonFlowAborted {
		return // somebody here did not want to wait for it
	}
	if m.Status == domain.MessageError {
		if here.Status != domain.JobError || here.Reason != domain.ReasonRefused && here.Reason != domain.ReasonTimeout {
			x.sim.t.Errorf("%s: %s is %s (%s), its message %s ended in error: %s", x.name, here.Key(), here.Status, here.Reason, m.Key(), m.Error)
		}
		return
	}
	said, told := how[j.ID]
	if !told {
		x.sim.t.Errorf("%s: the answer to %s says nothing of %s", x.name, m.Key(), here.Key())
	}
	if here.Status != said.Status || here.Reason != said.Reason || !maps.Equal(here.Result, said.Result) {
		x.sim.t.Errorf("%s: %s is %s (%s, %s) %v, but the answer to %s said %s (%s) %v", x.name, here.Key(), here.Status, here.Reason, here.Error,
			here.Result, m.Key(), said.Status, said.Reason, said.Result)
	}
}

// judgeLog checks that what the sender has of the logs is what the jobs said.
func (x *simSite) judgeLog(m *domain.Message, there received) {
	made, _ := layout.MadeOf(there.rec)
	for _, d := range made {
		if d.Error != "" || d.Flow != 0 {
			continue
		}
		logs, err := there.at.calm.work.Logs(context.Background(), there.in, domain.JobKey{Caller: there.m.CallerID, ID: d.Ours}, 0, 10_000)
		x.sim.must(err)
		if there.at.board.retried[ref{there.in, domain.JobKey{Caller: there.m.CallerID, ID: d.Ours}.String()}] > 0 {
			continue // it went on after its answer
		}
		var said, heard []string
		for _, l := range logs {
			said = append(said, l.Line)
		}
		for _, l := range m.Logs {
			if l.Job == d.Theirs {
				heard = append(heard, l.Line)
			}
		}
		if diff := cmp.Diff(said, heard); diff != "" {
			x.sim.t.Errorf("%s: the log of job %d of %s (-said +heard):\n%s", x.name, d.Theirs, m.Key(), diff)
		}
	}
}

// judgeWork checks that jobs and flows ended, once, and alike.
func (x *simSite) judgeWork() {
	ctx := context.Background()
	x.judgeEnds()
	for _, in := range simSpaces {
		for cursor := ""; ; {
			keys, next, err := x.board.Keys(ctx, board.Space(in), layout.FlowPrefix, cursor, 1000)
			x.sim.must(err)
			for _, key := range keys {
				id, err := domain.ParseFlowKey(key)
				if err != nil {
					continue
				}
				v, err := x.calm.flows.Show(ctx, in, id)
				x.sim.must(err)
				for _, st := range v.Steps {
					if !v.Final() || !st.Status.Done() {
						x.sim.t.Errorf("%s: flow %d of context %d is %s, its step %s is %s", x.name, id, in, v.Status, st.Name, st.Status)
					}
					if st.Job == "" {
						continue
					}
					k, _ := domain.ParseJobKey(st.Job)
					j, err := x.calm.work.Show(ctx, in, k)
					if err != nil || !j.Final() || (j.Status == domain.JobFinished) != (st.Status == "succeeded") {
						x.sim.t.Errorf("%s: flow %d, step %s is %s, its job %+v, %v", x.name, id, st.Name, st.Status, j, err)
					}
				}
			}
			if cursor = next; cursor == "" {
				break
			}
		}
	}
}

// judgeEnds checks that each job, flow and message was noted as ended once.
func (x *simSite) judgeEnds() {
	for p, n := range x.board.listed {
		if again := x.board.retried[p]; n < 1 || n > 1+again {
			x.sim.t.Errorf("%s: %s of context %d ended %d times", x.name, p.key, p.in, n)
		}
	}
}
