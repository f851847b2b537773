package rhaiscript

import (
	"errors"
	"fmt"
	"math"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file holds list, find and count.

func missing(err error) bool { return errors.Is(err, domain.ErrNotFound) }

// page is which of the objects that match are wanted.
type page struct {
	limit, offset int // limit below 0: all, if they are no more than a page
	after         domain.ObjectID
	any           bool
}

func (k *call) list() (value.Value, error) {
	p := page{limit: -1}
	var err error
	switch {
	case len(k.args) > 0 && k.args[0].Is(value.MapKind):
		err = p.read(k.args[0], false)
	case len(k.args) > 0:
		for i, arg := range k.args {
			if err == nil {
				err = p.number([]string{"limit", "offset"}[i], arg)
			}
		}
	}
	if err != nil {
		return value.Value{}, err
	}
	return k.collect(p, domain.ObjectQuery{After: p.after}, value.Value{})
}

func (k *call) find() (value.Value, error) {
	p := page{limit: -1}
	if len(k.args) > 1 {
		if err := p.read(k.args[1], k.args[0].Is(value.MapKind)); err != nil {
			return value.Value{}, err
		}
	}
	if k.args[0].Is(value.FnKind) {
		return k.collect(p, domain.ObjectQuery{After: p.after}, k.args[0])
	}
	where, err := conditions(k.args[0])
	if err != nil {
		return value.Value{}, err
	}
	return k.collect(p, domain.ObjectQuery{Where: where, Any: p.any, After: p.after}, value.Value{})
}

func (k *call) count() (value.Value, error) {
	q := domain.ObjectQuery{}
	if len(k.args) > 0 && k.args[0].Is(value.FnKind) {
		n := int64(0)
		err := k.scan(q, k.args[0], func(value.Value) (bool, error) { n++; return true, nil })
		return value.Int(n), err
	}
	if len(k.args) > 0 {
		var err error
		if q.Where, err = conditions(k.args[0]); err != nil {
			return value.Value{}, err
		}
	}
	n, err := k.objects.Count(k.ctx, k.in, q)
	return value.Int(n), err
}

// conditions are the values that fields must have, as JSON.
func conditions(v value.Value) (map[string]string, error) {
	if err := storable(v, "", 0); err != nil {
		return nil, err
	}
	where := map[string]string{}
	for _, e := range v.AsMap().Entries() {
		text, err := value.AppendJSON(nil, e.Value)
		if err != nil {
			return nil, err
		}
		where[e.Key] = string(text)
	}
	return where, nil
}

// firstCharge is how much text of objects a page has when it is charged first.
const firstCharge = 32 << 10 // bytes

// collect gives a page of the objects that match and, where there is a test, pass it.
func (k *call) collect(p page, q domain.ObjectQuery, test value.Value) (value.Value, error) {
	items := []value.Value{}
	if p.limit == 0 {
		return value.NewArray(items), nil
	}
	bytes, due := 0, firstCharge
	err := k.scanObjects(q, test, func(o domain.Object, v value.Value) (bool, error) {
		if p.offset > 0 {
			p.offset--
			return true, nil
		}
		if len(items) == domain.MaxObjectPage {
			return false, domain.Invalidf("there are more than %d objects: ask for a page of them, as in list(#{limit: 100, after: last.id})", domain.MaxObjectPage)
		}
		if bytes += len(o.Data); bytes > domain.MaxObjectPageBytes {
			return false, domain.Invalidf("the objects have more than %d bytes together: ask for fewer, by limit", domain.MaxObjectPageBytes)
		}
		// Nobody finds what is here when the script's memory is measured: so
		// all of it is charged again and again.
		if bytes >= due {
			if err := k.charge(bytes); err != nil {
				return false, err
			}
			due = 2 * bytes
		}
		if v.IsNone() {
			var err error
			if v, err = objectValue(o); err != nil {
				return false, err
			}
		}
		items = append(items, v)
		return len(items) != p.limit, nil
	})
	return value.NewArray(items), err
}

// scan is scanObjects for who looks at values only.
func (k *call) scan(q domain.ObjectQuery, test value.Value, visit func(value.Value) (bool, error)) error {
	return k.scanObjects(q, test, func(_ domain.Object, v value.Value) (bool, error) { return visit(v) })
}

// scanObjects visits the objects that match and pass the test; their values
// are there only where a test has looked at them.
func (k *call) scanObjects(q domain.ObjectQuery, test value.Value, visit func(domain.Object, value.Value) (bool, error)) error {
	var passes value.Callback
	if test.Is(value.FnKind) {
		passes = k.c.Host.Callback(k.c, test)
	}
	return k.objects.Scan(k.ctx, k.in, q, func(o domain.Object) (bool, error) {
		if err := k.alive(opsPerObject); err != nil {
			return false, err
		}
		if passes == nil {
			return visit(o, value.Value{})
		}
		v, err := k.give(o)
		if err != nil {
			return false, err
		}
		// The test gets a copy: it might change what it is called for.
		el := v.Keep()
		answer := passes.Call(k.c, &el, nil, 0, nil)
		if answer.IsNone() {
			return false, errPassed
		}
		if answer = answer.Flatten(); !answer.Is(value.BoolKind) {
			return false, domain.Invalidf("the function gave %s: it has to give true or false", answer.TypeName())
		}
		if !answer.AsBool() {
			return true, nil
		}
		return visit(o, v)
	})
}

// read takes options from a map.
//
// Errors: [domain.ErrInvalid].
func (p *page) read(options value.Value, filter bool) error {
	for _, e := range options.AsMap().Entries() {
		switch v := e.Value.Flatten(); {
		case e.Key == "limit" || e.Key == "offset" || e.Key == "after":
			if err := p.number(e.Key, v); err != nil {
				return err
			}
		case e.Key == "matches_all" && filter:
			if !v.Is(value.BoolKind) {
				return domain.Invalidf("option matches_all is of type %s, want true or false", v.TypeName())
			}
			p.any = !v.AsBool()
		default:
			known := "limit, offset and after"
			if filter {
				known = "limit, offset, after and matches_all"
			}
			return domain.Invalidf("unknown option %q: there are %s", e.Key, known)
		}
	}
	return nil
}

func (p *page) number(name string, v value.Value) error {
	most := int64(math.MaxUint32)
	if name == "limit" {
		most = domain.MaxObjectPage
	}
	if !v.Is(value.IntKind) || v.AsInt() < 0 || v.AsInt() > most {
		return domain.Invalidf("option %s is %s, want a number from 0 to %d", name, fmt.Sprint(v.Display()), most)
	}
	switch n := v.AsInt(); name {
	case "limit":
		p.limit = int(n)
	case "offset":
		p.offset = int(n)
	case "after":
		p.after = domain.ObjectID(n)
	}
	return nil
}
