package clockwork_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/watched"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// memArchive is an archive in memory that can be down, refuse a key, and tell when
// it is written to. It has only what the archiver needs.
type memArchive struct {
	archive.Archive
	before, after func(ctx context.Context) error // of each Put; may be nil
	refuse        string                          // a key that is invalid

	mu      sync.Mutex
	down    bool
	records map[end]archive.Record
	deletes []time.Time
	old     int // how many Delete still finds
}

// recordBytes is how large each of its records is.
const recordBytes = 1000

func (s *memArchive) Size(context.Context) (archive.Size, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return archive.Size{Records: int64(len(s.records)), Bytes: int64(len(s.records)) * recordBytes}, nil
}

func (s *memArchive) Cut(_ context.Context, before time.Time, limit int) (removed int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := range s.records {
		if removed < limit && e.ms < before.UnixMilli() {
			delete(s.records, e)
			removed++
		}
	}
	return removed, nil
}

// end is a record's identity.
type end struct {
	tenant domain.TenantID
	key    string
	ms     int64
}

func newMemArchive() *memArchive { return &memArchive{records: map[end]archive.Record{}} }

func (s *memArchive) set(down bool) { s.mu.Lock(); defer s.mu.Unlock(); s.down = down }

func (s *memArchive) Put(ctx context.Context, records []archive.Record) error {
	if s.before != nil {
		if err := s.before(ctx); err != nil {
			return err
		}
	}
	if err := s.put(records); err != nil {
		return err
	}
	if s.after != nil {
		return s.after(ctx)
	}
	return nil
}

func (s *memArchive) put(records []archive.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return domain.Unavailablef("the archive cannot be reached")
	}
	if err := archive.CheckBatch(records); err != nil {
		return err
	}
	for _, r := range records {
		if r.Key == s.refuse {
			return domain.Invalidf("record %q is not wanted", r.Key)
		}
	}
	for _, r := range records {
		s.records[end{r.Context, r.Key, r.EndMs}] = r
	}
	return nil
}

func (s *memArchive) Ping(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return domain.Unavailablef("the archive cannot be reached")
	}
	return nil
}

func (s *memArchive) Delete(_ context.Context, before time.Time, limit int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deletes = append(s.deletes, before)
	n := min(s.old, limit)
	s.old -= n
	return n, nil
}

// keys are those of what it has, of one context, by key.
func (s *memArchive) keys(tenant domain.TenantID) map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := map[string]int{}
	for e := range s.records {
		if e.tenant == tenant {
			keys[e.key]++
		}
	}
	return keys
}

// gauge takes what the archiver tells.
type gauge struct {
	mu                        sync.Mutex
	waiting                   int
	age                       time.Duration
	archived, failed, refused int
}

func (g *gauge) ArchiveBacklog(n int, age time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting, g.age = n, age
}
func (g *gauge) Archived(n int)  { g.mu.Lock(); defer g.mu.Unlock(); g.archived += n }
func (g *gauge) ArchiveFailed()  { g.mu.Lock(); defer g.mu.Unlock(); g.failed++ }
func (g *gauge) ArchiveRefused() { g.mu.Lock(); defer g.mu.Unlock(); g.refused++ }

func (g *gauge) backlog() (int, time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting, g.age
}

// yard is a board with jobs that end, and an archive.
type yard struct {
	*testing.T
	board   board.Board
	engine  *work.Engine
	archive *memArchive
	gauge   *gauge
	log     *bytes.Buffer
	bytes   int64 // that the archive may hold; 0: no bound
}

// inYard runs a test in virtual time, on a board that says it is archived.
func inYard(t *testing.T, test func(y *yard)) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		y := &yard{T: t, board: b, engine: work.New(b, work.Config{}), archive: newMemArchive(), gauge: &gauge{}, log: &bytes.Buffer{}}
		var contexts board.Batch
		contexts.Include(layout.Contexts, "1", "2")
		if err := b.Commit(t.Context(), contexts); err != nil {
			t.Fatal(err)
		}
		if err := y.engine.SetArchive(t.Context(), "", "disk"); err != nil {
			t.Fatal(err)
		}
		test(y)
	})
}

