package console

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga/machine"
)

// This file draws the states of a saga and the ways between them, by the layout that flows have: those
// that its definition's text has, and over them those that an instance took.

const (
	stateWidth  = 156.0
	stateHeight = boxHeight
	stateGap    = 150.0 // the event is written there
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
			w.Path = placed.Edges[forth]
			w.X, w.Y = placed.Labels[forth].X, placed.Labels[forth].Y-6
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
	apart(m.Ways)
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

// labelHigh is the height of a line of label, and labelWide how far they are apart where they cannot touch.
const (
	labelHigh = 15.0
	labelWide = 120.0
)

// apart moves labels down that would stand over others.
func apart(ways []drawnWay) {
	order := make([]*drawnWay, 0, len(ways))
	for i := range ways {
		if ways[i].Label != "" {
			order = append(order, &ways[i])
		}
	}
	slices.SortStableFunc(order, func(a, b *drawnWay) int { return cmp.Compare(a.Y, b.Y) })
	for i, w := range order {
		for _, above := range order[:i] {
			if x := w.X - above.X; x > -labelWide && x < labelWide && w.Y > above.Y-labelHigh && w.Y < above.Y+labelHigh {
				w.Y = above.Y + labelHigh
			}
		}
	}
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

// shortEvent is a type of event that fits between two states.
func shortEvent(name string, most int) string {
	most = max(most, eventLetters/3)
	if r := []rune(plain(name)); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return plain(name)
}
