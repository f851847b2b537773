package work_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

func TestFollowLogs(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.script.on("count", func(_ context.Context, _ script.Task, h script.Host) script.Outcome {
			for i := range 5 {
				h.Log("stdout", []byte(fmt.Sprint(i)))
				time.Sleep(time.Second)
			}
			return ok(nil)
		})
		r.submit(job(1, "count"))
		var got []string
		var late time.Duration
		err := r.engine.FollowLogs(t.Context(), tenant, key(1), 1, func(l domain.Log) error {
			got = append(got, l.Line)
			late = max(late, time.Since(time.UnixMilli(l.AtMs)))
			return nil
		})
		if j := r.show(1); err != nil || !j.Final() || strings.Join(got, "") != "1234" {
			t.Errorf("got %v, %+v, %v", got, j, err)
		}
		if late > time.Second {
			t.Errorf("a line came %v late", late)
		}
	})
}

func TestLogsAreBounded(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{LogBytes: 10_000})
		r.script.on("chatter", func(_ context.Context, _ script.Task, h script.Host) script.Outcome {
			for range 900 {
				h.Log("stdout", []byte(strings.Repeat("x", 100)))
			}
			return failed("no")
		})
		r.submit(job(1, "chatter", retries(2)))
		r.want(1, domain.JobError, domain.ReasonScriptFailed)
		logs, err := r.engine.Logs(t.Context(), tenant, key(1), 0, 10_000)
		if err != nil || len(logs) != 5_000/164+2*(4096/164)+3+2 || !strings.HasPrefix(logs[len(logs)-1].Line, "log cut") {
			t.Errorf("got %d lines, %v; want the shares, one remark each attempt, and the ends of the first two", len(logs), err)
		}
	})
}

// TestEachAttemptHasAShareOfTheLog holds that what the last attempt said is there, however much those before
// it have said, and that all of them are bounded.
func TestEachAttemptHasAShareOfTheLog(t *testing.T) {
	const all, tries = 100_000, 20
	for _, tt := range []struct {
		name    string
		retries uint8
		least   [2]int // lines of the first attempt and of the last
	}{
		{"a job that is tried once has nearly all", 0, [2]int{all * 7 / 8 / 164, all * 7 / 8 / 164}},
		{"one that is tried again leaves half for what may come", tries - 1, [2]int{all / 2 / 164, 4096 / 164}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eachTaking(t, func(t *testing.T, by taking) {
				r := by.newRig(t, work.Config{LogBytes: all})
				r.script.on("chatter", func(_ context.Context, _ script.Task, h script.Host) script.Outcome {
					for range all / 100 {
						h.Log("stdout", []byte(strings.Repeat("x", 100)))
					}
					return failed("no")
				})
				r.submit(job(1, "chatter", retries(tt.retries)))
				r.want(1, domain.JobError, domain.ReasonScriptFailed)
				logs, err := r.engine.Logs(t.Context(), tenant, key(1), 0, 10_000)
				if err != nil {
					t.Fatal(err)
				}
				lines, cut := map[int]int{}, map[int]int{}
				for _, l := range logs {
					if l.Stream == "stdout" {
						lines[l.Attempt]++
					} else if strings.HasPrefix(l.Line, "log cut") {
						cut[l.Attempt]++
					}
				}
				sum := 0
				for a := 1; a <= int(tt.retries)+1; a++ {
					if sum += lines[a]; lines[a] < 4096/164 || cut[a] != 1 {
						t.Errorf("attempt %d has %d lines and says %d times that it was cut", a, lines[a], cut[a])
					}
				}
				if got := [2]int{lines[1], lines[int(tt.retries)+1]}; got != tt.least {
					t.Errorf("the first attempt and the last have %d lines, want %d", got, tt.least)
				}
				if most := (all + tries*4096) / 164; sum > most {
					t.Errorf("the log has %d lines, want at most %d", sum, most)
				}
			})
		})
	}
}

