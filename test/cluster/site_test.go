package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/bus/natsbus"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/identity"
)

// Contexts of a site: people send from the first; the other site's operator has
// the second.
const (
	desktop domain.TenantID = 1
	guests  domain.TenantID = 7
)

// siteLease is short, so that a node that is stopped for a while loses what it has.
const siteLease = 2 * time.Second

// site is one organisation: a node of the real binary on a folder of its own,
// and people who send through it.
type site struct {
	*testing.T
	name string
	data string
	bus  string // its URL
	keys *identity.Keyring
	peer *site

	node   *daemon
	client *client.Client

	mu       sync.Mutex
	messages map[domain.MessageKey]bool // acknowledged
	flows    map[domain.FlowID]int      // acknowledged, with the number each works on
	chats    map[string]bool            // texts that were acknowledged
	numbers  int
}

// newSite makes the folder and the keys of a site; nothing runs yet.
func newSite(t *testing.T, name string) *site {
	t.Helper()
	s := &site{T: t, name: name, data: filepath.Join(t.TempDir(), name), messages: map[domain.MessageKey]bool{}, flows: map[domain.FlowID]int{},
		chats: map[string]bool{}}
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	// It makes the folder with its keys, which others may need first.
	if out, err := exec.Command(bin, "--embed", "--data", s.data, "context", "create", "--id", fmt.Sprint(guests)).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	if s.keys, err = identity.OpenKeyring(s.data); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *site) key() string { return s.keys.Node.Pubkey() }

func (s *site) natsPeer() natsbus.Peer { return natsbus.Peer{Key: s.key(), Link: s.keys.Bus.Pubkey()} }

// serve starts the site's node and waits until it answers.
func (s *site) serve() {
	s.Helper()
	bin, err := binary()
	if err != nil {
		s.Fatal(err)
	}
	s.node = newDaemon(s.T, s.name, func() *exec.Cmd {
		return exec.Command(bin, "serve", "--data", s.data, "--name", s.name, "--bus", s.bus, "--lease", siteLease.String(), "--grace", "5s", "--log-level", "warn")
	})
	if s.client, err = client.New(client.Config{Socket: cli.SocketPath(s.data), Cookie: cli.CookiePath(s.data)}); err != nil {
		s.Fatal(err)
	}
	s.awaken()
}

// awaken waits until the node answers.
func (s *site) awaken() {
	s.Helper()
	s.node.awaken(s.client)
}

// meet lets two sites know each other, each of which gives its second context to
// the other's operator.
func meet(a, b *site) {
	a.Helper()
	a.peer, b.peer = b, a
	for _, s := range []*site{a, b} {
		card, err := s.peer.client.Card(s.Context(), s.peer.name, 0)
		if err == nil {
			_, err = s.client.AddPeer(s.Context(), card)
		}
		if err == nil {
			_, err = s.client.Grant(s.Context(), guests, 2, "admin")
		}
		if err != nil {
			s.Fatalf("%s: %v", s.name, err)
		}
	}
}

// crowd sends until ctx ends, as several people do who do not wait for answers.
// What was not acknowledged may have been sent all the same.
func (s *site) crowd(ctx context.Context, all *sync.WaitGroup) {
	for g := range 3 {
		dice := rand.New(rand.NewPCG(uint64(g), uint64(len(s.name))))
		all.Go(func() {
			for ctx.Err() == nil {
				call, cancel := context.WithTimeout(ctx, 5*time.Second)
				err := s.say(call, dice)
				cancel()
				if err != nil && !errors.Is(err, domain.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
					s.Errorf("%s: %v", s.name, err)
					return
				}
				pause := time.NewTimer(time.Duration(20+dice.IntN(120)) * time.Millisecond)
				select {
				case <-pause.C:
				case <-ctx.Done():
				}
			}
		})
	}
}

// say sends a letter, a job or two, or a flow whose second step is at the peer.
func (s *site) say(ctx context.Context, dice *rand.Rand) error {
	s.mu.Lock()
	s.numbers++
	n := s.numbers
	s.mu.Unlock()
	switch dice.IntN(4) {
	case 0:
		text := fmt.Sprintf("letter %d of %s", n, s.name)
		sent, err := s.client.SendMessage(ctx, desktop, domain.Message{MessageType: domain.MessageChat, Message: text, DstActor: 2, DstContext: guests}, "")
		s.note(err, func() { s.messages[sent.Key()], s.chats[text] = true, true })
		return err
	case 1:
		plan := &domain.Blueprint{Name: "across", Steps: []domain.Step{
			{Name: "a", ScriptType: domain.ScriptRhai, Script: fmt.Sprintf(`set_result("x", %d);`, n)},
			{Name: "b", ScriptType: domain.ScriptRhai, Needs: []string{"a"}, At: fmt.Sprintf("%d@%s", guests, s.peer.name), Retries: 2,
				Script: `print("there"); sleep(0.05); set_result("y", parse_int(input.needs.a.result.x) + 1);`},
			{Name: "c", ScriptType: domain.ScriptRhai, Needs: []string{"b"}, Script: `set_result("z", parse_int(input.needs.b.result.y) + 1);`},
		}}
		flow, err := s.client.SubmitFlow(ctx, desktop, api.FlowInput{Plan: plan})
		s.note(err, func() { s.flows[flow.ID] = n })
		return err
	}
	m := domain.Message{MessageType: domain.MessageJob, DstContext: guests}
	for i := range 1 + dice.IntN(2) {
		m.Job = append(m.Job, domain.Job{ScriptType: domain.ScriptRhai,
			Script: fmt.Sprintf(`print("one"); sleep(0.0%d); print("two"); set_result("n", %d);`, dice.IntN(10), n+i), Retries: 2})
	}
	sent, err := s.client.SendMessage(ctx, desktop, m, s.peer.name)
	s.note(err, func() { s.messages[sent.Key()] = true })
	return err
}

// note writes down what was acknowledged.
func (s *site) note(err error, add func()) {
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		add()
	}
}
