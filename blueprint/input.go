package blueprint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/template"
)

// takesInputs refuses params that are not declared, or cannot have their values, and says which
// are missing. Values with ${name} in them, as schedules have, are looked at when that is known.
func takesInputs(b *domain.Blueprint, params map[string]string, names []string) error {
	var known []string
	for i := range b.Inputs {
		d := &b.Inputs[i]
		known = append(known, d.Name)
		value, given := params[d.Name]
		if given && !template.Is(value) {
			if _, err := FieldValue(d, value); err != nil {
				return domain.Invalidf("params: %s is %v", d.Name, err)
			}
		}
		if _, has := b.Params[d.Name]; d.Required && !given && !has {
			return missing(d, b.Name)
		}
	}
	for _, name := range names {
		if slices.Contains(known, name) {
			continue
		}
		text := "its inputs are " + strings.Join(known, ", ")
		if near := domain.Nearest(name, known); near != "" {
			text = fmt.Sprintf("did you mean %q?", near)
		}
		return domain.Invalidf("params: blueprint %q has no input %q; %s", b.Name, name, text)
	}
	return nil
}

func missing(f *domain.TypedField, blueprint string) error {
	text := ""
	if f.Description != "" {
		text = ": " + domain.PlainText(f.Description, 200)
	}
	return domain.Invalidf("params: blueprint %q needs %s, %s%s", blueprint, f.Name, FieldWants(f), text)
}

// FillInputs puts the defaults of inputs among the params, and checks all values.
//
// Errors: [domain.ErrInvalid] for one that is missing, or wrong.
func FillInputs(b *domain.Blueprint) error {
	if len(b.Inputs) == 0 {
		return nil
	}
	filled := make(map[string]string, len(b.Params)+len(b.Inputs))
	for name, value := range b.Params {
		filled[name] = value
	}
	for i := range b.Inputs {
		d := &b.Inputs[i]
		value, given := b.Params[d.Name]
		switch {
		case !given && d.Default != nil:
			value = *d.Default
		case !given && d.Required:
			return missing(d, b.Name)
		case !given:
			continue
		}
		value, err := FieldValue(d, value)
		if err != nil {
			return domain.Invalidf("params: %s is %v", d.Name, err)
		}
		filled[d.Name] = value
	}
	b.Params = filled
	return nil
}

// inputs checks what is declared, and what the blueprint itself gives for it.
func (c *checker) inputs() {
	for _, f := range c.fields("inputs", "input", c.b.Inputs, domain.MaxInputs) {
		value, given := c.b.Params[f.Name]
		if _, err := FieldValue(f, value); given && err != nil {
			c.fault("params."+f.Name, "%v", err)
		}
	}
}

// TakesParams refuses params that nothing in the blueprint has or names: with a
// slip in a name a flow would run with the value that was to be changed. Of one that
// declares inputs it refuses all others, values that they cannot have, and that one which
// is required is missing.
//
// Errors: [domain.ErrInvalid].
func TakesParams(b *domain.Blueprint, params map[string]string) error {
	if len(b.Inputs) > 0 {
		return takesInputs(b, params, slices.Sorted(maps.Keys(params)))
	}
	known := maps.Clone(b.Params)
	if known == nil {
		known = map[string]string{}
	}
	for i := range b.Steps {
		maps.Copy(known, b.Steps[i].Params)
	}
	for _, on := range domain.HookOns {
		if h := b.On.Of(on); h != nil {
			maps.Copy(known, h.Params)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if _, ok := known[name]; ok || slices.ContainsFunc(b.Steps, func(s domain.Step) bool { return mentions(&s, name) }) || hooksMention(b.On, name) {
			continue
		}
		text := "give it a value under params there"
		if near := domain.Nearest(name, slices.Sorted(maps.Keys(known))); near != "" {
			text = fmt.Sprintf("did you mean %q? Else %s", near, text)
		}
		return domain.Invalidf("params: blueprint %q has no param %q; %s", b.Name, name, text)
	}
	return nil
}

// TakesNames is [TakesParams] for params whose values are not known yet.
//
// Errors: [domain.ErrInvalid].
func TakesNames(b *domain.Blueprint, params map[string]string) error {
	later := make(map[string]string, len(params))
	for name := range params {
		later[name] = "${later}"
	}
	return TakesParams(b, later)
}

// hooksMention is mentions of any of the hooks.
func hooksMention(h *domain.Hooks, param string) bool {
	return slices.ContainsFunc(domain.HookOns, func(on domain.HookOn) bool {
		hook := h.Of(on)
		if hook == nil {
			return false
		}
		s := hook.Step(on)
		return mentions(&s, param)
	})
}

// mentions reports whether the step may ask for a param that has no value of its
// own. Only the text can be looked at: some that it does not ask for are found, too.
func mentions(s *domain.Step, param string) bool {
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
		return strings.Contains(text, param) || strings.Contains(text, domain.ParamVariable(param))
	})
}
