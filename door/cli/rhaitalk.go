package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/lib"
	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file is the conversation of `ramet rhai` on a terminal.

// talk is a conversation: what has been said and what it left.
type talk struct {
	engine *rhai.Engine
	scope  *rhai.Scope
	// functions of earlier inputs, newest last.
	functions []*syntax.Func
	// run calls do with the terminal as scripts expect it and a context that
	// Ctrl-C ends.
	run func(do func(ctx context.Context))
	out io.Writer
}

const (
	prompt     = "rhai> "
	promptMore = "    | "
)

const talkHelp = `Type Rhai: what it gives is shown. Input goes on in the next line while it is not complete; an empty line ends it.
Variables and functions stay.

  :scope   show the variables and functions
  :help    show this
  :quit    leave; so does Ctrl-D

Tab completes names, the arrows bring back what was typed. Ctrl-C stops a script that runs.
`

// converse talks with the person at the terminal until they leave.
func (a *app) converse(ctx context.Context, f *rhaiFlags) error {
	fd, _ := terminal(a.std.In)
	root, err := os.OpenRoot(".")
	if err != nil {
		return fileError(err)
	}
	defer root.Close()
	cooked, err := term.MakeRaw(fd)
	if err != nil {
		return domain.Unavailablef("terminal: %v", err)
	}
	defer term.Restore(fd, cooked)

	t := &talk{engine: f.engine(a.std), scope: rhai.NewScope(), out: a.std.Out}
	t.engine.Resolver = &rhai.FileResolver{Root: root}
	t.run = func(do func(context.Context)) {
		term.Restore(fd, cooked)
		defer term.MakeRaw(fd)
		// The command's own context ends with the first Ctrl-C for ever.
		ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt)
		defer stop()
		if f.timeout > 0 {
			ctx, stop = context.WithTimeoutCause(ctx, f.timeout, errRhaiTimeout)
			defer stop()
		}
		do(ctx)
	}
	lines := t.terminal(struct {
		io.Reader
		io.Writer
	}{a.std.In, bare(a.std.Out)})
	lines.History = openHistory(historyFile())
	if width, height, err := term.GetSize(fd); err == nil && width > 0 {
		lines.SetSize(width, height)
	}
	told := make(chan os.Signal, 1) // in raw mode no key makes a signal
	signal.Notify(told, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(told)
	ended := make(chan error, 1)
	go func() { ended <- t.loop(lines) }() // reading cannot be interrupted; the process ends then
	select {
	case err := <-ended:
		return err
	case <-told:
		return &exitError{code: exitInterrupted}
	}
}

// terminal makes a line editor that completes names.
func (t *talk) terminal(rw io.ReadWriter) *term.Terminal {
	lines := term.NewTerminal(rw, prompt)
	lines.AutoCompleteCallback = func(line string, pos int, key rune) (string, int, bool) {
		if key != '\t' {
			return "", 0, false
		}
		return t.complete(line, pos)
	}
	return lines
}

// loop reads inputs and answers them until the person leaves.
func (t *talk) loop(lines *term.Terminal) error {
	input := ""
	for {
		lines.SetPrompt(prompt)
		if input != "" {
			lines.SetPrompt(promptMore)
		}
		line, err := lines.ReadLine()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, term.ErrPasteIndicator):
			return err
		}
		ended := input != "" && strings.TrimSpace(line) == ""
		if input += line + "\n"; strings.TrimSpace(input) == "" {
			input = ""
			continue
		}
		if !ended && !strings.HasPrefix(input, ":") && incomplete(t.engine, input) {
			continue
		}
		stop := false
		t.run(func(ctx context.Context) { stop = t.answer(ctx, input) })
		if stop {
			return nil
		}
		input = ""
	}
}

// incomplete reports whether the parser came to the end of the text and wanted more.
func incomplete(e *rhai.Engine, text string) bool {
	_, err := e.Compile(text)
	var failed *rhai.Error
	if !errors.As(err, &failed) || failed.Parse == nil {
		return false
	}
	pos := failed.Parse.Pos
	return int(pos.Line) > strings.Count(text, "\n") || failed.Parse.Kind == "BadInput/UnterminatedString" && opensLines(text, pos)
}

