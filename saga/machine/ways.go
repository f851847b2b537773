package machine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/syntax"
)

// This file finds in a program's text from which state to which an instance may go, for drawings. A
// program may reckon its next state: then the text does not say it, and there is no way of it.

// Way is that an instance may go from a state to another one at an event.
type Way struct {
	From, To, Event string
	// Undoes says that steps are undone before it is there.
	Undoes bool
}

// Ways are those that a definition's text has: in the order of its states, and of events by name.
func Ways(d *domain.SagaDefinition) (ways []Way) {
	var found []exit
	if d.Script != "" {
		found = exitsOf(d.Script)
	} else {
		found = nodeExits(d.Nodes)
	}
	for i := range d.States {
		s := &d.States[i]
		for _, event := range handledBy(s, found) {
			for _, e := range found {
				switch {
				case !e.when.holds(event):
				case e.next != "" && e.next != s.Name:
					ways = append(ways, Way{From: s.Name, To: e.next, Event: event})
				case e.undoes && d.Compensation != nil:
					ways = append(ways, Way{s.Name, d.Compensation.Done, event, true}, Way{s.Name, d.Compensation.Failed, event, true})
				}
			}
		}
	}
	slices.SortStableFunc(ways, func(a, b Way) int {
		state := func(name string) int {
			return slices.IndexFunc(d.States, func(s domain.SagaState) bool { return s.Name == name })
		}
		return cmp.Or(cmp.Compare(state(a.From), state(b.From)), cmp.Compare(state(a.To), state(b.To)), cmp.Compare(a.Event, b.Event))
	})
	ways = slices.Compact(ways)
	return slices.DeleteFunc(ways, func(w Way) bool { // what is misspelt in a version that was stored before it was a fault
		return !slices.ContainsFunc(d.States, func(s domain.SagaState) bool { return s.Name == w.To })
	})
}

// handledBy are the events that a state hands to the program; of all others, those that the program names.
func handledBy(s *domain.SagaState, found []exit) (events []string) {
	for event, reaction := range s.On {
		if reaction == domain.Handle && event != domain.AnyEvent {
			events = append(events, event)
		}
	}
	if s.On[domain.AnyEvent] != domain.Handle {
		return events
	}
	for _, e := range found {
		for _, event := range e.when.only {
			if _, named := s.On[event]; !named {
				events = append(events, event)
			}
		}
	}
	return events
}

// exit is what a program may come to: a next state, or that it undoes, and at which events.
type exit struct {
	when   when
	next   string
	undoes bool
}

// when are events: only those, or all but some.
type when struct{ only, not []string }

func (w when) holds(event string) bool {
	return (w.only == nil || slices.Contains(w.only, event)) && !slices.Contains(w.not, event)
}

func (w when) among(events []string) when {
	return when{slices.DeleteFunc(slices.Clone(events), func(e string) bool { return !w.holds(e) }), w.not}
}

func (w when) but(events []string) when { return when{w.only, slices.Concat(w.not, events)} }

// written are the maps that a program has written out, by the names of the variables that have them.
type written map[string]*syntax.MapLit

// exitsOf are those of a script.
func exitsOf(text string) (found []exit) {
	s, err := engine().Compile(text)
	if err != nil {
		return nil
	}
	known := written{}
	for _, f := range s.Tree().Funcs {
		if f.Name != onEvent || len(f.Params) != 2 {
			continue
		}
		syntax.Walk(f.Body, func(n syntax.Node) bool {
			if l, ok := n.(*syntax.Let); ok {
				if m, is := l.Init.(*syntax.MapLit); is {
					known[l.Name.Name] = m
				}
			}
			return true
		})
		results(f.Body, when{}, true, func(w when, n syntax.Node) {
			if m, ok := n.(*syntax.MapLit); ok {
				for i, k := range m.Keys {
					found = append(found, known.ofPart(w, k.Name, m.Values[i])...)
				}
			}
		})
	}
	return found
}

