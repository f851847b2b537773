package resp

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/ramet-run/ramet/internal/budget"
)

// protocolError says what a client sent that is no command. The connection
// cannot go on: nobody knows where the next command begins.
type protocolError string

func (e protocolError) Error() string { return "ERR Protocol error: " + string(e) }

// span is an argument's place in the buffer, relative to its start.
type span struct{ from, to int }

// reader takes commands out of a stream, as arrays of RESP or as lines typed by
// a person. It never reserves memory for what was only announced.
type reader struct {
	in   io.Reader
	hold budget.Hold // the bytes of a buffer that is larger than what each client has
	// trusted lifts the limits for strangers.
	trusted bool

	buf        []byte // buf[start:end] has arrived and is not taken
	start, end int

	// Of the command that is arriving:
	begun bool
	want  int // arguments still to come
	pos   int // where reading goes on, relative to start
	bulk  int // bytes of the argument that is arriving; -1: its header is
	size  int // bytes of its arguments so far
	args  []span
	// room is where the arguments of commands lie that are not done yet.
	room []string
}

func newReader(in io.Reader, hold budget.Hold) *reader {
	return &reader{in: in, hold: hold, bulk: -1, buf: make([]byte, smallBuffer)}
}

// partial reports whether a command has begun to arrive.
func (r *reader) partial() bool { return r.end > r.start }

// fill waits for more bytes.
func (r *reader) fill() error {
	if r.start == r.end {
		r.start, r.end = 0, 0
		r.shrink()
	}
	if r.end == len(r.buf) {
		if err := r.grow(); err != nil {
			return err
		}
	}
	n, err := r.in.Read(r.buf[r.end:])
	r.end += n
	if n > 0 {
		return nil
	}
	return err
}

// grow makes room: by moving what there is to the front, or by a buffer of
// twice the size. It grows with what has arrived, not with what was announced.
func (r *reader) grow() error {
	if r.start > 0 {
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
		if r.end < len(r.buf)/2 {
			return nil
		}
	}
	size := 2 * len(r.buf)
	if err := r.hold.Resize(int64(size)); err != nil {
		return err
	}
	buf := make([]byte, size)
	copy(buf, r.buf[:r.end])
	r.buf = buf
	return nil
}

// shrink gives a large buffer back.
func (r *reader) shrink() {
	if len(r.buf) > smallBuffer {
		r.hold.End()
		r.buf = make([]byte, smallBuffer)
	}
}

// close gives back what the reader holds.
func (r *reader) close() { r.hold.End() }

// next takes a command that has arrived wholly. ok is false when more must
// arrive first. Empty commands are passed over, as Redis does.
//
// Errors: [protocolError].
func (r *reader) next() (args []string, ok bool, err error) {
	for {
		if !r.begun {
			if r.start == r.end {
				return nil, false, nil
			}
			if r.buf[r.start] != '*' {
				args, ok, err = r.inline()
				if err != nil || !ok || len(args) > 0 {
					return args, ok, err
				}
				continue
			}
			n, ok, err := r.number(1, "too big mbulk count string", "invalid multibulk length")
			if err != nil || !ok {
				return nil, false, err
			}
			if n <= 0 {
				r.took(r.pos)
				continue
			}
			if err := r.checkCount(n); err != nil {
				return nil, false, err
			}
			r.begun, r.want, r.size, r.bulk, r.args = true, n, 0, -1, r.args[:0]
		}
		if ok, err := r.arguments(); err != nil || !ok {
			return nil, false, err
		}
		args = r.strings()
		r.took(r.pos)
		return args, true, nil
	}
}

func (r *reader) checkCount(n int) error {
	switch {
	case !r.trusted && n > strangerArgs:
		return protocolError("unauthenticated multibulk length")
	case n > maxArgs:
		return protocolError(fmt.Sprintf("invalid multibulk length: a command of %d arguments, the limit is %d", n, maxArgs))
	}
	return nil
}

func (r *reader) checkBulk(n int) error {
	switch {
	case n < 0:
		return protocolError("invalid bulk length")
	case !r.trusted && n > strangerBulk:
		return protocolError("unauthenticated bulk length")
	case n > maxBulk:
		return protocolError(fmt.Sprintf("invalid bulk length: an argument of %d bytes, the limit is %d", n, maxBulk))
	case r.size+n > maxCommand:
		return protocolError(fmt.Sprintf("invalid bulk length: a command of more than %d bytes", maxCommand))
	}
	return nil
}

// arguments reads on in the command's arguments.
func (r *reader) arguments() (ok bool, err error) {
	for r.want > 0 {
		if r.bulk < 0 {
			at := r.start + r.pos
			if at >= r.end {
				return false, nil
			}
			if c := r.buf[at]; c != '$' {
				return false, protocolError(fmt.Sprintf("expected '$', got %q", c))
			}
			n, ok, err := r.number(r.pos+1, "too big bulk count string", "invalid bulk length")
			if err != nil || !ok {
				return false, err
			}
			if err := r.checkBulk(n); err != nil {
				return false, err
			}
			r.bulk = n
		}
		if r.end-r.start-r.pos < r.bulk+2 {
			return false, nil
		}
		to := r.pos + r.bulk
		if r.buf[r.start+to] != '\r' || r.buf[r.start+to+1] != '\n' {
			return false, protocolError("an argument is longer than was said")
		}
		r.args = append(r.args, span{r.pos, to})
		r.size += r.bulk
		r.pos, r.bulk = to+2, -1
		r.want--
	}
	return true, nil
}

