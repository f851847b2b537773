package service_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/service/servicetest"
	"github.com/ramet-run/ramet/work"
)

// mail is an API whose node sends messages, in virtual time.
type mail struct {
	*testing.T
	api  *service.Service
	keys map[domain.ActorID]identity.Key
}

func withMail(t *testing.T, test func(t *testing.T, m *mail)) {
	withMailOf(t, func(*service.Parts) {}, test)
}

// withMailOf is withMail of an API whose parts are changed before.
func withMailOf(t *testing.T, change func(*service.Parts), test func(t *testing.T, m *mail)) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		m, registry := &mail{T: t}, identity.NewRegistry(b)
		var err error
		m.keys, err = servicetest.People(t.Context(), registry)
		m.must(err)
		parts := servicetest.Parts(b, registry, work.New(b, work.Config{}))
		engine, err := servicetest.Post(t.Context(), b, registry, parts, m.keys, t.TempDir())
		m.must(err)
		parts.Post = engine
		change(&parts)
		m.api = service.New(parts)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = engine.Supervise("n1/a").Run(ctx)
		}()
		defer func() { cancel(); <-done }()
		test(t, m)
	})
}

func (m *mail) must(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

// send sends a message from the house.
func (m *mail) send(as domain.ActorID, message domain.Message) api.MessageSent {
	m.Helper()
	sent, err := m.api.As(as).SendMessage(m.Context(), api.SendParams{Context: house, Message: message})
	m.must(err)
	synctest.Wait()
	return sent
}

func chat(to domain.ActorID, text string) domain.Message {
	return domain.Message{MessageType: domain.MessageChat, Message: text, DstActor: to}
}

func params(s api.MessageSent) api.MessageParams {
	return api.MessageParams{Context: house, Caller: s.CallerID, ID: s.ID}
}

func TestReadersOfAMessageDoNotSeeWhatItsJobsBring(t *testing.T) {
	withMail(t, func(t *testing.T, m *mail) {
		job := m.send(admin, domain.Message{MessageType: domain.MessageJob, Job: domain.List[domain.Job]{
			{Script: "x", ScriptType: "shell", EnvVars: map[string]string{"TOKEN": "hush"}}}})
		flow := m.send(admin, domain.Message{MessageType: domain.MessageJob, Flow: `{"blueprint":"b","env":{"TOKEN":"hush"}}`})
		for _, c := range []struct {
			who     domain.ActorID
			allowed bool
		}{{admin, true}, {executor, false}, {reader, false}} {
			show := func(s api.MessageSent) api.MessageView {
				v, err := m.api.As(c.who).ShowMessage(t.Context(), params(s))
				m.must(err)
				return v
			}
			if got := show(job).Job[0].EnvVars["TOKEN"]; got != "hush" == c.allowed {
				t.Errorf("actor %d sees the environment of a job as %q", c.who, got)
			}
			if got := show(flow).Flow; got == api.Redacted == c.allowed {
				t.Errorf("actor %d sees the flow as %q", c.who, got)
			}
			waited, err := m.api.As(c.who).WaitMessage(t.Context(), api.WaitMessageParams{MessageParams: params(job), TimeoutMs: 1})
			if err != nil || waited.Job[0].EnvVars["TOKEN"] != "hush" == c.allowed {
				t.Errorf("actor %d who waits: got %v, %v", c.who, waited.Job[0].EnvVars, err)
			}
		}
		if _, err := m.api.As(stranger).ShowMessage(t.Context(), params(job)); !errors.Is(err, domain.ErrForbidden) {
			t.Errorf("a stranger: got %v", err)
		}
	})
}

func TestNobodyReadsTheInboxOfAnother(t *testing.T) {
	withMail(t, func(t *testing.T, m *mail) {
		m.send(admin, chat(reader, "one"))
		m.send(admin, chat(reader, "two"))
		texts := func(who domain.ActorID, from, limit int) []string {
			list, err := m.api.As(who).ListInbox(t.Context(), api.InboxParams{Context: house, From: from, Limit: limit})
			m.must(err)
			got := []string{}
			for _, v := range list.Messages {
				got = append(got, v.Message.Message)
			}
			return got
		}
		for _, other := range []domain.ActorID{admin, executor} {
			if got := texts(other, 0, 10); len(got) != 0 {
				t.Errorf("actor %d has %q", other, got)
			}
		}
		if diff := cmp.Diff([]string{"one", "two"}, texts(reader, 0, 10)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"two"}, texts(reader, 1, 1)); diff != "" {
			t.Error(diff)
		}
		list, err := m.api.As(reader).ListInbox(t.Context(), api.InboxParams{Context: house, Limit: 1})
		m.must(err)
		take := api.TakeParams{Context: house, Key: list.Messages[0].Key().String()}
		for _, other := range []domain.ActorID{admin, executor} {
			if _, err := m.api.As(other).TakeMessage(t.Context(), take); !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("actor %d takes another's: got %v", other, err)
			}
		}
		if _, err := m.api.As(stranger).ListInbox(t.Context(), api.InboxParams{Context: house}); !errors.Is(err, domain.ErrForbidden) {
			t.Errorf("a stranger: got %v", err)
		}
		if got, err := m.api.As(reader).TakeMessage(t.Context(), take); err != nil || got.Message.Message != "one" {
			t.Errorf("got %+v, %v", got, err)
		}
		if _, err := m.api.As(reader).TakeMessage(t.Context(), take); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("a second time: got %v", err)
		}
		if diff := cmp.Diff([]string{"two"}, texts(reader, 0, 10)); diff != "" {
			t.Error(diff)
		}
		if _, err := m.api.As(reader).TakeMessage(t.Context(), api.TakeParams{Context: house, Key: "one"}); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("got %v", err)
		}
	})
}

