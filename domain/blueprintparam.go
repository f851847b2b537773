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
// slip in a name a flow would run with the value that was to be changed.
//
// Errors: [ErrInvalid].
func (b *Blueprint) TakesParams(params map[string]string) error {
	known := maps.Clone(b.Params)
	if known == nil {
		known = map[string]string{}
	}
	for i := range b.Steps {
		maps.Copy(known, b.Steps[i].Params)
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if _, ok := known[name]; ok || slices.ContainsFunc(b.Steps, func(s Step) bool { return s.mentions(name) }) {
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

// mentions reports whether the step may ask for a param that has no value of its
// own. Only the text can be looked at: some that it does not ask for are found, too.
func (s *Step) mentions(param string) bool {
	texts := []string{s.Script, s.When}
	if s.Effect != nil {
		texts = append(slices.Collect(maps.Values(s.Effect.Params)), s.When, s.Effect.Payload)
	}
	return slices.ContainsFunc(texts, func(text string) bool {
		return strings.Contains(text, param) || strings.Contains(text, ParamVariable(param))
	})
}
