package blueprint

import (
	"maps"

	"github.com/ramet-run/ramet/domain"
)

// SecretsOf are the secrets that a job of a step names: those of the blueprint, under those of
// the step. It has none where it runs elsewhere, for they stay in their context, and a variable
// that the step sets itself is no secret.
func SecretsOf(b *domain.Blueprint, s *domain.Step) map[string]string {
	if s.At != "" || len(b.Secrets)+len(s.Secrets) == 0 {
		return nil
	}
	all := make(map[string]string, len(b.Secrets)+len(s.Secrets))
	maps.Copy(all, b.Secrets)
	maps.Copy(all, s.Secrets)
	for name := range s.Env {
		delete(all, name)
	}
	return all
}
