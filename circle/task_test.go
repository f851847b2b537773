package circle_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/circle"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

func TestSubmit(t *testing.T) {
	good := domain.Task{ID: "t1", Circle: club, Script: "1", CallerID: 12}
	for _, tt := range []struct {
		name   string
		change func(*domain.Task)
		want   error
		text   string
	}{
		{"a good one", func(*domain.Task) {}, nil, ""},
		{"an id with spaces", func(t *domain.Task) { t.ID = "my task" }, nil, ""},
		{"an empty script", func(t *domain.Task) { t.Script = "" }, nil, ""},
		{"no id", func(t *domain.Task) { t.ID = "" }, domain.ErrInvalid, "task id"},
		{"an id that is too long", func(t *domain.Task) { t.ID = strings.Repeat("x", 201) }, domain.ErrInvalid, "200"},
		{"an id with a NUL", func(t *domain.Task) { t.ID = "a\x00" }, domain.ErrInvalid, "control characters"},
		{"no circle", func(t *domain.Task) { t.Circle = "" }, domain.ErrInvalid, "circle"},
		{"a circle with a space", func(t *domain.Task) { t.Circle = "a b" }, domain.ErrInvalid, `circle "a b"`},
		{"a script that is too large", func(t *domain.Task) { t.Script = strings.Repeat("x", 1<<20+1) }, domain.ErrInvalid, "1048576"},
		{"a script that is no text", func(t *domain.Task) { t.Script = "\xff" }, domain.ErrInvalid, "UTF-8"},
		{"a reply queue of Ramet's", func(t *domain.Task) { t.ReplyToQueue = "queue:python" }, domain.ErrInvalid, "belongs to Ramet"},
		{"a reply queue that is too long", func(t *domain.Task) { t.ReplyToQueue = strings.Repeat("x", 256) }, domain.ErrInvalid, "reply_to_queue"},
		{"an rpc id that is too long", func(t *domain.Task) { t.ClientRPCID = strings.Repeat("x", 1025) }, domain.ErrInvalid, "client_rpc_id"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, circle.Config{})
			task := good
			tt.change(&task)
			_, err := r.engine.Submit(t.Context(), home, &task)
			if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, want %v with %q", err, tt.want, tt.text)
			}
			if queued := r.list("rhai_tasks:" + club); len(queued) == 1 != (tt.want == nil) {
				t.Errorf("got %q in the circle", queued)
			}
		})
	}
}

func TestSubmitTwice(t *testing.T) {
	r := newRig(t, circle.Config{})
	r.submit("t1", "1")
	again := &domain.Task{ID: "t1", Circle: club, Script: "1", CallerID: 12}
	if existing, err := r.engine.Submit(t.Context(), home, again); !existing || err != nil || again.Status != domain.TaskPending {
		t.Errorf("the same: got %v, %v, %+v", existing, err, again)
	}
	if got := r.list("rhai_tasks:" + club); len(got) != 1 {
		t.Errorf("got %v", got)
	}
	for name, other := range map[string]*domain.Task{
		"another script": {ID: "t1", Circle: club, Script: "2", CallerID: 12},
		"another caller": {ID: "t1", Circle: club, Script: "1", CallerID: 13},
		"another circle": {ID: "t1", Circle: "others", Script: "1", CallerID: 12},
	} {
		if _, err := r.engine.Submit(t.Context(), home, other); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("%s: got %v, want a conflict", name, err)
		}
	}
}

func TestABanRefusesTasks(t *testing.T) {
	banned := domain.Conflictf("banned")
	r := newRig(t, circle.Config{Refuse: func(domain.TenantID) error { return banned }})
	if _, err := r.engine.Submit(t.Context(), home, &domain.Task{ID: "t1", Circle: club}); !errors.Is(err, banned) {
		t.Errorf("got %v", err)
	}
}