// archiver is the service, on b.
func (y *yard) archiver(b board.Board) clockwork.Maintenance {
	return clockwork.Archives(b, work.New(b, work.Config{}), clockwork.ArchiverConfig{Archive: y.archive, Keep: time.Hour, Bytes: y.bytes,
		Logger: slog.New(slog.NewTextHandler(y.log, nil)), Observer: y.gauge})
}

func (y *yard) pruner(keep time.Duration) clockwork.Maintenance {
	return clockwork.Prunes(y.board, y.engine, keep)
}

// end submits a job and ends it: nobody runs it, so a cancel does.
func (y *yard) end(tenant domain.TenantID, id domain.JobID, lines ...string) {
	y.Helper()
	job := &domain.Job{ID: id, CallerID: 1, ContextID: tenant, Script: "x", ScriptType: "shell"}
	if got, err := y.engine.Submit(y.Context(), tenant, []*domain.Job{job}); err != nil || got[0].Err != nil {
		y.Fatal(err, got)
	}
	if len(lines) > 0 {
		b := board.Batch{Space: layout.SpaceOf(tenant)}
		for _, l := range lines {
			b.PushRight(layout.Logs(job.Key()), layout.EncodeLog(domain.Log{Stream: "stdout", Line: l}))
		}
		if err := y.board.Commit(y.Context(), b); err != nil {
			y.Fatal(err)
		}
	}
	y.cancel(tenant, job.Key())
}

func (y *yard) cancel(tenant domain.TenantID, key domain.JobKey) {
	y.Helper()
	if _, err := y.engine.Cancel(y.Context(), tenant, key, 1); err != nil {
		y.Fatal(err)
	}
}

// message writes a message that ends now, as package post does.
func (y *yard) message(tenant domain.TenantID, id domain.MessageID, text string) {
	y.Helper()
	m := &domain.Message{ID: id, CallerID: 1, MessageType: domain.MessageChat, Message: text, Status: domain.MessageProcessed,
		Logs: domain.List[domain.Log]{{Line: "said"}}, EndedMs: time.Now().UnixMilli()}
	b := board.Batch{Space: layout.SpaceOf(tenant)}
	b.Set(m.Key().String(), layout.EncodeMessage(m)...)
	b.PushLeft(layout.Finished, m.Key().String())
	if err := y.board.Commit(y.Context(), b); err != nil {
		y.Fatal(err)
	}
}

// onBoard is how many jobs and messages the board has of a context.
func (y *yard) onBoard(tenant domain.TenantID) int {
	y.Helper()
	return y.count(tenant, layout.JobPrefix) + y.count(tenant, layout.MessagePrefix)
}

func (y *yard) count(tenant domain.TenantID, prefix string) (n int) {
	y.Helper()
	for cursor := ""; ; {
		keys, next, err := y.board.Keys(y.Context(), layout.SpaceOf(tenant), prefix, cursor, 1000)
		if err != nil {
			y.Fatal(err)
		}
		n += len(keys)
		if cursor = next; cursor == "" {
			return n
		}
	}
}

func (y *yard) waiting(tenant domain.TenantID) int {
	y.Helper()
	l, err := y.engine.Backlog(y.Context(), tenant)
	if err != nil {
		y.Fatal(err)
	}
	return l.Waiting
}

