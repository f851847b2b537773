package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/redistest"
)

// This file puts parts of a killed node back to what they were a moment before, each by
// itself and two at a time, with work acknowledged in between: the node says so when it
// starts, or goes on such that nothing is done twice.

// part is what a node keeps that may be put back alone.
type part string

// The parts, and the files of them in a node's folder. A board that is a server's is none.
const (
	boardPart   part = "board"
	streamsPart part = "streams"
	archivePart part = "archive.db*"
)

// loss is a case of the drill: the parts that are older than the rest.
type loss struct {
	name  string
	older []part
	// refusal is what a start says that it refuses, in part; "": it begins.
	refusal string
	// doctor is a part of what the doctor says afterwards.
	doctor string
	// gone says that events are lost: what waits for them waits for ever.
	gone bool
}

var losses = []loss{
	{name: "an older board", older: []part{boardPart}, doctor: "the board is older than its archive"},
	{name: "older streams", older: []part{streamsPart}, refusal: "the event streams are not those of this board", doctor: "event streams have less", gone: true},
	{name: "an older archive", older: []part{archivePart}, refusal: "has less than this board has archived", doctor: "the archive is older than the board"},
	{name: "an older board and streams", older: []part{boardPart, streamsPart}, doctor: "the board is older than its archive", gone: true},
	{name: "an older board and archive", older: []part{boardPart, archivePart}, doctor: "the board is older than its event streams"},
	{name: "older streams and archive", older: []part{streamsPart, archivePart}, refusal: "has less than this board has archived",
		doctor: "have less", gone: true},
}

func TestDrillEmbedded(t *testing.T) {
	t.Parallel()
	for _, l := range losses {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			newDrill(t, nil).run(l)
		})
	}
}

func TestDrillOnRedis(t *testing.T) {
	t.Parallel()
	for _, l := range losses {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, "appendonly yes", "appendfsync everysec")
			if slices.Contains(l.older, boardPart) {
				l.doctor = "it may have lost what it had acknowledged before" // who begins the last epoch says why
			}
			newDrill(t, s).run(l)
		})
	}
}

// drill is a node with work of all kinds, and what was acknowledged to whom.
type drill struct {
	*fleet
	redis  *redistest.Server // nil: the board is embedded
	node   *member
	kept   string            // where the copy of its parts is
	given  map[string]string // who was given a number of a job or flow
	orders map[string]kind
	open   map[string]bool // those that had not ended when the copy was made: what they did then may be lost
	round  int
}

func newDrill(t *testing.T, s *redistest.Server) *drill {
	t.Helper()
	f := &fleet{T: t, Rand: rand.New(rand.NewPCG(1, 2)), dir: t.TempDir(), port: freePort(t), flags: []string{"--archive", "sqlite:archive.db"}}
	addr := ""
	if s != nil {
		f.url, addr = s.URL(), s.Addr()
	}
	f.shop = openShop(t, 1)
	f.shop.calm()
	f.configure()
	f.launch("a", addr, "nats:?listen=127.0.0.1:"+f.port+"&token_file="+f.file("token", streamToken))
	f.apply()
	return &drill{fleet: f, orders: map[string]kind{}, open: map[string]bool{}, redis: s, node: f.nodes[0], kept: t.TempDir(), given: map[string]string{}}
}

