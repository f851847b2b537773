package migrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/internal/pattern"
)

// This file reads conditions as GitHub Actions writes them, and writes them in Rhai, for
// `when`, and for a shell.
//
// Source: docs.github.com, "Evaluate expressions in workflows and actions".

// expr is a condition: a text, a name, a call, or an operator with its operands.
type expr struct {
	op   string // "text", "name", "call", "!", "==", "!=", "&&", "||"
	text string // of a text, a name, or the function that is called
	args []*expr
}

var exprToken = pattern.Late(`^\s*('(?:[^']|'')*'|==|!=|&&|\|\||[!(),]|[A-Za-z_][A-Za-z0-9_.-]*|-?[0-9]+(?:\.[0-9]+)?)`)

// maxExprDepth bounds how deep parentheses may be.
const maxExprDepth = 50

// parseExpr reads a condition.
func parseExpr(text string) (*expr, error) {
	p := &exprParser{}
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		m := exprToken().FindStringSubmatch(rest)
		if m == nil {
			return nil, fmt.Errorf("%.20q is not understood", rest)
		}
		p.tokens, rest = append(p.tokens, m[1]), strings.TrimSpace(rest)[len(m[1]):]
	}
	e, err := p.either("||", 0)
	if err == nil && p.at < len(p.tokens) {
		err = fmt.Errorf("%q is not understood", p.tokens[p.at])
	}
	return e, err
}

type exprParser struct {
	tokens []string
	at     int
}

func (p *exprParser) next(want string) bool {
	if p.at < len(p.tokens) && p.tokens[p.at] == want {
		p.at++
		return true
	}
	return false
}

// binds has of each operator the one that binds closer; "" is none.
var binds = map[string]string{"||": "&&", "&&": "==", "==": ""}

// either reads operands with an operator between them.
func (p *exprParser) either(op string, depth int) (*expr, error) {
	operand := func() (*expr, error) {
		if binds[op] == "" {
			return p.operand(depth)
		}
		return p.either(binds[op], depth)
	}
	left, err := operand()
	for err == nil {
		found := op
		if !p.next(op) {
			if found = "!="; op != "==" || !p.next("!=") {
				break
			}
		}
		var right *expr
		if right, err = operand(); err == nil {
			left = &expr{op: found, args: []*expr{left, right}}
		}
	}
	return left, err
}

func (p *exprParser) operand(depth int) (*expr, error) {
	if p.at == len(p.tokens) || depth > maxExprDepth {
		return nil, fmt.Errorf("it ends too early")
	}
	t := p.tokens[p.at]
	p.at++
	switch {
	case t == "!":
		e, err := p.operand(depth + 1)
		return &expr{op: "!", args: []*expr{e}}, err
	case t == "(":
		e, err := p.either("||", depth+1)
		if err == nil && !p.next(")") {
			err = fmt.Errorf("a parenthesis is missing")
		}
		return e, err
	case t[0] == '\'':
		return &expr{op: "text", text: strings.ReplaceAll(t[1:len(t)-1], "''", "'")}, nil
	case t[0] == '-' || t[0] >= '0' && t[0] <= '9' || t == "true" || t == "false":
		return &expr{op: "text", text: t}, nil
	case strings.ContainsAny(t[:1], ")=!&|,"):
		return nil, fmt.Errorf("%q is not understood", t)
	case p.next("("):
		call := &expr{op: "call", text: t}
		for !p.next(")") {
			if len(call.args) > 0 && !p.next(",") {
				return nil, fmt.Errorf("%s(…): a parenthesis is missing", t)
			}
			arg, err := p.either("||", depth+1)
			if err != nil {
				return nil, err
			}
			call.args = append(call.args, arg)
		}
		return call, nil
	}
	return &expr{op: "name", text: t}, nil
}

// calls reports whether a function is called somewhere in the condition.
func (e *expr) calls(name string) bool {
	if e.op == "call" && e.text == name {
		return true
	}
	for _, a := range e.args {
		if a.calls(name) {
			return true
		}
	}
	return false
}

// badState is a Rhai condition: something before ended badly.
const badState = `needs.values().some(|n| n.state == "failed" || n.state == "errored")`

// goodState is one: all before ended well.
const goodState = `needs.values().all(|n| n.state == "succeeded" || n.state == "failed_accepted")`

// loose reports whether a condition may hold though success() does not.
func (e *expr) loose() bool {
	return slices.ContainsFunc(e.args, func(a *expr) bool { return (e.op == "!" || e.op == "||") && a.calls("success") || a.loose() })
}

// plain is a condition of what is done only where all before ended well: there success() says nothing more.
func (e *expr) plain() {
	if e.op == "call" && e.text == "success" {
		e.text = "always"
	}
	for _, a := range e.args {
		a.plain()
	}
}

// exprWords are what functions of theirs are in Rhai.
var exprWords = map[string]string{"contains": "contains", "startsWith": "starts_with", "endsWith": "ends_with"}

