package circle_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/circle"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/queue"
)

func TestWhatAScriptGives(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		status       domain.TaskStatus
		want         string // output, or what error has
	}{
		{"a number", "40 + 2", domain.TaskCompleted, "42"},
		{"a text as it is", `"a" + "\n" + "b"`, domain.TaskCompleted, "a\nb"},
		{"nothing", "let x = 1;", domain.TaskCompleted, ""},
		{"a map as JSON", `#{n: 1, list: [true, "x"], exit_code: 3}`, domain.TaskCompleted, `{"exit_code":3,"list":[true,"x"],"n":1}`},
		{"an empty map", "#{}", domain.TaskCompleted, "{}"},
		{"who it runs for", "[CALLER_ID, CONTEXT_ID]", domain.TaskCompleted, "[12,1]"},
		{"what it throws, with its place", "let a = 1;\n  throw \"no luck\"", domain.TaskError, "Runtime error: no luck (line 2, position 3)"},
		{"no script", "let = 5", domain.TaskError, "Syntax error: Expecting name of a variable (line 1, position 5)"},
		{"a limit", "fn f(n) { f(n + 1) } f(0)", domain.TaskError, "Stack overflow"},
		{"a value that is too large", `let s = "x"; s.pad(600000, "x"); s`, domain.TaskError, "the value of the script: it has 600000 bytes, the limit is 524288"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.worker()
				r.submit("t1", tt.script)
				got := r.wait("t1")
				text, other := got.Output, got.Error
				if tt.status == domain.TaskError {
					text, other = got.Error, got.Output
				}
				if got.Status != tt.status || other != "" || tt.status == domain.TaskCompleted && text != tt.want || !strings.HasPrefix(text, tt.want) {
					r.Errorf("got %+v, want %s %q", got, tt.status, tt.want)
				}
				if got.LeaseOwner != "" || got.Attempt != 1 {
					r.Errorf("got %+v, want no owner after one attempt", got)
				}
			})
		})
	}
}

