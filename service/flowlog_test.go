package service_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// flowOf submits a flow of jobs, which are its steps 1, 2, 3, and has them begun one second after the other.
func (r *rig) flowOf(n int) (keys []domain.JobKey) {
	r.Helper()
	p := api.SubmitFlowParams{Context: house}
	for i := range n {
		p.Jobs = append(p.Jobs, api.JobInput{Job: domain.Job{ID: domain.JobID(i + 1), Script: "x", ScriptType: "shell"}})
	}
	if _, err := r.api.As(admin).SubmitFlows(r.Context(), p); err != nil {
		r.Fatal(err)
	}
	v, err := r.api.As(reader).ShowFlow(r.Context(), api.ShowFlowParams{FlowParams: api.FlowParams{Context: house, Flow: 1}})
	if err != nil {
		r.Fatal(err)
	}
	for i, id := range v.Jobs {
		key := domain.JobKey{Caller: admin, ID: id}
		keys = append(keys, key)
		b := board.Batch{Space: layout.SpaceOf(house)}
		b.Set(key.String(), board.Field{Name: layout.JobStartedMs, Value: fmt.Sprint(1000 + 1000*i)}, board.Field{Name: layout.JobAttempt, Value: "1"},
			board.Field{Name: layout.JobStatus, Value: string(domain.JobStarted)})
		r.commit(b)
	}
	return keys
}

func (r *rig) commit(b board.Batch) {
	r.Helper()
	if err := r.board.Commit(r.Context(), b); err != nil {
		r.Fatal(err)
	}
}

// says has jobs say something at instants.
func (r *rig) says(key domain.JobKey, at ...int64) {
	r.Helper()
	var lines []string
	for _, ms := range at {
		lines = append(lines, layout.EncodeLog(domain.Log{AtMs: ms, Stream: "stdout", Attempt: 1, Line: fmt.Sprint(ms)}))
	}
	b := board.Batch{Space: layout.SpaceOf(house)}
	b.Append(layout.Logs(key), 1<<20, lines...)
	r.commit(b)
}

// letter is a step as a letter: "a" is the first.
func letter(l api.FlowLog) string { return string(l.Step[0] - '1' + 'a') }

// flowLog is all of a flow's log as "a1000 b1500 …", page by page.
func (r *rig) flowLog(p api.FlowLogParams) string {
	r.Helper()
	p.Context, p.Flow = house, 1
	var words []string
	for range 1000 {
		page, err := r.api.As(reader).FlowLogs(r.Context(), p)
		if err != nil {
			r.Fatal(err)
		}
		for _, l := range page.Logs {
			words = append(words, letter(l)+l.Line)
		}
		if p.Cursor = page.Next; p.Cursor == "" {
			return strings.Join(words, " ")
		}
	}
	r.Fatal("the pages do not end")
	return ""
}

func TestLogsOfAFlowAreInTheOrderOfTime(t *testing.T) {
	r := newRig(t)
	keys := r.flowOf(3)
	r.says(keys[0], 1000, 2500, 2500, 9000)
	r.says(keys[1], 2000, 2500, 8000)
	r.says(keys[2], 3000, 3000, 3000)
	const all = "a1000 b2000 a2500 a2500 b2500 c3000 c3000 c3000 b8000 a9000"
	for limit := range 12 {
		if got := r.flowLog(api.FlowLogParams{Limit: limit}); got != all {
			t.Errorf("in pages of %d: got %s, want %s", limit, got, all)
		}
	}
	words := strings.Fields(all)
	for n := 1; n < 12; n++ {
		want := strings.Join(words[max(len(words)-n, 0):], " ")
		if got := r.flowLog(api.FlowLogParams{LogWanted: api.LogWanted{Tail: n}}); got != want {
			t.Errorf("the last %d: got %s, want %s", n, got, want)
		}
	}
	for want, p := range map[string]api.FlowLogParams{
		"b2000 b2500 b8000":             {Step: "2"},
		"c3000 c3000 c3000 b8000 a9000": {LogWanted: api.LogWanted{SinceMs: 2501}},
		"b8000 a9000":                   {LogWanted: api.LogWanted{SinceMs: 3001, Tail: 5}},
		"a2500 a2500 a9000":             {Step: "1", LogWanted: api.LogWanted{SinceMs: 2500}},
		"b2500":                         {Step: "2", LogWanted: api.LogWanted{SinceMs: 2100, Tail: 2}, Limit: 1, Cursor: "2500.0"},
		"a2500 b2500 c3000 c3000 c3000 b8000 a9000": {Cursor: "2500.1"},
	} {
		if p.Limit == 1 { // one page only
			want += " b8000"
		}
		if got := r.flowLog(p); got != want {
			t.Errorf("%+v: got %s, want %s", p, got, want)
		}
	}
	for _, cursor := range []string{"x", "1", "1.", "1.x", "-1.0", "1.-1", "01.0", "1.0 "} {
		if _, err := r.api.As(reader).FlowLogs(t.Context(), api.FlowLogParams{FlowParams: api.FlowParams{Context: house, Flow: 1}, Cursor: cursor}); err == nil {
			t.Errorf("cursor %q is taken", cursor)
		}
	}
}

