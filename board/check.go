package board

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/queue"
)

// Check holds the batch to the limits that can be judged without the state:
// number of operations, lengths of keys and values. Drivers call it first, so
// that every driver refuses the same with the same words.
//
// Errors: [domain.ErrInvalid].
func (b Batch) Check() error {
	if n := len(b.Guards) + len(b.Ops); n > MaxOps {
		return domain.Invalidf("batch has %d guards and operations, the limit is %d", n, MaxOps)
	}
	for _, g := range b.Guards {
		if g.Kind < GuardAbsent || g.Kind > GuardItem {
			return domain.Invalidf("%s", g)
		}
		if g.Kind == GuardLength && g.N < 0 {
			return domain.Invalidf("guard that %s, want 0 or more", g)
		}
		if err := checkKey("guard", g.Key); err != nil {
			return err
		}
	}
	for i := range b.Ops {
		if err := b.Ops[i].check(); err != nil {
			return err
		}
	}
	return nil
}

func (o *Op) check() error {
	if o.Kind < OpSet || o.Kind > OpTrimLeft {
		return domain.Invalidf("unknown operation %d on %q", o.Kind, o.Key)
	}
	if err := checkKey("key", o.Key); err != nil {
		return err
	}
	if err := checkFields(o.Key, o.Fields); err != nil {
		return err
	}
	switch o.Kind {
	case OpAdd:
		return checkKey("field", o.Field)
	case OpAppend, OpExpire, OpTrimRight, OpTrimLeft:
		if o.N < 0 {
			return domain.Invalidf("operation on %q with %d, want 0 or more", o.Key, o.N)
		}
	case OpCountdown:
		if err := checkKey("list", o.List); err != nil {
			return err
		}
		if err := checkKey("field", o.Field); err != nil {
			return err
		}
	}
	for _, it := range o.Items {
		if len(it) > MaxField {
			return domain.Invalidf("an item for %q has %d bytes, the limit is %d", o.Key, len(it), MaxField)
		}
	}
	return nil
}

func checkFields(key string, fields []Field) error {
	for _, f := range fields {
		if err := checkKey("field", f.Name); err != nil {
			return err
		}
		if len(f.Value) > MaxField {
			return domain.Invalidf("field %q of %q has %d bytes, the limit is %d", f.Name, key, len(f.Value), MaxField)
		}
	}
	return nil
}

func checkKey(what, key string) error {
	if key == "" || len(key) > MaxKey {
		return domain.Invalidf("%s of %d bytes, want 1 to %d", what, len(key), MaxKey)
	}
	if strings.IndexByte(key, 0) >= 0 {
		return domain.Invalidf("%s %q has a NUL byte", what, key)
	}
	return nil
}

// CheckRecord refuses a record that has grown over MaxRecord.
//
// Errors: [domain.ErrInvalid].
func CheckRecord(key string, bytes int) error {
	if bytes > MaxRecord {
		return domain.Invalidf("record %q would have %d bytes, the limit is %d", key, bytes, MaxRecord)
	}
	return nil
}

// Check holds the ask to its limits.
//
// Errors: [domain.ErrInvalid].
func (a Ask) Check() error {
	switch {
	case a.Max < 1 || a.Max > MaxClaim:
		return domain.Invalidf("claim of %d items, want 1 to %d", a.Max, MaxClaim)
	case len(a.Mark)+len(a.Stamp) > MaxMark || len(a.Skip.Values) > MaxMark:
		return domain.Invalidf("claim with %d marks and %d values to skip, the limit is %d each", len(a.Mark)+len(a.Stamp), len(a.Skip.Values), MaxMark)
	case len(a.Spaces) > MaxMark:
		return domain.Invalidf("claim from %d spaces, the limit is %d; none stands for all", len(a.Spaces), MaxMark)
	case len(a.Except) > MaxExcept:
		return domain.Invalidf("claim from all but %d spaces, the limit is %d", len(a.Except), MaxExcept)
	case a.Aging.Step < 0 || a.Aging.Step > MaxAging || len(a.Aging.Fields) > MaxMark:
		return domain.Invalidf("claim in which items age by %v and %d fields, the limits are %v and %d", a.Aging.Step, len(a.Aging.Fields), MaxAging, MaxMark)
	case len(a.Charges) > MaxCharge:
		return domain.Invalidf("claim that charges %d spaces, the limit is %d", len(a.Charges), MaxCharge)
	case slices.ContainsFunc(a.Charges, func(c Charge) bool { return c.Items < 1 || c.Items > MaxItems }):
		return domain.Invalidf("claim that charges a space for more or fewer items than 1 to %d", MaxItems)
	case a.Owner == "":
		return domain.Invalidf("claim without an owner")
	case len(a.Queues) == 0:
		return domain.Invalidf("claim from no queue")
	}
	if err := CheckLease(a.Lease); err != nil {
		return err
	}
	for _, q := range a.Queues {
		if err := q.check(); err != nil {
			return err
		}
	}
	for _, name := range a.Aging.Fields {
		if err := checkKey("field", name); err != nil {
			return err
		}
	}
	for _, name := range a.Stamp {
		if err := checkKey("stamp", name); err != nil {
			return err
		}
	}
	return checkFields("claim", a.Mark)
}

// CheckLease holds the length of a lease to its limits.
//
// Errors: [domain.ErrInvalid].
func CheckLease(ttl time.Duration) error {
	if ttl < MinLease || ttl > MaxLease {
		return domain.Invalidf("lease of %v, want %v to %v", ttl, MinLease, MaxLease)
	}
	return nil
}

func (q Queue) check() error {
	if len(q.Lists) == 0 {
		return domain.Invalidf("claim from a queue without lists")
	}
	for _, l := range q.Lists {
		if !queue.Is(l) {
			return domain.Invalidf("claim from %q, which is no queue: names begin with %s", l, strings.Join(queue.Prefixes, " "))
		}
		if queue.Group(l) != queue.Group(q.Lists[0]) {
			return domain.Invalidf("claim from %q and %q as one queue: they are of different groups", q.Lists[0], l)
		}
		if err := checkKey("list", l); err != nil {
			return err
		}
	}
	return nil
}

// Group is the group that all lists of the queue share.
func (q Queue) Group() string { return queue.Group(q.Lists[0]) }

// Matches reports whether the record has the field at one of the values.
func (m Match) Matches(r Record) bool {
	if m.Field == "" {
		return false
	}
	v := r.Get(m.Field)
	for _, w := range m.Values {
		if v == w {
			return true
		}
	}
	return false
}

// String says who holds what.
func (l Lease) String() string {
	return fmt.Sprintf("%s (space %d) held by %s, token %d", l.Item, l.Space, l.Owner, l.Token)
}