// TestSpellings: every spelling of the seed is read, one is written.
func TestSpellings(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fields []string
		reply  string // where it is to come
	}{
		{"the table", []string{"reply_to_queue", "rhai_reply:a"}, "rhai_reply:a"},
		{"the text", []string{"reply_queue_name", "rhai_reply:a"}, "rhai_reply:a"},
		{"the diagram", []string{"reply_to", "rhai_reply:a"}, "rhai_reply:a"},
		{"the table goes before the others", []string{"reply_to", "rhai_reply:c", "reply_queue_name", "rhai_reply:b", "reply_to_queue", "rhai_reply:a"},
			"rhai_reply:a"},
		{"a name of one's own", []string{"reply_to_queue", "answers"}, "answers"},
		{"no status, no times", nil, ""},
		{"times in RFC 3339", []string{"status", "pending", "created_at", "2026-01-31T02:00:00Z", "updated_at", "2026-01-31T02:00:00.5+01:00"}, ""},
		{"times with a fraction", []string{"created_at", "1769824800.25"}, ""},
		{"times that are none", []string{"created_at", "yesterday", "updated_at", ""}, ""},
		{"fields of others", []string{"caller_id", "02ab", "attempt", "many", "losses", "-1", "lease_owner", ""}, ""},
		{"an error of an earlier life", []string{"error_msg", "old", "error", "older"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.worker()
				r.write("t1", append([]string{"script", "6 * 7", "client_rpc_id", "rpc-9"}, tt.fields...)...)
				r.push("t1")
				if got := r.wait("t1"); got.Status != domain.TaskCompleted || got.Output != "42" || got.Error != "" {
					r.Errorf("got %+v", got)
				}
				rec := r.record("t1")
				if at, _ := strconv.ParseInt(rec.Get("updated_at"), 10, 64); at != time.Now().Unix() {
					r.Errorf("updated_at: got %q, want Unix seconds", rec.Get("updated_at"))
				}
				if tt.reply == "" {
					return
				}
				want := map[string]string{"task_id": "t1", "status": "completed", "output": "42", "client_rpc_id": "rpc-9"}
				if diff := cmp.Diff(want, r.reply(tt.reply)); diff != "" {
					r.Errorf("reply (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestTheReplyOfAFailure(t *testing.T) {
	bubble(t, func(r *rig) {
		r.worker()
		r.write("t1", "script", `throw "no"`, "reply_to", "rhai_reply:a")
		r.push("t1")
		r.wait("t1")
		want := map[string]string{"task_id": "t1", "status": "error", "error": "Runtime error: no (line 1, position 1)"}
		if diff := cmp.Diff(want, r.reply("rhai_reply:a")); diff != "" {
			r.Errorf("reply (-want +got):\n%s", diff)
		}
		if rec := r.record("t1"); rec.Get("error") != want["error"] || rec.Get("output") != "" {
			r.Errorf("got %v", rec)
		}
	})
}

func TestRepliesAndTasksExpire(t *testing.T) {
	bubble(t, func(r *rig) {
		r.worker()
		r.write("t1", "script", "1", "reply_to_queue", "rhai_reply:a")
		r.push("t1")
		r.wait("t1")
		time.Sleep(4 * time.Minute)
		if got := len(r.list("rhai_reply:a")); got != 1 {
			r.Errorf("after 4 minutes: got %d replies, want 1", got)
		}
		time.Sleep(2 * time.Minute)
		if got := r.list("rhai_reply:a"); len(got) != 0 || r.record("t1") == nil {
			r.Errorf("after 6 minutes: got %v and task %v, want the task only", got, r.record("t1"))
		}
		time.Sleep(24 * time.Hour)
		if got := r.record("t1"); got != nil {
			r.Errorf("after a day: got %v", got)
		}
	})
}

// TestRepliesGoNowhereElse: a reply in one of Ramet's own lists would be taken
// for work, and the list would expire.
func TestRepliesGoNowhereElse(t *testing.T) {
	for _, list := range []string{"queue:python", "ramet:finished", "msg_in", "rhai_tasks:other", "job:1:2", "context:1", strings.Repeat("x", 256), "a\x00b"} {
		t.Run(fmt.Sprintf("%.20q", list), func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.worker()
				r.write("t1", "script", "1", "reply_to_queue", list)
				r.push("t1")
				if got := r.wait("t1"); got.Status != domain.TaskCompleted {
					r.Errorf("got %+v", got)
				}
				if len(list) < 255 && !strings.Contains(list, "\x00") && len(r.list(list)) != 0 {
					r.Errorf("got %v", r.list(list))
				}
			})
		})
	}
	t.Run("what is no list", func(t *testing.T) {
		bubble(t, func(r *rig) {
			r.worker()
			r.commit(new(board.Batch).Set("mine", board.Field{Name: "a", Value: "b"}))
			r.write("t1", "script", "1", "reply_to_queue", "mine")
			r.push("t1")
			if got := r.wait("t1"); got.Status != domain.TaskCompleted || got.Output != "1" {
				r.Errorf("got %+v", got)
			}
		})
	})
}

func TestFirstInFirstOut(t *testing.T) {
	bubble(t, func(r *rig) {
		var want []string
		for i := range 50 {
			id := fmt.Sprintf("t%d", i)
			r.write(id, "script", fmt.Sprintf("say(%q)", id))
			r.push(id)
			want = append(want, id)
		}
		r.worker(func(c *circle.WorkerConfig) { c.Slots = 1 })
		r.wait("t49")
		if diff := cmp.Diff(want, r.heard()); diff != "" {
			r.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

// TestPushedBeforeWritten is the order of the seed's diagram.
func TestPushedBeforeWritten(t *testing.T) {
	bubble(t, func(r *rig) {
		r.worker()
		r.push("t1")
		time.Sleep(50 * time.Millisecond)
		r.write("t1", "script", "1 + 1", "status", "pending", "reply_to", "rhai_reply:a")
		began := time.Now()
		if got := r.wait("t1"); got.Output != "2" || time.Since(began) > time.Second {
			r.Errorf("got %+v after %v", got, time.Since(began))
		}
		if r.reply("rhai_reply:a")["output"] != "2" {
			r.Error("no reply")
		}
	})
}

func TestWhatNobodyWroteIsDropped(t *testing.T) {
	bubble(t, func(r *rig) {
		r.worker()
		r.push("ghost", "", strings.Repeat("x", 300), "a\x00b", "job:1:2")
		r.commit(new(board.Batch).Set("job:1:2", board.Field{Name: "script", Value: "say(\"stolen\")"}))
		time.Sleep(10 * time.Second)
		if got := r.list("rhai_tasks:" + club); len(got) != 0 {
			r.Errorf("still there: %q", got)
		}
		if got := r.record("ghost"); got != nil {
			r.Errorf("something was left: %v", got)
		}
		if got := r.heard(); len(got) != 0 {
			r.Errorf("got %v", got)
		}
		// Written too late, it can be pushed again.
		r.write("ghost", "script", "7")
		r.push("ghost")
		if got := r.wait("ghost"); got.Output != "7" {
			r.Errorf("got %+v", got)
		}
	})
}

// TestATaskWithoutAScriptIsTold: its client waits for a reply.
func TestATaskWithoutAScriptIsTold(t *testing.T) {
	for _, late := range []bool{false, true} { // its record, after its id
		t.Run(fmt.Sprintf("late %v", late), func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.worker()
				if late {
					r.push("t1")
					time.Sleep(50 * time.Millisecond)
				}
				r.write("t1", "code", "1 + 1", "status", "pending", "client_rpc_id", "9", "reply_to", "rhai_reply:a")
				if !late {
					r.push("t1")
				}
				got := r.wait("t1")
				if got.Status != domain.TaskError || !strings.Contains(got.Error, "script") || got.LeaseOwner != "" {
					r.Errorf("got %+v", got)
				}
				want := map[string]string{"task_id": "t1", "status": "error", "error": got.Error, "client_rpc_id": "9"}
				if diff := cmp.Diff(want, r.reply("rhai_reply:a")); diff != "" {
					r.Errorf("reply (-want +got):\n%s", diff)
				}
				// Written and pushed again, it is a task like others.
				r.write("t1", "script", "1 + 1", "status", "pending")
				r.push("t1")
				if got := r.wait("t1"); got.Output != "2" || got.Error != "" {
					r.Errorf("again: got %+v", got)
				}
			})
		})
	}
}

func TestADoubledPushRunsOnce(t *testing.T) {
	bubble(t, func(r *rig) {
		r.worker()
		r.write("t1", "script", `say("t1")`)
		r.push("t1", "t1", "t1")
		r.wait("t1")
		r.push("t1")
		synctest.Wait()
		if got := r.heard(); len(got) != 1 {
			r.Errorf("got %v", got)
		}
	})
}

func TestTwoWorkersDoNotDouble(t *testing.T) {
	bubble(t, func(r *rig) {
		r.worker()
		r.worker(func(c *circle.WorkerConfig) { c.Owner = "n2/a" })
		want := map[string]int{}
		for i := range 200 {
			id := fmt.Sprintf("t%d", i)
			r.write(id, "script", fmt.Sprintf("say(%q)", id), "reply_to", "rhai_reply:"+id)
			r.push(id)
			want[id] = 1
		}
		got := map[string]int{}
		for i := range 200 {
			id := fmt.Sprintf("t%d", i)
			r.wait(id)
			r.reply("rhai_reply:" + id)
		}
		for _, id := range r.heard() {
			got[id]++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Errorf("runs (-want +got):\n%s", diff)
		}
	})
}

// TestCirclesDoNotStarveEachOther: one is full of endless scripts.
func TestCirclesDoNotStarveEachOther(t *testing.T) {
	bubble(t, func(r *rig) {
		r.worker(func(c *circle.WorkerConfig) {
			c.Circles = append(c.Circles, domain.ServedCircle{Name: "others", Context: home})
			c.Grace = time.Second
		})
		for i := range 20 {
			r.submit(fmt.Sprintf("slow%d", i), "sleep(100000)")
		}
		synctest.Wait()
		if waiting := len(r.list("rhai_tasks:" + club)); waiting != 18 {
			r.Errorf("%d of 20 wait, want 18: of four slots each circle has two", waiting)
		}
		task := &domain.Task{ID: "quick", Circle: "others", Script: "5"}
		if _, err := r.engine.Submit(r.Context(), home, task); err != nil {
			r.Fatal(err)
		}
		began := time.Now()
		if got := r.wait("quick"); got.Output != "5" || time.Since(began) > time.Second {
			r.Errorf("got %+v after %v", got, time.Since(began))
		}
	})
}

// TestACircleBelongsToItsContext: that of the same name in another is left
// alone.
func TestACircleBelongsToItsContext(t *testing.T) {
	bubble(t, func(r *rig) {
		r.worker()
		away := &domain.Task{ID: "t1", Circle: club, Script: "CONTEXT_ID"}
		if _, err := r.engine.Submit(r.Context(), 2, away); err != nil {
			r.Fatal(err)
		}
		r.submit("t1", "CONTEXT_ID")
		if got := r.wait("t1"); got.Output != "1" {
			r.Errorf("got %+v", got)
		}
		time.Sleep(5 * time.Minute)
		if got, err := r.engine.Show(r.Context(), 2, "t1"); err != nil || got.Status != domain.TaskPending {
			r.Errorf("got %+v, %v", got, err)
		}
		r.worker(func(c *circle.WorkerConfig) {
			c.Owner, c.Circles = "n2/a", []domain.ServedCircle{{Name: club, Context: 2}}
		})
		if got, err := r.engine.Wait(r.Context(), 2, "t1"); err != nil || got.Output != "2" {
			r.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, circle.Config{Timeout: time.Minute})
		r.worker()
		r.submit("t1", "sleep(1000)")
		began := time.Now()
		got := r.wait("t1")
		if took := time.Since(began); got.Status != domain.TaskError || got.Error != "stopped after 1m0s" || took < time.Minute || took > 2*time.Minute {
			r.Errorf("got %+v after %v", got, took)
		}
	})
}

func TestALongScriptKeepsItsLease(t *testing.T) {
	bubble(t, func(r *rig) {
		r.recoverer()
		r.worker()
		r.submit("t1", `say("t1"); sleep(600)`)
		if got := r.wait("t1"); got.Status != domain.TaskCompleted || got.Attempt != 1 || len(r.heard()) != 1 {
			r.Errorf("got %+v", got)
		}
	})
}

func TestAStoppedWorkerGivesBack(t *testing.T) {
	bubble(t, func(r *rig) {
		stop := r.worker(func(c *circle.WorkerConfig) { c.Grace = time.Second })
		r.submit("t1", "sleep(600); ATTEMPT")
		r.submit("t2", "2")
		synctest.Wait()
		began := time.Now()
		if err := stop(); err != nil || time.Since(began) > 10*time.Second {
			r.Errorf("got %v after %v", err, time.Since(began))
		}
		if rec := r.record("t1"); rec.Get("status") != "pending" || rec.Get("lease_owner") != "" || r.list("rhai_tasks:" + club)[0] != "t1" {
			r.Errorf("not given back: %v", rec)
		}
		r.worker(func(c *circle.WorkerConfig) { c.Owner = "n1/b" })
		if got := r.wait("t1"); got.Output != "2" || got.Losses != 0 {
			r.Errorf("got %+v", got)
		}
	})
}

func TestABanHoldsTasksUp(t *testing.T) {
	bubble(t, func(r *rig) {
		var banned atomic.Bool
		banned.Store(true)
		lifted := make(chan struct{})
		r.worker(func(c *circle.WorkerConfig) {
			c.Banned = func(tenant domain.TenantID) (bool, <-chan struct{}) { return banned.Load() && tenant == home, lifted }
		})
		r.submit("t1", "1")
		time.Sleep(time.Hour)
		if rec := r.record("t1"); rec.Get("status") != "pending" || rec.Get("attempt") != "" {
			r.Errorf("got %v", rec)
		}
		banned.Store(false)
		close(lifted)
		r.wait("t1")
	})
}

// TestABanAfterTheClaim: what was taken a moment before goes back.
func TestABanAfterTheClaim(t *testing.T) {
	bubble(t, func(r *rig) {
		var asked atomic.Int32
		lifted := make(chan struct{})
		r.worker(func(c *circle.WorkerConfig) {
			c.Slots = 1
			c.Banned = func(domain.TenantID) (bool, <-chan struct{}) {
				n := asked.Add(1)
				return n > 1 && n < 5, lifted
			}
		})
		r.submit("t1", `say("t1")`)
		synctest.Wait()
		if rec := r.record("t1"); rec.Get("status") != "pending" || len(r.heard()) != 0 {
			r.Errorf("got %v", rec)
		}
		asked.Store(5)
		close(lifted)
		if got := r.wait("t1"); got.Attempt != 2 || got.Losses != 0 {
			r.Errorf("got %+v", got)
		}
	})
}

func TestAnObserverIsTold(t *testing.T) {
	bubble(t, func(r *rig) {
		o := make(observer, 2)
		r.worker(func(c *circle.WorkerConfig) { c.Observer = o })
		r.submit("t1", "1")
		r.submit("t2", "throw 1")
		got := map[string]bool{<-o: true, <-o: true}
		if !got["friends completed"] || !got["friends error"] {
			r.Errorf("got %v", got)
		}
	})
}

type observer chan string

func (o observer) TaskEnded(circle string, status domain.TaskStatus, _ time.Duration) {
	o <- circle + " " + string(status)
}

func TestServedCirclesAreListed(t *testing.T) {
	bubble(t, func(r *rig) {
		r.worker()
		synctest.Wait()
		r.commit(new(board.Batch).PushLeft(queue.Circle("foreign"), "a", "b"))
		got, err := r.engine.List(r.Context(), home)
		if err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff([]domain.Circle{{Name: "foreign", Queued: 2}, {Name: club}}, got); diff != "" {
			r.Errorf("circles (-want +got):\n%s", diff)
		}
	})
}
