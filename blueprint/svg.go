package blueprint

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"strings"
	"unicode"

	"github.com/ramet-run/ramet/domain"
)

// paint is how a tone looks, on a light page and on a dark one.
type paint struct {
	tone                         tone
	fill, line, text             string
	darkFill, darkLine, darkText string
}

// paints have more than 4.5:1 of contrast between text and fill.
var paints = []paint{
	{calm, "#f2f4f7", "#98a2b3", "#344054", "#252b36", "#667085", "#d0d5dd"},
	{busy, "#dceafd", "#2e72d2", "#123f7d", "#153258", "#5c9df2", "#d3e5fd"},
	{good, "#dcf5e3", "#2b8a4b", "#14532d", "#143d24", "#4cc274", "#d0f3dc"},
	{fair, "#fdf3d0", "#b7860b", "#654a04", "#453610", "#d9aa30", "#fbeec4"},
	{bad, "#fde2e1", "#cc3832", "#7a1a16", "#541c1a", "#f07b75", "#fddddb"},
	{none, "#f7f7f8", "#b8bcc4", "#6b7280", "#1c2028", "#4b5563", "#a3aab6"},
}

// Sizes of a drawing, in pixels.
const (
	letter     = 7.3 // the mean width of one
	nodeHeight = 44.0
	nodeGap    = 16.0
	bendHeight = 14.0
	columnGap  = 60.0
	margin     = 20.0
	phaseHead  = 24.0
	nodeLeast  = 96.0
	// mostLetters are those of a line; the whole name is in the tool tip.
	mostLetters = 40
)

// svgStyle is that of the drawing itself; the tones follow.
const svgStyle = `.ramet-graph{background:#fff;font:13px system-ui,sans-serif}
.ramet-graph .edge{fill:none;stroke:#8a93a3;stroke-width:1.4}
.ramet-graph .arrow{fill:#8a93a3}
.ramet-graph .box{fill:#fff;stroke:#667085;stroke-width:1.4}
.ramet-graph .band{fill:#667085;fill-opacity:.07}
.ramet-graph text{fill:#1d2430;text-anchor:middle}
.ramet-graph .note{font-size:11px;opacity:.85}
.ramet-graph .head{font-size:11px;fill:#5b6472}
.ramet-graph .none .box{stroke-dasharray:4 3}
@media (prefers-color-scheme:dark){.ramet-graph{background:#14171d}
.ramet-graph .edge{stroke:#7d8798}
.ramet-graph .arrow{fill:#7d8798}
.ramet-graph .box{fill:#1e232c;stroke:#8a93a3}
.ramet-graph text{fill:#e4e8ef}
.ramet-graph .head{fill:#a3abb9}}
`

// SVG writes the graph as a drawing that stands by itself, from left to right,
// for light and dark pages. Phases are bands.
func SVG(g *domain.Graph, w io.Writer) error {
	top := margin
	if numbers, _ := phases(g); len(numbers) > 1 {
		top += phaseHead
	}
	d := &drawing{g: g, chart: arrange(g, nodeHeight+nodeGap, bendHeight), out: bufio.NewWriter(w), top: top - nodeGap/2}
	d.measure()
	d.begin()
	d.bands()
	for i := range g.Edges {
		d.edge(i)
	}
	for i := range g.Nodes {
		d.node(i)
	}
	fmt.Fprintln(d.out, "</svg>")
	return d.out.Flush()
}

type drawing struct {
	g     *domain.Graph
	chart *chart
	out   *bufio.Writer
	top   float64
	// left and wide are those of the columns.
	left, wide    []float64
	width, height float64
}

// measure finds the sizes of columns and of the whole.
func (d *drawing) measure() {
	x := margin
	for _, col := range d.chart.columns {
		wide := nodeLeast
		for _, s := range col {
			if spot := &d.chart.spots[s]; spot.node >= 0 {
				wide = max(wide, d.nodeWidth(spot.node))
			}
		}
		d.left, d.wide = append(d.left, x), append(d.wide, wide)
		x += wide + columnGap
	}
	bottom := 0.0
	for _, s := range d.chart.spots {
		bottom = max(bottom, s.y+s.height/2)
	}
	d.width, d.height = max(x-columnGap+margin, 2*margin), d.top+bottom+margin
}

func (d *drawing) nodeWidth(i int) float64 {
	name, note := label(&d.g.Nodes[i])
	letters := max(len([]rune(short(name))), len([]rune(short(note))))
	return max(nodeLeast, letter*float64(letters)+28)
}

