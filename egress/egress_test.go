package egress_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/egress"
)

func TestEgressRules(t *testing.T) {
	for _, tc := range []struct {
		name  string
		rules string // separated by spaces
		host  string
		to    string
		want  bool
	}{
		{"public by default", "", "example.com", "93.184.216.34:443", true},
		{"public IPv6", "", "example.com", "[2606:2800:220:1::1]:443", true},
		{"loopback", "", "localhost", "127.0.0.1:80", false},
		{"all of it", "", "x", "127.9.9.9:80", false},
		{"loopback IPv6", "", "localhost", "[::1]:80", false},
		{"unspecified", "", "x", "0.0.0.0:80", false},
		{"unspecified IPv6", "", "x", "[::]:80", false},
		{"private 10", "", "x", "10.1.2.3:80", false},
		{"private 172", "", "x", "172.31.255.255:80", false},
		{"not private 172", "", "x", "172.32.0.1:80", true},
		{"private 192", "", "x", "192.168.0.1:80", false},
		{"shared 100.64", "", "x", "100.64.0.1:80", false},
		{"Alibaba's metadata", "", "x", "100.100.100.200:80", false},
		{"link-local", "", "x", "169.254.1.1:80", false},
		{"metadata", "", "metadata.google.internal", "169.254.169.254:80", false},
		{"AWS's metadata in IPv6", "", "x", "[fd00:ec2::254]:80", false},
		{"Azure's host", "", "x", "168.63.129.16:80", false},
		{"Oracle's", "", "x", "192.0.0.192:80", false},
		{"unique local", "", "x", "[fd12::1]:80", false},
		{"link-local IPv6", "", "x", "[fe80::1%eth0]:80", false},
		{"multicast", "", "x", "224.0.0.1:80", false},
		{"multicast IPv6", "", "x", "[ff02::1]:80", false},
		{"broadcast", "", "x", "255.255.255.255:80", false},
		{"reserved", "", "x", "240.0.0.1:80", false},
		{"IPv4 in IPv6", "", "x", "[::ffff:10.0.0.1]:80", false},
		{"IPv4-compatible", "", "x", "[::7f00:1]:80", false},
		{"NAT64 of a private address", "", "x", "[64:ff9b::a00:1]:80", false},
		{"6to4 of a private address", "", "x", "[2002:a00:1::]:80", false},
		{"IPv4-translated", "", "x", "[::ffff:0:7f00:1]:80", false},
		{"NAT64 of one's own", "", "x", "[64:ff9b:1::a00:1]:80", false},
		{"Teredo", "", "x", "[2001:0:1::]:80", false},
		{"documentation", "", "x", "192.0.2.1:80", false},

		{"a range that is listed", "10.0.0.0/8", "x", "10.1.2.3:80", true},
		{"does not open others", "10.0.0.0/8", "x", "192.168.1.1:80", false},
		{"nor the public ones", "10.0.0.0/8", "x", "93.184.216.34:443", false},
		{"an address that is listed", "10.1.2.3", "x", "10.1.2.3:80", true},
		{"and its neighbour", "10.1.2.3", "x", "10.1.2.4:80", false},
		{"with a port", "10.1.2.3:5432", "x", "10.1.2.3:5432", true},
		{"and another port", "10.1.2.3:5432", "x", "10.1.2.3:22", false},
		{"a range with a port", "10.0.0.0/8:5432", "x", "10.9.9.9:5432", true},
		{"IPv6", "fd00::7", "x", "[fd00::7]:80", true},
		{"IPv6 with a port", "[fd00::7]:443", "x", "[fd00::7]:80", false},
		{"a range of IPv6", "fd00::/8", "x", "[fd00::9]:80", true},
		{"a range of IPv6 with a port", "[fd00::/8]:80", "x", "[fd00::9]:80", true},
		{"IPv4 in IPv6 of a listed range", "10.0.0.0/8", "x", "[::ffff:10.0.0.1]:80", true},
		{"a listed range in the form of IPv6", "::ffff:10.0.0.0/104", "x", "10.0.0.1:80", true},
		{"everything is no private range", "0.0.0.0/0", "x", "10.0.0.1:80", false},
		{"nor the metadata", "0.0.0.0/0", "x", "169.254.169.254:80", false},
		{"but all public ones", "0.0.0.0/0", "x", "93.184.216.34:443", true},
		{"half of everything is neither", "0.0.0.0/1 128.0.0.0/1", "x", "127.0.0.1:80", false},
		{"the metadata where it is named", "169.254.169.254", "x", "169.254.169.254:80", true},

		{"a name", "api.example.com", "api.example.com", "93.184.216.34:443", true},
		{"in any case, with a dot", "API.example.com", "api.EXAMPLE.com.", "93.184.216.34:443", true},
		{"another name", "api.example.com", "example.com", "93.184.216.34:443", false},
		{"a name within a name", "example.com", "example.com.evil.org", "93.184.216.34:443", false},
		{"a name at the end of a name", "example.com", "notexample.com", "93.184.216.34:443", false},
		{"all below a name", "*.example.com", "a.b.example.com", "93.184.216.34:443", true},
		{"but not itself", "*.example.com", "example.com", "93.184.216.34:443", false},
		{"nor what ends like it", "*.example.com", "evilexample.com", "93.184.216.34:443", false},
		{"a name with a port", "api.example.com:443", "api.example.com", "93.184.216.34:80", false},
		{"a name that leads to a private address", "api.example.com", "api.example.com", "10.0.0.1:443", false},
		{"or to the metadata", "*.example.com", "api.example.com", "169.254.169.254:80", false},
		{"unless that is listed too", "api.example.com 10.0.0.0/24", "api.example.com", "10.0.0.1:443", true},
		{"public with a port", "public:443", "x", "93.184.216.34:443", true},
		{"public and another port", "public:443", "x", "93.184.216.34:25", false},
		{"none", "none", "example.com", "93.184.216.34:443", false},
		{"public and more", "public 10.0.0.0/8:5432", "x", "10.0.0.1:5432", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, err := egress.Parse(strings.Fields(tc.rules))
			if err != nil {
				t.Fatal(err)
			}
			if got := e.Allows(tc.host, netip.MustParseAddrPort(tc.to)); got != tc.want {
				t.Errorf("%q: %s (%s): got %v, want %v", tc.rules, tc.to, tc.host, got, tc.want)
			}
		})
	}
}

