package resp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/resp"
	"github.com/ramet-run/ramet/internal/budget"
)

// TestWhatClientsKeepIsBounded has an executor, who has the least right by which anything
// can be stored, write until it is refused, in each way there is.
func TestWhatClientsKeepIsBounded(t *testing.T) {
	const most, size = 1 << 20, 10_000
	text := strings.Repeat("x", size)
	for name, write := range map[string]func(i int) []string{
		"strings":  func(i int) []string { return []string{"SET", fmt.Sprint("s", i), text} },
		"appended": func(int) []string { return []string{"APPEND", "one", text} },
		"lists":    func(int) []string { return []string{"LPUSH", "mine", text} },
		"hashes":   func(i int) []string { return []string{"HSET", "hash", fmt.Sprint("f", i), text} },
		"sets":     func(i int) []string { return []string{"SADD", "set", fmt.Sprint(i, text)} },
		"several": func(i int) []string {
			return []string{"MSET", fmt.Sprint("a", i), text[:size/2], fmt.Sprint("b", i), text[:size/2]}
		},
		"replies": func(int) []string { return []string{"LPUSH", "rhai_reply:1", text} },
		"messages": func(i int) []string {
			return []string{"HSET", fmt.Sprintf("message:%d:%d", executor, i+1), "message", text, "status", "dispatched"}
		},
		"what says of itself that it has ended": func(i int) []string { return []string{"HSET", fmt.Sprint("h", i), "status", "error", "x", text} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, func(c *resp.Config) { c.Budget = budget.New(budget.Config{Stored: most}, nil) })
				defer r.stop()
				c := r.as(executor)
				n := 0
				for ; n < 200; n++ {
					if text, refused := c.do(write(n)...).(reply); refused {
						if !strings.Contains(string(text), "doors.stored_per_context") {
							t.Fatalf("refused with %q", text)
						}
						break
					}
				}
				if n < 80 || n > 105 { // 104 go into it
					t.Errorf("%d writes of %d bytes were taken, want about %d", n, size, most/size)
				}
				c.want("PONG", "PING")
				c.want("0", "EXISTS", "nothing")
			})
		})
	}
}

func TestRoomComesBackWhenSomethingIsTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(c *resp.Config) { c.Budget = budget.New(budget.Config{Stored: 1 << 20}, nil) })
		defer r.stop()
		c := r.as(executor)
		half := strings.Repeat("x", 500_000)
		c.want("OK", "SET", "a", half)
		c.want("OK", "SET", "b", half)
		c.refused("ERR clients of the Redis door keep", "SET", "c", half)
		c.want("1", "DEL", "a") // which needs no room
		time.Sleep(time.Minute)
		for range 20 { // no more is there than before, however often it is written
			c.want("OK", "SET", "c", half[:200_000])
			time.Sleep(time.Minute)
		}
	})
}

// TestWhatOthersWriteDoesNotCount has jobs, which leave the board by themselves.
func TestWhatOthersWriteDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(c *resp.Config) { c.Budget = budget.New(budget.Config{Stored: 1 << 20}, nil) })
		defer r.stop()
		for i := range 40 {
			b := board.Batch{Space: 7}
			b.Set(fmt.Sprintf("job:10:%d", i+1), board.Field{Name: "script", Value: strings.Repeat("x", 100_000)})
			if err := r.board.Commit(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		c := r.as(executor)
		for range 5 {
			c.want("OK", "SET", "a", strings.Repeat("x", 200_000))
			time.Sleep(time.Minute)
		}
	})
}

