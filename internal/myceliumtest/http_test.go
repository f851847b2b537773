package myceliumtest_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/internal/myceliumtest"
)

// call makes one call and returns status and body.
func call(t *testing.T, method, where, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, where, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// fields reads a JSON object.
func fields(t *testing.T, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("got %q, want an object", text)
	}
	return m
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// pushBody is a message to a daemon.
func pushBody(to *myceliumtest.Daemon, topic, payload string) string {
	if topic != "" {
		topic = fmt.Sprintf(`"topic":%q,`, b64(topic))
	}
	return fmt.Sprintf(`{"dst":{"pk":%q},%s"payload":%q}`, to.Key(), topic, b64(payload))
}

func push(t *testing.T, from, to *myceliumtest.Daemon, topic, payload string) string {
	t.Helper()
	status, text := call(t, "POST", from.URL()+"/api/v1/messages", pushBody(to, topic, payload))
	if status != http.StatusCreated {
		t.Fatalf("push: got %d %s", status, text)
	}
	return fields(t, text)["id"].(string)
}

// pop returns the payload of the next message, "-" when there is none.
func pop(t *testing.T, at *myceliumtest.Daemon, query string) string {
	t.Helper()
	status, text := call(t, "GET", at.URL()+"/api/v1/messages"+query, "")
	if status == http.StatusNoContent && text == "" {
		return "-"
	}
	if status != http.StatusOK {
		t.Fatalf("pop: got %d %s", status, text)
	}
	raw, err := base64.StdEncoding.DecodeString(fields(t, text)["payload"].(string))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// state is the state of an outbound message as JSON, "404" when there is none.
func state(t *testing.T, at *myceliumtest.Daemon, id string) string {
	t.Helper()
	status, text := call(t, "GET", at.URL()+"/api/v1/messages/status/"+id, "")
	if status != http.StatusOK {
		return fmt.Sprint(status)
	}
	word, err := json.Marshal(fields(t, text)["state"])
	if err != nil {
		t.Fatal(err)
	}
	return string(word)
}

func two(t *testing.T) (*myceliumtest.Network, *myceliumtest.Daemon, *myceliumtest.Daemon) {
	n := myceliumtest.NewNetwork()
	return n, n.Start(t), n.Start(t)
}

func TestMessageFields(t *testing.T) {
	_, a, b := two(t)
	id := push(t, a, b, "t/+", "hi")
	status, text := call(t, "GET", b.URL()+"/api/v1/messages", "")
	want := fmt.Sprintf(`{"id":%q,"srcIp":%q,"srcPk":%q,"dstIp":%q,"dstPk":%q,"topic":"dC8r","payload":"aGk="}`,
		id, a.Address(), a.Key(), b.Address(), b.Key())
	if status != 200 || text != want {
		t.Errorf("got %d %s\nwant %s", status, text, want)
	}
	push(t, a, b, "", "")
	if _, text = call(t, "GET", b.URL()+"/api/v1/messages", ""); strings.Contains(text, "topic") || !strings.Contains(text, `"payload":""`) {
		t.Errorf("got %s, want an empty payload and no topic", text)
	}
}

func TestPush(t *testing.T) {
	_, a, b := two(t)
	dst := fmt.Sprintf(`{"pk":%q}`, b.Key())
	for _, c := range []struct {
		name, query, body string
		want              int
	}{
		{name: "to a key", body: `{"dst":` + dst + `,"payload":""}`, want: 201},
		{name: "to a key in capitals", body: fmt.Sprintf(`{"dst":{"pk":%q},"payload":""}`, strings.ToUpper(b.Key())), want: 201},
		{name: "to an address", body: fmt.Sprintf(`{"dst":{"ip":%q},"payload":"YQ=="}`, b.Address()), want: 201},
		{name: "to IPv4, which never goes", body: `{"dst":{"ip":"10.0.0.1"},"payload":"YQ=="}`, want: 201},
		{name: "what is not known is passed over", body: `{"dst":` + dst + `,"payload":"","x":1}`, want: 201},
		{name: "a topic that is null", body: `{"dst":` + dst + `,"payload":"","topic":null}`, want: 201},
		{name: "a topic of 255 bytes", body: fmt.Sprintf(`{"dst":%s,"payload":"","topic":%q}`, dst, b64(strings.Repeat("t", 255))), want: 201},
		{name: "a topic of 256 bytes", body: fmt.Sprintf(`{"dst":%s,"payload":"","topic":%q}`, dst, b64(strings.Repeat("t", 256))), want: 400},
		{name: "no JSON", body: `{"dst":`, want: 400},
		{name: "no object", body: `[]`, want: 422},
		{name: "no dst", body: `{"payload":""}`, want: 422},
		{name: "no payload", body: `{"dst":` + dst + `}`, want: 422},
		{name: "a dst of another kind", body: `{"dst":{"name":"b"},"payload":""}`, want: 422},
		{name: "two dsts", body: fmt.Sprintf(`{"dst":{"ip":%q,"pk":%q},"payload":""}`, b.Address(), b.Key()), want: 400},
		{name: "a short key", body: `{"dst":{"pk":"ab"},"payload":""}`, want: 422},
		{name: "an address with a zone", body: `{"dst":{"ip":"fe80::1%lo"},"payload":""}`, want: 422},
		{name: "base64 without padding", body: `{"dst":` + dst + `,"payload":"YQ"}`, want: 422},
		{name: "base64 for URLs", body: `{"dst":` + dst + `,"payload":"_-8="}`, want: 422},
		{name: "base64 in lines", body: `{"dst":` + dst + `,"payload":"YQ\n=="}`, want: 422},
		{name: "a wait of no number", query: "?reply_timeout=x", body: `{"dst":` + dst + `,"payload":""}`, want: 400},
		{name: "no time to wait for a reply", query: "?reply_timeout=0", body: `{"dst":` + dst + `,"payload":""}`, want: 408},
		{name: "just within 2 MiB", body: pad(`{"dst":`+dst+`,"payload":"%s"}`, 2<<20), want: 201},
		{name: "just over 2 MiB", body: pad(`{"dst":`+dst+`,"payload":"%s"}`, 2<<20+4), want: 413},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, text := call(t, "POST", a.URL()+"/api/v1/messages"+c.query, c.body)
			if got != c.want {
				t.Errorf("got %d %s, want %d", got, text, c.want)
			}
			if (got == 201 || got == 408) != (len(text) == len(`{"id":"0123456789abcdef"}`)) {
				t.Errorf("got the body %s", text)
			}
		})
	}
	resp, err := http.Post(a.URL()+"/api/v1/messages", "text/plain", strings.NewReader(pushBody(b, "", "")))
	if err != nil || resp.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("as text: got %v, %v, want 415", resp, err)
	}
	resp.Body.Close()
}

