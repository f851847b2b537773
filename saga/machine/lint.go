package machine

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/lib"
	"github.com/ramet-run/ramet/rhai/syntax"
)

// This file finds in a program's text what would be an error when it runs: in
// what a function gives, faults; elsewhere, where a map may be for something
// else, warnings.

// linter looks at one text of a definition.
type linter struct {
	c    *compiler
	path string
	out  output
	own  map[string][]int // functions of the script, with their parameters
	data bool             // it reckons with data alone, which has no functions
}

// script looks at a whole script.
func (c *compiler) lintScript(p *syntax.Program) {
	l := linter{c: c, path: "script", out: output{m: c.m}, own: map[string][]int{}}
	for _, f := range p.Funcs {
		l.own[f.Name] = append(l.own[f.Name], len(f.Params))
	}
	for _, n := range p.Body {
		l.walk(n)
	}
	for _, f := range p.Funcs {
		l.walk(f.Body)
		switch {
		case len(f.Params) != 2:
		case f.Name == onEvent:
			l.results(f.Body, l.decision)
		case f.Name == compensate && c.m.def.Compensation != nil:
			l.out.undo = true
			l.results(f.Body, l.undone)
			l.out.undo = false
		}
	}
}

// lintNode looks at an expression of a graph.
func (c *compiler) lintNode(g graph, path, name string, body []syntax.Node) {
	l := linter{c: c, path: path, out: output{m: c.m, undo: g.name == compensate}}
	for _, n := range body {
		l.walk(n)
		switch {
		case !slices.Contains(g.keys, name):
		case l.out.undo:
			l.tails(n, func(n syntax.Node) { l.undoPart(name, n) })
		default:
			l.tails(n, func(n syntax.Node) { l.part(name, n) })
		}
	}
}

func (l *linter) fault(n syntax.Node, err error) {
	l.c.faults = append(l.c.faults, l.at(n.Start(), err))
}

func (l *linter) warn(n syntax.Node, err error) {
	l.c.m.warnings = append(l.c.m.warnings, l.at(n.Start(), err))
}

func (l *linter) at(p syntax.Pos, err error) domain.Fault {
	return domain.Fault{Path: l.path, Text: err.(*ProgramError).Text, Line: int(p.Line), Column: int(p.Col)}
}

// results goes through what a function may give.
func (l *linter) results(body *syntax.Block, visit func(syntax.Node)) {
	l.tails(body, visit)
	syntax.Walk(body, func(n syntax.Node) bool {
		if r, ok := n.(*syntax.Return); ok && r.Value != nil {
			l.tails(r.Value, visit)
		}
		_, closure := n.(*syntax.Closure)
		return !closure
	})
}

// tails goes through what an expression may come to.
func (l *linter) tails(n syntax.Node, visit func(syntax.Node)) {
	switch n := n.(type) {
	case nil:
	case *syntax.Block:
		if n != nil && len(n.Body) > 0 {
			l.tails(n.Body[len(n.Body)-1], visit)
		}
	case *syntax.If:
		l.tails(n.Then, visit)
		l.tails(n.Else, visit)
	case *syntax.Switch:
		for i := range n.Cases {
			l.tails(n.Cases[i].Body, visit)
		}
		l.tails(n.Default, visit)
	default:
		visit(n)
	}
}

// fields goes through the names and values of a map that is written out.
func (l *linter) fields(n syntax.Node, keys []string, visit func(key string, v syntax.Node)) {
	m, ok := n.(*syntax.MapLit)
	if !ok {
		return
	}
	for i, k := range m.Keys {
		if !slices.Contains(keys, k.Name) {
			l.c.faults = append(l.c.faults, l.at(k.Pos, failf("there is no such key as %s%s", domain.PlainText(k.Name, maxKey), nearest(k.Name, keys))))
			continue
		}
		l.tails(m.Values[i], func(v syntax.Node) { visit(k.Name, v) })
	}
}

// items goes through a list that is written out.
func items(n syntax.Node, visit func(syntax.Node)) {
	if list, ok := n.(*syntax.ArrayLit); ok {
		for _, item := range list.Items {
			visit(item)
		}
	}
}

func (l *linter) decision(n syntax.Node) { l.fields(n, decisionKeys, l.part) }
func (l *linter) undone(n syntax.Node)   { l.fields(n, undoKeys, l.undoPart) }

