package lib

import (
	"math"
	"strings"
	"time"

	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file has what every value does. print, debug, type_of, exit and the
// functions about variables and calls belong to the evaluator.

var coreFns = []*value.Native{
	reads("to_string", toString, anything),
	reads("to_debug", toDebug, anything),
	reads("tag", tag, anything),
	reads("get$tag", tag, anything),
	changes("set_tag", setTag, anything, anInt),
	changes("set$tag", setTag, anything, anInt),
	changes("take", take, anything),
	volatile(reads("sleep", sleep, anInt|aFloat)),
	volatile(reads("get_fn_metadata_list", listFns)),
	volatile(reads("get_fn_metadata_list", listFns, aString)),
	volatile(reads("get_fn_metadata_list", listFns, aString, anInt)),
}

func toString(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	if this.Is(stringKind) {
		return this.Keep()
	}
	text, ok := c.Display(*this)
	if !ok {
		return value.Value{}
	}
	return textValue(c, text)
}

func toDebug(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	text, ok := value.RenderDebug(*this, c.Pace())
	if !ok {
		return value.Value{}
	}
	return textValue(c, text)
}

// textValue makes a string of text, within the limits.
func textValue(c *value.Ctx, text string) value.Value {
	if !roomForText(c, 0, len(text)) {
		return value.Value{}
	}
	return value.Str(text)
}

func tag(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return value.Int(int64(this.Tag()))
}

func setTag(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	n := args[0].AsInt()
	problem := ""
	switch {
	case n < math.MinInt32:
		problem = "small"
	case n > math.MaxInt32:
		problem = "large"
	}
	if problem != "" {
		return c.Arithmetic("%d is too %s to fit into a tag (must be between %d and %d)", n, problem, math.MinInt32, math.MaxInt32)
	}
	if !c.Host.Charge(c, tagBytes) {
		return value.Value{}
	}
	*this = this.WithTag(int32(n))
	return value.Unit
}

// tagBytes is what a number with a tag takes, which has none without.
const tagBytes = 32

// take moves the value out of its place, where () stays.
func take(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	if c.Const {
		return c.Fail(&value.Error{Kind: value.ErrorNonPureMethodCallOnConstant, Name: "take"})
	}
	v := *this
	*this = value.Unit
	return v
}

func sleep(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	seconds := asFloat(*this)
	// Nothing to wait for: no time, NaN, infinity, or less than a number can be.
	if !(seconds >= 0x1p-1022) || math.IsInf(seconds, 1) {
		return value.Unit
	}
	d := time.Duration(math.MaxInt64)
	if seconds < d.Seconds() {
		d = time.Duration(seconds * float64(time.Second))
	}
	if !c.Host.Sleep(c, d) {
		return value.Value{}
	}
	return value.Unit
}

// listFns lists the script's functions, or those of a name, or those of a name
// and number of parameters.
func listFns(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	name, arity := "", -1
	if this != nil {
		name = this.AsString()
		if name == "" {
			return value.NewArray(nil)
		}
	}
	if len(args) > 0 {
		n := args[0].AsInt()
		if n < 0 || n > math.MaxInt32 {
			return value.NewArray(nil)
		}
		arity = int(n)
	}
	fns := c.Host.Functions(name, arity)
	if !room(c, len(fns), itemBytes) {
		return value.Value{}
	}
	items := make([]value.Value, len(fns))
	for i, fn := range fns {
		if !c.Host.Charge(c, descriptionBytes*(1+len(fn.Params)+len(fn.Doc))) {
			return value.Value{}
		}
		items[i] = describe(fn)
	}
	return value.NewArray(items)
}

// descriptionBytes is about what the map of a function takes, and not less than
// a parameter or a comment does beside its text.
const descriptionBytes = 1 << 10

func describe(fn *syntax.Func) value.Value {
	v := value.NewMap(6)
	m := v.AsMap()
	access := "public"
	if fn.Private {
		access = "private"
	}
	m.Set("access", value.Str(access))
	m.Set("is_anonymous", value.Bool(strings.HasPrefix(fn.Name, anonymous)))
	m.Set("name", value.Str(fn.Name))
	params := make([]string, len(fn.Params))
	for i, p := range fn.Params {
		params[i] = p.Name
	}
	m.Set("params", stringsValue(params))
	if fn.ThisType != "" {
		m.Set("this_type", value.Str(fn.ThisType))
	}
	if len(fn.Doc) > 0 {
		m.Set("comments", stringsValue(fn.Doc))
	}
	return v
}

func stringsValue(list []string) value.Value {
	items := make([]value.Value, len(list))
	for i, s := range list {
		items[i] = value.Str(s)
	}
	return value.NewArray(items)
}
