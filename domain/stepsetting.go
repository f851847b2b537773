package domain

import (
	"fmt"
	"slices"
	"strings"
)

// SettingPrefix begins the keys of a job's result that change a step which has not begun:
// "steps.<step>.<setting>".
const SettingPrefix = "steps."

// StepSettings are what a job may change of a step, by the kinds of steps that have it.
var StepSettings = map[string][]StepKind{
	"retries":     {StepSingle, StepShard, StepPack, StepEffect},
	"shard.count": {StepShard}, "shard.start": {StepShard}, "shard.window": {StepShard},
	"pack.size": {StepPack}, "pack.start": {StepPack}, "pack.end": {StepPack}, "pack.window": {StepPack},
}

// ParseStepSetting takes such a key apart.
//
// Errors: [ErrInvalid] for what no step has.
func ParseStepSetting(key string) (step, setting string, err error) {
	step, setting, _ = strings.Cut(strings.TrimPrefix(key, SettingPrefix), ".")
	if StepSettings[setting] != nil && step != "" {
		return step, setting, nil
	}
	known := make([]string, 0, len(StepSettings))
	for name := range StepSettings {
		known = append(known, name)
	}
	slices.Sort(known)
	want := "want steps.<step>. and one of " + strings.Join(known, ", ")
	if near := Nearest(setting, known); near != "" {
		want = fmt.Sprintf("did you mean %s%s.%s?", SettingPrefix, step, near)
	}
	return "", "", Invalidf("%s changes nothing: %s", key, want)
}
