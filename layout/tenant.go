package layout

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/queue"
)

var tenantTable = newTable(
	number32("id", func(t *domain.Tenant) *domain.TenantID { return &t.ID }),
	list("admins", wantActors, func(t *domain.Tenant) *domain.List[domain.ActorID] { return &t.Admins }),
	list("readers", wantActors, func(t *domain.Tenant) *domain.List[domain.ActorID] { return &t.Readers }),
	list("executors", wantActors, func(t *domain.Tenant) *domain.List[domain.ActorID] { return &t.Executors }),
	number32("created_at", func(t *domain.Tenant) *domain.UnixTime { return &t.CreatedAt }),
	number32("updated_at", func(t *domain.Tenant) *domain.UnixTime { return &t.UpdatedAt }),

	text("alias", func(t *domain.Tenant) *string { return &t.Alias }).ours(),
	flag("executors_may_submit", func(t *domain.Tenant) *bool { return &t.ExecutorsMaySubmit }).ours(),
	number("weight", func(t *domain.Tenant) *int { return &t.Weight }).ours(),
	number("max_running", func(t *domain.Tenant) *int { return &t.MaxRunning }).ours(),
	object("max_running_by_type", "a JSON object of numbers", func(t *domain.Tenant) *map[domain.ScriptType]int { return &t.MaxRunningByType }).ours(),
	text("isolation", func(t *domain.Tenant) *domain.Isolation { return &t.Isolation }).ours().then(func(d *decoder, t *domain.Tenant, f board.Field) {
		// What is not known might mean more than this node would hold in.
		if t.Isolation.ValidateOfContext() != nil {
			d.fail(f, "walled or sealed")
		}
	}),
	pointer("on", "a JSON object of hooks", func(t *domain.Tenant) **domain.Hooks { return &t.On }).ours(),
	text("archives", func(t *domain.Tenant) *domain.Archives { return &t.Archives }).ours().then(func(_ *decoder, t *domain.Tenant, _ board.Field) {
		if t.Archives.Validate() != nil {
			t.Archives = "" // all: what is archived without need can be removed
		}
	}),
)

const wantActors = "a JSON list of actor ids"

// EncodeTenant writes a context's record.
func EncodeTenant(t domain.Tenant) []board.Field { return tenantTable.encode(&t) }

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

// tenantOptional are the fields of a context's record that a change may take away, and
// tenantFields all that it looks at. An alias stays.
var (
	tenantOptional = slices.DeleteFunc(tenantTable.optional(), func(name string) bool { return name == "alias" })
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
func DecodeTenant(key string, r board.Record) (t domain.Tenant, err error) {
	err = tenantTable.decode(decoder{key: keyText(key)}, &t, r)
	return t, err
}
