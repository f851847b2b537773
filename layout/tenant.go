package layout

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/queue"
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
	e.strOpt("alias", t.Alias)
	if t.ExecutorsMaySubmit {
		e.flag("executors_may_submit", true)
	}
	e.numOpt("weight", int64(t.Weight))
	e.numOpt("max_running", int64(t.MaxRunning))
	if len(t.MaxRunningByType) > 0 {
		e.str("max_running_by_type", mustJSON(t.MaxRunningByType))
	}
	e.strOpt("isolation", string(t.Isolation))
	e.strOpt("archives", string(t.Archives))
	return e
}

// EncodeLimits writes what the board itself must know of a context: the
// record [Limits] in its space. It may be empty.
func EncodeLimits(t domain.Tenant) []board.Field {
	var e encoder
	e.numOpt("weight", int64(t.Weight))
	e.numOpt(queue.MaxField, int64(t.MaxRunning))
	for typ, n := range t.MaxRunningByType {
		e.str(queue.CapField(queue.OfType(typ)), strconv.Itoa(n))
	}
	return e
}

// tenantOptional are the fields of a context's record that are there at times
// only, and tenantFields all that a change looks at.
var (
	tenantOptional = []string{"executors_may_submit", "weight", "max_running", "max_running_by_type", "isolation", "archives"}
	tenantFields   = append([]string{"admins", "readers", "executors"}, tenantOptional...)
)

// ChangeTenant adds to a batch in the context's space what makes the record was
// that of t, if nobody has changed it meanwhile. Fields of others stay.
func ChangeTenant(b *board.Batch, was board.Record, t domain.Tenant) {
	key := t.Key()
	for _, name := range tenantFields {
		b.Equal(key, name, was.Get(name))
	}
	b.Unset(key, tenantOptional...).Set(key, EncodeTenant(t)...)
}

// ChangeLimits adds to a batch in the context's space what makes the record
// [Limits] say what t says. A cap that a ban has set to nothing stays so; what
// it will be afterwards is changed.
func ChangeLimits(b *board.Batch, was board.Record, t domain.Tenant) {
	want := board.Record(EncodeLimits(t))
	set := func(field string) {
		value, there := want.Lookup(field)
		if _, banned := was.Lookup(BannedCapPrefix + field); banned {
			b.Set(Limits, board.Field{Name: BannedCapPrefix + field, Value: value})
		} else if there {
			b.Set(Limits, board.Field{Name: field, Value: value})
		} else {
			b.Unset(Limits, field)
		}
	}
	// The turn tells whoever is about to set or lift a ban to look again.
	b.Equal(Limits, BannedTurn, was.Get(BannedTurn)).Add(Limits, BannedTurn, 1)
	set("weight")
	set(queue.MaxField)
	for _, f := range slices.Concat(was, want) {
		if group, capped := queue.CappedGroup(f.Name); capped && strings.HasPrefix(group, queue.JobPrefix) {
			set(f.Name)
		}
	}
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
		case "alias":
			t.Alias = f.Value
		case "executors_may_submit":
			t.ExecutorsMaySubmit = d.flag(f)
		case "weight":
			t.Weight = int(d.int(f))
		case "max_running":
			t.MaxRunning = int(d.int(f))
		case "max_running_by_type":
			d.json(f, &t.MaxRunningByType, "a JSON object of numbers")
		case "isolation":
			// What is not known might mean more than this node would hold in.
			if t.Isolation = domain.Isolation(f.Value); t.Isolation.ValidateOfContext() != nil {
				d.fail(f, "walled or sealed")
			}
		case "archives":
			if a := domain.Archives(f.Value); a.Validate() == nil {
				t.Archives = a // else all: what is archived without need can be removed
			}
		}
	}
	return t, d.err
}
