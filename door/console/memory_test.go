package console_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
)

// rememberingJobs are jobs whose scripts remember what somebody wrote who wants to do harm.
type rememberingJobs struct{ service.Jobs }

func (r rememberingJobs) Show(ctx context.Context, t domain.TenantID, key domain.JobKey) (*domain.Job, error) {
	j, err := r.Jobs.Show(ctx, t, key)
	if j != nil {
		j.Remembered = 4
	}
	return j, err
}

func (rememberingJobs) History(context.Context, domain.TenantID, domain.JobKey, int, int) ([]domain.HistoryEvent, int, error) {
	value, _ := json.Marshal(acts[:5]) // texts
	return []domain.HistoryEvent{{Kind: "step", Name: "charge", N: 1, AtMs: 1000, Value: json.RawMessage("42")},
		{Kind: "step", Name: acts[0], N: 2, AtMs: 1250, Value: value},
		{Kind: "step", Name: "mail", N: 1, AtMs: 2000, Failure: &domain.StepFailure{Text: acts[1]}},
		{Kind: "wait", Name: "w", N: 1, AtMs: 3000, Signal: acts[2], UntilMs: 9000},
		{Kind: "call", Name: "bill", N: 1, AtMs: 3000, Child: "job:10:7"},
		{Kind: "wait", Name: "ok", N: 1, AtMs: 3000, Child: "flow:33"},
		{Kind: "wait", Name: "file", N: 1, AtMs: 3000, Prerequisite: "file:in.csv"}}, 8, nil
}

func (rememberingJobs) SignalsOf(context.Context, domain.TenantID, domain.JobKey) ([]domain.Signal, error) {
	return []domain.Signal{{Name: acts[1], N: 1, AtMs: 4000, By: 20}}, nil
}

func TestWhatAJobRemembers(t *testing.T) {
	r := newRig(t, func(_ *rig, p *service.Parts) { p.Jobs = rememberingJobs{p.Jobs} })
	p := r.job("gate")
	b := r.as(admin)
	page := path("jobs/%d/%d", p.Caller, p.ID)
	a := b.get(200, page+"?tab=memory")
	harmless(t, a)
	b.has(a, "8 events", ">charge<", "42", "250 ms", "failed", "for signal", "Fork", "ramet job fork 10:1 --from charge --context 7",
		"Send a signal", "sent by actor 20", "events_from=7")
	b.has(a, ">its page</a>", path("flows/33"), ">job:10:7</a>", path("jobs/10/7"), "for the decision of flow:33", "for prerequisite file:in.csv")
	b.hasNot(a, "for signal ,", "for signal <")
	b.hasNot(r.as(reader).get(200, page+"?tab=memory"), "Fork", "Send a signal")
	a = b.post(400, page+"/signal", "signal", "click", "payload", "yes")
	b.has(a, "This is no JSON.", `value="click"`, "\nyes</textarea>", "open>")
	b.post(404, page+"/whistle")
	close(r.gate)
}