func (d *drawing) begin() {
	fmt.Fprintf(d.out, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"ramet-graph\" role=\"img\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n",
		d.width, d.height, d.width, d.height)
	fmt.Fprintf(d.out, "<title>%s</title>\n<style>\n%s", escape(d.g.Title), svgStyle)
	for _, p := range paints {
		fmt.Fprintf(d.out, ".ramet-graph .%s .box{fill:%s;stroke:%s}.ramet-graph .%s text{fill:%s}\n", p.tone, p.fill, p.line, p.tone, p.text)
	}
	fmt.Fprintln(d.out, "@media (prefers-color-scheme:dark){")
	for _, p := range paints {
		fmt.Fprintf(d.out, ".ramet-graph .%s .box{fill:%s;stroke:%s}.ramet-graph .%s text{fill:%s}\n", p.tone, p.darkFill, p.darkLine, p.tone, p.darkText)
	}
	fmt.Fprintln(d.out, "}\n</style>\n<defs><marker id=\"ramet-arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" "+
		"markerHeight=\"8\" orient=\"auto\"><path class=\"arrow\" d=\"M0 0L8 4L0 8z\"/></marker></defs>")
}

// bands shows the phases.
func (d *drawing) bands() {
	numbers, nodes := phases(d.g)
	if len(numbers) < 2 {
		return
	}
	for _, phase := range numbers {
		from, to := d.width, 0.0
		for _, i := range nodes[phase] {
			c := d.chart.spots[i].column // nodes are the first spots
			from, to = min(from, d.left[c]), max(to, d.left[c]+d.wide[c])
		}
		fmt.Fprintf(d.out, "<rect class=\"band\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" rx=\"8\"/>\n", from-10, margin/2, to-from+20, d.height-margin)
		fmt.Fprintf(d.out, "<text class=\"head\" x=\"%.0f\" y=\"%.0f\">phase %d</text>\n", (from+to)/2, margin/2+15, phase)
	}
}

// edge draws a line with an arrowhead from a node to one that needs it.
func (d *drawing) edge(i int) {
	route := d.chart.routes[i]
	first, last := &d.chart.spots[route[0]], &d.chart.spots[route[len(route)-1]]
	x := d.left[first.column] + d.middle(first) + d.half(first)
	y := d.top + first.y
	fmt.Fprintf(d.out, "<path class=\"edge\" marker-end=\"url(#ramet-arrow)\" d=\"M%.0f %.0f", x, y)
	for _, s := range route[1:] {
		spot := &d.chart.spots[s]
		toX, toY := d.left[spot.column], d.top+spot.y
		if spot == last {
			toX += d.middle(spot) - d.half(spot)
		}
		bend := (toX - x) / 2
		fmt.Fprintf(d.out, "C%.0f %.0f %.0f %.0f %.0f %.0f", x+bend, y, toX-bend, toY, toX, toY)
		x, y = toX, toY
		if spot != last {
			x += d.wide[spot.column]
			fmt.Fprintf(d.out, "H%.0f", x)
		}
	}
	fmt.Fprintln(d.out, "\"/>")
}

// middle is a column's, half is half the width of a spot's node.
func (d *drawing) middle(s *spot) float64 { return d.wide[s.column] / 2 }
func (d *drawing) half(s *spot) float64   { return d.nodeWidth(s.node) / 2 }

func (d *drawing) node(i int) {
	n, s := &d.g.Nodes[i], &d.chart.spots[i]
	width := d.nodeWidth(i)
	x, y := d.left[s.column]+d.middle(s)-width/2, d.top+s.y-nodeHeight/2
	name, note := label(n)
	fmt.Fprintf(d.out, "<g class=\"node %s\"><title>%s</title>", toneOf(n), escape(strings.TrimSpace(name+" "+note)))
	radius := 6.0
	switch n.Kind {
	case domain.StepShard, domain.StepPack: // many jobs: a pile
		d.box(x+4, y+4, width, radius)
	case domain.StepApproval:
		radius = nodeHeight / 2
	case domain.StepEffect:
		radius = 0
	}
	d.box(x, y, width, radius)
	baseline := y + nodeHeight/2 + 4.5
	if note != "" {
		d.text("note", x+width/2, baseline+10, note)
		baseline -= 6
	}
	d.text("name", x+width/2, baseline, name)
	fmt.Fprintln(d.out, "</g>")
}

func (d *drawing) box(x, y, width, radius float64) {
	fmt.Fprintf(d.out, "<rect class=\"box\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" rx=\"%.0f\"/>", x, y, width, nodeHeight, radius)
}

func (d *drawing) text(class string, x, y float64, text string) {
	fmt.Fprintf(d.out, "<text class=\"%s\" x=\"%.0f\" y=\"%.1f\">%s</text>", class, x, y, escape(short(text)))
}

// short cuts a text to what a node holds.
func short(s string) string {
	if r := []rune(s); len(r) > mostLetters {
		return string(r[:mostLetters-1]) + "…"
	}
	return s
}

// escape makes a text safe in XML.
func escape(s string) string { return html.EscapeString(printable(s)) }

// printable is a text on one line, without what XML or a terminal chokes on.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || c == 0xfffe || c == 0xffff {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(s, "?"))
}
