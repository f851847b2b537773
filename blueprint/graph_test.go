package blueprint_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
)

// diamond has two ways from a to d, which are the graph's first phase, and a
// clean-up.
func diamond() *domain.Graph {
	g := blueprint.NewGraph(&domain.Blueprint{Name: "diamond", Steps: []domain.Step{
		{Name: "d", Needs: []string{"b", "c", "a"}}, {Name: "b", Needs: []string{"a"}, Shard: &domain.Shard{Count: 3}},
		{Name: "c", Needs: []string{"a"}, Kind: domain.StepApproval}, {Name: "a"}, {Name: "z", Phase: 5},
	}})
	g.Nodes[3].State, g.Nodes[3].Note = "succeeded", "2s"
	g.Nodes[1].State, g.Nodes[1].Note = "running", "" // of a flow, what it is split by gives way to how far it is
	return g
}

func TestAGraphInTheLanguagesOfOthers(t *testing.T) {
	for format, want := range map[string]string{
		"mermaid": `flowchart LR
  subgraph p0 ["phase 0"]
  n0["d"]
  n1[["b<br/>shard, running"]]
  n2{{"c<br/>approval"}}
  n3["a<br/>2s"]
  end
  subgraph p5 ["phase 5"]
  n4["z"]
  end
  n1 --> n0
  n2 --> n0
  n3 --> n0
  n3 --> n1
  n3 --> n2
  class n1 busy
  class n3 good
  classDef busy fill:#dceafd,stroke:#2e72d2,color:#123f7d
  classDef good fill:#dcf5e3,stroke:#2b8a4b,color:#14532d
`,
		"dot": `digraph "diamond" {
  rankdir=LR;
  node [shape=box, style="rounded,filled", fillcolor=white, fontname="sans-serif"];
  subgraph cluster_0 {
  label="phase 0";
  n0 [label="d"];
  n1 [label="b\nshard, running", peripheries=2, fillcolor="#dceafd", color="#2e72d2", fontcolor="#123f7d"];
  n2 [label="c\napproval", shape=hexagon];
  n3 [label="a\n2s", fillcolor="#dcf5e3", color="#2b8a4b", fontcolor="#14532d"];
  }
  subgraph cluster_5 {
  label="phase 5";
  n4 [label="z"];
  }
  n1 -> n0;
  n2 -> n0;
  n3 -> n0;
  n3 -> n1;
  n3 -> n2;
}
`,
	} {
		if diff := cmp.Diff(want, draw(t, diamond(), format)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
	}
	if err := blueprint.Draw(diamond(), io.Discard, "png"); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("another format: got %v", err)
	}
}

// A drawing of a blueprint says what a step is split by, and what it calls; a long name is whole.
func TestADrawingSaysWhatAStepIsSplitBy(t *testing.T) {
	long := strings.Repeat("n", 64)
	end := int64(99)
	b := &domain.Blueprint{Name: "kinds", Steps: []domain.Step{
		{Name: long}, {Name: "s", Shard: &domain.Shard{Count: 8, Start: 2}}, {Name: "p", Pack: &domain.Pack{Size: 100, End: &end}},
		{Name: "e", Pack: &domain.Pack{Size: 10, Endless: true}}, {Name: "each", Each: "needs.a.result\n  .list"},
		{Name: "m", Matrix: domain.Matrix{"os": []byte(`["linux","mac"]`), "go": []byte(`["1","2","3"]`)}},
		{Name: "i", Matrix: domain.Matrix{"include": []byte(`[{"os":"mac"}]`)}},
		{Name: "w", Matrix: domain.Matrix{"arch": []byte(`["a"]`), "os": []byte(`["l","m"]`), "exclude": []byte(`[{"os":"m"}]`)}},
		{Name: "c", Matrix: domain.Matrix{"os": []byte(`"params.list"`)}}, {Name: "f", Flow: &domain.FlowCall{Blueprint: "town"}},
		{Name: "fs", Each: "params.l", Flow: &domain.FlowCall{Blueprint: "town"}}, {Name: "x", Effect: &domain.EffectCall{Target: "mail"}},
	}}
	for _, format := range []string{"mermaid", "dot", "svg"} {
		text := draw(t, blueprint.NewGraph(b), format)
		for _, want := range []string{long, "shard, 6 jobs", "pack, 100 at a time", "pack, 10 at a time, without an end", "each, of needs.a.result .list",
			"each, of go × os, 6 jobs", "each, of os",
			"each, of what it includes", "each, of arch × os", "flow, town", "flow, town for each of params.l", "effect, mail"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %q:\n%s", format, want, text)
			}
		}
		if strings.Contains(text, "arch × os, 2 jobs") {
			t.Errorf("%s counts what is excluded", format)
		}
	}
}