func TestWhatHasEndedIsArchivedAndThenExpires(t *testing.T) {
	inYard(t, func(y *yard) {
		y.end(1, 1, "one", "two")
		y.end(2, 1)
		defer run(y.T, y.board, "n/a", y.archiver(y.board), y.pruner(time.Hour))()
		time.Sleep(10 * time.Second)
		if diff := cmp.Diff(map[string]int{"job:1:1": 1}, y.archive.keys(1)); diff != "" {
			y.Errorf("context 1 (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]int{"job:1:1": 1}, y.archive.keys(2)); diff != "" {
			y.Errorf("context 2 (-want +got):\n%s", diff)
		}
		for e, r := range y.archive.records {
			j, err := r.Job()
			if err != nil || j.Status != domain.JobError || j.Reason != domain.ReasonCancelled || j.Script != "x" || j.ContextID != e.tenant {
				y.Errorf("got job %+v, %v", j, err)
			}
			if e.tenant == 1 && (len(r.Logs) != 2 || r.Logs[1].Line != "two") {
				y.Errorf("got log %+v", r.Logs)
			}
		}
		if n := y.onBoard(1); n != 1 {
			y.Errorf("got %d jobs on the board before retention, want 1", n)
		}
		time.Sleep(2 * time.Hour)
		if n := y.onBoard(1) + y.onBoard(2); n != 0 {
			y.Errorf("got %d jobs on the board after retention, want none", n)
		}
	})
}

func TestMessagesThatHaveEndedAreArchivedAndThenExpire(t *testing.T) {
	inYard(t, func(y *yard) {
		y.message(1, 1, "walnut")
		y.message(2, 1, "almond")
		defer run(y.T, y.board, "n/a", y.archiver(y.board), y.pruner(time.Hour))()
		time.Sleep(10 * time.Second)
		for tenant, text := range map[domain.TenantID]string{1: "walnut", 2: "almond"} {
			if diff := cmp.Diff(map[string]int{"message:1:1": 1}, y.archive.keys(tenant)); diff != "" {
				y.Errorf("context %d (-want +got):\n%s", tenant, diff)
			}
			for e, r := range y.archive.records {
				if m, err := r.Message(); e.tenant == tenant && (err != nil || m.Message != text || m.ContextID != tenant || len(r.Logs) != 1) {
					y.Errorf("context %d: got %+v, %v", tenant, m, err)
				}
			}
		}
		if n := y.onBoard(1); n != 1 || y.gauge.archived != 2 {
			y.Errorf("got %d messages on the board before retention and %d counted, want 1 and 2", n, y.gauge.archived)
		}
		time.Sleep(2 * time.Hour)
		if n := y.onBoard(1) + y.onBoard(2); n != 0 {
			y.Errorf("got %d messages on the board after retention, want none", n)
		}
	})
}

func TestAMessageDoesNotExpireWhileTheArchiveIsDown(t *testing.T) {
	inYard(t, func(y *yard) {
		y.archive.set(true)
		y.message(1, 1, "walnut")
		defer run(y.T, y.board, "n/a", y.archiver(y.board), y.pruner(time.Minute))()
		time.Sleep(time.Hour)
		if n, age := y.gauge.backlog(); y.onBoard(1) != 1 || n != 1 || age < time.Hour-time.Minute {
			y.Errorf("got %d messages on the board, a backlog of %d, %v old, want 1, 1, an hour", y.onBoard(1), n, age)
		}
		y.archive.set(false)
		time.Sleep(5 * time.Minute)
		if n := y.onBoard(1); n != 0 || y.archive.keys(1)["message:1:1"] != 1 {
			y.Errorf("got %d messages on the board and %v in the archive, want none and it", n, y.archive.keys(1))
		}
	})
}

// The list of what ended moves, by pruning, between a copy and its mark.
func TestWhatIsCopiedTwiceIsCountedOnce(t *testing.T) {
	inYard(t, func(y *yard) {
		pruned := 0
		y.archive.after = func(ctx context.Context) (err error) {
			if y.archive.keys(1)["job:1:2"] == 1 && pruned == 0 {
				pruned, err = y.engine.Prune(ctx, 1, time.Now())
			}
			return err
		}
		stop := run(y.T, y.board, "n/a", y.archiver(y.board))
		for id := range domain.JobID(2) {
			y.end(1, id+1)
			time.Sleep(10 * time.Second)
		}
		stop()
		if n := y.gauge.archived; n != 2 || pruned != 1 || y.onBoard(1) != 1 {
			y.Errorf("counted %d archived with %d pruned and %d on the board, want 2, 1, 1", n, pruned, y.onBoard(1))
		}
		if _, err := y.engine.Prune(y.Context(), 1, time.Now()); err != nil || y.onBoard(1) != 0 {
			y.Errorf("got %v and %d jobs on the board, want the second marked", err, y.onBoard(1))
		}
	})
}

func TestAnArchiveThatIsDownForAnHourUnderLoad(t *testing.T) {
	watched.Large(t)
	const jobs = 3600
	inYard(t, func(y *yard) {
		y.archive.set(true)
		defer run(y.T, y.board, "n/a", y.archiver(y.board), y.pruner(time.Minute))()
		for id := range domain.JobID(jobs) {
			y.end(1+domain.TenantID(id%2), id+1)
			time.Sleep(time.Second)
		}
		if n := y.onBoard(1) + y.onBoard(2); n != jobs {
			y.Fatalf("got %d jobs on the board, want all %d: none is archived", n, jobs)
		}
		// The last look may be half a minute old.
		if n, age := y.gauge.backlog(); n < jobs-35 || age < time.Hour-35*time.Second {
			y.Errorf("got a backlog of %d, %v old, want about %d, an hour old", n, age, jobs)
		}
		if n := strings.Count(y.log.String(), "level=ERROR"); n != 1 {
			y.Errorf("got %d error lines in an hour, want 1:\n%s", n, y.log)
		}
		y.archive.set(false)
		time.Sleep(5 * time.Minute)
		if n := len(y.archive.keys(1)) + len(y.archive.keys(2)); n != jobs {
			y.Errorf("got %d jobs in the archive, want %d", n, jobs)
		}
		if n := y.onBoard(1) + y.onBoard(2); n != 0 {
			y.Errorf("got %d jobs left on the board, want none", n)
		}
		if n, age := y.gauge.backlog(); n != 0 || age != 0 {
			y.Errorf("got a backlog of %d, %v old, want none", n, age)
		}
		if y.gauge.archived != jobs || y.gauge.failed == 0 {
			y.Errorf("counted %d archived and %d failures, want %d and some", y.gauge.archived, y.gauge.failed, jobs)
		}
		if n := strings.Count(y.log.String(), "the archive is back"); n != 1 {
			y.Errorf("got %d lines that it is back, want 1:\n%s", n, y.log)
		}
	})
}

func TestWhatWaitsIsArchivedAsSoonAsTheArchiveIsBack(t *testing.T) {
	inYard(t, func(y *yard) {
		y.archive.set(true)
		y.end(1, 1)
		defer run(y.T, y.board, "n/a", y.archiver(y.board))()
		time.Sleep(10*time.Minute + 500*time.Millisecond) // between two tries, which are half a minute apart
		y.archive.set(false)
		time.Sleep(2 * time.Second)
		if got := y.archive.keys(1); len(got) != 1 {
			y.Errorf("got %v in the archive 2 s after it is back, want the job", got)
		}
	})
}

// TestACrashBetweenAnyTwoSteps lets the archiver's node die at each point of
// a copy; another takes over. Nothing is lost or doubled.
func TestACrashBetweenAnyTwoSteps(t *testing.T) {
	marks := func(c faultboard.Call) bool {
		if c.Batch == nil {
			return false
		}
		for _, op := range c.Batch.Ops {
			if op.Key == layout.Trimmed {
				return true
			}
		}
		return false
	}
	for _, step := range []string{"before the copy", "after the copy", "before the mark", "after the mark"} {
		t.Run(step, func(t *testing.T) {
			inYard(t, func(y *yard) {
				for id := range domain.JobID(5) {
					y.end(1, id+1)
				}
				y.message(1, 7, "walnut")
				crashed := make(chan struct{})
				var once sync.Once
				die := func(ctx context.Context) error {
					once.Do(func() { close(crashed) })
					<-ctx.Done()
					return ctx.Err()
				}
				cfg := faultboard.Config{}
				switch step {
				case "before the copy":
					y.archive.before = die
				case "after the copy":
					y.archive.after = die
				case "before the mark":
					cfg.Before = func(ctx context.Context, c faultboard.Call) error {
						if marks(c) {
							return die(ctx)
						}
						return nil
					}
				case "after the mark":
					cfg.After = func(ctx context.Context, c faultboard.Call) error {
						if marks(c) {
							return die(ctx)
						}
						return nil
					}
				}
				f := faultboard.New(y.board, cfg)
				stop := run(y.T, f, "n0/a", y.archiver(f))
				<-crashed
				f.Cut() // it frees nothing
				stop()
				y.archive.before, y.archive.after = nil, nil
				y.end(1, 6)
				defer run(y.T, y.board, "n1/a", y.archiver(y.board), y.pruner(time.Minute))()
				time.Sleep(5 * time.Minute)
				want := map[string]int{"job:1:1": 1, "job:1:2": 1, "job:1:3": 1, "job:1:4": 1, "job:1:5": 1, "job:1:6": 1, "message:1:7": 1}
				if diff := cmp.Diff(want, y.archive.keys(1)); diff != "" {
					y.Errorf("(-want +got):\n%s", diff)
				}
				if n, m := y.waiting(1), y.onBoard(1); n != 0 || m != 0 {
					y.Errorf("got %d that wait and %d on the board, want none", n, m)
				}
			})
		})
	}
}

func TestABoardWhoseAnswersAreLost(t *testing.T) {
	inYard(t, func(y *yard) {
		f := faultboard.New(y.board, faultboard.Config{Seed: 3, Refuse: 0.1, Lose: 0.3})
		defer run(y.T, f, "n/a", y.archiver(f))()
		const jobs = 300
		for id := range domain.JobID(jobs) {
			y.end(1, id+1)
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		if n := len(y.archive.keys(1)); n != jobs || y.waiting(1) != 0 {
			y.Errorf("got %d jobs in the archive and %d that wait, want %d and none", n, y.waiting(1), jobs)
		}
		if n, err := y.engine.Prune(y.Context(), 1, time.Now()); err != nil || n != jobs {
			y.Errorf("prune: got %d, %v, want %d", n, err, jobs)
		}
	})
}

func TestAJobThatWasStartedAgainHasTwoRecords(t *testing.T) {
	inYard(t, func(y *yard) {
		key := domain.JobKey{Caller: 1, ID: 1}
		y.end(1, 1)
		defer run(y.T, y.board, "n/a", y.archiver(y.board), y.pruner(time.Minute))()
		time.Sleep(10 * time.Second)
		if _, err := y.engine.Retry(y.Context(), 1, key); err != nil {
			y.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		y.cancel(1, key)
		time.Sleep(10 * time.Second)
		if diff := cmp.Diff(map[string]int{"job:1:1": 2}, y.archive.keys(1)); diff != "" {
			y.Errorf("(-want +got):\n%s", diff)
		}
		time.Sleep(5 * time.Minute)
		if n := y.onBoard(1); n != 0 {
			y.Errorf("got %d jobs on the board, want none", n)
		}
	})
}

func TestARefusedRecordStopsNoOther(t *testing.T) {
	inYard(t, func(y *yard) {
		y.archive.refuse = "job:1:2"
		for id := range domain.JobID(3) {
			y.end(1, id+1)
		}
		defer run(y.T, y.board, "n/a", y.archiver(y.board))()
		time.Sleep(10 * time.Second)
		if diff := cmp.Diff(map[string]int{"job:1:1": 1, "job:1:3": 1}, y.archive.keys(1)); diff != "" {
			y.Errorf("(-want +got):\n%s", diff)
		}
		if y.gauge.refused != 1 || !strings.Contains(y.log.String(), "item=job:1:2") {
			y.Errorf("counted %d refused, log:\n%s", y.gauge.refused, y.log)
		}
	})
}

func TestASilentArchiveIsDown(t *testing.T) {
	inYard(t, func(y *yard) {
		y.archive.before = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		y.end(1, 1)
		defer run(y.T, y.board, "n/a", y.archiver(y.board))()
		time.Sleep(3 * time.Minute)
		if n, age := y.gauge.backlog(); n != 1 || age < time.Minute {
			y.Errorf("got a backlog of %d, %v old, want 1, minutes old", n, age)
		}
	})
}

func TestWhatIsNotArchivedDoesNotExpire(t *testing.T) {
	inYard(t, func(y *yard) {
		y.end(1, 1)
		// A node without an archive, on a board that others archive.
		defer run(y.T, y.board, "n/a", y.pruner(time.Minute))()
		time.Sleep(time.Hour)
		if n := y.onBoard(1); n != 1 {
			y.Fatalf("got %d jobs on the board, want 1", n)
		}
		// Told that there is no archive any more, it lets go.
		if err := y.engine.SetArchive(y.Context(), "disk", ""); err != nil {
			y.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		if n := y.onBoard(1); n != 0 {
			y.Errorf("got %d jobs on the board, want none", n)
		}
		// An archive that comes later begins with what is still there.
		if err := y.engine.SetArchive(y.Context(), "", "disk"); err != nil {
			y.Fatal(err)
		}
		y.end(1, 2)
		defer run(y.T, y.board, "m/a", y.archiver(y.board))()
		time.Sleep(5 * time.Minute)
		if diff := cmp.Diff(map[string]int{"job:1:2": 1}, y.archive.keys(1)); diff != "" {
			y.Errorf("(-want +got):\n%s", diff)
		}
		if n := y.onBoard(1); n != 0 {
			y.Errorf("got %d jobs on the board, want none", n)
		}
	})
}

// TestAContextChoosesWhatIsArchived looks at jobs that were cancelled, which is no good
// end, and messages that were processed, which is one, in a context without a choice and one with.
func TestAContextChoosesWhatIsArchived(t *testing.T) {
	for choice, want := range map[domain.Archives]map[string]int{
		"": {"job:1:1": 1, "message:1:1": 1}, domain.ArchivesAll: {"job:1:1": 1, "message:1:1": 1}, domain.ArchivesErrors: {"job:1:1": 1}, domain.ArchivesNone: {},
	} {
		t.Run(string(choice), func(t *testing.T) {
			inYard(t, func(y *yard) {
				for _, tenant := range []domain.TenantID{1, 2} {
					y.end(tenant, 1)
					y.message(tenant, 1, "walnut")
				}
				archiver := clockwork.Archives(y.board, y.engine, clockwork.ArchiverConfig{Archive: y.archive, Keep: time.Hour,
					Choice: func(_ context.Context, tenant domain.TenantID) (domain.Archives, error) {
						if tenant == 2 {
							return "", domain.Invalidf("what is there is no context")
						}
						return choice, nil
					},
					Logger: slog.New(slog.NewTextHandler(y.log, nil)), Observer: y.gauge})
				defer run(y.T, y.board, "n/a", archiver)()
				time.Sleep(5 * time.Minute)
				if diff := cmp.Diff(want, y.archive.keys(1)); diff != "" {
					y.Errorf("(-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(map[string]int{"job:1:1": 1, "message:1:1": 1}, y.archive.keys(2)); diff != "" {
					y.Errorf("of the other context (-want +got):\n%s", diff)
				}
				for _, tenant := range []domain.TenantID{1, 2} {
					if left, err := y.engine.Backlog(y.Context(), tenant); err != nil || left.Waiting != 0 {
						y.Errorf("got %d that wait in context %d, %v, want none: they may leave the board", left.Waiting, tenant, err)
					}
				}
			})
		})
	}
}

func TestTheArchiveIsClearedOfWhatIsOld(t *testing.T) {
	inYard(t, func(y *yard) {
		y.archive.old = 2500
		began := time.Now()
		defer run(y.T, y.board, "n/a", y.archiver(y.board))()
		time.Sleep(90 * time.Minute)
		y.archive.mu.Lock()
		defer y.archive.mu.Unlock()
		if y.archive.old != 0 || len(y.archive.deletes) != 4 { // 1000, 1000, 500; an hour later none
			y.Errorf("got %d left after %d calls, want none after 4", y.archive.old, len(y.archive.deletes))
		}
		if got := began.Sub(y.archive.deletes[0]); got != time.Hour {
			y.Errorf("removed what is older than %v, want what is older than an hour", got)
		}
	})
}

// TestAnArchiveThatIsTooLargeIsCut: the oldest go before their time, but none of the last
// hour.
func TestAnArchiveThatIsTooLargeIsCut(t *testing.T) {
	inYard(t, func(y *yard) {
		y.bytes = 5 * recordBytes
		for id := range domain.JobID(9) {
			y.end(1, id+1)
		}
		defer run(y.T, y.board, "n/a", y.archiver(y.board))()
		time.Sleep(time.Second)
		if got := y.archive.keys(1); len(got) != 9 {
			y.Errorf("young: got %v", got)
		}
		time.Sleep(130 * time.Minute)
		if got := y.archive.keys(1); len(got) != 5 {
			y.Errorf("got %v, want five", got)
		}
	})
}

func TestANodeThatStopsNoLongerSaysWhatWaits(t *testing.T) {
	inYard(t, func(y *yard) {
		stop := run(y.T, y.board, "n/a", y.archiver(y.board))
		time.Sleep(5 * time.Second)
		stop()
		if n, _ := y.gauge.backlog(); n >= 0 {
			y.Errorf("got a backlog of %d after the end, want that it is not known", n)
		}
	})
}

func TestAnEndIsArchivedAmongManyContexts(t *testing.T) {
	bubble(t, func(t *testing.T, m *memboard.Board) {
		b := &costly{Board: m, cost: time.Millisecond}
		many(t, m, 2_000)
		y := &yard{T: t, board: b, engine: work.New(b, work.Config{}), archive: newMemArchive(), gauge: &gauge{}, log: &bytes.Buffer{}}
		defer run(t, b, "n/a", y.archiver(b))()
		time.Sleep(5 * time.Minute)
		if got := b.readsIn(10 * time.Minute); got > 1_500 {
			t.Errorf("%d looks in ten quiet minutes, want about 600", got)
		}
		for id := range domain.JobID(3) {
			y.end(1_999, id+1)
		}
		time.Sleep(11 * time.Second) // the longest pause between two looks
		if got := len(y.archive.keys(1_999)); got != 3 {
			t.Errorf("%d of 3 ends are archived", got)
		}
	})
}

// told is what the board says of the archive's backlog.
func (y *yard) told() *domain.ArchiveBacklog {
	y.Helper()
	recs, err := y.board.Get(y.Context(), 0, layout.Archive)
	if err != nil || recs[0].Get(layout.ArchiveWhere) != "disk" {
		y.Fatal(err, recs)
	}
	return layout.DecodeArchiveBacklog(recs[0])
}

func TestAllNodesAreToldWhatWaitsForTheArchive(t *testing.T) {
	inYard(t, func(y *yard) {
		y.archive.set(true)
		began := time.Now().UnixMilli()
		y.end(1, 1)
		y.end(2, 1)
		time.Sleep(time.Minute)
		y.end(1, 2)
		defer run(y.T, y.board, "n/a", y.archiver(y.board))()
		time.Sleep(10 * time.Minute)
		l := y.told()
		if l == nil || l.Waiting != 3 || l.OldestMs != began || l.PerSecond != 0 || time.Now().UnixMilli()-l.ToldMs > time.Minute.Milliseconds() {
			y.Fatalf("while the archive is down, got %+v", l)
		}
		y.archive.set(false)
		time.Sleep(10 * time.Minute)
		last := y.told()
		if last.Waiting != 0 || last.OldestMs != 0 {
			y.Errorf("once it is back, got %+v", last)
		}
		y.end(1, 3)
		time.Sleep(time.Minute)
		if again := y.told(); again.Waiting != 0 || again.ToldMs == last.ToldMs {
			y.Errorf("a node that keeps up wrote %+v after %+v, want how far it is", again, last)
		}
		last = y.told()
		time.Sleep(time.Hour)
		if again := y.told(); again.ToldMs != last.ToldMs {
			y.Errorf("where nothing ends %+v was written after %+v", again, last)
		}
	})
}
