package cluster

import (
	"os"
	"testing"
	"time"

	"github.com/ramet-run/ramet/internal/etcdtest"
	"github.com/ramet-run/ramet/internal/redistest"
)

// These tests let people order while nodes, board and streams are killed and
// stopped, and hold what has become of each order against what was promised.

func TestKillSagasEmbedded(t *testing.T) {
	t.Parallel()
	newFleet(t, "", "", 1).rage()
}

func TestKillSagasOnRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "appendonly yes", "appendfsync always")
	f := newFleet(t, s.URL(), s.Addr(), 3)
	f.evils = append(f.evils, evil{"Redis is killed", 10, func() {
		f.awaken()
		s.Kill()
		f.sleep(time.Second)
		s.Restart()
	}})
	f.rage()
}

func TestKillSagasOnEtcd(t *testing.T) {
	t.Parallel()
	m := etcdtest.Start(t)
	f := newFleet(t, etcdtest.URL("", m), m.Addr(), 3)
	f.evils = append(f.evils, evil{"etcd is killed", 10, func() {
		f.awaken()
		m.Kill()
		f.sleep(time.Second)
		m.Restart()
	}})
	f.rage()
}

// rage lets people order and misfortune come, and judges.
func (f *fleet) rage() {
	f.apply()
	c := newCrowd(f)
	if err := c.drop(); err != nil {
		f.Fatal(err)
	}
	stop := make(chan struct{})
	wait := c.shop(stop)
	for range sagaRounds(f.T) {
		f.sleep(time.Second)
		f.misfortune()
		if f.Failed() {
			break
		}
	}
	f.sleep(time.Second)
	close(stop)
	f.shop.calm()
	f.awaken()
	wait()
	f.drained()
	f.verify(c)
}

// sagaRounds are fewer than others, for there is more to each.
func sagaRounds(t *testing.T) int {
	if os.Getenv("RAMET_KILL_ROUNDS") != "" {
		return rounds(t)
	}
	return min(rounds(t), 8)
}
