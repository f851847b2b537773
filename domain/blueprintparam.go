package domain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ParamVariable is the environment variable in which scripts find a param.
func ParamVariable(param string) string {
	return "RAMET_PARAM_" + strings.ToUpper(strings.ReplaceAll(param, "-", "_"))
}

// TakesParams refuses params that nothing in the blueprint has or names: with a
// slip in a name a flow would run with the value that was to be changed. Of one that
// declares inputs it refuses all others, values that they cannot have, and that one which
// is required is missing.
//
// Errors: [ErrInvalid].
func (b *Blueprint) TakesParams(params map[string]string) error {
	if len(b.Inputs) > 0 {
		return b.takesInputs(params, slices.Sorted(maps.Keys(params)))
	}
	known := maps.Clone(b.Params)
	if known == nil {
		known = map[string]string{}
	}
	for i := range b.Steps {
		maps.Copy(known, b.Steps[i].Params)
	}
	for _, on := range HookOns {
		if h := b.On.Of(on); h != nil {
			maps.Copy(known, h.Params)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if _, ok := known[name]; ok || slices.ContainsFunc(b.Steps, func(s Step) bool { return s.mentions(name) }) || b.On.mention(name) {
			continue
		}
		text := "give it a value under params there"
		if near := Nearest(name, slices.Sorted(maps.Keys(known))); near != "" {
			text = fmt.Sprintf("did you mean %q? Else %s", near, text)
		}
		return Invalidf("params: blueprint %q has no param %q; %s", b.Name, name, text)
	}
	return nil
}

// TakesNames is [Blueprint.TakesParams] for params whose values are not known yet.
//
// Errors: [ErrInvalid].
func (b *Blueprint) TakesNames(params map[string]string) error {
	later := make(map[string]string, len(params))
	for name := range params {
		later[name] = "${later}"
	}
	return b.TakesParams(later)
}

// mention is mentions of any of the hooks.
func (h *Hooks) mention(param string) bool {
	return slices.ContainsFunc(HookOns, func(on HookOn) bool {
		hook := h.Of(on)
		if hook == nil {
			return false
		}
		s := hook.Step(on)
		return s.mentions(param)
	})
}

// mentions reports whether the step may ask for a param that has no value of its
// own. Only the text can be looked at: some that it does not ask for are found, too.
func (s *Step) mentions(param string) bool {
	texts := []string{s.Script, s.When}
	if s.Listed() {
		texts = append(texts, s.Each, s.Key)
		for _, axis := range s.Matrix {
			texts = append(texts, string(axis))
		}
	}
	if s.Cache != nil {
		texts = append(texts, s.Cache.Key)
	}
	if s.Flow != nil {
		texts = append(append(texts, slices.Collect(maps.Values(s.Flow.Params))...), s.Flow.Trigger)
	}
	if call := s.Call(); call != nil {
		texts = append(append(texts, slices.Collect(maps.Values(call.Params))...), call.Payload)
	}
	return slices.ContainsFunc(texts, func(text string) bool {
		return strings.Contains(text, param) || strings.Contains(text, ParamVariable(param))
	})
}
