package effectscript_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/layout"
)

// TestSecretsAreTold: to the target alone. What is kept for the next attempt, and what comes
// back, is without them.
func TestSecretsAreTold(t *testing.T) {
	bubble(t, func(r *rig) {
		r.bank.answer = `{"echo":"hunter2"}`
		once := failing(1, errors.New("no luck with hunter2"))
		var kept string
		r.bank.on(func(ctx context.Context, c effect.Call) error {
			recs, err := r.board.Get(ctx, board.Space(tenant), layout.Checkpoint(domain.JobKey{Caller: 1, ID: 1}))
			if err != nil {
				return err
			}
			kept = recs[0].Get(layout.CheckpointData)
			return once(ctx, c)
		})
		v := r.wait(r.submit(map[string]string{"who": "Ann ${secret.KEY} $${x}"}, call("pay", domain.EffectCall{Target: "pay",
			Params: map[string]string{"auth": "Bearer ${secret.KEY}", "to": "${who} or ${params.who}", "text": "$${secret.KEY} of ${none}"}},
			func(s *domain.Step) { s.Retries, s.Secrets = 1, map[string]string{"KEY": "shop"} })))
		asked := r.bank.asked()
		if v.Reason != domain.FlowSucceeded || len(asked) != 2 {
			t.Fatalf("got %s %s, %d calls", v.Reason, v.Error, len(asked))
		}
		for _, c := range asked {
			want := `{"auth":"Bearer hunter2","text":"${secret.KEY} of ${none}","to":"Ann ${secret.KEY} $${x} or Ann ${secret.KEY} $${x}"}`
			if string(c.Payload) != want {
				t.Errorf("attempt %d was told %s, want %s", c.Attempt, c.Payload, want)
			}
		}
		j := r.job(v, "pay")
		logs, err := r.work.Logs(t.Context(), tenant, j.Key(), 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range logs {
			kept += l.Line
		}
		for _, text := range j.Result {
			kept += text
		}
		if !strings.Contains(kept, "${secret.KEY}") || !strings.Contains(kept, "no luck with") || !strings.Contains(kept, `"echo"`) ||
			strings.Contains(kept, "hunter2") {
			t.Errorf("got %q", kept)
		}
	})
}

func TestSecretsThatAreNotTold(t *testing.T) {
	bubble(t, func(r *rig) {
		told := func(want string, change func(*domain.Step)) {
			t.Helper()
			v := r.wait(r.submit(nil, call("pay", domain.EffectCall{Target: "pay", Params: map[string]string{"auth": "${secret.KEY}"}}, change)))
			if v.Reason != domain.FlowFailed || !strings.Contains(v.Error, want) || len(r.bank.asked()) > 0 {
				t.Errorf("got %s %q", v.Reason, v.Error)
			}
		}
		told("names no secret KEY", func(*domain.Step) {})
		r.nodes[0].effects.Use(r.open(effect.Definition{Name: "pay", Kind: domain.EffectFlow}))
		told("whose params stand on records", func(s *domain.Step) { s.Secrets = map[string]string{"KEY": "shop"} })
	})
}