func draw(t *testing.T, g *domain.Graph, format string) string {
	t.Helper()
	var out bytes.Buffer
	if err := blueprint.Draw(g, &out, format); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// drawn is what an SVG has.
type drawn struct {
	XMLName xml.Name `xml:"svg"`
	Width   float64  `xml:"width,attr"`
	Height  float64  `xml:"height,attr"`
	Style   string   `xml:"style"`
	Bands   []rect   `xml:"rect"`
	Edges   []struct {
		D string `xml:"d,attr"`
	} `xml:"path"`
	Nodes []struct {
		Class string   `xml:"class,attr"`
		Title string   `xml:"title"`
		Boxes []rect   `xml:"rect"`
		Texts []string `xml:"text"`
	} `xml:"g"`
}

type rect struct {
	X, Y, Width, Height float64
}

func (r *rect) UnmarshalXML(d *xml.Decoder, start xml.StartElement) error {
	for _, a := range start.Attr {
		v, err := strconv.ParseFloat(a.Value, 64)
		if to := map[string]*float64{"x": &r.X, "y": &r.Y, "width": &r.Width, "height": &r.Height}[a.Name.Local]; to != nil {
			if *to = v; err != nil {
				return err
			}
		}
	}
	return d.Skip()
}

func readSVG(t *testing.T, text string) drawn {
	t.Helper()
	var d drawn
	if err := xml.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("%v\n%.2000s", err, text)
	}
	return d
}

// box is where a node stands: its last rectangle is the one on top.
func (d drawn) box(i int) rect { return d.Nodes[i].Boxes[len(d.Nodes[i].Boxes)-1] }

func TestADrawingShowsStatesAndPhases(t *testing.T) {
	d := readSVG(t, draw(t, diamond(), "svg"))
	if len(d.Nodes) != 5 || len(d.Edges) != 5 || len(d.Bands) != 2 {
		t.Fatalf("got %d nodes, %d edges, %d bands", len(d.Nodes), len(d.Edges), len(d.Bands))
	}
	if n := d.Nodes[1]; n.Class != "node busy" || n.Title != "b shard, running" || len(n.Boxes) != 2 || !cmp.Equal(n.Texts, []string{"shard, running", "b"}) {
		t.Errorf("got %+v", n)
	}
	if n := d.Nodes[3]; n.Class != "node good" || !cmp.Equal(n.Texts, []string{"2s", "a"}) {
		t.Errorf("got %+v", n)
	}
	for _, word := range []string{"prefers-color-scheme:dark", ".good .box{fill:#dcf5e3", ".good .box{fill:#143d24"} {
		if !strings.Contains(d.Style, word) {
			t.Errorf("the style has no %q", word)
		}
	}
	check(t, diamond(), d)
}

// check holds what a drawing must be: all on the page, no node over another,
// each behind those it needs and behind smaller phases.
func check(t *testing.T, g *domain.Graph, d drawn) {
	t.Helper()
	for i := range d.Nodes {
		a := d.box(i)
		if a.X < 0 || a.Y < 0 || a.X+a.Width > d.Width || a.Y+a.Height > d.Height {
			t.Fatalf("%s is not on the page: %+v in %v x %v", g.Nodes[i].Name, a, d.Width, d.Height)
		}
		for k := range d.Nodes[:i] {
			b := d.box(k)
			if a.X < b.X+b.Width && b.X < a.X+a.Width && a.Y < b.Y+b.Height && b.Y < a.Y+a.Height {
				t.Fatalf("%s and %s lie over each other: %+v, %+v", g.Nodes[i].Name, g.Nodes[k].Name, a, b)
			}
			if p, q := g.Nodes[i].Phase, g.Nodes[k].Phase; p < q && a.X+a.Width > b.X || q < p && b.X+b.Width > a.X {
				t.Fatalf("%s of phase %d and %s of phase %d: %+v, %+v", g.Nodes[i].Name, p, g.Nodes[k].Name, q, a, b)
			}
		}
	}
	for i, e := range g.Edges {
		from, to := d.box(e.From), d.box(e.To)
		if from.X+from.Width >= to.X {
			t.Fatalf("%s stands behind %s, which needs it", g.Nodes[e.From].Name, g.Nodes[e.To].Name)
		}
		start, _, _ := strings.Cut(strings.TrimPrefix(d.Edges[i].D, "M"), " ")
		x, err := strconv.ParseFloat(start, 64)
		if want := from.X + from.Width; err != nil || math.Abs(x-want) > 1 {
			t.Fatalf("the edge from %s: got %s, want it to begin at %v", g.Nodes[e.From].Name, d.Edges[i].D, want)
		}
	}
}

