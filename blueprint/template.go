package blueprint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/template"
)

// This file checks the names in templates: values of env, and params of effects.

// templateFaults are names that stand for nothing.
func templateFaults(b *domain.Blueprint) (faults []domain.Fault) {
	envs := templates{b: b}
	envs.env("env", b.Env, nil)
	for i := range b.Steps {
		s := &b.Steps[i]
		envs.env(stepPath(i, "env"), s.Env, s)
		if s.Effect != nil {
			envs.effect(stepPath(i, "effect.params"), s, nil)
		}
		envs.calls(i, s)
		if len(envs.faults) >= document.MaxFaults {
			return envs.faults[:document.MaxFaults]
		}
	}
	envs.hooks()
	return envs.faults[:min(len(envs.faults), document.MaxFaults)]
}

// templates checks those of a blueprint.
type templates struct {
	b      *domain.Blueprint
	faults []domain.Fault
	// any is set of hooks of a context: params and steps are those of whichever flow ends.
	any bool
}

// hooks checks those of hooks.
func (t *templates) hooks() {
	for _, on := range domain.HookOns {
		h := t.b.On.Of(on)
		if h == nil {
			continue
		}
		s := h.Step(on)
		t.env("on."+string(on)+".env", h.Env, &s)
		if h.Effect != nil {
			t.effect("on."+string(on)+".effect.params", &s, h)
		}
	}
}

// params are those that a step finds, or any step where that is nil.
func (t *templates) params(s *domain.Step) []string {
	all := maps.Clone(t.b.Params)
	if all == nil {
		all = map[string]string{}
	}
	for i := range t.b.Inputs {
		all[t.b.Inputs[i].Name] = ""
	}
	for i := range t.b.Steps {
		if s == nil {
			maps.Copy(all, t.b.Steps[i].Params)
		}
	}
	if s != nil {
		maps.Copy(all, s.Params)
	}
	return slices.Sorted(maps.Keys(all))
}

// env checks values of env: of a step, or of the blueprint where that is nil.
func (t *templates) env(path string, env map[string]string, s *domain.Step) {
	if !template.In(env) {
		return
	}
	var params []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		for _, place := range t.parse(path+"."+name, env[name]) {
			if params == nil {
				params = t.params(s)
			}
			t.place(path+"."+name, place, params, s)
		}
	}
}

// parse reads a template and finds a ${ that begins no name.
func (t *templates) parse(path, text string) []string {
	tmpl := template.Parse(text)
	if odd := tmpl.Odd(); odd != "" {
		t.fault(path, "%q begins no name: want ${params.NAME} and the like, or $${ where the text has ${ itself", odd)
	}
	return tmpl.Names()
}

// place finds a name that stands for nothing in an environment.
func (t *templates) place(path, place string, params []string, s *domain.Step) {
	first, rest, dotted := strings.Cut(place, ".")
	known := []string{template.NameStep, template.NameFlowID, template.NameTrigger, template.NameBlueprint}
	switch {
	case first == template.NameParams && dotted:
		if !t.any && !slices.Contains(params, rest) {
			t.fault(path, "${%s}: there is no param %q%s; give it a value under params", place, rest, meant(rest, params))
		}
		return
	case first == template.NameItem || place == template.NameIndex:
		if s == nil || s.KindOr() != domain.StepEach {
			t.fault(path, "${%s}: only a step with each has an element", place)
		}
		return
	case slices.Contains(known, place):
		return
	case strings.HasPrefix(path, "on.") && strings.HasPrefix(place, "hook_"):
		t.fault(path, "${%s} is of the params of an effect; a hook's script finds $RAMET_HOOK_TEXT, $RAMET_HOOK and $RAMET_FLOW, and all of it "+
			"under hook in the file $RAMET_INPUT", place)
		return
	}
	for _, name := range params {
		known = append(known, template.NameParams+"."+name)
	}
	known = append(known, template.NameItem, template.NameIndex)
	near := meant(place, known)
	if slices.Contains(params, place) {
		near = fmt.Sprintf("; did you mean %q?", template.NameParams+"."+place)
	}
	t.fault(path, "${%s} stands for nothing%s; known are params.NAME, item, item.FIELD, index, step, flow.id, flow.trigger and flow.blueprint, "+
		"and $${ is ${ itself", place, near)
}

