package work_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// asked is a board that notes which queues are asked for firm claims.
type asked struct {
	board.Board
	mu   sync.Mutex
	firm map[string]bool
}

func (a *asked) Claim(ctx context.Context, ask board.Ask) ([]board.Claimed, error) {
	a.mu.Lock()
	for _, q := range ask.Queues {
		for _, list := range q.Lists {
			a.firm[list] = ask.Firm
		}
	}
	a.mu.Unlock()
	return a.Board.Claim(ctx, ask)
}

// acting is a runtime that says of itself what it is.
type acting struct {
	*goScript
	inProcess, outside bool
}

func (a acting) Info() script.Info {
	return script.Info{Slots: 1, InProcess: a.inProcess, Outside: a.outside}
}

// A crash that takes a claim back takes nothing back that was done outside.
func TestClaimsOfWhatActsOutsideAreFirm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &asked{Board: memboard.Open(), firm: map[string]bool{}}
		defer b.Close()
		var all []script.Runtime
		want := map[string]bool{"here": false, "call": true, "process": true}
		for name, firm := range want {
			all = append(all, acting{newGoScript(domain.ScriptType(name), 1), name != "process", firm})
		}
		ctx, stop := context.WithCancel(t.Context())
		runner := work.NewRunner(work.New(b, work.Config{}), work.RunnerConfig{ID: 1, Owner: "n1/a", Runtimes: all})
		var running sync.WaitGroup
		running.Go(func() { _ = runner.Run(ctx) })
		synctest.Wait()
		stop()
		running.Wait()
		b.mu.Lock()
		defer b.mu.Unlock()
		for name, firm := range want {
			if got, there := b.firm["queue:"+name]; !there || got != firm {
				t.Errorf("queue:%s: asked %t, firm %t; want firm %t", name, there, got, firm)
			}
		}
	})
}