func TestDrawingsOfManyGraphs(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 0))
		b := &domain.Blueprint{Name: "random"}
		for i := range 1 + r.IntN(60) {
			s := domain.Step{Name: "s" + strings.Repeat("x", r.IntN(40)) + strconv.Itoa(i), Phase: i / 20}
			for range r.IntN(4) {
				if i > 0 {
					s.Needs = append(s.Needs, b.Steps[r.IntN(i)].Name)
				}
			}
			b.Steps = append(b.Steps, s)
		}
		r.Shuffle(len(b.Steps), func(i, k int) { b.Steps[i], b.Steps[k] = b.Steps[k], b.Steps[i] })
		g := blueprint.NewGraph(b)
		check(t, g, readSVG(t, draw(t, g, "svg")))
	}
}

// TestEdgesThatNeedNotCrossDoNot: steps are given in an order that would make
// all cross.
func TestEdgesThatNeedNotCrossDoNot(t *testing.T) {
	b := &domain.Blueprint{Name: "ladder"}
	const n = 8
	for i := range n {
		b.Steps = append(b.Steps, domain.Step{Name: fmt.Sprintf("a%d", i)})
	}
	for i := range n {
		b.Steps = append(b.Steps, domain.Step{Name: fmt.Sprintf("b%d", i), Needs: []string{fmt.Sprintf("a%d", n-1-i)}})
	}
	g := blueprint.NewGraph(b)
	d := readSVG(t, draw(t, g, "svg"))
	for _, e := range g.Edges {
		if from, to := d.box(e.From), d.box(e.To); from.Y != to.Y {
			t.Errorf("%s at %v, %s at %v", g.Nodes[e.From].Name, from.Y, g.Nodes[e.To].Name, to.Y)
		}
	}
}

func TestTextsOfStrangersAreSafeInDrawings(t *testing.T) {
	nasty := "</title><script>alert(1)</script>\"; ]--> & 'x' \x00\x1b[31m\n\\ #quot; \xff"
	g := &domain.Graph{Title: nasty, Nodes: []domain.GraphNode{{Name: nasty, Kind: domain.StepKind(nasty), Note: nasty, State: nasty}}}
	svg := draw(t, g, "svg")
	d := readSVG(t, svg)
	if strings.Contains(svg, "<script") || len(d.Nodes) != 1 || d.Nodes[0].Class != "node " {
		t.Errorf("got %s", svg)
	}
	for _, format := range []string{"mermaid", "dot"} {
		text := draw(t, g, format)
		if strings.ContainsAny(text, "\x00\x1b") || !utf8.ValidString(text) || strings.Contains(text, "\";") && format == "mermaid" {
			t.Errorf("%s: got %q", format, text)
		}
	}
	// In DOT each quote within a text is escaped.
	if text := draw(t, g, "dot"); strings.Count(text, `\"`) < 3 {
		t.Errorf("dot: got %s", text)
	}
}

func TestDrawingsOfNothingAndOfTheMost(t *testing.T) {
	readSVG(t, draw(t, &domain.Graph{Title: "empty"}, "svg"))
	shapes := map[string]func(i int) []string{
		"a line":             func(i int) []string { return []string{name(i - 1)} },
		"side by side":       func(int) []string { return nil },
		"all need the first": func(int) []string { return []string{name(0)} },
		"long edges": func(i int) []string {
			needs := []string{name(i - 1)}
			for k := i - 2; k >= 0 && len(needs) < 20; k /= 2 {
				needs = append(needs, name(k))
				if k == 0 {
					break
				}
			}
			return needs
		},
		"a web": func(i int) []string {
			var needs []string
			for k := range 20 {
				if to := i - 100 + i%7 - k; to >= 0 {
					needs = append(needs, name(to))
				}
			}
			return needs
		},
	}
	for shape, needs := range shapes {
		t.Run(shape, func(t *testing.T) {
			b := &domain.Blueprint{Name: "large"}
			for i := range domain.MaxSteps {
				s := domain.Step{Name: name(i)}
				if i > 0 {
					s.Needs = needs(i)
				}
				b.Steps = append(b.Steps, s)
			}
			g := blueprint.NewGraph(b)
			for _, format := range []string{"svg", "mermaid", "dot"} {
				var n counter
				if err := blueprint.Draw(g, &n, format); err != nil || n > 64<<20 || n < 100_000 {
					t.Errorf("%s: got %d bytes, %v", format, n, err)
				}
			}
		})
	}
}

func name(i int) string { return "step_" + strconv.Itoa(i) }

type counter int

func (c *counter) Write(b []byte) (int, error) { *c += counter(len(b)); return len(b), nil }
