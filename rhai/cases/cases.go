// Package cases runs conformance cases: one JSON object a line with a script
// and its settings, answered by one line with what the script gave. The format
// is that of testdata/cases.jsonl, so that another implementation of Rhai can be asked the
// same questions; cmd "ramet rhai --jsonl" speaks it.
package cases

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// Case is one question.
type Case struct {
	ID         string            `json:"id"`
	Src        string            `json:"src"`
	Mode       string            `json:"mode"`
	Opts       Opts              `json:"opts"`
	Modules    map[string]string `json:"modules"`
	Scope      json.RawMessage   `json:"scope"`
	ConstScope json.RawMessage   `json:"const_scope"`
	DumpScope  bool              `json:"dump_scope"`
}

// Opts are settings of the engine, named as the reference names them.
type Opts struct {
	MaxOperations         int64          `json:"max_operations"`
	MaxCallLevels         *int           `json:"max_call_levels"`
	MaxVariables          *int           `json:"max_variables"`
	MaxFunctions          *int           `json:"max_functions"`
	MaxModules            *int           `json:"max_modules"`
	MaxExprDepth          *int           `json:"max_expr_depth"`
	MaxFnExprDepth        *int           `json:"max_fn_expr_depth"`
	MaxStringSize         int            `json:"max_string_size"`
	MaxArraySize          int            `json:"max_array_size"`
	MaxMapSize            int            `json:"max_map_size"`
	Strict                bool           `json:"strict_variables"`
	AllowIfExpression     *bool          `json:"allow_if_expression"`
	AllowSwitchExpression *bool          `json:"allow_switch_expression"`
	AllowLoopExpressions  *bool          `json:"allow_loop_expressions"`
	AllowStatementExpr    *bool          `json:"allow_statement_expression"`
	AllowAnonymousFn      *bool          `json:"allow_anonymous_fn"`
	AllowLooping          *bool          `json:"allow_looping"`
	AllowShadowing        *bool          `json:"allow_shadowing"`
	FailOnInvalidProperty bool           `json:"fail_on_invalid_map_property"`
	FastOperators         *bool          `json:"fast_operators"`
	DisableSymbols        []string       `json:"disable_symbols"`
	CustomOperators       map[string]int `json:"custom_operators"`
	Optimize              any            `json:"optimize"` // taken and ignored: there is no optimizer
}

// Value is a result: its type and the host's debug rendering.
type Value struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

// DebugLine is a line of debug and the place it was written at.
type DebugLine struct {
	Pos  string `json:"pos"`
	Text string `json:"text"`
}

// Answer is what a case gave: Expect or an error.
type Answer struct {
	ID         string           `json:"id"`
	Print      []string         `json:"print,omitempty"`
	Debug      []DebugLine      `json:"debug,omitempty"`
	Expect     *Value           `json:"expect,omitempty"`
	ScopeAfter map[string]Value `json:"scope_after,omitempty"`
	Error      string           `json:"error,omitempty"`
	ParseError string           `json:"parse_error,omitempty"`
	Message    string           `json:"message,omitempty"`
	Pos        string           `json:"pos,omitempty"`
}

// Serve answers cases from in on out, one line each, in order. A line that is
// no case gets an answer with the error ErrorSystem.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var c Case
		a := Answer{Error: value.ErrorSystem.String()}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			a.Message = "this line is no case: " + err.Error()
		} else {
			a = Run(ctx, c)
		}
		if err := enc.Encode(a); err != nil {
			return err
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return lines.Err()
}

// maxLine bounds one case.
const maxLine = 64 << 20 // bytes

// MaxTime bounds one case, which may loop for ever.
const MaxTime = 30 * time.Second

// Run answers one case on a fresh engine.
func Run(ctx context.Context, c Case) (a Answer) {
	a.ID = c.ID
	ctx, stop := context.WithTimeout(ctx, MaxTime)
	defer stop()
	e := c.engine()
	e.OnPrint = func(s string) { a.Print = append(a.Print, tidy(s)) }
	e.OnDebug = func(s, _ string, p syntax.Pos) {
		a.Debug = append(a.Debug, DebugLine{position(p), tidy(s)})
	}
	scope := rhai.NewScope()
	if err := push(c.Scope, scope.Set); err != nil {
		a.Error, a.Message = value.ErrorSystem.String(), err.Error()
		return a
	}
	if err := push(c.ConstScope, scope.SetConst); err != nil {
		a.Error, a.Message = value.ErrorSystem.String(), err.Error()
		return a
	}
	v, err := c.run(ctx, e, scope)
	var failed *rhai.Error
	switch {
	case errors.As(err, &failed):
		in := failed.Innermost()
		a.Error, a.Message = in.Kind.String(), tidy(failed.Error())
		pos := in.Pos
		if in.Kind == value.ErrorParsing && in.Parse != nil {
			a.ParseError = in.Parse.Kind
			pos = in.Parse.Pos
		}
		a.Pos = position(pos)
	case err != nil:
		a.Error, a.Message = value.ErrorSystem.String(), err.Error()
	default:
		a.Expect = &Value{v.TypeName(), tidy(v.HostDebug())}
	}
	if c.DumpScope {
		a.ScopeAfter = map[string]Value{}
		for i := range scope.Len() {
			name, v, readonly := scope.At(i)
			if readonly {
				name = "const " + name
			}
			a.ScopeAfter[name] = Value{v.TypeName(), tidy(v.HostDebug())}
		}
	}
	return a
}