func TestDelete(t *testing.T) {
	bubble(t, func(r *rig) {
		if _, err := r.engine.Delete(r.Context(), home, "none"); !errors.Is(err, domain.ErrNotFound) {
			r.Errorf("none: got %v", err)
		}
		// One that waits goes from its circle too.
		r.submit("waits", `say("waits")`)
		r.submit("stays", `say("stays")`)
		if _, err := r.engine.Delete(r.Context(), home, "waits"); err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff([]string{"stays"}, r.list("rhai_tasks:"+club)); diff != "" {
			r.Errorf("circle (-want +got):\n%s", diff)
		}
		// One that has ended goes with its replies.
		r.worker(func(c *circle.WorkerConfig) { c.Slots = 1 })
		r.write("ended", "script", "1", "reply_to", "rhai_reply:a")
		r.push("ended")
		r.wait("ended")
		if _, err := r.engine.Delete(r.Context(), home, "ended"); err != nil {
			r.Fatal(err)
		}
		if r.record("ended") != nil || len(r.list("rhai_reply:a")) != 0 {
			r.Errorf("left: %v, %v", r.record("ended"), r.list("rhai_reply:a"))
		}
		// One that runs is stopped.
		r.write("runs", "script", "sleep(3600)", "reply_to", "rhai_reply:b")
		r.push("runs")
		synctest.Wait()
		began := time.Now()
		if _, err := r.engine.Delete(r.Context(), home, "runs"); err != nil {
			r.Fatal(err)
		}
		synctest.Wait()
		r.write("next", "script", "say(\"next\")")
		r.push("next")
		r.wait("next") // at once: the one slot is free
		if r.record("runs") != nil || len(r.list("rhai_reply:b")) != 0 {
			r.Errorf("left: %v, %v", r.record("runs"), r.list("rhai_reply:b"))
		}
		if took := time.Since(began); took > time.Second {
			r.Errorf("it ran on for %v", took)
		}
		time.Sleep(2 * time.Hour)
		if diff := cmp.Diff([]string{"stays", "next"}, r.heard()); diff != "" {
			r.Errorf("runs (-want +got):\n%s", diff)
		}
	})
}

func TestExplain(t *testing.T) {
	bubble(t, func(r *rig) {
		explain := func(id string) domain.TaskExplanation {
			r.Helper()
			x, err := r.engine.Explain(r.Context(), home, id)
			if err != nil {
				r.Fatal(err)
			}
			x.SinceMs, x.NextMs = 0, 0
			return x
		}
		want := func(what, id string, x domain.TaskExplanation) {
			r.Helper()
			x.Key = "rhai_task_details:" + id
			if diff := cmp.Diff(x, explain(id)); diff != "" {
				r.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		r.submit("t1", "1")
		r.submit("t2", "sleep(100)")
		r.write("t3", "script", "3", "status", "pending")
		r.push("t3")
		nobody := "; no node that is alive serves it: see `ramet serve --circle`"
		want("first", "t1", domain.TaskExplanation{Status: "pending", Standing: domain.StandingQueued, Circle: club,
			Text: "it is the next in the circle friends" + nobody})
		want("of a foreign client", "t3", domain.TaskExplanation{Status: "pending", Standing: domain.StandingQueued, Circle: club, Ahead: 2,
			Text: "2 stand before it in the circle friends" + nobody})
		node := board.Batch{}
		node.Set("ramet:node:n1", layout.EncodeNode(domain.Node{Circles: []domain.ServedCircle{{Name: club, Context: home}}})...)
		node.Set("ramet:node:n1", board.Field{Name: layout.NodeSeen, Value: number(time.Now().UnixMilli())})
		if err := r.board.Commit(r.Context(), node); err != nil {
			r.Fatal(err)
		}
		want("served", "t2", domain.TaskExplanation{Status: "pending", Standing: domain.StandingQueued, Circle: club, Ahead: 1,
			Text: "one stands before it in the circle friends"})
		r.worker()
		synctest.Wait()
		want("ended", "t1", domain.TaskExplanation{Status: "completed", Standing: domain.StandingEnded, Circle: club, Text: "it has ended: completed"})
		want("running", "t2", domain.TaskExplanation{Status: "processing", Standing: domain.StandingLeased, Circle: club, Holder: "n1/a",
			Text: "n1/a runs it (attempt 1); its lease is renewed until it ends"})
		r.write("t4", "script", "4", "status", "processing")
		want("taken by others", "t4", domain.TaskExplanation{Status: "processing", Standing: domain.StandingForeign,
			Text: "it is in no circle and nobody leases it: a worker that takes no leases may have it"})
		r.write("t5", "script", "4", "status", "pending")
		want("nowhere", "t5", domain.TaskExplanation{Status: "pending", Standing: domain.StandingStuck, Text: "it is pending, but in no circle"})
		if _, err := r.engine.Explain(r.Context(), home, "none"); !errors.Is(err, domain.ErrNotFound) {
			r.Errorf("none: got %v", err)
		}
	})
}

func TestAudit(t *testing.T) {
	const age = 11 * time.Second
	for _, tt := range []struct {
		name   string
		do     func(r *rig) // with t1 pending in its circle
		status domain.TaskStatus
		queued bool
		found  string // text of a repair; "stuck " before what is stuck
		alive  bool
	}{
		{"queued", func(*rig) {}, "pending", true, "", true},
		{"popped a moment ago", func(r *rig) {
			r.commit(new(board.Batch).TrimRight("rhai_tasks:friends", 1))
			r.write("t1", "updated_at", number(time.Now().Add(age).Unix()))
		}, "pending", false, "", true},
		{"its circle was emptied", func(r *rig) { r.commit(new(board.Batch).Delete("rhai_tasks:friends")) },
			"pending", true, "it was pending, but not in its circle; put back", true},
		{"leased", func(r *rig) { r.deadClaim() }, "processing", false, "", true},
		{"a holder that has no lease", func(r *rig) {
			r.commit(new(board.Batch).Delete("rhai_tasks:friends"))
			r.write("t1", "lease_owner", "ghost")
		}, "pending", true, "it was pending, but not in its circle; put back", true},
		{"a foreign worker has it", func(r *rig) {
			r.commit(new(board.Batch).TrimRight("rhai_tasks:friends", 1))
			r.write("t1", "status", "processing")
		}, "processing", false, "", true},
		{"a foreign worker had it for too long", func(r *rig) {
			r.commit(new(board.Batch).TrimRight("rhai_tasks:friends", 1))
			r.write("t1", "status", "processing", "updated_at", number(time.Now().Add(-time.Hour).Unix()))
		}, "pending", true, "a worker without a lease took it and did not end it within 1h0m0s", true},
		{"foreign workers had it too often", func(r *rig) {
			r.commit(new(board.Batch).TrimRight("rhai_tasks:friends", 1))
			r.write("t1", "status", "processing", "updated_at", "1", "losses", "4")
		}, "error", false, "a worker without a lease took it and did not end it within 1h0m0s", false},
		{"a foreign worker ended it", func(r *rig) {
			r.commit(new(board.Batch).TrimRight("rhai_tasks:friends", 1))
			r.write("t1", "status", "completed", "output", "1")
		}, "completed", false, "", false},
		{"somebody deleted it", func(r *rig) {
			r.commit(new(board.Batch).TrimRight("rhai_tasks:friends", 1).Delete("rhai_task_details:t1"))
			r.commit(new(board.Batch).Live("rhai_task_details:t1", time.Now()))
		}, "", false, "", false},
		{"nobody knows its circle", func(r *rig) {
			r.commit(new(board.Batch).Delete("rhai_tasks:friends").Unset("rhai_task_details:t1", "circle"))
		}, "pending", false, "stuck its record does not say which circle it belongs to", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.submit("t1", "1")
				tt.do(r)
				time.Sleep(age)
				a, err := r.engine.Audit(r.Context(), home, 0)
				if err != nil {
					r.Fatal(err)
				}
				found := ""
				for _, f := range a.Repaired {
					found += f.Text
				}
				for _, f := range a.Stuck {
					found += "stuck " + f.Text
				}
				queued := len(r.list("rhai_tasks:friends")) == 1
				live, err := r.board.Live(r.Context(), layout.SpaceOf(home), board.LiveItem{}, 10)
				if err != nil {
					r.Fatal(err)
				}
				if status := domain.TaskStatus(r.record("t1").Get("status")); status != tt.status || queued != tt.queued || found != tt.found ||
					len(live) == 1 != tt.alive || a.Looked != 1 {
					r.Errorf("got %+v: %q, queued %v, %d alive, want %q, %v, alive %v, and %q", a, status, queued, len(live), tt.status, tt.queued, tt.alive, tt.found)
				}
			})
		})
	}
}

