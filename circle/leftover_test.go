package circle_test

import (
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/circle"
	"github.com/ramet-run/ramet/layout"
)

// lasts reports whether a task's record stays for ever.
func (r *rig) lasts(id string) bool {
	r.Helper()
	stats, err := r.board.Stat(r.Context(), layout.SpaceOf(home), layout.Task(id))
	if err != nil {
		r.Fatal(err)
	}
	return stats[0].Kind == board.KindRecord && stats[0].Expires.IsZero()
}

func (r *rig) audit() {
	r.Helper()
	if _, err := r.engine.Audit(r.Context(), home, 0); err != nil {
		r.Fatal(err)
	}
}

func TestWhatOtherProgramsLeaveExpires(t *testing.T) {
	for _, tt := range []struct {
		name  string
		do    func(r *rig)
		lasts bool
	}{
		{"a foreign worker ended it", func(r *rig) { r.write("t1", "script", "1", "status", "completed", "output", "1") }, false},
		{"it failed there", func(r *rig) { r.write("t1", "script", "1", "status", "error", "error", "no") }, false},
		{"its client never pushed it", func(r *rig) { r.write("t1", "script", "1", "status", "pending") }, false},
		{"a foreign worker took it and went away", func(r *rig) { r.write("t1", "script", "1", "status", "processing", "updated_at", "1") }, false},
		{"a foreign worker ended it, and it is pushed once more", func(r *rig) {
			r.write("t1", "script", "1", "status", "completed")
			r.push("t1")
		}, false},
		{"it waits in a circle", func(r *rig) {
			r.write("t1", "script", "1", "status", "pending")
			r.push("t1")
		}, true},
		{"it waits in a circle that nobody serves", func(r *rig) {
			r.write("t1", "script", "1", "status", "pending")
			r.commit(new(board.Batch).PushLeft("rhai_tasks:forgotten", "t1"))
		}, true},
		{"its client is about to push it", func(r *rig) {
			r.write("t1", "script", "1", "status", "pending", "created_at", number(time.Now().Unix()))
		}, true},
		{"one of our workers has it", func(r *rig) {
			r.write("t1", "script", "1", "status", "pending")
			r.push("t1")
			r.deadClaim()
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.commit(new(board.Batch).Include(layout.Circles, club)) // Ramet serves it
				tt.do(r)
				r.audit()
				if got := r.lasts("t1"); got != tt.lasts {
					r.Fatalf("got that it lasts: %v, want %v", got, tt.lasts)
				}
				time.Sleep(25 * time.Hour)
				if there := r.record("t1") != nil; there != tt.lasts {
					r.Errorf("a day later: got that it is there: %v, want %v", there, tt.lasts)
				}
			})
		})
	}
}

func TestLeftoversAreLookedForNowAndThen(t *testing.T) {
	bubble(t, func(r *rig) {
		r.engine = circle.New(r.board, circle.Config{Retention: time.Minute})
		r.commit(new(board.Batch).Include(layout.Circles, club))
		r.audit()
		r.write("t1", "script", "1", "status", "completed")
		time.Sleep(30 * time.Minute)
		if r.audit(); !r.lasts("t1") {
			t.Error("all tasks were looked through again after half an hour")
		}
		time.Sleep(31 * time.Minute)
		if r.audit(); r.lasts("t1") {
			t.Error("after an hour it was not looked for")
		}
	})
}
