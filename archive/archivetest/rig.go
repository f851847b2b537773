package archivetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
)

// rig is an open archive with shorthands.
type rig struct {
	*testing.T
	archive.Archive
}

func open(t *testing.T, f Factory) rig {
	t.Helper()
	a := f.Open(t)
	t.Cleanup(func() { a.Close() })
	return rig{t, a}
}

// job is a record of a job that finished at an instant.
func job(tenant domain.TenantID, id domain.JobID, endMs int64, change ...func(*domain.Job)) archive.Record {
	j := &domain.Job{ID: id, CallerID: 1, ContextID: tenant, Script: "exit", ScriptType: "shell", Status: domain.JobFinished,
		CreatedAt: domain.UnixTime(endMs / 1000), FinishedMs: endMs, EnvVars: map[string]string{}, Result: map[string]string{},
		Prerequisites: []string{}, Dependends: []domain.JobID{}}
	for _, c := range change {
		c(j)
	}
	r, err := archive.OfJob(tenant, j, nil)
	if err != nil {
		panic(err)
	}
	return r
}

// message is a record of a message that was processed at an instant.
func message(tenant domain.TenantID, id domain.MessageID, endMs int64, change ...func(*domain.Message)) archive.Record {
	m := &domain.Message{ID: id, CallerID: 1, ContextID: tenant, MessageType: domain.MessageChat, MessageFormatType: domain.FormatText,
		Status: domain.MessageProcessed, CreatedAt: domain.UnixTime(endMs / 1000), EndedMs: endMs}
	for _, c := range change {
		c(m)
	}
	r, err := archive.OfMessage(tenant, m)
	if err != nil {
		panic(err)
	}
	return r
}

// flow is a record of a flow with a name.
func flow(tenant domain.TenantID, id int, endMs int64, blueprint, trigger string) archive.Record {
	return archive.Record{Context: tenant, Kind: domain.ArchiveFlow, Key: fmt.Sprintf("flow:%d", id), EndMs: endMs, BeginMs: endMs,
		Status: "finished", Blueprint: blueprint, Trigger: trigger, Caller: 1, Body: json.RawMessage(`{}`)}
}

func (r rig) put(records ...archive.Record) {
	r.Helper()
	if err := r.Put(r.Context(), records); err != nil {
		r.Fatalf("put: %v", err)
	}
}

func (r rig) get(tenant domain.TenantID, key string, endMs int64) archive.Record {
	r.Helper()
	got, err := r.Get(r.Context(), tenant, key, endMs)
	if err != nil {
		r.Fatalf("get %s: %v", key, err)
	}
	return got
}

// finds searches and compares what is found with keys, newest end first; the
// count must be theirs too.
func (r rig) finds(q archive.Query, want ...string) {
	r.Helper()
	page, err := r.Search(r.Context(), q)
	if err != nil {
		r.Fatalf("search %+v: %v", q, err)
	}
	if diff := cmp.Diff(append([]string{}, want...), keysOf(page.Records)); diff != "" {
		r.Errorf("search %+v (-want +got):\n%s", q, diff)
	}
	n, err := r.Count(r.Context(), q)
	if err != nil || n != int64(len(want)) {
		r.Errorf("count %+v: got %d, %v, want %d", q, n, err, len(want))
	}
}

func keysOf(records []archive.Record) []string {
	keys := make([]string, len(records))
	for i := range records {
		keys[i] = records[i].Key
	}
	return keys
}

// refused wants an error of a kind.
func (r rig) refused(err, kind error, doing string) {
	r.Helper()
	if !errors.Is(err, kind) {
		r.Errorf("%s: got %v, want one of kind %q", doing, err, kind)
	}
}

// at is an instant of the tests.
func at(ms int64) time.Time { return time.UnixMilli(ms) }
