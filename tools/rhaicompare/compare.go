package main

import (
	"slices"
)

// Level is the first thing in which two answers differ.
type Level int

const (
	Same  Level = iota
	What        // value or kind of error, printed lines, variables left
	Where       // kind of parse error, positions
	Words       // message
)

func (l Level) String() string {
	return [...]string{"same", "what (value, error kind, print)", "where (parse error, position)", "words (message)"}[l]
}

// compare returns the first level at which two answers differ.
func compare(a, b Answer) Level {
	switch {
	case a.Error != b.Error || !equal(a.Expect, b.Expect) || !slices.Equal(a.Print, b.Print) ||
		!slices.EqualFunc(a.Debug, b.Debug, func(x, y Note) bool { return x.Text == y.Text }) ||
		!sameScope(a.ScopeAfter, b.ScopeAfter):
		return What
	case a.ParseError != b.ParseError || a.Pos != b.Pos || !slices.Equal(a.Debug, b.Debug):
		return Where
	case a.Message != b.Message:
		return Words
	}
	return Same
}

func equal(a, b *Value) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func sameScope(a, b map[string]Value) bool {
	if len(a) != len(b) {
		return false
	}
	for name, v := range a {
		if w, ok := b[name]; !ok || v != w {
			return false
		}
	}
	return true
}

// grade compares an answer with every right answer of a case: the level and the right answer that come closest.
func grade(c Case, got Answer) (Level, Answer) {
	best, want := What, c.Answer
	found := false
	for _, right := range c.Answers() {
		level := compare(right, got)
		if level == Same {
			return Same, right
		}
		if !found || level > best {
			best, want, found = level, right, true
		}
	}
	return best, want
}
