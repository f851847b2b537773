package console

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga/machine"
)

// This file draws the states of a saga and the ways between them, by the layout that flows have: those
// that its definition's text has, and over them those that an instance took.

const (
	stateWidth  = 156.0
	stateHeight = boxHeight
	stateGap    = 164.0 // the event is written there
	// backDrop is how far below all boxes the first way back goes, backNext how far below it each other.
	backDrop = 30.0
	backNext = 20.0
	// statesMost and waysMost bound what is drawn.
	statesMost = 60
	waysMost   = 300
	// eventLetters are those of an event's type that fit between two states, ordersMost how many numbers.
	eventLetters = 22
	ordersMost   = 3
)

// drawnMachine is the drawing of a saga's states.
type drawnMachine struct {
	Width, Height float64
	Nodes         []stateBox
	Ways          []drawnWay
	// Note says how to read it.
	Note string
}

// Fits and Wide are as those of a flow's graph.
func (m *drawnMachine) Fits() bool { return m.Width <= fitMost }
func (m *drawnMachine) Wide() bool { return m.Width > fitLeast }

// stateBox is a state.
type stateBox struct {
	blueprint.Box
	Name, Short, Link string
	// Note is the second line: how long it lasts at most, or its outcome.
	Note          string
	Final, Begins bool
	Visited, Here bool // by the instance that is drawn
	State         state
}

// Class is that of its box.
func (b *stateBox) Class() string {
	class := "node " + b.State.Class
	if b.Visited {
		class += " visited"
	}
	if b.Here {
		class += " chosen"
	}
	return class
}

// Title is all that there is to say of it in one line.
func (b *stateBox) Title() string {
	text := plain(b.Name)
	for _, more := range [...]string{b.State.Word, plain(b.Note)} {
		if more != "" {
			text += ", " + more
		}
	}
	return text
}

// Move brings it to its place.
func (b *stateBox) Move() string { return fmt.Sprintf("translate(%.0f %.0f)", b.X, b.Y) }

// drawnWay leads from a state to another one.
type drawnWay struct {
	Path, From, To string
	// Order says as the how manieth an instance took it, Label is the event.
	Order, Label, Title string
	X, Y                float64 // of the label
	Taken, Undoes       bool
}

// Class is that of its line, and Arrow the head of it.
func (w *drawnWay) Class() string {
	class := "edge"
	if w.Undoes {
		class += " undoes"
	}
	if w.Taken {
		class += " taken"
	}
	return class
}

func (w *drawnWay) Arrow() string {
	if w.Taken {
		return "url(#m-arrow)"
	}
	return "url(#m-faint)"
}

// leg is from one state to another, by their places in the drawing.
type leg struct{ from, to int }

// along is what is known of a leg.
type along struct {
	events []string // that can lead along it
	taken  []string // that did
	orders []int    // as the how manieth
	undoes bool
}

// sketch collects what is drawn.
type sketch struct {
	names []string
	at    map[string]int
	legs  map[leg]*along
}

func (s *sketch) state(name string) int {
	n, known := s.at[name]
	if !known {
		n = len(s.names)
		s.at[name] = n
		s.names = append(s.names, name)
	}
	return n
}

func (s *sketch) leg(from, to string) *along {
	k := leg{s.state(from), s.state(to)}
	if s.legs[k] == nil {
		s.legs[k] = &along{}
	}
	return s.legs[k]
}

