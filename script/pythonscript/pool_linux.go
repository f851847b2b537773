package pythonscript

import (
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/jail"
)

// pooled tells whether this system can have a pool.
const pooled = true

// startAttempts is how many parents may die before a job has begun.
const startAttempts = 3

// pool keeps the parents of one kind and gives jobs to them in turn.
type pool struct {
	walled bool
	cfg    Config
	jail   *jail.Lazy
	find   func(context.Context) (Interpreter, error)
	turn   atomic.Uint64
	kept   *residents // nil where nothing is used again

	mu      sync.Mutex // guards what follows; held while a parent starts
	parents []*parent
	closed  bool
}

// ending is how a job ended.
type ending struct {
	exit    script.Exit
	unknown bool // nobody was left to tell
}

func newPool(walled bool, cfg Config, cell *jail.Lazy, find func(context.Context) (Interpreter, error)) *pool {
	p := &pool{walled: walled, cfg: cfg, jail: cell, find: find, parents: make([]*parent, cfg.Parents)}
	if walled && cfg.Reuse > 0 {
		p.kept = &residents{pool: p, most: cfg.Slots}
	}
	return p
}

// parent returns one that is alive, starting it where needed.
func (p *pool) parent() (*parent, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, domain.Unavailablef("runtime \"python\" is closed")
	}
	place := &p.parents[p.turn.Add(1)%uint64(len(p.parents))]
	if *place != nil && !(*place).dead() {
		return *place, nil
	}
	if *place != nil {
		<-(*place).process.Done() // so that no more than one is there at a time
	}
	next, err := p.start()
	if err != nil {
		return nil, err
	}
	*place = next
	return next, nil
}

func (p *pool) start() (*parent, error) {
	cell, err := p.jail.Get()
	if err != nil {
		return nil, err
	}
	found, err := p.find(context.Background())
	if err != nil {
		return nil, err
	}
	return startParent(cell, p.walled, p.cfg, found.path, p.revive)
}

// revive replaces a parent that died, so that the next job need not wait.
func (p *pool) revive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, old := range p.parents {
		if p.closed || old == nil || !old.dead() {
			continue
		}
		<-old.process.Done()
		p.parents[i] = nil // when it cannot be started, the next job tells why
		if next, err := p.start(); err == nil {
			p.parents[i] = next
		}
	}
}

// reuse runs a script in an interpreter that is kept; ran is false where it is to be forked.
func (p *pool) reuse(ctx context.Context, task script.Task, path string, host script.Host) (outcome script.Outcome, ran bool, err error) {
	if p.kept == nil {
		return outcome, false, nil
	}
	return p.kept.run(ctx, task, path, host)
}

// run runs a script to its end; stopped is why it was made to end, or nil.
func (p *pool) run(ctx context.Context, task script.Task, path string, capture *script.Capture) (end ending, stopped error, err error) {
	cell, err := p.jail.Get()
	if err != nil {
		return end, nil, err
	}
	tag := cell.NextTag()
	body, err := encode(task, path, tag, script.Environ(task, p.cfg.Env))
	if err != nil {
		return end, nil, err
	}
	for range startAttempts {
		var begun bool
		end, stopped, begun, err = p.try(ctx, cell, task, tag, body, capture)
		if begun || err != nil {
			return end, stopped, err
		}
	}
	return end, nil, domain.Unavailablef("the pool's parent process died or could not fork, %d times before the job began", startAttempts)
}

