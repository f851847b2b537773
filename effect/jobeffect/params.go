package jobeffect

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
)

// paramsOf makes params of a payload: each field of the object is one, or the
// whole payload is the one of that name. Texts are as they are, all else is
// JSON.
//
// Errors: a *[effect.Refused].
func paramsOf(payload json.RawMessage, whole string) (map[string]string, error) {
	params := map[string]string{}
	switch {
	case whole != "":
		params[whole] = string(payload)
		if len(payload) == 0 {
			params[whole] = "null"
		}
	case len(payload) > 0 && string(bytes.TrimSpace(payload)) != "null":
		fields := map[string]json.RawMessage{}
		if err := json.Unmarshal(payload, &fields); err != nil {
			return nil, effect.Refusedf("payload: want a JSON object, whose fields are the params")
		}
		for name, value := range fields {
			params[name] = textOf(value)
		}
	}
	if err := domain.ValidateParams(params); err != nil {
		return nil, effect.Refusedf("payload: %v", err)
	}
	return params, nil
}

// checkEnv checks the environment of jobs. It is kept on the board, so it is no
// place for secrets.
//
// Errors: [domain.ErrInvalid].
func checkEnv(def effect.Definition, env map[string]string) error {
	if err := domain.ValidateEnv(env); err != nil {
		return def.Errorf("env:", "%v", err)
	}
	for name, value := range env {
		if strings.Contains(value, "${secret:") {
			return def.Errorf("env:", "%s asks for a secret, and what a job is given stands on the board; let the script read it where it runs", name)
		}
	}
	return nil
}

// checkParam checks the name of the param that gets the whole payload, if there
// is one.
//
// Errors: [domain.ErrInvalid].
func checkParam(def effect.Definition, name string) error {
	if name == "" {
		return nil
	}
	if err := domain.ValidateName("param", name); err != nil {
		return def.Errorf("param:", "%v", err)
	}
	return nil
}

// textOf is a JSON value as the value of a param.
func textOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil && len(value) > 0 && value[0] == '"' {
		return text
	}
	return string(value)
}
