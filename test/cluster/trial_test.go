package cluster

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/internal/etcdtest"
	"github.com/ramet-run/ramet/internal/redistest"
)

// These tests kill and stop nodes, and the servers that they stand on, while a
// witness outside counts the starts of jobs.

func TestKillWitnessedEmbedded(t *testing.T) {
	t.Parallel()
	newTrial(t, filepath.Join(t.TempDir(), "board"), 1).run()
}

func TestKillWitnessedOnRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "appendonly yes", "appendfsync always")
	c := newTrial(t, s.URL(), 2)
	restart := func() {
		s.Kill()
		c.rest(time.Second)
		s.Restart()
	}
	c.outage("Redis is killed", restart)
	c.whileStopped("Redis is killed while a node is stopped", restart)
	c.run()
}

func TestKillWitnessedOnEtcd(t *testing.T) {
	t.Parallel()
	members := etcdtest.Cluster(t, 3)
	c := newTrial(t, etcdtest.URL("", members...), 2)
	restart := func() {
		m := etcdtest.Leader(t, members)
		m.Kill()
		c.rest(3 * time.Second)
		m.Restart()
	}
	c.outage("etcd's leader is killed", restart)
	c.outage("etcd's leader is stopped", func() {
		m := etcdtest.Leader(t, members)
		m.Pause()
		time.Sleep(2 * time.Second) // an election takes one
		m.Continue()
	})
	c.whileStopped("etcd's leader is killed while a node is stopped", restart)
	c.run()
}

// trial is some nodes on one board that work and submit while they, and what
// they stand on, are killed and stopped.
type trial struct {
	*killer
	witness *witness
	nodes   []*process
	lives   int
	evils   []evil

	kills, pauses, outages int
}

func newTrial(t *testing.T, where string, nodes int) *trial {
	t.Helper()
	c := &trial{killer: newKiller(t, where), witness: newWitness(t), nodes: make([]*process, nodes)}
	c.told = c.witness.file
	for i := range c.nodes {
		c.live(i)
	}
	c.evils = []evil{
		{"a node is killed", 4, func() { c.killNode(c.any()) }},
		{"a node is stopped", 2, func() { c.stopNode(c.any(), func() {}) }},
	}
	if nodes > 1 {
		c.evils = append(c.evils, evil{"a node is killed while another is stopped", 1, func() {
			i := c.any()
			c.stopNode(i, func() { c.killNode((i + 1) % len(c.nodes)) })
		}})
	}
	return c
}

// outage adds a misfortune of the board's server. Nodes that are starting do not
// wait for it, so none is.
func (c *trial) outage(name string, do func()) {
	c.evils = append(c.evils, evil{name, 2, func() { c.ready(); c.outages++; do() }})
}

// whileStopped adds one that happens while a node is stopped.
func (c *trial) whileStopped(name string, do func()) {
	c.evils = append(c.evils, evil{name, 1, func() { c.ready(); c.outages++; c.stopNode(c.any(), do) }})
}

func (c *trial) any() int { return c.rand.IntN(len(c.nodes)) }

// rest waits up to most.
func (c *trial) rest(most time.Duration) { time.Sleep(time.Duration(c.rand.Int64N(int64(most)))) }

// live begins a life of a node, which submits jobs with ids of its own.
func (c *trial) live(i int) {
	c.Helper()
	name := string(rune('a' + i))
	c.nodes[i] = spawn(c.T, c.where, name, c.dataOf(i), envWitness+"="+c.witness.file, envLease+"="+siteLease.String(),
		envFirst+"="+strconv.Itoa(c.lives*1_000_000+1))
	c.lives++
}

// dataOf is the folder of a node.
func (c *trial) dataOf(i int) string { return filepath.Join(c.data, string(rune('a'+i))) }

// ready waits until all nodes work.
func (c *trial) ready() {
	c.Helper()
	for _, p := range c.nodes {
		p.await("ready", 1)
		p.alive()
	}
}