// part looks at one of the parts of what on_event gives.
func (l *linter) part(key string, n syntax.Node) {
	switch key {
	case "next":
		if s, ok := literal(n); ok && l.c.m.states[s] == nil {
			l.fault(n, failf("there is no state %q%s", s, l.c.m.meant(s)))
		}
	case "work":
		items(n, l.work)
	case "timers":
		items(n, func(n syntax.Node) {
			l.fields(n, timerKeys, func(key string, v syntax.Node) {
				if key == "event" {
					l.timer(v, l.fault)
				}
			})
		})
	case "cancel":
		items(n, func(n syntax.Node) { l.timer(n, l.fault) })
	}
}

func (l *linter) undoPart(key string, n syntax.Node) {
	if key == "effect" {
		l.effect(n, l.fault)
	}
}

// work looks at an item that is written out where items are.
func (l *linter) work(n syntax.Node) {
	m, ok := n.(*syntax.MapLit)
	if !ok {
		return
	}
	for _, kind := range itemKinds {
		if slices.ContainsFunc(m.Keys, func(k syntax.Ident) bool { return k.Name == kind.key }) {
			l.fields(n, kind.keys, func(key string, v syntax.Node) {
				s, written := literal(v)
				if kind.kind == domain.WorkCommand && key == "step" && written && !l.c.m.commands[s] {
					l.fault(v, failf("%q is none of the definition's commands%s", s, nearest(s, l.c.m.def.Commands)))
				}
				l.undoPart(key, v)
			})
			return
		}
	}
}

func (l *linter) effect(n syntax.Node, say func(syntax.Node, error)) {
	known, names := l.out.effects()
	if s, ok := literal(n); ok && !known[s] {
		say(n, failf("%q is none of the definition's effects%s", s, nearest(s, names)))
	}
}

func (l *linter) timer(n syntax.Node, say func(syntax.Node, error)) {
	if s, ok := literal(n); ok && !l.c.m.timers[s] {
		say(n, failf("%q is none of the definition's timers%s", s, nearest(s, l.c.m.def.Timers)))
	}
}

// literal is a text that is written out.
func literal(n syntax.Node) (string, bool) {
	if l, ok := n.(*syntax.Literal); ok && l.Kind == syntax.StringLit {
		return l.Str, true
	}
	return "", false
}

// walk looks at everything in a text.
func (l *linter) walk(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Call:
			l.call(n)
		case *syntax.Chain:
			for i := range n.Steps {
				if s := &n.Steps[i]; s.Kind == syntax.MethodStep {
					l.method(s)
				}
			}
		case *syntax.MapLit:
			l.lookalike(n)
		}
		return true
	})
}

// lookalike warns of a map that looks like an item of work or a timer, which
// may be put among those later.
func (l *linter) lookalike(n *syntax.MapLit) {
	has := func(key string) bool {
		return slices.ContainsFunc(n.Keys, func(k syntax.Ident) bool { return k.Name == key })
	}
	all := func(keys []string) bool {
		return !slices.ContainsFunc(n.Keys, func(k syntax.Ident) bool { return !slices.Contains(keys, k.Name) })
	}
	for i, k := range n.Keys {
		if k.Name == "step" && has("effect") {
			l.tails(n.Values[i], l.step)
		}
		switch {
		case k.Name == "effect" && all(itemKinds[0].keys):
			// It may be for a step, or to undo one.
			if s, _ := literal(n.Values[i]); !l.c.m.undo[s] {
				l.effect(n.Values[i], l.warn)
			}
		case k.Name == "event" && (has("after") || has("at_ms")) && all(timerKeys):
			l.timer(n.Values[i], l.warn)
		}
	}
}

// call looks whether there is such a function.
func (l *linter) call(n *syntax.Call) {
	if len(n.Path) > 0 || !syntax.ValidFunctionName(n.Name) || slices.Contains(l.own[n.Name], len(n.Args)) {
		return
	}
	known, volatile := native(n.Name, len(n.Args))
	switch {
	case volatile:
		l.fault(n, noClock(n.Name))
	case !known && (len(l.own[n.Name]) > 0 || nativeName(n.Name)):
		l.fault(n, failf("there is no function %s with %d parameters", n.Name, len(n.Args)))
	case !known:
		l.fault(n, failf("there is no function %s%s", n.Name, l.function(n.Name)))
	}
}

