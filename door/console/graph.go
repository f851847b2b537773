package console

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
)

const (
	// foldAbove is from how many steps on a drawing has alike ones in one box, where they
	// are foldLeast or more: of hundreds of boxes, nobody sees anything.
	foldAbove = 100
	foldLeast = 8
	// graphMost bounds the boxes of a drawing.
	graphMost = 1500
	boxWidth  = 168.0
	boxHeight = 48.0
	// fitMost is up to which width, in pixels, a drawing is shrunk to the window.
	fitMost = 1600.0
	// fitLeast is down to which width it is shrunk: what is narrower is drawn as it is.
	fitLeast = 900.0
	// partMost is up to which height, in pixels, all of a drawing is in the window.
	partMost = 500.0
	// boxLetters are those of a name that fit into a box; the whole is in its title.
	boxLetters = 16
)

// graph is a flow's drawing.
type graph struct {
	Width, Height float64
	Nodes         []*node
	Edges         []edge
	Bands         []blueprint.Band
	// Fits says that it can be read when it is as wide as the window.
	Fits bool
	// Note says what is drawn where that is not all there is; All is the address of all.
	Note, All string
	// TooMany says that there are too many boxes to draw, and where their steps stand.
	TooMany string
}

// Large reports whether a window has only a part of it.
func (g *graph) Large() bool { return len(g.Nodes) > 0 && (g.Height > partMost || !g.Fits) }

// node is a step's box.
type node struct {
	blueprint.Box
	stepRow
	Short  string
	Cut    bool // Short is not all of its name
	Pile   bool // many jobs
	Chosen bool
	Here   bool // where who has no script is led in a drawing of which the window has a part
	// Bar is how far the step is, in pixels of the box.
	Bar string
}

// edge says that a step needs another; Class is that of the one it comes from.
type edge struct{ Path, Class, From, To string }

// graphOf draws a flow's steps.
func (v *visit) graphOf(f *domain.FlowView, chosen *stepRow) *graph {
	g := blueprint.FlowGraph(f)
	var groups [][]int
	if f.ID != 0 && v.r.FormValue("unfold") != "yes" { // 0: a blueprint is read step by step
		groups = alike(g)
	}
	whole := g
	g, groups = folded(g, groups)
	if n := len(g.Nodes); n > graphMost {
		where := "The tab Steps has all of them."
		if f.ID == 0 {
			where = "Its source has all of them."
		}
		return &graph{TooMany: grouped(n) + " steps are too many to draw. " + where}
	}
	placed := blueprint.Place(g, func(int) float64 { return boxWidth }, boxHeight)
	d := &graph{Width: placed.Width, Height: placed.Height, Bands: placed.Bands, Fits: placed.Width <= fitMost}
	for i, members := range groups {
		s := &f.Steps[members[0]]
		n := &node{Box: placed.Nodes[i], stepRow: v.stepRow(f, s), Short: shortName(s.Name), Pile: s.Kind == domain.StepShard || s.Kind == domain.StepPack ||
			s.Kind == domain.StepEach || s.Kind == domain.StepFlow,
			Chosen: chosen != nil && chosen.Name == s.Name}
		if len(members) > 1 {
			n.stepRow, n.Pile, n.Chosen = v.foldedRow(f, members), true, false
			n.Short = shortName(n.Name)
			n.Bar = fmt.Sprintf("%.1f", boxWidth*float64(n.Percent)/100)
		} else if n.Pile && !s.Status.Done() && s.SinceMs != 0 {
			n.Bar = fmt.Sprintf("%.1f", boxWidth*min(max(s.Progress, 0), 1))
		}
		n.Cut = n.Short != n.Plain()
		d.Nodes = append(d.Nodes, n)
	}
	if d.Large() {
		d.Nodes[max(0, slices.IndexFunc(d.Nodes, func(n *node) bool { return n.Chosen }))].Here = true
	}
	for i, e := range g.Edges {
		d.Edges = append(d.Edges, edge{placed.Edges[i], d.Nodes[e.From].State.Class, d.Nodes[e.From].Name, d.Nodes[e.To].Name})
	}
	d.Note = stepsPart(f)
	if len(g.Nodes) < len(whole.Nodes) {
		d.Note = strings.TrimSpace(d.Note + " Steps that need the same, and that the same steps need, stand in one box.")
		d.All = v.path("flows/%d?unfold=yes&steps_from=%d", f.ID, f.StepsFrom)
	}
	return d
}

