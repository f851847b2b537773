// Package start computes whether something outside starts a flow, and with which params: the
// `when` and `params` of webhooks and of triggers, which are Rhai expressions over what came.
// It has no goroutines.
package start

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/condition"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/value"
)

// Check looks at expressions over names before they are kept.
//
// Errors: [domain.ErrInvalid] naming the field.
func Check(when string, params map[string]string, names ...string) error {
	if when != "" {
		if err := compiles(when, true, names); err != nil {
			return domain.Invalidf("when: %v", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if err := compiles(params[name], false, names); err != nil {
			return domain.Invalidf("params.%s: %v; a text stands in quotes, as \"main\"", name, err)
		}
	}
	return nil
}

func compiles(text string, yesNo bool, names []string) error {
	c, err := condition.Compile(text, names...)
	if err != nil {
		return err
	}
	if faults := c.Faults(yesNo); len(faults) > 0 {
		return domain.Invalidf("%s", faults[0].Text)
	}
	return nil
}

// Params says whether what came starts a flow, and computes its params. One whose expression
// gives nothing is left to the blueprint; what is no text becomes JSON.
//
// Errors: [domain.ErrInvalid] naming the field.
func Params(ctx context.Context, when string, exprs map[string]string, names []string, vals []value.Value) (params map[string]string, holds bool, err error) {
	if when != "" {
		c, err := condition.Compile(when, names...)
		if err == nil {
			holds, err = c.Holds(ctx, vals...)
		}
		if err != nil {
			return nil, false, domain.Invalidf("when: %v", err)
		}
		if !holds {
			return nil, false, nil
		}
	}
	params = make(map[string]string, len(exprs))
	for _, name := range slices.Sorted(maps.Keys(exprs)) {
		v, err := eval(ctx, exprs[name], names, vals)
		if err != nil {
			return nil, false, domain.Invalidf("params.%s: %v", name, err)
		}
		switch {
		case v.Is(value.UnitKind):
		case v.Is(value.StringKind):
			params[name] = v.AsString()
		default:
			text, err := value.AppendJSON(nil, v)
			if err != nil {
				return nil, false, domain.Invalidf("params.%s: %v", name, err)
			}
			params[name] = string(text)
		}
	}
	return params, true, domain.ValidateParams(params)
}

func eval(ctx context.Context, text string, names []string, vals []value.Value) (value.Value, error) {
	c, err := condition.Compile(text, names...)
	if err != nil {
		return value.Unit, err
	}
	return c.Value(ctx, vals...)
}

// Trigger is the trigger of the flow of something that has an id: prefix, a dot and the id, or
// half its SHA-256 where it is no part of a trigger, or begins with a dot. A prefix that ends with a dot
// is thus never that of another that does not.
func Trigger(prefix, id string) string {
	trigger := prefix + "." + id
	if strings.HasPrefix(id, ".") || domain.ValidateTrigger(trigger) != nil {
		trigger = prefix + "." + Sum([]byte(id))
	}
	return trigger
}

// Sum names a text: half its SHA-256.
func Sum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