func TestWhatIsRefusedOfAMessage(t *testing.T) {
	withMail(t, func(t *testing.T, m *mail) {
		signed := func(as domain.ActorID, change func(*domain.Message)) domain.Message {
			now := time.Now()
			l := chat(0, "hello")
			l.ID, l.CallerID, l.SrcContext, l.ContextID, l.DstContext, l.DstPubkey = 5, admin, house, house, house, m.keys[reader].Pubkey()
			l.MessageFormatType, l.CreatedAt, l.ExpiresAt = domain.FormatText, domain.At(now), domain.At(now.Add(time.Hour))
			m.must(identity.SignMessage(m.keys[as], &l))
			change(&l)
			return l
		}
		as := func(id domain.ActorID) domain.Message {
			l := chat(reader, "hello")
			l.CallerID = id
			return l
		}
		result := as(admin)
		result.MessageType, result.ReplyTo = domain.MessageResult, "message:10:1"
		for _, c := range []struct {
			name string
			who  domain.ActorID
			p    api.SendParams
			want error
		}{
			{"in another's name", admin, api.SendParams{Message: as(executor)}, domain.ErrForbidden},
			{"by a reader", reader, api.SendParams{Message: as(reader)}, domain.ErrForbidden},
			{"by an executor", executor, api.SendParams{Message: as(executor)}, domain.ErrForbidden},
			{"to nobody", admin, api.SendParams{Message: chat(0, "hello")}, domain.ErrInvalid},
			{"to an actor that is not there", admin, api.SendParams{Message: chat(99, "hello")}, domain.ErrInvalid},
			{"a result", admin, api.SendParams{Message: result}, domain.ErrInvalid},
			{"to an unknown peer", admin, api.SendParams{Message: as(admin), Peer: "acme"}, domain.ErrInvalid},
			{"to a peer and a node", admin, api.SendParams{Message: domain.Message{DstNode: m.keys[admin].Pubkey()}, Peer: "acme"}, domain.ErrInvalid},
			{"signed, to a peer by name", admin, api.SendParams{Message: signed(admin, func(*domain.Message) {}), Peer: "acme"}, domain.ErrInvalid},
			{"signed, and yet to be numbered", admin, api.SendParams{Message: signed(admin, func(*domain.Message) {}), NumberJobs: true}, domain.ErrInvalid},
			{"jobs of one number", admin, api.SendParams{Message: domain.Message{MessageType: domain.MessageJob,
				Job: domain.List[domain.Job]{{ID: 1, Script: "x"}, {ID: 1, Script: "x"}}}, NumberJobs: true}, domain.ErrInvalid},
			{"too many jobs to be numbered", admin, api.SendParams{Message: domain.Message{MessageType: domain.MessageJob,
				Job: make(domain.List[domain.Job], domain.MaxMessageJobs+1)}, NumberJobs: true}, domain.ErrInvalid},
			{"signed by another", admin, api.SendParams{Message: signed(executor, func(*domain.Message) {})}, domain.ErrForbidden},
			{"signed by another who says it was not", admin, api.SendParams{Message: signed(executor, func(l *domain.Message) {
				l.Pubkey = m.keys[admin].Pubkey()
			})}, domain.ErrForbidden},
			{"altered after it was signed", admin, api.SendParams{Message: signed(admin, func(l *domain.Message) { l.Message = "goodbye" })}, domain.ErrForbidden},
			{"signed for another context", admin, api.SendParams{Message: signed(admin, func(l *domain.Message) { l.SrcContext = servicetest.Open })},
				domain.ErrInvalid},
			{"signed without an id", admin, api.SendParams{Message: signed(admin, func(l *domain.Message) { l.ID = 0 })}, domain.ErrInvalid},
			{"signed, and good for ever", admin, api.SendParams{Message: signed(admin, func(l *domain.Message) { l.ExpiresAt += 1 << 30 })}, domain.ErrInvalid},
			{"signed, and too old", admin, api.SendParams{Message: signed(admin, func(l *domain.Message) { l.CreatedAt -= 7200; l.ExpiresAt -= 7200 })},
				domain.ErrForbidden},
		} {
			c.p.Context = house
			if _, err := m.api.As(c.who).SendMessage(t.Context(), c.p); !errors.Is(err, c.want) {
				t.Errorf("%s: got %v, want %v", c.name, err, c.want)
			}
		}
		// As it was signed it is taken, and the same again is the same one.
		message := signed(admin, func(*domain.Message) {})
		if first := m.send(admin, message); first.Existing || first.ID != 5 {
			t.Errorf("got %+v", first)
		}
		if again := m.send(admin, message); !again.Existing || again.Status != domain.MessageProcessed {
			t.Errorf("again: got %+v", again)
		}
		// Who may submit, may send: here, executors too. The reader's key is not on the node.
		where := api.SendParams{Context: servicetest.Open, Message: as(executor)}
		if _, err := m.api.As(executor).SendMessage(t.Context(), where); err != nil {
			t.Errorf("an executor who may submit: got %v", err)
		}
	})
}

