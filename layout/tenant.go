package layout

import (
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// EncodeTenant writes a context's record.
func EncodeTenant(t domain.Tenant) []board.Field {
	var e encoder
	e.num("id", int64(t.ID))
	e.str("admins", encodeIDs(t.Admins))
	e.str("readers", encodeIDs(t.Readers))
	e.str("executors", encodeIDs(t.Executors))
	e.num("created_at", int64(t.CreatedAt))
	e.num("updated_at", int64(t.UpdatedAt))
	if t.ExecutorsMaySubmit {
		e.flag("executors_may_submit", true)
	}
	e.numOpt("weight", int64(t.Weight))
	e.numOpt("max_running", int64(t.MaxRunning))
	if len(t.MaxRunningByType) > 0 {
		e.str("max_running_by_type", mustJSON(t.MaxRunningByType))
	}
	return e
}

// EncodeLimits writes what the board itself must know of a context: the
// record [Limits] in its space. It may be empty.
func EncodeLimits(t domain.Tenant) []board.Field {
	var e encoder
	e.numOpt("weight", int64(t.Weight))
	e.numOpt("max", int64(t.MaxRunning))
	for typ, n := range t.MaxRunningByType {
		e.str("max:queue:"+typ.QueueSuffix(), strconv.Itoa(n))
	}
	return e
}

// DecodeTenant reads a context's record.
//
// Errors: [domain.ErrInvalid] naming the field.
func DecodeTenant(key string, r board.Record) (domain.Tenant, error) {
	var t domain.Tenant
	d := decoder{key: keyText(key)}
	for _, f := range r {
		switch f.Name {
		case "id":
			t.ID = domain.TenantID(d.u32(f))
		case "admins":
			d.json(f, &t.Admins, "a JSON list of actor ids")
		case "readers":
			d.json(f, &t.Readers, "a JSON list of actor ids")
		case "executors":
			d.json(f, &t.Executors, "a JSON list of actor ids")
		case "created_at":
			t.CreatedAt = domain.UnixTime(d.u32(f))
		case "updated_at":
			t.UpdatedAt = domain.UnixTime(d.u32(f))
		case "executors_may_submit":
			t.ExecutorsMaySubmit = d.flag(f)
		case "weight":
			t.Weight = int(d.int(f))
		case "max_running":
			t.MaxRunning = int(d.int(f))
		case "max_running_by_type":
			d.json(f, &t.MaxRunningByType, "a JSON object of numbers")
		}
	}
	return t, d.err
}
