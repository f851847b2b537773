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
	noteLetter = 6.3 // of a note
	nodeHeight = 44.0
	nodeGap    = 16.0
	bendHeight = 14.0
	columnGap  = 60.0
	margin     = 20.0
	phaseHead  = 24.0
	nodeLeast  = 96.0
	// mostLetters are those of a name, which has no more, and mostNote those of the line below
	// it: a longer one, such as an expression, is whole in the tool tip.
	mostLetters = 64
	mostNote    = 100
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
	d := &drawing{g: g, out: bufio.NewWriter(w)}
	d.Placed = Place(g, d.nodeWidth, nodeHeight)
	d.begin()
	d.bands()
	for _, path := range d.Edges {
		fmt.Fprintf(d.out, "<path class=\"edge\" marker-end=\"url(#ramet-arrow)\" d=\"%s\"/>\n", path)
	}
	for i := range g.Nodes {
		d.node(i)
	}
	fmt.Fprintln(d.out, "</svg>")
	return d.out.Flush()
}

type drawing struct {
	*Placed
	g   *domain.Graph
	out *bufio.Writer
}

func (d *drawing) nodeWidth(i int) float64 {
	name, note := label(&d.g.Nodes[i])
	width := func(text string, letter float64) float64 { return letter*float64(len([]rune(text))) + 28 }
	return max(nodeLeast, width(short(name, mostLetters), letter), width(short(note, mostNote), noteLetter))
}

func (d *drawing) begin() {
	fmt.Fprintf(d.out, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"ramet-graph\" role=\"img\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n",
		d.Width, d.Height, d.Width, d.Height)
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
	for _, b := range d.Bands {
		fmt.Fprintf(d.out, "<rect class=\"band\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" rx=\"8\"/>\n", b.X, b.Y, b.Width, b.Height)
		fmt.Fprintf(d.out, "<text class=\"head\" x=\"%.0f\" y=\"%.0f\">phase %d</text>\n", b.X+b.Width/2, b.Y+15, b.Phase)
	}
}

func (d *drawing) node(i int) {
	n, at := &d.g.Nodes[i], d.Nodes[i]
	x, y, width := at.X, at.Y, at.Width
	name, note := label(n)
	fmt.Fprintf(d.out, "<g class=\"node %s\"><title>%s</title>", toneOf(n), escape(strings.TrimSpace(name+" "+note)))
	radius := 6.0
	switch n.Kind {
	case domain.StepShard, domain.StepPack, domain.StepEach: // many jobs: a pile
		d.box(x+4, y+4, width, radius)
	case domain.StepFlow:
		radius = 0
		d.box(x+4, y+4, width, radius)
	case domain.StepApproval:
		radius = nodeHeight / 2
	case domain.StepEffect:
		radius = 0
	}
	d.box(x, y, width, radius)
	baseline := y + nodeHeight/2 + 4.5
	if note != "" {
		d.text("note", x+width/2, baseline+10, short(note, mostNote))
		baseline -= 6
	}
	d.text("name", x+width/2, baseline, short(name, mostLetters))
	fmt.Fprintln(d.out, "</g>")
}

func (d *drawing) box(x, y, width, radius float64) {
	fmt.Fprintf(d.out, "<rect class=\"box\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" rx=\"%.0f\"/>", x, y, width, nodeHeight, radius)
}

func (d *drawing) text(class string, x, y float64, text string) {
	fmt.Fprintf(d.out, "<text class=\"%s\" x=\"%.0f\" y=\"%.1f\">%s</text>", class, x, y, escape(text))
}

// short cuts a text to what a line holds.
func short(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
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
