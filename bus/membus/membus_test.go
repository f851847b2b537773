package membus_test

import (
	"strconv"
	"testing"

	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/bus/bustest"
	"github.com/ramet-run/ramet/bus/membus"
)

func TestBus(t *testing.T) {
	bustest.Run(t, bustest.Factory{Open: func(*testing.T) bustest.Network {
		net := membus.New(membus.Config{})
		return bustest.Network{
			Join: func(_ *testing.T, i int) bus.Bus { return net.Join("n" + strconv.Itoa(i)) },
			Cut:  func(a, b int) { net.Cut("n"+strconv.Itoa(a), "n"+strconv.Itoa(b)) },
			Heal: net.Heal,
		}
	}})
}
