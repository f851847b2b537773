package domain

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

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
	// ScriptEffect is ours: its scripts are an [EffectScript], and its jobs
	// go to nodes that have the effect, by the label [LabelEffect].
	ScriptEffect ScriptType = "effect"
)

// ScriptTypes are all of them.
var ScriptTypes = []ScriptType{ScriptOSIS, ScriptSAL, ScriptV, ScriptPython, ScriptRhai, ScriptShell, ScriptNode, ScriptRust, ScriptEffect}

// LabelEffect is the label by which a job asks for a node that has an effect.
const LabelEffect = "effect"

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

// extensions are those that say a script's type.
var extensions = map[string]ScriptType{
	".sh": ScriptShell, ".py": ScriptPython, ".v": ScriptV, ".js": ScriptNode, ".mjs": ScriptNode,
	".rhai": ScriptRhai,
}

// dialects are what may stand before .rhai: "books.osis.rhai".
var dialects = map[string]ScriptType{".osis": ScriptOSIS, ".sal": ScriptSAL}

// interpreters are the programs that a script's #! line may name.
var interpreters = map[string]ScriptType{
	"sh": ScriptShell, "bash": ScriptShell, "dash": ScriptShell, "ash": ScriptShell,
	"python": ScriptPython, "v": ScriptV, "node": ScriptNode, "rhai": ScriptRhai, "rhai-run": ScriptRhai,
}

// GuessScriptType tells a script's type by its file's name or its #! line; "" where
// neither does.
func GuessScriptType(file, text string) ScriptType {
	file = strings.ToLower(file)
	if stem, ok := strings.CutSuffix(file, ".rhai"); ok && dialects[path.Ext(stem)] != "" {
		return dialects[path.Ext(stem)]
	}
	if t := extensions[path.Ext(file)]; t != "" {
		return t
	}
	return interpreters[strings.TrimRight(interpreter(text), "0123456789.")] // python3, python3.12
}

// Typeless says why [GuessScriptType] cannot tell the type of a file's script.
func Typeless(file, text string) string {
	if program := interpreter(text); program != "" {
		return fmt.Sprintf("%s: its #! line names %.64q, which is of no script type that is known", file, program)
	}
	return file + ": neither its extension nor a #! line says what script this is"
}

// interpreter is the program that a script's #! line names; "" without one.
func interpreter(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	line, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return ""
	}
	words := strings.Fields(line)
	if len(words) > 0 && path.Base(words[0]) == "env" {
		// env's own flags and settings come before the program.
		words = slices.DeleteFunc(words[1:], func(w string) bool { return strings.HasPrefix(w, "-") || strings.Contains(w, "=") })
	}
	if len(words) == 0 {
		return ""
	}
	return path.Base(words[0])
}
