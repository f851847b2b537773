package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/clockwork/timetable"
	"github.com/ramet-run/ramet/domain"
)

// This file reads a schedule of YAML or JSON.

const (
	// maxScheduleFile bounds a schedule's file.
	maxScheduleFile = 4 * domain.MaxScheduleBytes
	// maxScheduleDepth bounds how deep it is nested: variables.day.time.zone.
	maxScheduleDepth = 8
)

// scheduleFields are what a caller may say of a schedule.
var scheduleFields = []string{
	"name", "summary", "blueprint", "version", "trigger", "params", "env", "priority", "at", "every", "start", "cron", "zone", "from", "until",
	"overlap", "catch_up", "variables", "paused",
}

// shownFields are what `ramet schedule show` says besides; what it wrote can
// be applied again.
var shownFields = []string{"caller_id", "created_at", "updated_at", "state", "upcoming", "lacks", "before"}

// unquoted is a cron expression that YAML takes for something else.
var unquoted = regexp.MustCompile(`(?m)^\s*cron:\s*[*@]`)

// parseSchedule reads a schedule's file; name is the file's, for errors.
//
// Errors: [domain.ErrInvalid] with file and line.
func parseSchedule(name string, text []byte) (domain.Schedule, error) {
	var s domain.Schedule
	root, err := readDocument(name, text, "a schedule, with `name:`, `blueprint:`, and `cron:`, `every:` or `at:`")
	if err != nil {
		if unquoted.Match(text) {
			err = domain.Invalidf("%v; write the cron expression in quotes, as cron: \"*/5 * * * *\"", err)
		}
		return s, err
	}
	invalid := func(n *yaml.Node, format string, args ...any) error {
		return domain.Invalidf("%s:%d: %s", name, n.Line, fmt.Sprintf(format, args...))
	}
	if root.Kind != yaml.MappingNode {
		return s, invalid(root, "want a schedule, with `name:`, `blueprint:`, and `cron:`, `every:` or `at:`")
	}
	for i := 0; i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		field := key.Value
		switch {
		case slices.Contains(shownFields, field):
			continue
		case !slices.Contains(scheduleFields, field):
			return s, invalid(key, "unknown field %q%s", field, guess(field, scheduleFields))
		}
		if err := setField(&s, field, value); err != nil {
			return s, invalid(value, "%s: %v", field, err)
		}
	}
	return s, timetable.Check(&s)
}

// setField sets one field of a schedule.
func setField(s *domain.Schedule, field string, n *yaml.Node) error {
	value, err := plainValue(n, field == "params" || field == "env", 0)
	if err != nil {
		return err
	}
	if _, isList := value.([]any); field == "at" && !isList {
		value = []any{value}
	}
	text, err := json.Marshal(map[string]any{field: value})
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
		return errors.New(jsonText(err))
	}
	return nil
}

// plainValue is what stands at a node, as JSON has it; with texts single
// values are texts, whatever they look like.
func plainValue(n *yaml.Node, texts bool, depth int) (any, error) {
	if n.Kind == yaml.AliasNode {
		// A few of them can stand for more than fits into memory.
		return nil, errors.New("an alias; write out what it stands for")
	}
	if depth > maxScheduleDepth {
		return nil, fmt.Errorf("it is nested more than %d deep", maxScheduleDepth)
	}
	switch n.Kind {
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			v, err := plainValue(item, texts, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.MappingNode:
		fields := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			name := n.Content[i].Value
			// A constant is a text, too.
			v, err := plainValue(n.Content[i+1], texts || name == "const", depth+1)
			if err != nil {
				return nil, err
			}
			fields[name] = v
		}
		return fields, nil
	}
	return scalarValue(n, texts)
}

func scalarValue(n *yaml.Node, texts bool) (any, error) {
	switch tag := n.ShortTag(); {
	case tag == "!!null":
		return nil, errors.New("it has no value; leave it out, or write \"\"")
	case texts || tag == "!!str" || tag == "!!timestamp":
		return n.Value, nil
	}
	var v any
	err := n.Decode(&v)
	return v, err
}

// jsonText is a decoder's error in words that people use.
func jsonText(err error) string {
	if e := (*json.UnmarshalTypeError)(nil); errors.As(err, &e) {
		where := ""
		if _, path, nested := strings.Cut(e.Field, "."); nested {
			where = path + ": "
		}
		want := map[reflect.Kind]string{reflect.String: "a text", reflect.Bool: "true or false", reflect.Slice: "a list"}[e.Type.Kind()]
		switch {
		case e.Type.Kind() == reflect.Int || e.Type.Kind() == reflect.Int64:
			want = "a whole number"
		case want == "":
			want = "names with values"
		}
		return fmt.Sprintf("%sgot a %s, want %s", where, e.Value, want)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}
