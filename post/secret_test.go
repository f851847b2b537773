package post_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/bus/membus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/post"
)

// TestAMessageNamesNoSecrets: a sender's script would print those of the receiver elsewhere.
func TestAMessageNamesNoSecrets(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
		m := jobTo(b, "set x 1")
		m.Job[0].Secrets = map[string]string{"DB": "warehouse"}
		m.Job[0].ID = 1
		m.CallerID = a.op
		if err := post.CheckMessage(&m); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "secrets") {
			t.Errorf("a job: got %v", err)
		}
		step, secrets := `{"name":"one","script":"say hi","script_type":"lines"`, `"secrets":{"DB":"warehouse"}`
		plans := []string{secrets + `,"steps":[` + step + `}]`, `"steps":[` + step + `,` + secrets + `}]`}
		for _, on := range domain.HookOns {
			plans = append(plans, `"steps":[`+step+`}],"on":{"`+string(on)+`":{"script":"say hi","script_type":"lines",`+secrets+`}}`)
		}
		for _, plan := range plans {
			done := a.wait(a.send(flowTo(b, `{"plan":{"name":"there",`+plan+`}}`)))
			if done.Status != domain.MessageError || !strings.Contains(done.Error, "names secrets of the context that it came to") {
				t.Errorf("a flow of %s: got %s %q", plan, done.Status, done.Error)
			}
		}
	})
}

// TestAMessageBringsNoEnvironmentForBlueprints of the receiver, which name secrets: it would choose
// what their scripts load, and whom they ask.
func TestAMessageBringsNoEnvironmentForBlueprints(t *testing.T) {
	bubble(t, membus.Config{}, func(t *testing.T, _ *membus.Network, a, b *site) {
		for _, order := range []string{`{"blueprint":"ours","env":{"http_proxy":"http://theirs"}}`,
			`{"plan":{"name":"there","steps":[{"name":"one","env":{"http_proxy":"http://theirs"},"flow":{"blueprint":"ours"}}]}}`} {
			done := a.wait(a.send(flowTo(b, order)))
			if done.Status != domain.MessageError || !strings.Contains(done.Error, "whose environment is its own") {
				t.Errorf("%s: got %s %q", order, done.Status, done.Error)
			}
		}
	})
}

func flowTo(b *site, order string) domain.Message {
	return domain.Message{MessageType: domain.MessageJob, DstContext: annex, DstNode: b.post.Node(), Flow: order, Timeout: 60, TimeoutAck: 60, TimeoutResult: 600}
}
