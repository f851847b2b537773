// Package address reads the URLs of a node's parts: of boards, archives, buses and streams.
// They hold passwords that people have typed. What could be read in two ways is refused, and
// no error shows any of it but the names of parameters.
package address

import (
	"net/url"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// errUnescaped is for a URL that may end in the middle of a password.
var errUnescaped = domain.Invalidf("an @ stands behind its host; if it belongs to the login, write the password's '/' as %%2F, '?' as %%3F, '#' as %%23 " +
	"and '@' as %%40")

// Parse reads such a URL, and its parameters as [ParseParameters] does.
//
// Errors: [domain.ErrInvalid].
func Parse(text string, repeated ...string) (*url.URL, url.Values, error) {
	u, err := url.Parse(text)
	head, _, _ := strings.Cut(text, "?")
	switch {
	case err != nil:
		return nil, nil, domain.Invalidf("it is malformed")
	case u.Host != "" && u.User == nil && strings.Contains(head, "@"):
		return nil, nil, errUnescaped
	case u.Fragment != "" || strings.HasSuffix(text, "#"):
		return nil, nil, domain.Invalidf("it has a '#'; if it belongs to a password, write it as %%23")
	}
	q, err := ParseParameters(u.RawQuery, repeated...)
	if err != nil {
		return nil, nil, err
	}
	return u, q, nil
}

// ParseHosts is [Parse] for one that may name several servers, with commas
// between their hosts. The URL that it returns has the first.
//
// Errors: [domain.ErrInvalid].
func ParseHosts(text string, repeated ...string) (*url.URL, []string, url.Values, error) {
	scheme, rest, _ := strings.Cut(text, "://")
	login := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		login = rest[:i]
	}
	tail := rest[len(login):]
	list := login[strings.LastIndexByte(login, '@')+1:]
	login = strings.TrimSuffix(login, list)
	first, others, many := strings.Cut(list, ",")
	if !many {
		u, q, err := Parse(text, repeated...)
		if err != nil {
			return nil, nil, nil, err
		}
		return u, []string{u.Host}, q, nil
	}
	u, q, err := Parse(scheme+"://"+login+first+tail, repeated...)
	if err != nil {
		return nil, nil, nil, err
	}
	hosts := []string{u.Host}
	for host := range strings.SplitSeq(others, ",") {
		v, err := url.Parse(scheme + "://" + host)
		if err != nil || host == "" || v.Host != host {
			return nil, nil, nil, domain.Invalidf("one of its hosts is malformed")
		}
		hosts = append(hosts, host)
	}
	return u, hosts, q, nil
}

// ParseParameters reads what stands behind the '?' of such a URL. A parameter
// stands once, but for those that are listed as repeated.
//
// Errors: [domain.ErrInvalid].
func ParseParameters(query string, repeated ...string) (url.Values, error) {
	q, err := url.ParseQuery(query)
	if err != nil {
		return nil, domain.Invalidf("its parameters are malformed: want ?name=value&name=value, with what is special as %%XX")
	}
	for name, values := range q {
		switch {
		case strings.Contains(name, "@"):
			return nil, errUnescaped
		case len(values) > 1 && !slices.Contains(repeated, name):
			return nil, domain.Invalidf("its parameter %q stands twice", domain.PlainText(name, 40))
		}
	}
	return q, nil
}
