package domain

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// Limits of a context.
const (
	MaxMembers = 1000 // actors in one of a context's lists
	MaxWeight  = 1000
	MaxAlias   = 64 // bytes
)

// aliasPattern is that of aliases: none is a number, and each may be part of a
// subject, a key and a path.
var aliasPattern = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// ValidateAlias checks the alias of a context.
//
// Errors: [ErrInvalid].
func ValidateAlias(alias string) error {
	if len(alias) > MaxAlias || !aliasPattern.MatchString(alias) {
		return Invalidf("alias %q: want a small letter first, then small letters, digits and '-', up to %d in all", PlainText(alias, MaxAlias), MaxAlias)
	}
	return nil
}

// Tenant is a context: permission lists, and a space of its own on the board.
//
// Source: seeds 000 and 002, "Context".
type Tenant struct {
	ID        TenantID      `json:"id"`
	Admins    List[ActorID] `json:"admins"`
	Readers   List[ActorID] `json:"readers"`
	Executors List[ActorID] `json:"executors"`
	CreatedAt UnixTime      `json:"created_at"`
	UpdatedAt UnixTime      `json:"updated_at"`

	// Alias is a name of the context that stands in subjects and keys in place
	// of its number. It is set when the context is made, and never changes.
	Alias string `json:"alias,omitzero"`
	// ExecutorsMaySubmit lets executors create and cancel jobs as well.
	ExecutorsMaySubmit bool `json:"executors_may_submit,omitzero"`
	// Weight is its share of turns relative to other contexts, 1..1000. Default: 1.
	Weight int `json:"weight,omitzero"`
	// MaxRunning bounds its jobs that run at once. 0: no bound.
	MaxRunning int `json:"max_running,omitzero"`
	// MaxRunningByType bounds them by script type.
	MaxRunningByType map[ScriptType]int `json:"max_running_by_type,omitzero"`
	// Isolation is how far its scripts are held in at the least: walled or sealed.
	// Where a node holds them in further, that counts. Default: as the nodes do.
	Isolation Isolation `json:"isolation,omitzero"`
	// Archives is what of its ended work is archived before it leaves the board: all,
	// errors or none. Default: all.
	Archives Archives `json:"archives,omitzero"`
	// On are hooks for its flows, where these have none of their own for something.
	On *Hooks `json:"on,omitzero"`
}

// Once is the context with each member once in a list.
func (t Tenant) Once() Tenant {
	t.Admins, t.Readers, t.Executors = once(t.Admins), once(t.Readers), once(t.Executors)
	return t
}

// Key is the context's key on its own board: "context:7".
func (t Tenant) Key() string { return "context:" + strconv.FormatUint(uint64(t.ID), 10) }

// Validate checks what a caller gave.
//
// Errors: [ErrInvalid].
func (t Tenant) Validate() error {
	if t.ID == 0 {
		return Invalidf("context id 0 is the node's own space; want 1 or more")
	}
	for name, ids := range map[string][]ActorID{"admins": t.Admins, "readers": t.Readers, "executors": t.Executors} {
		if len(ids) > MaxMembers {
			return Invalidf("context has %d %s, the limit is %d", len(ids), name, MaxMembers)
		}
		if slices.Contains(ids, 0) {
			return Invalidf("%s: actor id 0 does not exist", name)
		}
	}
	if len(t.Admins) == 0 {
		return Invalidf("context without admins: nobody could use it; name at least one")
	}
	if t.Alias != "" {
		if err := ValidateAlias(t.Alias); err != nil {
			return err
		}
	}
	return t.validateSettings()
}

// Name is how subjects and the keys of sagas call the context: its alias, or
// its number. The default context has no name where it has no alias: a
// deployment without contexts leaves it out.
func (t Tenant) Name() string {
	if t.Alias == "" && t.ID != DefaultTenant {
		return strconv.FormatUint(uint64(t.ID), 10)
	}
	return t.Alias
}

// ParseTenantID reads a context's number as it is written.
//
// Errors: [ErrInvalid].
func ParseTenantID(text string) (TenantID, error) {
	n, err := parseID(text)
	if err != nil || n == 0 {
		return 0, Invalidf("context %q: want its number from 1 to 4294967295, or its alias", PlainText(text, MaxAlias))
	}
	return TenantID(n), nil
}

func (t Tenant) validateSettings() error {
	if err := errors.Join(t.Isolation.ValidateOfContext(), t.Archives.Validate()); err != nil {
		return err
	}
	if t.Weight < 0 || t.Weight > MaxWeight {
		return Invalidf("weight %d: want 1 to %d, or 0 for the default", t.Weight, MaxWeight)
	}
	if t.MaxRunning < 0 {
		return Invalidf("max_running %d: want 0 (no bound) or more", t.MaxRunning)
	}
	for typ, n := range t.MaxRunningByType {
		if err := typ.Validate(); err != nil {
			return err
		}
		if n < 1 {
			return Invalidf("max_running_by_type: %s is %d, want 1 or more", typ, n)
		}
	}
	return nil
}

// TenantChange is what of a context is to be changed; nil stays as it is.
type TenantChange struct {
	ExecutorsMaySubmit *bool `json:"executors_may_submit,omitzero"`
	Weight             *int  `json:"weight,omitzero"`
	MaxRunning         *int  `json:"max_running,omitzero"`
	// MaxRunningByType sets the bounds of the types in it, and takes away those
	// that are 0.
	MaxRunningByType map[ScriptType]int `json:"max_running_by_type,omitzero"`
	// Isolation, where it is "", leaves it to the nodes.
	Isolation *Isolation `json:"isolation,omitzero"`
	Archives  *Archives  `json:"archives,omitzero"`
	// On goes in the place of all its hooks; one that is empty takes them away.
	On *Hooks `json:"on,omitzero"`
}

// With returns the context with a change made to it.
//
// Errors: [ErrInvalid].
func (t Tenant) With(c TenantChange) (Tenant, error) {
	set(&t.ExecutorsMaySubmit, c.ExecutorsMaySubmit)
	set(&t.Weight, c.Weight)
	set(&t.MaxRunning, c.MaxRunning)
	set(&t.Isolation, c.Isolation)
	set(&t.Archives, c.Archives)
	if c.On != nil {
		if t.On = c.On; *c.On == (Hooks{}) {
			t.On = nil
		}
	}
	byType := map[ScriptType]int{}
	maps.Copy(byType, t.MaxRunningByType)
	maps.Copy(byType, c.MaxRunningByType)
	maps.DeleteFunc(byType, func(_ ScriptType, n int) bool { return n == 0 })
	t.MaxRunningByType = byType
	return t, t.validateSettings()
}

// set takes a value over where there is one.
func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// Touched returns the context with its times set for a change at now.
func (t Tenant) Touched(now time.Time) Tenant {
	if t.CreatedAt == 0 {
		t.CreatedAt = At(now)
	}
	t.UpdatedAt = At(now)
	return t
}