func TestListsOfMessages(t *testing.T) {
	withMail(t, func(t *testing.T, m *mail) {
		m.send(admin, chat(reader, "a text"))
		list := func(p api.ListMessagesParams) (api.MessagePage, error) {
			p.Context = house
			return m.api.As(reader).ListMessages(t.Context(), p)
		}
		for _, c := range []struct {
			p    api.ListMessagesParams
			want int
		}{
			{api.ListMessagesParams{}, 2}, // as it was sent, and as it came
			{api.ListMessagesParams{Box: "sent"}, 1},
			{api.ListMessagesParams{Box: "received", Type: domain.MessageChat, Status: domain.MessageProcessed}, 1},
			{api.ListMessagesParams{Status: domain.MessageError}, 0},
			{api.ListMessagesParams{Caller: executor}, 0},
		} {
			got, err := list(c.p)
			if err != nil || len(got.Messages) != c.want {
				t.Errorf("%+v: got %d, %v", c.p, len(got.Messages), err)
			}
			for _, v := range got.Messages {
				if v.Message.Message != "" || v.Signature != "" {
					t.Errorf("a list has texts: %+v", v)
				}
			}
		}
		for _, p := range []api.ListMessagesParams{{Box: "out"}, {Status: "done"}, {Type: "letter"}} {
			if _, err := list(p); !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("%+v: got %v", p, err)
			}
		}
	})
}

func TestPeers(t *testing.T) {
	withMail(t, func(t *testing.T, m *mail) {
		key := func() string {
			k, err := identity.NewKey()
			m.must(err)
			return k.Pubkey()
		}
		card := domain.Peer{Name: "acme", Operator: key(), Nodes: domain.List[domain.PeerNode]{{Pubkey: key()}}}
		for _, who := range []domain.ActorID{admin, executor, reader, stranger} {
			if _, err := m.api.As(who).AddPeer(t.Context(), api.AddPeerParams{Peer: card}); !errors.Is(err, domain.ErrForbidden) {
				t.Errorf("actor %d adds a peer: got %v", who, err)
			}
			if _, err := m.api.As(who).RemovePeer(t.Context(), api.PeerParams{Name: "acme"}); !errors.Is(err, domain.ErrForbidden) {
				t.Errorf("actor %d removes a peer: got %v", who, err)
			}
		}
		made, err := m.api.As(operator).AddPeer(t.Context(), api.AddPeerParams{Peer: card})
		if err != nil || made.OperatorID == 0 || made.CreatedAt == 0 {
			t.Fatalf("got %+v, %v", made, err)
		}
		for _, bad := range []domain.Peer{{}, {Name: "a b", Nodes: card.Nodes}, {Name: "acme"}, {Name: "acme", Nodes: domain.List[domain.PeerNode]{{Pubkey: "x"}}}} {
			if _, err := m.api.As(operator).AddPeer(t.Context(), api.AddPeerParams{Peer: bad}); !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("%+v: got %v", bad, err)
			}
		}
		for _, who := range []domain.ActorID{stranger, reader} {
			if _, err := m.api.As(who).ListPeers(t.Context(), api.ListPeersParams{Context: house}); !errors.Is(err, domain.ErrForbidden) {
				t.Errorf("actor %d, who may send nothing: got %v", who, err)
			}
		}
		if _, err := m.api.As(admin).ListPeers(t.Context(), api.ListPeersParams{}); !errors.Is(err, domain.ErrForbidden) {
			t.Errorf("an admin who names no context: got %v", err)
		}
		list, err := m.api.As(admin).ListPeers(t.Context(), api.ListPeersParams{Context: house})
		if err != nil || len(list.Peers) != 1 || list.Peers[0].OperatorID != made.OperatorID {
			t.Errorf("got %+v, %v", list, err)
		}
		own, err := m.api.As(admin).PeerCard(t.Context(), api.CardParams{Context: house})
		if err != nil || own.Name != "n1" || len(own.Nodes) != 1 {
			t.Errorf("got %+v, %v", own, err)
		}
		// A message to its operator is a message to acme.
		sent := m.send(admin, chat(made.OperatorID, "hello"))
		if v, err := m.api.As(reader).ShowMessage(t.Context(), params(sent)); err != nil || v.Peer != "acme" || v.DstNode != card.Nodes[0].Pubkey {
			t.Errorf("got %+v, %v", v, err)
		}
		m.must(func() error {
			_, err := m.api.As(operator).RemovePeer(t.Context(), api.PeerParams{Name: "acme"})
			return err
		}())
		if _, err := m.api.As(operator).RemovePeer(t.Context(), api.PeerParams{Name: "acme"}); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("a second time: got %v", err)
		}
	})
}