// machineOf draws a definition, nil where it is not known, and the way that an instance took by its
// history, oldest first; i is nil where none is drawn. It is nil where there is nothing to draw, or too much.
func (v *visit) machineOf(d *domain.SagaDefinition, lines []domain.SagaEntry, i *domain.SagaInstance) *drawnMachine {
	s := &sketch{at: map[string]int{}, legs: map[leg]*along{}}
	states := map[string]*domain.SagaState{}
	if d != nil {
		s.state(d.Initial) // it is the first
		for n := range d.States {
			states[d.States[n].Name] = &d.States[n]
			s.state(d.States[n].Name)
		}
		for _, w := range machine.Ways(d) {
			a := s.leg(w.From, w.To)
			a.events, a.undoes = append(a.events, w.Event), a.undoes || w.Undoes
		}
	}
	moves := 0
	for n := range lines {
		l := &lines[n]
		if l.From == "" || l.To == "" || l.From == l.To {
			continue
		}
		moves++
		a := s.leg(l.From, l.To)
		a.orders = append(a.orders, moves)
		if !slices.Contains(a.taken, l.Type) {
			a.taken = append(a.taken, l.Type)
		}
	}
	if i != nil {
		s.state(i.State)
	}
	if len(s.names) == 0 || len(s.names) > statesMost || len(s.legs) > waysMost {
		return nil
	}
	m := s.drawn()
	for n := range m.Nodes {
		v.fillState(&m.Nodes[n], d, states[s.names[n]], i)
	}
	for _, w := range m.Ways {
		for _, name := range [...]string{w.From, w.To} {
			m.Nodes[s.at[name]].Visited = m.Nodes[s.at[name]].Visited || w.Taken
		}
	}
	m.Note = machineNote(m, lines, i)
	return m
}

// machineNote says how to read a drawing.
func machineNote(m *drawnMachine, lines []domain.SagaEntry, i *domain.SagaInstance) string {
	undoes := slices.ContainsFunc(m.Ways, func(w drawnWay) bool { return w.Undoes })
	note := "What its program says: one that reckons its next state has ways that are not drawn."
	if i != nil {
		note = "Bold and numbered is the way that it took; thin is what else its program says."
		if len(lines) > 0 && lines[0].Version > 1 {
			note = "Bold is the way of the transitions below, of which 1 is the oldest; thin is what else its program says."
		}
	}
	if undoes {
		note += " Dashed: steps are undone on the way."
	}
	return note
}

// fillState says what a state is.
func (v *visit) fillState(b *stateBox, d *domain.SagaDefinition, s *domain.SagaState, i *domain.SagaInstance) {
	if d != nil {
		b.Begins, b.Link = b.Name == d.Initial, v.sagaPath(d.Name)+query("state", b.Name)
	} else {
		b.Link = v.sagaPath(i.Saga) + query("state", b.Name)
	}
	switch {
	case s == nil:
	case s.Final:
		b.Final, b.Note = true, "ends, "+cmp.Or(string(s.Outcome), "succeeded")
	case s.Timeout != nil:
		b.Note = "at most " + span(s.Timeout.After.Time())
	case b.Begins:
		b.Note = "begins here"
	}
	if i == nil || b.Name != i.State {
		return
	}
	b.Here, b.Visited, b.State = true, true, instanceState(i)
	var next *domain.SagaTimer
	for n := range i.Timers {
		if t := &i.Timers[n]; next == nil || t.DueMs < next.DueMs {
			next = t
		}
	}
	switch {
	case b.Final:
	case next != nil && next.DueMs > v.now.UnixMilli():
		b.Note = "timer in " + v.at(next.DueMs).Ago
	default:
		b.Note = "is here now"
	}
}

