package effect

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// Egress says which addresses effects may connect to.
//
//	public                 all public addresses: the default
//	api.example.com:443    a host of that name, and only that port
//	*.example.com          all below that name
//	10.1.0.0/16:5432       addresses
//	[fd00::7]:443          with a port, IPv6 in brackets
//	unix:/run/db.sock      a socket of this machine
//
// A name opens public addresses only, whatever it resolves to: private ones, and
// those of this machine, of links and of the metadata services of clouds, are
// open where a rule names the address or a range within the closed one. (So
// 10.0.0.0/8 opens that, and 0.0.0.0/0 opens no private address.)
type Egress struct {
	rules []egressRule
}

// egressRule is one line. One of public, name, prefix and unix is set.
type egressRule struct {
	public bool
	name   string // "api.example.com", or ".example.com" for all below
	prefix netip.Prefix
	unix   string
	port   uint16 // 0: all
}

// ParseEgress reads rules. None: public.
//
// Errors: [domain.ErrInvalid] naming the rule and what would be right.
func ParseEgress(rules []string) (Egress, error) {
	if len(rules) == 0 {
		rules = []string{"public"}
	}
	var e Egress
	for _, text := range rules {
		r, ok := parseEgressRule(text)
		if !ok {
			return e, domain.Invalidf("egress %q: want public, a host name, *.example.com, an address, a range such as 10.1.0.0/16 (each with or without :port), or unix:/path", domain.PlainText(text, 300))
		}
		e.rules = append(e.rules, r)
	}
	return e, nil
}

func parseEgressRule(text string) (r egressRule, ok bool) {
	if path, unix := strings.CutPrefix(text, "unix:"); unix {
		return egressRule{unix: path}, strings.HasPrefix(path, "/")
	}
	host, port := text, ""
	if addr, err := netip.ParseAddr(text); err == nil && addr.Is6() {
		// its colons are no port's
	} else if p, err := netip.ParsePrefix(text); err == nil && p.Addr().Is6() {
		// nor are these
	} else if i := strings.LastIndexByte(text, ':'); i >= 0 {
		host, port = text[:i], text[i+1:]
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return r, false
		}
		r.port = uint16(n)
	}
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	}
	if host == "public" {
		r.public = true
		return r, true
	}
	if p, err := netip.ParsePrefix(host); err == nil {
		r.prefix = unmapPrefix(p)
		return r, true
	}
	if a, err := netip.ParseAddr(host); err == nil {
		a = a.Unmap().WithZone("")
		r.prefix = netip.PrefixFrom(a, a.BitLen())
		return r, true
	}
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if below, wild := strings.CutPrefix(name, "*."); wild {
		name = "." + below
	}
	r.name = name
	return r, hostName(strings.TrimPrefix(name, "."))
}

// unmapPrefix is an IPv4 range that is written as IPv6 in its own form.
func unmapPrefix(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96).Masked()
	}
	return p.Masked()
}

func hostName(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	letter := false
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for _, c := range label {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
			letter = letter || c > '9' || c == '-'
		}
	}
	return letter // else it is an address gone wrong
}

// closed are the ranges that no host of others has: what lies there is ours, or
// leads elsewhere.
//
// Source: the IANA special-purpose address registries; the metadata addresses
// of clouds, of which most lie within.
var closed = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"168.63.129.16/32", // Azure's host
	"::/96",            // unspecified, loopback, IPv4-compatible
	"64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32",
	"2002::/16", // 6to4: an IPv4 address of any kind
	"3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, text := range list {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

// closedRange is the closed range that an address lies in.
func closedRange(a netip.Addr) (netip.Prefix, bool) {
	for _, p := range closed {
		if p.Contains(a) {
			return p, true
		}
	}
	return netip.Prefix{}, false
}

// Allows says whether effects may connect to an address that was asked for by
// a host name ("" or the address itself: by none).
func (e Egress) Allows(host string, to netip.AddrPort) bool {
	addr := to.Addr().Unmap().WithZone("")
	within, special := closedRange(addr)
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return slices.ContainsFunc(e.rules, func(r egressRule) bool {
		switch {
		case r.port != 0 && r.port != to.Port():
			return false
		case r.public:
			return !special
		case r.name != "":
			return !special && r.named(host)
		}
		return r.prefix.IsValid() && r.prefix.Contains(addr) && (!special || r.prefix.Bits() >= within.Bits())
	})
}

func (r egressRule) named(host string) bool {
	return host == r.name || r.name[0] == '.' && strings.HasSuffix(host, r.name)
}

// AllowsUnix says the same of a socket of this machine.
func (e Egress) AllowsUnix(path string) bool {
	return slices.ContainsFunc(e.rules, func(r egressRule) bool { return r.unix != "" && r.unix == path })
}

// Dialer opens the connections of providers, to where the rules allow it. The
// address that a name turns out to be is what is looked at, right before the
// connection is made: so it holds for every name, redirect and proxy. It is
// safe for concurrent use.
type Dialer struct {
	rules Egress
	// Resolver is for tests. Default: the machine's.
	Resolver *net.Resolver
	// Timeout bounds one connection's making. Default: 10s.
	Timeout time.Duration
}

// NewDialer returns a dialer by rules.
func NewDialer(rules Egress) *Dialer { return &Dialer{rules: rules, Timeout: 10 * time.Second} }

// DialContext connects to "host:port", or to a path where network is "unix".
// Give it the name, not an address that you found out: a rule may be for the
// name.
//
// Errors: a *[Refused] for what is closed; those of net.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if strings.HasPrefix(network, "unix") {
		if !d.rules.AllowsUnix(address) {
			return nil, Refusedf("egress to unix:%s is closed: the operator may list it under egress in the config file", domain.PlainText(address, 300))
		}
		return (&net.Dialer{Timeout: d.Timeout}).DialContext(ctx, network, address)
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, Refusedf("address %q: want host:port", domain.PlainText(address, 300))
	}
	nd := net.Dialer{Timeout: d.Timeout, Resolver: d.Resolver, ControlContext: func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(resolved)
		if err != nil || !d.rules.Allows(host, to) {
			return Refusedf("egress to %s (%s) is closed: the operator may list it under egress in the config file", resolved, domain.PlainText(host, 300))
		}
		return nil
	}}
	return nd.DialContext(ctx, network, address)
}
