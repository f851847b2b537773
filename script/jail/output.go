package jail

import (
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/script"
)

// bufferBytes is what is read from a process's output at once: a pipe holds no
// more.
const bufferBytes = 64 << 10

var buffers = sync.Pool{New: func() any { return new([bufferBytes]byte) }}

// Output connects the two outputs of a process to a capture. Whatever a
// process writes, only one buffer per stream is held.
type Output struct {
	// Stdout and Stderr are for the process.
	Stdout, Stderr *os.File

	capture *script.Capture
	mu      sync.Mutex // held by who reads
	ends    [2]*os.File
	readers sync.WaitGroup
}

// NewOutput makes the pipes.
func NewOutput(capture *script.Capture) (*Output, error) {
	stdoutEnd, stdout, err := pipe()
	if err != nil {
		return nil, err
	}
	stderrEnd, stderr, err := pipe()
	if err != nil {
		stdoutEnd.Close()
		stdout.Close()
		return nil, err
	}
	return &Output{Stdout: stdout, Stderr: stderr, capture: capture, ends: [2]*os.File{stdoutEnd, stderrEnd}}, nil
}

// Started closes the process's ends and begins to read.
func (o *Output) Started() {
	o.Stdout.Close()
	o.Stderr.Close()
	o.readers.Go(func() { o.drain(o.ends[0], o.capture.Stdout, nil) })
	o.readers.Go(func() { o.drain(o.ends[1], o.capture.Stderr, o.ends[0]) })
}

// Wait returns when everything has been read. All that held the process's
// ends is gone by then, where this system can find it.
func (o *Output) Wait() {
	bound(o.ends)
	o.readers.Wait()
}

// Close is for a process that did not start.
func (o *Output) Close() {
	for _, file := range []*os.File{o.Stdout, o.Stderr, o.ends[0], o.ends[1]} {
		file.Close()
	}
}

// drain passes on what a file has, until nothing more will come. Two pipes do not tell which
// of them was written to first. What is read while a script goes on writing is in the order
// in which it was written; of what lies in both, the standard output comes first, of which
// earlier has the end: a script says what it does, and then what went wrong with it.
func (o *Output) drain(from *os.File, to io.Writer, earlier *os.File) {
	defer from.Close()
	raw, err := from.SyscallConn()
	if err != nil {
		return
	}
	before := func() {}
	if earlier != nil {
		if stdout, err := earlier.SyscallConn(); err == nil {
			before = func() { _ = stdout.Control(func(fd uintptr) { pass(fd, o.capture.Stdout) }) } // it may be closed by now
		}
	}
	// Its error is that the file has a deadline, which is over.
	_ = raw.Read(func(fd uintptr) (last bool) {
		for {
			o.mu.Lock()
			before()
			got := pass(fd, to)
			o.mu.Unlock()
			if got != something {
				return got == end
			}
		}
	})
}

// What came of reading.
const (
	something = iota
	nothing   // now: more may come
	end
)

// pass passes on a buffer of what a descriptor has that does not block.
func pass(fd uintptr, to io.Writer) int {
	buffer := buffers.Get().(*[bufferBytes]byte)
	defer buffers.Put(buffer)
	for {
		n, err := unix.Read(int(fd), buffer[:])
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			return nothing
		case err != nil || n == 0:
			return end
		default:
			_, _ = to.Write(buffer[:n])
			return something
		}
	}
}
