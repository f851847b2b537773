package layout

import (
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// EncodeFlow writes a flow's record.
func EncodeFlow(f domain.Flow) []board.Field {
	var e encoder
	e.num("id", int64(f.ID))
	e.num("caller_id", int64(f.CallerID))
	e.num("context_id", int64(f.ContextID))
	e.str("jobs", encodeIDs(f.Jobs))
	e.str("env_vars", encodeMap(f.EnvVars))
	e.str("result", encodeMap(f.Result))
	e.num("created_at", int64(f.CreatedAt))
	e.num("updated_at", int64(f.UpdatedAt))
	e.str("status", string(f.Status))
	return e
}

// DecodeFlow reads a flow's record.
//
// Errors: [domain.ErrInvalid] naming the field.
func DecodeFlow(key string, r board.Record) (domain.Flow, error) {
	var fl domain.Flow
	d := decoder{key: keyText(key)}
	for _, f := range r {
		switch f.Name {
		case "id":
			fl.ID = domain.FlowID(d.u32(f))
		case "caller_id":
			fl.CallerID = domain.ActorID(d.u32(f))
		case "context_id":
			fl.ContextID = domain.TenantID(d.u32(f))
		case "jobs":
			d.json(f, &fl.Jobs, "a JSON list of job ids")
		case "env_vars":
			fl.EnvVars = d.strMap(f)
		case "result":
			fl.Result = d.strMap(f)
		case "created_at":
			fl.CreatedAt = domain.UnixTime(d.u32(f))
		case "updated_at":
			fl.UpdatedAt = domain.UnixTime(d.u32(f))
		case "status":
			fl.Status = domain.FlowStatus(f.Value)
		}
	}
	return fl, d.err
}
