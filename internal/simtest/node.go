package simtest

import (
	"context"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/domain"
)

// Node is one life of a node, which reaches the board behind faults of its own.
type Node struct {
	Board *faultboard.Board
	gate  Gate
	end   context.CancelFunc
	ended chan struct{}
	// links are closed when the node is killed, or has ended.
	links []func()

	mu   sync.Mutex
	dead bool
}

// Boot returns a node on a board that runs nothing yet. crash is asked after each
// change of the board whether the node dies there; nil: never.
func Boot(b board.Board, faults faultboard.Config, crash func() bool) *Node {
	n := &Node{ended: make(chan struct{})}
	faults.Before = n.gate.Before
	if crash != nil {
		faults.After = func(context.Context, faultboard.Call) error {
			if n.Dead() || !crash() {
				return nil
			}
			n.Kill()
			return domain.Unavailablef("crashed")
		}
	}
	n.Board = faultboard.New(b, faults)
	return n
}

// Link has something closed that the node reaches others by, when it is killed or
// has ended. It is called before Run.
func (n *Node) Link(closing func()) { n.links = append(n.links, closing) }

// Run starts what the node does, until it is drained or killed. What a loop returns is
// its own: a node whose board is cut off has errors.
func (n *Node) Run(loops ...func(ctx context.Context) error) {
	ctx, end := context.WithCancel(context.Background())
	n.end = end
	var all sync.WaitGroup
	for _, loop := range loops {
		all.Go(func() { _ = loop(ctx) })
	}
	go func() { all.Wait(); n.unlink(); close(n.ended) }()
}

func (n *Node) unlink() {
	for _, closing := range n.links {
		closing()
	}
}

// Pass waits while the node is frozen. What is not behind its board calls it itself.
func (n *Node) Pass() { n.gate.Pass() }

// Kill ends the node at once, as kill -9 does: nobody hears of it any more.
func (n *Node) Kill() {
	n.Board.Cut()
	n.unlink()
	n.end()
	n.gate.Open()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dead = true
}

// Dead reports whether it was killed.
func (n *Node) Dead() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dead
}

// Drain tells the node to end.
func (n *Node) Drain() {
	n.end()
	n.gate.Open()
}

// Stop tells the node to end, and waits until it has.
func (n *Node) Stop() {
	n.end()
	<-n.ended
}

// Freeze stops the node for a time, as a machine that sleeps.
func (n *Node) Freeze(d time.Duration) {
	n.gate.Close()
	time.AfterFunc(d, n.gate.Open)
}

// CutOff keeps the node from its board for a time.
func (n *Node) CutOff(d time.Duration) {
	if n.Dead() {
		return
	}
	n.Board.Cut()
	time.AfterFunc(d, func() {
		if !n.Dead() {
			n.Board.Heal()
		}
	})
}

// Calm ends all faults.
func (n *Node) Calm() {
	n.gate.Open()
	n.Board.Heal()
	n.Board.Calm()
}

// Gate holds up who passes while it is closed. The zero Gate is open.
type Gate struct {
	mu   sync.Mutex
	shut chan struct{} // closed when it opens; nil while it is open
}

// Pass waits while the gate is closed.
func (g *Gate) Pass() {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut != nil {
		<-shut // a stopped process does not look at its context
	}
}

// Before is Pass for the Config of a faultboard.
func (g *Gate) Before(context.Context, faultboard.Call) error { g.Pass(); return nil }

// Close closes it.
func (g *Gate) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut == nil {
		g.shut = make(chan struct{})
	}
}

// Open opens it.
func (g *Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}
