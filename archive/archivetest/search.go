package archivetest

import (
	"strings"
	"testing"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
)

var searchTests = []test{
	{"each filter finds what fits, and all must fit", func(t *testing.T, f Factory) {
		r := open(t, f)
		failed := func(j *domain.Job) { j.Status, j.Reason = domain.JobError, domain.ReasonTimeout }
		r.put(
			job(1, 1, 1000),
			job(1, 2, 2000, failed, func(j *domain.Job) { j.ScriptType = "python" }),
			job(1, 3, 3000, failed, func(j *domain.Job) { j.Reason = domain.ReasonCancelled; j.CallerID = 9 }),
			flow(1, 4, 4000, "nightly", "monday"),
			flow(1, 5, 5000, "nightly", "tuesday"),
		)
		for _, c := range []struct {
			name string
			q    archive.Query
			want []string
		}{
			{"all", archive.Query{}, []string{"flow:5", "flow:4", "job:9:3", "job:1:2", "job:1:1"}},
			{"kind", archive.Query{Kind: domain.ArchiveJob}, []string{"job:9:3", "job:1:2", "job:1:1"}},
			{"a kind that has none", archive.Query{Kind: domain.ArchiveMessage}, nil},
			{"status", archive.Query{Status: "error"}, []string{"job:9:3", "job:1:2"}},
			{"reason", archive.Query{Reason: "timeout"}, []string{"job:1:2"}},
			{"script type", archive.Query{ScriptType: "shell"}, []string{"job:9:3", "job:1:1"}},
			{"caller", archive.Query{Caller: 9}, []string{"job:9:3"}},
			{"blueprint", archive.Query{Blueprint: "nightly"}, []string{"flow:5", "flow:4"}},
			{"blueprint and trigger", archive.Query{Blueprint: "nightly", Trigger: "monday"}, []string{"flow:4"}},
			{"from an instant on", archive.Query{FromMs: 3000}, []string{"flow:5", "flow:4", "job:9:3"}},
			{"before an instant", archive.Query{ToMs: 3000}, []string{"job:1:2", "job:1:1"}},
			{"between instants", archive.Query{FromMs: 2000, ToMs: 4000}, []string{"job:9:3", "job:1:2"}},
			{"status and type", archive.Query{Status: "error", ScriptType: "shell"}, []string{"job:9:3"}},
			{"what contradicts itself", archive.Query{Status: "error", Blueprint: "nightly"}, nil},
		} {
			t.Run(c.name, func(t *testing.T) {
				c.q.Context = 1
				rig{t, r.Archive}.finds(c.q, c.want...)
			})
		}
	}},
	{"messages are found among the rest", func(t *testing.T, f Factory) {
		r := open(t, f)
		r.put(
			job(1, 1, 1000, func(j *domain.Job) { j.Status, j.Reason = domain.JobError, domain.ReasonTimeout }),
			message(1, 1, 2000),
			message(1, 2, 3000, func(m *domain.Message) { m.CallerID = 9 }),
			message(1, 3, 4000, func(m *domain.Message) { m.Status, m.Stage = domain.MessageError, domain.StageAck }),
			message(1, 4, 5000, func(m *domain.Message) { m.Status, m.Receipt = domain.MessageError, "7b7d" }),
			message(2, 5, 6000),
		)
		all := archive.Query{Context: 1, Kind: domain.ArchiveMessage}
		r.finds(all, "message:1:4", "message:1:3", "message:9:2", "message:1:1")
		for _, c := range []struct {
			name  string
			query func(*archive.Query)
			want  []string
		}{
			{"status", func(q *archive.Query) { q.Status = "processed" }, []string{"message:9:2", "message:1:1"}},
			{"the stage whose time ran out", func(q *archive.Query) { q.Reason = "ack" }, []string{"message:1:3"}},
			{"refused", func(q *archive.Query) { q.Reason = "refused" }, []string{"message:1:4"}},
			{"caller", func(q *archive.Query) { q.Caller = 9 }, []string{"message:9:2"}},
			{"between instants", func(q *archive.Query) { q.FromMs, q.ToMs = 3000, 5000 }, []string{"message:1:3", "message:9:2"}},
		} {
			t.Run(c.name, func(t *testing.T) {
				q := all
				c.query(&q)
				rig{t, r.Archive}.finds(q, c.want...)
			})
		}
	}},
	{"no context sees another's", func(t *testing.T, f Factory) {
		r := open(t, f)
		secret := func(j *domain.Job) { j.Script = "geheim" }
		r.put(job(1, 1, 1000, secret), job(2, 1, 1000, secret), job(2, 2, 1000, secret), flow(2, 3, 1000, "b", "t"))
		r.finds(archive.Query{Context: 1}, "job:1:1")
		r.finds(archive.Query{Context: 1, Text: "geheim"}, "job:1:1")
		r.finds(archive.Query{Context: 3, Text: "geheim"})
		r.finds(archive.Query{Context: 1, Blueprint: "b"})
		for _, key := range []string{"job:1:2", "flow:3"} {
			_, err := r.Get(t.Context(), 1, key, 0)
			r.refused(err, domain.ErrNotFound, "get "+key)
		}
		_, err := r.Holder(t.Context(), archive.Name{Context: 1, Blueprint: "b", Trigger: "t"})
		r.refused(err, domain.ErrNotFound, "holder of a name of another context")
	}},
	{"hostile values are only values", func(t *testing.T, f Factory) {
		r := open(t, f)
		hostile := `'; DROP TABLE records; -- "*:& %_\`
		odd := flow(1, 1, 1000, hostile, "π")
		r.put(odd, flow(1, 2, 1000, "plain", "p"))
		r.finds(archive.Query{Context: 1, Blueprint: hostile}, "flow:1")
		r.finds(archive.Query{Context: 1, Trigger: "π"}, "flow:1")
		r.finds(archive.Query{Context: 1, Text: hostile})
		r.finds(archive.Query{Context: 1}, "flow:2", "flow:1")
	}},
	{"a bad query is refused", func(t *testing.T, f Factory) {
		r := open(t, f)
		for name, q := range map[string]archive.Query{
			"no context":             {},
			"an unknown kind":        {Context: 1, Kind: "saga"},
			"a page of too many":     {Context: 1, Limit: archive.MaxPage + 1},
			"a negative limit":       {Context: 1, Limit: -1},
			"a cursor of no kind":    {Context: 1, Cursor: "x"},
			"a cursor without a key": {Context: 1, Cursor: "12."},
			"a text without a word":  {Context: 1, Text: "-- !"},
			"a text that is long":    {Context: 1, Text: strings.Repeat("a", archive.MaxText+1)},
			"a text of many words":   {Context: 1, Text: "a b c d e f g h i j k l m n o p q"},
			"a status with NUL":      {Context: 1, Status: "a\x00"},
			"a negative time":        {Context: 1, FromMs: -1},
		} {
			_, err := r.Search(t.Context(), q)
			r.refused(err, domain.ErrInvalid, name)
			_, err = r.Count(t.Context(), q)
			r.refused(err, domain.ErrInvalid, "count: "+name)
		}
	}},
}

var textTests = []test{
	{"words of script, result, error and log are found, those of the environment are not", func(t *testing.T, f Factory) {
		r := open(t, f)
		said := job(1, 1, 1000)
		said.Logs = []domain.Log{{Stream: "stdout", Line: "Connection to db-17.example.com:5432 refused"}}
		r.put(said,
			job(1, 2, 2000, func(j *domain.Job) { j.Script = "curl http://example.com/connect" }),
			job(1, 3, 3000, func(j *domain.Job) { j.Result = map[string]string{"Größe": "12GB"} }),
			job(1, 4, 4000, func(j *domain.Job) { j.Error = "exit code 7: or NOT and near" }),
			job(1, 5, 5000, func(j *domain.Job) { j.EnvVars = map[string]string{"PASSWORD": "hunter2"} }),
		)
		for _, c := range []struct {
			name, text string
			want       []string
		}{
			{"a word of the log", "refused", []string{"job:1:1"}},
			{"capitals do not count", "CONNECTION", []string{"job:1:1"}},
			{"the beginning of a word", "connect", []string{"job:1:2", "job:1:1"}},
			{"not the middle of a word", "onnect", nil},
			{"all words must be there", "example refused", []string{"job:1:1"}},
			{"what joins words does not count", "db-17.example", []string{"job:1:1"}},
			{"a number", "5432", []string{"job:1:1"}},
			{"a letter that is not ASCII, in capitals", "GRÖß", []string{"job:1:3"}},
			{"a value of the result", "12gb", []string{"job:1:3"}},
			{"words of the databases' own languages", "or not AND near", []string{"job:1:4"}},
			{"no value of the environment", "hunter2", nil},
			{"no name of the environment", "password", nil},
			{"no name of a field", "script_type", nil},
		} {
			t.Run(c.name, func(t *testing.T) {
				rig{t, r.Archive}.finds(archive.Query{Context: 1, Text: c.text}, c.want...)
			})
		}
	}},
	{"words of a message's text, error and log are found, those of its jobs are not", func(t *testing.T, f Factory) {
		r := open(t, f)
		r.put(
			message(1, 1, 1000, func(m *domain.Message) { m.Message = "The harbour is frozen" }),
			message(1, 2, 2000, func(m *domain.Message) { m.Status, m.Error = domain.MessageError, "no bus took it: frozen" }),
			message(1, 3, 3000, func(m *domain.Message) { m.Logs = domain.List[domain.Log]{{Stream: "stdout", Line: "frozen again"}} }),
			message(1, 4, 4000, func(m *domain.Message) {
				m.Job = domain.List[domain.Job]{{ID: 1, Script: "frozen", EnvVars: map[string]string{"PASSWORD": "hunter2"}}}
				m.Flow = `{"env":{"TOKEN":"hunter2"}}`
			}),
			job(1, 5, 5000, func(j *domain.Job) { j.Message = "message:77:88" }),
		)
		for text, want := range map[string][]string{
			"frozen": {"message:1:3", "message:1:2", "message:1:1"}, "harbour": {"message:1:1"}, "hunter2": nil, "password": nil, "77": nil,
		} {
			r.finds(archive.Query{Context: 1, Text: text}, want...)
		}
	}},
	{"text and filters hold together", func(t *testing.T, f Factory) {
		r := open(t, f)
		failed := func(j *domain.Job) { j.Status, j.Error = domain.JobError, "disk full" }
		r.put(job(1, 1, 1000, failed), job(1, 2, 2000, failed), job(1, 3, 3000, func(j *domain.Job) { j.Script = "disk full" }))
		r.finds(archive.Query{Context: 1, Text: "disk", Status: "error", FromMs: 1500}, "job:1:2")
	}},
}
