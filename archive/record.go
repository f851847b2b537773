package archive

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ramet-run/ramet/domain"
)

// Record is one end of one thing.
type Record struct {
	// The head.
	Context    domain.TenantID    `json:"context"`
	Kind       domain.ArchiveKind `json:"kind"`
	Key        string             `json:"key"`      // on the board: "job:12:2001"
	EndMs      int64              `json:"end_ms"`   // Unix ms
	BeginMs    int64              `json:"begin_ms"` // Unix ms; when it was asked for
	Status     string             `json:"status"`
	Reason     string             `json:"reason,omitzero"`
	ScriptType domain.ScriptType  `json:"script_type,omitzero"`
	Blueprint  string             `json:"blueprint,omitzero"`
	Trigger    string             `json:"trigger,omitzero"`
	Caller     domain.ActorID     `json:"caller"`

	// Body is the thing itself, all its fields; nil in a list of heads.
	Body json.RawMessage `json:"body,omitzero"`
	// Logs are its log lines, in order; nil in a list of heads.
	Logs []domain.Log `json:"logs,omitzero"`

	// Texts are those of the body that the record is found by; nil where they must be
	// read out of the body. Put takes them from who made the record, nothing returns them.
	Texts []string `json:"-"`
}

// Name is the record's business name; ok is false where it has none.
func (r *Record) Name() (n Name, ok bool) {
	if r.Kind != domain.ArchiveFlow || r.Blueprint == "" || r.Trigger == "" {
		return Name{}, false
	}
	return Name{Context: r.Context, Blueprint: r.Blueprint, Trigger: r.Trigger}, true
}

// Size is about how many bytes the record takes.
func (r *Record) Size() int {
	n := len(r.Body)
	for i := range r.Logs {
		n += logCost(r.Logs[i])
	}
	return n
}

// logCost is about what a line takes: its text and what stands around it.
func logCost(l domain.Log) int { return len(l.Line) + len(l.Stream) + 64 }

// Validate checks what is to be put.
//
// Errors: [domain.ErrInvalid].
func (r *Record) Validate() error {
	switch {
	case r.Context == 0:
		return domain.Invalidf("record %q: context 0 has no archive", r.Key)
	case !r.Kind.Known():
		return domain.Invalidf("record %q: kind %q: want job, flow or message", r.Key, r.Kind)
	case r.EndMs <= 0:
		return domain.Invalidf("record %q: end_ms %d: only what has ended can be archived", r.Key, r.EndMs)
	case !json.Valid(r.Body):
		return domain.Invalidf("record %q: the body is no JSON", r.Key)
	case r.Size() > MaxRecord:
		return domain.Invalidf("record %q has %d bytes, the limit is %d", r.Key, r.Size(), MaxRecord)
	}
	for _, f := range []struct {
		name, value string
		required    bool
	}{{"key", r.Key, true}, {"status", r.Status, true}, {"reason", r.Reason, false}, {"script_type", string(r.ScriptType), false},
		{"blueprint", r.Blueprint, false}, {"trigger", r.Trigger, false}} {
		if err := checkHead(f.name, f.value, f.required); err != nil {
			return err
		}
	}
	return nil
}

// checkHead checks a field of a head: every store can hold it as it is.
func checkHead(name, value string, required bool) error {
	switch {
	case required && value == "":
		return domain.Invalidf("%s is empty", name)
	case len(value) > MaxHead:
		return domain.Invalidf("%s has %d bytes, the limit is %d", name, len(value), MaxHead)
	case !utf8.ValidString(value) || strings.IndexByte(value, 0) >= 0:
		return domain.Invalidf("%s %q: want UTF-8 without NUL", name, value)
	}
	return nil
}

// Damaged is the state of a record that is not what was put: a driver gives it to what it finds so, and a backup
// takes it along, so that nobody takes what is left of the record for all of it.
const Damaged = "damaged"

