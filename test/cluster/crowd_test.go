package cluster

import (
	"strconv"
	"syscall"
	"testing"
)

// Three nodes on one Redis submit and work; again and again one of them is
// killed and comes back.
func TestThreeNodesAreKilled(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	names := []string{"a", "b", "c"}
	nodes := make([]*process, len(names))
	life := 0
	start := func(i int) {
		nodes[i] = d.spawn(names[i], envLease+"=2s", envFirst+"="+strconv.Itoa(life*1_000_000+1))
		life++
	}
	end := func(i int) {
		p := nodes[i]
		p.alive()
		p.kill()
		if st, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || st.Signal() != syscall.SIGKILL {
			t.Errorf("%s ended by itself: %s", p.name, p.stderr.String())
		}
		for _, key := range p.lines("ack") {
			d.acked[key] = true
		}
	}
	for i := range nodes {
		start(i)
	}
	for range rounds(t) {
		i := d.rand.IntN(len(nodes))
		nodes[i].await("ack", d.rand.IntN(1000))
		end(i)
		start(i)
	}
	for i := range nodes {
		nodes[i].await("ready", 1)
		end(i)
	}
	for _, name := range names {
		d.spawn(name)
	}
	t.Logf("%d jobs acknowledged over %d lives", len(d.acked), life)
	d.settle()
}