func TestEgressRulesThatCannotBe(t *testing.T) {
	for _, rule := range []string{"", "*", "*.", "a b", "a.b:0", "a.b:65536", "a.b:http", "10.0.0.0/33", "10.0.0", "256.1.1.1", "http://a.b",
		"unix:run", "a..b", "*.*.com", "[fd00::1", "none:80"} {
		if _, err := egress.Parse([]string{rule}); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%q: got %v, want invalid", rule, err)
		}
	}
}

func FuzzEgress(f *testing.F) {
	for _, rule := range []string{"public", "*.example.com:1", "10.0.0.0/8:1", "[fd00::/8]:1", "unix:/x"} {
		f.Add(rule, "example.com", []byte{10, 0, 0, 1})
	}
	f.Fuzz(func(t *testing.T, rule, host string, ip []byte) {
		e, err := egress.Parse([]string{rule})
		addr, ok := netip.AddrFromSlice(ip)
		if err != nil || !ok {
			return
		}
		private := addr.Unmap().IsPrivate() || addr.Unmap().IsLoopback() || addr.Unmap().IsLinkLocalUnicast()
		if private && e.Allows(host, netip.AddrPortFrom(addr, 80)) && !strings.ContainsAny(rule, "/:") && !strings.Contains(rule, ".") {
			t.Errorf("rule %q opens %s", rule, addr)
		}
	})
}

// TestTheDialerLooksAtTheAddressItConnectsTo is about names that turn out to
// be addresses of this machine, as those of a rebinding attacker do.
func TestTheDialerLooksAtTheAddressItConnectsTo(t *testing.T) {
	asked := false
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer srv.Close()
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	for _, tc := range []struct {
		name, rule, host string
		open             bool
	}{
		{"a name of this machine", "public", "localhost", false},
		{"even where the name is listed", "localhost", "localhost", false},
		{"its address", "public", "127.0.0.1", false},
		{"where the range is listed", "127.0.0.0/8", "127.0.0.1", true},
		{"with its port", "127.0.0.1:" + port, "127.0.0.1", true},
		{"another port", "127.0.0.1:1", "127.0.0.1", false},
		{"a number that is an address", "public", "2130706433", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rules, err := egress.Parse([]string{tc.rule})
			if err != nil {
				t.Fatal(err)
			}
			client := &http.Client{Transport: &http.Transport{DialContext: egress.NewDialer(rules).DialContext, DisableKeepAlives: true}}
			resp, err := client.Get("http://" + net.JoinHostPort(tc.host, port))
			if err == nil {
				resp.Body.Close()
			}
			var refused *egress.Closed
			if tc.open != (err == nil) || asked != tc.open {
				t.Errorf("got %v, asked: %v, want open: %v", err, asked, tc.open)
			}
			var dns *net.DNSError // a name that is none is no refusal, and nobody was asked
			if !tc.open && !errors.As(err, &refused) && !errors.As(err, &dns) {
				t.Errorf("got %v, want a refusal", err)
			}
			asked = false
		})
	}
}

// TestARedirectIsLookedAtToo is about a target that sends one elsewhere.
func TestARedirectIsLookedAtToo(t *testing.T) {
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the closed server was asked") }))
	defer inner.Close()
	outer := httptest.NewServer(http.RedirectHandler(inner.URL, http.StatusFound))
	defer outer.Close()
	rules, err := egress.Parse([]string{outer.Listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: egress.NewDialer(rules).DialContext}}
	_, err = client.Get(outer.URL)
	var refused *egress.Closed
	if !errors.As(err, &refused) || !strings.Contains(refused.Text, inner.Listener.Addr().String()) {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestSocketsOfThisMachine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for rule, open := range map[string]bool{"public": false, "unix:" + path: true, "unix:/other": false} {
		rules, err := egress.Parse([]string{rule})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := egress.NewDialer(rules).DialContext(context.Background(), "unix", path)
		if (err == nil) != open {
			t.Errorf("%s: got %v", rule, err)
		}
		if err == nil {
			conn.Close()
		}
	}
}