func TestANodeThatSendsNoMessagesSaysSo(t *testing.T) {
	r := newRig(t)
	c := r.api.As(admin)
	for name, err := range map[string]error{
		"send":    second(c.SendMessage(t.Context(), api.SendParams{Context: house, Message: chat(reader, "x")})),
		"show":    second(c.ShowMessage(t.Context(), api.MessageParams{Context: house, Caller: 1, ID: 1})),
		"list":    second(c.ListMessages(t.Context(), api.ListMessagesParams{Context: house})),
		"inbox":   second(c.ListInbox(t.Context(), api.InboxParams{Context: house})),
		"peers":   second(c.ListPeers(t.Context(), api.ListPeersParams{Context: house})),
		"card":    second(c.PeerCard(t.Context(), api.CardParams{Context: house})),
		"addPeer": second(r.api.As(operator).AddPeer(t.Context(), api.AddPeerParams{})),
	} {
		if !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// second is the error of a call.
func second[T any](_ T, err error) error { return err }

// unanswered is a board that keeps no answers of requests: as if the node had died
// before.
type unanswered struct{ service.Keys }

func (n unanswered) Commit(ctx context.Context, b board.Batch) error {
	for _, op := range b.Ops {
		for _, f := range op.Fields {
			if f.Name == layout.OnceAnswer {
				return domain.Unavailablef("away")
			}
		}
	}
	return n.Keys.Commit(ctx, b)
}

// Who does not know what became of a request sends it again under its key: one message
// is sent, also where its number was another's, and where several ask at once.
func TestAMessageWithAKeyIsSentOnce(t *testing.T) {
	withMailOf(t, func(p *service.Parts) { p.Keys = unanswered{p.Keys} }, func(t *testing.T, m *mail) {
		send := service.Named("message.send")
		taken := chat(reader, "I have the number that comes next")
		taken.ID = 1
		m.send(admin, taken)
		for i, message := range []domain.Message{chat(reader, "once"),
			{MessageType: domain.MessageJob, Job: domain.List[domain.Job]{{ID: 71, Script: "x", ScriptType: "shell"}}}} {
			ids := make([]domain.MessageID, 4)
			var asking sync.WaitGroup
			for n := range ids {
				ask := func() {
					got, _, err := m.api.As(admin).CallOnce(m.Context(), send, house, &api.SendParams{Context: house, Message: message}, message.Message+"k",
						[32]byte{byte(i)})
					if err != nil {
						t.Errorf("request %d of %s: %v", n, message.MessageType, err)
						return
					}
					ids[n] = got.(api.MessageSent).ID
				}
				if n == 0 || n == len(ids)-1 { // before the others, and long after
					ask()
					synctest.Wait()
					continue
				}
				asking.Go(ask)
				if n == len(ids)-2 {
					asking.Wait()
				}
			}
			if ids[0] == 0 || slices.ContainsFunc(ids, func(id domain.MessageID) bool { return id != ids[0] }) {
				t.Errorf("%s: got messages %v, want one", message.MessageType, ids)
			}
		}
		inbox, err := m.api.As(reader).ListInbox(m.Context(), api.InboxParams{Context: house})
		m.must(err)
		if len(inbox.Messages) != 2 {
			t.Errorf("%d messages came, want the two", len(inbox.Messages))
		}
	})
}