// ofPart is what a part of a result says of where it leads.
func (known written) ofPart(w when, name string, v syntax.Node) (found []exit) {
	results(v, w, true, func(w when, n syntax.Node) {
		if state, ok := literal(n); ok && name == "next" {
			found = append(found, exit{when: w, next: state})
		} else if l, ok := n.(*syntax.Literal); ok && name == "compensate" && l.Kind == syntax.BoolLit && l.Bool {
			found = append(found, exit{when: w, undoes: true})
		} else if m := known.byType(n); m != nil && name == "next" {
			for i, k := range m.Keys {
				if state, ok := literal(m.Values[i]); ok {
					found = append(found, exit{when: w.among([]string{k.Name}), next: state})
				}
			}
		}
	})
	return found
}

// nodeExits are those of a graph of expressions.
func nodeExits(nodes []domain.SagaNode) (found []exit) {
	params := []string{"state", "event"}
	for i := range nodes {
		if !slices.Contains(params, nodes[i].Name) {
			params = append(params, nodes[i].Name)
		}
	}
	for i := range nodes {
		s, err := engine().Compile("fn node(" + strings.Join(params, ", ") + ") {\n" + nodes[i].Expr + "\n}")
		if err != nil || len(s.Tree().Funcs) != 1 {
			continue
		}
		found = append(found, written{}.ofPart(when{}, nodes[i].Name, s.Tree().Funcs[0].Body)...)
	}
	return found
}

// byType is the map of which something takes what it has for the event's type; nil: it does something else.
func (known written) byType(n syntax.Node) *syntax.MapLit {
	c, ok := n.(*syntax.Chain)
	if !ok || len(c.Steps) != 1 || c.Steps[0].Kind != syntax.IndexStep || !isType(c.Steps[0].Index) {
		return nil
	}
	if root, ok := c.Root.(*syntax.Name); ok {
		return known[root.Name]
	}
	m, _ := c.Root.(*syntax.MapLit)
	return m
}

// results goes through what an expression may come to, or return, with the events at which it does.
func results(n syntax.Node, w when, last bool, visit func(when, syntax.Node)) {
	switch n := n.(type) {
	case nil:
	case *syntax.Block:
		for i := 0; n != nil && i < len(n.Body); i++ {
			results(n.Body[i], w, last && i == len(n.Body)-1, visit)
			w = behind(n.Body[i], w)
		}
	case *syntax.Return:
		results(n.Value, w, true, visit)
	case *syntax.If:
		is, not := parted(n, w)
		results(n.Then, is, last, visit)
		results(n.Else, not, last, visit)
	case *syntax.Switch:
		rest := w
		for i := range n.Cases {
			c, at := &n.Cases[i], w
			if isType(n.X) {
				var events []string
				for _, v := range c.Values {
					if event, ok := literal(v.Value); ok {
						events = append(events, event)
					}
				}
				if at = w.among(events); c.Cond == nil {
					rest = rest.but(events)
				}
			}
			results(c.Body, at, last, visit)
		}
		results(n.Default, rest, last, visit)
	default:
		if last {
			visit(w, n)
		}
	}
}

// parted is when the condition of an if holds, and when it does not, as far as it asks for the event's type.
func parted(n *syntax.If, w when) (is, not when) {
	if b, ok := n.Cond.(*syntax.Binary); ok && b.Op == "==" && isType(b.X) {
		if event, ok := literal(b.Y); ok {
			return w.among([]string{event}), w.but([]string{event})
		}
	}
	return w, w
}

// behind is when one goes on behind a statement: not where an if has returned.
func behind(n syntax.Node, w when) when {
	if n, ok := n.(*syntax.If); ok && leaves(n.Then) {
		_, not := parted(n, w)
		return behind(n.Else, not)
	}
	return w
}

// leaves reports whether a block ends in a return, or by throwing.
func leaves(n syntax.Node) bool {
	b, ok := n.(*syntax.Block)
	if !ok || b == nil || len(b.Body) == 0 {
		return false
	}
	switch b.Body[len(b.Body)-1].(type) {
	case *syntax.Return, *syntax.Throw:
		return true
	}
	return false
}

// isType reports whether something is event.type.
func isType(n syntax.Node) bool {
	c, ok := n.(*syntax.Chain)
	if !ok || len(c.Steps) != 1 {
		return false
	}
	root, ok := c.Root.(*syntax.Name)
	field, is := c.Steps[0].Field()
	return ok && is && root.Name == "event" && field == "type"
}
