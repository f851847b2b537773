package pythonscript

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/jail"
	"github.com/ramet-run/ramet/sdk"
)

var (
	//go:embed zygote.py
	zygote string
	//go:embed kept.py
	kept string
)

// source is the program of a parent.
var source = "LIBRARY = " + strconv.QuoteToASCII(sdk.Python) + "\n" + zygote + kept + "main()\n"

// Kinds of frames; see zygote.py.
const (
	frameRun    = 1
	frameSignal = 2
	frameKeep   = 3

	frameStarted = 1
	frameEnded   = 2
	frameReady   = 3
)

const frameBytes = 16

// unknownCode stands for an exit code that nobody could tell.
const unknownCode = 255

// readyTimeout bounds a parent's start: an interpreter on a cold, slow disk.
const readyTimeout = time.Minute

// writeTimeout bounds the sending of one frame. A parent reads within
// milliseconds unless something has stopped it.
const writeTimeout = 10 * time.Second

// killTimeout is how long a parent has to report a job that it was told to
// kill, before it is given up itself.
const killTimeout = 5 * time.Second

// parent is one process that forks jobs.
type parent struct {
	walled  bool   // it is behind a wall, and its jobs behind walls of their own
	program string // the interpreter
	process *jail.Process
	conn    *net.UnixConn
	gone    chan struct{} // closed by read when the process can no longer be asked
	closing atomic.Bool   // the pool is being closed

	writing sync.Mutex     // one frame at a time
	leaving sync.WaitGroup // the namespaces of mounts that are being left

	mu       sync.Mutex // guards what follows
	number   uint64
	children map[uint64]*child
	lost     bool
}

// child is one job at a parent.
type child struct {
	parent *parent
	number uint64
	pid    int                  // 0 until the parent told; guarded by parent.mu
	mounts int                  // its namespace of mounts, or -1; guarded by parent.mu
	kept   bool                 // it runs one job after the other
	began  chan struct{}        // then closed when the parent has told of it
	stands [2]int               // then descriptors of it and of process 1 of its world, or -1; guarded by parent.mu
	ended  chan unix.WaitStatus // gets one value; closed then, or when the parent is gone or could not fork
}

// startParent starts a parent and waits until it can fork. died is called,
// on a goroutine of its own, when it ends later.
func startParent(cell *jail.Jail, walled bool, cfg Config, interpreter string, died func()) (*parent, error) {
	conn, remote, err := socketPair()
	if err != nil {
		return nil, domain.Unavailablef("runtime \"python\": %v", err)
	}
	output, write, err := os.Pipe()
	if err != nil {
		conn.Close()
		remote.Close()
		return nil, domain.Unavailablef("runtime \"python\": %v", err)
	}
	defer output.Close()
	spec := jail.Spec{
		// The search path is for interpreters that are found by a script of
		// their own, as pyenv's are. The parent binds all functions of its
		// libraries at once, so that no job has to.
		Env: []string{"LD_BIND_NOW=1", "LANG=C.UTF-8", "HOME=/", "PATH=" + searchPath()},
		Dir: "/", Stdout: write, Stderr: write, Extra: []*os.File{remote}, Parent: true, Level: script.Open,
	}
	how := []string{"open"}
	switch {
	case walled:
		how = []string{"walled", hex.EncodeToString(jail.ForkCode()), strconv.Itoa(jail.ForkBase), strconv.Itoa(jail.ForkRoom), strconv.Itoa(jail.ForkedID),
			hex.EncodeToString(jail.ForkWorld())}
		spec.Level, spec.Programs, spec.See = script.Walled, []string{interpreter}, cfg.See
	case cell.Fenced():
		how = []string{"fenced"}
	}
	spec.Args = append([]string{interpreter, "-I", "-c", source, how[0], strings.Join(cfg.Preload, ",")}, how[1:]...)
	process, err := cell.Start(spec)
	// Both before it is waited for: or its death would not be heard.
	write.Close()
	remote.Close()
	if err != nil {
		conn.Close()
		return nil, domain.Unavailablef("runtime \"python\": %v", err)
	}
	p := &parent{walled: walled, program: interpreter, process: process, conn: conn, gone: make(chan struct{}), children: map[uint64]*child{}}
	if err := p.awaitReady(output); err != nil {
		conn.Close()
		<-process.Done()
		return nil, err
	}
	go p.read(died)
	return p, nil
}

func searchPath() string {
	if path := os.Getenv("PATH"); path != "" {
		return path
	}
	return script.DefaultPath
}

// socketPair makes the two ends, ours for the poller, theirs to inherit.
func socketPair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	mine, remote := os.NewFile(uintptr(fds[0]), "pool"), os.NewFile(uintptr(fds[1]), "pool")
	defer mine.Close()
	conn, err := net.FileConn(mine)
	if err != nil {
		remote.Close()
		return nil, nil, err
	}
	return conn.(*net.UnixConn), remote, nil
}

