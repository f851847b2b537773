package domain

import "regexp"

// ScriptType names the language or runtime of a script. The four of the seeds
// are always known; others are served when a runtime for them is configured.
type ScriptType string

// The script types that Ramet itself knows.
//
// Source: seed 002, "ScriptType"; "rust" from its "RunnerType".
const (
	ScriptOSIS   ScriptType = "osis"
	ScriptSAL    ScriptType = "sal"
	ScriptV      ScriptType = "v"
	ScriptPython ScriptType = "python"
	ScriptRhai   ScriptType = "rhai"
	ScriptShell  ScriptType = "shell"
	ScriptNode   ScriptType = "node"
	ScriptRust   ScriptType = "rust"
)

// scriptTypePattern keeps type names safe inside keys, file names and metrics.
var scriptTypePattern = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// QueueSuffix is the part of a queue's name after "queue:".
//
// Source: seed 002, "queue_suffix()".
func (t ScriptType) QueueSuffix() string { return string(t) }

// Validate checks the form of the name: a lower-case letter, then up to 31
// letters, digits, '_' or '-'. Whether anybody serves the type is not asked.
//
// Errors: [ErrInvalid].
func (t ScriptType) Validate() error {
	if !scriptTypePattern.MatchString(string(t)) {
		return Invalidf("script type %q: want a lower-case name such as python, shell or v", string(t))
	}
	return nil
}
