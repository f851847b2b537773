package effect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/internal/simtest"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/memstream"
)

// This file simulates nodes that do effects on a bad broker, a bad board and a
// bad target, and crash; one seed is one run, in virtual time. What is promised
// is checked when the last fault has healed: each command ends in one result
// however often it is told, what is told is true, each is applied by an
// idempotent target once, and nothing is lost.

const (
	simNodes    = 3
	simSteps    = 40
	simCommands = 80
)

func TestSimulation(t *testing.T) {
	first, last := simtest.Seeds(20)
	for seed := first; seed <= last; seed++ {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { simulate(t, seed) })
	}
}

// sim is one run.
type sim struct {
	*rig
	rand  *rand.Rand // the driver's alone
	nodes [simNodes]*node
	lives uint64

	mu    sync.Mutex
	luck  *rand.Rand // the target's
	bad   bool
	asked map[string]bool // commands that the broker said it has
	trash int
}

func simulate(t *testing.T, seed uint64) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		r := &rig{T: t, broker: memstream.New(), board: b, fake: newFake(), stop: func() {}, cfg: effect.Config{Tenant: tenants, Grace: 5 * time.Second}}
		r.log = r.broker.Log()
		s := &sim{rig: r, rand: rand.New(rand.NewPCG(seed, 1)), luck: rand.New(rand.NewPCG(seed, 2)), bad: true, asked: map[string]bool{}}
		defer r.halt()
		r.broker.Fault(memstream.Faults{Seed: seed, Refuse: 0.05, Unsure: 0.05, Fail: 0.05, LoseAck: 0.1, Redeliver: 0.05, Delay: 100 * time.Millisecond})
		for i := range s.nodes {
			s.boot(i)
		}
		for range simSteps {
			s.step()
			time.Sleep(time.Duration(s.rand.Int64N(int64(10 * time.Second))))
		}
		s.heal()
		s.judge()
	})
}

// boot starts a node that is not there.
func (s *sim) boot(i int) {
	s.lives++
	p := s.fake.twin()
	p.meets(s.before)
	p.thenMeets(s.after)
	n := &node{ended: make(chan struct{}), log: s.broker.Log(),
		board: faultboard.New(s.board, faultboard.Config{Seed: s.lives, Refuse: 0.03, Lose: 0.03, Delay: 50 * time.Millisecond})}
	if !s.isBad() {
		n.board.Calm()
	}
	w := effect.NewWorker(n.log, n.board, s.open(p, effect.Definition{Name: "pay", Kind: "fake", Attempts: 6, Timeout: 8 * time.Second, Breaker: 8}), s.cfg)
	ctx, cancel := context.WithCancel(context.Background())
	n.gone = cancel
	s.wg.Go(func() { _ = w.Run(ctx) })
	stop := s.stop
	s.stop = func() { cancel(); stop() }
	s.nodes[i] = n
}

func (s *sim) isBad() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bad
}

// before is what a call meets: refusals, failures, silence.
func (s *sim) before(ctx context.Context, c effect.Call) error {
	s.mu.Lock()
	die, wait := s.luck.Float64(), time.Duration(s.luck.Int64N(int64(3*time.Second)))
	bad := s.bad
	s.mu.Unlock()
	if refuses(c.CommandID) {
		return effect.Refusedf("no")
	}
	if !bad {
		return nil
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return ctx.Err()
	}
	switch {
	case die < 0.2:
		return errors.New("no luck")
	case die < 0.25:
		return &effect.RetryAfter{Err: errors.New("busy"), After: 20 * time.Second}
	case die < 0.3:
		<-ctx.Done()
		return ctx.Err()
	case die < 0.31:
		panic("oh")
	}
	return nil
}

// after is what a call meets that was applied: the answer is lost.
func (s *sim) after(ctx context.Context, _ effect.Call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch die := s.luck.Float64(); {
	case !s.bad:
	case die < 0.1:
		return errors.New("connection lost")
	}
	return nil
}

// refuses says which commands the target never does.
func refuses(id string) bool { return id[len(id)-1] == '7' }

// step does something to the world.
func (s *sim) step() {
	for range s.rand.IntN(2*simCommands/simSteps + 1) {
		id := fmt.Sprint("c", s.rand.IntN(simCommands))
		m := message(command(id))
		m.ID = id
		if s.log.Publish(s.Context(), m) == nil {
			s.asked[id] = true
		}
	}
	if s.rand.IntN(10) == 0 && s.log.Publish(s.Context(), stream.Message{Stream: domain.WorkflowCommands,
		Subject: fmt.Sprintf("tenant.7.effect.pay.trash%d", s.trash), Data: []byte("{")}) == nil {
		s.trash++
	}
	i := s.rand.IntN(simNodes)
	n := s.nodes[i]
	switch s.rand.IntN(8) {
	case 0: // its process is gone
		n.crash()
		s.boot(i)
	case 1: // it is told to stop
		n.gone()
		s.boot(i)
	case 2:
		n.board.Cut()
		time.Sleep(time.Duration(s.rand.Int64N(int64(time.Minute))))
		n.board.Heal()
	}
}

// heal ends all faults, and lets everything drain.
func (s *sim) heal() {
	s.mu.Lock()
	s.bad = false
	s.mu.Unlock()
	s.broker.Fault(memstream.Faults{})
	for _, n := range s.nodes {
		n.board.Calm()
		n.board.Heal()
	}
	time.Sleep(30 * time.Minute)
}

// judge checks what is promised.
func (s *sim) judge() {
	told := map[string]string{}
	found, err := s.log.Scan(s.Context(), domain.WorkflowEvents, nil, 1, 1000)
	if err != nil {
		s.Fatal(err)
	}
	for _, m := range found {
		var res domain.EffectResult
		if err := json.Unmarshal(m.Data, &res); err != nil {
			s.Fatal(err)
		}
		if before := told[res.CommandID]; before != "" && before != string(m.Data) {
			s.Errorf("%s has two results:\n%s\n%s", res.CommandID, before, m.Data)
		}
		told[res.CommandID] = string(m.Data)
		if done := res.ResultType == domain.ResultSucceeded; done && !s.fake.wasApplied(res.CommandID) {
			s.Errorf("%s was told to have succeeded, and was not applied", res.CommandID)
		} else if refuses(res.CommandID) == done || refuses(res.CommandID) && res.ResultType != domain.ResultFailed {
			// With 6 attempts and these chances nearly all others succeed.
			if refuses(res.CommandID) || res.Attempts < 6 {
				s.Errorf("%s ended as %s after %d attempts: %s", res.CommandID, res.ResultType, res.Attempts, res.Error)
			}
		}
	}
	for id := range s.asked {
		if told[id] == "" {
			s.Errorf("%s has no result", id)
		} else if m := s.mark(id); m.Status != effect.MarkDone || m.Result != told[id] {
			s.Errorf("%s has the mark %+v, and was told to be %s", id, m, told[id])
		}
	}
	for id := range s.fake.ledger.calls {
		if told[id] == "" {
			s.Errorf("%s was called and has no result", id)
		}
	}
	deadLetters := s.dead(7, "7")
	if len(deadLetters) < s.trash {
		s.Errorf("got %d dead letters, want at least %d", len(deadLetters), s.trash)
	}
	for _, d := range deadLetters {
		if d.Data != "{" {
			s.Errorf("got the dead letter %+v", d)
		}
	}
	s.drained()
	if len(s.asked) < simCommands/4 {
		s.Errorf("only %d commands were taken: the simulation tests too little", len(s.asked))
	}
}
