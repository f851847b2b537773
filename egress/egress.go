// Package egress says where the node connects to for others: for the effects
// that an operator set up and tenants fill in, and for the prerequisites that
// tenants name. One list of rules is for both. An address is looked at when it
// has been resolved and right before the connection is made: so the rules hold
// whatever a name turns out to be, and for each redirect and proxy.
package egress

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// Rules say which addresses the node connects to for others.
//
//	public                 all public addresses: the default
//	api.example.com:443    a host of that name, and only that port
//	*.example.com          all below that name
//	10.1.0.0/16:5432       addresses
//	[fd00::7]:443          with a port, IPv6 in brackets
//	unix:/run/db.sock      a socket of this machine
//	none                   nothing, where it stands alone
//
// A name opens public addresses only, whatever it resolves to: private ones, and
// those of this machine, of links and of the metadata services of clouds, are
// open where a rule names the address or a range within the closed one. (So
// 10.0.0.0/8 opens that, and 0.0.0.0/0 opens no private address.)
type Rules struct {
	rules []rule
}

// Public opens all public addresses: the rules where none are given.
func Public() Rules { return Rules{[]rule{{public: true}}} }

// rule is one line. One of public, name, prefix and unix is set.
type rule struct {
	public bool
	name   string // "api.example.com", or ".example.com" for all below
	prefix netip.Prefix
	unix   string
	port   uint16 // 0: all
}

// Parse reads rules. None: public.
//
// Errors: [domain.ErrInvalid] naming the rule and what would be right.
func Parse(rules []string) (Rules, error) {
	if len(rules) == 0 {
		return Public(), nil
	}
	var e Rules
	if slices.Equal(rules, []string{"none"}) {
		return e, nil
	}
	for _, text := range rules {
		r, ok := parseRule(text)
		if !ok {
			return e, domain.Invalidf("egress %q: want public, none alone, a host name, *.example.com, an address, a range such as 10.1.0.0/16 (each with "+
				"or without :port), or unix:/path", domain.PlainText(text, 300))
		}
		e.rules = append(e.rules, r)
	}
	return e, nil
}

func parseRule(text string) (r rule, ok bool) {
	if path, unix := strings.CutPrefix(text, "unix:"); unix {
		return rule{unix: path}, strings.HasPrefix(path, "/")
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
	switch host {
	case "public":
		r.public = true
		return r, true
	case "none": // beside others it would be a mistake
		return r, false
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
	"::ffff:0:0:0/96",  // IPv4-translated
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

// Allows says whether the node may connect to an address that was asked for by
// a host name ("" or the address itself: by none).
func (e Rules) Allows(host string, to netip.AddrPort) bool {
	addr := to.Addr().Unmap().WithZone("")
	within, special := closedRange(addr)
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return slices.ContainsFunc(e.rules, func(r rule) bool {
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

func (r rule) named(host string) bool {
	return host == r.name || r.name[0] == '.' && strings.HasSuffix(host, r.name)
}

// AllowsUnix says the same of a socket of this machine.
func (e Rules) AllowsUnix(path string) bool {
	return slices.ContainsFunc(e.rules, func(r rule) bool { return r.unix != "" && r.unix == path })
}
