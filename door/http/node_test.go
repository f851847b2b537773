package http_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/service/servicetest"
)

func TestHealthLooksAtWhatTheNodeStandsOn(t *testing.T) {
	down := false
	r := newRigOf(t, func(p *service.Parts) {
		p.Streams = func(context.Context) error {
			if down {
				return domain.Unavailablef("nats://user:secret@host: no route")
			}
			return nil
		}
	})
	if got := r.want(200, 0, "GET", "/health", ""); got != `{"status":"ok"}`+"\n" {
		t.Errorf("got %s", got)
	}
	r.want(200, 0, "GET", "/ready", "")
	ready := func(as domain.ActorID) bool {
		var i api.Info
		if err := json.Unmarshal([]byte(r.want(200, as, "GET", "/v1/info", "")), &i); err != nil {
			t.Fatal(err)
		}
		return i.Ready
	}
	if !ready(domain.Operator) || !ready(reader) {
		t.Error("info says that it is not ready")
	}
	down = true
	if ready(domain.Operator) || ready(reader) {
		t.Error("info says that it is ready, and /ready will not")
	}
	for _, path := range []string{"/health", "/ready"} {
		resp := r.request(0, "GET", path, "")
		if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 503 || string(text) != `{"status":"unavailable"}`+"\n" {
			t.Errorf("%s: got %d %s, %v", path, resp.StatusCode, text, err)
		}
	}
	if !strings.Contains(r.log.String(), "no route") {
		t.Error("the log does not say why")
	}
}

// TestANearlyFullDiskIsSeen, and keeps no requests away: what runs could not end.
func TestANearlyFullDiskIsSeen(t *testing.T) {
	r := newRigOf(t, func(p *service.Parts) {
		p.Intake = func() error { return domain.Exhaustedf("the disk of /data is nearly full") }
	})
	for _, path := range []string{"/health", "/ready"} {
		if got := r.want(200, 0, "GET", path, ""); got != `{"status":"no intake"}`+"\n" {
			t.Errorf("%s: got %s", path, got)
		}
	}
	var i api.Info
	if err := json.Unmarshal([]byte(r.want(200, domain.Operator, "GET", "/v1/info", "")), &i); err != nil || !strings.Contains(i.DiskError, "/data") || !i.Ready {
		t.Errorf("got %+v, %v", i, err)
	}
}

// TestInfoTellsEachWhatItMayKnow: who serves what is not for strangers.
func TestInfoTellsEachWhatItMayKnow(t *testing.T) {
	r := newRigOf(t, func(p *service.Parts) {
		before := p.Info
		p.Info = func() api.Info {
			i := before()
			i.Sagas, i.Effects, i.Consumers = []string{"7:order:0/1", "71:pay:0/1"}, []string{"charge"}, []string{"effect-charge"}
			i.Stream = "nats"
			return i
		}
	})
	for as, want := range map[domain.ActorID]string{0: "", stranger: "", reader: "7:order:0/1", servicetest.Neighbour: "71:pay:0/1",
		domain.Operator: "7:order:0/1 71:pay:0/1"} {
		for _, path := range []string{"/info", "/v1/info"} {
			if as == 0 && path == "/v1/info" {
				continue
			}
			var got api.Info
			if err := json.Unmarshal([]byte(r.want(200, as, "GET", path, "")), &got); err != nil {
				t.Fatal(err)
			}
			all := as == domain.Operator
			if strings.Join(got.Sagas, " ") != want || (len(got.Effects) > 0) != all || (len(got.Consumers) > 0) != all || (got.Stream == "nats") != all ||
				(got.Board != "") != all ||
				(got.Version != "") != (as != 0) || got.Name != "n1" {
				t.Errorf("actor %d, %s: got %+v", as, path, got)
			}
		}
	}
	if got := r.want(200, 0, "GET", "/info", "", "Authorization", "Bearer nonsense"); strings.Contains(got, "order") {
		t.Errorf("a token that is none: got %s", got)
	}
}

func TestTheOperatorDrainsAndReloads(t *testing.T) {
	r := newRig(t)
	r.want(503, domain.Operator, "POST", "/admin/drain", "")
	r.want(503, domain.Operator, "POST", "/admin/reload", "")
	drained, wrong := 0, false
	r = newRigOf(t, func(p *service.Parts) {
		p.Drain = func() { drained++ }
		p.Reload = func(context.Context) ([]string, error) {
			if wrong {
				return nil, domain.Invalidf("ramet.yaml: no such effect")
			}
			return nil, nil
		}
	})
	r.want(403, admin, "POST", "/admin/drain", "")
	r.want(401, 0, "POST", "/admin/drain", "")
	r.want(200, domain.Operator, "POST", "/admin/drain", "{}")
	r.want(200, domain.Operator, "POST", "/admin/reload", "")
	wrong = true
	r.want(400, domain.Operator, "POST", "/admin/reload", "")
	if drained != 1 {
		t.Errorf("drained %d times", drained)
	}
}
