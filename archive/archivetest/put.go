package archivetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
)

var putTests = []test{
	{"a record comes back with all its fields", func(t *testing.T, f Factory) {
		r := open(t, f)
		code := 3
		want := job(7, 12, 1_700_000_000_123, func(j *domain.Job) {
			j.Script, j.ScriptType, j.CallerID = "print('ü\x01')", "python", 4_000_000_000
			j.Status, j.Reason, j.Error, j.ExitCode = domain.JobError, domain.ReasonScriptFailed, "exit code 3", &code
			j.EnvVars, j.Result = map[string]string{"A": "b"}, map[string]string{"rows": "9", "nul": "\x00"}
			j.Attempt, j.StartedMs, j.QueuedMs, j.FlowID, j.Step = 2, 5, 4, 33, "load"
		})
		want.Logs = []domain.Log{{AtMs: 1, Stream: "stdout", Attempt: 1, Line: "eins\x00\ufffd"}, {AtMs: 2, Stream: "stderr", Line: ""}}
		r.put(want)
		want.Texts = nil // they are not kept
		got := r.get(7, want.Key, want.EndMs)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		j, err := got.Job()
		if err != nil || j.Result["nul"] != "\x00" || *j.ExitCode != 3 || j.EnvVars["A"] != "b" {
			t.Errorf("got job %+v, %v", j, err)
		}
	}},
	{"a message comes back with all its fields, its jobs and what they said", func(t *testing.T, f Factory) {
		r := open(t, f)
		want := &domain.Message{ID: 101, CallerID: 4_000_000_000, ContextID: 7, Message: "two jobs, please", MessageType: domain.MessageJob,
			MessageFormatType: domain.FormatMD, Timeout: 1, TimeoutAck: 2, TimeoutResult: 3, CreatedAt: 1_700_000_000, UpdatedAt: 1_700_000_001,
			Job:  domain.List[domain.Job]{{ID: 5, CallerID: 4_000_000_000, Script: "exit", ScriptType: "shell", EnvVars: map[string]string{"A": "b"}}},
			Logs: domain.List[domain.Log]{{AtMs: 1, Stream: "stdout", Line: "eins\x00", Job: 5, N: 1}}, Status: domain.MessageError, DstContext: 9,
			DstNode: "aa", Signature: "bb", Error: "no result came", Stage: domain.StageResult, Answer: "message:3:4", Pushes: 2, EndedMs: 1_700_000_001_234}
		rec, err := archive.OfMessage(7, want)
		if err != nil {
			t.Fatal(err)
		}
		r.put(rec)
		back := r.get(7, "message:4000000000:101", want.EndedMs)
		got, err := back.Message()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}},
	{"a second put of the same end changes nothing", func(t *testing.T, f Factory) {
		r := open(t, f)
		first := job(1, 1, 1000)
		second := first
		second.Status = "error"
		r.put(first, first)
		r.put(job(1, 2, 1000), second)
		r.finds(archive.Query{Context: 1}, "job:1:2", "job:1:1")
		if got := r.get(1, "job:1:1", 0); got.Status != "finished" {
			t.Errorf("got status %q, want that of the first put", got.Status)
		}
	}},
	{"each end of a key has a record, and the newest is the default", func(t *testing.T, f Factory) {
		r := open(t, f)
		r.put(job(1, 1, 3000), job(1, 1, 1000), job(1, 1, 2000))
		r.finds(archive.Query{Context: 1}, "job:1:1", "job:1:1", "job:1:1")
		if got := r.get(1, "job:1:1", 0); got.EndMs != 3000 {
			t.Errorf("got the end %d, want the newest", got.EndMs)
		}
		if got := r.get(1, "job:1:1", 2000); got.EndMs != 2000 {
			t.Errorf("got the end %d, want the one asked for", got.EndMs)
		}
		_, err := r.Get(t.Context(), 1, "job:1:1", 2001)
		r.refused(err, domain.ErrNotFound, "get an end that was not")
	}},
	{"what was put is there after a crash", func(t *testing.T, f Factory) {
		r := open(t, f)
		r.put(job(1, 1, 1000, func(j *domain.Job) { j.Script = "wort" }), flow(1, 5, 1000, "b", "t"))
		again := rig{t, f.Reopen(t, r.Archive)}
		defer again.Close()
		again.finds(archive.Query{Context: 1, Text: "wort"}, "job:1:1")
		again.put(job(1, 2, 1000))
		again.finds(archive.Query{Context: 1, Kind: domain.ArchiveJob}, "job:1:2", "job:1:1")
		if got, err := again.Holder(t.Context(), archive.Name{Context: 1, Blueprint: "b", Trigger: "t"}); err != nil || got != "flow:5" {
			t.Errorf("holder: got %q, %v", got, err)
		}
	}},
	{"a batch with a bad record is refused whole", func(t *testing.T, f Factory) {
		r := open(t, f)
		for name, change := range map[string]func(*archive.Record){
			"no context":          func(r *archive.Record) { r.Context = 0 },
			"no kind":             func(r *archive.Record) { r.Kind = "" },
			"no key":              func(r *archive.Record) { r.Key = "" },
			"no end":              func(r *archive.Record) { r.EndMs = 0 },
			"no body":             func(r *archive.Record) { r.Body = nil },
			"a body of no JSON":   func(r *archive.Record) { r.Body = json.RawMessage("{") },
			"a long key":          func(r *archive.Record) { r.Key = strings.Repeat("k", archive.MaxHead+1) },
			"a reason with NUL":   func(r *archive.Record) { r.Reason = "a\x00b" },
			"a status of no UTF8": func(r *archive.Record) { r.Status = "\xff" },
		} {
			bad := job(1, 2, 1000)
			change(&bad)
			r.refused(r.Put(t.Context(), []archive.Record{job(1, 1, 1000), bad}), domain.ErrInvalid, name)
		}
		r.refused(r.Put(t.Context(), make([]archive.Record, archive.MaxBatch+1)), domain.ErrInvalid, "a batch that is too long")
		r.finds(archive.Query{Context: 1})
	}},
	{"nothing to put is no error", func(t *testing.T, f Factory) { open(t, f).put() }},
	{"a large record is kept whole", func(t *testing.T, f Factory) {
		r := open(t, f)
		want := job(1, 1, 1000, func(j *domain.Job) { j.Script = strings.Repeat("wort ", 200_000) })
		var words bytes.Buffer
		for i := range 100_000 {
			fmt.Fprintf(&words, "w%d ", i)
		}
		want.Logs = []domain.Log{{Stream: "stdout", Line: words.String()}, {Stream: "stdout", Line: strings.Repeat("x", 1<<20)}}
		r.put(want)
		want.Texts = nil // they are not kept
		if got := r.get(1, want.Key, 0); !cmp.Equal(want, got) {
			t.Error("got another record than was put")
		}
		r.finds(archive.Query{Context: 1, Text: "w1"}, want.Key)
	}},
	{"writers at once put each record once", func(t *testing.T, f Factory) {
		r := open(t, f)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for id := range domain.JobID(20) {
					if err := r.Put(t.Context(), []archive.Record{job(1, id+1, 1000), job(2, id+1, 1000)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		for _, tenant := range []domain.TenantID{1, 2} {
			if n, err := r.Count(t.Context(), archive.Query{Context: tenant}); err != nil || n != 20 {
				t.Errorf("context %d: got %d records, %v, want 20", tenant, n, err)
			}
		}
	}},
	{"it says how durable it is", func(t *testing.T, f Factory) {
		r := open(t, f)
		if err := r.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := string(r.Durability()); got != f.Durability {
			t.Errorf("got %q, want %q", got, f.Durability)
		}
	}},
}
