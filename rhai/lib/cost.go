package lib

import "github.com/ramet-run/ramet/rhai/value"

// This file says which functions take longer for larger texts and containers,
// so that the evaluator counts what they do.

// containers are the kinds whose size may decide.
var containers = value.Of(value.StringKind, value.ArrayKind, value.MapKind, value.BlobKind)

// atOnce are the functions on them that take no longer for large ones.
var atOnce = map[string]bool{
	"len": true, "get$len": true, "is_empty": true, "get$is_empty": true, "bytes": true, "get$bytes": true,
	"get": true, "set": true, "push": true, "pop": true, "shift": true, "clear": true, "append": true, "+=": true,
	"chars": true, "get$chars": true, "tag": true, "get$tag": true, "set$tag": true, "set_tag": true, "take": true,
}

// byKey are those on maps, where a key is found without looking at the others.
var byKey = map[string]bool{"contains": true, "remove": true, "mixin": true, "fill_with": true}

// linear reports that f works through all of its first argument.
func linear(f *value.Native) bool {
	if len(f.Params) == 0 || f.Params[0].Kinds&^containers != 0 || atOnce[f.Name] {
		return false
	}
	return f.Params[0].Kinds != aMap || !byKey[f.Name]
}
