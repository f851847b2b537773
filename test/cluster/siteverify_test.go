package cluster

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// This file holds what two sites have at the end against what was acknowledged
// and promised.

// drainWithin is how long it may take until everything has ended: a message that
// got lost again and again is pushed once a minute.
const drainWithin = 4 * time.Minute

// drained waits until every message and flow has ended, and the jobs of messages
// with them: those of a message end after it, and a kill between the two leaves
// them to an alarm.
func (w *war) drained() {
	w.Helper()
	for begun := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		var open []string
		for _, s := range w.sites {
			open = append(open, s.open()...)
		}
		if len(open) == 0 {
			for _, s := range w.sites {
				s.awaitJobs(begun.Add(drainWithin))
			}
			w.Logf("drained after %v", time.Since(begun).Round(time.Millisecond))
			return
		}
		if time.Since(begun) > drainWithin {
			for _, text := range open[:min(len(open), 20)] {
				w.Errorf("not drained: %s", text)
			}
			w.FailNow()
		}
	}
}

// open names what has not ended.
func (s *site) open() (open []string) {
	s.Helper()
	for _, in := range []domain.TenantID{desktop, guests} {
		for _, status := range []domain.MessageStatus{domain.MessageDispatched, domain.MessageAcknowledged} {
			for _, m := range s.list(api.ListMessagesParams{Context: in, Status: status}, 5) {
				x, _ := s.client.ExplainMessage(s.Context(), in, m.Key())
				open = append(open, s.name+": "+m.Key().String()+": "+x.Text)
			}
		}
	}
	for _, status := range []domain.FlowStatus{domain.FlowDispatched, domain.FlowStarted} {
		flows, err := s.client.Flows(s.Context(), api.ListFlowsParams{Context: desktop, FlowFilter: api.FlowFilter{Status: status}})
		if err != nil {
			s.Fatal(err)
		}
		for _, f := range flows.Flows {
			open = append(open, s.name+": "+domain.FlowKey(f.ID))
		}
	}
	return open
}

// awaitJobs waits until the jobs of all messages that were sent have ended here.
func (s *site) awaitJobs(until time.Time) {
	s.Helper()
	ctx, cancel := context.WithDeadline(s.Context(), until)
	defer cancel()
	for _, m := range s.list(api.ListMessagesParams{Context: desktop, Box: "sent", Type: domain.MessageJob}, 0) {
		if _, err := s.client.WaitMessage(ctx, desktop, m.Key()); err != nil {
			s.Errorf("%s: %s has not ended with its jobs: %v", s.name, m.Key(), err)
		}
	}
}

func (s *site) list(p api.ListMessagesParams, most int) []*api.MessageView {
	s.Helper()
	list, err := s.client.Messages(s.Context(), p, most)
	if err != nil {
		s.Fatal(err)
	}
	return list
}

// verify checks the messages and flows of a site.
func (s *site) verify() {
	s.Helper()
	there := map[string]*api.MessageView{} // what the peer has of ours, by our key
	for _, m := range s.peer.list(api.ListMessagesParams{Context: guests, Box: "received"}, 0) {
		if m.MessageType == domain.MessageResult {
			continue
		}
		if was := there[m.Origin]; was != nil {
			s.Errorf("%s of %s was received twice, as %s and %s", m.Origin, s.name, was.Key(), m.Key())
		}
		there[m.Origin] = m
	}
	sent := map[domain.MessageKey]*api.MessageView{}
	for _, m := range s.list(api.ListMessagesParams{Context: desktop, Box: "sent"}, 0) {
		sent[m.Key()] = m
		if m.Status != domain.MessageProcessed {
			s.Errorf("%s: %s ended as %s: %s", s.name, m.Key(), m.Status, m.Error)
		} else if there[m.Key().String()] == nil {
			s.Errorf("%s: %s was processed, but %s has not got it", s.name, m.Key(), s.peer.name)
		} else if m.MessageType == domain.MessageJob {
			s.verifyJobs(m.Key())
		}
	}
	for key := range s.messages {
		if sent[key] == nil {
			s.Errorf("%s: %s was acknowledged and is lost", s.name, key)
		}
	}
	for id, n := range s.flows {
		f, err := s.client.Flow(s.Context(), desktop, id)
		if want := n + 2; err != nil || f.Status != domain.FlowFinished || f.Result["z"] != strconv.Itoa(want) {
			s.Errorf("%s: flow %d is %s (%s) with %v, %v; want z=%d", s.name, id, f.Status, f.Error, f.Result, err, want)
		}
	}
	s.verifyGuests()
	s.verifyMessages()
	s.Logf("%s: %d messages and %d flows acknowledged, %d messages sent, %d received there", s.name, len(s.messages), len(s.flows), len(sent), len(there))
}

// verifyJobs checks what became, here, of the jobs of a message.
func (s *site) verifyJobs(key domain.MessageKey) {
	s.Helper()
	m, err := s.client.Message(s.Context(), desktop, key)
	if err != nil {
		s.Fatal(err)
	}
	for i := range m.Job {
		here, err := s.client.Job(s.Context(), desktop, domain.JobKey{Caller: m.CallerID, ID: m.Job[i].ID})
		if err != nil || here.Status != domain.JobFinished || len(here.Result) == 0 {
			s.Errorf("%s: job %d of %s: %+v, %v", s.name, m.Job[i].ID, key, here, err)
		}
		numbers := []int{0}
		for _, l := range m.Logs {
			if l.Job == m.Job[i].ID {
				numbers = append(numbers, l.N)
			}
		}
		if !slices.IsSorted(numbers) || len(slices.Compact(slices.Clone(numbers))) != len(numbers) || len(numbers) == 1 {
			s.Errorf("%s: the log of job %d of %s has the lines %v", s.name, m.Job[i].ID, key, numbers[1:])
		}
	}
}

