package myceliumbus

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

// answers gives each request the same answer.
type answers struct {
	status int
	body   []byte
	asked  []*url.URL
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	a.asked = append(a.asked, r.URL)
	return &http.Response{StatusCode: a.status, Body: io.NopCloser(bytes.NewReader(a.body)), Request: r, Header: http.Header{}}, nil
}

// FuzzAnswer: whatever listens in place of a daemon, what it says is taken for a
// key, a parcel or a place in the queue only where it is one, and little of it is
// kept.
func FuzzAnswer(f *testing.F) {
	key := strings.Repeat("ab", 32)
	payload := base64.StdEncoding.EncodeToString([]byte("parcel"))
	for _, s := range []string{"", "{}", `{"nodePubkey":"` + key + `"}`, `{"nodePubkey":"` + strings.ToUpper(key) + `"}`,
		`{"id":"0123456789abcdef"}`, `{"id":"../../admin?x=1"}`, `{"id":"a b"}`, `{"id":7}`,
		`{"srcPk":"` + key + `","payload":"` + payload + `"}`, `{"srcPk":"x","payload":"` + payload + `"}`, `{"payload":"%"}`, `{"payload":null}`,
		`{"state":"pending"}`, `{"state":{"sending":{"pending":1}}}`,
		"[]", "null", "<html>", `{"id":"` + strings.Repeat("a", 100) + `"}`} {
		for _, status := range []int{200, 201, 204, 404, 302} {
			f.Add(status, []byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 599 {
			return
		}
		api, err := url.Parse(defaultAPI)
		if err != nil {
			t.Fatal(err)
		}
		d := newDaemon(api, defaultTopic)
		a := &answers{status: status, body: body}
		d.client.Transport = a
		unavailable := func(what string, err error) bool {
			if err != nil && !errors.Is(err, domain.ErrUnavailable) {
				t.Errorf("%d %q: %s: got %v, want one of kind unavailable", status, body, what, err)
			}
			return err != nil
		}
		if got, err := d.key(t.Context()); !unavailable("key", err) &&
			(status != 200 || !isKey(got) || !bytes.Contains(body, []byte(got)) && !bytes.Contains(body, []byte(`\`))) {
			t.Errorf("%d %q: got the key %q", status, body, got)
		}
		id, err := d.push(t.Context(), key, []byte("x"))
		if !unavailable("push", err) {
			if status != 201 || id == "" || len(id) > 100 {
				t.Errorf("%d %q: got the id %q", status, body, id)
			}
			a.asked = nil
			_, err := d.pending(t.Context(), id)
			if unavailable("pending", err); len(a.asked) != 1 || a.asked[0].Path != "/api/v1/messages/status/"+id || a.asked[0].RawQuery != "" {
				t.Errorf("id %q is asked for at %v", id, a.asked)
			}
		}
		if l, ok, err := d.pop(t.Context()); !unavailable("pop", err) {
			if ok && (status != 200 || len(body) > maxAnswer && l.Payload != nil) || !ok && status != 204 {
				t.Errorf("%d %.100q: got %v", status, body, ok)
			}
			var plain struct{ Payload string }
			if ok && json.Unmarshal(body, &plain) == nil && len(l.Payload) > 0 {
				if want, err := base64.StdEncoding.DecodeString(plain.Payload); err != nil || !bytes.Equal(want, l.Payload) {
					t.Errorf("%q: got the parcel %q", body, l.Payload)
				}
			}
		}
	})
}

// FuzzURL: the URL of a daemon leads where it says, and to nothing but its API.
func FuzzURL(f *testing.F) {
	for _, s := range []string{"mycelium:", "mycelium:http://127.0.0.1:8989", "mycelium:https://[::1]:1/?topic=a%20b", "mycelium:http://u:hunter2@h",
		"mycelium:http://h/x", "mycelium:http://h?topic=a&topic=b",
		"mycelium:http://h?topic=a;b", "mycelium:http://h#x", "nats://h", "mycelium:http://12?hunter2@h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, where string) {
		u, topic, err := parse(where)
		if err != nil {
			if !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("%q: got %v, want one of kind invalid", where, err)
			}
			return
		}
		if u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.Hostname() == "" || topic == "" || len(topic) > maxTopic {
			t.Errorf("%q is read as %+v, topic %q", where, u, topic)
		}
		again, same, err := parse(scheme + ":" + u.String() + "?topic=" + url.QueryEscape(topic))
		if err != nil || *again != *u || same != topic {
			t.Errorf("%q is %v, topic %q, and again %v, %q, %v", where, u, topic, again, same, err)
		}
		if !strings.Contains(where, "%") && u.Host != "127.0.0.1:8989" && !strings.Contains(strings.ToLower(where), "://"+strings.ToLower(u.Host)) {
			t.Errorf("%q leads to %q", where, u.Host)
		}
		if newDaemon(u, topic).api != u.String() {
			t.Errorf("%q: the API is at %q", where, newDaemon(u, topic).api)
		}
	})
}
