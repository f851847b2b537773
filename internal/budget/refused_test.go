package budget_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/budget"
	"github.com/ramet-run/ramet/internal/watched"
)

// farConn is a connection from an address.
type farConn struct {
	net.Conn
	from string
}

func (c farConn) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(c.from), 1))
}
func (farConn) Close() error { return nil }

func TestAnAddressHasSoManyRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Config{Refused: 6, Shared: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}, nil)
		sit := func(from string) *budget.Seat {
			t.Helper()
			s, err := b.Sit(farConn{from: from})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		looked := func(s *budget.Seat, tries int) (n int) {
			for range tries {
				if s.MayTry() == nil {
					n++
					s.Refused()
				}
			}
			return n
		}
		known := sit("192.0.2.1")
		if err := known.SignIn(7); err != nil {
			t.Fatal(err)
		}
		bad := sit("192.0.2.1")
		if got := looked(bad, 100); got != 6 {
			t.Errorf("%d are looked at, want 6", got)
		}
		err := sit("192.0.2.1").MayTry()
		often := (*budget.TooOften)(nil)
		if !errors.Is(err, domain.ErrExhausted) || !errors.As(err, &often) || often.After != 10*time.Second {
			t.Errorf("another connection of the address: got %v, want to come again in 10s", err)
		}
		if got := b.Refusals()["refused_per_address"]; got != 95 {
			t.Errorf("%d are counted, want 95", got)
		}
		for _, s := range []*budget.Seat{known, sit("192.0.2.2"), sit("2001:db8::1"), nil} {
			if err := s.MayTry(); err != nil {
				t.Errorf("somebody else: got %v", err)
			}
		}
		if got := looked(sit("10.1.2.3"), 50); got != 50 {
			t.Errorf("from an address that many share %d are looked at, want 50", got)
		}
		if looked(sit("2001:db8::1"), 6); sit("2001:db8::ffff").MayTry() == nil {
			t.Error("another address of the same /64 begins anew")
		}
		time.Sleep(20 * time.Second)
		if got := looked(bad, 100); got != 2 {
			t.Errorf("after 20 s %d are looked at, want 2", got)
		}
		time.Sleep(time.Minute)
		if got := looked(bad, 100); got != 6 {
			t.Errorf("after a minute %d are looked at, want 6", got)
		}
	})
}

// Ten thousand addresses are known, whoever comes; those that are closest to being
// paid off are forgotten first.
func TestRefusalsAreKnownOfSoManyAddresses(t *testing.T) {
	watched.Large(t)
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Config{Refused: 2}, nil)
		sit := func(from string) *budget.Seat {
			s, err := b.Sit(farConn{from: from})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Leave)
			return s
		}
		bad := sit("192.0.2.1")
		bad.Refused()
		bad.Refused()
		for i := range 12_000 {
			s := sit(fmt.Sprintf("10.0.%d.%d", i/250, i%250))
			s.Refused()
			s.Leave()
		}
		if got := b.KnownRefused(); got != 10_000 {
			t.Errorf("%d addresses are known, want 10000", got)
		}
		if bad.MayTry() == nil {
			t.Error("the address with most refusals is forgotten")
		}
	})
}
