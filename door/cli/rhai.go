package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/cases"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file runs Rhai scripts here and now: no node, no job, no data folder.

// rhaiFlags are those of `ramet rhai`.
type rhaiFlags struct {
	maxOperations int64
	maxMemory     byteCount
	maxCalls      int
	timeout       time.Duration
	expr          string
	jsonl         bool
	bench         bool
	rounds        int
}

func (a *app) rhaiCommand() *cobra.Command {
	f := rhaiFlags{}
	c := &cobra.Command{
		Use:   "rhai [FILE [ARG...]]",
		Short: "Run a Rhai script here, without a node; without a file, talk to the interpreter",
		Long: `Run a Rhai script in this process and print its value, unless that is (). Imports are files below the
script's folder; the arguments are the constant ARGS, an array of strings.

Without FILE, or with -, the script is read from standard input; on a terminal that is a conversation, with history,
completion by Tab and the commands :help, :scope and :quit.

Exit codes: 0 it ended, 1 it failed, 2 it is no script, 4 there is no such file, 6 it overstepped a limit, 130 interrupted.`,
		Example:     "  ramet rhai examples/hello.rhai\n  ramet rhai -e '(1..=10).len()'\n  ramet rhai --timeout 1s --max-memory 64M suspicious.rhai",
		Annotations: map[string]string{takesArgs: "yes"},
		RunE: func(c *cobra.Command, args []string) error {
			if os.Getenv("GOGC") == "" && f.maxMemory == 0 {
				// A script is short and makes much that dies soon: with Go's
				// default a heap of a few MB is collected all the time.
				debug.SetGCPercent(scriptGCPercent)
			}
			if f.maxMemory > 0 && os.Getenv("GOMEMLIMIT") == "" {
				// Garbage is collected before it counts beside what the script may hold.
				debug.SetMemoryLimit(scriptMemory + 2*int64(f.maxMemory))
			}
			switch {
			case f.jsonl:
				return cases.Serve(c.Context(), a.std.In, bare(a.std.Out))
			case f.bench:
				return a.rhaiBench(c.Context(), args, f.rounds)
			}
			return a.rhai(c.Context(), args, &f)
		},
	}
	c.Flags().SetInterspersed(false) // flags behind FILE are the script's
	c.Flags().StringVarP(&f.expr, "eval", "e", "", "run this `script` instead of a file")
	c.Flags().Int64Var(&f.maxOperations, "max-operations", 0, "stop the script after so many `operations` (default: no limit)")
	c.Flags().Var(&f.maxMemory, "max-memory", "stop the script when its values hold more `bytes`: 64M, 1G (default: no limit)")
	c.Flags().IntVar(&f.maxCalls, "max-calls", 0, "how `deep` functions may call each other (default: 64)")
	c.Flags().DurationVar(&f.timeout, "timeout", 0, "stop the script after this `time` (default: no limit)")
	c.Flags().BoolVar(&f.jsonl, "jsonl", false, "answer conformance cases: one JSON object a line, from standard input to standard output")
	c.Flags().BoolVar(&f.bench, "bench", false, "measure the processor time of compiling and running each FILE, as JSON lines")
	c.Flags().IntVar(&f.rounds, "rounds", 5, "how `often` --bench does each; the least counts")
	c.AddCommand(a.rhaiCheckCommand(), a.rhaiFormatCommand())
	return c
}

// rhai runs what the command line names.
// scriptGCPercent lets the heap of a process that runs one script grow to five
// times what is alive before it is collected.
const scriptGCPercent = 400

// scriptMemory is what the process takes beside its script, and more: a garbage
// collector that must work without end is worse than some megabytes.
const scriptMemory = 16 << 20 // bytes

