package work

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/template"
)

// This file makes the environment of jobs: that of the flow, over it that of the job, in
// both of which values may be templates.

// environment is what the script finds of the flow and the job: flow < job.
func (x *run) environment() (map[string]string, error) {
	env := make(map[string]string, len(x.job.EnvVars)+16)
	of, err := x.r.e.envOf(x.Ctx, x.Claimed.Space, x.job)
	if err != nil {
		return nil, err
	}
	maps.Copy(env, of)
	maps.Copy(env, x.job.EnvVars)
	if !x.job.EnvFill {
		return env, nil
	}
	in, err := x.input()
	if err != nil {
		return nil, err
	}
	x.found = &in
	return x.r.e.fillEnv(x.Ctx, x.Claimed.Space, x.job, env, &in)
}

// fillEnv puts into env, which it may change, what the names in its values stand for.
//
// Errors: a *resultError where that cannot be; those of the board.
func (e *Engine) fillEnv(ctx context.Context, space board.Space, j *domain.Job, env map[string]string, in *domain.Input) (map[string]string, error) {
	f, _, err := e.flowOf(ctx, space, j)
	if err != nil {
		return nil, err
	}
	filled := make(map[string]string, len(env)+16)
	room := domain.MaxEnvBytes
	for _, name := range slices.Sorted(maps.Keys(env)) {
		text, err := template.Parse(env[name]).Fill(room, func(place string) (string, bool, error) {
			text, known := valueOf(place, j, &f, in)
			switch {
			case !known:
				return "", false, domain.Invalidf("there is no %s: a param of that name, or a field of the element, is missing", place)
			case strings.IndexByte(text, 0) >= 0:
				return "", false, domain.Invalidf("%s has a NUL byte, which no variable can have", place)
			}
			return text, true, nil
		})
		if err != nil {
			return nil, &resultError{domain.Invalidf("env %s: %v", name, err)}
		}
		room -= len(text)
		filled[name] = text
	}
	return filled, nil
}

// valueOf is what a name in a template of a step's environment stands for; the names are
// those of [template.NameParams] and on.
func valueOf(name string, j *domain.Job, f *knownFlow, in *domain.Input) (text string, known bool) {
	first, rest, _ := strings.Cut(name, ".")
	switch {
	case first == template.NameParams:
		text, known = in.Params[rest]
		return text, known || j.Hook != nil // that of a context is called by flows that have other params, and is to be called
	case j.Hook != nil:
		return valueOfHook(name, j.Hook)
	case first == template.NameItem && in.Item != nil:
		return itemField(string(in.Item), rest)
	case name == template.NameIndex && in.Index != nil:
		return strconv.FormatInt(*in.Index, 10), true
	case name == template.NameStep:
		return j.Step, true
	case name == template.NameFlowID:
		return strconv.FormatUint(uint64(j.FlowID), 10), true
	case name == template.NameTrigger:
		return f.trigger, true
	case name == template.NameBlueprint:
		return f.blueprint, true
	}
	return "", false
}

// valueOfHook is what a name stands for in the environment of a hook, which is none of the flow's
// jobs: its flow may be gone by now, and stands on it.
func valueOfHook(name string, h *domain.HookInput) (text string, known bool) {
	switch name {
	case template.NameStep:
		return string(h.On), true
	case template.NameFlowID:
		return strconv.FormatUint(uint64(h.Flow), 10), true
	case template.NameTrigger:
		return h.Trigger, true
	case template.NameBlueprint:
		return h.Blueprint, true
	}
	return "", false
}

// itemField is an element, or what lies in it at fields with dots between them: a text as
// it is, all else as JSON.
func itemField(item, fields string) (string, bool) {
	for fields != "" {
		var field string
		field, fields, _ = strings.Cut(fields, ".")
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(item), &object) != nil || object[field] == nil {
			return "", false
		}
		item = string(object[field])
	}
	return itemText(item), true
}