func TestLogsWaitForTheBoard(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		m := memboard.Open()
		defer m.Close()
		b := faultboard.New(m, faultboard.Config{})
		r := by.startRig(t, b, work.Config{}, work.RunnerConfig{ID: 1, Owner: "n1/a"}, newGoScript("go", 4))
		defer r.stop()
		r.script.on("talk", func(_ context.Context, _ script.Task, h script.Host) script.Outcome {
			h.Log("stdout", []byte("before"))
			time.Sleep(time.Second)
			b.Cut()
			h.Log("stdout", []byte("meanwhile"))
			time.Sleep(5 * time.Second)
			b.Heal()
			time.Sleep(5 * time.Second)
			h.Log("stdout", []byte("after"))
			return ok(nil)
		})
		r.submit(job(1, "talk"))
		time.Sleep(time.Minute)
		r.want(1, domain.JobFinished, "")
		logs, err := r.engine.Logs(t.Context(), tenant, key(1), 0, 10)
		if err != nil || len(logs) != 3 || logs[1].Line != "meanwhile" {
			t.Errorf("got %v, %v", logs, err)
		}
	})
}

func TestAResultTheBoardRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, work.Config{})
		r.script.on("huge", func(context.Context, script.Task, script.Host) script.Outcome {
			return ok(map[string]string{"k": strings.Repeat("x", board.MaxField+1)})
		})
		r.submit(job(1, "huge"), job(2, "ok", after(1)))
		j := r.want(1, domain.JobError, domain.ReasonInvalid)
		if !strings.Contains(j.Error, "could not be written") || len(j.Error) > 5000 {
			t.Errorf("got error %.200q", j.Error)
		}
		r.want(2, domain.JobError, domain.ReasonDependencyFailed)
	})
}

func TestWhatAScriptFinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		g := newGoScript("go", 4)
		var env map[string]string
		var input struct {
			Needs map[string]struct {
				Status string
				Result map[string]string
			}
		}
		g.on("look", func(_ context.Context, task script.Task, _ script.Host) script.Outcome {
			env = task.Env
			text, err := os.ReadFile(task.InputFile)
			if err == nil {
				err = json.Unmarshal(text, &input)
			}
			if err != nil {
				t.Error(err)
			}
			return ok(nil)
		})
		g.on("seven", func(context.Context, script.Task, script.Host) script.Outcome { return ok(map[string]string{"n": "7"}) })
		r := startRunner(t, b, work.New(b, work.Config{DataDir: t.TempDir()}), work.RunnerConfig{ID: 1, Owner: "n1/a", Runtimes: []script.Runtime{dirScript{g}}})
		defer r.stop()
		r.commit(new(board.Batch).Set("flow:9", layout.EncodeFlow(domain.Flow{ID: 9, EnvVars: map[string]string{"A": "flow", "B": "flow"}})...).
			Set(layout.FlowState(9), board.Field{Name: layout.FlowStateCaller, Value: "1"}))
		r.submit(job(1, "seven"), job(2, "look", after(1), func(j *domain.Job) {
			j.FlowID, j.FlowEnv, j.EnvVars = 9, true, map[string]string{"B": "job"}
		}))
		r.want(2, domain.JobFinished, "")
		synctest.Wait()
		if env["A"] != "flow" || env["B"] != "job" || env["RAMET_JOB"] != "job:1:2" || env["RAMET_ATTEMPT"] != "1" {
			t.Errorf("environment: %v", env)
		}
		if n := input.Needs["1"]; n.Status != "finished" || n.Result["n"] != "7" {
			t.Errorf("input: %+v", input)
		}
	})
}

func TestList(t *testing.T) {
	t.Run("by itself", func(t *testing.T) { testList(t, work.Config{}) })
	t.Run("beside other programs", func(t *testing.T) { testList(t, work.Config{Foreign: true}) })
}

func testList(t *testing.T, cfg work.Config) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, cfg)
		for i := range 1200 {
			r.submit(job(domain.JobID(i+1), []string{"ok", "hang"}[i%2], func(j *domain.Job) { j.CallerID = domain.ActorID(1 + i%3) }))
		}
		time.Sleep(time.Second)
		r.submit(job(2001, "ok", func(j *domain.Job) { j.Prerequisites = []string{"sun"} }))
		foreign := 0
		if cfg.Foreign { // which no node has seen yet
			foreign++
			strange := board.Batch{Space: layout.SpaceOf(tenant)}
			strange.Set("job:1:5000", board.Field{Name: "script", Value: "ok"}, board.Field{Name: "script_type", Value: "go"},
				board.Field{Name: "status", Value: "started"})
			if err := r.board.Commit(t.Context(), strange); err != nil {
				t.Fatal(err)
			}
		}
		count := func(f work.Filter) (n int) {
			seen := map[string]bool{}
			for cursor := ""; ; {
				jobs, next, err := r.engine.List(t.Context(), tenant, f, cursor)
				if err != nil {
					t.Fatal(err)
				}
				for _, j := range jobs {
					if seen[j.Key().String()] {
						t.Errorf("%+v: %s is listed twice", f, j.Key())
					}
					seen[j.Key().String()] = true
				}
				if n += len(jobs); next.Next == "" {
					return n
				}
				cursor = next.Next
			}
		}
		for _, tc := range []struct {
			filter work.Filter
			want   int
		}{{work.Filter{}, 1201 + foreign}, {work.Filter{Caller: 2}, 400}, {work.Filter{Type: "v"}, 0}, {work.Filter{Status: domain.JobStarted}, 8 + foreign},
			{work.Filter{Status: domain.JobWaiting}, 1}} {
			if n := count(tc.filter); n != tc.want {
				t.Errorf("%+v: got %d jobs, want %d", tc.filter, n, tc.want)
			}
		}
	})
}

