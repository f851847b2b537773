package natslink

import (
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/address"
)

// Servers reads "host:4222,user:password@host:4222", the hosts of a URL that
// begins with "nats" or "tls": as URLs for the client, as names for people, and
// whether one of them holds a user or token. No error shows them.
//
// Errors: [domain.ErrInvalid].
func Servers(kind, hosts string) (servers, names string, login bool, err error) {
	// Several hosts are no URL to net/url where they have ports: it reads the
	// text with the first, and the others are looked at one by one.
	var urls, plain []string
	for host := range strings.SplitSeq(hosts, ",") {
		u, _, err := address.Parse(kind + "://" + host)
		if err != nil || u.Hostname() == "" || u.Path != "" || u.RawQuery != "" {
			return "", "", false, domain.Invalidf("NATS URL: a host is missing or malformed; want %s://host:4222", kind)
		}
		urls, plain = append(urls, u.String()), append(plain, u.Host)
		login = login || u.User != nil
	}
	return strings.Join(urls, ","), strings.Join(plain, ","), login, nil
}