// verifyGuests checks that every job that came from elsewhere ran and finished.
func (s *site) verifyGuests() {
	s.Helper()
	for cursor := ""; ; {
		page, err := s.client.Jobs(s.Context(), api.ListJobsParams{Context: guests, Cursor: cursor})
		if err != nil {
			s.Fatal(err)
		}
		for _, j := range page.Jobs {
			if j.Status != domain.JobFinished || j.Attempt == 0 {
				s.Errorf("%s: %s is %s (%s) after %d attempts", s.name, j.Key(), j.Status, j.Error, j.Attempt)
			}
		}
		if cursor = page.Next; cursor == "" {
			return
		}
	}
}

// verifyMessages checks that each message of ours is in the peer's inbox once, and
// each answer in ours.
func (s *site) verifyMessages() {
	s.Helper()
	count := map[string]int{}
	for _, m := range s.peer.inbox(guests) {
		if strings.HasSuffix(m.Message.Message, " of "+s.name) {
			count[m.Message.Message]++
		}
	}
	for text := range s.chats {
		if count[text] != 1 {
			s.Errorf("%s has %q %d times", s.peer.name, text, count[text])
		}
	}
	answers := map[string]int{}
	for _, m := range s.inbox(desktop) {
		answers[m.ReplyTo]++
	}
	for text, n := range count {
		if n > 1 {
			s.Errorf("%s has %q %d times", s.peer.name, text, n)
		}
	}
	for key, n := range answers {
		if n != 1 {
			s.Errorf("%s has %d answers to %s", s.name, n, key)
		}
	}
	for key := range s.messages {
		m, err := s.client.Message(s.Context(), desktop, key)
		if err == nil && m.MessageType == domain.MessageJob && answers[key.String()] != 1 {
			s.Errorf("%s has no answer to %s in its inbox", s.name, key)
		}
	}
}

func (s *site) inbox(in domain.TenantID) (all []*api.MessageView) {
	s.Helper()
	for {
		page, err := s.client.Inbox(s.Context(), in, len(all), 200)
		if err != nil {
			s.Fatal(err)
		}
		if all = append(all, page...); len(page) == 0 {
			return all
		}
	}
}

// verifyBoard stops the node and checks on its board that nothing is left of
// what moved the messages, and that every job ended once.
func (s *site) verifyBoard() {
	s.Helper()
	s.node.end()
	b, err := pebbleboard.Open(filepath.Join(s.data, "board"), pebbleboard.Config{})
	if err != nil {
		s.Fatal(err)
	}
	defer b.Close()
	for _, in := range []board.Space{board.Space(desktop), board.Space(guests)} {
		s.verifySpace(b, in)
	}
}

func (s *site) verifySpace(b board.Board, in board.Space) {
	s.Helper()
	ctx := s.Context()
	live, err := b.Live(ctx, in, board.LiveItem{}, 10)
	if err != nil {
		s.Fatal(err)
	}
	for _, it := range live {
		recs, err := b.Get(ctx, in, it.Item)
		s.Errorf("%s, context %d: %s is unfinished since %v: %v, %v", s.name, in, it.Item, it.At, recs, err)
	}
	for _, q := range []string{queue.MsgOut, queue.MsgSent, queue.MsgIn, queue.PostPush, queue.PostResult, queue.PostJobs} {
		if items, err := b.List(ctx, in, q, 0, 5); err != nil || len(items) > 0 {
			s.Errorf("%s, context %d: in %s is still %v, %v", s.name, in, q, items, err)
		}
	}
	ended, seen := map[string]bool{}, map[string]bool{}
	for from := 0; ; {
		keys, err := b.List(ctx, in, layout.Finished, from, 1000)
		if err != nil {
			s.Fatal(err)
		}
		recs, err := b.Get(ctx, in, keys...)
		if err != nil {
			s.Fatal(err)
		}
		for i, key := range keys {
			if ended[key] {
				s.Errorf("%s, context %d: %s ended twice", s.name, in, key)
			}
			ended[key] = true
			k, err := domain.ParseMessageKey(key)
			if err != nil || !strings.HasPrefix(key, layout.MessagePrefix) {
				continue
			}
			m, err := layout.DecodeMessage(k, recs[i])
			digest := identity.Digest(m)
			if err != nil || seen[digest+m.Origin] {
				s.Errorf("%s, context %d: %s is there twice, or cannot be read: %v", s.name, in, key, err)
			}
			seen[digest+m.Origin] = true
			for _, kind := range []layout.AlarmKind{layout.AlarmLate, layout.AlarmPush, layout.AlarmNotes} {
				if at, set, err := b.AlarmOf(ctx, in, layout.MessageAlarm(kind, k)); err != nil || set {
					s.Errorf("%s, context %d: alarm %s of %s at %v, %v", s.name, in, kind, key, at, err)
				}
			}
		}
		if from += len(keys); len(keys) == 0 {
			break
		}
	}
}