// calls checks the params that the key of a cache names, and the flow that a step makes. What
// else they name is checked where their form is.
func (t *templates) calls(i int, s *domain.Step) {
	texts := map[string]string{}
	if s.Cache != nil {
		texts["cache.key"] = s.Cache.Key
	}
	if s.Flow != nil {
		texts["flow.trigger"] = s.Flow.Trigger
		for name, text := range s.Flow.Params {
			texts["flow.params."+name] = text
		}
	}
	for _, field := range slices.Sorted(maps.Keys(texts)) {
		_, _ = FillTemplate(texts[field], func(path []string) (string, error) {
			name := path[len(path)-1]
			element := s.Listed() && (path[0] == template.NameItem || path[0] == template.NameIndex || path[0] == "key")
			param := len(path) == 1 && !element || len(path) == 2 && path[0] == template.NameParams
			if params := t.params(s); param && domain.ValidateName("param", name) == nil && !slices.Contains(params, name) {
				t.fault(stepPath(i, field), "${%s}: there is no param %q%s; give it a value under params", strings.Join(path, "."), name, meant(name, params))
			}
			return "", nil
		})
	}
}

// left checks ${needs.STEP.KEY} in params of an effect; h is the hook whose effect it is.
func (t *templates) left(path, place string, s *domain.Step, h *domain.Hook) {
	parts := strings.SplitN(place, ".", 3)
	names := s.Needs
	if h != nil {
		for i := range t.b.Steps {
			names = append(names, t.b.Steps[i].Name)
		}
	}
	switch {
	case len(parts) != 3:
		t.fault(path, "${%s}: want ${needs.STEP.KEY}", place)
	case t.any:
	case h != nil && !slices.Contains(names, parts[1]):
		t.fault(path, "${%s}: there is no step %q%s", place, parts[1], meant(parts[1], names))
	case !slices.Contains(names, parts[1]):
		t.fault(path, "${%s}: the step does not need %q, and finds nothing of it; add it to its needs", place, parts[1])
	}
}

// effect checks the params of an effect, of a step or of the hook h. A bare ${name} is a param,
// which an earlier step may add; one that there is not stays as it is.
func (t *templates) effect(path string, s *domain.Step, h *domain.Hook) {
	for _, name := range slices.Sorted(maps.Keys(s.Effect.Params)) {
		for _, place := range t.parse(path+"."+name, s.Effect.Params[name]) {
			first, rest, dotted := strings.Cut(place, ".")
			params := t.params(s)
			secrets := slices.Sorted(maps.Keys(SecretsOf(t.b, s)))
			switch {
			case !dotted:
			case first == template.NameNeeds:
				t.left(path+"."+name, place, s, h)
			case first == template.NameParams && !t.any && !slices.Contains(params, rest):
				t.fault(path+"."+name, "${%s}: there is no param %q%s; give it a value under params", place, rest, meant(rest, params))
			case first == template.NameSecret && !slices.Contains(secrets, rest):
				who := "step"
				if h != nil {
					who = "hook"
				}
				t.fault(path+"."+name, "${%s}: the %s names no secret %q%s; write it under its secrets, as %s: NAME", place, who, rest, meant(rest, secrets), rest)
			case first != template.NameParams && first != template.NameSecret:
				t.fault(path+"."+name, "${%s} stands for nothing; known are NAME or params.NAME, needs.STEP.KEY, and secret.NAME, and $${ is ${ itself", place)
			}
		}
	}
}

func (t *templates) fault(path, format string, args ...any) {
	t.faults = append(t.faults, domain.Fault{Path: path, Text: fmt.Sprintf(format, args...)})
}
