package resp

import (
	"io"

	"github.com/ramet-run/ramet/internal/budget"
)

// For tests from outside.

// Glob is glob.
func Glob(pattern, s string) bool { return glob(pattern, s) }

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