// function suggests one.
func (l *linter) function(name string) string {
	near := domain.Nearest(name, slices.Sorted(maps.Keys(l.own)))
	if near == "" {
		near = domain.Nearest(name, slices.DeleteFunc(slices.Sorted(maps.Keys(natives())), func(n string) bool { return !syntax.ValidFunctionName(n) }))
	}
	if near == "" {
		return ""
	}
	return "; did you mean " + near + "?"
}

// eventField looks whether an event may have what is asked of it.
func (l *linter) eventField(n syntax.Node) {
	c, ok := n.(*syntax.Chain)
	if !ok || len(c.Steps) == 0 || c.Steps[0].Kind != syntax.PropertyStep {
		return
	}
	root, ok := c.Root.(*syntax.Name)
	if name := c.Steps[0].Name; ok && root.Name == "event" && !slices.Contains(eventFields, name) {
		near := domain.Nearest(name, eventFields)
		if near == "" {
			near = "payload." + name
		}
		l.c.faults = append(l.c.faults, l.at(c.Steps[0].Pos, failf("an event has no %s; did you mean event.%s?", domain.PlainText(name, maxKey), near)))
	}
}

// step notes under which step an effect is asked for.
func (l *linter) step(n syntax.Node) {
	if s, ok := literal(n); ok {
		l.c.asked[s] = true
	} else {
		l.c.computed = true
	}
}

// steps looks whether the steps that can be undone are those that are asked for.
// One that only instances of older versions have is none of them, too: so what
// is not clearly misspelt is a warning.
func (c *compiler) steps() {
	k := c.m.def.Compensation
	if k == nil || c.m.program == nil || c.computed || len(c.asked) == 0 { // what asks may be in events
		return
	}
	var unlisted []string
	for s := range c.asked {
		if !c.m.steps[s] {
			unlisted = append(unlisted, s)
		}
	}
	slices.Sort(unlisted)
	for i, s := range k.Steps {
		path := fmt.Sprintf("compensation.steps[%d]", i)
		switch near := domain.Nearest(s, unlisted); {
		case c.asked[s]:
		case near != "":
			c.fault(path, fmt.Sprintf("the program asks for no step %q; did you mean %q?", domain.PlainText(s, domain.MaxNameBytes), near))
		default:
			c.m.warnings = append(c.m.warnings, domain.Fault{Path: path, Text: fmt.Sprintf("the program asks for no step %q: nothing of it can be undone",
				domain.PlainText(s, domain.MaxNameBytes))})
		}
	}
}

// method warns of a function that there is not: it may be a closure in a map. Data
// has none.
func (l *linter) method(s *syntax.Step) {
	if !syntax.ValidFunctionName(s.Name) || slices.Contains(l.own[s.Name], len(s.Args)) || slices.Contains(l.own[s.Name], len(s.Args)+1) {
		return
	}
	text := fmt.Sprintf("there is no function %s with %d parameters", s.Name, len(s.Args)+1)
	if !nativeName(s.Name) {
		text += l.function(s.Name)
	}
	err := error(failf("%s", text))
	switch known, volatile := native(s.Name, len(s.Args)+1); {
	case volatile:
		err = noClock(s.Name)
	case known:
		return
	}
	if l.data {
		l.c.faults = append(l.c.faults, l.at(s.Pos, err))
		return
	}
	l.c.m.warnings = append(l.c.m.warnings, l.at(s.Pos, err))
}

func noClock(name string) error {
	return failf("%s: sagas have no clock and no chance; what they may know of those is in the event", name)
}

// natives are the functions of the library by name and count of parameters,
// and whether one can be called where there is no clock.
var natives = sync.OnceValue(func() map[string]map[int]bool {
	m := map[string]map[int]bool{}
	for _, f := range lib.Standard() {
		if m[f.Name] == nil {
			m[f.Name] = map[int]bool{}
		}
		m[f.Name][len(f.Params)] = m[f.Name][len(f.Params)] || !f.Volatile
	}
	return m
})

func native(name string, params int) (known, volatile bool) {
	steady, known := natives()[name][params]
	return known, known && !steady
}

func nativeName(name string) bool { return natives()[name] != nil }