func (a *app) rhai(ctx context.Context, args []string, f *rhaiFlags) error {
	if f.timeout < 0 || f.maxOperations < 0 || f.maxCalls < 0 {
		return domain.Invalidf("--timeout, --max-operations, --max-calls: want 0 (no limit) or more")
	}
	file := "-"
	if f.expr == "" && len(args) > 0 {
		file, args = args[0], args[1:]
	}
	if _, isTerminal := terminal(a.std.In); isTerminal && file == "-" && f.expr == "" {
		return a.converse(ctx, f)
	}
	src, done, err := a.rhaiSource(file, f.expr)
	if err != nil {
		return err
	}
	defer done()
	e := f.engine(a.std)
	if src.Resolver != nil {
		e.Resolver = src
	}
	list := make([]rhai.Value, len(args))
	for i, s := range args {
		list[i] = value.Str(s)
	}
	scope := rhai.NewScope().SetConst("ARGS", value.NewArray(list))
	if f.timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, f.timeout, errRhaiTimeout)
		defer stop()
	}
	v, err := e.EvalWith(ctx, src.text, scope)
	if err != nil {
		return a.rhaiFailed(ctx, src, err, f.timeout)
	}
	return a.printValue(v, int(f.maxMemory))
}

// rhaiSource reads the script of a file, "-" being standard input, unless it
// is given as text. Its imports are files of its folder; done closes that.
func (a *app) rhaiSource(file, text string) (src *rhaiSource, done func(), err error) {
	if text != "" {
		return &rhaiSource{label: "eval", text: text}, func() {}, nil
	}
	b, err := a.readInput(file, maxRhaiScript)
	if err != nil {
		return nil, nil, err
	}
	src = &rhaiSource{label: file, dir: filepath.Dir(file), text: withoutShebang(string(b)), modules: map[string]rhai.Source{}}
	if file == "-" {
		src.label = "stdin"
	}
	root, err := os.OpenRoot(src.dir)
	if err != nil {
		return nil, nil, fileError(err)
	}
	src.Resolver = &rhai.FileResolver{Root: root}
	return src, func() { root.Close() }, nil
}

// maxRhaiScript bounds a script that is read.
const maxRhaiScript = 16 << 20 // bytes

// withoutShebang blanks a first line for the operating system; places stay.
func withoutShebang(text string) string {
	if line := firstLine(text); line != "" {
		return text[len(line):]
	}
	return text
}

// engine is one with the limits of the flags, that prints to std.
func (f *rhaiFlags) engine(std Streams) *rhai.Engine {
	e := rhai.NewEngine()
	e.MaxOperations, e.MaxMemory, e.MaxCallLevels = f.maxOperations, int64(f.maxMemory), f.maxCalls
	e.OnPrint = func(text string) { writeLine(std.Out, "", text) }
	e.OnDebug = func(text, source string, pos rhai.Pos) {
		writeLine(std.Err, cmp.Or(source, "script")+placeOf(pos)+": ", text)
	}
	return e
}

// printValue writes the value of a script, () not at all. Its text may take as
// much memory as the script might, 0 for as much as it needs.
//
// Errors: [domain.ErrLimit].
func (a *app) printValue(v rhai.Value, most int) error {
	if v.IsUnit() {
		return nil
	}
	text, ok := value.RenderDisplay(v, func(_, room int) bool { return most == 0 || room <= most })
	if !ok {
		return fmt.Errorf("the text of the script's value takes more than %d bytes: raise --max-memory, or print less: %w", most, domain.ErrLimit)
	}
	return writeLine(a.std.Out, "", text)
}

// shortLine is a line that is written at once, so that others cannot come between.
const shortLine = 64 << 10 // bytes

// writeLine writes a line. A long one is not copied for that.
func writeLine(w io.Writer, head, text string) error {
	parts := []string{head + text + "\n"}
	if len(text) > shortLine {
		parts = []string{head, text, "\n"}
	}
	for _, part := range parts {
		if _, err := io.WriteString(w, part); err != nil {
			return err
		}
	}
	return nil
}

// byteCount is a flag: a number of bytes, with K, M or G behind it.
type byteCount int64

var units = map[string]int64{"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

func (b *byteCount) String() string { return strconv.FormatInt(int64(*b), 10) }
func (b *byteCount) Type() string   { return "bytes" }

func (b *byteCount) Set(s string) error {
	digits := strings.TrimRight(strings.ToUpper(s), "KMG")
	unit, known := units[strings.ToUpper(s)[len(digits):]]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !known || n < 0 || n > math.MaxInt64/unit {
		return errors.New("want a number of bytes, such as 64M or 1G")
	}
	*b = byteCount(n * unit)
	return nil
}

var errRhaiTimeout = errors.New("time limit reached")
