package clockwork_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/sqlitearchive"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// paired are a board and its archive.
type paired struct {
	*testing.T
	board   *memboard.Board
	archive archive.Archive
}

// pair runs a test in virtual time on a board with context 1, and an archive that is its own.
func pair(t *testing.T, test func(p paired)) {
	t.Helper()
	bubble(t, func(t *testing.T, b *memboard.Board) {
		addTenants(t, b, "1")
		a, err := sqlitearchive.Open(t.Context(), t.TempDir()+"/a.db", sqlitearchive.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		p := paired{t, b, a}
		if err := work.New(b, work.Config{}).SetArchive(t.Context(), "", "a"); err != nil {
			t.Fatal(err)
		}
		p.begin(b)
		test(p)
	})
}

// begin has a node begin, which stays.
func (p paired) begin(on board.Board) {
	p.Helper()
	node := &clockwork.Pairing{Board: on, Archive: p.archive, Where: "a", Stays: true, Logger: discard()}
	if err := node.Recognise(p.Context()); err != nil {
		p.Fatal(err)
	}
}

// ahead has the archive take steps alone.
func (p paired) ahead(steps int) {
	p.Helper()
	marks, err := p.archive.Marks(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	is, _ := strconv.Atoi(marks["step"])
	if _, err := p.archive.Mark(p.Context(), "step", marks["step"], strconv.Itoa(is+steps)); err != nil {
		p.Fatal(err)
	}
}

// archived puts a record into the archive, as one of caller 1.
func (p paired) archived(kind domain.ArchiveKind, key string) {
	p.Helper()
	r := archive.Record{Context: 1, Kind: kind, Key: key, EndMs: 5, BeginMs: 1, Status: "success", ScriptType: "go", Caller: 1, Body: json.RawMessage(`{}`)}
	if kind != domain.ArchiveJob {
		r.ScriptType = ""
	}
	if err := p.archive.Put(p.Context(), []archive.Record{r}); err != nil {
		p.Fatal(err)
	}
}

// submit submits a job of caller 1; id 0 asks for a number.
func (p paired) submit(id domain.JobID) domain.JobKey {
	p.Helper()
	got, err := work.New(p.board, work.Config{}).Submit(p.Context(), 1, []*domain.Job{{ID: id, CallerID: 1, Script: "x", ScriptType: "go"}})
	if err == nil {
		err = got[0].Err
	}
	if err != nil {
		p.Fatal(err)
	}
	return got[0].Key
}

func (p paired) epoch() board.Epoch {
	p.Helper()
	recs, err := p.board.Get(p.Context(), 0, board.EpochKey)
	if err != nil {
		p.Fatal(err)
	}
	return board.EpochOf(recs[0])
}

// TestNumbersThatWereChosenAreNoLoss: a crash between the two steps is one, though the archive
// has numbers that its board has not given out: callers choose those of jobs, messages bring
// theirs along. What was given out and is not known to the board is a loss.
func TestNumbersThatWereChosenAreNoLoss(t *testing.T) {
	for _, c := range []struct {
		name  string
		ended func(p paired)
		lost  bool
	}{
		{"a drawn number", func(p paired) { p.archived(domain.ArchiveJob, p.submit(0).String()) }, false},
		{"a chosen one", func(p paired) { p.archived(domain.ArchiveJob, p.submit(7000).String()) }, false},
		{"a chosen one, of before choosers were noted", func(p paired) { p.archived(domain.ArchiveJob, "job:1:4294900000") }, false},
		{"a message of elsewhere", func(p paired) { p.archived(domain.ArchiveMessage, "message:1:70") }, false},
		{"a drawn number that the board has lost", func(p paired) { p.archived(domain.ArchiveJob, "job:1:70") }, true},
		{"a flow that the board has lost", func(p paired) { p.submit(7000); p.archived(domain.ArchiveFlow, "flow:70") }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			pair(t, func(p paired) {
				c.ended(p)
				p.ahead(1)
				p.begin(p.board)
				if e := p.epoch(); (e.Number > 0) != c.lost {
					p.Errorf("got epoch %+v, want one: %v", e, c.lost)
				}
			})
		})
	}
}

// TestAChosenNumberUsesUpNoOthers: where the board is older, numbers go on beyond those of the
// archive, but for one behind which too few are left.
func TestAChosenNumberUsesUpNoOthers(t *testing.T) {
	for _, c := range []struct{ archived, atLeast, atMost domain.JobID }{
		{5000, 5000, 3_000_000},
		{4_294_900_000, board.EpochLeap, 3_000_000},
		{4_294_967_295, board.EpochLeap, 3_000_000},
	} {
		pair(t, func(p paired) {
			p.submit(0)
			p.archived(domain.ArchiveJob, domain.JobKey{Caller: 1, ID: c.archived}.String())
			p.ahead(2)
			p.begin(p.board)
			if next := p.submit(0); p.epoch().Number != 1 || next.ID <= c.atLeast || next.ID > c.atMost {
				p.Errorf("with %d in the archive %v is given out in epoch %d, want more than %d, up to %d", c.archived, next, p.epoch().Number, c.atLeast, c.atMost)
			}
		})
	}
}

// TestALossIsOfWhatIsOlder: of a board and its archive the older one has lost something.
func TestALossIsOfWhatIsOlder(t *testing.T) {
	for _, c := range []struct {
		ahead int
		of    domain.LossOf
	}{{2, domain.LossOfBoard}, {-1, domain.LossOfArchive}} {
		pair(t, func(p paired) {
			p.ahead(c.ahead)
			node := &clockwork.Pairing{Board: p.board, Archive: p.archive, Where: "a", Stays: true, AcceptLoss: true, Logger: discard()}
			if err := node.Recognise(p.Context()); err != nil {
				p.Fatal(err)
			}
			if e := p.epoch(); len(e.Losses) != 1 || e.Losses[0].Of != c.of {
				p.Errorf("with an archive %d steps ahead: got epoch %+v, want a loss of the %s", c.ahead, e, c.of)
			}
		})
	}
}

// between has something happen between the looks at its record of identity.
type between struct {
	*memboard.Board
	looks int
	then  func(look int)
}

func (b *between) Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error) {
	recs, err := b.Board.Get(ctx, space, keys...)
	if len(keys) == 1 && keys[0] == layout.Identity {
		b.looks++
		b.then(b.looks)
	}
	return recs, err
}

