package hide

import (
	"maps"
	"slices"

	"github.com/ramet-run/ramet/domain"
)

// Refuse refuses environments in which [Mask] is given as a value. Who edits an object whose environment
// they may not read, and stores it back, would store that. The value which is there is not kept for
// them instead: with a script of their own they would read it.
//
// Errors: [domain.ErrInvalid].
func Refuse(envs ...map[string]string) error {
	for _, env := range envs {
		for _, name := range slices.Sorted(maps.Keys(env)) {
			if env[name] == Mask {
				return domain.Invalidf("environment variable %s: %s", name, WhyNot)
			}
		}
	}
	return nil
}