// try gives the job to a parent. begun is false when that died before it had
// made a process for it.
func (p *pool) try(ctx context.Context, cell *jail.Jail, task script.Task, tag jail.Tag, body []byte,
	capture *script.Capture) (end ending, stopped error, begun bool, err error) {
	parent, err := p.parent()
	if err != nil {
		return end, nil, false, err
	}
	output, err := jail.NewOutput(capture)
	if err != nil {
		return end, nil, false, err
	}
	child, err := p.give(ctx, cell, parent, task, tag, body, output)
	if err != nil && err == script.Stop(ctx) {
		output.Close()
		return ending{exit: script.Exit{Code: 128 + int(unix.SIGTERM), Signal: unix.SIGTERM}}, err, true, nil
	}
	if err != nil && !errors.Is(err, net.ErrClosed) {
		output.Close()
		return end, nil, false, err
	}
	output.Started()
	if err == nil {
		end, stopped, begun = child.await(ctx, cell, tag, cmp.Or(task.Grace, script.DefaultGrace))
	}
	output.Wait() // without a process too: then nobody holds the other ends
	return end, stopped, begun, nil
}

// give sends the job to a parent, unless it is to stop when all is ready.
//
// Errors: what [script.Stop] says, [net.ErrClosed] when the parent has died, others
// where the job cannot be held in.
func (p *pool) give(ctx context.Context, cell *jail.Jail, parent *parent, task script.Task, tag jail.Tag, body []byte,
	output *jail.Output) (*child, error) {
	var plan []byte
	var err error
	if p.walled {
		spec := jail.Spec{Dir: task.Dir, Limits: task.Limits, Stdout: output.Stdout, Stderr: output.Stderr,
			Programs: []string{parent.program}, See: p.cfg.See}
		if plan, err = cell.ForkPlan(spec, task.Level, tag); err != nil {
			return nil, err
		}
	}
	file, err := memory(plan, body)
	if err != nil {
		return nil, err
	}
	defer unix.Close(file)
	descriptors := []int{int(output.Stdout.Fd()), int(output.Stderr.Fd()), file}
	if !p.walled && cell.Fenced() {
		ruleset, err := cell.Ruleset(task.Dir)
		if err != nil {
			return nil, err
		}
		defer unix.Close(ruleset)
		descriptors = append(descriptors, ruleset)
	}
	if err := script.Stop(ctx); err != nil {
		return nil, err
	}
	return parent.submit(frameRun, len(plan), descriptors)
}

// memory makes a file in memory of those parts.
func memory(parts ...[]byte) (fd int, err error) {
	if fd, err = unix.MemfdCreate("ramet-job", unix.MFD_CLOEXEC); err != nil {
		return -1, os.NewSyscallError("memfd_create", err)
	}
	for _, part := range parts {
		for len(part) > 0 {
			n, err := unix.Write(fd, part)
			if err != nil {
				unix.Close(fd)
				return -1, os.NewSyscallError("write", err)
			}
			part = part[n:]
		}
	}
	return fd, nil
}

// close ends the parents. They kill what is left of their jobs.
func (p *pool) close() {
	if p.kept != nil {
		p.kept.close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, parent := range p.parents {
		if parent != nil {
			parent.closing.Store(true)
			parent.conn.Close()
		}
	}
	for _, parent := range p.parents {
		if parent != nil {
			<-parent.process.Done()
			<-parent.gone
			parent.leaving.Wait()
		}
	}
}

// encode makes the fields of a run; see zygote.py.
func encode(task script.Task, path string, tag jail.Tag, env []string) ([]byte, error) {
	var limits strings.Builder
	for _, l := range jail.RLimits(task.Limits, tag) {
		if l.Resource == unix.RLIMIT_RTTIME {
			continue // the tag: it has a field of its own
		}
		for _, n := range []uint64{uint64(l.Resource), l.Soft, l.Hard} {
			limits.WriteString(strconv.FormatUint(n, 10))
			limits.WriteByte(' ')
		}
	}
	head := []string{strconv.Itoa(len(env)), path, task.Dir, limits.String(), strconv.FormatUint(uint64(tag), 10)}
	body := make([]byte, 0, 1024+len(task.Script))
	for _, field := range append(head, env...) {
		if strings.IndexByte(field, 0) >= 0 {
			return nil, domain.Invalidf("environment of job %q: %q has a NUL character", task.Name, field)
		}
		body = append(append(body, field...), 0)
	}
	return append(body, task.Script...), nil
}