// work has jobs, a flow, and orders: some that end, and some that are under way when the
// node is killed.
func (d *drill) work() {
	d.Helper()
	d.round++
	one := d.node.client
	for i := range 3 {
		whose := fmt.Sprintf("job %d of round %d", i, d.round)
		got, err := one.SubmitJob(d.Context(), shopping, domain.Job{Script: "0", ScriptType: domain.ScriptRhai, EnvVars: map[string]string{"WHOSE": whose}})
		if err != nil {
			d.Fatal(err)
		}
		d.give(got.String(), whose)
		if _, err := one.Wait(d.Context(), shopping, got); err != nil {
			d.Fatal(err)
		}
	}
	plan := &domain.Blueprint{Name: "two", Steps: []domain.Step{{Name: "a", Script: "0", ScriptType: domain.ScriptRhai},
		{Name: "b", Script: "0", ScriptType: domain.ScriptRhai, Needs: []string{"a"}}}}
	made, err := one.SubmitFlow(d.Context(), shopping, api.FlowInput{Plan: plan})
	if err != nil {
		d.Fatal(err)
	}
	d.give(fmt.Sprint("flow:", made.ID), fmt.Sprintf("flow of round %d", d.round))
	if _, err := one.WatchFlow(d.Context(), shopping, made.ID, func(domain.FlowView) error { return nil }); err != nil {
		d.Fatal(err)
	}
	for i := range 4 {
		for _, k := range []kind{plain, noted, rested, refused} {
			d.order(fmt.Sprintf("%s-%d-%d", k, d.round, i), k)
		}
	}
	now := fmt.Sprintf("%s-%d-", plain, d.round)
	d.settled(func(id string) bool { return strings.HasPrefix(id, now) })
}

// order publishes the events of an order.
func (d *drill) order(id string, k kind) {
	d.Helper()
	events := []api.EventInput{{ID: "placed:" + id, Type: "OrderPlaced", Payload: payload(map[string]string{"kind": string(k)})}}
	for i := range 5 {
		if k == noted {
			events = append(events, note(id, fmt.Sprint("note ", i)))
		}
	}
	for i := range events {
		events[i].AggregateType, events[i].AggregateID = "Order", id
	}
	if _, err := d.node.client.PublishEvents(d.Context(), shopping, events); err != nil {
		d.Fatal(err)
	}
	d.orders[id] = k
}

// give notes who was given a number.
func (d *drill) give(key, whose string) {
	d.Helper()
	if was := d.given[key]; was != "" {
		d.Errorf("%s was given to %s, and then to %s", key, was, whose)
	}
	d.given[key] = whose
}

// settled waits until orders have ended.
func (d *drill) settled(which func(id string) bool) {
	d.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		var open []string
		for id, k := range d.orders {
			if !which(id) {
				continue
			}
			if text := d.standing(id); text != "" {
				x, _ := d.node.client.ExplainInstance(d.Context(), shopping, "order", id)
				open = append(open, fmt.Sprintf("%s: %s, want %s: %s", id, text, strings.Fields(fates(k).end)[0], x.Text))
			}
		}
		if len(open) == 0 {
			return
		}
		if time.Now().After(end) {
			d.Errorf("%d orders have not come to their end", len(open))
			for _, text := range open[:min(len(open), 5)] {
				d.Error(text)
			}
			return
		}
	}
}

// standing is what an order has come to; "" where that is its end.
func (d *drill) standing(id string) string {
	in, err := d.node.client.Instance(d.Context(), shopping, "order", id)
	switch {
	case err != nil:
		return err.Error()
	case in.State == strings.Fields(fates(d.orders[id]).end)[0]:
		return ""
	}
	return in.State
}

// keep kills the node and copies its parts, and starts it again.
func (d *drill) keep() {
	d.Helper()
	for id := range d.orders {
		d.open[id] = d.standing(id) != ""
	}
	if d.redis != nil {
		d.redis.Keep()
	}
	d.node.kill()
	copyParts(d.T, d.node.data, d.kept)
	d.node.start()
	d.node.awaken(d.node.client)
}

