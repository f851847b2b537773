package console_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/testwait"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/service/servicetest"
)

// withPost gives a node messages.
func withPost(r *rig, p *service.Parts) {
	r.Helper()
	engine, err := servicetest.Post(r.Context(), r.board, r.names, *p, r.keys, r.TempDir())
	if err != nil {
		r.Fatal(err)
	}
	p.Post = engine
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = engine.Supervise("n1/a").Run(ctx) })
	r.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// delivered waits until the inbox of who looks has a number of messages.
func (b *browser) delivered(n int) answer {
	b.Helper()
	var a answer
	testwait.Until(b.TB, "the inbox has the messages", func() bool {
		a = b.get(200, path("messages/inbox"))
		return strings.Count(a.text, "Take 1 message") == n
	})
	return a
}

// send sends a chat in context 7.
func (r *rig) send(to domain.ActorID, text string) domain.Message {
	r.Helper()
	return do(r, admin, api.MessageSend, api.SendParams{Context: 7, Message: domain.Message{DstActor: to, MessageType: domain.MessageChat,
		MessageFormatType: domain.FormatText, Message: text}}).Message
}

func TestMessagesAreListedAndExplained(t *testing.T) {
	r := newRig(t, withPost)
	b := r.as(reader)
	b.has(b.get(200, path("messages")), "No message was sent or received.", "ramet message send &#39;good morning&#39; --to 12 --context 7")
	b.has(b.get(200, path("messages/inbox")), "Your inbox in this context is empty")
	m := r.send(executor, "hello there")
	b.has(b.get(200, path("messages")), "message:10:", "chat", "actor 20", "ramet message list --context 7")
	b.has(b.get(200, path("messages?status=error")), "Nothing is like that", "--status error")
	b.has(b.get(200, path("messages/10/%d", m.ID)), "hello there", "actor 10", "Who signed", "ramet message show message:10:")
	b.get(404, path("messages/10/999"))
	b.get(400, path("messages/10/x"))
	b.get(403, path("messages/peers"))
	r.as(stranger).get(403, path("messages"))
	b = r.as(admin)
	b.has(b.get(200, path("messages/peers")), "No other site is known.", "ramet peer add acme.json")
}

func TestAMessageIsTakenOutOfTheInbox(t *testing.T) {
	r := newRig(t, withPost)
	r.send(executor, "hello there")
	b := r.as(executor)
	a := b.delivered(1)
	b.has(a, "hello there", "ramet inbox --take --from 0 --limit 1 --context 7")
	_, key, _ := strings.Cut(a.text, `type="hidden" name="key" value="`)
	key, _, _ = strings.Cut(key, `"`)
	other := r.as(reader)
	other.has(other.post(200, path("messages/inbox/take"), "key", key), "This was not done")
	b.has(b.post(200, path("messages/inbox/take"), "key", key), "The message was taken.", "is empty")
}

func TestHostileMessages(t *testing.T) {
	r := newRig(t, withPost)
	b := r.as(executor)
	for _, text := range acts {
		m := r.send(executor, strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", ""))
		harmless(t, b.get(200, path("messages/10/%d", m.ID)))
	}
	harmless(t, b.delivered(len(acts)))
	harmless(t, b.get(200, path("messages")))
}