// TestAuditOfAContextWithoutCircles costs it one small read.
func TestAuditOfAContextWithoutCircles(t *testing.T) {
	r := newRig(t, circle.Config{})
	if a, err := r.engine.Audit(t.Context(), 5, 0); err != nil || a.Looked != 0 {
		t.Errorf("got %+v, %v", a, err)
	}
}

// A list where a node would be hides no other.
func TestAStrangeNodeHidesNoServer(t *testing.T) {
	bubble(t, func(r *rig) {
		if err := r.board.Commit(r.Context(), *new(board.Batch).PushLeft(layout.Node("strange"), "x")); err != nil {
			r.Fatal(err)
		}
		if servers, err := r.engine.Servers(r.Context()); err != nil || len(servers) != 0 {
			r.Errorf("got %v, %v", servers, err)
		}
	})
}

// TestACircleWhoseSetIsLostIsAnnouncedAgain, by the node that has announced it before: what audits
// looks at the set first, and what waits would stand unseen.
func TestACircleWhoseSetIsLostIsAnnouncedAgain(t *testing.T) {
	bubble(t, func(r *rig) {
		submit := func(id string) {
			t.Helper()
			if _, err := r.engine.Submit(t.Context(), home, &domain.Task{ID: id, CallerID: 1, Circle: club, Script: "1"}); err != nil {
				t.Fatal(err)
			}
		}
		submit("a")
		b := board.Batch{Space: layout.SpaceOf(home)}
		if err := r.board.Commit(t.Context(), *b.Delete(layout.Circles)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		submit("b")
		if got, err := r.board.Members(t.Context(), layout.SpaceOf(home), layout.Circles, "", 9); err != nil || len(got) != 1 || got[0] != club {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