// opensLines reports whether the string that begins at pos may have several lines.
func opensLines(text string, pos rhai.Pos) bool {
	lines := strings.Split(text, "\n")
	if int(pos.Line) > len(lines) || pos.Line < 1 {
		return false
	}
	line := []rune(lines[pos.Line-1])
	at := int(pos.Col) - 1
	return at >= 0 && at < len(line) && (line[at] == '`' || line[at] == '#')
}

// answer runs one input and shows what it gives. It reports whether that was
// the wish to leave.
func (t *talk) answer(ctx context.Context, input string) (leave bool) {
	if command, ok := strings.CutPrefix(strings.TrimSpace(input), ":"); ok {
		switch command {
		case "quit", "q", "exit":
			return true
		case "scope":
			t.showScope()
		case "help", "h", "?":
			io.WriteString(t.out, talkHelp)
		default:
			fmt.Fprintf(t.out, "no such command; :help shows all\n")
		}
		return false
	}
	v, err := t.eval(ctx, input)
	var failed *rhai.Error
	switch {
	case errors.As(err, &failed) && failed.Innermost().Kind == value.ErrorTerminated && ctx.Err() != nil:
		fmt.Fprintf(t.out, "stopped: %v\n", context.Cause(ctx))
	case errors.As(err, &failed):
		io.WriteString(t.out, rhai.Explain(failed, input))
	case !v.IsUnit():
		fmt.Fprintf(t.out, "=> %s\n", v.Debug())
	}
	return false
}

// eval runs an input with the functions of earlier ones behind it, so that the
// places of errors are those of the input.
func (t *talk) eval(ctx context.Context, input string) (rhai.Value, error) {
	// An input that is wrong must not be right by what stands behind it.
	own, err := t.engine.CompileNamed("", input, t.scope)
	if err != nil {
		return rhai.Value{}, err
	}
	kept := slices.DeleteFunc(slices.Clone(t.functions), func(f *syntax.Func) bool {
		return slices.ContainsFunc(own.Functions(), func(g *syntax.Func) bool { return sameFunction(f, g) })
	})
	s, err := t.engine.CompileNamed("", input+"\n;\n"+syntax.Format(&syntax.Program{Funcs: kept}), t.scope)
	if err != nil {
		return rhai.Value{}, err
	}
	t.functions = append(kept, own.Functions()...)
	return s.Run(ctx, t.scope)
}

func sameFunction(f, g *syntax.Func) bool {
	return f.Name == g.Name && len(f.Params) == len(g.Params) && f.ThisType == g.ThisType
}

func (t *talk) showScope() {
	shown := map[string]bool{}
	for i := t.scope.Len() - 1; i >= 0; i-- {
		name, v, isConst := t.scope.At(i)
		if shown[name] {
			continue
		}
		shown[name] = true
		word := "let"
		if isConst {
			word = "const"
		}
		fmt.Fprintf(t.out, "%s %s = %.200s\n", word, name, v.Debug())
	}
	for _, f := range t.functions {
		params := make([]string, len(f.Params))
		for i, p := range f.Params {
			params[i] = p.Name
		}
		fmt.Fprintf(t.out, "fn %s(%s)\n", f.Name, strings.Join(params, ", "))
	}
}

// complete finishes the name before pos as far as it is certain.
func (t *talk) complete(line string, pos int) (string, int, bool) {
	start := pos
	for start > 0 && isNameByte(line[start-1]) {
		start--
	}
	word := line[start:pos]
	if word == "" {
		return line, pos, true
	}
	var fits []string
	for _, name := range t.names() {
		if strings.HasPrefix(name, word) {
			fits = append(fits, name)
		}
	}
	if len(fits) == 0 {
		return line, pos, true
	}
	common := fits[0]
	for _, name := range fits[1:] {
		for !strings.HasPrefix(name, common) {
			common = common[:len(common)-1]
		}
	}
	return line[:start] + common + line[pos:], start + len(common), true
}

// names are those that may be completed, sorted.
func (t *talk) names() []string {
	list := strings.Fields("break catch const continue else export false for import loop private return switch throw true until while")
	for _, f := range lib.Standard() {
		list = append(list, f.Name)
	}
	for i := range t.scope.Len() {
		name, _, _ := t.scope.At(i)
		list = append(list, name)
	}
	for _, f := range t.functions {
		list = append(list, f.Name)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func isNameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// historyFile is where inputs are kept, "" for nowhere.
func historyFile() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "ramet", "rhai_history")
}