// awaitReady waits for the first frame; what the process printed instead
// explains why there is none.
func (p *parent) awaitReady(output *os.File) error {
	_ = p.conn.SetReadDeadline(time.Now().Add(readyTimeout))
	var frame [frameBytes]byte
	_, err := io.ReadFull(p.conn, frame[:])
	_ = p.conn.SetReadDeadline(time.Time{})
	if err == nil && binary.NativeEndian.Uint32(frame[:]) == frameReady {
		return nil
	}
	p.conn.Close()
	if err == io.EOF || err == io.ErrUnexpectedEOF { // it is ending by itself, and how is of interest
		select {
		case <-p.process.Done():
		case <-time.After(killTimeout):
		}
	}
	p.process.Kill()
	exit, _ := p.process.Await(context.Background(), 0)
	said, _ := io.ReadAll(io.LimitReader(output, script.TailBytes))
	if len(said) == 0 {
		return domain.Unavailablef("runtime \"python\": the interpreter does not start: exit code %d", exit.Code)
	}
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	return domain.Unavailablef("runtime \"python\": the interpreter does not start: %s", lines[len(lines)-1])
}

// dead tells whether the parent can no longer be asked.
func (p *parent) dead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// submit sends a job, or what an interpreter that is kept begins with, with the number
// of bytes of its plan.
func (p *parent) submit(kind uint32, plan int, descriptors []int) (*child, error) {
	c := &child{parent: p, mounts: -1, kept: kind == frameKeep, began: make(chan struct{}), stands: [2]int{-1, -1}, ended: make(chan unix.WaitStatus, 1)}
	p.mu.Lock()
	if p.lost {
		p.mu.Unlock()
		return nil, net.ErrClosed
	}
	p.number++
	c.number = p.number
	p.children[c.number] = c
	p.mu.Unlock()
	if err := p.write(frame(kind, plan, c.number), unix.UnixRights(descriptors...)); err != nil {
		<-p.gone // then it is known whether the job had begun
	}
	return c, nil
}

func frame(kind uint32, value int, number uint64) []byte {
	frame := make([]byte, 0, frameBytes)
	frame = binary.NativeEndian.AppendUint32(frame, kind)
	frame = binary.NativeEndian.AppendUint32(frame, uint32(value))
	return binary.NativeEndian.AppendUint64(frame, number)
}

// write sends one frame. A parent that takes none, or a part of one, is of no
// further use. What it has said is still read: it may be that jobs have begun.
func (p *parent) write(frame, rights []byte) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	_ = p.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	n, _, err := p.conn.WriteMsgUnix(frame, rights, nil)
	if err == nil && n < len(frame) {
		_, err = p.conn.Write(frame[n:])
	}
	if err != nil {
		p.process.Kill()
	}
	return err
}

// signal sends a signal to the group of a child that has not been collected.
func (c *child) signal(signal syscall.Signal) {
	_ = c.parent.write(frame(frameSignal, int(signal), c.number), nil) // should it be dead, its children get their end otherwise
}

// read takes the parent's frames until there are no more.
func (p *parent) read(died func()) {
	rights := rightsReader{conn: p.conn}
	reader := bufio.NewReader(&rights)
	var frame [frameBytes]byte
	for {
		if _, err := io.ReadFull(reader, frame[:]); err != nil {
			break
		}
		kind, value := binary.NativeEndian.Uint32(frame[:]), int32(binary.NativeEndian.Uint32(frame[4:]))
		p.take(kind, value, binary.NativeEndian.Uint64(frame[8:]), &rights)
	}
	rights.close()
	p.conn.Close()
	if p.closing.Load() { // it ends by itself, and then what its jobs have used is known
		select {
		case <-p.process.Done():
		case <-time.After(killTimeout):
		}
	}
	p.process.Kill()   // it may be hanging, or mad
	<-p.process.Done() // its children are the node's from here on
	p.mu.Lock()
	p.lost = true
	for _, c := range p.children {
		close(c.ended)
		c.leave()
	}
	p.mu.Unlock()
	close(p.gone)
	go died()
}

// take handles one frame, with the descriptors that belong to it.
func (p *parent) take(kind uint32, value int32, number uint64, rights *rightsReader) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, found := p.children[number]
	if !found {
		return // there is none that the parent was not given
	}
	switch {
	case kind == frameStarted && value > 0:
		c.pid = int(value)
		if p.walled {
			c.mounts = rights.next()
		}
		if c.kept {
			c.stands = [2]int{rights.next(), rights.next()}
			close(c.began)
		}
	case kind == frameStarted:
		delete(p.children, number)
		close(c.ended)
	case kind == frameEnded:
		delete(p.children, number)
		c.ended <- unix.WaitStatus(value)
		close(c.ended)
		c.leave()
	}
}

