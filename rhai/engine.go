package rhai

import (
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/ramet-run/ramet/rhai/lib"
	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// Engine holds what scripts run with: functions, limits, hooks. Set it up
// first; from the first Compile on it must not be changed, and may then be used by many
// goroutines at once.
type Engine struct {
	// MaxOperations bounds the work of a run. One operation is about one
	// expression. Zero: no bound.
	MaxOperations int64
	// MaxCallLevels bounds nested calls of script functions. Default: 64.
	MaxCallLevels int
	// MaxVariables bounds the variables alive in one scope, MaxModules the
	// modules one run may import. Zero: no bound; MaxModules below zero: none.
	MaxVariables, MaxModules int
	// MaxMemory bounds the bytes that the values of a run may hold together
	// with its code, measured from time to time. Zero: no bound.
	MaxMemory int64
	// Sizes bound single strings, arrays and maps. Zero: no bound.
	Sizes value.Limits
	// Syntax bounds and shapes the language.
	Syntax syntax.Options
	// Deterministic takes away clock and chance: the same script gives the
	// same answer at any time on any machine.
	Deterministic bool
	// FailOnMissingProperty makes reading a key that a map does not have an error.
	FailOnMissingProperty bool
	// SlowOperators lets registered functions replace operators of standard types.
	SlowOperators bool

	// Resolver finds modules for import. Nil: none can be imported.
	Resolver Resolver
	// OnPrint takes lines of print. Default: standard output.
	OnPrint func(text string)
	// OnDebug takes lines of debug. Default: standard output, with the place before it.
	OnDebug func(text, source string, pos Pos)
	// OnProgress is called with the count of operations, and may end the run.
	OnProgress func(operations int64) (token Value, stop bool)
	// OnVar may give a value for a name before variables are looked at; None: go on.
	OnVar func(name string) Value
	// OnDefVar is asked before a variable is declared. An error forbids it.
	OnDefVar func(name string, isConst bool) error
	// Clock and Pause replace time.Now and waiting in tests.
	Clock func() time.Time
	Pause func(d time.Duration)

	natives map[fnKey]*overloads
	modules map[string]*Module // static: used as name::f without import
	customs map[string]*customSyntax
	global  []*Module
	types   value.Types
	plain   map[reflect.Type]bool // types that registered functions convert as they are, or by types
}

// fnKey names functions of one arity.
type fnKey struct {
	name  string
	arity int
}

// overloads are the native functions of one name and arity.
type overloads struct {
	fns []*value.Native
}

// standard is the library, indexed once for all engines.
var standard = func() map[fnKey]*overloads {
	m := map[fnKey]*overloads{}
	for _, f := range lib.Standard() {
		addNative(m, f)
	}
	return m
}()

func addNative(m map[fnKey]*overloads, f *value.Native) {
	k := fnKey{f.Name, len(f.Params)}
	if o := m[k]; o != nil {
		m[k] = &overloads{append(slices.Clip(o.fns), f)}
	} else {
		m[k] = &overloads{[]*value.Native{f}}
	}
}

// NewEngine makes an engine with the whole standard library.
func NewEngine() *Engine { return &Engine{natives: maps.Clone(standard)} }

// NewBareEngine makes an engine without any function; operators work.
func NewBareEngine() *Engine { return &Engine{natives: map[fnKey]*overloads{}} }

// Register adds a native function. One of the same name and exactly the same
// parameters is replaced. It panics for one that cannot be called: without a
// name or Call, or with a parameter that takes nothing.
func (e *Engine) Register(f *value.Native) {
	if f.Name == "" || f.Call == nil || slices.Contains(f.Params, value.Param{}) {
		panic(fmt.Sprintf("BUG: register %q: a native function needs a name, a Call, and kinds or a type for each parameter", f.Name))
	}
	k := fnKey{f.Name, len(f.Params)}
	o := &overloads{}
	if old := e.natives[k]; old != nil {
		for _, g := range old.fns {
			if !slices.Equal(g.Params, f.Params) {
				o.fns = append(o.fns, g)
			}
		}
	}
	o.fns = append(o.fns, f)
	e.natives[k] = o
}

// Functions are the names of the functions that scripts can call, sorted: those of the
// language and those that were registered, but not those of modules.
func (e *Engine) Functions() []string {
	names := map[string]bool{}
	for _, name := range languageNames {
		names[name] = true
	}
	for k := range e.natives {
		if callable(k.name) == nil && !strings.ContainsFunc(k.name, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			names[k.name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// RegisterModule makes m usable as name::f and name::X without import.
func (e *Engine) RegisterModule(name string, m *Module) {
	if e.modules == nil {
		e.modules = map[string]*Module{}
	}
	e.modules[name] = m
}

// RegisterGlobal makes the functions of m callable without its name.
func (e *Engine) RegisterGlobal(m *Module) { e.global = append(e.global, m) }

// find picks the overload for arguments: exact types first, then those that
// take any type, the later parameters given up first as the reference does.
func (o *overloads) find(this *Value, args []Value, n int) *value.Native {
	var best *value.Native
	bestMask := -1
	for _, f := range o.fns {
		mask, fits := 0, true
		for i := range n {
			v := args
			var a Value
			if i == 0 && this != nil {
				a = *this
			} else if this != nil {
				a = v[i-1]
			} else {
				a = v[i]
			}
			p := f.Params[i]
			if !p.Accepts(a) {
				fits = false
				break
			}
			if p.Kinds == value.AnyKind {
				mask |= 1 << (n - 1 - i)
			}
		}
		// Later registrations win among equals.
		if fits && (best == nil || mask <= bestMask) {
			best, bestMask = f, mask
		}
	}
	return best
}

// parseOptions are the options of the parser for a script that sees scope.
func (e *Engine) parseOptions(scope *Scope) *syntax.Options {
	o := e.Syntax
	o.MaxSize = e.MaxMemory
	o.MaxString, o.MaxArray, o.MaxMap = e.Sizes.MaxString, e.Sizes.MaxArray, e.Sizes.MaxMap
	if o.Vars == nil && scope != nil && len(scope.vars) > 0 {
		o.Vars = make(map[string]bool, len(scope.vars))
		for _, v := range scope.vars {
			o.Vars[v.name] = v.readonly
		}
	}
	if len(e.modules) > 0 {
		o.Modules = map[string]bool{}
		for name := range e.modules {
			o.Modules[name] = true
		}
	}
	if len(e.customs) > 0 {
		o.Syntaxes = map[string]*syntax.Syntax{}
		for key, c := range e.customs {
			o.Syntaxes[key] = c.parse
		}
	}
	return &o
}

// sized says that sizes or memory are bounded.
func (e *Engine) sized() bool { return e.Sizes != value.Limits{} || e.MaxMemory > 0 }

func (e *Engine) maxCalls() int {
	if e.MaxCallLevels == 0 {
		return 64
	}
	return e.MaxCallLevels
}

func (e *Engine) print(text string) {
	if e.OnPrint != nil {
		e.OnPrint(text)
		return
	}
	io.WriteString(os.Stdout, text+"\n")
}

func (e *Engine) debug(text, source string, pos Pos) {
	switch {
	case e.OnDebug != nil:
		e.OnDebug(text, source, pos)
	case source != "":
		fmt.Printf("%s @ %d:%d | %s\n", source, pos.Line, pos.Col, text)
	default:
		fmt.Printf("%d:%d | %s\n", pos.Line, pos.Col, text)
	}
}
