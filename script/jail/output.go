package jail

import (
	"io"
	"os"
	"sync"

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
	o.readers.Go(func() { drain(o.ends[0], o.capture.Stdout) })
	o.readers.Go(func() { drain(o.ends[1], o.capture.Stderr) })
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

func drain(from *os.File, to io.Writer) {
	defer from.Close()
	buffer := buffers.Get().(*[bufferBytes]byte)
	defer buffers.Put(buffer)
	for {
		n, err := from.Read(buffer[:])
		_, _ = to.Write(buffer[:n])
		if err != nil {
			return
		}
	}
}
