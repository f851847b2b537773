package main

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/door/console"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/worker"
)

// This file has `ramet serve --dev`: samples to look at, and faults that people cause from
// the console, to see with their own eyes that nothing is lost.

//go:embed dev/*.yaml
var samples embed.FS

const (
	// cutFor is how long the board is away after it was cut off.
	cutFor = 5 * time.Second
	// restartAfter is when the node ends that is to begin again: the browser has the page
	// by then that says so.
	restartAfter = time.Second
)

// development is what a node for development has beside. Its zero value is that of none.
type development struct {
	board    *faultyBoard
	restart  func() // ends the node, and has it begin again
	sessions *console.Sessions
	// failEffect has the next call of an effect fail.
	failEffect atomic.Bool
	// failNamed has the names of the effects of which the next call fails.
	failNamed sync.Map
}

// sampleEffect is one that a step of the sample count asks for.
var sampleEffect = effect.Definition{Name: "weigh", Kind: domain.EffectJob, Summary: "A job of this node that weighs a parcel", Timeout: time.Minute,
	Options: map[string]any{"script_type": "rhai", "script": `#{grams: "420"}`}}

// effects are kinds of effects of which the next call can be made to fail.
func (d *development) effects(kinds map[domain.EffectKind]effect.Open) map[domain.EffectKind]effect.Open {
	faulty := make(map[domain.EffectKind]effect.Open, len(kinds))
	for kind, open := range kinds {
		faulty[kind] = func(def effect.Definition, host effect.Host) (effect.Provider, error) {
			p, err := open(def, host)
			if err != nil {
				return nil, err
			}
			return faultyEffect{p, def.Name, d}, nil
		}
	}
	return faulty
}

// faultyEffect is an effect whose next call can be made to fail.
type faultyEffect struct {
	effect.Provider
	name string
	dev  *development
}

func (e faultyEffect) Do(ctx context.Context, call effect.Call) (json.RawMessage, error) {
	if _, named := e.dev.failNamed.LoadAndDelete(e.name); named || e.dev.failEffect.CompareAndSwap(true, false) {
		return nil, domain.Unavailablef("the call failed before it was made, as somebody asked for at the console of this node (--dev)")
	}
	return e.Provider.Do(ctx, call)
}

// faultyBoard is a board that can be cut off, and whose answers can be lost.
type faultyBoard struct {
	board.Board
	cutUntil atomic.Int64 // Unix milliseconds; 0: it is there
	loseNext atomic.Bool
	// dropped are leases that are renewed no more, by [board.Held].
	dropped sync.Map
}

func (b *faultyBoard) away() error {
	if time.Now().UnixMilli() < b.cutUntil.Load() {
		return domain.Unavailablef("the board is cut off, as somebody asked for at the console of this node (--dev)")
	}
	return nil
}

func (b *faultyBoard) Commit(ctx context.Context, batch board.Batch) error {
	if err := b.away(); err != nil {
		return err
	}
	err := b.Board.Commit(ctx, batch)
	if err == nil && b.loseNext.CompareAndSwap(true, false) {
		return domain.Unavailablef("the answer was lost, as somebody asked for at the console of this node (--dev)")
	}
	return err
}