// Many lines are read in parts, and still in their order.
func TestLongLogsOfAFlow(t *testing.T) {
	r := newRig(t)
	keys := r.flowOf(2)
	var want []string
	for i := range int64(1000) {
		r.says(keys[i%2], 5000+i)
		want = append(want, fmt.Sprintf("%c%d", rune('a'+i%2), 5000+i))
	}
	if got := r.flowLog(api.FlowLogParams{Limit: 77}); got != strings.Join(want, " ") {
		t.Errorf("got %s", got)
	}
}

// TestAFollowedFlowTellsWhatComes has a job begin, and jobs speak, while somebody follows.
func TestAFollowedFlowTellsWhatComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		keys := r.flowOf(2)
		r.says(keys[0], 1000, 1500)
		lines := make(chan string, 100)
		done := make(chan error, 1)
		go func() {
			p := &api.FlowLogParams{FlowParams: api.FlowParams{Context: house, Flow: 1}, LogWanted: api.LogWanted{Tail: 1}}
			done <- r.api.As(reader).FollowFlowLogs(t.Context(), p, func(e api.Event) error {
				if e.Name == api.EventLog {
					l := e.Data.(api.FlowLog)
					lines <- fmt.Sprintf("%s%s.%d", letter(l), l.Line, l.N)
				} else {
					lines <- e.Name
				}
				return nil
			})
		}()
		var got []string
		hear := func(n int) {
			for range n {
				select {
				case l := <-lines:
					got = append(got, l)
				case err := <-done: // what it said before that may not have been heard yet
					if done <- err; len(lines) == 0 {
						t.Fatalf("it ended: %v, after %q", err, got)
					}
					got = append(got, <-lines)
				case <-time.After(time.Minute):
					t.Fatalf("nothing more came after %q", got)
				}
			}
		}
		hear(1)
		r.says(keys[1], 2000)
		hear(1)
		r.says(keys[0], 3000)
		r.says(keys[1], 2500)
		hear(2)
		for _, k := range keys {
			b := board.Batch{Space: layout.SpaceOf(house)}
			b.Set(k.String(), board.Field{Name: layout.JobStatus, Value: string(domain.JobFinished)}, board.Field{Name: layout.JobFinishedMs, Value: "4000"})
			r.commit(b)
		}
		r.says(keys[0], 3500)
		b := board.Batch{Space: layout.SpaceOf(house)}
		b.Set("flow:1", board.Field{Name: layout.FlowStatus, Value: string(domain.FlowFinished)},
			board.Field{Name: layout.FlowReason, Value: string(domain.FlowSucceeded)},
			board.Field{Name: layout.FlowFinishedMs, Value: "4000"})
		r.commit(b)
		hear(2)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		slices.Sort(got[2:4])
		if want := []string{"a1500.2", "b2000.1", "a3000.3", "b2500.2", "a3500.4", api.EventEnd}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
