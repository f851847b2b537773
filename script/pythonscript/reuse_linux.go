package pythonscript

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/jail"
)

// This file is for Config.Reuse: interpreters that run one job after the other, each
// in a world that a parent forked it into, as it does with a job. A job moves in by its
// work folder: that is moved into the interpreter's room, which lies in the world where the folder's
// own parent lies outside, so that it is found at the same path. When the job has
// ended, the interpreter is stopped, looked at, and the folder moved back.

// What an interpreter that is kept says; see kept.py.
const (
	answerReady = 1
	answerBegun = 2
)

// idleTime is how long an interpreter waits for another job. It costs memory, and next
// to nothing to make another.
const idleTime = 10 * time.Second

// lingerRead is how long to read on what an interpreter that has ended its job may
// still hold open: an honest one has let go of it, and the readers need a processor only.
const lingerRead = 10 * time.Second

// house is whose jobs an interpreter runs: those of one caller in one context, that
// are held in equally far and work in the same folder.
type house struct {
	context domain.TenantID
	caller  domain.ActorID
	level   script.Level
	limits  script.Limits
	parent  string // of the work folders
}

// resident is one interpreter that is kept.
type resident struct {
	*jail.Resident
	house house
	child *child
	conn  *net.UnixConn
	ready chan uint64        // told when it waits for a job: the number of the one behind it; closed by listen at its end
	begun atomic.Bool        // it has said that it begins its job
	job   atomic.Uint64      // the number of the job that it was given last, from 1; answers have it
	room  *script.TempFolder // that work folders are moved into
	left  int                // jobs that it may still run
	idle  *time.Timer        // ends it
}

// roomPrefix is what the names of rooms begin with.
const roomPrefix = ".ramet-python-"

// residents are the interpreters of a pool that wait for jobs.
type residents struct {
	pool *pool
	most int

	ending sync.WaitGroup // those that are thrown away
	swept  sync.Map       // folders in which rooms of killed nodes were looked for

	mu      sync.Mutex // guards what follows
	waiting []*resident
	closed  bool
}

// run runs a job in an interpreter that is kept. ran is false where there is none
// for it: then the job has not begun, and is to be forked.
func (s *residents) run(ctx context.Context, task script.Task, path string, host script.Host) (outcome script.Outcome, ran bool, err error) {
	cell, err := s.pool.jail.Get()
	if err != nil {
		return outcome, false, err
	}
	r := s.take(ctx, cell, task)
	if r == nil {
		return outcome, false, nil // the fork tells what stands against it
	}
	name := filepath.Join(r.room.Path, filepath.Base(task.Dir))
	if err := moveIn(task.Dir, name); err != nil {
		s.end(r)
		return outcome, false, nil
	}
	capture := script.NewCapture(task, host)
	watched := task
	watched.Dir = r.room.Path // with what a job puts beside its folder
	watch, quota := script.Watch(ctx, watched)
	end, stopped, begun, fit, err := r.run(watch, cell, task, path, name, s.pool.cfg.Env, capture)
	if !fit {
		r.stop()
	}
	stopped = quota.Close(stopped)
	back := moveOut(name, task.Dir)
	if fit && stopped == nil && back == nil && r.tidy() {
		s.give(r)
	} else {
		s.end(r)
	}
	switch {
	case back != nil:
		return outcome, begun, fmt.Errorf("run job %q: %w", task.Name, back)
	case err != nil:
		return outcome, begun, fmt.Errorf("run job %q: %w", task.Name, err)
	case !begun:
		return outcome, false, nil
	}
	return outcomeOf(end, task, capture, host, stopped), true, nil
}

// moveIn moves a work folder into a room. In its place lies a link, by which the node
// finds the checkpoint meanwhile.
func moveIn(dir, name string) error {
	if err := os.Rename(dir, name); err != nil {
		return err
	}
	// Relative, and so short enough to lie in the folder itself.
	to, err := filepath.Rel(filepath.Dir(dir), name)
	if err == nil {
		err = os.Symlink(to, dir)
	}
	if err != nil {
		_ = os.Rename(name, dir)
		return err
	}
	return nil
}

// moveOut moves it back.
func moveOut(name, dir string) error {
	if err := os.Remove(dir); err != nil {
		return err
	}
	return os.Rename(name, dir)
}

// tidy tells whether its room is empty.
func (r *resident) tidy() bool {
	folder, err := os.Open(r.room.Path)
	if err != nil {
		return false
	}
	defer folder.Close()
	names, err := folder.Readdirnames(1)
	return len(names) == 0 && err == io.EOF
}

// take finds an interpreter that waits, or makes one; nil is that there can be none.
func (s *residents) take(ctx context.Context, cell *jail.Jail, task script.Task) *resident {
	dir := filepath.Clean(task.Dir)
	h := house{task.Context, task.Caller, task.Level, task.Limits, filepath.Dir(dir)}
	for {
		r, more := s.waitingFor(h)
		switch {
		case r == nil && !more:
			return nil
		case r == nil:
			return s.start(ctx, cell, h)
		case r.alive():
			return r
		}
		s.end(r)
	}
}

