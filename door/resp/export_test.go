package resp

import (
	"io"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/internal/budget"
)

// For tests from outside.

// Glob reports whether s fits a pattern, and in how many steps that was found.
func Glob(pattern, s string) (fits bool, steps int) {
	p := readPattern(pattern)
	return p.fits(s, maxSteps)
}

// BoundPatterns has one command look for a pattern in so many steps at most.
func BoundPatterns(d *Door, steps int) { d.steps = steps }

// HoldChannels is somebody who is being told something in a space, until release.
func HoldChannels(d *Door, space board.Space) (release func()) {
	r := d.hub.room(space)
	r.mu.Lock()
	return r.mu.Unlock
}

// ReadCommands reads all commands of a stream, as somebody known.
func ReadCommands(in io.Reader) (cmds [][]string, err error) {
	r := newReader(in, budget.Hold{Pool: budget.New(budget.Config{Bytes: 64 << 20, BytesPerActor: 64 << 20}, nil).Remote.Bytes})
	r.trusted = true
	defer r.close()
	for {
		args, ok, err := r.next()
		if err != nil {
			return cmds, err
		}
		if ok {
			cmds = append(cmds, args)
			continue
		}
		if err := r.fill(); err != nil {
			return cmds, err
		}
	}
}
