package work_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

func TestAJobIsSubmittedOnceForATicket(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	e := work.New(b, work.Config{})
	asked := func(script string) *domain.Job {
		return &domain.Job{CallerID: 1, Script: script, ScriptType: "shell"}
	}
	first, existing, err := e.SubmitOnce(t.Context(), tenant, "pay/1", time.Hour, asked("x"))
	if err != nil || existing || first.ID == 0 {
		t.Fatalf("got %s, %v, %v", first, existing, err)
	}
	for name, c := range map[string]struct {
		ticket, script string
		same           bool
	}{
		"the same again":             {"pay/1", "x", true},
		"another job with it":        {"pay/1", "y", true},
		"the same job without it":    {"pay/2", "x", false},
		"a ticket that begins so":    {"pay/11", "x", false},
		"a job that is not taken":    {"pay/1", "", true}, // it was taken then
		"a ticket as long as it can": {strings.Repeat("t", layout.MaxTicket), "x", false},
	} {
		got, existing, err := e.SubmitOnce(t.Context(), tenant, c.ticket, time.Hour, asked(c.script))
		if err != nil || existing != c.same || (got == first) != c.same {
			t.Errorf("%s: got %s, %v, %v", name, got, existing, err)
		}
	}
	if j, err := e.Show(t.Context(), tenant, first); err != nil || j.Script != "x" {
		t.Errorf("got %+v, %v", j, err)
	}
	for _, bad := range []string{"", strings.Repeat("t", layout.MaxTicket+1)} {
		if _, _, err := e.SubmitOnce(t.Context(), tenant, bad, time.Hour, asked("x")); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("ticket of %d bytes: got %v", len(bad), err)
		}
	}
	// Who is refused leaves no ticket behind.
	if _, _, err := e.SubmitOnce(t.Context(), tenant, "pay/3", time.Hour, asked("")); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	if _, existing, err := e.SubmitOnce(t.Context(), tenant, "pay/3", time.Hour, asked("x")); existing || err != nil {
		t.Errorf("got %v, %v", existing, err)
	}
}

func TestATicketIsForgottenInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		e := work.New(b, work.Config{})
		once := func() bool {
			_, existing, err := e.SubmitOnce(t.Context(), tenant, "a", time.Hour, &domain.Job{CallerID: 1, Script: "x", ScriptType: "shell"})
			if err != nil {
				t.Fatal(err)
			}
			return existing
		}
		once()
		time.Sleep(time.Hour - time.Second)
		if !once() {
			t.Error("it was forgotten too early")
		}
		time.Sleep(2 * time.Second)
		if once() {
			t.Error("it is remembered still")
		}
	})
}

func TestManyUseOneTicket(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	e := work.New(b, work.Config{})
	// Ids that were chosen by hand are passed.
	for id := range domain.JobID(5) {
		if _, err := e.Submit(t.Context(), tenant, []*domain.Job{{ID: id + 1, CallerID: 1, Script: "hand", ScriptType: "shell"}}); err != nil {
			t.Fatal(err)
		}
	}
	keys := make([]domain.JobKey, 16)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			var err error
			if keys[i], _, err = e.SubmitOnce(t.Context(), tenant, "a", time.Hour, &domain.Job{CallerID: 1, Script: "x", ScriptType: "shell"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, k := range keys {
		if k != keys[0] || k.ID <= 5 {
			t.Fatalf("got %v, want one job", keys)
		}
	}
	jobs, _, err := e.List(t.Context(), tenant, work.Filter{}, "")
	if err != nil || len(jobs) != 6 {
		t.Errorf("got %d jobs, %v, want those of the hand and one", len(jobs), err)
	}
}

// handBefore is a board on which somebody has taken by hand, with the very same job, each number
// that a first commit is to use: when it was drawn it was free.
type handBefore struct {
	*memboard.Board
	once sync.Once
}

func (h *handBefore) CommitEach(ctx context.Context, batches []board.Batch) []error {
	h.once.Do(func() {
		for _, b := range batches {
			for _, op := range b.Ops {
				if strings.HasPrefix(op.Key, layout.JobPrefix) && op.Kind == board.OpSet {
					_ = h.Commit(ctx, board.Batch{Space: b.Space, Ops: []board.Op{op}})
				}
			}
		}
	})
	return h.Board.CommitEach(ctx, batches)
}

// TestATicketIsOfItsOwnJob: whoever takes the number between its being drawn and the commit has another
// job, though it says the same.
func TestATicketIsOfItsOwnJob(t *testing.T) {
	b := &handBefore{Board: memboard.Open()}
	defer b.Close()
	e := work.New(b, work.Config{})
	jobs := func() []*domain.Job {
		return []*domain.Job{{CallerID: 1, Script: "x", ScriptType: "shell"}, {CallerID: 1, Script: "x", ScriptType: "shell"}}
	}
	first, err := e.SubmitUnder(t.Context(), tenant, jobs(), []string{"a", "b"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	again, err := e.SubmitUnder(t.Context(), tenant, jobs(), []string{"a", "b"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for i := range first {
		if first[i].Err != nil || first[i].Existing || first[i].Key.ID <= 2 || again[i].Err != nil || !again[i].Existing || again[i].Key != first[i].Key {
			t.Errorf("job %d: got %+v, and then %+v", i, first[i], again[i])
		}
	}
	if first[0].Key == first[1].Key {
		t.Errorf("both are %s", first[0].Key)
	}
}

// TestATicketOutlivesItsJob: also one whose number was chosen by hand, and one that was there before.
func TestATicketOutlivesItsJob(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	e := work.New(b, work.Config{})
	job := func(id domain.JobID) *domain.Job {
		return &domain.Job{ID: id, CallerID: 1, Script: "x", ScriptType: "shell"}
	}
	if _, err := e.Submit(t.Context(), tenant, []*domain.Job{job(8)}); err != nil {
		t.Fatal(err)
	}
	under := func() []work.Receipt {
		t.Helper()
		list, err := e.SubmitUnder(t.Context(), tenant, []*domain.Job{job(7), job(8), job(0)}, []string{"a", "b", "c"}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	first := under()
	gone := board.Batch{Space: layout.SpaceOf(tenant)}
	for i, r := range first {
		if r.Err != nil || r.Existing != (i == 1) {
			t.Errorf("job %d: got %+v", i, r)
		}
		gone.Delete(r.Key.String())
	}
	if err := b.Commit(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	for i, r := range under() {
		if r.Err != nil || !r.Existing || r.Key != first[i].Key {
			t.Errorf("job %d again: got %+v, want %+v", i, r, first[i].Key)
		}
		if _, err := e.Show(t.Context(), tenant, r.Key); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("job %d was made again: %v", i, err)
		}
	}
}
