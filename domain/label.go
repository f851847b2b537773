package domain

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Limits of labels.
const (
	MaxLabels     = 32  // of a node
	MaxLabelBytes = 190 // of a job's affinity in one text: it is part of a queue's name
)

// Labels say what a node is ("zone=eu"), or what nodes a job can run on.
type Labels map[string]string

var labelValuePattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./-]*$`)

// Validate checks the labels of a node.
//
// Errors: [ErrInvalid].
func (l Labels) Validate() error {
	if len(l) > MaxLabels {
		return Invalidf("%d labels, the limit is %d", len(l), MaxLabels)
	}
	for _, name := range slices.Sorted(maps.Keys(l)) {
		if err := ValidateName("label", name); err != nil {
			return err
		}
		if v := l[name]; len(v) > MaxNameBytes || !labelValuePattern.MatchString(v) {
			return Invalidf("label %s is %q: want a letter, a digit or '_' first, then also '.', '/' and '-', up to %d in all", name, v, MaxNameBytes)
		}
	}
	return nil
}

// String is the labels in their one order: "disk=ssd,zone=eu".
func (l Labels) String() string {
	if len(l) == 0 {
		return ""
	}
	parts := make([]string, 0, len(l))
	for name, value := range l {
		parts = append(parts, name+"="+value)
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// ParseLabels reads what String writes.
//
// Errors: [ErrInvalid].
func ParseLabels(text string) (Labels, error) {
	l := Labels{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			return nil, Invalidf("label %q: want name=value, as zone=eu", part)
		}
		if _, twice := l[name]; twice {
			return nil, Invalidf("label %s is given twice", name)
		}
		l[name] = value
	}
	return l, l.Validate()
}
