package post_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/bus/membus"
	"github.com/ramet-run/ramet/domain"
)

// TestAMessageNamesNoSecrets: a sender's script would print those of the receiver elsewhere.
func TestAMessageNamesNoSecrets(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
		m := jobTo(b, "set x 1")
		m.Job[0].Secrets = map[string]string{"DB": "warehouse"}
		m.Job[0].ID = 1
		m.CallerID = a.op
		if err := m.Validate(); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "secrets") {
			t.Errorf("a job: got %v", err)
		}
		for _, secrets := range []string{`"secrets":{"DB":"warehouse"},"steps":[{"name":"one","script":"say hi","script_type":"lines"}]`,
			`"steps":[{"name":"one","script":"say hi","script_type":"lines","secrets":{"DB":"warehouse"}}]`} {
			order := domain.Message{MessageType: domain.MessageJob, DstContext: annex, DstNode: b.post.Node(), Flow: `{"plan":{"name":"there",` + secrets + `}}`,
				Timeout: 60, TimeoutAck: 60, TimeoutResult: 600}
			if done := a.wait(a.send(order)); !strings.Contains(done.Error, "names secrets of the context that it came to") {
				t.Errorf("a flow: got %s %q", done.Status, done.Error)
			}
		}
	})
}
