package redistest_test

import (
	"net"
	"testing"

	"github.com/ramet-run/ramet/internal/redistest"
)

func dial(s *redistest.Server) error {
	c, err := net.Dial(s.Network(), s.Addr())
	if err == nil {
		c.Close()
	}
	return err
}

func TestServer(t *testing.T) {
	for name, start := range map[string]func(testing.TB, ...string) *redistest.Server{
		"tcp": redistest.Start, "unix": redistest.StartSocket,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, "appendonly yes")
			if err := dial(s); err != nil {
				t.Fatal(err)
			}
			s.Kill()
			if err := dial(s); err == nil {
				t.Fatal("got an answer from a killed server")
			}
			s.Restart()
			if err := dial(s); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestServerStartedAgainstPassword(t *testing.T) {
	t.Parallel()
	redistest.Start(t, "requirepass secret")
}
