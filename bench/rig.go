package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/encryptedboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/encryption"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/leash"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// rig is a board with an engine, as a node has them.
type rig struct {
	kind   string // of the board
	board  board.Board
	bare   board.Board // the same, below encryption
	engine *work.Engine
	dir    string
	redis  *exec.Cmd
	// redisAddr is where redis listens.
	redisAddr string
	etcd      *exec.Cmd
	etcdAddr  string

	noop  *noop
	ended atomic.Int64  // jobs whose end is on the board
	want  atomic.Int64  // how many waitEnded waits for
	there chan struct{} // told when they are; capacity 1
	stop  func()
}

// openRig opens a fresh board of the given kind.
func openRig(kind, under string) (*rig, error) {
	dir, err := os.MkdirTemp(under, "ramet-bench-")
	if err != nil {
		return nil, err
	}
	r := &rig{kind: kind, dir: dir, noop: &noop{}, stop: func() {}, there: make(chan struct{}, 1)}
	switch kind {
	case "mem":
		r.board = memboard.Open()
	case "pebble":
		r.board, err = pebbleboard.Open(dir, pebbleboard.Config{})
	case "redis-everysec", "redis-always":
		r.board, err = r.openRedis(strings.TrimPrefix(kind, "redis-"))
	case "etcd":
		r.board, err = r.openEtcd()
	default:
		err = fmt.Errorf("no board %q; there are mem, pebble, redis-everysec, redis-always, etcd", kind)
	}
	if err != nil {
		return nil, err
	}
	r.bare = r.board
	if r.board, err = encrypted(r.board, *encrypt); err != nil {
		return nil, err
	}
	access := identity.NewAccess(identity.NewRegistry(r.board), nil)
	permit := func(ctx context.Context, t domain.TenantID, a domain.ActorID, object string) error {
		return access.Check(ctx, identity.Ask{Actor: a, Verb: domain.VerbCreate, Tenant: t, Object: object})
	}
	r.engine = work.New(r.board, work.Config{DataDir: dir, Observer: r, Permit: permit})
	return r, nil
}

// keys is a source with one key.
type keys string

func (k keys) Read(context.Context, string) (string, error) { return string(k), nil }

// encrypted is the board as a node has it (off), with every context of the
// measure encrypted (on), or bare (none).
func encrypted(b board.Board, how string) (board.Board, error) {
	if how == "none" {
		return b, nil
	}
	k, err := encryption.Open(context.Background(), b, keys(encryption.NewKEK()), nil)
	for t := domain.TenantID(1); how == "on" && err == nil && int(t) <= *contexts; t++ {
		_, err = k.Encrypt(context.Background(), t, "disk", domain.Operator)
	}
	return encryptedboard.New(b, k), err
}

// openRedis starts a server of its own on a free port of the loopback.
func (r *rig) openRedis(fsync string) (board.Board, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	r.redisAddr = addr
	_, port, _ := net.SplitHostPort(addr)
	l.Close()
	r.redis = exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--dir", r.dir, "--save", "",
		"--appendonly", "yes", "--appendfsync", fsync, "--databases", "1100", "--loglevel", "warning")
	if err := leash.Start(r.redis, syscall.SIGKILL); err != nil {
		return nil, fmt.Errorf("start redis-server: %w", err)
	}
	for range 200 {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return redisboard.Open(context.Background(), "redis://"+addr, redisboard.Config{})
}

// run starts the runner and the routines, as a node does.
func (r *rig) run() {
	ctx, cancel := context.WithCancel(context.Background())
	runner := work.NewRunner(r.engine, work.RunnerConfig{ID: 1, Owner: "bench/1", Runtimes: []script.Runtime{r.noop},
		Several: func() bool { return *contexts > 1 }})
	var wg sync.WaitGroup
	wg.Go(func() { check(runner.Run(ctx)) })
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	wg.Go(func() {
		check(clockwork.Run(ctx, r.board, clockwork.Config{Owner: "bench/1", Logger: log}, []clockwork.Maintenance{
			clockwork.Alarms(r.board, log, r.engine.HandleAlarm, nil),
			clockwork.Leases(r.board, log, r.engine.RecoverLease),
			clockwork.Audits(r.board, r.engine, nil, log, nil),
		}))
	})
	r.stop = func() { cancel(); wg.Wait(); r.stop = func() {} }
}

func (r *rig) close() {
	r.stop()
	check(r.board.Close())
	for _, server := range []*exec.Cmd{r.redis, r.etcd} {
		if server != nil {
			_ = server.Process.Kill()
			_ = server.Wait()
		}
	}
	check(os.RemoveAll(r.dir))
}

// JobsClaimed, AttemptBegun, AttemptEnded and LeaseLost make the rig the engine's observer.
func (r *rig) JobsClaimed(domain.ScriptType, int) {}