// stepsPart says which of a flow's steps are shown; "": all.
func stepsPart(f *domain.FlowView) string {
	if f.StepsTotal <= len(f.Steps) {
		return ""
	}
	return fmt.Sprintf("Steps %s to %s of %s.", grouped(f.StepsFrom+1), grouped(f.StepsFrom+len(f.Steps)), grouped(f.StepsTotal))
}

// foldedMost is up to how many boxes a flow is drawn as a whole of which pages have a part of the steps alone.
const foldedMost = 150

// foldedWhole draws all of a flow, where pages have a part of its steps alone and it has few boxes once what is alike is
// in one; else nil.
func (v *visit) foldedWhole(f *domain.FlowView, chosen *stepRow) *graph {
	if len(f.Steps) <= pageSteps || f.StepsTotal > len(f.Steps) || v.r.FormValue("unfold") == "yes" {
		return nil
	}
	g := blueprint.FlowGraph(f)
	if groups := alike(g); len(groups) > 0 {
		if small, _ := folded(g, groups); len(small.Nodes) <= foldedMost {
			return v.graphOf(f, chosen)
		}
	}
	return nil
}

// alike are the steps of a large graph, by their index, that need the same and are needed by
// the same, in groups of as many as are worth a box of their own; nil: none are.
func alike(g *domain.Graph) (groups [][]int) {
	if len(g.Nodes) <= foldAbove {
		return nil
	}
	about := make([]strings.Builder, len(g.Nodes)) // edges come in order
	for _, e := range g.Edges {
		fmt.Fprintf(&about[e.To], "<%d", e.From)
		fmt.Fprintf(&about[e.From], ">%d", e.To)
	}
	at := map[string]int{}
	for i := range g.Nodes {
		key := fmt.Sprintf("%d %s", g.Nodes[i].Phase, about[i].String())
		k, known := at[key]
		if !known {
			k = len(groups)
			at[key] = k
			groups = append(groups, nil)
		}
		groups[k] = append(groups[k], i)
	}
	return slices.DeleteFunc(groups, func(members []int) bool { return len(members) < foldLeast })
}

// folded is a graph with a box for each group and each step that is in none, and the steps
// of each box.
func folded(g *domain.Graph, groups [][]int) (*domain.Graph, [][]int) {
	group := map[int]int{}
	for k, members := range groups {
		for _, i := range members {
			group[i] = k + 1
		}
	}
	small := &domain.Graph{Title: g.Title}
	var boxes [][]int
	box := make([]int, len(g.Nodes)) // of a step
	first := map[int]int{}           // the box of a group
	for i := range g.Nodes {
		if at, known := first[group[i]]; known && group[i] != 0 {
			box[i] = at
			boxes[at] = append(boxes[at], i)
			continue
		}
		box[i] = len(boxes)
		first[group[i]] = box[i]
		boxes = append(boxes, []int{i})
		small.Nodes = append(small.Nodes, g.Nodes[i])
	}
	seen := map[domain.GraphEdge]bool{}
	for _, e := range g.Edges {
		if e = (domain.GraphEdge{From: box[e.From], To: box[e.To]}); !seen[e] && e.From != e.To {
			seen[e] = true
			small.Edges = append(small.Edges, e)
		}
	}
	return small, boxes
}

// foldedRow is what stands for many steps: the state of the one that asks most for attention.
func (v *visit) foldedRow(f *domain.FlowView, members []int) stepRow {
	first, last := &f.Steps[members[0]], &f.Steps[members[len(members)-1]]
	r := stepRow{Name: first.Name + " … " + last.Name, Link: v.path("flows/%d?unfold=yes&steps_from=%d", f.ID, f.StepsFrom)}
	done, most := 0, math.MinInt
	for _, i := range members {
		s := &f.Steps[i]
		if s.Status == domain.StepSucceeded {
			done++
		}
		if a := attention(s); a > most || a == most && !s.Status.Done() {
			most, r.State = a, stepState(s)
		}
	}
	r.Progress, r.Percent = fmt.Sprintf("%d/%d", done, len(members)), 100*done/len(members)
	return r
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

// Wide says that it cannot be read where it is as narrow as a phone.
func (g *graph) Wide() bool { return g.Width > fitLeast }

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
	return cmp.Or(n.Progress, n.Took, shortName(n.State.Word))
}
