package domain

import (
	"maps"
	"slices"
	"strings"
)

// Limits of parameters.
const (
	MaxParams     = 512
	MaxParamBytes = 256 << 10 // all names and values together
)

// ValidateParams checks parameters.
//
// Errors: [ErrInvalid].
func ValidateParams(params map[string]string) error {
	if len(params) > MaxParams {
		return Invalidf("%d params, the limit is %d", len(params), MaxParams)
	}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if err := validateParam(name, params[name]); err != nil {
			return err
		}
		if total += len(name) + len(params[name]); total > MaxParamBytes {
			return Invalidf("params have more than %d bytes together", MaxParamBytes)
		}
	}
	return nil
}

func validateParam(name, value string) error {
	if err := ValidateName("param", name); err != nil {
		return err
	}
	if strings.IndexByte(value, 0) >= 0 {
		return Invalidf("param %s has a NUL byte", name)
	}
	return nil
}
