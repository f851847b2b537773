package service

import (
	"maps"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// This file hides the values of environments.

// redact hides the values of environment variables.
func redact(env map[string]string) {
	for name := range env {
		env[name] = api.Redacted
	}
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
