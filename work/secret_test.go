package work_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// secrets are those of the tests' context.
type secrets map[string]string

func (s secrets) Read(_ context.Context, t domain.TenantID, names []string) (map[string]string, error) {
	values := map[string]string{}
	for _, name := range names {
		if values[name] = s[name]; s[name] == "" || t != tenant {
			return nil, domain.NotFoundf("context %d has no secret %s", t, name)
		}
	}
	return values, nil
}

func names(pairs ...string) func(*domain.Job) {
	return func(j *domain.Job) {
		j.Secrets = map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			j.Secrets[pairs[i]] = pairs[i+1]
		}
	}
}

// TestSecretsAreGivenAndHidden: the script has them, and nothing of what it leaves.
func TestSecretsAreGivenAndHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, work.Config{Secrets: secrets{"db": "hunter2", "mail": "letmein"}})
		var found map[string]string
		r.script.on("tell", func(_ context.Context, s script.Task, h script.Host) script.Outcome {
			found = maps.Clone(s.Secrets)
			h.Log("stdout", []byte("it is hunter2, I say"))
			_ = s.Checkpoint.Save("letmein")
			return script.Outcome{Verdict: script.Failed, ExitCode: 1, Error: "no hunter2", Result: map[string]string{"a hunter2": "letmein in"}}
		})
		r.submit(job(1, "tell", names("DB", "db", "AGAIN", "db", "MAIL", "mail")))
		j := r.want(1, domain.JobError, domain.ReasonScriptFailed)
		if want := map[string]string{"DB": "hunter2", "AGAIN": "hunter2", "MAIL": "letmein"}; !maps.Equal(found, want) {
			t.Errorf("the script found %v", found)
		}
		if j.Error != "no ***" || j.Result["a ***"] != "*** in" || j.Secrets["DB"] != "db" {
			t.Errorf("got %q, %v, %v", j.Error, j.Result, j.Secrets)
		}
		logs, err := r.engine.Logs(r.ctx, tenant, key(1), 0, 10)
		if err != nil || len(logs) == 0 || logs[0].Line != "it is ***, I say" {
			t.Errorf("got the log %v, %v", logs, err)
		}
		recs, err := r.board.Get(r.ctx, 1, layout.Checkpoint(key(1)))
		if err != nil || recs[0].Get(layout.CheckpointData) != "***" {
			t.Errorf("got the checkpoint %v, %v", recs, err)
		}
	})
}

// TestAMissingSecretEndsTheAttempt: the job is tried again as its policy says, and says
// what is to be done.
func TestAMissingSecretEndsTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		has := secrets{}
		r := newRig(t, work.Config{Secrets: has})
		r.submit(job(1, "ok", names("DB", "db"), retries(2)), job(2, "ok", names("DB", "none")))
		j := r.want(2, domain.JobError, domain.ReasonScriptFailed)
		if j.Error != "context 1 has no secret none" || *j.ExitCode != 125 || work.OutcomeOf(j) != work.OutcomeErrored || r.script.count(key(2)) != 0 {
			t.Errorf("got %q, exit code %d, run %d times", j.Error, *j.ExitCode, r.script.count(key(2)))
		}
		synctest.Wait()
		has["db"] = "hunter2" // before the next attempt, which an alarm begins
		if j := r.want(1, domain.JobFinished, ""); j.Attempt < 2 || r.script.count(key(1)) != 1 {
			t.Errorf("got attempt %d", j.Attempt)
		}
	})
}

// TestSecretsStayInTheirContext: neither does a job take them elsewhere, nor does one that
// comes from elsewhere find them, however it was written.
func TestSecretsStayInTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, work.Config{Secrets: secrets{"db": "hunter2"}, Remote: func(context.Context, domain.TenantID, domain.ActorID, string) error { return nil }})
		receipts, err := r.engine.Submit(r.ctx, tenant, []*domain.Job{job(1, "ok", names("DB", "db"), func(j *domain.Job) { j.At = "8" })})
		if err != nil || !errors.Is(receipts[0].Err, domain.ErrInvalid) || !strings.Contains(receipts[0].Err.Error(), "secrets") {
			t.Errorf("got %v, %v", receipts, err)
		}
		r.submit(job(2, "ok", names("DB", "db"), func(j *domain.Job) { j.Message, j.NotBefore = "message:9:1", time.Now().Add(time.Hour).UnixMilli() }))
		if j := r.want(2, domain.JobError, domain.ReasonScriptFailed); !strings.Contains(j.Error, "came in a message") || r.script.count(key(2)) != 0 {
			t.Errorf("got %q", j.Error)
		}
		p, err := r.engine.Portable(r.ctx, tenant, job(3, "ok", names("DB", "db")))
		if err != nil || p.Secrets != nil {
			t.Errorf("got %v, %v", p.Secrets, err)
		}
	})
}

// TestWorkersGetNoSecrets: they are programs of their own, which hide nothing.
func TestWorkersGetNoSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, work.Config{Secrets: secrets{"db": "hunter2"}})
		r.submit(mail(1, "ok", names("DB", "db")), mail(2, "ok"))
		list := r.hand(2, "w").claim(5, time.Second)
		if len(list) != 1 || list[0].Job.ID != 2 {
			t.Errorf("got %v", list)
		}
		if j := r.want(1, domain.JobError, domain.ReasonInvalid); !strings.Contains(j.Error, "worker") {
			t.Errorf("got %q", j.Error)
		}
	})
}

// TestTheBoardIsAskedAgainForSecrets: that it is away is no fault of the job.
func TestTheBoardIsAskedAgainForSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		away := 2
		r := startRig(t, b, work.Config{Secrets: reads(func() error {
			if away--; away >= 0 {
				return domain.Unavailablef("the board is away")
			}
			return nil
		})}, work.RunnerConfig{ID: 1, Owner: "n1/a"}, newGoScript("go", 8))
		defer r.stop()
		r.submit(job(1, "ok", names("DB", "db")))
		if j := r.want(1, domain.JobFinished, ""); j.Failures != 0 {
			t.Errorf("got %d failures", j.Failures)
		}
	})
}

type reads func() error

func (r reads) Read(context.Context, domain.TenantID, []string) (map[string]string, error) {
	return map[string]string{"db": "hunter2"}, r()
}
