package domain

import (
	"net/url"
	"regexp"
	"strings"
)

// secretName is a parameter whose value nobody may read, as password= in a URL.
// Names of files (token_file, passfile) are none.
var secretName = regexp.MustCompile(`(?i)^[a-z_-]*(?:password|passwd|passphrase|pwd|token|secret|api[_-]?key)$`)

// parameter is one in a URL, wherever that is; a name may be escaped.
var parameter = regexp.MustCompile(`([?&])([^?&=]*)=([^&]+)`)

// shownHead is what may stand before the :// of a URL, with a flag: a scheme, one
// in another as in mycelium:http, or nats: whose parameters have the URL. Anything
// else may be a login whose scheme was forgotten.
var shownHead = regexp.MustCompile(`(?is)^(?:--?[a-z-]+=)?(?:[a-z][a-z0-9+.-]*|[a-z]+:https?|nats:\?.*)$`)

// shownScheme begins a URL that may be escaped.
var shownScheme = regexp.MustCompile(`(?i)^[a-z][a-z0-9+.-]*(?::|%3a)(?:/|%2f){2}`)

// escapedAt is an escaped @.
const escapedAt = "%40"

// hidden stands for what nobody may read.
const hidden = "…"

// HideURL is the URL for people to read: without user, password or token before
// the host, and without the values of parameters that name a secret. It takes
// what is no URL too, for mistakes are shown, and rather hides too much: all
// from the scheme, or else the beginning, to the last @ may be a password that
// was not escaped. @FILE, which names a file, stays. What it returns it leaves as
// it is.
func HideURL(text string) string {
	at := strings.LastIndexByte(text, '@')
	if at > 0 {
		head, _, found := strings.Cut(text[:at], "://")
		switch {
		case found && shownHead.MatchString(head):
			text = head + "://" + hidden + text[at:]
		default:
			text = hidden + text[at:]
		}
	} else if at < 0 {
		// Somebody escaped the @ of the login, too.
		head, rest, found := strings.Cut(text, "?")
		text = hideEscaped(head)
		if found {
			text += "?" + rest
		}
	}
	return parameter.ReplaceAllStringFunc(text, hideParameter)
}

// hideParameter is one parameter for people to read. Its value may be a URL.
func hideParameter(text string) string {
	m := parameter.FindStringSubmatch(text)
	mark, name, value := m[1], m[2], m[3]
	if plain, err := url.QueryUnescape(name); err != nil || secretName.MatchString(plain) {
		return mark + name + "=" + hidden
	}
	return mark + name + "=" + hideEscaped(value)
}

// hideEscaped is a text without what stands between its scheme, or its beginning,
// and its last escaped @.
func hideEscaped(text string) string {
	last := strings.LastIndex(text, escapedAt)
	if last < 0 {
		return text
	}
	return shownScheme.FindString(text[:last]) + hidden + text[last:]
}

// ShowArgument is an argument of a command line for others to see.
func ShowArgument(arg string) string {
	if HasSecret(arg) {
		return HideURL(arg)
	}
	return arg
}

// HasSecret reports whether a text is or has a URL that HideURL changes.
func HasSecret(text string) bool {
	return (strings.Contains(text, "://") || strings.Contains(text, "?") || strings.Contains(text, "&")) && HideURL(text) != text
}
