package api

import (
	"encoding/json"

	"github.com/ramet-run/ramet/domain"
)

// The operations on the archive.
var (
	ArchiveSearch = op[ArchivePage](Operation{
		Name: "archive.search", Method: "GET", Path: "/v1/contexts/{context}/archive", Right: domain.VerbRead, Much: true,
		Summary: "Search what has ended, newest first, by status, time, text and more.",
	}, ArchiveParams{Context: 7, ArchiveFilter: ArchiveFilter{Kind: domain.ArchiveJob, Text: "timeout"}})
	ArchiveExport = op[ArchivePage](Operation{
		Name: "archive.export", Method: "GET", Path: "/v1/contexts/{context}/archive/export", Right: domain.VerbRead, Much: true,
		Summary: "Search what has ended and read whole records, with logs, page by page.",
	}, ArchiveParams{Context: 7, ArchiveFilter: ArchiveFilter{Kind: domain.ArchiveJob}})
	ArchiveShow = op[ArchiveRecord](Operation{
		Name: "archive.show", Method: "GET", Path: "/v1/contexts/{context}/archive/{key}", Right: domain.VerbRead, Much: true,
		Summary: "Show what has ended, with its log.",
	}, ArchiveShowParams{Context: 7, Key: "job:12:2001"})
)

// ArchiveFilter says what to search for; empty filters do not filter.
type ArchiveFilter struct {
	Kind      domain.ArchiveKind `json:"-" query:"kind"`
	Status    string             `json:"-" query:"status"`
	Reason    string             `json:"-" query:"reason"`
	Type      domain.ScriptType  `json:"-" query:"type"`
	Blueprint string             `json:"-" query:"blueprint"`
	Trigger   string             `json:"-" query:"trigger"`
	Caller    domain.ActorID     `json:"-" query:"caller"`
	// FromMs and ToMs bound the end: from_ms <= end < to_ms.
	FromMs int64 `json:"-" query:"from_ms"`
	ToMs   int64 `json:"-" query:"to_ms"`
	// Text is words that must all begin a word of the script, the text of a
	// message, the result, the error or the log.
	Text string `json:"-" query:"text"`
	// Where is a Rhai expression over `record`, by the fields that a page shows,
	// such as record.end_ms - record.begin_ms > 60000. With it a page may be
	// empty while more is to come.
	Where string `json:"-" query:"where"`
	// Count counts what the filter fits, and lists nothing. It takes no where.
	Count bool `json:"-" query:"count"`
	// Cursor is the next of the page before.
	Cursor string `json:"-" query:"cursor"`
	// Limit is how many a page has at the most, up to 500. 0: 100.
	Limit int `json:"-" query:"limit"`
}

// ArchiveParams are the parameters of archive.search and archive.export.
type ArchiveParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	ArchiveFilter
}

// ArchiveShowParams name a record.
type ArchiveShowParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Key     string          `json:"-" path:"key"`
	// EndMs chooses among the ends of a key. 0: the newest.
	EndMs int64 `json:"-" query:"end_ms"`
}

// ArchivePage is a page of what has ended, newest end first.
type ArchivePage struct {
	Records []ArchiveRecord `json:"records"`
	// Next is the cursor of the next page; "" is the end.
	Next string `json:"next,omitzero"`
	// Count is there where it was asked for.
	Count *Counted `json:"count,omitzero"`
}

// ArchiveRecord is one end of one thing.
type ArchiveRecord struct {
	Kind       domain.ArchiveKind `json:"kind"` // job, flow, message
	Key        string             `json:"key"`
	EndMs      int64              `json:"end_ms"`
	BeginMs    int64              `json:"begin_ms"`
	Status     string             `json:"status"`
	Reason     string             `json:"reason,omitzero"`
	ScriptType domain.ScriptType  `json:"script_type,omitzero"`
	Blueprint  string             `json:"blueprint,omitzero"`
	Trigger    string             `json:"trigger,omitzero"`
	Caller     domain.ActorID     `json:"caller"`
	// The rest is left out of a list: the job or the message, or the body of
	// another kind, and the log.
	Job     *domain.Job     `json:"job,omitzero"`
	Message *domain.Message `json:"message,omitzero"`
	Body    json.RawMessage `json:"body,omitzero"`
	Logs    []domain.Log    `json:"logs,omitzero"`
}
