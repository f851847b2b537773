package myceliumbus_test

import (
	"testing"

	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/bus/bustest"
	"github.com/ramet-run/ramet/internal/myceliumtest"
)

// TestBusOfProcesses runs the suite on daemons in processes of their own, that
// are linked over TCP: each with each.
func TestBusOfProcesses(t *testing.T) { processes(t, myceliumtest.Build(t), features) }

// TestBusOfRealDaemons does so with the real daemon, where it is installed.
func TestBusOfRealDaemons(t *testing.T) {
	bin := myceliumtest.Installed(t)
	slow := features
	slow.Few = "the real daemon sends one packet of a message every 100 ms"
	slow.NoSelf = "the real daemon does not say whether it carries messages to itself"
	slow.Doubles = "the real daemon sends again what was not acknowledged in time"
	processes(t, bin, slow)
}

func processes(t *testing.T, bin string, f bustest.Features) {
	bustest.Run(t, bustest.Factory{Features: f, Open: func(t *testing.T) bustest.Network {
		a := myceliumtest.Run(t, bin)
		b := myceliumtest.Run(t, bin, a.Endpoint())
		c := myceliumtest.Run(t, bin, a.Endpoint(), b.Endpoint())
		list := []*myceliumtest.Process{a, b, c}
		for _, from := range list {
			for _, to := range list {
				if from != to {
					from.AwaitRoute(to)
				}
			}
		}
		return bustest.Network{Join: func(t *testing.T, i int) bus.Bus { return open(t, list[i].URL()) }}
	}})
}
