package resp

import "io"

// For tests from outside.

// Glob is glob.
func Glob(pattern, s string) bool { return glob(pattern, s) }

// ReadCommands reads all commands of a stream, as somebody known.
func ReadCommands(in io.Reader) (cmds [][]string, err error) {
	var m budget
	m.left.Store(64 << 20)
	r := newReader(in, &m)
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
