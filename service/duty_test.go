package service_test

import (
	"errors"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

func TestANodeWithoutItsGatewayReadsAndGivesTheDutyBack(t *testing.T) {
	r := newRig(t)
	r.submit(1, nil)
	r.noGateway = true
	c := r.api.As(admin)
	p := api.JobParams{Context: house, Caller: admin, ID: 1}
	if _, err := c.CancelJob(t.Context(), p); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("cancel: got %v", err)
	}
	if _, err := c.ShowJob(t.Context(), p); err != nil {
		t.Errorf("show: got %v", err)
	}
	// Who may not do it is told so, not that he came at a bad time.
	if _, err := r.api.As(reader).CancelJob(t.Context(), p); !errors.Is(err, domain.ErrForbidden) {
		t.Errorf("cancel by a reader: got %v", err)
	}
	rules := domain.Duties{Rules: []domain.DutyRule{{Disable: []domain.Role{domain.RoleGateway}}}}
	if _, err := r.api.As(operator).SetDuty(t.Context(), rules); err != nil {
		t.Errorf("set: got %v", err)
	}
	if d, err := r.api.As(operator).ShowDuty(t.Context(), api.DutyParams{}); err != nil || len(d.Rules) != 1 {
		t.Errorf("show: got %+v, %v", d, err)
	}
	if _, err := r.api.As(operator).ClearDuty(t.Context(), api.DutyParams{}); err != nil {
		t.Errorf("clear: got %v", err)
	}
	if d, err := r.api.As(operator).ShowDuty(t.Context(), api.DutyParams{}); err != nil || len(d.Rules) != 0 {
		t.Errorf("show: got %+v, %v", d, err)
	}
	if _, err := r.api.As(operator).SetDuty(t.Context(), domain.Duties{}); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("no rules: got %v", err)
	}
}