// waitingFor takes the one that waited least. more is whether one may be made where there is none.
func (s *residents) waitingFor(h house) (r *resident, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, r := range slices.Backward(s.waiting) {
		if r.house == h && r.idle.Stop() {
			s.waiting = slices.Delete(s.waiting, i, i+1)
			return r, true
		}
	}
	return nil, !s.closed
}

// give has an interpreter wait for its next job. Where too many wait, the one that has done so longest goes.
func (s *residents) give(r *resident) {
	s.mu.Lock()
	var gone *resident
	if len(s.waiting) >= s.most && s.waiting[0].idle.Stop() {
		gone = s.waiting[0]
		s.waiting = slices.Delete(s.waiting, 0, 1)
	}
	closed := s.closed
	if !closed {
		s.waiting = append(s.waiting, r)
		r.idle = time.AfterFunc(idleTime, func() { s.expire(r) })
	}
	s.mu.Unlock()
	if closed {
		s.end(r)
	}
	if gone != nil {
		s.ending.Go(func() { s.end(gone) })
	}
}

// expire ends one that has waited for long enough.
func (s *residents) expire(r *resident) {
	s.mu.Lock()
	i := slices.Index(s.waiting, r)
	if i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
		s.ending.Add(1)
		defer s.ending.Done()
	}
	s.mu.Unlock()
	if i >= 0 {
		s.end(r)
	}
}

func (s *residents) close() {
	s.mu.Lock()
	all := s.waiting
	s.waiting, s.closed = nil, true
	s.mu.Unlock()
	for _, r := range all {
		r.idle.Stop()
		s.ending.Go(func() { s.end(r) })
	}
	s.ending.Wait()
}

// start makes an interpreter, and waits until it is behind its walls; nil is that
// there is none, and the fork of the job will tell why.
func (s *residents) start(ctx context.Context, cell *jail.Jail, h house) *resident {
	work, found := cell.WorkOf(h.parent)
	if !found || !cell.Looks() {
		return nil // what would be mounted there is in the way of other things
	}
	if _, done := s.swept.LoadOrStore(work, nil); !done {
		script.SweepTempFolders(work, roomPrefix)
	}
	room, err := script.NewTempFolder(work, roomPrefix)
	if err != nil {
		return nil
	}
	r := &resident{house: h, room: room, left: s.pool.cfg.Reuse, ready: make(chan uint64, 1)}
	if err := r.fork(s.pool, cell); err == nil {
		select {
		case <-ctx.Done(): // to give the job up is for who forks it
		case _, found := <-r.ready:
			if found {
				if r.Resident, err = jail.NewResident(r.child.standsFor()); err == nil && r.Hold() {
					return r
				}
			}
		}
	}
	s.end(r)
	return nil
}

// fork has a parent fork it.
func (r *resident) fork(p *pool, cell *jail.Jail) error {
	parent, err := p.parent()
	if err != nil {
		return err
	}
	conn, remote, err := socketPair()
	if err != nil {
		return err
	}
	r.conn = conn
	defer remote.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	spec := jail.Spec{Dir: r.house.parent, Room: r.room.Path, Limits: r.house.limits, Stdout: null, Stderr: null,
		Programs: []string{parent.program}, See: p.cfg.See}
	if spec.Limits.CPU > 0 {
		spec.Limits.CPU += time.Second // all that its other jobs may have used; see KEPT_SECONDS
	}
	plan, err := cell.ForkPlan(spec, r.house.level, cell.NextTag())
	if err != nil {
		return err
	}
	file, err := memory(plan)
	if err != nil {
		return err
	}
	defer unix.Close(file)
	nothing := int(null.Fd())
	r.child, err = parent.submit(frameKeep, len(plan), []int{nothing, nothing, file, int(remote.Fd())})
	if err != nil {
		return err
	}
	go r.listen()
	return nil
}

// listen reads its answers: that it waits for a job, or begins one. What else it may say ends
// it. About which job an answer is, is looked at by who waits for it: a job may have written
// one itself, and how much later that is read hangs on how quick everybody is.
func (r *resident) listen() {
	defer close(r.ready)
	var answer [frameBytes]byte
	for {
		_, err := io.ReadFull(r.conn, answer[:])
		kind, job := binary.NativeEndian.Uint32(answer[:]), binary.NativeEndian.Uint64(answer[8:])
		switch {
		case err != nil:
			return
		case kind == answerBegun:
			if job == r.job.Load() {
				r.begun.Store(true)
			}
		case kind != answerReady || !r.tell(job):
			return
		}
	}
}

// tell passes on that it waits, unless it has said so already.
func (r *resident) tell(job uint64) bool {
	select {
	case r.ready <- job:
		return true
	default:
		return false
	}
}

