// Package testport finds ports for servers that tests start as processes.
package testport

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Ports are drawn from below those that systems give to outgoing connections:
// between this look and the server's start, one of the many connections of
// other tests would take such a port now and then.
const first, number = 12_000, 18_000

// Free returns host:port on the loopback that nobody listens on now, and that no
// other test is given until this one ends: a server may come late, and come again.
// What says so, to the tests of other packages too, is that the port of the same
// number is taken for UDP, which no server of a test uses.
func Free(t testing.TB) string {
	t.Helper()
	for range 100 {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(first+rand.IntN(number)))
		mark, err := net.ListenPacket("udp", addr)
		if err != nil {
			continue
		}
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			t.Cleanup(func() { mark.Close() })
			return addr
		}
		mark.Close()
	}
	t.Fatal("no free port was found")
	return ""
}
