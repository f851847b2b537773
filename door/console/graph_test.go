package console

// Inside the package: what is folded is looked at without its drawing.

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

// fan is a step that n need, which one more needs.
func fan(n int) *domain.Graph {
	g := &domain.Graph{Nodes: make([]domain.GraphNode, n+2)}
	for i := range g.Nodes {
		g.Nodes[i].Name = fmt.Sprint("s", i)
	}
	for i := 1; i <= n; i++ {
		g.Edges = append(g.Edges, domain.GraphEdge{From: 0, To: i})
	}
	for i := 1; i <= n; i++ {
		g.Edges = append(g.Edges, domain.GraphEdge{From: i, To: n + 1})
	}
	return g
}

func TestStepsThatAreAlikeAreFolded(t *testing.T) {
	g := fan(1000)
	groups := alike(g)
	if len(groups) != 1 || len(groups[0]) != 1000 {
		t.Fatalf("got %d groups", len(groups))
	}
	small, boxes := folded(g, groups)
	if len(small.Nodes) != 3 || len(boxes[1]) != 1000 || !slices.Equal(small.Edges, []domain.GraphEdge{{From: 0, To: 1}, {From: 1, To: 2}}) {
		t.Errorf("got %+v, %v", small.Edges, len(small.Nodes))
	}
	if alike(fan(20)) != nil {
		t.Error("a graph that is seen whole is folded")
	}
	// What is alike in other phases stands apart.
	g = fan(200)
	for i := range g.Nodes[:101] {
		g.Nodes[i].Phase = 1
	}
	if groups = alike(g); len(groups) != 2 {
		t.Errorf("got %d groups", len(groups))
	}
	// Nothing is lost where nothing is folded.
	if small, boxes = folded(g, nil); len(small.Nodes) != len(g.Nodes) || len(small.Edges) != len(g.Edges) || len(boxes) != len(g.Nodes) {
		t.Error("it is another graph")
	}
}

// TestABoxOfManyStepsHidesNothing: what was skipped is not hidden by what succeeded, and how many did is said.
func TestABoxOfManyStepsHidesNothing(t *testing.T) {
	v := &visit{tenant: domain.Tenant{ID: 7}}
	f := &domain.FlowView{Steps: []domain.StepView{{Name: "a", Status: domain.StepSucceeded}, {Name: "b", Status: domain.StepSkippedByFailure},
		{Name: "c", Status: domain.StepSucceeded}, {Name: "d", Status: domain.StepFailedAccepted}, {Name: "e", Status: domain.StepRunning}}}
	for _, c := range []struct {
		members     []int
		class, note string
	}{{[]int{0, 2}, succeeded, "2/2"}, {[]int{0, 1, 2}, skipped, "2/3"}, {[]int{0, 1, 3}, failed, "1/3"}, {[]int{0, 1, 3, 4}, running, "1/4"}} {
		n := node{stepRow: v.foldedRow(f, c.members)}
		if n.State.Class != c.class || n.Note() != c.note {
			t.Errorf("%v: got %s, %q, want %s, %q", c.members, n.State.Class, n.Note(), c.class, c.note)
		}
	}
}