func (b *faultyBoard) CommitEach(ctx context.Context, batches []board.Batch) []error {
	if err := b.away(); err != nil {
		errs := make([]error, len(batches))
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	errs := b.Board.CommitEach(ctx, batches)
	for i, err := range errs {
		if err == nil && b.loseNext.CompareAndSwap(true, false) {
			errs[i] = domain.Unavailablef("the answer was lost, as somebody asked for at the console of this node (--dev)")
		}
	}
	return errs
}

func (b *faultyBoard) Claim(ctx context.Context, ask board.Ask) ([]board.Claimed, error) {
	if err := b.away(); err != nil {
		return nil, err
	}
	return b.Board.Claim(ctx, ask)
}

func (b *faultyBoard) Extend(ctx context.Context, owner string, ttl time.Duration, held []board.Held) ([]board.Answer, error) {
	if err := b.away(); err != nil {
		return nil, err
	}
	var kept []board.Held
	for _, h := range held {
		if _, gone := b.dropped.Load(h); !gone {
			kept = append(kept, h)
		}
	}
	found, err := b.Board.Extend(ctx, owner, ttl, kept)
	if err != nil || len(kept) == len(held) {
		return found, err
	}
	answers := make([]board.Answer, 0, len(held))
	for _, h := range held {
		if _, gone := b.dropped.Load(h); gone {
			answers = append(answers, board.Lost)
			continue
		}
		answers, found = append(answers, found[0]), found[1:]
	}
	return answers, nil
}

// drop has the lease on an item run out as soon as a lease can, and renews it no more. The next lease on it has
// another token.
//
// Errors: [domain.ErrConflict] where nobody has one.
func (b *faultyBoard) drop(ctx context.Context, space board.Space, item string) error {
	l, found, err := b.LeaseOf(ctx, space, item)
	if err != nil {
		return err
	}
	if !found || time.Now().After(l.Until) {
		return domain.Conflictf("%s runs nowhere: there is no lease to drop", item)
	}
	h := board.Held{Space: l.Space, Item: l.Item, Token: l.Token}
	b.dropped.Store(h, true)
	_, err = b.Board.Extend(ctx, l.Owner, board.MinLease, []board.Held{h})
	return err
}

// faults are those that the console offers.
type faults struct{ p *parts }

var _ console.Faults = faults{}

func (f faults) List() []console.Fault {
	list := []console.Fault{
		{Name: "leases", Title: "Drop all leases", Will: "What runs here belongs to nobody any more, as if this node had been away for too long. " +
			"Jobs under way are taken up again."},
		{Name: "answer", Title: "Lose the next answer", Will: "The next change of the board is made, and who asked for it hears that it failed."},
		{Name: "cut", Title: "Cut the board off", Will: fmt.Sprintf("For %d s the node cannot change anything on its board.", int(cutFor.Seconds()))},
		{Name: "effect", Title: "Fail the next effect", Will: "The next call to the outside, of whichever effect, fails before it is made, " +
			"once. Start a flow of count to have one."},
		{Name: "restart", Title: "Restart the node", Will: "The node ends, without waiting for what runs, and begins again. You stay signed in."},
	}
	list = append(list, console.Fault{Name: "lease", Of: console.FaultOfJob, Title: "Drop its lease",
		Will: "This job belongs to nobody any more within a second, as if its runner had been away for too long. It is taken up again."},
		console.Fault{Name: "call", Of: console.FaultOfEffect, Title: "Fail its next call",
			Will: "The next call of this effect on this node fails before it is made, once."})
	if killsScripts {
		list = append(list, console.Fault{Name: "kill", Title: "Kill the scripts",
			Will: "Each process that this node has started gets SIGKILL, scripts and interpreters alike."},
			console.Fault{Name: "script", Of: console.FaultOfJob, Title: "Kill this script",
				Will: "The processes of this job get SIGKILL. Its attempt ends in error, and is tried again where the job says so."})
	}
	return list
}

func (f faults) Cause(ctx context.Context, name string, of console.Target) (said string, err error) {
	dev := f.p.options.dev
	switch name {
	case "leases":
		err = dev.board.Void(ctx, f.p.node.Name()+"/")
		return "All leases of this node were dropped. What ran is stopped when its renewal is refused, counts a loss, and is begun again.", err
	case "answer":
		dev.board.loseNext.Store(true)
		return "The next answer of the board will be lost. Who asked tries again, and finds that it was done.", nil
	case "cut":
		dev.board.cutUntil.Store(time.Now().Add(cutFor).UnixMilli())
		return fmt.Sprintf("The board is cut off for %d s. Scripts go on meanwhile; what they end with is written when it is back.", int(cutFor.Seconds())), nil
	case "effect":
		dev.failEffect.Store(true)
		return "The next call of an effect will fail. It is tried again as its step or its definition says, under the same key.", nil
	case "restart":
		dev.restart()
		return "The node begins again. What ran is taken up again by its next life.", nil
	case "lease":
		err = dev.board.drop(ctx, layout.SpaceOf(of.Tenant), of.Name)
		return "The lease of " + of.Name + " runs out. Its script is stopped when its renewal is refused, the job counts a loss, and is begun again.", err
	case "call":
		dev.failNamed.Store(of.Name, true)
		return "The next call of effect " + domain.PlainText(of.Name, 100) +
			" will fail. It is tried again as its step or its definition says, under the same key.", nil
	case "script":
		n, err := killScripts(of.Name, of.Tenant)
		if err == nil && n == 0 {
			err = domain.Conflictf("%s has no process of its own here: Rhai runs within the node, and other nodes and workers have processes of theirs", of.Name)
		}
		return fmt.Sprintf("%d processes of %s were killed. Its attempt ends in error, and is tried again where the job says so.", n, of.Name), err
	case "kill":
		n, err := killScripts("", 0)
		return fmt.Sprintf("%d processes were killed. Their jobs end in error, and are tried again where their blueprint says so.", n), err
	}
	return "", domain.NotFoundf("there is no fault %q", domain.PlainText(name, 20))
}

// serveDev runs a node for development until ctx ends, again after each restart that is
// asked for.
func serveDev(ctx context.Context, o cli.ServeOptions) error {
	sessions := console.NewSessions()
	o.Grace = cmp.Or(o.Grace, time.Millisecond)
	for {
		var again atomic.Bool
		life, end := context.WithCancel(ctx)
		dev := &development{sessions: sessions, restart: func() {
			again.Store(true)
			time.AfterFunc(restartAfter, end)
		}}
		err := serveOne(life, &o, dev)
		end()
		if err != nil || !again.Load() || ctx.Err() != nil {
			return err
		}
	}
}

// sampleType is the script type of the sample worker.
const sampleType = "greet"

// develop leads a browser in, makes the samples, and runs the worker.
func (p *parts) develop(o cli.ServeOptions) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		if o.Opened != nil {
			l, err := p.pages.Link(identity.Proof{Actor: domain.Operator}, "")
			if err != nil {
				return err
			}
			o.Opened(l.URL)
		}
		c, err := client.New(client.Config{Socket: o.Socket, Cookie: cli.CookiePath(o.DataDir)})
		if err != nil {
			return err
		}
		defer c.Close()
		w := worker.New(c, worker.Config{Context: domain.DefaultTenant, Name: "sample-worker", Logger: p.log})
		worker.Handle(w, sampleType, func(ctx context.Context, job *worker.Job, who struct{ Name string }) (map[string]string, error) {
			job.Logf("a function of the worker greets %s", who.Name)
			return map[string]string{"greeting": "hello " + who.Name}, nil
		})
		go p.makeSamples(ctx, p.operations.As(domain.Operator))
		return w.Run(ctx)
	}
}

