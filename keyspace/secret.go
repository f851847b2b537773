package keyspace

import (
	"encoding/json"
	"strings"

	"github.com/ramet-run/ramet/api"
)

// This file hides what not everybody who may read a record may see of it.

// Secret hides a field's value from who may not read environment variables; nil
// where everybody who reads the record may see it.
func (k *Kind) Secret(field string) func(text string) string { return k.secret[field] }

// environment hides the values of environment variables.
var environment = map[string]func(string) string{envVars: hideValues}

// envVars is the field of jobs and flows that is an environment.
const envVars = "env_vars"

// jobsAndFlow hides them in the jobs that a message carries, and in its flow.
var jobsAndFlow = map[string]func(string) string{"job": hideInJobs, "flow": func(string) string { return api.Redacted }}

// hooks hides them in the hooks of a context.
var hooks = map[string]func(string) string{"on": hideInHooks}

// hideValues hides the values of a JSON object of strings.
func hideValues(text string) string {
	if text == "" || text == "{}" {
		return text
	}
	var m map[string]string
	if json.Unmarshal([]byte(text), &m) != nil {
		return api.Redacted
	}
	for name := range m {
		m[name] = api.Redacted
	}
	hidden, err := json.Marshal(m)
	if err != nil {
		return api.Redacted
	}
	return string(hidden)
}

// hideInJobs hides them in a JSON list of jobs.
func hideInJobs(text string) string {
	if text == "" || text == "[]" {
		return text
	}
	var jobs []map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &jobs) != nil {
		return api.Redacted
	}
	for _, j := range jobs {
		hideField(j, envVars)
	}
	hidden, err := json.Marshal(jobs)
	if err != nil {
		return api.Redacted
	}
	return string(hidden)
}

// hideInHooks hides them in a JSON object of hooks.
func hideInHooks(text string) string {
	if text == "" {
		return text
	}
	var on map[string]map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &on) != nil {
		return api.Redacted
	}
	for _, hook := range on {
		hideField(hook, "env")
	}
	hidden, err := json.Marshal(on)
	if err != nil {
		return api.Redacted
	}
	return string(hidden)
}

// hideField hides them in a field of a JSON object.
func hideField(object map[string]json.RawMessage, field string) {
	for name, raw := range object {
		// encoding/json takes names in any case, so others may read them so.
		if strings.EqualFold(name, field) {
			object[name] = json.RawMessage(hideRaw(raw))
		}
	}
}

func hideRaw(raw json.RawMessage) string {
	if hidden := hideValues(string(raw)); hidden != api.Redacted {
		return hidden
	}
	return `"` + api.Redacted + `"`
}