// maxNumber is how long a length may be written.
const maxNumber = 20

// number reads a line with a decimal number from a place on, and moves behind it.
func (r *reader) number(from int, tooLong, wrong protocolError) (n int, ok bool, err error) {
	line := r.buf[r.start+from : r.end]
	i := bytes.IndexByte(line, '\n')
	if i < 0 {
		if len(line) > maxNumber+1 {
			return 0, false, tooLong
		}
		return 0, false, nil
	}
	if i > maxNumber+1 {
		return 0, false, tooLong
	}
	if i == 0 || line[i-1] != '\r' {
		return 0, false, wrong
	}
	n, fits := decimal(line[:i-1])
	if !fits {
		return 0, false, wrong
	}
	r.pos = from + i + 1
	return n, true, nil
}

// decimal reads a number of up to nine digits; larger ones are over every limit.
func decimal(b []byte) (n int, ok bool) {
	minus := len(b) > 0 && b[0] == '-'
	if minus {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 9 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	if minus {
		n = -n
	}
	return n, true
}

// shared is up to how many bytes neighbouring arguments are cut from one
// string: that saves allocations, but what is kept of it keeps all of it.
const shared = 256

// strings copies the arguments out of the buffer. The slice is the caller's
// until reuse.
func (r *reader) strings() []string {
	n := len(r.room)
	r.room = slices.Grow(r.room, len(r.args))[:n+len(r.args)]
	args := r.room[n:len(r.room):len(r.room)]
	for i := 0; i < len(r.args); {
		from := r.args[i].from
		n := i + 1
		for n < len(r.args) && r.args[n].to-from <= shared {
			n++
		}
		all := string(r.buf[r.start+from : r.start+r.args[n-1].to])
		for ; i < n; i++ {
			args[i] = all[r.args[i].from-from : r.args[i].to-from]
		}
	}
	return args
}

// reuse says that nobody looks at the slices any more that next has returned.
func (r *reader) reuse() {
	if cap(r.room) > maxArgs {
		r.room = nil
	}
	clear(r.room)
	r.room = r.room[:0]
}

// took goes on behind what was read.
func (r *reader) took(n int) {
	r.start += n
	r.pos, r.begun, r.want, r.bulk = 0, false, 0, -1
}

// inline reads a command typed as a line.
func (r *reader) inline() (args []string, ok bool, err error) {
	line := r.buf[r.start:r.end]
	most := maxInline
	if !r.trusted {
		most = strangerBulk
	}
	i := bytes.IndexByte(line[:min(len(line), most+1)], '\n')
	if i < 0 {
		if len(line) > most {
			return nil, false, protocolError("too big inline request")
		}
		return nil, false, nil
	}
	args, balanced := splitLine(bytes.TrimSuffix(line[:i], []byte("\r")))
	if !balanced {
		return nil, false, protocolError("unbalanced quotes in request")
	}
	if err := r.checkCount(len(args)); err != nil {
		return nil, false, err
	}
	r.took(i + 1)
	return args, true, nil
}

// splitLine takes a line apart at blanks: "with \n escapes", 'or \' none'.
//
// Source: sdssplitargs of Redis.
func splitLine(line []byte) (args []string, balanced bool) {
	for i := 0; ; {
		for i < len(line) && blank(line[i]) {
			i++
		}
		if i == len(line) {
			return args, true
		}
		arg, n := word(line[i:])
		if n < 0 {
			return nil, false
		}
		args = append(args, arg)
		i += n
	}
}

// word reads one argument and returns how long it was, -1 where its quotes are
// not closed or something stands right behind them.
func word(line []byte) (arg string, n int) {
	var out []byte
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == '"' && c == '\\' && i+3 < len(line) && line[i+1] == 'x' && hex(line[i+2]) >= 0 && hex(line[i+3]) >= 0:
			out = append(out, byte(hex(line[i+2])<<4|hex(line[i+3])))
			i += 3
		case quote == '"' && c == '\\' && i+1 < len(line):
			i++
			out = append(out, escaped(line[i]))
		case quote == '\'' && c == '\\' && i+1 < len(line) && line[i+1] == '\'':
			i++
			out = append(out, '\'')
		case quote != 0 && c == quote:
			if i+1 < len(line) && !blank(line[i+1]) {
				return "", -1
			}
			return string(out), i + 1
		case quote == 0 && blank(c):
			return string(out), i
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		default:
			out = append(out, c)
		}
	}
	if quote != 0 {
		return "", -1
	}
	return string(out), len(line)
}

func blank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' || c == 0 }

func hex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func escaped(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return c
}
