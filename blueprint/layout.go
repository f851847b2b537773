package blueprint

import (
	"cmp"
	"slices"

	"github.com/ramet-run/ramet/domain"
)

// This file finds where the nodes of a drawing stand: in columns, from what
// needs nothing to what needs the most, and in each column so that edges
// cross little.

const (
	// sweeps is how often columns are ordered by their neighbours, each way.
	sweeps = 6
	// maxBends bounds the places where edges pass through columns. The edges
	// of larger graphs go straight, under what is in between.
	maxBends = 40_000
)

// spot is a place in a column: of a node, or where an edge passes through.
type spot struct {
	node   int // -1: an edge passes
	column int
	y      float64 // of its middle
	height float64
	before []int // spots of the column before that lead here
	after  []int
}

// chart is a drawing without sizes: x is the column.
type chart struct {
	spots   []spot
	columns [][]int // spots from top to bottom
	// routes has for each edge the spots that it goes through.
	routes [][]int
}

// arrange lays a graph out. nodeHeight and bendHeight are those of spots with
// what is kept free between.
func arrange(g *domain.Graph, nodeHeight, bendHeight float64) *chart {
	column := columns(g)
	c := &chart{routes: make([][]int, len(g.Edges))}
	for i, col := range column {
		c.add(spot{node: i, column: col, height: nodeHeight})
	}
	bends := 0
	for _, e := range g.Edges {
		bends += max(0, column[e.To]-column[e.From]-1)
	}
	for k, e := range g.Edges {
		last := e.From
		c.routes[k] = []int{last}
		if bends <= maxBends {
			for col := column[e.From] + 1; col < column[e.To]; col++ {
				c.add(spot{node: -1, column: col, height: bendHeight})
				bend := len(c.spots) - 1
				c.join(last, bend)
				c.routes[k] = append(c.routes[k], bend)
				last = bend
			}
			c.join(last, e.To)
		}
		c.routes[k] = append(c.routes[k], e.To)
	}
	c.order()
	c.level()
	return c
}

// columns is the column of each node: the longest way to it, and behind all
// of smaller phases.
func columns(g *domain.Graph) []int {
	column, waits := make([]int, len(g.Nodes)), make([]int, len(g.Nodes))
	needers := make([][]int, len(g.Nodes))
	for _, e := range g.Edges {
		needers[e.From] = append(needers[e.From], e.To)
		waits[e.To]++
	}
	numbers, nodes := phases(g)
	first := 0
	for _, phase := range numbers {
		next := first
		var ready []int
		for _, i := range nodes[phase] {
			column[i] = max(column[i], first)
			if waits[i] == 0 {
				ready = append(ready, i)
			}
		}
		for len(ready) > 0 {
			i := ready[0]
			ready = ready[1:]
			next = max(next, column[i]+1)
			for _, to := range needers[i] {
				column[to] = max(column[to], column[i]+1)
				if waits[to]--; waits[to] == 0 && g.Nodes[to].Phase == phase {
					ready = append(ready, to)
				}
			}
		}
		first = next
	}
	return column
}

func (c *chart) add(s spot) {
	for len(c.columns) <= s.column {
		c.columns = append(c.columns, nil)
	}
	c.columns[s.column] = append(c.columns[s.column], len(c.spots))
	c.spots = append(c.spots, s)
}

func (c *chart) join(from, to int) {
	c.spots[from].after = append(c.spots[from].after, to)
	c.spots[to].before = append(c.spots[to].before, from)
}

// order sorts each column by the middle of its neighbours, to and fro.
//
// Source: Sugiyama, Tagawa, Toda: Methods for Visual Understanding of
// Hierarchical System Structures, 1981; the barycentre heuristic.
func (c *chart) order() {
	rank := make([]float64, len(c.spots))
	for _, col := range c.columns {
		for i, s := range col {
			rank[s] = float64(i)
		}
	}
	weight := make([]float64, len(c.spots))
	sortColumn := func(col []int, neighbours func(*spot) []int) {
		for i, s := range col {
			weight[s] = float64(i)
			if near := neighbours(&c.spots[s]); len(near) > 0 {
				weight[s] = mean(near, rank)
			}
		}
		slices.SortStableFunc(col, func(a, b int) int { return cmp.Compare(weight[a], weight[b]) })
		for i, s := range col {
			rank[s] = float64(i)
		}
	}
	for range sweeps {
		for _, col := range c.columns {
			sortColumn(col, func(s *spot) []int { return s.before })
		}
		for _, col := range slices.Backward(c.columns) {
			sortColumn(col, func(s *spot) []int { return s.after })
		}
	}
}

func mean(of []int, value []float64) float64 {
	sum := 0.0
	for _, i := range of {
		sum += value[i]
	}
	return sum / float64(len(of))
}

// level gives the spots their heights on the page: as near to the middle of
// their neighbours as the order of their column lets them.
func (c *chart) level() {
	y := make([]float64, len(c.spots))
	for _, col := range c.columns {
		c.settle(col, y, func(int) float64 { return 0 })
	}
	for range sweeps {
		for _, col := range c.columns {
			c.settle(col, y, func(s int) float64 { return c.wish(s, y) })
		}
		for _, col := range slices.Backward(c.columns) {
			c.settle(col, y, func(s int) float64 { return c.wish(s, y) })
		}
	}
	top := 0.0
	for i, s := range c.spots {
		top = min(top, y[i]-s.height/2)
	}
	for i := range c.spots {
		c.spots[i].y = y[i] - top
	}
}

// wish is where a spot would like to be.
func (c *chart) wish(s int, y []float64) float64 {
	before, after := c.spots[s].before, c.spots[s].after
	switch {
	case len(before)+len(after) == 0:
		return y[s]
	case len(before) == 0:
		return mean(after, y)
	case len(after) == 0:
		return mean(before, y)
	}
	return (mean(before, y) + mean(after, y)) / 2
}

// settle places a column: the least squares of the distances to what is
// wished, with spots in order and none over another. Blocks that would meet
// are joined and stand at the mean of their wishes.
//
// Source: isotonic regression by pooling adjacent violators.
func (c *chart) settle(col []int, y []float64, wish func(s int) float64) {
	type block struct {
		at     float64 // where its first spot's middle wants to be
		length int
	}
	offset := make([]float64, len(col)) // of each spot from the column's first
	for i := 1; i < len(col); i++ {
		offset[i] = offset[i-1] + (c.spots[col[i-1]].height+c.spots[col[i]].height)/2
	}
	var blocks []block
	for i, s := range col {
		b := block{wish(s) - offset[i], 1}
		for len(blocks) > 0 && blocks[len(blocks)-1].at > b.at {
			last := blocks[len(blocks)-1]
			n := float64(last.length + b.length)
			b = block{(last.at*float64(last.length) + b.at*float64(b.length)) / n, last.length + b.length}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	i := 0
	for _, b := range blocks {
		for range b.length {
			y[col[i]] = b.at + offset[i]
			i++
		}
	}
}
