package archive_test

import (
	"strings"
	"testing"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
)

func TestWhateverMessageIsOnTheBoardCanBePut(t *testing.T) {
	m := &domain.Message{ID: 1, CallerID: 2, Status: domain.MessageError, Stage: domain.Stage(strings.Repeat("ü", 300) + "\x00\xff"),
		Message: "\xff\x00", MessageType: "\xff", Error: "\x00", EndedMs: 5, Logs: domain.List[domain.Log]{{Line: "walnut"}}}
	r, err := archive.OfMessage(7, m)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(); err != nil {
		t.Errorf("got %v of a message that a foreign program wrote", err)
	}
	if r.BeginMs != 5 {
		t.Errorf("got the begin %d of a message that does not say, want its end", r.BeginMs)
	}
	if strings.Contains(string(r.Body), "walnut") || len(r.Logs) != 1 || len(m.Logs) != 1 {
		t.Errorf("got the body %s and %d lines, want the log once, beside the body, and the message as it was", r.Body, len(r.Logs))
	}
}

func TestWhyAMessageEnded(t *testing.T) {
	for _, c := range []struct {
		name string
		m    domain.Message
		want string
	}{
		{"one that was processed has no reason", domain.Message{Status: domain.MessageProcessed}, ""},
		{"time-outs name their stage", domain.Message{Status: domain.MessageError, Stage: domain.StageDelivery}, "delivery"},
		{"what was not taken was refused", domain.Message{Status: domain.MessageError, Error: "no right"}, "refused"},
	} {
		r, err := archive.OfMessage(1, &c.m)
		if err != nil || r.Reason != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.name, r.Reason, err, c.want)
		}
	}
}
