package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/value"
)

// rhaiSource is a script that runs, with the modules that it has imported.
type rhaiSource struct {
	label   string // for people: its file
	dir     string // of the file: names of modules are relative to it
	text    string
	modules map[string]rhai.Source // by name, and by what was imported
	rhai.Resolver
}

// Resolve remembers the modules, for errors in them.
func (s *rhaiSource) Resolve(path, from string) (rhai.Source, error) {
	m, err := s.Resolver.Resolve(path, from)
	if err == nil {
		s.modules[path], s.modules[m.Name] = m, m
	}
	return m, err
}

// of finds where the cause of an error stands.
func (s *rhaiSource) of(e *rhai.Error) (label, text string) {
	name := ""
	for ; e.Inner != nil; e = e.Inner {
		name = e.Source
		if e.Kind == value.ErrorInModule {
			name = e.Name
		}
	}
	if m, ok := s.modules[name]; ok {
		return filepath.Join(s.dir, m.Name), m.Text
	}
	return s.label, s.text
}

// rhaiFailed shows where a script's error happened and the calls that led
// there, and gives the exit code that its kind has.
func (a *app) rhaiFailed(ctx context.Context, src *rhaiSource, err error, timeout time.Duration) error {
	var e *rhai.Error
	if !errors.As(err, &e) {
		return err
	}
	in := e.Innermost()
	label, text := src.of(e)
	label += placeOf(in.Position()) + ": "
	if in.Kind == value.ErrorTerminated && ctx.Err() != nil {
		if errors.Is(context.Cause(ctx), errRhaiTimeout) {
			return &exitError{api.FailureNamed("limit").Exit, label + fmt.Sprintf("stopped after %v", timeout)}
		}
		return &exitError{exitInterrupted, label + "interrupted"}
	}
	// What is wrong is said once, at the end.
	_, picture, _ := strings.Cut(rhai.Explain(e, text), "\n")
	io.WriteString(a.std.Err, picture)
	return &exitError{rhaiExitCode(in), label + in.Text()}
}

// rhaiExitCode is the exit code for what went wrong in a script.
func rhaiExitCode(e *rhai.Error) int {
	switch e.Kind {
	case value.ErrorParsing:
		return api.FailureNamed("invalid").Exit
	case value.ErrorTooManyOperations, value.ErrorTooManyVariables, value.ErrorTooManyModules, value.ErrorStackOverflow,
		value.ErrorDataTooLarge:
		return api.FailureNamed("limit").Exit
	}
	return exitFailed
}

// placeOf is a position as compilers write it, "" for none.
func placeOf(p rhai.Pos) string {
	if p.IsZero() {
		return ""
	}
	return fmt.Sprintf(":%d:%d", p.Line, p.Col)
}
