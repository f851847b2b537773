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
	if err := ValidateTexts(params); err != nil {
		return err
	}
	return ParamsApart(params)
}

// ValidateTexts is that for texts which no script finds in variables, as those of an effect.
func ValidateTexts(params map[string]string) error {
	if len(params) > MaxParams {
		return Invalidf("%d params, the limit is %d", len(params), MaxParams)
	}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if err := ValidateParam(name, params[name]); err != nil {
			return err
		}
		if total += len(name) + len(params[name]); total > MaxParamBytes {
			return Invalidf("params have more than %d bytes together", MaxParamBytes)
		}
	}
	return nil
}

// ParamsApart refuses two params that are one environment variable: a script would find
// the one or the other.
func ParamsApart(sets ...map[string]string) error {
	of := map[string]string{} // which param a variable is
	for _, params := range sets {
		for _, name := range slices.Sorted(maps.Keys(params)) {
			variable := ParamVariable(name)
			if other, taken := of[variable]; taken && other != name {
				return Invalidf("params %s and %s are one variable for a script, %s: give one of them another name", other, name, variable)
			}
			of[variable] = name
		}
	}
	return nil
}

func ValidateParam(name, value string) error {
	if err := ValidateName("param", name); err != nil {
		return err
	}
	if strings.IndexByte(value, 0) >= 0 {
		return Invalidf("param %s has a NUL byte", name)
	}
	return nil
}

// ParamVariable is the environment variable in which scripts find a param.
func ParamVariable(param string) string {
	return "RAMET_PARAM_" + strings.ToUpper(strings.ReplaceAll(param, "-", "_"))
}
