package jail

import (
	"encoding/binary"
	"syscall"
	"unsafe"
)

// This file is the language of the wall: a list of system calls, with what to
// do next after each. All policy stands in Go, in what writes such lists
// (walled_linux.go); what carries them out (the wall's program, or anything that
// can make system calls in a process of its own) knows nothing.
//
// In memory a plan is a head, its data (texts, structs, what results are stored in) and
// its steps, all addresses in it absolute:
//
//	head  the last error as a negative number; the address of the step that
//	      failed; a place for results that nobody wants; the address of the first step
//	step  the call's number, its six arguments, where to store the result, a
//	      value; the addresses of the next steps: after an error, after 0, after that
//	      value, after any other result
const (
	planHead  = 32
	planTrash = 16 // where in the head results go that nobody wants
	planStep  = 104
)

// planBase is where a plan lies, the wall's as well as those that an interpreter
// carries out in its own memory: below every program. Programs of fixed addresses
// begin at 2 MiB at the lowest, and their heap somewhere within a GiB behind them.
const planBase = 1 << 20

// planRoom is what an interpreter has free there.
const planRoom = 1 << 20

// step is one system call of a plan. Its targets are the indexes of steps.
type step struct {
	what   string // it does, for an error: "mount /proc"
	number uintptr
	args   [6]uint64
	store  uint64
	into   *step // instead: the step whose argument the result becomes,
	arg    int   // and which

	index                     int // of the step itself
	value                     uint64
	failed, zero, same, other int
}

// goNext as a target is the step behind, goFail the plan's own end with an error,
// and goBack leaves the plan, for who has called the wall's code as a function.
const (
	goBack = -2
	goNext = -1
	goFail = 0
)

// plan is a list in the making.
type plan struct {
	base  uint64
	data  []byte
	texts map[string]uint64
	steps []*step
}

// newPlan begins a list for that address. What fails is told on report, a
// descriptor of the process that carries the plan out, which then ends.
func newPlan(base uint64, report int) *plan {
	p := &plan{base: base, texts: map[string]uint64{}}
	tell := p.do("", syscall.SYS_WRITE, uint64(report), base, planTrash)
	tell.failed = 1
	end := p.do("", syscall.SYS_EXIT_GROUP, wallExit)
	end.failed, end.other, end.zero = 1, 1, 1
	return p
}

// wallExit is the exit code of a wall that could not do its work.
const wallExit = 125

// firstStep is where a plan begins: those before it are for errors.
const firstStep = 2

// do adds a system call whose failure ends everything.
func (p *plan) do(what string, number uintptr, args ...uint64) *step {
	s := &step{what: what, number: number, failed: goFail, zero: goNext, same: goNext, other: goNext}
	copy(s.args[:], args)
	s.index = len(p.steps)
	p.steps = append(p.steps, s)
	return s
}

// try adds one whose failure does not matter.
func (p *plan) try(number uintptr, args ...uint64) *step {
	s := p.do("", number, args...)
	s.failed = goNext
	return s
}

// here is the index of the step that comes next.
func (p *plan) here() int { return len(p.steps) }

// always makes a step go on at another, whatever comes of it.
func (s *step) always(target int) {
	s.failed, s.zero, s.same, s.other = target, target, target, target
}

// storeIn makes the result of s an argument of another step.
func (s *step) storeIn(other *step, arg int) { s.into, s.arg = other, arg }

// bytes adds data and gives its address.
func (p *plan) bytes(b []byte) uint64 {
	for len(p.data)%8 != 0 {
		p.data = append(p.data, 0)
	}
	address := p.base + planHead + uint64(len(p.data))
	p.data = append(p.data, b...)
	return address
}

// text adds a text with a NUL behind it, once.
func (p *plan) text(s string) uint64 {
	if address, found := p.texts[s]; found {
		return address
	}
	address := p.base + planHead + uint64(len(p.data))
	p.data = append(append(p.data, s...), 0)
	p.texts[s] = address
	return address
}

// list adds a list of texts, as execve takes it.
func (p *plan) list(texts []string) uint64 {
	addresses := make([]byte, 0, 8*len(texts)+8)
	for _, t := range texts {
		addresses = binary.NativeEndian.AppendUint64(addresses, p.text(t))
	}
	return p.bytes(append(addresses, 0, 0, 0, 0, 0, 0, 0, 0))
}

// words adds numbers of 64 bits.
func (p *plan) words(values ...uint64) uint64 {
	b := make([]byte, 0, 8*len(values))
	for _, v := range values {
		b = binary.NativeEndian.AppendUint64(b, v)
	}
	return p.bytes(b)
}

// encode gives the plan as it must stand in memory at its base.
func (p *plan) encode() []byte {
	for len(p.data)%8 != 0 {
		p.data = append(p.data, 0)
	}
	first := p.base + planHead + uint64(len(p.data))
	address := func(index int) uint64 { return first + uint64(index)*planStep }
	out := make([]byte, 0, planHead+len(p.data)+len(p.steps)*planStep)
	for _, word := range []uint64{0, 0, 0, address(firstStep)} {
		out = binary.NativeEndian.AppendUint64(out, word)
	}
	out = append(out, p.data...)
	for i, s := range p.steps {
		store := s.store
		switch {
		case s.into != nil:
			store = address(s.into.index) + 8 + 8*uint64(s.arg)
		case store == 0:
			store = p.base + planTrash
		}
		words := []uint64{uint64(s.number), s.args[0], s.args[1], s.args[2], s.args[3], s.args[4], s.args[5], store, s.value}
		for _, target := range []int{s.failed, s.zero, s.same, s.other} {
			switch target {
			case goNext:
				words = append(words, address(i+1))
			case goBack:
				words = append(words, 0)
			default:
				words = append(words, address(target))
			}
		}
		for _, word := range words {
			out = binary.NativeEndian.AppendUint64(out, word)
		}
	}
	return out
}

// failure reads what a plan told of the step that failed.
func (p *plan) failure(told []byte) (what string, errno syscall.Errno) {
	if len(told) < planTrash {
		return "start", syscall.EIO
	}
	errno = syscall.Errno(-int64(binary.NativeEndian.Uint64(told)))
	first := p.base + planHead + uint64(len(p.data))
	if index := (binary.NativeEndian.Uint64(told[8:]) - first) / planStep; index < uint64(len(p.steps)) {
		return p.steps[index].what, errno
	}
	return "start", errno
}

// raw is a struct of the kernel's as bytes.
func raw[T any](value *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(value)), unsafe.Sizeof(*value))
}
