package blueprint

import (
	"fmt"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// Box is a place in a drawing, in pixels from its left upper corner.
type Box struct{ X, Y, Width, Height float64 }

// Spot is a point in a drawing.
type Spot struct{ X, Y float64 }

// Band is where the nodes of a phase stand.
type Band struct {
	Phase int
	Box
}

// Placed is where all of a graph stands in a drawing, from left to right.
type Placed struct {
	Width, Height float64
	Nodes         []Box    // in the graph's order
	Edges         []string // in the graph's order, as data of an SVG path
	Labels        []Spot   // where something can be written on each edge: in the middle of its first bend
	// Bands are those of the phases, where there is more than one.
	Bands []Band
}

// Place finds where all of a graph stands. width is that of a node, height that of all.
func Place(g *domain.Graph, width func(node int) float64, height float64) *Placed {
	return PlaceApart(g, width, height, columnGap)
}

// PlaceApart is [Place] with so much room between columns, for what is written there.
func PlaceApart(g *domain.Graph, width func(node int) float64, height, gap float64) *Placed {
	top := margin
	numbers, nodes := phases(g)
	if len(numbers) > 1 {
		top += phaseHead
	}
	p := &placing{g: g, chart: arrange(g, height+nodeGap, bendHeight), top: top - nodeGap/2, width: width, gap: gap}
	p.measure()
	for i := range g.Nodes {
		s, w := &p.chart.spots[i], width(i)
		p.Nodes = append(p.Nodes, Box{p.left[s.column] + p.middle(s) - w/2, p.top + s.y - height/2, w, height})
	}
	for i := range g.Edges {
		p.Edges = append(p.Edges, p.edge(i))
	}
	if len(numbers) > 1 {
		for _, phase := range numbers {
			p.Bands = append(p.Bands, p.band(phase, nodes[phase]))
		}
	}
	return &p.Placed
}

type placing struct {
	Placed
	g     *domain.Graph
	chart *chart
	width func(node int) float64
	top   float64
	gap   float64 // between columns
	// left and wide are those of the columns.
	left, wide []float64
}

// measure finds the sizes of columns and of the whole.
func (p *placing) measure() {
	x := margin
	for _, col := range p.chart.columns {
		wide := 0.0
		for _, s := range col {
			if spot := &p.chart.spots[s]; spot.node >= 0 {
				wide = max(wide, p.width(spot.node))
			}
		}
		wide = max(wide, nodeLeast)
		p.left, p.wide = append(p.left, x), append(p.wide, wide)
		x += wide + p.gap
	}
	bottom := 0.0
	for _, s := range p.chart.spots {
		bottom = max(bottom, s.y+s.height/2)
	}
	p.Width, p.Height = max(x-p.gap+margin, 2*margin), p.top+bottom+margin
}

// middle is a column's, half is half the width of a spot's node.
func (p *placing) middle(s *spot) float64 { return p.wide[s.column] / 2 }
func (p *placing) half(s *spot) float64   { return p.width(s.node) / 2 }

// band is where the nodes of a phase stand.
func (p *placing) band(phase int, nodes []int) Band {
	from, to := p.Width, 0.0
	for _, i := range nodes {
		c := p.chart.spots[i].column // nodes are the first spots
		from, to = min(from, p.left[c]), max(to, p.left[c]+p.wide[c])
	}
	return Band{phase, Box{from - 10, margin / 2, to - from + 20, p.Height - margin}}
}

// edge is the line from a node to one that needs it.
func (p *placing) edge(i int) string {
	var d strings.Builder
	route := p.chart.routes[i]
	first, last := &p.chart.spots[route[0]], &p.chart.spots[route[len(route)-1]]
	x := p.left[first.column] + p.middle(first) + p.half(first)
	y := p.top + first.y
	fmt.Fprintf(&d, "M%.0f %.0f", x, y)
	for _, s := range route[1:] {
		spot := &p.chart.spots[s]
		toX, toY := p.left[spot.column], p.top+spot.y
		if spot == last {
			toX += p.middle(spot) - p.half(spot)
		}
		bend := (toX - x) / 2
		if s == route[1] {
			p.Labels = append(p.Labels, Spot{x + bend, (y + toY) / 2})
		}
		fmt.Fprintf(&d, "C%.0f %.0f %.0f %.0f %.0f %.0f", x+bend, y, toX-bend, toY, toX, toY)
		x, y = toX, toY
		if spot != last {
			x += p.wide[spot.column]
			fmt.Fprintf(&d, "H%.0f", x)
		}
	}
	return d.String()
}