// leave lets go of the namespace of mounts of a job that has ended. The last one
// to do so waits for all processors, and so nobody waits for it. The caller has
// parent.mu.
func (c *child) leave() {
	if mounts := c.mounts; mounts >= 0 {
		c.parent.leaving.Go(func() { unix.Close(mounts) })
	}
	for _, fd := range c.stands {
		if c.kept && fd >= 0 {
			unix.Close(fd)
		}
	}
	c.mounts, c.stands = -1, [2]int{-1, -1}
}

// standsFor gives away what stands for a process that is kept, and for process 1 of its
// world. The process may have said that it is ready before its parent was heard.
func (c *child) standsFor() (process, first int) {
	select {
	case <-c.began:
	case <-c.parent.gone:
	}
	c.parent.mu.Lock()
	defer c.parent.mu.Unlock()
	process, first = c.stands[0], c.stands[1]
	c.stands = [2]int{-1, -1}
	return process, first
}

// rightsReader reads from a connection, and keeps the descriptors that come
// with it. They come with the frame that they belong to, and so in its order.
type rightsReader struct {
	conn *net.UnixConn
	fds  []int
}

func (r *rightsReader) Read(b []byte) (int, error) {
	oob := make([]byte, unix.CmsgSpace(16*4))
	n, used, _, _, err := r.conn.ReadMsgUnix(b, oob)
	if err != nil {
		return 0, err
	}
	messages, _ := unix.ParseSocketControlMessage(oob[:used])
	for i := range messages {
		fds, _ := unix.ParseUnixRights(&messages[i])
		r.fds = append(r.fds, fds...)
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// next takes the oldest descriptor; -1 is that there is none.
func (r *rightsReader) next() int {
	if len(r.fds) == 0 {
		return -1
	}
	fd := r.fds[0]
	r.fds = r.fds[1:]
	return fd
}

func (r *rightsReader) close() {
	for fd := r.next(); fd >= 0; fd = r.next() {
		unix.Close(fd)
	}
}

// told is the process id, or 0 if the parent did not get to tell it or could
// not fork.
func (c *child) told() int {
	c.parent.mu.Lock()
	defer c.parent.mu.Unlock()
	return c.pid
}

// await waits for the job's end, and makes it end when ctx does. begun is
// false when there never was a process.
func (c *child) await(ctx context.Context, cell *jail.Jail, tag jail.Tag, grace time.Duration) (end ending, stopped error, begun bool) {
	select {
	case status, told := <-c.ended:
		if !told {
			return c.adopt(ctx, cell, tag, grace)
		}
		if !c.parent.walled {
			cell.Sweep(tag)
		}
		return ending{exit: script.ExitOf(syscall.WaitStatus(status))}, nil, true
	case <-ctx.Done():
		return c.stop(ctx, cell, tag, grace)
	}
}

// stop tells the job to stop, kills it when its grace is over, and gives up
// a parent that does not report its end even then.
func (c *child) stop(ctx context.Context, cell *jail.Jail, tag jail.Tag, grace time.Duration) (end ending, stopped error, begun bool) {
	if full := (*script.FullError)(nil); errors.As(context.Cause(ctx), &full) {
		grace = time.Millisecond // it would go on to write
	}
	hard := make(chan struct{})
	c.signal(unix.SIGTERM)
	c.signal(unix.SIGCONT) // a stopped process would not hear it
	kill := time.AfterFunc(grace, func() {
		close(hard)
		c.signal(unix.SIGKILL)
	})
	defer kill.Stop()
	giveUp := time.AfterFunc(grace+killTimeout, c.parent.process.Kill)
	defer giveUp.Stop()
	status, told := <-c.ended
	if !told {
		return c.adopt(ctx, cell, tag, grace)
	}
	if !c.parent.walled {
		cell.Linger(tag, hard)
		cell.Sweep(tag)
	}
	return ending{exit: script.ExitOf(syscall.WaitStatus(status))}, context.Cause(ctx), true
}

// adopt goes on with a job whose parent has died. Behind a wall it has died with
// it: begun, it is never run twice.
func (c *child) adopt(ctx context.Context, cell *jail.Jail, tag jail.Tag, grace time.Duration) (end ending, stopped error, begun bool) {
	pid := c.told()
	if !c.parent.walled {
		process, found := cell.Adopt(pid, tag)
		if found {
			end.exit, stopped = process.Await(ctx, grace)
			return end, stopped, true
		}
		cell.Sweep(tag)
	}
	if pid == 0 {
		return end, nil, false
	}
	return ending{exit: script.Exit{Code: unknownCode}, unknown: true}, script.Stop(ctx), true
}