// copyParts copies what of a node's folder may be put back.
func copyParts(t *testing.T, from, to string) {
	t.Helper()
	for _, p := range []part{boardPart, streamsPart, archivePart} {
		names, err := filepath.Glob(filepath.Join(from, string(p)))
		for _, name := range names {
			if err == nil {
				err = exec.Command("cp", "-R", name, to).Run()
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// putBack kills the node and makes parts of it what they were.
func (d *drill) putBack(parts []part) {
	d.Helper()
	d.node.kill()
	for _, p := range parts {
		if p == boardPart && d.redis != nil {
			d.redis.Lose()
			continue
		}
		now, err := filepath.Glob(filepath.Join(d.node.data, string(p)))
		if err != nil {
			d.Fatal(err)
		}
		was, err := filepath.Glob(filepath.Join(d.kept, string(p)))
		if err != nil || len(was) == 0 {
			d.Fatalf("nothing was kept of %s: %v", p, err)
		}
		for _, name := range now {
			if err := os.RemoveAll(name); err != nil {
				d.Fatal(err)
			}
		}
		for _, name := range was {
			if err := os.Rename(name, filepath.Join(d.node.data, filepath.Base(name))); err != nil {
				d.Fatal(err)
			}
		}
	}
}

// begins starts the node, and once more where it refuses, with the loss accepted.
func (d *drill) begins(refusal string) {
	d.Helper()
	before, _ := os.ReadFile(d.node.log)
	d.node.start()
	if refusal != "" {
		select {
		case <-d.node.ended:
		case <-time.After(patience):
			d.Fatal("the node does not refuse to start")
		}
		text, _ := os.ReadFile(d.node.log)
		if said := string(text[len(before):]); !strings.Contains(said, refusal) || !strings.Contains(said, "--accept-loss") {
			d.Errorf("the node said %q, want %q and what to do", said, refusal)
		}
		as := d.node.make
		d.node.make = func() *exec.Cmd {
			cmd := as()
			cmd.Args = append(cmd.Args, "--accept-loss")
			return cmd
		}
		d.node.start()
	}
	d.node.awaken(d.node.client)
}

// doctor is what the doctor says.
func (d *drill) doctor() string {
	d.Helper()
	bin, err := binary()
	if err != nil {
		d.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(d.Context(), patience)
	defer cancel()
	text, _ := exec.CommandContext(ctx, bin, "doctor", "--data", d.node.data, "--context", fmt.Sprint(shopping)).CombinedOutput()
	return string(text)
}

func (d *drill) run(l loss) {
	d.Helper()
	begun := time.Now()
	d.work()
	d.keep()
	d.work()
	d.putBack(l.older)
	d.begins(l.refusal)
	d.Logf("begun again after %v", time.Since(begun))
	lostRound := d.round
	d.work()
	lost := fmt.Sprintf("-%d-", lostRound)
	d.settled(func(id string) bool { return !l.gone || !strings.Contains(id, lost) && !d.open[id] })
	if text := d.doctor(); !strings.Contains(text, l.doctor) {
		d.Errorf("the doctor says %s\nwant %q in it", text, l.doctor)
	}
	d.judge()
	d.Logf("took %v", time.Since(begun))
}

// judge holds the witness against what was promised.
func (d *drill) judge() {
	d.Helper()
	d.fleet.shop.mu.Lock()
	defer d.fleet.shop.mu.Unlock()
	for what, book := range map[string]map[string]*deed{"effect": d.fleet.shop.effects, "command": d.fleet.shop.commands} {
		keys := map[string]string{}
		for key, did := range book {
			name := did.what + " of " + did.order
			if other := keys[name]; other != "" {
				d.Errorf("the %s %s came under two keys, %s and %s", what, name, other, key)
			}
			keys[name] = key
		}
	}
	for id := range d.orders {
		lines, err := d.node.client.History(d.Context(), shopping, "order", id, 200)
		if err != nil {
			continue
		}
		counted := map[string]int{}
		for _, e := range lines {
			if _, _, result := domain.ParseResultEvent(e.Type); result && e.Reaction == domain.Handle {
				if counted[e.Type]++; counted[e.Type] > 1 {
					d.Errorf("%s has counted %s twice", id, e.Type)
				}
			}
		}
	}
}