// pad fills the payload of a body up to a size of about so many bytes.
func pad(format string, size int) string {
	room := (size - len(format) + len("%s")) / 4 * 4
	return fmt.Sprintf(format, strings.Repeat("A", room))
}

func TestPopTakesTheTopicThatIsEqual(t *testing.T) {
	_, a, b := two(t)
	topic := func(s string) string { return "?topic=" + url.QueryEscape(b64(s)) }
	push(t, a, b, "orders", "1")
	push(t, a, b, "", "2")
	push(t, a, b, "orders.eu", "3")
	var got []string
	for _, query := range []string{topic("order"), topic("orders.eu"), topic(""), topic(""), "", ""} {
		got = append(got, pop(t, b, query))
	}
	if diff := cmp.Diff([]string{"-", "3", "2", "-", "1", "-"}, got); diff != "" {
		t.Error(diff)
	}
	for _, query := range []string{"?topic=YQ", "?topic=+++=", "?peek=1", "?timeout=-1", "?timeout=x"} {
		if status, _ := call(t, "GET", b.URL()+"/api/v1/messages"+query, ""); status != 400 {
			t.Errorf("%s: got %d, want 400", query, status)
		}
	}
}

func TestPeekLeavesTheMessageAndMarksItRead(t *testing.T) {
	_, a, b := two(t)
	id := push(t, a, b, "", "x")
	before := state(t, a, id)
	got := []string{before, pop(t, b, "?peek=true"), state(t, a, id), pop(t, b, "?peek=true"), pop(t, b, "?peek=false"), pop(t, b, "")}
	if diff := cmp.Diff([]string{`"received"`, "x", `"read"`, "x", "x", "-"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestStatus(t *testing.T) {
	n, a, b := two(t)
	n.Cut(a, b)
	id := push(t, a, b, "", strings.Repeat("x", 3000))
	status, text := call(t, "GET", a.URL()+"/api/v1/messages/status/"+strings.ToUpper(id), "")
	got := fields(t, text)
	if status != 200 || got["dst"] != b.Address().String() || got["state"] != "pending" || got["msgLen"] != 3000.0 {
		t.Errorf("got %d %s", status, text)
	}
	if life := got["deadline"].(float64) - got["created"].(float64); life != 300 {
		t.Errorf("got a window of %v s, want 300", life)
	}
	n.Heal(a, b)
	if got := state(t, a, id); got != `"received"` {
		t.Errorf("healed: got %s", got)
	}
	for _, path := range []string{"0011223344556677", "xy", "00112233445566"} {
		want := map[bool]string{true: "404", false: "400"}[len(path) == 16]
		if got := state(t, a, path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

func TestWhatCannotBeSentIsAbortedAndForgotten(t *testing.T) {
	n, a, b := two(t)
	n.Cut(a, b)
	id := push(t, a, b, "", "x")
	n.Advance(299 * time.Second)
	got := []string{state(t, a, id)}
	n.Advance(time.Second)
	got = append(got, state(t, a, id))
	n.Heal(a, b)
	got = append(got, pop(t, b, ""), state(t, a, id))
	n.Advance(300 * time.Second)
	got = append(got, state(t, a, id))
	if diff := cmp.Diff([]string{`"pending"`, `"aborted"`, "-", `"aborted"`, "404"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestALostAcknowledgementEndsAborted(t *testing.T) {
	n, a, b := two(t)
	n.SetFaults(myceliumtest.Faults{LoseAck: 1})
	id := push(t, a, b, "", strings.Repeat("x", 1301))
	got := []string{state(t, a, id), pop(t, b, "")[:1], state(t, a, id)}
	n.Advance(300 * time.Second)
	got = append(got, state(t, a, id))
	sending := `{"sending":{"acked":2,"pending":0,"sent":0}}`
	if diff := cmp.Diff([]string{sending, "x", sending, `"aborted"`}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name   string
		faults myceliumtest.Faults
		want   []string
	}{
		{name: "none", want: []string{"1", "2", "3", "-"}},
		{name: "lost by the receiver's daemon", faults: myceliumtest.Faults{Lose: 1}, want: []string{"-"}},
		{name: "doubled once popped", faults: myceliumtest.Faults{Double: 1}, want: []string{"1", "2", "3", "1", "2", "3", "-"}},
		{name: "the last first", faults: myceliumtest.Faults{Reorder: 1}, want: []string{"3", "2", "1", "-"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, a, b := two(t)
			n.SetFaults(c.faults)
			for _, payload := range []string{"1", "2", "3"} {
				if got := state(t, a, push(t, a, b, "", payload)); got != `"received"` {
					t.Errorf("got state %s", got)
				}
			}
			var got []string
			for len(got) == 0 || got[len(got)-1] != "-" {
				got = append(got, pop(t, b, ""))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("delayed", func(t *testing.T) {
		n, a, b := two(t)
		n.SetFaults(myceliumtest.Faults{Delay: 20 * time.Millisecond, Seed: 1})
		var got []string
		for i := range 20 {
			push(t, a, b, "", fmt.Sprint(i))
		}
		for range 20 {
			got = append(got, pop(t, b, "?timeout=5"))
		}
		if slices.Contains(got, "-") {
			t.Errorf("got %v, want all 20", got)
		}
	})
	t.Run("an answer that is lost", func(t *testing.T) {
		n, a, b := two(t)
		n.SetFaults(myceliumtest.Faults{LoseAnswer: 1})
		resp, err := http.Post(a.URL()+"/api/v1/messages", "application/json", strings.NewReader(pushBody(b, "", "x")))
		if err == nil {
			resp.Body.Close()
			t.Errorf("got %s, want no answer", resp.Status)
		}
		n.SetFaults(myceliumtest.Faults{})
		if got := pop(t, b, ""); got != "x" {
			t.Errorf("got %q, want the message all the same", got)
		}
	})
}

func TestReplies(t *testing.T) {
	n, a, b := two(t)
	answer := func(id, payload string) {
		t.Helper()
		// The topic of a reply is ignored.
		if status, text := call(t, "POST", b.URL()+"/api/v1/messages/reply/"+id, pushBody(a, "t", payload)); status != 204 || text != "" {
			t.Errorf("reply: got %d %s", status, text)
		}
	}
	t.Run("who waits gets it", func(t *testing.T) {
		done := make(chan string, 1)
		go func() {
			resp, err := http.Post(a.URL()+"/api/v1/messages?reply_timeout=60", "application/json", strings.NewReader(pushBody(b, "t", "ping")))
			if err != nil {
				done <- err.Error()
				return
			}
			defer resp.Body.Close()
			text, _ := io.ReadAll(resp.Body)
			done <- fmt.Sprint(resp.StatusCode, " ", string(text))
		}()
		_, text := call(t, "GET", b.URL()+"/api/v1/messages?timeout=60", "")
		id := fields(t, text)["id"].(string)
		answer(id, "pong")
		got := <-done
		if !strings.HasPrefix(got, `200 {"id":"`+id) || !strings.Contains(got, b64("pong")) || strings.Contains(got, "topic") {
			t.Errorf("got %s", got)
		}
		if got := state(t, b, id); got != `"received"` {
			t.Errorf("at the replier: got %s", got)
		}
	})
	t.Run("one that comes late lies in the inbox without a topic", func(t *testing.T) {
		id := push(t, a, b, "t", "ping")
		pop(t, b, "")
		answer(id, "pong")
		got := []string{pop(t, a, "?topic="+url.QueryEscape(b64("t"))), pop(t, a, "")}
		if diff := cmp.Diff([]string{"-", "pong"}, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("to nothing", func(t *testing.T) {
		answer("0011223344556677", "what?")
		if got := pop(t, a, ""); got != "what?" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("no rule holds it up", func(t *testing.T) {
		call(t, "PUT", a.URL()+"/api/v1/messages/topics/default", `{"accept":false}`)
		answer("0011223344556688", "in")
		if got := pop(t, a, ""); got != "in" {
			t.Errorf("got %q", got)
		}
	})
	_ = n
}

func TestAWaitingPopHoldsUpEverything(t *testing.T) {
	_, a, b := two(t)
	waiting := make(chan string, 1)
	go func() {
		resp, err := http.Get(a.URL() + "/api/v1/messages?timeout=600")
		if err != nil {
			waiting <- err.Error()
			return
		}
		resp.Body.Close()
		waiting <- resp.Status
	}()
	for !slices.Contains(a.Requests(), "GET /api/v1/messages?timeout=600") {
		runtime.Gosched()
	}
	pushed := make(chan int, 1)
	go func() {
		resp, err := http.Post(a.URL()+"/api/v1/messages", "application/json", strings.NewReader(pushBody(b, "", "x")))
		if err != nil {
			pushed <- 0
			return
		}
		resp.Body.Close()
		pushed <- resp.StatusCode
	}()
	select {
	case status := <-pushed:
		t.Fatalf("got %d while a pop waits, want no answer", status)
	case <-time.After(50 * time.Millisecond):
	}
	push(t, b, a, "", "wake up") // b is another daemon
	if got := <-waiting; got != "200 OK" {
		t.Errorf("got %s", got)
	}
	if got := <-pushed; got != http.StatusCreated {
		t.Errorf("got %d", got)
	}
}

func TestARestartLosesWhatWasThere(t *testing.T) {
	n, a, b := two(t)
	n.Cut(a, b)
	out := push(t, a, b, "", "out")
	push(t, a, a, "", "in")
	a.Stop()
	if _, err := http.Get(a.URL() + "/api/v1/admin"); err == nil {
		t.Error("a stopped daemon answers")
	}
	if err := a.Start(); err != nil {
		t.Fatal(err)
	}
	n.Heal(a, b)
	got := []string{state(t, a, out), pop(t, a, ""), pop(t, b, "")}
	push(t, a, b, "", "new")
	got = append(got, pop(t, b, ""))
	if diff := cmp.Diff([]string{"404", "-", "-", "new"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestADaemonThatIsAwayGetsItLater(t *testing.T) {
	_, a, b := two(t)
	b.Stop()
	id := push(t, a, b, "", "x")
	before := state(t, a, id)
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`"pending"`, "x"}, []string{before, pop(t, b, "")}); diff != "" {
		t.Error(diff)
	}
}

func TestTopics(t *testing.T) {
	_, a, b := two(t)
	base := b.URL() + "/api/v1/messages/topics"
	coded := url.PathEscape(b64("t??")) // has a slash in base64
	if !strings.Contains(b64("t??"), "/") {
		t.Fatalf("%s has no slash", b64("t??"))
	}
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"everything is let in", "GET", "/default", "", 200, `{"accept":true}`},
		{"none is configured", "GET", "", "", 200, `[]`},
		{"a topic is no string", "POST", "", `"dD8/"`, 422, ""},
		{"a topic is an array of bytes", "POST", "", `[116,63,63]`, 201, ""},
		{"and no more than bytes", "POST", "", `[256]`, 422, ""},
		{"it is listed in base64", "GET", "", "", 200, `["` + b64("t??") + `"]`},
		{"without sources", "GET", "/" + coded + "/sources", "", 200, `[]`},
		{"an unknown one has none", "GET", "/YQ==/sources", "", 404, ""},
		{"a topic is base64", "GET", "/a/sources", "", 400, ""},
		{"a subnet may send", "POST", "/YQ==/sources", fmt.Sprintf(`{"subnet":"%s/64"}`, a.Address()), 201, ""},
		{"which made the topic", "GET", "/YQ==/forward", "", 200, `null`},
		{"a socket for an unknown topic is forgotten", "PUT", "/Yg==/forward", `{"socketPath":"/x"}`, 204, ""},
		{"as can be seen", "GET", "/Yg==/forward", "", 200, `null`},
		{"the name of api.yaml is not taken", "PUT", "/YQ==/forward", `{"socket_path":"/x"}`, 422, ""},
		{"a socket for a known one is kept", "PUT", "/YQ==/forward", `{"socketPath":"/x"}`, 204, ""},
		{"and shown", "GET", "/YQ==/forward", "", 200, `"/x"`},
		{"and removed", "DELETE", "/YQ==/forward", "", 204, ""},
		{"a topic is removed", "DELETE", "/YQ==", "", 204, ""},
		{"which is no base64", "DELETE", "/a", "", 400, ""},
		{"nothing more is let in", "PUT", "/default", `{"accept":false}`, 204, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, text := call(t, c.method, base+c.path, c.body)
			if status != c.status || c.want != "" && text != c.want {
				t.Errorf("got %d %s, want %d %s", status, text, c.status, c.want)
			}
		})
	}
	id := push(t, a, b, "t??", "x")
	got := []string{state(t, a, id), pop(t, b, "")}
	source := url.PathEscape(a.Address().String() + "/128")
	call(t, "POST", base+"/"+coded+"/sources", fmt.Sprintf(`{"subnet":%q}`, a.Address().String()+"/128"))
	got = append(got, state(t, a, id), pop(t, b, ""))
	call(t, "DELETE", base+"/"+coded+"/sources/"+source, "")
	push(t, a, b, "t??", "y")
	got = append(got, pop(t, b, ""))
	if diff := cmp.Diff([]string{`"pending"`, "-", `"received"`, "x", "-"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestForwardSockets(t *testing.T) {
	_, a, b := two(t)
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Skipf("no sockets here: %v", err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			text := make([]byte, 64)
			n, _ := conn.Read(text)
			if !bytes.Equal(text[:n], []byte("silence")) {
				fmt.Fprintf(conn, "<%s>", text[:n])
			}
			conn.Close()
		}
	}()
	topic := "/api/v1/messages/topics/" + b64("t")
	call(t, "POST", b.URL()+topic+"/sources", `{"subnet":"400::/7"}`)
	call(t, "PUT", b.URL()+topic+"/forward", fmt.Sprintf(`{"socketPath":%q}`, path))
	if status, text := call(t, "POST", a.URL()+"/api/v1/messages?reply_timeout=60", pushBody(b, "t", "x")); status != 200 ||
		fields(t, text)["payload"] != b64("<x>") {
		t.Errorf("got %d %s", status, text)
	}
	push(t, a, b, "t", "silence")
	if got := pop(t, b, "?timeout=60"); got != "silence" {
		t.Errorf("no answer: got %q, want it in the inbox", got)
	}
	call(t, "PUT", b.URL()+topic+"/forward", `{"socketPath":"/none"}`)
	push(t, a, b, "t", "y")
	if got := pop(t, b, "?timeout=60"); got != "y" {
		t.Errorf("no socket: got %q, want it in the inbox", got)
	}
}

func TestAdmin(t *testing.T) {
	n, a, b := two(t)
	status, text := call(t, "GET", a.URL()+"/api/v1/admin", "")
	got := fields(t, text)
	if status != 200 || got["nodePubkey"] != a.Key() || got["nodeIp"] != a.Address().String() ||
		!strings.HasSuffix(got["nodeSubnet"].(string), "::/64") || got["nodeStartTime"].(float64) < 1e9 {
		t.Errorf("got %d %s", status, text)
	}
	subnet := strings.TrimSuffix(fields(t, second(call(t, "GET", b.URL()+"/api/v1/admin", "")))["nodeSubnet"].(string), "/64")
	for _, c := range []struct {
		name, method, path, body, want string
	}{
		{"the key behind any address of a node", "GET", "/pubkey/" + subnet + "7", "", `200 {"publicKey":"` + b.Key() + `"}`},
		{"one's own", "GET", "/pubkey/" + a.Address().String(), "", `200 {"publicKey":"` + a.Key() + `"}`},
		{"of nobody", "GET", "/pubkey/400::1", "", "404 "},
		{"of no address", "GET", "/pubkey/x", "", "400 Invalid URL: invalid IP address syntax"},
		{"no peers", "GET", "/admin/peers", "", "200 []"},
		{"a peer", "POST", "/admin/peers", `{"endpoint":"tcp://127.0.0.1:1"}`, "204 "},
		{"the same peer", "POST", "/admin/peers", `{"endpoint":"TCP://127.0.0.1:1"}`, "409 A peer identified by that endpoint already exists"},
		{"a peer without a protocol", "POST", "/admin/peers", `{"endpoint":"127.0.0.1:1"}`, "400 missing leading protocol identifier"},
		{"a peer of another protocol", "POST", "/admin/peers", `{"endpoint":"udp://127.0.0.1:1"}`, "400 protocol for endpoint is not supported"},
		{"a peer by name", "POST", "/admin/peers", `{"endpoint":"tcp://localhost:1"}`, "400 failed to parse address: invalid socket address syntax"},
		{"the peer is listed", "GET", "/admin/peers", "",
			`200 [{"endpoint":{"proto":"tcp","socketAddr":"127.0.0.1:1"},"type":"static","connectionState":"connecting","txBytes":0,"rxBytes":0}]`},
		{"the peer goes", "DELETE", "/admin/peers/" + url.PathEscape("tcp://127.0.0.1:1"), "", "204 "},
		{"and is gone", "DELETE", "/admin/peers/" + url.PathEscape("tcp://127.0.0.1:1"), "", "404 A peer identified by that endpoint does not exist"},
		{"routes", "GET", "/admin/routes/selected", "", `200 [{"subnet":"` + subnet + `/64","nextHop":"in process","metric":1,"seqno":0}]`},
		{"fallback routes", "GET", "/admin/routes/fallback", "", "200 []"},
		{"another path", "GET", "/nothing", "", "404 404 page not found\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, text := call(t, c.method, a.URL()+"/api/v1"+c.path, c.body)
			if got := fmt.Sprint(status, " ", text); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	n.Cut(a, b)
	if status, _ := call(t, "GET", a.URL()+"/api/v1/pubkey/"+b.Address().String(), ""); status != 404 {
		t.Errorf("of a node that cannot be reached: got %d, want 404", status)
	}
}

func second(_ int, s string) string { return s }
