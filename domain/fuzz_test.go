package domain_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

// What people and other sites write as a name of something is refused, or it is
// that thing's one name: written anew it is the same text, so that no two texts
// name the same key.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"", "7", "7@acme", "runner:20", "job:1:7", "1:7", "message:12:101", "flow:3", "all", "7:context", "7:flow:33",
		"0:type:shell", "3.0",
		"charge-card.Succeeded", "zone=eu,disk=ssd", "07", "+7", "7:flow:033", "runner:0", "4294967296", "job:job:1:7", "a..Failed",
		"disk=ssd,disk=hdd", "=", "3.-0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		same := func(what, again string, prefix string) {
			if again != s && again != prefix+s {
				t.Errorf("%s: %q is taken, but written as %q", what, s, again)
			}
		}
		if p, err := domain.ParsePlace(s); err == nil {
			same("place", p.String(), "")
			if (p.Tenant == 0) == (p.Runner == 0) || p.Runner != 0 && p.Peer != "" {
				t.Errorf("place %q is read as %+v", s, p)
			}
		}
		if k, err := domain.ParseJobKey(s); err == nil {
			same("job", k.String(), "job:")
		}
		if k, err := domain.ParseMessageKey(s); err == nil {
			same("message", k.String(), "message:")
		}
		if id, err := domain.ParseFlowKey(s); err == nil {
			same("flow", domain.FlowKey(id), "flow:")
		}
		if id, err := domain.ParseTenantID(s); err == nil {
			same("context", strconv.FormatUint(uint64(id), 10), "")
		}
		if b, err := domain.ParseBanScope(s); err == nil {
			same("ban", b.String(), "")
			if err := b.Validate(); err != nil {
				t.Errorf("ban %q is taken, but: %v", s, err)
			}
		}
		if p, ok := domain.ParseRoutinePart(s); ok {
			same("part of a routine", p.String(), "")
		}
		if effect, r, ok := domain.ParseResultEvent(s); ok {
			same("result event", domain.ResultEvent(effect, r), "")
		}
		if l, err := domain.ParseLabels(s); err == nil {
			again, err := domain.ParseLabels(l.String())
			if err != nil || again.String() != l.String() || len(again) != strings.Count(s, ",")+1 {
				t.Errorf("labels %q are %v, and again %v, %v", s, l, again, err)
			}
		}
	})
}

// A time that is taken is the same when it is written as a number, which is how
// records and other programs have it.
func FuzzTimes(f *testing.F) {
	for _, s := range []string{"", "90", "90s", "1h30m", "-90", "2d", "1d12h", "1d-5h", "-24h", "--1s", "1.5s", "1500ms", "+5s", "1e3", "0x10",
		"4294967295s", "4294967296",
		"2562047h47m16s", "-0",
		"2026-01-31T02:00:00Z", "9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00Z", "1969-12-31T23:59:59.9999Z", "253402300799999", `"90"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if v, err := domain.ParseSpan(s); err == nil {
			if again, err := domain.ParseSpan(strconv.FormatUint(uint64(v), 10)); err != nil || again != v {
				t.Errorf("span %q is %d, and again %d, %v", s, v, again, err)
			}
			if again, err := domain.ParseSpan(v.Time().String()); err != nil || again != v {
				t.Errorf("span %q is %s, and again %d, %v", s, v.Time(), again, err)
			}
		}
		if v, err := domain.ParseOffset(s); err == nil {
			if again, err := domain.ParseOffset(strconv.FormatInt(int64(v), 10)); err != nil || again != v {
				t.Errorf("offset %q is %d, and again %d, %v", s, v, again, err)
			}
		}
		if v, err := domain.ParseInstant(s); err == nil {
			if again, err := domain.ParseInstant(strconv.FormatInt(int64(v), 10)); err != nil || again != v {
				t.Errorf("instant %q is %d, and again %d, %v", s, v, again, err)
			}
		}
	})
}

// secretNames are parameters whose values are nobody's business.
var secretNames = []string{"password", "sslpassword", "passwd", "pwd", "token", "access_token", "secret", "client_secret"}

// No text that a node could read a password in shows it to people, however wrong
// the rest is: as who logs in, or as a parameter, in a URL or in one within it.
func FuzzHideURL(f *testing.F) {
	for _, s := range []string{"redis://u:hunter2@host:6379/?tenancy=prefix", "user:hunter2@host", "nats:?listen=:4222&leaf=nats://u:hunter2@host",
		"postgres://h/d?password=hunter2&x=1",
		"nats:?token=hunter2&leaf=nats://a", "u:hunter://2@host", "nats:?leaf=nats%3A%2F%2Fu%3Ahunter2%40host", "postgres://h/d?p%61ssword=hunter2",
		"x?password=hun ter2", "x?PWD=a;b#c", "@/run/x"} {
		f.Add(s, "hunter2")
	}
	f.Fuzz(func(t *testing.T, text, secret string) {
		shown := domain.HideURL(text)
		if again := domain.HideURL(shown); again != shown {
			t.Errorf("%q is shown as %q, and that as %q", text, shown, again)
		}
		if domain.HasSecret(shown) {
			t.Errorf("%q is shown as %q, which has a secret", text, shown)
		}
		for _, hidden := range secretsIn(text) {
			if !strings.Contains(withoutSecret(text, hidden), hidden) && strings.Contains(shown, hidden) {
				t.Errorf("%q is shown as %q, with the secret %q", text, shown, hidden)
			}
		}
		// A secret put into a URL in every way that drivers take.
		if len(secret) < 4 || strings.Contains("://…", secret) {
			return
		}
		escaped := url.QueryEscape(secret)
		for _, made := range []string{
			(&url.URL{Scheme: "redis", User: url.UserPassword("u", secret), Host: "h:1", Path: "/x"}).String(),
			"postgres://h/d?a=b&password=" + escaped + "&c=d",
			"nats:?token=" + escaped + "&leaf=nats://a:7422",
			"nats:?leaf=" + url.QueryEscape("nats://u:"+url.PathEscape(secret)+"@a") + "&sync=always",
		} {
			for _, form := range []string{secret, escaped, url.PathEscape(secret)} {
				if shown := domain.HideURL(made); !strings.Contains(strings.NewReplacer(escaped, "", url.PathEscape(secret), "", secret, "").Replace(made), form) &&
					len(form) >= 4 && strings.Contains(shown, form) {
					t.Errorf("%q is shown as %q, with the secret %q", made, shown, form)
				}
			}
		}
	})
}

// withoutSecret is the rest of a text.
func withoutSecret(text, secret string) string { return strings.Replace(text, secret, "", 1) }

// secretsIn finds what Go's reader of URLs takes for a secret, as it is written.
func secretsIn(text string) (list []string) {
	add := func(s string) {
		if len(s) >= 4 && s != "…" {
			list = append(list, s)
		}
	}
	if u, err := url.Parse(text); err == nil {
		if password, ok := u.User.Password(); ok && strings.Contains(text, password) {
			add(password)
		}
	}
	_, query, _ := strings.Cut(text, "?")
	query, _, _ = strings.Cut(query, "#")
	for part := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		if name, err := url.QueryUnescape(name); err == nil {
			for _, s := range secretNames {
				if strings.EqualFold(name, s) {
					add(value)
				}
			}
		}
	}
	return list
}