// TestStepsOfOthersAreNoLoss: other nodes take steps while this one looks, as many as they like
// between two of its reads, or one half.
func TestStepsOfOthersAreNoLoss(t *testing.T) {
	for name, then := range map[string]func(p paired, look int){
		"whole ones, after each read of the board": func(p paired, look int) {
			p.begin(p.board)
			p.begin(p.board)
		},
		"a half one, whose other half comes a moment later": func(p paired, look int) {
			if look == 2 { // the first told the board's id
				p.archived(domain.ArchiveJob, "job:1:70") // nobody knows whose this is
				p.ahead(1)
				go p.settle()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			pair(t, func(p paired) {
				on := &between{Board: p.board, then: func(look int) { then(p, look) }}
				for _, stays := range []bool{false, true} {
					on.looks = 0
					look := &clockwork.Pairing{Board: on, Archive: p.archive, Where: "a", Stays: stays, Logger: discard()}
					if err := look.Recognise(p.Context()); err != nil {
						p.Fatal(err)
					}
					synctest.Wait()
					if e := p.epoch(); e.Number > 0 {
						p.Fatalf("staying %v: got epoch %+v", stays, e)
					}
				}
			})
		})
	}
}

// TestWhoseArchiveIsNotTheBoardsTakesNoStep: of two nodes that begin at the same moment on a new board, each with
// an archive of its own, one is to be refused, and the other one's archive has lost nothing.
func TestWhoseArchiveIsNotTheBoardsTakesNoStep(t *testing.T) {
	bubble(t, func(t *testing.T, b *memboard.Board) {
		open := func(where string) *clockwork.Pairing {
			a, err := sqlitearchive.Open(t.Context(), t.TempDir()+"/a.db", sqlitearchive.Config{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { a.Close() })
			return &clockwork.Pairing{Board: b, Archive: a, Where: where, New: true, Stays: true, Logger: discard()}
		}
		step := func() string {
			recs, err := b.Get(t.Context(), 0, layout.Identity)
			if err != nil {
				t.Fatal(err)
			}
			return recs[0].Get(layout.IdentityStep)
		}
		one, two := open("a"), open("b")
		for _, node := range []*clockwork.Pairing{one, two, one} {
			if err := node.Recognise(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if at := step(); at != "" {
			t.Errorf("the board is at step %s before it has an archive", at)
		}
		if err := work.New(b, work.Config{}).SetArchive(t.Context(), "", "a"); err != nil {
			t.Fatal(err)
		}
		if err := one.Recognise(t.Context()); err != nil {
			t.Fatal(err)
		}
		at := step()
		if err := two.Recognise(t.Context()); err != nil || at == "" || step() != at {
			t.Errorf("got %v, and step %s, which was %q before another archive's node looked", err, step(), at)
		}
		if err := two.Run(t.Context()); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("got %v, want that it is refused", err)
		}
	})
}

// settle has the board follow the archive's step.
func (p paired) settle() {
	marks, err := p.archive.Marks(p.Context())
	if err == nil {
		err = p.board.Commit(p.Context(), *new(board.Batch).Set(layout.Identity, board.Field{Name: layout.IdentityStep, Value: marks["step"]}))
	}
	if err != nil {
		p.Error(err)
	}
}