// makeSamples makes what there is to see, where it is not there yet. What cannot be made is
// told: the node goes on without it.
func (p *parts) makeSamples(ctx context.Context, c service.Caller) {
	in := domain.DefaultTenant
	list, err := ask(ctx, c, api.BlueprintList, api.ListBlueprintsParams{Context: in, Limit: 1})
	if err != nil || len(list.Blueprints) > 0 {
		return // it has begun again, or is somebody's own by now
	}
	text := func(name string) string {
		b, err := samples.ReadFile("dev/" + name + ".yaml")
		if err != nil {
			panic("BUG: " + err.Error())
		}
		return string(b)
	}
	for _, do := range []func() error{
		// The worker starts beside this, and a flow whose script type nobody has made known
		// yet is refused.
		func() error {
			_, err := ask(ctx, c, api.WorkerRegister, api.RegisterParams{Context: in, Types: []domain.ScriptType{sampleType}})
			return err
		},
		func() error {
			_, err := ask(ctx, c, api.BlueprintApply, api.ApplyBlueprintParams{Context: in, Text: text("count")})
			return err
		},
		func() error {
			_, err := ask(ctx, c, api.BlueprintApply, api.ApplyBlueprintParams{Context: in, Text: text("tick")})
			return err
		},
		func() error {
			_, err := ask(ctx, c, api.ScheduleApply, api.ScheduleApplyParams{Context: in, Schedule: api.Schedule{Schedule: domain.Schedule{Name: "each-minute",
				Summary: "a flow of tick each minute", Blueprint: "tick", Cron: "* * * * *"}}})
			return err
		},
		func() error {
			_, err := ask(ctx, c, api.SagaApply, api.ApplySagaParams{Context: in, File: "parcel.yaml", Text: text("parcel")})
			return err
		},
		func() error {
			_, err := ask(ctx, c, api.FlowSubmit, api.SubmitFlowParams{Context: in, FlowInput: api.FlowInput{Blueprint: "count", Trigger: "first"}})
			return err
		},
		func() error {
			_, err := ask(ctx, c, api.EventPublish, api.PublishParams{Context: in, EventInput: api.EventInput{Type: "ParcelHandedIn", AggregateType: "Parcel",
				AggregateID: "ann"}})
			return err
		},
	} {
		if err := do(); err != nil {
			p.log.Warn("a sample was not made", "err", err)
		}
	}
}

// ask does an operation.
func ask[P, R any](ctx context.Context, c service.Caller, op api.Op[P, R], params P) (result R, err error) {
	got, err := service.Named(op.Name).Call(ctx, c, &params)
	if err != nil {
		return result, err
	}
	return got.(R), nil
}
