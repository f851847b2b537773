package service_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/sqlitearchive"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/post"
	"github.com/ramet-run/ramet/service"
)

// newArchiveRig is a rig with an archive, in which one job has ended that the
// board no longer has.
func newArchiveRig(t *testing.T) *rig {
	a, err := sqlitearchive.Open(t.Context(), filepath.Join(t.TempDir(), "archive.db"), sqlitearchive.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	r := newRig(t)
	keys, err := identity.OpenKeyring(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	messages := post.New(r.board, post.Config{Keys: keys, Registry: r.registry, Access: identity.NewAccess(r.registry, nil), Work: r.engine,
		Flows: flow.New(r.board, r.engine, flow.Config{})})
	r.archive = a
	r.api = service.New(service.Parts{Jobs: r.engine, Flows: flow.New(r.board, r.engine, flow.Config{}), Directory: r.registry, Access: r, Records: r.board,
		Archive: a, Post: messages,
		Info: func() api.Info { return api.Info{} }})
	if err := r.engine.SetArchive(t.Context(), "", "here"); err != nil {
		t.Fatal(err)
	}
	key := domain.JobKey{Caller: admin, ID: 1}
	r.submit(1, map[string]string{"SECRET": "hunter2"})
	b := layoutLog(key, "walnut", "second")
	if err := r.board.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if _, err := r.engine.Cancel(t.Context(), house, key, admin); err != nil {
		t.Fatal(err)
	}
	left, err := r.engine.Backlog(t.Context(), house)
	if err != nil {
		t.Fatal(err)
	}
	ended, covered, err := r.engine.Ended(t.Context(), left, 10)
	if err != nil || len(ended) != 1 {
		t.Fatal(ended, err)
	}
	rec, err := archive.OfJob(house, ended[0].Job, ended[0].Logs)
	if err != nil {
		t.Fatal(err)
	}
	flow := archive.Record{Context: house, Kind: domain.ArchiveFlow, Key: "flow:5", EndMs: 1, Status: "finished", Blueprint: "b", Trigger: "t",
		Body: json.RawMessage(`{"id":5,"env_vars":{"A":"hunter2"},"jobs":[{"env_vars":{"B":"hunter2"},"env_vars_note":1}],"plan":{"env":{"C":"hunter2"},` +
			`"steps":[{"env":{"D":"hunter2"}}]}}`)}
	if err := a.Put(t.Context(), []archive.Record{rec, flow}); err != nil {
		t.Fatal(err)
	}
	if err := r.engine.MarkArchived(t.Context(), left, covered); err != nil {
		t.Fatal(err)
	}
	if n, err := r.engine.Prune(t.Context(), house, time.Now().Add(time.Second)); err != nil || n != 1 {
		t.Fatalf("prune: got %d, %v", n, err)
	}
	return r
}

func TestShowAndLogsGoOnWhenTheBoardHasLetGo(t *testing.T) {
	r := newArchiveRig(t)
	p := api.JobParams{Context: house, Caller: admin, ID: 1}
	for actor, secret := range map[domain.ActorID]string{admin: "hunter2", executor: api.Redacted, reader: api.Redacted} {
		j, err := r.api.As(actor).ShowJob(t.Context(), p)
		if err != nil || j.Reason != domain.ReasonCancelled || j.EnvVars["SECRET"] != secret {
			t.Errorf("actor %d: got %+v, %v, want the job with %q", actor, j, err, secret)
		}
	}
	for _, c := range []struct {
		name        string
		from, limit int
		want        []string
	}{
		{"all", 0, 0, []string{"walnut", "second"}},
		{"from a line on", 1, 0, []string{"second"}},
		{"a few", 0, 1, []string{"walnut"}},
		{"behind the end", 9, 0, nil},
	} {
		got, err := r.api.As(reader).JobLogs(t.Context(), api.LogParams{JobParams: p, From: c.from, Limit: c.limit})
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, l := range got.Logs {
			lines = append(lines, l.Line)
		}
		if diff := cmp.Diff(c.want, lines); diff != "" || got.Logs == nil {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	if j, err := r.api.As(reader).WaitJob(t.Context(), api.WaitParams{JobParams: p}); err != nil || !j.Final() {
		t.Errorf("wait: got %+v, %v", j, err)
	}
	if x, err := r.api.As(reader).ExplainJob(t.Context(), p); err != nil || x.Standing != domain.StandingEnded {
		t.Errorf("explain: got %+v, %v", x, err)
	}
	var events []string
	err := r.api.As(reader).WatchJob(t.Context(), &api.WaitParams{JobParams: p}, func(e api.Event) error { events = append(events, e.Name); return nil })
	if diff := cmp.Diff([]string{api.EventEnd}, events); err != nil || diff != "" {
		t.Errorf("watch: %v (-want +got):\n%s", err, diff)
	}
	p.ID = 2
	if _, err := r.api.As(reader).ShowJob(t.Context(), p); !errors.Is(err, domain.ErrNotFound) || !strings.Contains(err.Error(), "does not exist in context 7") {
		t.Errorf("a job that never was: got %v, want what the board says", err)
	}
}

// shelve puts an ended message into the archive; the board does not have it.
func (r *rig) shelve(m *domain.Message) {
	r.Helper()
	m.Status, m.EndedMs = domain.MessageProcessed, 1000
	rec, err := archive.OfMessage(house, m)
	if err != nil {
		r.Fatal(err)
	}
	if err := r.archive.Put(r.Context(), []archive.Record{rec}); err != nil {
		r.Fatal(err)
	}
}

func TestAMessageIsShownWhenTheBoardHasLetGo(t *testing.T) {
	r := newArchiveRig(t)
	secret := map[string]string{"SECRET": "hunter2"}
	r.shelve(&domain.Message{ID: 1, CallerID: admin, MessageType: domain.MessageJob, Message: "please", Answer: "message:9:2",
		Job:  domain.List[domain.Job]{{ID: 5, CallerID: admin, EnvVars: secret}},
		Logs: domain.List[domain.Log]{{Line: "walnut", Job: 5, N: 1}}})
	r.shelve(&domain.Message{ID: 2, CallerID: 9, MessageType: domain.MessageResult, ReplyTo: "message:1:1",
		Job: domain.List[domain.Job]{{ID: 5, CallerID: admin, Status: domain.JobFinished, Result: map[string]string{"sum": "3"}}}})
	p := api.MessageParams{Context: house, Caller: admin, ID: 1}
	for actor, want := range map[domain.ActorID]string{admin: "hunter2", executor: api.Redacted, reader: api.Redacted} {
		for verb, read := range map[string]func() (api.MessageView, error){
			"show": func() (api.MessageView, error) { return r.api.As(actor).ShowMessage(t.Context(), p) },
			"wait": func() (api.MessageView, error) {
				return r.api.As(actor).WaitMessage(t.Context(), api.WaitMessageParams{MessageParams: p})
			},
		} {
			m, err := read()
			if err != nil {
				t.Errorf("%s by actor %d: %v", verb, actor, err)
				continue
			}
			if m.Message.Message != "please" || len(m.Logs) != 1 || m.Job[0].EnvVars["SECRET"] != want {
				t.Errorf("%s by actor %d: got %+v, want the message with %q", verb, actor, m, want)
			}
			if len(m.Results) != 1 || m.Results[0].Result["sum"] != "3" {
				t.Errorf("%s by actor %d: got results %+v, want those of the answer, from the archive too", verb, actor, m.Results)
			}
		}
	}
	if x, err := r.api.As(reader).ExplainMessage(t.Context(), p); err != nil || !strings.Contains(x.Text, "only the archive") {
		t.Errorf("explain: got %+v, %v", x, err)
	}
	if _, err := r.api.As(stranger).ShowMessage(t.Context(), p); !errors.Is(err, domain.ErrForbidden) {
		t.Errorf("a stranger: got %v, want forbidden", err)
	}
	p.ID = 3
	if _, err := r.api.As(reader).ShowMessage(t.Context(), p); !errors.Is(err, domain.ErrNotFound) ||
		!strings.Contains(err.Error(), "does not exist in context 7") {
		t.Errorf("a message that never was: got %v, want what the board says", err)
	}
}

func TestTheArchiveHidesTheEnvironmentOfAMessage(t *testing.T) {
	r := newArchiveRig(t)
	env := map[string]string{"SECRET": "hunter3"}
	r.shelve(&domain.Message{ID: 1, CallerID: admin, MessageType: domain.MessageJob, Job: domain.List[domain.Job]{{ID: 5, EnvVars: env}},
		Logs: domain.List[domain.Log]{{Line: "walnut"}}})
	r.shelve(&domain.Message{ID: 2, CallerID: admin, MessageType: domain.MessageJob, Flow: `{"env":{"SECRET":"hunter3"}}`})
	filter := api.ArchiveFilter{Kind: domain.ArchiveMessage}
	for actor, secrets := range map[domain.ActorID]int{admin: 2, executor: 0, reader: 0} {
		whole, err := r.api.As(actor).ExportArchive(t.Context(), api.ArchiveParams{Context: house, ArchiveFilter: filter})
		if err != nil || len(whole.Records) != 2 {
			t.Fatalf("actor %d: got %+v, %v, want two messages", actor, whole, err)
		}
		text, err := json.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(text), "hunter3"); got != secrets {
			t.Errorf("actor %d: got %d secrets in %s, want %d", actor, got, text, secrets)
		}
		if got := strings.Count(string(text), "walnut"); got != 1 {
			t.Errorf("actor %d: got its log %d times, want once", actor, got)
		}
	}
	filter.Text = "hunter3"
	if found, err := r.api.As(reader).SearchArchive(t.Context(), api.ArchiveParams{Context: house, ArchiveFilter: filter}); err != nil || len(found.Records) != 0 {
		t.Errorf("a reader finds %+v, %v by a secret", found, err)
	}
}

func TestWhatTheArchiveShowsToWhom(t *testing.T) {
	r := newArchiveRig(t)
	for actor, open := range map[domain.ActorID]bool{admin: true, executor: false, reader: false} {
		all := api.ArchiveParams{Context: house}
		heads, err := r.api.As(actor).SearchArchive(t.Context(), all)
		if err != nil || len(heads.Records) != 2 || heads.Records[0].Job != nil || heads.Records[1].Body != nil || heads.Records[0].Logs != nil {
			t.Errorf("actor %d: got %+v, %v, want two heads", actor, heads, err)
		}
		whole, err := r.api.As(actor).ExportArchive(t.Context(), all)
		if err != nil || len(whole.Records) != 2 || len(whole.Records[0].Logs) != 2 {
			t.Fatalf("actor %d: got %+v, %v, want two whole records", actor, whole, err)
		}
		text, err := json.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(text), "hunter2"); open && got != 5 || !open && got != 0 {
			t.Errorf("actor %d: got %d secrets in %s", actor, got, text)
		}
		if !open && strings.Count(string(text), `"***"`) != 5 {
			t.Errorf("actor %d: got %s, want the names of what is hidden", actor, text)
		}
		one, err := r.api.As(actor).ShowArchive(t.Context(), api.ArchiveShowParams{Context: house, Key: "flow:5"})
		if err != nil || strings.Contains(string(one.Body), "hunter2") != open || !strings.Contains(string(one.Body), `"env_vars_note":1`) {
			t.Errorf("actor %d: got %s, %v", actor, one.Body, err)
		}
	}
	found, err := r.api.As(reader).SearchArchive(t.Context(), api.ArchiveParams{Context: house, ArchiveFilter: api.ArchiveFilter{Text: "hunter2"}})
	if err != nil || len(found.Records) != 0 {
		t.Errorf("a reader finds %+v, %v by a secret", found, err)
	}
}

func TestANodeWithoutAnArchiveSaysSo(t *testing.T) {
	r := newRig(t)
	if _, err := r.api.As(reader).SearchArchive(t.Context(), api.ArchiveParams{Context: house}); !errors.Is(err, domain.ErrNotFound) ||
		!strings.Contains(err.Error(), "no archive") {
		t.Errorf("got %v", err)
	}
}

func layoutLog(key domain.JobKey, lines ...string) (b board.Batch) {
	b.Space = layout.SpaceOf(house)
	for _, l := range lines {
		b.PushRight(layout.Logs(key), layout.EncodeLog(domain.Log{Stream: "stdout", Line: l}))
	}
	return b
}

func TestAFlowThatOnlyTheArchiveHasIsListedByItsName(t *testing.T) {
	r := newArchiveRig(t)
	body := json.RawMessage(`{"id":6,"caller_id":3,"status":"finished","blueprint":"c","trigger":"t","env_vars":{"A":"hunter2"},"jobs":[1]}`)
	if err := r.archive.Put(t.Context(), []archive.Record{{Context: house, Kind: domain.ArchiveFlow, Key: "flow:6", EndMs: 1, Status: "finished",
		Blueprint: "c", Trigger: "t", Body: body}}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		p    api.ListFlowsParams
		want int
	}{
		{api.ListFlowsParams{FlowFilter: api.FlowFilter{Blueprint: "c", Trigger: "t"}}, 1},
		{api.ListFlowsParams{FlowFilter: api.FlowFilter{Blueprint: "c", Trigger: "t", Where: "flow.id == 6"}}, 1},
		{api.ListFlowsParams{FlowFilter: api.FlowFilter{Blueprint: "c", Trigger: "t", Where: "flow.id == 7"}}, 0},
		{api.ListFlowsParams{FlowFilter: api.FlowFilter{Blueprint: "c", Trigger: "t", Caller: 77}}, 0},
		{api.ListFlowsParams{FlowFilter: api.FlowFilter{Blueprint: "c", Trigger: "u"}}, 0},
		{api.ListFlowsParams{FlowFilter: api.FlowFilter{Blueprint: "b"}}, 0}, // of many the board has what it has
	} {
		tc.p.Context = house
		l, err := r.api.As(reader).ListFlows(t.Context(), tc.p)
		if err != nil || len(l.Flows) != tc.want || l.Archived != (tc.p.Trigger == "t") || l.Next != "" {
			t.Errorf("%+v: got %+v, %v", tc.p, l, err)
		}
		if text, _ := json.Marshal(l); strings.Contains(string(text), "hunter2") {
			t.Errorf("%+v: environment is told: %s", tc.p, text)
		}
	}
}

func TestOneCallLooksAtABoundedNumber(t *testing.T) {
	r := newRig(t)
	var jobs []*domain.Job
	for range 5000 {
		jobs = append(jobs, &domain.Job{CallerID: admin, ContextID: house, Script: "x", ScriptType: "v"})
	}
	for page := range slices.Chunk(jobs, 500) {
		if _, err := r.engine.Submit(t.Context(), house, page); err != nil {
			t.Fatal(err)
		}
	}
	p := api.ListJobsParams{Context: house, JobFilter: api.JobFilter{Where: "job.id == 4"}}
	found, calls := 0, 0
	for calls = 1; ; calls++ {
		l, err := r.api.As(reader).ListJobs(t.Context(), p)
		if err != nil || l.Looked > 2500 {
			t.Fatalf("call %d looked at %d, %v", calls, l.Looked, err)
		}
		found += len(l.Jobs)
		if p.Cursor = l.Next; p.Cursor == "" {
			break
		}
	}
	if found != 1 || calls < 3 {
		t.Errorf("found %d in %d calls", found, calls)
	}
}

// What an audit has found without a record is no riddle to who asks for it.
func TestWhatWasLostIsTold(t *testing.T) {
	r := newArchiveRig(t)
	for _, item := range []string{"job:10:77", "flow:77", "message:10:77"} {
		b := board.Batch{Space: board.Space(house)}
		layout.SettleLost(&b, item, time.Now())
		if err := r.board.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	as, ctx := r.api.As(reader), t.Context()
	for name, ask := range map[string]func() error{
		"explain job": func() error {
			_, err := as.ExplainJob(ctx, api.JobParams{Context: house, Caller: 10, ID: 77})
			return err
		},
		"show job":     func() error { _, err := as.ShowJob(ctx, api.JobParams{Context: house, Caller: 10, ID: 77}); return err },
		"explain flow": func() error { _, err := as.ExplainFlow(ctx, api.FlowParams{Context: house, Flow: 77}); return err },
		"explain message": func() error {
			_, err := as.ExplainMessage(ctx, api.MessageParams{Context: house, Caller: 10, ID: 77})
			return err
		},
	} {
		if err := ask(); !errors.Is(err, domain.ErrNotFound) || !strings.Contains(err.Error(), "it had not ended, and its record was gone at") {
			t.Errorf("%s: got %v, want what the audit knows", name, err)
		}
	}
	// Before an audit has come by: it is marked as live, and has no record.
	b := board.Batch{Space: board.Space(house)}
	if err := r.board.Commit(ctx, *b.Live("job:10:78", time.Now())); err != nil {
		t.Fatal(err)
	}
	if _, err := as.ExplainJob(ctx, api.JobParams{Context: house, Caller: 10, ID: 78}); !errors.Is(err, domain.ErrNotFound) ||
		!strings.Contains(err.Error(), "it had not ended, and its record was gone at") {
		t.Errorf("at once: got %v", err)
	}
	if _, err := as.ExplainJob(ctx, api.JobParams{Context: house, Caller: 10, ID: 7}); err == nil || strings.Contains(err.Error(), "record was gone") {
		t.Errorf("a job that never was: got %v", err)
	}
}
