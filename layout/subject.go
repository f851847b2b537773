package layout

import "strings"

// Subject says what a key of a context's space is about, for whoever shows people what
// changes: the noun that lists have, and the thing's own name, which is the key of its main
// record. Both are "" for what nobody is shown.
func Subject(key string) (noun, name string) {
	if rest, ok := strings.CutPrefix(key, statePrefix); ok {
		id, _, _ := strings.Cut(rest, ":")
		return "flow", FlowPrefix + id
	}
	if rest, ok := strings.CutPrefix(key, historyPrefix); ok {
		return "instance", SagaPrefix + rest
	}
	if rest, ok := strings.CutPrefix(key, RoutinePrefix); ok {
		name, _, _ := strings.Cut(rest, ":")
		return "routine", Routine(name)
	}
	for _, s := range subjects {
		if strings.HasPrefix(key, s.prefix) {
			return s.noun, key
		}
	}
	return "", ""
}

// subjects are the nouns of records by how their keys begin.
var subjects = [...]struct{ prefix, noun string }{
	{JobPrefix, "job"}, {FlowPrefix, "flow"}, {SagaPrefix, "instance"}, {DeadPrefix, "dead_letter"}, {SchedulePrefix, "schedule"},
}