// end kills a node and takes down what it had acknowledged.
func (c *trial) end(i int) {
	c.Helper()
	c.nodes[i].alive()
	c.nodes[i].kill()
	c.book(c.nodes[i])
	c.kills++
	if !shared(c.where) { // now it can be looked at
		b := c.open()
		defer b.Close()
		if err := c.witness.look(c.Context(), b); err != nil {
			c.Fatal(err)
		}
	}
}

func (c *trial) killNode(i int) {
	c.Helper()
	c.end(i)
	c.live(i)
}

// stopNode stops a node for longer than its leases, and has something else happen
// meanwhile.
func (c *trial) stopNode(i int, meanwhile func()) {
	c.Helper()
	over := time.After(siteLease + 500*time.Millisecond)
	c.pauses++
	c.nodes[i].signal(stopSignal)
	meanwhile()
	<-over
	c.nodes[i].signal(continueSignal)
}

// run lets misfortune come, has a last life do what is left, and judges.
func (c *trial) run() {
	c.Helper()
	ctx, stop := context.WithCancel(c.Context())
	var looking sync.WaitGroup
	if shared(c.where) {
		looking.Go(func() { c.watch(ctx) })
	}
	for _, e := range c.misfortunes(trialRounds(c.T)) {
		c.ready()
		c.rest(600 * time.Millisecond)
		c.Log(e.name)
		e.do()
		if c.Failed() {
			break
		}
	}
	c.ready()
	c.rest(600 * time.Millisecond)
	for i := range c.nodes {
		c.end(i)
	}
	c.drain()
	stop()
	looking.Wait()
	c.judge()
}

// trialRounds are fewer than others where nobody asks for many: a stopped node
// takes longer than a lease.
func trialRounds(t *testing.T) int {
	if os.Getenv("RAMET_KILL_ROUNDS") != "" {
		return rounds(t)
	}
	return min(rounds(t), 3)
}

// misfortunes are n of what may happen, each as often as it says beside others, in
// an order of chance. Few are of different kinds, as far as there are such.
func (c *trial) misfortunes(n int) (list []evil) {
	for len(list) < n {
		var all []evil
		for _, k := range c.rand.Perm(len(c.evils)) {
			all = append(all, c.evils[k])
		}
		for _, k := range c.rand.Perm(len(c.evils)) {
			for range c.evils[k].often - 1 {
				all = append(all, c.evils[k])
			}
		}
		list = append(list, all...)
	}
	return list[:n]
}

// watch looks again and again which jobs have ended, as far as the board answers.
func (c *trial) watch(ctx context.Context) {
	b := c.open()
	defer b.Close()
	for again := time.NewTicker(100 * time.Millisecond); ; {
		select {
		case <-again.C:
			_ = c.witness.look(ctx, b) // it may be away
		case <-ctx.Done():
			return
		}
	}
}

// judge holds the board against what was acknowledged, and both against the
// witness.
func (c *trial) judge() {
	c.Helper()
	c.verify()
	b := c.open()
	defer b.Close()
	jobs, starts, late := c.witness.judge()
	for key := range c.endedOnce(b) {
		recs, err := b.Get(c.Context(), 1, key)
		if err != nil {
			c.Fatal(err)
		}
		if err := jobs[key].agrees(recs[0]); err != nil {
			c.Errorf("%s: %v: %v", key, err, recs[0])
		}
	}
	// A node looks at the clock right before it starts a script. Between these two
	// it may be stopped like anywhere else, but not more than once.
	if late > c.pauses {
		c.Errorf("%d jobs were begun after a later attempt or their end, want at most one for each time that a node was stopped (%d)", late, c.pauses)
	}
	c.Logf("%d jobs acknowledged, %d starts of %d jobs seen, %d late; %d nodes killed, %d stopped, the server %d times away",
		len(c.acked), starts, len(jobs), late, c.kills, c.pauses, c.outages)
}

// shared reports whether several processes may have a board open.
func shared(where string) bool { return strings.Contains(where, "://") }
