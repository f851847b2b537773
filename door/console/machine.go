package console

import (
	"fmt"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
)

const (
	stateWidth  = 132.0
	stateHeight = 40.0
	stateGap    = 150.0 // the event is written there
	// backDrop is how far below the boxes a way back goes, in pixels.
	backDrop = 34.0
	// statesMost bounds the states that are drawn.
	statesMost = 60
)

// machine is the way that an instance took through its states.
type machine struct {
	Width, Height float64
	Nodes         []stateBox
	Ways          []way
}

// stateBox is a state that was visited.
type stateBox struct {
	blueprint.Box
	Name, Short string
	Here        bool // the instance is there now
	State       state
}

// Middle and Line are where its name stands.
func (b stateBox) Middle() float64 { return b.X + b.Width/2 }
func (b stateBox) Line() float64   { return b.Y + b.Height/2 + 4.5 }

// way is a transition that was made, once or more often.
type way struct {
	Path  string
	Label string
	X, Y  float64 // of the label
}

// machineOf draws the states of a history in the order in which they were first come to,
// and the ways between them; nil where nothing has happened yet.
func machineOf(lines []domain.SagaEntry, i *domain.SagaInstance) *machine {
	g := &domain.Graph{}
	at := map[string]int{}
	visit := func(name string) int {
		n, known := at[name]
		if !known && name != "" {
			n = len(g.Nodes)
			at[name] = n
			g.Nodes = append(g.Nodes, domain.GraphNode{Name: name})
		}
		return n
	}
	type leg struct{ from, to int }
	label, count := map[leg]string{}, map[leg]int{}
	var legs []leg
	for n := range lines {
		l := &lines[n]
		if l.From == "" || l.To == "" {
			continue
		}
		k := leg{visit(l.From), visit(l.To)}
		if k.from == k.to {
			continue
		}
		if count[k]++; count[k] == 1 {
			legs = append(legs, k)
			label[k] = l.Type
			if k.to > k.from {
				g.Edges = append(g.Edges, domain.GraphEdge{From: k.from, To: k.to})
			}
		}
	}
	here := visit(i.State)
	if len(g.Nodes) == 0 || len(g.Nodes) > statesMost {
		return nil
	}
	placed := blueprint.PlaceApart(g, func(int) float64 { return stateWidth }, stateHeight, stateGap)
	m := &machine{Width: placed.Width, Height: placed.Height}
	for n, box := range placed.Nodes {
		b := stateBox{Box: box, Name: g.Nodes[n].Name, Short: shortName(g.Nodes[n].Name), State: state{"visited", skipped}}
		if n == here {
			b.Here, b.State = true, instanceState(i)
		}
		m.Nodes = append(m.Nodes, b)
	}
	forward := 0
	for _, k := range legs {
		a, b := placed.Nodes[k.from], placed.Nodes[k.to]
		w := way{Label: shortEvent(label[k]), X: (a.X + a.Width + b.X) / 2, Y: (a.Y+b.Y)/2 + a.Height/2 - 7}
		if count[k] > 1 {
			w.Label += fmt.Sprintf(" ×%d", count[k])
		}
		if k.to > k.from {
			w.Path = placed.Edges[forward]
			forward++
		} else {
			m.Height = placed.Height + backDrop
			from, to := a.X+a.Width/2, b.X+b.Width/2
			w.Path = fmt.Sprintf("M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f", from, a.Y+a.Height, from, a.Y+a.Height+backDrop, to, b.Y+b.Height+backDrop,
				to, b.Y+b.Height)
			w.X, w.Y = (from+to)/2, max(a.Y, b.Y)+a.Height+backDrop+6 // under it
		}
		m.Ways = append(m.Ways, w)
	}
	return m
}

// eventLetters are those of an event's type that fit between two states.
const eventLetters = 24

// shortEvent is a type of event that fits between two states.
func shortEvent(name string) string {
	if r := []rune(plain(name)); len(r) > eventLetters {
		return string(r[:eventLetters-1]) + "…"
	}
	return plain(name)
}