// writer writes an expression in a language; value is a name there.
type writer func(e *expr, value func(name string) (string, error)) (string, error)

// operands writes what an expression is made of: what is joined as conditions, all else as texts.
func (e *expr) operands(condition, text writer, value func(name string) (string, error)) ([]string, error) {
	write := text
	if e.op == "&&" || e.op == "||" || e.op == "!" {
		write = condition
	}
	var args []string
	for _, a := range e.args {
		arg, err := write(a, value)
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
	}
	return args, nil
}

// rhai is the condition as Rhai has it; value is a name as a text there.
func (e *expr) rhai(value func(name string) (string, error)) (string, error) {
	if e.op == "==" || e.op == "!=" {
		if state, ok := e.state(value); ok {
			return state, nil
		}
	}
	args, err := e.operands((*expr).rhai, (*expr).rhaiText, value)
	if err != nil {
		return "", err
	}
	switch {
	case e.op == "!" && args[0] == "false":
		return "true", nil // !cancelled()
	case e.op == "!":
		return "!(" + args[0] + ")", nil
	case len(args) == 2 && e.op != "call":
		if e.op == "&&" && args[0] == "true" {
			return args[1], nil // always() && …
		}
		if e.op == "||" {
			return "(" + args[0] + " || " + args[1] + ")", nil
		}
		return args[0] + " " + e.op + " " + args[1], nil
	case e.op == "call" && e.text == "always" && len(args) == 0:
		return "true", nil
	case e.op == "call" && e.text == "cancelled" && len(args) == 0:
		return "false", nil // of a flow that is cancelled nothing more is done
	case e.op == "call" && e.text == "success" && len(args) == 0:
		return goodState, nil
	case e.op == "call" && e.text == "failure" && len(args) == 0:
		return badState, nil
	case e.op == "call" && exprWords[e.text] != "" && len(args) == 2:
		return args[0] + "." + exprWords[e.text] + "(" + args[1] + ")", nil
	case e.op == "text" && (e.text == "true" || e.text == "false"):
		return e.text, nil
	case e.op == "name": // what is a flag there
		text, err := value(e.text)
		return text + ` == "true"`, err
	}
	return "", fmt.Errorf("%s has no counterpart", e.what())
}

// rhaiText is an operand as a text.
func (e *expr) rhaiText(value func(name string) (string, error)) (string, error) {
	switch e.op {
	case "text":
		return quoteRhai(e.text), nil
	case "name":
		return value(e.text)
	}
	return "", fmt.Errorf("%s has no counterpart", e.what())
}

// resultStates are how a job ended, in our words.
var resultStates = map[string][]string{
	"success": {"succeeded"},
	"failure": {"failed", "errored"},
	"skipped": {"skipped", "skipped_by_failure", "skipped_by_error"},
}

// state is a comparison with how a job ended.
func (e *expr) state(value func(name string) (string, error)) (string, bool) {
	name, with := e.args[0], e.args[1]
	if with.op == "name" {
		name, with = with, name
	}
	words := strings.Split(name.text, ".")
	states := resultStates[with.text]
	if name.op != "name" || with.op != "text" || len(words) != 3 || words[0] != "needs" || words[2] != "result" || states == nil {
		return "", false
	}
	of, err := value(name.text)
	if err != nil {
		return "", false
	}
	var list []string
	for _, s := range states {
		list = append(list, of+" "+e.op+" "+quoteRhai(s))
	}
	return "(" + strings.Join(list, map[string]string{"==": " || ", "!=": " && "}[e.op]) + ")", true
}

// shell is the condition as a shell has it; value is a name as a word there, in quotes.
func (e *expr) shell(value func(name string) (string, error)) (string, error) {
	args, err := e.operands((*expr).shell, (*expr).shellText, value)
	if err != nil {
		return "", err
	}
	switch {
	case e.op == "!":
		return "! " + args[0], nil
	case e.op == "==" || e.op == "!=":
		return "[ " + args[0] + map[string]string{"==": " = ", "!=": " != "}[e.op] + args[1] + " ]", nil
	case e.op == "&&" || e.op == "||":
		return "{ " + args[0] + " " + e.op + " " + args[1] + "; }", nil
	case e.op == "call" && (e.text == "always" || e.text == "success") && len(args) == 0:
		return "true", nil
	case e.op == "text" && (e.text == "true" || e.text == "false"):
		return e.text, nil
	case e.op == "name":
		text, err := value(e.text)
		return "[ " + text + " = true ]", err
	}
	return "", fmt.Errorf("%s has no counterpart", e.what())
}

func (e *expr) shellText(value func(name string) (string, error)) (string, error) {
	switch e.op {
	case "text":
		return shellQuote(e.text), nil
	case "name":
		return value(e.text)
	}
	return "", fmt.Errorf("%s has no counterpart", e.what())
}

// what names a part of a condition.
func (e *expr) what() string {
	switch e.op {
	case "text", "name":
		return e.text
	case "call":
		return e.text + "()"
	}
	return e.op
}
