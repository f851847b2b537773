package myceliumbus_test

import (
	"testing"

	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/bus/bustest"
	"github.com/ramet-run/ramet/bus/myceliumbus"
	"github.com/ramet-run/ramet/internal/myceliumtest"
)

var features = bustest.Features{NoReturn: "a daemon forgets a message when it gives it away"}

func open(t *testing.T, url string) *myceliumbus.Bus {
	t.Helper()
	b, err := myceliumbus.Open(t.Context(), "mycelium:"+url, myceliumbus.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBus(t *testing.T) {
	bustest.Run(t, bustest.Factory{Features: features, Open: func(t *testing.T) bustest.Network {
		n := myceliumtest.NewNetwork()
		d := []*myceliumtest.Daemon{n.Start(t), n.Start(t), n.Start(t)}
		return bustest.Network{
			Join: func(t *testing.T, i int) bus.Bus { return open(t, d[i].URL()) },
			Cut:  func(a, b int) { n.Cut(d[a], d[b]) },
			Heal: func() {
				n.Heal(d[0], d[1])
				n.Heal(d[0], d[2])
				n.Heal(d[1], d[2])
			},
		}
	}})
}