// over tells whether nothing of it is left.
func (r *resident) over() bool {
	select {
	case <-r.child.ended: // closed, once its end was taken
		return true
	default:
		return false
	}
}

// neverBegan tells of an interpreter that has ended whether it ended before it began its job.
func (r *resident) neverBegan() bool {
	for range r.ready { // until all that it said has been read
	}
	return !r.begun.Load()
}

// alive tells whether it can be given a job.
func (r *resident) alive() bool {
	r.child.parent.mu.Lock()
	_, there := r.child.parent.children[r.child.number]
	there = there && !r.child.parent.lost
	r.child.parent.mu.Unlock()
	select {
	case <-r.ready: // unasked, or at its end
		return false
	default:
		return there
	}
}

// run runs a job to its end. begun is whether it got so far. fit is whether the
// interpreter can run another: it is stopped then, and nothing of the job is left in it that runs.
func (r *resident) run(ctx context.Context, cell *jail.Jail, task script.Task, path, name string, env map[string]string,
	capture *script.Capture) (end ending, stopped error, begun, fit bool, err error) {
	body, err := encode(task, path, 0, script.Environ(task, env))
	if err != nil {
		return end, nil, true, false, err
	}
	output, err := jail.NewOutput(capture)
	if err != nil {
		return end, nil, true, false, err
	}
	if err = cell.Give(name, output.Stdout, output.Stderr); err == nil {
		begun, err = r.begin(ctx, body, output)
	}
	if !begun {
		output.Close()
		if err != nil && err == script.Stop(ctx) {
			return ending{exit: script.Exit{Code: 128 + int(unix.SIGTERM), Signal: unix.SIGTERM}}, err, true, false, nil
		}
		return end, nil, false, false, err
	}
	output.Started()
	end, stopped, fit = r.await(ctx, cell, cmp.Or(task.Grace, script.DefaultGrace))
	// It has let go of the outputs, unless the script was out to keep them.
	kept := time.AfterFunc(lingerRead, r.kill)
	output.Wait()
	fit = kept.Stop() && fit
	return end, stopped, fit || stopped != nil || !r.over() || !r.neverBegan(), fit, nil
}

// begin gives it a job, unless that is to stop when all is ready. An interpreter that
// has ended meanwhile is no error: the job has not begun.
func (r *resident) begin(ctx context.Context, body []byte, output *jail.Output) (begun bool, err error) {
	file, err := memory(body)
	if err != nil {
		return false, err
	}
	defer unix.Close(file)
	last := 0
	if r.left--; r.left == 0 {
		last = 1
	}
	if err := script.Stop(ctx); err != nil {
		return false, err
	}
	r.begun.Store(false)
	job := r.job.Add(1)
	if r.Release() != nil {
		return false, nil
	}
	rights := unix.UnixRights(int(output.Stdout.Fd()), int(output.Stderr.Fd()), file)
	_ = r.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	n, _, _ := r.conn.WriteMsgUnix(frame(frameRun, last, job), rights, nil)
	return n > 0, nil
}

// await waits for the end of a job, or of the interpreter, and makes it end when ctx does.
func (r *resident) await(ctx context.Context, cell *jail.Jail, grace time.Duration) (end ending, stopped error, fit bool) {
	fit = true
	for ready := r.ready; ; {
		select {
		case job, said := <-ready:
			switch {
			case !said:
				ready = nil
				_ = r.conn.CloseWrite() // what it said was no answer, or it is ending: that is waited for
			case job != r.job.Load():
				fit = false // a job before this one has answered for itself
			case fit && r.Hold():
				return end, nil, true
			default: // the job has succeeded, and what it left ends with it
				r.kill()
				<-r.child.ended
				return end, nil, false
			}
		case status, told := <-r.child.ended:
			if !told {
				end, stopped, _ = r.child.adopt(ctx, cell, 0, grace)
				return end, stopped, false
			}
			return ending{exit: script.ExitOf(syscall.WaitStatus(status))}, nil, false
		case <-ctx.Done():
			_ = r.conn.CloseWrite() // it is to end, also if it ends its job well
			end, stopped, _ = r.child.stop(ctx, cell, 0, grace)
			return end, stopped, false
		}
	}
}

// kill ends it with all that is in its world.
func (r *resident) kill() { r.child.signal(unix.SIGKILL) }

// stop ends it, and returns when nothing of it runs.
func (r *resident) stop() {
	if r.child == nil {
		return
	}
	r.kill()
	giveUp := time.AfterFunc(killTimeout, r.child.parent.process.Kill)
	defer giveUp.Stop()
	<-r.child.ended
}

// end throws an interpreter away.
func (s *residents) end(r *resident) {
	r.stop()
	if r.conn != nil {
		r.conn.Close()
	}
	if r.Resident != nil {
		r.Close()
	}
	_ = r.room.Remove() // a node that starts later tries again
}
