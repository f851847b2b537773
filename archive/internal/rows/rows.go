// Package rows is what the archives on SQL databases have in common: a record
// as a row of the table "records", and a query as its WHERE.
package rows

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
)

// Head are the columns of a head, in the order that [ScanHead] wants; Whole has
// those of the rest too. A column named trigger would need quotes.
const (
	Head  = "context, kind, key, end_ms, begin_ms, status, reason, script_type, blueprint, flow_trigger, caller"
	Whole = Head + ", body, logs"
)

// Columns are those that a query reads.
func Columns(whole bool) string {
	if whole {
		return Whole
	}
	return Head
}

// Scan reads a row of [Columns].
func Scan(scan func(dest ...any) error, whole bool) (r archive.Record, err error) {
	var body, logs []byte
	if r, err = scanInto(scan, whole, &body, &logs); err != nil || !whole {
		return r, err
	}
	r.Body = body
	if len(logs) > 0 {
		err = json.Unmarshal(logs, &r.Logs)
	}
	return r, err
}

// scanInto is Scan with body and logs as they are stored.
func scanInto(scan func(dest ...any) error, whole bool, body, logs *[]byte) (r archive.Record, err error) {
	var tenant, caller int64
	var kind, scriptType string
	dest := []any{&tenant, &kind, &r.Key, &r.EndMs, &r.BeginMs, &r.Status, &r.Reason, &scriptType, &r.Blueprint, &r.Trigger, &caller}
	if whole {
		dest = append(dest, body, logs)
	}
	if err := scan(dest...); err != nil {
		return r, err
	}
	r.Context, r.Kind, r.ScriptType, r.Caller = domain.TenantID(tenant), domain.ArchiveKind(kind), domain.ScriptType(scriptType), domain.ActorID(caller)
	return r, nil
}

// Logs are a record's lines as their column holds them.
func Logs(r *archive.Record) ([]byte, error) {
	if len(r.Logs) == 0 {
		return []byte{}, nil
	}
	return json.Marshal(r.Logs)
}

// Where writes the plan's filters, joined by AND. arg takes a value and returns
// its placeholder. The text, which each database searches in its own way, is
// left to the driver.
func Where(p *archive.Plan, arg func(any) string) string {
	conds := []string{"context = " + arg(int64(p.Context))}
	text := func(column, value string) {
		if value != "" {
			conds = append(conds, column+" = "+arg(value))
		}
	}
	// What few records have is indexed of those only. A database looks there where the
	// query says, in the index's own words, that the value is not the common one.
	few := func(column, common, value string) {
		if text(column, value); value != "" && value != common {
			conds = append(conds, column+" <> '"+common+"'")
		}
	}
	few("kind", string(domain.ArchiveJob), string(p.Kind))
	text("status", p.Status)
	few("reason", "", p.Reason)
	text("script_type", string(p.ScriptType))
	few("blueprint", "", p.Blueprint)
	few("flow_trigger", "", p.Trigger)
	number := func(cond string, value int64) {
		if value != 0 {
			conds = append(conds, cond+" "+arg(value))
		}
	}
	number("caller =", int64(p.Caller))
	number("end_ms >=", p.FromMs)
	number("end_ms <", p.ToMs)
	return strings.Join(conds, " AND ")
}

// After is the condition of the rest behind the plan's cursor, "" where it
// begins at the newest.
func After(p *archive.Plan, arg func(any) string) string {
	if p.After == nil {
		return ""
	}
	return " AND (end_ms, key) < (" + arg(p.After.EndMs) + ", " + arg(p.After.Key) + ")"
}

// Order is the order of pages and, one more than a page holds, how many.
func Order(p *archive.Plan) string {
	return " ORDER BY end_ms DESC, key DESC LIMIT " + strconv.Itoa(p.Limit+1)
}

// Collect reads rows into a page. It ends a page of whole records early, once
// it is large, and reads no further then.
func Collect(p *archive.Plan, next func() bool, scan func(dest ...any) error) (archive.Page, error) {
	found, size := []archive.Record{}, 0
	for next() {
		r, err := Scan(scan, p.Whole)
		if err != nil {
			return archive.Page{}, err
		}
		if size += r.Size(); p.Whole && size > archive.MaxPageBytes && len(found) > 0 {
			return p.Cut(found, true), nil
		}
		found = append(found, r)
	}
	return p.Cut(found, false), nil
}
