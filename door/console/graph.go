package console

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
)

const (
	// graphMost bounds the steps of a drawing: of more, nobody sees anything.
	graphMost = 1500
	boxWidth  = 168.0
	boxHeight = 48.0
	// fitMost is up to which width, in pixels, a drawing is shrunk to the window.
	fitMost = 1600.0
	// boxLetters are those of a name that fit into a box; the whole is in its title.
	boxLetters = 18
)

// graph is a flow's drawing.
type graph struct {
	Width, Height float64
	Nodes         []*node
	Edges         []edge
	Bands         []blueprint.Band
	// Fits says that it can be read when it is as wide as the window.
	Fits bool
	// TooMany is how many steps there are where that is too many to draw.
	TooMany int
}

// node is a step's box.
type node struct {
	blueprint.Box
	stepRow
	Short  string
	Pile   bool // many jobs
	Chosen bool
	// Bar is how far the step is, in pixels of the box.
	Bar string
}

// edge says that a step needs another; Class is that of the one it comes from.
type edge struct{ Path, Class, From, To string }

// graphOf draws a flow's steps.
func (v *visit) graphOf(f *domain.FlowView, chosen *stepRow) *graph {
	if n := max(len(f.Steps), f.StepsTotal); n > graphMost {
		return &graph{TooMany: n}
	}
	g := domain.FlowGraph(f)
	placed := blueprint.Place(g, func(int) float64 { return boxWidth }, boxHeight)
	d := &graph{Width: placed.Width, Height: placed.Height, Bands: placed.Bands, Fits: placed.Width <= fitMost}
	for i := range f.Steps {
		s := &f.Steps[i]
		n := &node{Box: placed.Nodes[i], stepRow: v.stepRow(f, s), Short: shortName(s.Name), Pile: s.Kind == domain.StepShard || s.Kind == domain.StepPack,
			Chosen: chosen != nil && chosen.Name == s.Name}
		if n.Pile && !s.Status.Done() && s.SinceMs != 0 {
			n.Bar = fmt.Sprintf("%.1f", boxWidth*min(max(s.Progress, 0), 1))
		}
		d.Nodes = append(d.Nodes, n)
	}
	for i, e := range g.Edges {
		d.Edges = append(d.Edges, edge{placed.Edges[i], d.Nodes[e.From].State.Class, f.Steps[e.From].Name, f.Steps[e.To].Name})
	}
	return d
}

// shortName is a name that fits into a box.
func shortName(name string) string {
	name = plain(name)
	if utf8.RuneCountInString(name) <= boxLetters {
		return name
	}
	return string([]rune(name)[:boxLetters-1]) + "…"
}

// BoxWidth and BoxHeight are those of every box.
func (*graph) BoxWidth() float64  { return boxWidth }
func (*graph) BoxHeight() float64 { return boxHeight }

// What follows is made here and not in the template, which is slow where there are a
// thousand boxes.

// Move brings a box to its place.
func (n *node) Move() string { return fmt.Sprintf("translate(%.0f %.0f)", n.X, n.Y) }

// Class is that of a box, by its step's state.
func (n *node) Class() string {
	if n.Chosen {
		return "node " + n.State.Class + " chosen"
	}
	return "node " + n.State.Class
}

// Shape is the symbol of its state.
func (n *node) Shape() string { return "#s-" + n.State.Class }

// Plain is its step's name, and Title all that there is to say of it in one line.
func (n *node) Plain() string { return plain(n.Name) }
func (n *node) Title() string {
	return strings.TrimSpace(n.Plain() + ": " + plain(n.State.Word) + " " + n.Progress + " " + n.Took)
}

// Note is the second line of a box.
func (n *node) Note() string {
	if n.Progress != "" && n.Took != "" {
		return n.Progress + " · " + n.Took
	}
	if n.Took != "" {
		return n.Took
	}
	return shortName(n.State.Word)
}