// drawn places all of a sketch: what leads on in columns, what leads back below.
func (s *sketch) drawn() *drawnMachine {
	order := slices.SortedFunc(maps.Keys(s.legs), func(a, b leg) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	back := backward(len(s.names), order)
	g := &domain.Graph{}
	for _, name := range s.names {
		g.Nodes = append(g.Nodes, domain.GraphNode{Name: name})
	}
	for _, k := range order {
		if !back[k] {
			g.Edges = append(g.Edges, domain.GraphEdge{From: k.from, To: k.to})
		}
	}
	placed := blueprint.PlaceApart(g, func(int) float64 { return stateWidth }, stateHeight, stateGap)
	m := &drawnMachine{Width: placed.Width, Height: placed.Height}
	for n, box := range placed.Nodes {
		m.Nodes = append(m.Nodes, stateBox{Box: box, Name: s.names[n], Short: shortName(s.names[n])})
	}
	forth, backs := 0, 0
	for _, k := range order {
		w := s.way(k)
		if !back[k] {
			w.Path, w.X = placed.Edges[forth], placed.Labels[forth].X
			forth++
		} else {
			a, b := placed.Nodes[k.from], placed.Nodes[k.to]
			low := placed.Height + backDrop + backNext*float64(backs)
			backs++
			from, to := a.X+a.Width/2+10, b.X+b.Width/2-10
			w.Path = fmt.Sprintf("M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f", from, a.Y+a.Height, from, low, to, low, to, b.Y+b.Height)
			w.X, w.Y = (from+to)/2, (a.Y+a.Height+b.Y+b.Height)/8+low*3/4-6 // on the curve's middle
			m.Height = low
		}
		m.Ways = append(m.Ways, w)
	}
	besideLines(m.Ways, m.Nodes)
	for _, w := range m.Ways {
		if w.Label != "" {
			m.Height = max(m.Height, w.Y+labelUnder)
		}
	}
	// What an instance took is drawn over the rest.
	slices.SortStableFunc(m.Ways, func(a, b drawnWay) int {
		switch {
		case a.Taken == b.Taken:
			return 0
		case b.Taken:
			return -1
		}
		return 1
	})
	return m
}

// letterWide is about how wide a letter of a label is.
const letterWide = 6.5

// wide is about how wide a way's label is.
func (w *drawnWay) wide() float64 {
	return letterWide * float64(utf8.RuneCountInString(w.Order)+utf8.RuneCountInString(w.Label)+1)
}

// labelHigh is how high a label is, labelUnder how much of that is below its line of writing. Labels are moved by
// labelStep, labelSteps times at the most, to where they are free.
const (
	labelHigh  = 13.0
	labelUnder = 3.0
	labelStep  = 3.0
	labelSteps = 24
)

// besideLines places labels where no line is, no state and no other label: above the line that goes highest of those that lead on
// from a state, below the others, and as near as there is room.
func besideLines(ways []drawnWay, states []stateBox) {
	lines, highest := make([][]blueprint.Spot, len(ways)), map[string]float64{}
	for i := range ways {
		lines[i] = pointsOf(ways[i].Path)
		if y, known := highest[ways[i].From]; !known || bendsTo(lines[i]) < y {
			highest[ways[i].From] = bendsTo(lines[i])
		}
	}
	var placed []*drawnWay
	for i := range ways {
		w := &ways[i]
		if w.Label == "" {
			continue
		}
		step := -labelStep
		if bendsTo(lines[i]) > highest[w.From] {
			step = labelStep
		}
		w.Y = edgeOf(lines[i], w, step)
		for n := range 2 * labelSteps { // away from the line, and a step to the other side each
			at := *w
			if at.Y += step * float64(n/2); n%2 == 1 {
				at.Y = w.Y - step*float64(n/2+1)
			}
			if at.Y >= labelHigh && at.free(lines, placed, states) {
				w.Y = at.Y
				break
			}
		}
		placed = append(placed, w)
	}
}

// edgeOf is the lower edge of a label above all of a line that is over or under it; below, with a step down.
func edgeOf(line []blueprint.Spot, w *drawnWay, step float64) float64 {
	high, low := math.Inf(1), math.Inf(-1)
	for _, p := range line {
		if math.Abs(p.X-w.X) <= w.wide()/2 {
			high, low = min(high, p.Y), max(low, p.Y)
		}
	}
	switch {
	case low < high: // it is nowhere near
		return w.Y
	case step > 0:
		return low + labelHigh
	}
	return high - labelUnder - 2
}

// free reports whether no line goes through a label, and no state and no other label stands there.
func (w *drawnWay) free(lines [][]blueprint.Spot, placed []*drawnWay, states []stateBox) bool {
	for i := range states {
		b, half := &states[i], w.wide()/2+labelHigh/2
		if w.X+half > b.X && w.X-half < b.X+b.Width && w.Y+2*labelUnder > b.Y && w.Y-labelHigh < b.Y+b.Height {
			return false
		}
	}
	for _, line := range lines {
		for _, p := range line {
			if math.Abs(p.X-w.X) <= w.wide()/2 && p.Y > w.Y-labelHigh+labelUnder && p.Y < w.Y+labelUnder {
				return false
			}
		}
	}
	return !slices.ContainsFunc(placed, func(o *drawnWay) bool {
		return math.Abs(o.X-w.X) < (o.wide()+w.wide())/2 && math.Abs(o.Y-w.Y) < labelHigh
	})
}

// lineSteps is how many points a bend of a line is taken for.
const lineSteps = 48

// bendsTo is how high a line is after its first bend.
func bendsTo(line []blueprint.Spot) float64 {
	if len(line) <= lineSteps {
		return 0
	}
	return line[lineSteps].Y
}

// pointsOf are points along a line that is drawn here: it moves, bends and goes on straight.
func pointsOf(path string) (points []blueprint.Spot) {
	var at blueprint.Spot
	for path != "" {
		end := strings.IndexAny(path[1:], "MCH") + 1
		if end == 0 {
			end = len(path)
		}
		var n [6]float64
		for i, text := range strings.Fields(path[1:end]) {
			n[i%len(n)], _ = strconv.ParseFloat(text, 64) // ours
		}
		switch path[0] {
		case 'M':
			at = blueprint.Spot{X: n[0], Y: n[1]}
			points = append(points, at)
		case 'C':
			from := at
			for i := 1; i <= lineSteps; i++ {
				t := float64(i) / lineSteps
				a, b, c, d := (1-t)*(1-t)*(1-t), 3*(1-t)*(1-t)*t, 3*(1-t)*t*t, t*t*t
				at = blueprint.Spot{X: a*from.X + b*n[0] + c*n[2] + d*n[4], Y: a*from.Y + b*n[1] + c*n[3] + d*n[5]}
				points = append(points, at)
			}
		case 'H':
			for x := at.X; x < n[0]; x += 4 {
				points = append(points, blueprint.Spot{X: x, Y: at.Y})
			}
			at.X = n[0]
		}
		path = path[end:]
	}
	return points
}

// way says what is known of a leg.
func (s *sketch) way(k leg) drawnWay {
	a := s.legs[k]
	w := drawnWay{From: plain(s.names[k.from]), To: plain(s.names[k.to]), Taken: len(a.orders) > 0, Undoes: a.undoes}
	events := a.events
	if w.Taken {
		events = a.taken
		var orders []string
		for _, n := range a.orders[:min(len(a.orders), ordersMost)] {
			orders = append(orders, strconv.Itoa(n))
		}
		w.Order = strings.Join(orders, ", ")
		if more := len(a.orders) - ordersMost; more > 0 {
			w.Order += " and " + grouped(more) + " more"
		}
	}
	w.Title = w.From + " to " + w.To + ": " + plain(strings.Join(events, ", "))
	if w.Taken {
		w.Title += ", taken as number " + w.Order
	}
	if len(events) > 0 && (w.Taken || !s.twin(k)) {
		more := ""
		if len(events) > 1 {
			more = " +" + strconv.Itoa(len(events)-1)
		}
		w.Label = shortEvent(events[0], eventLetters-len(more)-len(w.Order)) + more
	}
	return w
}

// twin reports whether steps are undone along a leg for the same events as along one to an earlier state:
// undoing ends in one of two. The label of that one is for both.
func (s *sketch) twin(k leg) bool {
	for to := range k.to {
		if other := s.legs[leg{k.from, to}]; other != nil && other.undoes && s.legs[k].undoes && slices.Equal(other.events, s.legs[k].events) {
			return true
		}
	}
	return false
}

// backward finds what of the ways between so many states leads back: without it there is no circle.
func backward(states int, order []leg) map[leg]bool {
	to := make([][]int, states)
	for _, k := range order {
		to[k.from] = append(to[k.from], k.to)
	}
	const under, done = 1, 2
	back, stands := map[leg]bool{}, make([]int, states)
	var walk func(n int)
	walk = func(n int) {
		stands[n] = under
		for _, next := range to[n] {
			switch stands[next] {
			case under:
				back[leg{n, next}] = true
			case 0:
				walk(next)
			}
		}
		stands[n] = done
	}
	for n := range states { // the first one is where instances begin
		if stands[n] == 0 {
			walk(n)
		}
	}
	return back
}

// shortEvent is a type of event that fits between two states. How an effect ended stands behind its name, and stays:
// by that ways differ.
func shortEvent(name string, most int) string {
	most = max(most, eventLetters/3)
	r := []rune(plain(name))
	if len(r) <= most {
		return string(r)
	}
	dot := strings.LastIndex(string(r), ".")
	if end := []rune(string(r)[dot+1:]); dot > 0 && len(end) < most-3 {
		return string(r[:most-1-len(end)]) + "…" + string(end)
	}
	return string(r[:most-1]) + "…"
}
