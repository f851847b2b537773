package syntax_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/rhai/syntax"
)

// conformanceCase is what the parser must know of a case of the corpus.
type conformanceCase struct {
	ID         string
	Src        string
	Mode       string
	Opts       caseOptions
	Scope      map[string]any
	ConstScope map[string]any `json:"const_scope"`

	answer
	NoOptimizer *answer `json:"alt_no_optimizer"`
	NoMetadata  *answer `json:"alt_no_metadata"`
}

type answer struct {
	ParseError string `json:"parse_error"`
	Message    string
	Pos        string
}

type caseOptions struct {
	MaxFunctions    *int           `json:"max_functions"`
	MaxExprDepth    *int           `json:"max_expr_depth"`
	MaxFnExprDepth  *int           `json:"max_fn_expr_depth"`
	MaxString       int            `json:"max_string_size"`
	MaxArray        int            `json:"max_array_size"`
	MaxMap          int            `json:"max_map_size"`
	Strict          bool           `json:"strict_variables"`
	IfExpr          *bool          `json:"allow_if_expression"`
	SwitchExpr      *bool          `json:"allow_switch_expression"`
	LoopExpr        *bool          `json:"allow_loop_expressions"`
	StmtExpr        *bool          `json:"allow_statement_expression"`
	AnonFn          *bool          `json:"allow_anonymous_fn"`
	Looping         *bool          `json:"allow_looping"`
	Shadowing       *bool          `json:"allow_shadowing"`
	DisableSymbols  []string       `json:"disable_symbols"`
	CustomOperators map[string]int `json:"custom_operators"`
}

func (c *conformanceCase) options() *syntax.Options {
	off := func(b *bool) bool { return b != nil && !*b }
	level := func(n *int) int {
		switch {
		case n == nil:
			return 0
		case *n == 0:
			return -1
		}
		return *n
	}
	o := c.Opts
	opts := &syntax.Options{
		ExprOnly:     c.Mode == "expr" || c.Mode == "compile_expr",
		MaxExprDepth: level(o.MaxExprDepth), MaxFnExprDepth: level(o.MaxFnExprDepth),
		MaxFunctions: level(o.MaxFunctions), MaxString: o.MaxString, MaxArray: o.MaxArray, MaxMap: o.MaxMap,
		Strict: o.Strict, NoIfExpr: off(o.IfExpr), NoSwitchExpr: off(o.SwitchExpr),
		NoLoopExpr: off(o.LoopExpr), NoStmtExpr: off(o.StmtExpr), NoAnonFn: off(o.AnonFn),
		NoLooping: off(o.Looping), NoShadowing: off(o.Shadowing),
		Vars: map[string]bool{}, Disabled: map[string]bool{}, Operators: o.CustomOperators,
	}
	for name := range c.Scope {
		opts.Vars[name] = false
	}
	for name := range c.ConstScope {
		opts.Vars[name] = true
	}
	for _, s := range o.DisableSymbols {
		opts.Disabled[s] = true
	}
	return opts
}

// parse gives the parser's answer in the words of the corpus.
func (c *conformanceCase) parse() answer {
	var err error
	switch c.Mode {
	case "parse_json", "parse_json_nonull":
		_, err = syntax.ParseJSON(c.Src, c.Mode == "parse_json", c.options())
	default:
		_, err = syntax.Parse(c.Src, "", c.options())
	}
	var e *syntax.Error
	if !errors.As(err, &e) {
		return answer{}
	}
	pos := ""
	if !e.Pos.IsZero() {
		pos = fmt.Sprintf("%d:%d", e.Pos.Line, e.Pos.Col)
	}
	return answer{e.Kind, e.Error(), pos}
}

// cases reads the corpus.
func cases(tb testing.TB) []*conformanceCase {
	tb.Helper()
	f, err := os.Open("../testdata/cases.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var all []*conformanceCase
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		c := &conformanceCase{}
		if err := json.Unmarshal(lines.Bytes(), c); err != nil {
			tb.Fatal(err)
		}
		all = append(all, c)
	}
	if err := lines.Err(); err != nil {
		tb.Fatal(err)
	}
	return all
}

// accepts tells whether got is one of the right answers. Cases that fail only
// when they run must parse.
func (c *conformanceCase) accepts(got answer) bool {
	if c.atRunTime() {
		return got == answer{}
	}
	for _, want := range []*answer{&c.answer, c.NoOptimizer, c.NoMetadata} {
		if want == nil {
			continue
		}
		if want.ParseError == "" && got.ParseError == "" || *want == got {
			return true
		}
	}
	return false
}

// atRunTime tells that a parse error comes from what the script does: from
// eval, from a module, or from Fn("+").
func (c *conformanceCase) atRunTime() bool {
	return strings.Contains(c.Message, "\nin ") || c.ID == "x_closure/60"
}

func TestCorpusParsesAsInTheReference(t *testing.T) {
	for _, c := range cases(t) {
		if got := c.parse(); !c.accepts(got) {
			t.Errorf("%s: %s\n got %+v\nwant %+v", c.ID, c.Src, got, c.answer)
		}
	}
}
