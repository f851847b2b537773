package cluster

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// shop is the far side of the orders: the target of their effects, which does
// once what comes under one key, and the gateway that takes their commands.
// While it is moody it refuses, breaks off, and is late after it has done what
// was asked.
type shop struct {
	t      *testing.T
	server *httptest.Server

	mu       sync.Mutex
	dice     *rand.Rand
	moody    bool
	open     bool
	clock    int              // counts what is done
	effects  map[string]*deed // by Idempotency-Key
	commands map[string]*deed // by command id
}

// deed is what was asked for under one key.
type deed struct {
	what, order string
	calls       int
	at          int // when it was done first
}

// late is when an answer comes that is too late: nodes wait half as long.
const late = 1200 * time.Millisecond

func openShop(t *testing.T, seed uint64) *shop {
	t.Helper()
	s := &shop{t: t, dice: rand.New(rand.NewPCG(seed, 1)), moody: true, open: true, effects: map[string]*deed{}, commands: map[string]*deed{}}
	m := http.NewServeMux()
	m.HandleFunc("POST /commands", s.command)
	m.HandleFunc("POST /effects/{effect}", s.effect)
	s.server = httptest.NewServer(m)
	t.Cleanup(s.server.Close)
	return s
}

// effect does what an effect asks for.
func (s *shop) effect(w http.ResponseWriter, r *http.Request) {
	var in struct{ Order, Kind string }
	key := r.Header.Get("Idempotency-Key")
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || key == "" || in.Order == "" {
		s.t.Errorf("%s with the key %q: %+v, %v", r.URL.Path, key, in, err)
		http.Error(w, "no such effect", http.StatusBadRequest)
		return
	}
	no := in.Kind == string(refused) && r.PathValue("effect") == "pay"
	code := http.StatusOK
	if no {
		code = http.StatusPaymentRequired
	}
	s.do(w, r, s.effects, key, deed{what: r.PathValue("effect"), order: in.Order}, code)
}

// command takes what aggregates are to do.
func (s *shop) command(w http.ResponseWriter, r *http.Request) {
	var in domain.SubmitCommandRequest
	var payload struct{ Type string }
	err := json.NewDecoder(r.Body).Decode(&in)
	if err == nil {
		err = json.Unmarshal([]byte(in.PayloadJSON), &payload)
	}
	if err != nil || in.CommandID == "" || in.CommandID != r.Header.Get("Idempotency-Key") || in.TenantID != acme || in.TenantID != r.Header.Get("x-tenant-id") ||
		in.AggregateType != "Order" || in.AggregateID == "" || in.AggregateID != in.Metadata[domain.MetaCorrelation] {
		s.t.Errorf("the gateway got %+v with %v: %v", in, r.Header, err)
		http.Error(w, "no such command", http.StatusBadRequest)
		return
	}
	s.do(w, r, s.commands, in.CommandID, deed{what: payload.Type, order: in.AggregateID}, http.StatusAccepted)
}

// do writes down what is asked for, where it is not there already, and answers.
// In a bad mood it does not come to that, or nobody hears of it.
func (s *shop) do(w http.ResponseWriter, r *http.Request, book map[string]*deed, key string, d deed, code int) {
	s.mu.Lock()
	mood := s.dice.IntN(20)
	if !s.moody {
		mood = 19
	}
	if mood == 0 || !s.open {
		s.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	was := book[key]
	if was == nil {
		s.clock++
		d.at, was = s.clock, &d
		book[key] = was
	}
	was.calls++
	if was.what != d.what || was.order != d.order {
		s.t.Errorf("the key %s is that of %s of %s, and comes with %s of %s", key, was.what, was.order, d.what, d.order)
	}
	s.mu.Unlock()
	switch mood {
	case 1, 2:
		select {
		case <-time.After(late):
		case <-r.Context().Done():
		}
	case 3:
		panic(http.ErrAbortHandler)
	case 4:
		code = http.StatusBadGateway
	}
	w.WriteHeader(code)
	_, _ = w.Write([]byte(`{}`)) // whoever asked may be gone
}

// close lets nobody in until reopen.
func (s *shop) close() { s.set(func() { s.open = false }) }

func (s *shop) reopen() { s.set(func() { s.open = true }) }

// calm ends its moods.
func (s *shop) calm() { s.set(func() { s.moody, s.open = false, true }) }

func (s *shop) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}