func (r *rig) AttemptBegun(domain.TenantID, domain.ScriptType, bool, time.Duration) {}

func (r *rig) LeaseLost(domain.ScriptType) {}

func (r *rig) AttemptEnded(_ domain.TenantID, _ domain.ScriptType, status domain.JobStatus, _ domain.Reason, _ time.Duration) {
	if status == domain.JobFinished && r.ended.Add(1) == r.want.Load() {
		select {
		case r.there <- struct{}{}:
		default:
		}
	}
}

// waitEnded waits until n jobs have ended.
func (r *rig) waitEnded(n int) {
	r.want.Store(int64(n))
	for r.ended.Load() < int64(n) {
		<-r.there // it may be an old word
	}
}

// fill makes the contexts and queues n jobs, in batches.
func (r *rig) fill(n, tenants int) {
	var b board.Batch
	for t := range tenants {
		r.admit(domain.TenantID(t + 1))
		b.Include(layout.Contexts, strconv.Itoa(t+1))
		if len(b.Ops) == board.MaxOps || t == tenants-1 {
			check(r.board.Commit(context.Background(), b))
			b = board.Batch{}
		}
	}
	const batch = 1000
	for done, t := 0, 0; done < n; t++ {
		k := min(batch, n-done, max(1, n/tenants))
		r.submit(domain.TenantID(t%tenants+1), noopJobs(k))
		done += k
	}
}

// admit makes the caller of all jobs an admin of a context.
func (r *rig) admit(t domain.TenantID) {
	b := board.Batch{Space: layout.SpaceOf(t)}
	c := domain.Tenant{ID: t, Admins: []domain.ActorID{1}}
	b.Set(c.Key(), layout.EncodeTenant(c)...)
	check(r.board.Commit(context.Background(), b))
}

func noopJobs(n int) []*domain.Job {
	list := make([]*domain.Job, n)
	for i := range list {
		list[i] = &domain.Job{CallerID: 1, Script: "a payload of thirty-two bytes...", ScriptType: "noop"}
	}
	return list
}

func (r *rig) submit(t domain.TenantID, jobs []*domain.Job) {
	receipts, err := r.engine.Submit(context.Background(), t, jobs)
	check(err)
	for _, rc := range receipts {
		check(rc.Err)
	}
}

// serverCPU is the processor time of the board's own process, in seconds.
func (r *rig) serverCPU() (s float64) {
	for _, server := range []*exec.Cmd{r.redis, r.etcd} {
		if server != nil {
			s += processCPU(server.Process.Pid)
		}
	}
	return s
}

// processCPU is the processor time of another process, in seconds.
func processCPU(pid int) float64 {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	check(err)
	f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+2:]))
	user, _ := strconv.ParseFloat(f[11], 64)
	sys, _ := strconv.ParseFloat(f[12], 64)
	return (user + sys) / 100
}

// selfCPU is this process's processor time, in seconds.
func selfCPU() float64 { return usedCPU(syscall.RUSAGE_SELF) }

// childrenCPU is that of the children, and of theirs, that have been waited for.
func childrenCPU() float64 { return usedCPU(syscall.RUSAGE_CHILDREN) }

func usedCPU(who int) float64 {
	var u syscall.Rusage
	check(syscall.Getrusage(who, &u))
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// peakMB is this process's peak resident memory.
func peakMB() float64 {
	var u syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return round(float64(u.Maxrss) / 1024)
}

// noop is a runtime inside the process whose scripts do nothing.
type noop struct {
	started atomic.Pointer[chan time.Time] // told of each start, if set
}

var noopResult = map[string]string{"exit_code": "0"}

// leaving is a script that leaves a result of a hundred bytes, listing one that leaves a list of
// 10,000 elements.
const leaving, listing = "leaves something", "leaves a list"

var (
	leftResult = map[string]string{"exit_code": "0", "left": strings.Repeat("x", 100)}
	listResult = map[string]string{"exit_code": "0", "list": "[" + strings.Repeat("12345,", 9_999) + "12345]"}
)

func (*noop) Type() domain.ScriptType     { return "noop" }
func (*noop) Check(context.Context) error { return nil }
func (*noop) Close() error                { return nil }
func (*noop) Info() script.Info {
	return script.Info{Summary: "does nothing", Slots: script.InProcessSlots, InProcess: true}
}

func (n *noop) Run(_ context.Context, t script.Task, _ script.Host) (script.Outcome, error) {
	if c := n.started.Load(); c != nil {
		*c <- time.Now()
	}
	switch t.Script {
	case leaving:
		return script.Outcome{Verdict: script.Succeeded, Result: leftResult}, nil
	case listing:
		return script.Outcome{Verdict: script.Succeeded, Result: listResult}, nil
	}
	return script.Outcome{Verdict: script.Succeeded, Result: noopResult}, nil
}