// TestTheLogSaysHowAttemptsEnded: the record has the end of the last alone.
func TestTheLogSaysHowAttemptsEnded(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.script.on("sad", func(_ context.Context, _ script.Task, h script.Host) script.Outcome {
			h.Log("stdout", []byte("tries"))
			return failed("no shop")
		})
		r.submit(job(1, "sad", retries(1)))
		r.want(1, domain.JobError, domain.ReasonScriptFailed)
		if _, err := r.engine.Retry(t.Context(), tenant, key(1)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		logs, err := r.engine.Logs(t.Context(), tenant, key(1), 0, 100)
		var got []string
		for _, l := range logs {
			got = append(got, strconv.Itoa(l.Attempt)+" "+l.Stream+" "+l.Line)
		}
		all := strings.Join(got, "\n")
		for _, want := range []string{"1 stdout tries\n1 ramet attempt 1 ended: no shop; the next begins ",
			"2 stdout tries\n2 ramet attempt 2 ended: no shop; somebody has it begin anew\n3 stdout tries"} {
			if err != nil || !strings.Contains(all, want) {
				t.Errorf("got %s, %v; want %q in it", all, err, want)
			}
		}
	})
}

// TestNobodyWritesLinesOfOthers logs what would be several lines, and what moves a terminal, by
// everything that comes into a log: a script, lines of a worker, and the words of an error.
func TestNobodyWritesLinesOfOthers(t *testing.T) {
	const text = "one\r\ntwo\rthree\x1b[2J\x00\u2028four\x1b[31m"
	want := func(t *testing.T, e *work.Engine, id domain.JobID, stream string) {
		t.Helper()
		logs, err := e.Logs(t.Context(), tenant, key(id), 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range logs {
			if strings.ContainsAny(l.Line, "\n\r\x00\u2028") || strings.Contains(l.Line, "\x1b[2J") {
				t.Errorf("job %d has the line %q", id, l.Line)
			}
			if l.Stream == stream {
				got = append(got, l.Line)
			}
		}
		if want := []string{"one", "two three  four\x1b[31m"}; !slices.Equal(got, want) {
			t.Errorf("job %d: %s has %q, want %q", id, stream, got, want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		g := newGoScript("go", 1)
		g.on("talk", func(_ context.Context, _ script.Task, h script.Host) script.Outcome {
			h.Log("stderr", []byte(text))
			return ok(nil)
		})
		r := startRig(t, b, known(), work.RunnerConfig{ID: 1, Owner: "n1/a"}, g)
		defer r.stop()
		r.submit(job(1, "talk"))
		r.want(1, domain.JobFinished, "")
		want(t, r.engine, 1, "stderr")

		h := r.hand(7, "a")
		h.claim(1, 0)
		r.submit(mail(2, "x", retries(1)), mail(3, "x"))
		a := h.claim(2, 20*time.Second)
		a = append(a, h.claim(1, 0)...)
		lines := []domain.LogLine{{Stream: "stderr", Line: text}}
		if err := r.engine.LogFor(t.Context(), h.Worker, heldOf(a[0]), lines); err != nil {
			t.Fatal(err)
		}
		if _, err := h.finish(end(a[0], domain.VerdictFailed, func(e *domain.AttemptEnd) { e.Error = "why\n" + text })); err != nil {
			t.Fatal(err)
		}
		if _, err := h.finish(end(a[1], domain.VerdictSucceeded, func(e *domain.AttemptEnd) { e.Lines = lines })); err != nil {
			t.Fatal(err)
		}
		want(t, r.engine, a[0].Job.ID, "stderr")
		want(t, r.engine, a[1].Job.ID, "stderr")
	})
}
