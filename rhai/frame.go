package rhai

import (
	"context"
	"runtime"

	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file holds the state of a running script.

// Value is any value of a script: see package value.
type Value = value.Value

// Pos is a place in a script's text.
type Pos = syntax.Pos

// node is a compiled piece of a script. It gives its value, or none when it
// did not come to its end: run.ctl then says why.
type node func(fr *frame) Value

// cond is a compiled condition.
type cond func(fr *frame) truth

type truth int8

const (
	no     truth = 0
	yes    truth = 1
	abrupt truth = -1 // did not come to its end
)

// ctl says why a node gave none.
type ctl uint8

const (
	ctlNone ctl = iota
	ctlError
	ctlBreak
	ctlContinue
	ctlReturn
	ctlExit
)

// frame is one running function, or the script itself.
type frame struct {
	// slots hold the function's parameters and locals; part of run.stack.
	slots []Value
	run   *run
	// this is the receiver of a method, nil when there is none.
	this      *Value
	thisConst bool
	env       *environ
	// outer is the frame whose variables this one sees too: of the code that
	// called eval or f!().
	outer *frame
	// extras are variables that eval has declared.
	extras []extra
	// old is the piece of stack to go back to when this frame began a new one.
	old    []Value
	oldTop int
}

// extra is a variable that is known by name only.
type extra struct {
	name     string
	v        *Value
	readonly bool
}

// run is one run of a script: its stack, its limits, what goes wrong.
type run struct {
	engine *Engine
	ctx    value.Ctx
	scope  *Scope
	root   *environ

	ctl ctl
	ret Value // of break, return and exit
	err *value.Error

	// stack is the present piece of stack. Pieces never move, so that a
	// pointer to a slot stays good while the function runs.
	stack []Value
	spare []Value // the piece that was left last, empty
	top   int
	high  int // how far the piece has been used since the last sweep
	// frames are reused by depth.
	frames []*frame
	depth  int
	calls  int // of script functions, nested
	base   int // the outermost frame of the script that is being imported, whose surroundings it does not see

	text  []byte // where interpolation puts its text together
	texts int64  // bytes of such texts in the making

	// fuel is what may be done until the next look at limits and cancellation.
	fuel    int64
	quantum int64
	ops     int64 // done before the present quantum
	cancel  context.Context

	modules   int // imported
	resolved  map[string]*Module
	imported  []*Module // whose typed methods are usable
	sizes     bool      // size limits are on
	held      []Value   // see hold
	holding   bool      // results of callbacks are held
	scopes    []*Scope  // of the scripts that import the running module
	charged   int64     // bytes since the last measurement
	measureAt int64
	live      int64      // bytes found by it
	pieces    int64      // bytes of stack
	evals     []*unit    // that run now
	envs      []*environ // of the modules imported
	pace      value.Pace // see pacing
}

// fail ends the present node with an error.
func (fr *frame) fail(e *value.Error) Value {
	r := fr.run
	r.ctl, r.err = ctlError, e
	return Value{}
}

// failed takes the error that a native function left in the context.
func (fr *frame) failed(pos Pos) Value {
	r := fr.run
	if r.ctl != ctlNone {
		r.ctx.Err = nil
		return Value{}
	}
	e := r.ctx.Err
	r.ctx.Err = nil
	if e == nil {
		e = &value.Error{Kind: value.ErrorSystem, Name: "native function gave neither value nor error", Pos: pos}
	}
	r.ctl, r.err = ctlError, e
	return Value{}
}

// push reserves n values on the stack, nil when the piece is full. They hold
// what was there before.
func (r *run) push(n int) []Value {
	top := r.top + n
	if top > len(r.stack) {
		return nil
	}
	s := r.stack[r.top:top:top]
	r.top = top
	if top > r.high {
		r.high = top
	}
	return s
}

// scratch reserves n values for the arguments of a native function.
// release gives them back.
func (r *run) scratch(n int) []Value {
	if s := r.push(n); s != nil {
		return s
	}
	return make([]Value, n)
}

func (r *run) release(s []Value) {
	if n := len(s); n > 0 && r.top >= n && &r.stack[r.top-n] == &s[0] {
		r.top -= n
	}
}

// sweep drops what ended calls have left above the top of the stack. It is
// done now and then: clearing after every call would cost more than the call.
func (r *run) sweep() {
	if r.high > r.top {
		clear(r.stack[r.top:r.high])
	}
	r.high = r.top
}

const (
	smallStack = 1 << 8  // values that a run begins with: many are one short expression
	firstStack = 1 << 10 // values of a piece when that is not enough: 16 KiB
	maxStack   = 1 << 22 // values in one piece
	slotBytes  = 16
	// tooManyCalls is more than any bound on nested calls.
	tooManyCalls = 1 << 40
)

// enter prepares a frame with n slots, one level deeper. It is given back by leave.
func (r *run) enter(n int) *frame {
	r.depth++
	r.calls++
	var fr *frame
	if r.depth < len(r.frames) {
		fr = r.frames[r.depth]
	} else {
		fr = &frame{run: r}
		r.frames = append(r.frames, fr)
	}
	if fr.slots = r.push(n); fr.slots == nil {
		r.sweep()
		fr.old, fr.oldTop = r.stack, r.top
		// The piece that was left last is taken again: a call at the very end of
		// a piece may be made many times.
		if len(r.spare) < 2*n {
			r.spare = make([]Value, r.piece(n))
		}
		r.stack, r.spare = r.spare, nil
		r.top, r.high = n, n
		fr.slots = r.stack[:n:n]
	}
	return fr
}

// piece gives the size of a new piece of stack for a frame with n slots.
func (r *run) piece(n int) int {
	size := min(max(2*len(r.stack), 2*n, firstStack), maxStack+2*n)
	r.pieces -= slotBytes * int64(len(r.spare))
	if limit := r.engine.MaxMemory; limit > 0 && r.pieces+slotBytes*int64(size) > limit/2 {
		// No call after this one succeeds, and a script cannot catch that.
		size = 2 * n
		r.calls |= tooManyCalls
	}
	r.pieces += slotBytes * int64(size)
	r.charged += slotBytes * int64(size)
	return size
}

// leave gives a frame back.
func (r *run) leave(fr *frame) {
	if fr.old != nil {
		r.sweep()
		clear(r.stack[:min(r.top, len(r.stack))])
		r.stack, r.spare = fr.old, r.stack
		r.top, r.high = fr.oldTop, fr.oldTop
		fr.old = nil
	} else {
		r.top -= len(fr.slots)
	}
	if fr.extras != nil {
		fr.extras = nil
	}
	// Most frames have none of these, and writing a pointer has its price.
	if fr.this != nil || fr.outer != nil {
		fr.this, fr.outer = nil, nil
	}
	r.depth--
	r.calls--
}

// burn is called when the fuel has run out: it looks at limits and cancellation.
// Whatever else waits for a processor goes first: left to the scheduler, each
// script would keep it for 10 ms, and two hundred endless ones for a second.
func (r *run) burn(pos Pos) bool {
	runtime.Gosched()
	e := r.engine
	r.sweep()
	r.ops += r.quantum - r.fuel
	if e.MaxOperations > 0 && r.ops > e.MaxOperations {
		r.ctl, r.err = ctlError, &value.Error{Kind: value.ErrorTooManyOperations, Pos: pos}
		return false
	}
	if e.OnProgress != nil {
		if token, stop := e.OnProgress(r.ops); stop {
			r.ctl, r.err = ctlError, &value.Error{Kind: value.ErrorTerminated, Value: token, Pos: pos}
			return false
		}
	}
	if r.cancel != nil && r.cancel.Err() != nil {
		r.ctl, r.err = ctlError, &value.Error{Kind: value.ErrorTerminated, Value: value.Unit, Cause: context.Cause(r.cancel), Pos: pos}
		return false
	}
	r.refuel()
	return true
}

// refuel sets the next quantum, which ends where the bound on operations does.
func (r *run) refuel() {
	r.quantum = 4096
	if r.engine.OnProgress != nil {
		r.quantum = 1
	}
	if m := r.engine.MaxOperations; m > 0 {
		r.quantum = min(r.quantum, m-r.ops)
	}
	r.fuel = r.quantum
}

// spend counts n operations.
func (fr *frame) spend(n int64, pos Pos) bool {
	r := fr.run
	r.fuel -= n
	return r.fuel >= 0 || r.burn(pos)
}