// FitsHead reports whether a text can stand in a head, where it need not be there.
func FitsHead(value string) bool { return checkHead("", value, false) == nil }

// CheckBatch checks the records of a Put.
//
// Errors: [domain.ErrInvalid].
func CheckBatch(records []Record) error {
	if len(records) > MaxBatch {
		return domain.Invalidf("put %d records: the limit is %d", len(records), MaxBatch)
	}
	for i := range records {
		if err := records[i].Validate(); err != nil {
			return err
		}
	}
	return nil
}

// maxJobLogs is where a job's log is cut, so that its record stays within
// MaxRecord whatever its body is. A job's own share is far smaller by default.
const maxJobLogs = 32 << 20

// OfJob is the record of an ended job in a context. Whatever a foreign program
// wrote on the board, it can be put: what does not fit into the head is cut
// there and whole in the body.
func OfJob(tenant domain.TenantID, j *domain.Job, logs []domain.Log) (Record, error) {
	body, err := j.MarshalJSON() // json.Marshal would read and copy what this returns
	if err != nil {
		return Record{}, domain.Invalidf("job %q cannot be written as JSON: %v", j.Key(), err)
	}
	return Record{
		Context: tenant, Kind: domain.ArchiveJob, Key: j.Key().String(), EndMs: j.FinishedMs,
		BeginMs: cmp.Or(AskedMs(j.CreatedAt, firstQueued(j)), j.QueuedMs, j.FinishedMs),
		Status:  fit(string(j.Status)), Reason: fit(string(j.Reason)), ScriptType: domain.ScriptType(fit(string(j.ScriptType))),
		Caller: j.CallerID, Body: body, Logs: cutLogs(logs), Texts: textsOfJob(j),
	}, nil
}

// AskedMs is when something was asked for, in Unix ms. Records have the second of that alone:
// what came of it next within that very second, nextMs, is the closer one. 0: nothing did.
func AskedMs(created domain.UnixTime, nextMs int64) int64 {
	ms := int64(created) * 1000
	if nextMs/1000 == int64(created) {
		return max(ms, nextMs)
	}
	return ms
}

// firstQueued is when a job was queued the first time, 0 where that is not known any more.
func firstQueued(j *domain.Job) int64 {
	if j.Attempt > 1 {
		return 0
	}
	return j.QueuedMs
}

// textsOfJob are the texts of a job that it is found by.
func textsOfJob(j *domain.Job) []string {
	texts := make([]string, 0, 2+2*len(j.Result))
	texts = append(texts, j.Error)
	for _, name := range slices.Sorted(maps.Keys(j.Result)) {
		texts = append(texts, name, j.Result[name])
	}
	return append(texts, j.Script)
}

// Job is the job that the record is of.
//
// Errors: [domain.ErrInvalid] for a record of another kind, or a head only.
func (r *Record) Job() (*domain.Job, error) {
	if r.Kind != domain.ArchiveJob || r.Body == nil {
		return nil, domain.Invalidf("record %q of kind %s holds no job", r.Key, r.Kind)
	}
	j := &domain.Job{}
	if err := json.Unmarshal(r.Body, j); err != nil {
		return nil, domain.Invalidf("record %q: the job cannot be read: %v", r.Key, err)
	}
	return j, nil
}

// fit makes a text one that a head can hold.
func fit(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD")
	if len(s) > MaxHead {
		s = strings.ToValidUTF8(s[:MaxHead], "")
	}
	return s
}

// cutLogs keeps the last lines within maxJobLogs, with one that says so. The
// end of a log is what tells how the job ended.
func cutLogs(logs []domain.Log) []domain.Log {
	size := 0
	for i, l := range slices.Backward(logs) {
		if size += logCost(l); size > maxJobLogs {
			note := domain.Log{AtMs: l.AtMs, Stream: "ramet", Line: "log cut by the archive: earlier lines are left out"}
			return append([]domain.Log{note}, logs[i+1:]...)
		}
	}
	return logs
}
