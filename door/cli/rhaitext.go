package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/whole"
	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/syntax"
)

// This file looks at the text of scripts without running them.

func (a *app) rhaiCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use: "check FILE...", Short: "Say what is wrong with the text of scripts, as FILE:LINE:COLUMN: what; 1 when anything is", Args: cobra.MinimumNArgs(1),
		Example: "  ramet rhai check sum.rhai",
		RunE: func(_ *cobra.Command, files []string) error {
			wrong := 0
			for _, file := range files {
				_, _, err := a.parseRhai(file)
				if p := (*rhaiProblem)(nil); errors.As(err, &p) {
					fmt.Fprintln(a.std.Err, p)
					wrong++
				} else if err != nil {
					return err
				}
			}
			if wrong > 0 {
				return &exitError{exitFailed, fmt.Sprintf("%d of %d files: no script", wrong, len(files))}
			}
			return nil
		},
	}
}

func (a *app) rhaiFormatCommand() *cobra.Command {
	write := false
	c := &cobra.Command{
		Use: "fmt FILE...", Short: "Print scripts in the one form that all have", Args: cobra.MinimumNArgs(1),
		Example: "  ramet rhai fmt --write sum.rhai",
		Long: `Print scripts in the one form that all have: a statement on each line, indented by tabs. With -w, write them back.

Comments that are not documentation (/// and //!) are no part of a script's tree, hence not of what is printed: a file
that has such a comment is not written.`,
		RunE: func(_ *cobra.Command, files []string) error {
			for _, file := range files {
				if err := a.formatRhai(file, write); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().BoolVarP(&write, "write", "w", false, "write the files instead of printing them")
	return c
}

func (a *app) formatRhai(file string, write bool) error {
	s, text, err := a.parseRhai(file)
	if err != nil {
		return err
	}
	nice := syntax.Format(s.Tree())
	if line := firstLine(text); line != "" {
		nice = line + "\n" + nice
	}
	if !write {
		_, err := fmt.Fprint(a.std.Out, nice)
		return err
	}
	if c := plainComment(withoutShebang(text)); c != "" {
		return domain.Invalidf("%s: it has a comment (%.40q) that would be lost; nothing was written", file, c)
	}
	if err := whole.Write(file, []byte(nice), 0o666); err != nil {
		return fileError(err)
	}
	return nil
}

// firstLine is the line of a script that is for the operating system, without
// its end; "" where there is none.
func firstLine(text string) string {
	if !strings.HasPrefix(text, "#!") {
		return ""
	}
	return text[:strings.IndexByte(text+"\n", '\n')]
}

// rhaiProblem is what is wrong with the text of a script.
type rhaiProblem struct {
	file string
	err  *rhai.Error
}

func (p *rhaiProblem) Error() string {
	return p.file + placeOf(p.err.Position()) + ": " + p.err.Text()
}

// Unwrap gives the kind: whoever wrote the file made a mistake.
func (p *rhaiProblem) Unwrap() error { return domain.ErrInvalid }

// parseRhai parses the script of a file.
//
// Errors: *rhaiProblem; those of readInput.
func (a *app) parseRhai(file string) (s *rhai.Script, text string, err error) {
	b, err := a.readInput(file, maxRhaiScript)
	if err != nil {
		return nil, "", err
	}
	s, err = rhai.NewEngine().CompileNamed(file, withoutShebang(string(b)), nil)
	if e := (*rhai.Error)(nil); errors.As(err, &e) {
		return nil, "", &rhaiProblem{file, e}
	}
	return s, string(b), err
}

// plainComment is the first comment of a script that no tree holds, "" where
// there is none.
func plainComment(text string) string {
	for _, t := range syntax.Tokens(text) {
		if s := strings.TrimSpace(text[t.Start:t.End]); t.Kind == syntax.CommentToken && !isDocumentation(s) {
			return s
		}
	}
	return ""
}

// isDocumentation reports whether a comment belongs to a function or the file.
func isDocumentation(s string) bool {
	switch {
	case strings.HasPrefix(s, "////"), strings.HasPrefix(s, "/***"), s == "/**/":
		return false
	}
	return strings.HasPrefix(s, "///") || strings.HasPrefix(s, "//!") || strings.HasPrefix(s, "/**")
}
