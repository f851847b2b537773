package http_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/board/precondition"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/http"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/service/servicetest"
	"github.com/ramet-run/ramet/work"
)

// newMailRig is the door of a node that sends messages, with a supervisor and
// without a runner.
func newMailRig(t *testing.T) *rig {
	t.Helper()
	b := memboard.Open()
	r := &rig{TB: t, registry: identity.NewRegistry(precondition.Over(b)), engine: work.New(b, work.Config{})}
	var err error
	if r.keys, err = servicetest.People(t.Context(), r.registry); err != nil {
		t.Fatal(err)
	}
	parts := servicetest.Parts(b, r.registry, r.engine)
	engine, err := servicetest.Post(t.Context(), b, r.registry, parts, r.keys, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	parts.Post = engine
	r.server = httptest.NewServer(http.New(service.New(parts), http.Config{Node: "n1", Tokens: parts.Tokens.(*identity.Tokens)}))
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = engine.Supervise("n1/a").Run(ctx) })
	t.Cleanup(func() { r.server.Close(); cancel(); all.Wait(); b.Close() })
	return r
}

func TestMessagesOverHTTP(t *testing.T) {
	r := newMailRig(t)
	const house = "/v1/contexts/7"
	hello := fmt.Sprintf(`{"message_type":"chat","message":"hello","dst_actor":%d}`, reader)
	var sent api.MessageSent
	if err := json.Unmarshal([]byte(r.want(200, admin, "POST", house+"/messages", hello)), &sent); err != nil || sent.CallerID != admin || sent.Signature == "" {
		t.Fatalf("got %+v, %v", sent, err)
	}
	one := fmt.Sprintf("%s/messages/%d/%d", house, sent.CallerID, sent.ID)
	if text := r.want(200, reader, "GET", one+"/wait", ""); !strings.Contains(text, `"status":"processed"`) {
		t.Errorf("got %s", text)
	}
	if text := r.want(200, reader, "GET", one+"/explain", ""); !strings.Contains(text, "it has been processed") {
		t.Errorf("got %s", text)
	}
	if text := r.want(200, reader, "GET", house+"/messages?box=sent&type=chat", ""); strings.Count(text, `"signature"`) != 0 || !strings.Contains(text, `"id":1`) {
		t.Errorf("got %s", text)
	}
	if text := r.want(200, admin, "GET", house+"/inbox", ""); strings.Contains(text, "hello") {
		t.Errorf("another's inbox: got %s", text)
	}

	// Each door has the same rules; here is what they look like.
	for _, c := range []struct {
		status int
		as     domain.ActorID
		method string
		path   string
		body   string
	}{
		{401, 0, "POST", house + "/messages", hello},
		{403, reader, "POST", house + "/messages", hello},
		{403, stranger, "GET", house + "/messages", ""},
		{403, stranger, "GET", one, ""},
		{403, stranger, "GET", house + "/inbox", ""},
		{403, admin, "POST", house + "/messages", `{"message_type":"chat","message":"hello","dst_actor":30,"caller_id":30}`},
		{400, admin, "POST", house + "/messages", `{"message_type":"chat","message":"hello"}`},
		{400, admin, "POST", house + "/messages", `{"message_type":"chat","message":"hello","dst_actor":30,"to":"bob"}`},
		{400, admin, "POST", house + "/messages", `{"message_type":"chat","message":"hello","dst_actor":30,"peer":"acme"}`},
		{400, admin, "POST", house + "/messages", `{"message_type":"job","job":[]}`},
		{400, admin, "POST", house + "/messages", `hello`},
		{400, admin, "GET", house + "/messages?status=done", ""},
		{400, admin, "GET", one + "/wait?timeout_ms=61000", ""},
		{404, admin, "GET", house + "/messages/10/99", ""},
		{404, admin, "POST", house + "/inbox/take", `{"key":"message:10:1"}`},
		{400, admin, "POST", house + "/inbox/take", `{"key":"one"}`},
		{403, admin, "POST", "/v1/peers", `{}`},
		{403, admin, "DELETE", "/v1/peers/acme", ""},
		{400, domain.Operator, "POST", "/v1/peers", `{"name":"acme","nodes":[]}`},
		{404, domain.Operator, "DELETE", "/v1/peers/acme", ""},
		{401, 0, "GET", "/v1/card", ""},
		{403, stranger, "GET", "/v1/card?name=a%20b", ""},
		{403, stranger, "GET", "/v1/card?context=7", ""},
		{400, domain.Operator, "GET", "/v1/card?name=a%20b", ""},
	} {
		r.want(c.status, c.as, c.method, c.path, c.body)
	}
}

func TestMessagesByTheGoClient(t *testing.T) {
	r := newMailRig(t)
	dial := func(as domain.ActorID) *client.Client {
		c, err := client.New(client.Config{URL: r.server.URL, Token: func(context.Context) (string, error) { return r.token(as), nil }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	a, b, op := dial(admin), dial(reader), dial(domain.Operator)
	sent, err := a.SendMessage(ctx, 7, domain.Message{MessageType: domain.MessageMail, Message: "hello", DstActor: reader}, "")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := a.WaitMessage(ctx, 7, sent.Key()); err != nil || got.Status != domain.MessageProcessed {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := a.Message(ctx, 7, sent.Key()); err != nil || got.Message.Message != "hello" {
		t.Errorf("got %+v, %v", got, err)
	}
	if x, err := a.ExplainMessage(ctx, 7, sent.Key()); err != nil || x.Status != domain.MessageProcessed {
		t.Errorf("got %+v, %v", x, err)
	}
	if list, err := a.Messages(ctx, api.ListMessagesParams{Context: 7, Type: domain.MessageMail, Box: "sent"}, 0); err != nil || len(list) != 1 {
		t.Errorf("got %+v, %v", list, err)
	}
	// What is acknowledged is filed a moment later.
	var inbox []*api.MessageView
	for len(inbox) == 0 && ctx.Err() == nil {
		if inbox, err = b.Inbox(ctx, 7, 0, 10); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := b.TakeMessage(ctx, 7, inbox[0].Key()); err != nil || got.Message.Message != "hello" {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := b.TakeMessage(ctx, 7, inbox[0].Key()); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("a second time: got %v", err)
	}
	if _, err := a.SendMessage(ctx, 7, domain.Message{MessageType: domain.MessageMail, DstActor: reader}, "acme"); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("to nobody we know: got %v", err)
	}

	key, err := identity.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	acme := domain.Peer{Name: "acme", Nodes: domain.List[domain.PeerNode]{{Pubkey: key.Pubkey()}}}
	if got, err := op.AddPeer(ctx, acme); err != nil || got.Name != "acme" || got.OperatorID != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	if list, err := op.Peers(ctx, 0); err != nil || len(list) != 1 || list[0].Nodes[0].Pubkey != key.Pubkey() {
		t.Errorf("got %+v, %v", list, err)
	}
	if card, err := a.Card(ctx, "mine", 7); err != nil || card.Name != "mine" || len(card.Nodes) != 1 {
		t.Errorf("got %+v, %v", card, err)
	}
	if err := op.RemovePeer(ctx, "acme"); err != nil {
		t.Error(err)
	}
	if err := op.RemovePeer(ctx, "acme"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("a second time: got %v", err)
	}
}
