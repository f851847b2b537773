package lib

import "github.com/ramet-run/ramet/rhai/value"

// This file reads and writes JSON for scripts.

var jsonFns = []*value.Native{
	reads("parse_json", parseJSON, aString),
	reads("to_json", toJSON, aMap),
}

// jsonGrowth is how many times larger than its text a value can be.
const jsonGrowth = 16

func parseJSON(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	s := this.AsString()
	if len(s) >= chargedFrom && !c.Host.Charge(c, len(s)*jsonGrowth) {
		return value.Value{}
	}
	v, err := value.ReadJSON(s)
	if err != nil {
		return c.Throw("%s", err)
	}
	return v
}

func toJSON(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	stopped, more := false, c.Pace()
	text, err := value.RenderJSON(*this, func(size, room int) bool {
		stopped = !more(size, room)
		return !stopped
	})
	switch {
	case stopped:
		return value.Value{}
	case err != nil:
		return c.Fail(&value.Error{Kind: value.ErrorDataTooLarge, Name: "Length of string"})
	}
	return textValue(c, text)
}
