package smtpeffect_test

import (
	"encoding/json"
	"fmt"
	"mime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAMailIsWhatThePayloadSays(t *testing.T) {
	s := newServer(t)
	p := open(t, s, nil)
	answer, err := send(t, p, `{
		"to": "Ada Lovelace <ada@example.com>", "cc": ["bob@example.org", "ada@example.com"], "bcc": ["eve@example.net"], "reply_to": "Help <help@example.com>",
		"subject": "Größe: 5 €", "text": "Plain text\n.\nafter a dot", "html": "<p>Größe</p>",
		"attachments": [{"name": "bill.csv", "type": "text/csv", "content": "YTtiCg=="}, {"name": "größe.txt", "text": "hi"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		MessageID  string `json:"message_id"`
		Recipients int
		Response   string
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		t.Fatal(err)
	}
	const id = "<018f5b1e-0000-7000-8000-000000000001@example.com>"
	if got.MessageID != id || got.Recipients != 3 || !strings.Contains(got.Response, "queued") {
		t.Errorf("got the answer %s", answer)
	}
	l := s.all()[0]
	if l.from != "shop@example.com" {
		t.Errorf("got it from %q", l.from)
	}
	if diff := cmp.Diff([]string{"ada@example.com", "bob@example.org", "eve@example.net"}, l.to); diff != "" {
		t.Errorf("recipients (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{
		"From": `"Shop" <shop@example.com>`, "To": `"Ada Lovelace" <ada@example.com>`, "Cc": "<bob@example.org>, <ada@example.com>", "Bcc": "",
		"Reply-To": `"Help" <help@example.com>`, "Message-Id": id, "Subject": "Größe: 5 €", "Auto-Submitted": "auto-generated", "X-Tenant": "", "User-Agent": "",
	} {
		text, err := new(mime.WordDecoder).DecodeHeader(l.msg.Header.Get(name))
		if err != nil || text != want {
			t.Errorf("header %s: got %q, %v, want %q", name, text, err, want)
		}
	}
	for _, want := range []string{"Plain text\r\n.\r\nafter a dot", "<p>Gr=C3=B6=C3=9Fe</p>", "YTtiCg==", `filename="bill.csv"`, "Content-Type: text/csv"} {
		if !strings.Contains(l.body, want) {
			t.Errorf("the body has no %q:\n%s", want, l.body)
		}
	}
	if strings.Contains(l.raw, "eve@") {
		t.Error("the mail shows a hidden recipient")
	}
}

func TestHostilePayloadsAreRefused(t *testing.T) {
	s := newServer(t)
	p := open(t, s, map[string]any{"recipient_domains": []string{"example.com", "*.example.org"}, "max_recipients": 3, "max_bytes": 100_000})
	for _, tc := range []struct{ name, payload, want string }{
		{"a line break in the subject", `{"to":"a@example.com","subject":"x\r\nBcc: eve@example.com"}`, "the subject is not one line"},
		{"a line break of Unicode", `{"to":"a@example.com","subject":"x\u2028y"}`, "the subject is not one line"},
		{"a line feed in an address", `{"to":"a@example.com\nRCPT TO:<eve@evil.test>"}`, "an address is not one line"},
		{"a line feed in a name", `{"to":"\"A\r\nBcc: eve@evil.test\" <a@example.com>"}`, "an address is not one line"},
		{"a line feed in a hidden address", `{"bcc":["a@example.com\r\nDATA"]}`, "an address is not one line"},
		{"a line feed in the reply address", `{"to":"a@example.com","reply_to":"b@example.com\r\nX: y"}`, "an address is not one line"},
		{"two addresses in one", `{"to":"a@example.com, eve@example.com"}`, "is no address"},
		{"an address in quotes", `{"to":"\"a b\"@example.com"}`, "is no address"},
		{"an address that would end its brackets", `{"to":"<a@example.com> NOTIFY=NEVER"}`, "is no address"},
		{"an address with a comment", `{"to":"a@example.com(@evil.test)"}`, ""},
		{"an address by number", `{"to":"a@[127.0.0.1]"}`, "is no address"},
		{"a domain that is not allowed", `{"to":"a@evil.test"}`, `does not let this effect write to "a@evil.test"`},
		{"a domain that ends like an allowed one", `{"to":"a@notexample.com"}`, "does not let this effect write to"},
		{"the domain itself where all under it are allowed", `{"to":"a@example.org"}`, "does not let this effect write to"},
		{"a hidden one that is not allowed", `{"to":"a@example.com","bcc":"a@evil.test"}`, "does not let this effect write to"},
		{"a sender of its own", `{"to":"a@example.com","from":"ceo@example.com"}`, "does not let this effect write from"},
		{"too many", `{"to":["a@example.com","b@example.com","c@example.com","d@a.example.org"]}`, "to too many"},
		{"nobody", `{"subject":"x"}`, "to nobody"},
		{"a field that there is not", `{"to":"a@example.com","headers":{"X":"y"}}`, "unknown field"},
		{"two objects", `{"to":"a@example.com"}{"to":"b@example.com"}`, "something after"},
		{"a path as the name of a file", `{"to":"a@example.com","attachments":[{"name":"../x","text":"y"}]}`, "wants a name"},
		{"a line feed in the name of a file", `{"to":"a@example.com","attachments":[{"name":"a\r\nX: y","text":"y"}]}`, "wants a name"},
		{"a header in the type of a file", `{"to":"a@example.com","attachments":[{"name":"a","type":"text/csv\r\nX: y","text":"y"}]}`, "not a media type"},
		{"a mail that is too large", `{"to":"a@example.com","text":"` + strings.Repeat("x", 100_000) + `"}`, "too large"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := send(t, p, tc.payload)
			if tc.want == "" { // read as an address without the comment
				if err != nil {
					t.Fatal(err)
				}
				l := s.all()
				if got := l[len(l)-1].to; !cmp.Equal(got, []string{"a@example.com"}) {
					t.Errorf("got it to %q", got)
				}
				return
			}
			if no := refusal(t, err); !strings.Contains(no.Cause, tc.want) {
				t.Errorf("got %q, want %q in it", no.Cause, tc.want)
			}
		})
	}
}

func TestTheOperatorDecides(t *testing.T) {
	s := newServer(t)
	p := open(t, s, map[string]any{"to": "ops@example.com", "subject": "Alarm", "from": []string{"a@example.com", "B <b@example.com>"}})
	for _, payload := range []string{`{"to":"x@example.com"}`, `{"bcc":"x@example.com"}`, `{"subject":"x"}`} {
		_, err := send(t, p, payload)
		if no := refusal(t, err); !strings.Contains(no.Cause, "the operator's decision") {
			t.Errorf("%s: got %q", payload, no.Cause)
		}
	}
	if _, err := send(t, p, `{"text":"it burns","from":"Somebody else <B@example.com>"}`); err != nil {
		t.Fatal(err)
	}
	l := s.all()[0]
	if got, want := l.msg.Header.Get("From"), `"B" <b@example.com>`; got != want {
		t.Errorf("got it from %s, want %s: the operator's name", got, want)
	}
	if got := fmt.Sprint(l.to, l.msg.Header.Get("Subject")); got != "[ops@example.com]Alarm" {
		t.Errorf("got %s", got)
	}
}

func TestACommandIDThatIsNoMessageIDIsHashed(t *testing.T) {
	s := newServer(t)
	p := open(t, s, nil)
	for _, id := range []string{"a>b", "a..b", "a@b", "<script>"} {
		call := callOf(order)
		call.CommandID = id
		for range 2 {
			if _, err := p.Do(t.Context(), call); err != nil {
				t.Fatal(err)
			}
		}
		l := s.all()
		first, second := key(l[len(l)-2].msg), key(l[len(l)-1].msg)
		if first != second || len(first) != 64 {
			t.Errorf("%s: got %q and %q, want one hash", id, first, second)
		}
	}
}

func FuzzPayload(f *testing.F) {
	f.Add(order)
	f.Add(`{"to":["a <a@example.com>"],"subject":"=?utf-8?q?x?=","attachments":[{"name":"a","text":"b"}]}`)
	s := newServer(f)
	p := open(f, s, map[string]any{"recipient_domains": []string{"example.com"}})
	f.Fuzz(func(t *testing.T, payload string) {
		before := len(s.all())
		if _, err := p.Do(t.Context(), callOf(payload)); err != nil {
			refusal(t, err)
			return
		}
		for _, l := range s.all()[before:] {
			for _, to := range l.to {
				if !strings.HasSuffix(strings.ToLower(to), "@example.com") {
					t.Errorf("it went to %q", to)
				}
			}
			for name := range l.msg.Header {
				if !strings.Contains(" Message-Id From To Cc Reply-To Subject Date Mime-Version Content-Type Content-Transfer-Encoding Content-Disposition "+
					"Auto-Submitted ", " "+name+" ") {
					t.Errorf("it has the header %q", name)
				}
			}
		}
	})
}