// TestNumbersOfOthersAreNotReserved has who may submit push keys of another's jobs that
// there are not.
func TestNumbersOfOthersAreNotReserved(t *testing.T) {
	r := newRig(t)
	yes := true
	if _, err := r.registry.UpdateTenant(t.Context(), 7, domain.TenantChange{ExecutorsMaySubmit: &yes}); err != nil {
		t.Fatal(err)
	}
	maker, other := r.as(admin), r.as(executor)
	for _, cmd := range [][]string{{"LPUSH", "queue:v", "job:10:77"}, {"RPUSH", "queue:v", "job:20:1", "job:10:77"}} {
		other.refused("NOPERM job:10:77 does not exist, and its caller is not you", cmd...)
	}
	other.want("1", "LPUSH", "mine", "job:10:77")
	other.refused("NOPERM job:10:77", "LMOVE", "mine", "queue:v", "LEFT", "LEFT")
	other.want("job:10:77", "LPOP", "mine") // it is where it was
	other.want("0", "LLEN", "queue:v")
	other.want("1", "LPUSH", "queue:v", "job:20:1") // ahead of its record
	maker.want("2", "HSET", "job:10:77", "script", "true", "script_type", "v")
	other.want("2", "LPUSH", "queue:v", "job:10:77")
	other.want("3", "LPUSH", "queue:v", "a queue of another program")
}

// TestAFullContextTakesNoMoreJobs: what ends one, and all else, is written still.
func TestAFullContextTakesNoMoreJobs(t *testing.T) {
	var now error
	r := newRig(t, func(c *resp.Config) { c.Room = func(context.Context, domain.TenantID) error { return now } })
	maker, worker := r.as(admin), r.as(executor)
	maker.want("2", "HSET", "job:10:1", "script", "true", "script_type", "v")
	now = domain.Exhaustedf("9 jobs and flows of context 7 have not ended")
	maker.refused("BUSY 9 jobs and flows", "HSET", "job:10:2", "script", "true", "script_type", "v")
	maker.refused("BUSY 9 jobs and flows", "HSET", "flow:1", "jobs", "[1]")
	maker.want("1", "LPUSH", "queue:v", "job:10:1")
	worker.want("job:10:1", "RPOP", "queue:v")
	worker.want("2", "HSET", "job:10:1", "status", "finished", "result", `{"a":"b"}`)
	worker.want("OK", "SET", "a", "1")
	now = nil
	maker.want("2", "HSET", "job:10:2", "script", "true", "script_type", "v")
}

// TestAFullDiskTakesNothingNew has a door whose node has no room: what is new is refused,
// and what ends or takes away something is not.
func TestAFullDiskTakesNothingNew(t *testing.T) {
	full := domain.Exhaustedf("the disk is nearly full")
	var now error
	r := newRig(t, func(c *resp.Config) { c.Intake = func() error { return now } })
	maker, worker := r.as(admin), r.as(executor)
	maker.want("2", "HSET", "job:10:1", "script", "true", "script_type", "v")
	maker.want("1", "LPUSH", "queue:v", "job:10:1")
	worker.want("OK", "SET", "a", "1")
	worker.want("1", "HSET", "h", "f", "1")
	worker.want("1", "SADD", "s", "m")
	now = full
	for _, cmd := range [][]string{{"SET", "b", "1"}, {"APPEND", "a", "1"}, {"LPUSH", "mine", "x"}, {"HSET", "h", "f", "2"}, {"SADD", "s", "n"}, {"INCR", "n"},
		{"MSET", "x", "1", "y", "2"}, {"HSET", "message:20:1", "message", "x"}, {"LMOVE", "mine", "other", "LEFT", "RIGHT"}} {
		worker.refused("BUSY the disk is nearly full", cmd...)
	}
	for _, cmd := range [][]string{{"HSET", "job:10:2", "script", "true", "script_type", "v"}, {"LPUSH", "queue:v", "job:10:1"},
		{"LPUSH", "rhai_tasks:c", "t"}, {"HSET", "rhai_task_details:t", "script", "1"}} {
		maker.refused("BUSY the disk is nearly full", cmd...)
	}
	worker.want("job:10:1", "RPOP", "queue:v")
	worker.want("2", "HSET", "job:10:1", "status", "finished", "result", `{"a":"b"}`)
	worker.want("1", "LPUSH", "rhai_reply:1", "done")
	worker.want("1", "HDEL", "h", "f")
	worker.want("1", "SREM", "s", "m")
	worker.want("1", "DEL", "a")
	now = nil
	worker.want("OK", "SET", "b", "1")
}