func (c *Case) run(ctx context.Context, e *rhai.Engine, scope *rhai.Scope) (rhai.Value, error) {
	switch c.Mode {
	case "":
		return e.EvalWith(ctx, c.Src, scope)
	case "expr":
		return e.EvalExpression(ctx, c.Src, scope)
	case "compile":
		_, err := e.CompileNamed("", c.Src, scope)
		return value.Unit, err
	case "compile_expr":
		_, err := e.CompileExpression(c.Src, scope)
		return value.Unit, err
	case "parse_json":
		return e.ParseJSON(c.Src, true)
	case "parse_json_nonull":
		return e.ParseJSON(c.Src, false)
	}
	return value.Unit, fmt.Errorf("unknown mode %q", c.Mode)
}

func (c *Case) engine() *rhai.Engine {
	e, o := rhai.NewEngine(), c.Opts
	limit := func(p *int) int {
		if p == nil {
			return 0
		}
		return *p
	}
	depth := func(p *int) int {
		switch {
		case p == nil:
			return 0
		case *p == 0:
			return -1
		}
		return *p
	}
	e.MaxOperations, e.MaxVariables, e.MaxModules = o.MaxOperations, limit(o.MaxVariables), limit(o.MaxModules)
	if o.MaxCallLevels != nil {
		if e.MaxCallLevels = *o.MaxCallLevels; e.MaxCallLevels == 0 {
			e.MaxCallLevels = -1
		}
	}
	if o.MaxModules != nil && *o.MaxModules == 0 {
		e.MaxModules = -1
	}
	e.Sizes = value.Limits{MaxString: o.MaxStringSize, MaxArray: o.MaxArraySize, MaxMap: o.MaxMapSize}
	e.FailOnMissingProperty = o.FailOnInvalidProperty
	e.SlowOperators = o.FastOperators != nil && !*o.FastOperators
	off := func(p *bool) bool { return p != nil && !*p }
	s := &e.Syntax
	s.MaxExprDepth, s.MaxFnExprDepth, s.MaxFunctions = depth(o.MaxExprDepth), depth(o.MaxFnExprDepth), depth(o.MaxFunctions)
	s.Strict = o.Strict
	s.NoIfExpr, s.NoSwitchExpr, s.NoLoopExpr = off(o.AllowIfExpression), off(o.AllowSwitchExpression), off(o.AllowLoopExpressions)
	s.NoStmtExpr, s.NoAnonFn, s.NoLooping, s.NoShadowing = off(o.AllowStatementExpr), off(o.AllowAnonymousFn), off(o.AllowLooping), off(o.AllowShadowing)
	if len(o.DisableSymbols) > 0 {
		s.Disabled = map[string]bool{}
		for _, name := range o.DisableSymbols {
			s.Disabled[name] = true
		}
	}
	s.Operators = o.CustomOperators
	if c.Modules != nil {
		e.Resolver = rhai.MemoryResolver(c.Modules)
	}
	return e
}

// push puts the values of a JSON object into a scope, in the order of names.
func push(text json.RawMessage, set func(string, rhai.Value) *rhai.Scope) error {
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var m map[string]any
	if err := dec.Decode(&m); err != nil {
		return fmt.Errorf("read scope: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		set(name, fromJSON(m[name]))
	}
	return nil
}

func fromJSON(x any) rhai.Value {
	switch x := x.(type) {
	case bool:
		return value.Bool(x)
	case string:
		return value.Str(x)
	case json.Number:
		if i, err := x.Int64(); err == nil {
			return value.Int(i)
		}
		f, err := x.Float64()
		if err != nil {
			f = math.NaN()
		}
		return value.Float(f)
	case []any:
		items := make([]rhai.Value, len(x))
		for i, v := range x {
			items[i] = fromJSON(v)
		}
		return value.NewArray(items)
	case map[string]any:
		m := value.NewMap(len(x))
		for k, v := range x {
			m.AsMap().Set(k, fromJSON(v))
		}
		return m
	}
	return value.Unit
}

func position(p syntax.Pos) string {
	if p.IsZero() {
		return ""
	}
	return fmt.Sprintf("%d:%d", p.Line, p.Col)
}

var closureName = regexp.MustCompile(`anon\$[0-9a-f]+`)

// tidy takes out what differs between implementations by nature.
func tidy(s string) string {
	if strings.Contains(s, "anon$") {
		s = closureName.ReplaceAllString(s, "anon$$*")
	}
	return s
}
