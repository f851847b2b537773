package rhaiscript

import (
	"encoding/json"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/durable"
	"github.com/ramet-run/ramet/internal/intake"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file holds the functions by which a script has others do something; see package durable.

var listParam = value.Param{Kinds: value.Of(value.ArrayKind)}

// maxCalls bounds what a script says of all that it calls at once, in bytes.
const maxCalls = durable.MaxLine / 2

var callLimits = intake.Limits{Bytes: maxCalls}

// call has one thing done.
func (j *job) call(c *value.Ctx, name string, args []value.Value) value.Value {
	var one domain.Call
	switch {
	case args[0].Is(value.StringKind):
		if one.Blueprint = args[0].AsString(); len(args) > 1 && !readCall(c, name, args[1], &one.Params) {
			return value.Value{}
		}
	case !readCall(c, name, args[0], &one):
		return value.Value{}
	}
	one.Name = name
	ends, ok := j.ends(c, []domain.Call{one})
	if !ok {
		return value.Value{}
	}
	return remembered(c, ends[0].Value)
}

// gather has several things done side by side.
func (j *job) gather(c *value.Ctx, list *value.Array) value.Value {
	calls := make([]domain.Call, len(list.Items))
	if len(calls) == 0 {
		return value.NewArray(nil)
	}
	for i, v := range list.Items {
		if !v.Is(value.MapKind) {
			return c.Throw("gather: element %d is no map; want such as #{name: \"bill\", blueprint: \"billing\"}", i)
		}
		if !readCall(c, "gather", v, &calls[i]) {
			return value.Value{}
		}
	}
	ends, ok := j.ends(c, calls)
	if !ok {
		return value.Value{}
	}
	results := make([]value.Value, len(ends))
	for i := range ends {
		if results[i] = remembered(c, ends[i].Value); results[i].IsNone() {
			return value.Value{}
		}
	}
	return value.NewArray(results)
}

// ends asks for what is called, and throws how the first has failed that did.
func (j *job) ends(c *value.Ctx, calls []domain.Call) ([]durable.End, bool) {
	a, ok := j.ask(c, durable.Request{Do: durable.DoCall, Calls: calls})
	if !ok {
		return nil, false
	}
	for _, end := range a.Ends {
		if end.Failure != nil {
			c.Throw("%s", end.Failure.Text)
			return nil, false
		}
	}
	return a.Ends, true
}

// approval asks a person.
func (j *job) approval(c *value.Ctx, name string, args []value.Value) value.Value {
	r := durable.Request{Do: durable.DoWait, Name: name, Approval: &durable.Asked{}}
	if len(args) > 0 {
		m := args[0].AsMap()
		asked := value.NewMap(m.Len())
		for _, e := range m.Entries() {
			if e.Key == "timeout" && isSpan(e.Value) {
				r.TimeoutMs = milliseconds(e.Value)
			} else {
				asked.AsMap().Set(e.Key, e.Value)
			}
		}
		if !readCall(c, name, asked, r.Approval) {
			return value.Value{}
		}
	}
	return j.await(c, r)
}

// readCall reads what a script says in a map, and throws what is wrong with it. Params that
// are no texts go as JSON.
func readCall(c *value.Ctx, name string, v value.Value, into any) bool {
	text, err := jsonOf(v, maxCalls)
	if err == nil {
		switch into := into.(type) {
		case *map[string]string:
			err = readTexts([]byte(text), into)
		case *domain.Call:
			var said struct {
				domain.Call
				Params json.RawMessage `json:"params"`
			}
			if err = intake.Decode([]byte(text), &said, callLimits); err == nil && said.Params != nil {
				err = readTexts(said.Params, &said.Call.Params)
			}
			*into = said.Call
		default:
			err = intake.Decode([]byte(text), into, callLimits)
		}
	}
	if err != nil {
		c.Throw("%s: %v", name, err)
		return false
	}
	return true
}

func readTexts(text []byte, into *map[string]string) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return domain.Invalidf("params: want a map")
	}
	*into = make(map[string]string, len(raw))
	for key, v := range raw {
		var plain string
		if json.Unmarshal(v, &plain) != nil || len(v) == 0 || v[0] != '"' {
			plain = string(v)
		}
		(*into)[key] = plain
	}
	return nil
}
