package service

import (
	"maps"
	"slices"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/hide"
)

// This file hides the values of environments, and refuses what stands in their place. Who edits an
// object whose environment they may not read, and stores it back, would store that. The value which is
// there is not kept for them instead: with a script of their own they would read it.

// redact hides the values of environment variables.
func redact(env map[string]string) {
	for name := range env {
		env[name] = api.Redacted
	}
}

// unread refuses environments in which what stands for a hidden value is given as a value.
//
// Errors: [domain.ErrInvalid].
func unread(envs ...map[string]string) error {
	for _, env := range envs {
		for _, name := range slices.Sorted(maps.Keys(env)) {
			if env[name] == api.Redacted {
				return domain.Invalidf("environment variable %s: %s", name, hide.WhyNot)
			}
		}
	}
	return nil
}

// Storable says of the environments of a blueprint whether it would be stored, as what cannot store it wants to tell.
//
// Errors: [domain.ErrInvalid].
func Storable(b *domain.Blueprint) error { return unread(EnvironmentsOf(b)...) }

// EnvironmentsOf are those of a blueprint.
func EnvironmentsOf(b *domain.Blueprint) []map[string]string {
	all := append(hookEnvironments(b.On), b.Env)
	for i := range b.Steps {
		all = append(all, b.Steps[i].Env)
	}
	return all
}

func hookEnvironments(h *domain.Hooks) (all []map[string]string) {
	if h == nil {
		return nil
	}
	for _, of := range []*domain.Hook{h.Failed, h.Errored, h.Succeeded, h.Cancelled, h.Late} {
		if of != nil {
			all = append(all, of.Env)
		}
	}
	return all
}

// hooksView are hooks without the values of their environments.
func hooksView(h *domain.Hooks) *domain.Hooks {
	if h == nil {
		return nil
	}
	seen := *h
	for _, of := range []**domain.Hook{&seen.Failed, &seen.Errored, &seen.Succeeded, &seen.Cancelled, &seen.Late} {
		if *of == nil {
			continue
		}
		hook := **of
		hook.Env = maps.Clone(hook.Env)
		redact(hook.Env)
		*of = &hook
	}
	return &seen
}
