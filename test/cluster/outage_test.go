package cluster

import (
	"strings"
	"testing"
)

// Redis goes away while jobs run, and comes back: what ran ends once, in its
// first attempt, for its lease is still good.
func TestRedisGoneAndBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		away, back func(d *desk)
	}{
		{"killed", func(d *desk) { d.server.Kill() }, func(d *desk) { d.server.Restart() }},
		{"stopped", func(d *desk) { d.server.Pause() }, func(d *desk) { d.server.Continue() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			outage(newDesk(t), c.away, c.back)
		})
	}
}

func outage(d *desk, away, back func(d *desk)) {
	d.Helper()
	node := d.spawn("a", envLease+"="+outageLease.String(), envAnswer+"=500ms")
	node.await("ready", 1)
	d.submit(40, "1500ms") // these end while the server is away
	d.submit(10, "4s")     // these when it is back
	d.submit(200, "10ms")
	inHand := without(node.await("run", 64), node.lines("end"))
	away(d)
	// Everything that ends meanwhile waits to be written, and the node has
	// found several times that it cannot ask for more.
	node.await("end", 40)
	node.await("warn", 4)
	node.alive()
	back(d)
	d.settle()
	for _, key := range inHand {
		d.want(key, 1, 0)
	}
	if len(inHand) < 20 {
		d.Errorf("%d jobs were running when the server went away, want more", len(inHand))
	}
	d.submit(20, "1ms")
	d.settle()
	node.alive()
}

// A node that was stopped past its leases comes back when others have done its
// jobs: what it has to say about them is refused.
func TestStoppedNodeComesBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	lease := envLease + "=2s"
	stopped := d.spawn("a", lease)
	stopped.await("ready", 1)
	d.submit(30, "deaf 1s")
	inHand := without(stopped.await("run", 30), stopped.lines("end"))
	stopped.signal(stopSignal)
	other := d.spawn("b", lease)
	d.submit(30, "1ms")
	d.settle() // which is the end of all of them, by b
	taken := other.lines("end")
	if len(taken) != len(inHand)+30 {
		d.Errorf("the other node ran %d jobs, want %d", len(taken), len(inHand)+30)
	}
	stopped.signal(continueSignal)
	stopped.await("end", 30)
	stopped.signal(endSignal)
	if code, text := stopped.exit(); code != 0 {
		d.Errorf("the node that came back ended with %d: %s", code, text)
	}
	d.settle()
	for _, key := range inHand {
		d.wantLost(key)
	}
	other.alive()
}

// A node that is told to stop gives back what takes too long: another one
// does it, and nothing counts as lost.
func TestDrain(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ending := d.spawn("a", envGrace+"=1s")
	ending.await("ready", 1)
	d.submit(20, "first 1h")
	d.submit(20, "500ms")
	d.submit(40, "1ms") // more than there are slots
	ending.await("run", 64)
	ending.signal(endSignal)
	if code, text := ending.exit(); code != 0 { // and before the hour is over
		t.Errorf("the node ended with %d: %s", code, text)
	}
	stopped := ending.lines("stopped")
	if len(stopped) != 20 {
		t.Errorf("%d jobs were stopped, want the 20 that take an hour", len(stopped))
	}
	d.spawn("b")
	d.settle()
	for _, line := range stopped {
		key, _, _ := strings.Cut(line, " ")
		d.want(key, 2, 0)
	}
}
