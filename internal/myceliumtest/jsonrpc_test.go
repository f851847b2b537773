package myceliumtest_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/internal/myceliumtest"
)

// rpc makes one JSON-RPC call and returns what is after the version and the id.
func rpc(t *testing.T, d *myceliumtest.Daemon, method, params string) string {
	t.Helper()
	_, text := call(t, "POST", d.RPC()+"/rpc", fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method, params))
	answer := fields(t, text)
	if answer["jsonrpc"] != "2.0" || answer["id"] != 7.0 {
		t.Errorf("%s: got %s", method, text)
	}
	if fault, ok := answer["error"].(map[string]any); ok {
		return fmt.Sprint("error ", fault["code"])
	}
	return strings.TrimSuffix(text[strings.Index(text, `"result":`)+len(`"result":`):], "}")
}

func TestJSONRPC(t *testing.T) {
	_, a, b := two(t)
	message := func(topic, payload string) string { return pushBody(b, topic, payload) }
	id := push(t, a, b, "t", "one")
	for _, c := range []struct {
		name, method, params, want string
	}{
		{"a message of HTTP is peeked", "popMessage", `[true,0,"dA=="]`, `b25l`},
		{"and marked", "getMessageInfo", `["` + id + `"]`, "error -32019"}, // b did not send it
		{"and popped", "popMessage", `[]`, `b25l`},
		{"none more", "popMessage", `[false,0]`, `null`},
		{"a filter that is no base64", "popMessage", `[null,null,"dA"]`, "error -32013"},
		{"params of another kind", "popMessage", `["yes"]`, "error -32602"},
		{"a push", "pushMessage", `[` + message("", "two") + `]`, `"id":`},
		{"a push that waits in vain looks the same", "pushMessage", `[` + message("", "three") + `,0]`, `"id":`},
		{"a topic too long", "pushMessage", `[` + message(strings.Repeat("t", 256), "") + `]`, "error -32015"},
		{"no message", "pushMessage", `[]`, "error -32602"},
		{"a message of another shape", "pushMessage", `[{"dst":1}]`, "error -32602"},
		{"a reply", "pushMessageReply", `["0011223344556677",` + message("", "r") + `]`, "true"},
		{"its state", "getMessageInfo", `["0011223344556677"]`, `"state":"received"`},
		{"a reply to no id", "pushMessageReply", `["x",` + message("", "r") + `]`, "error -32018"},
		{"the state of no id", "getMessageInfo", `["x"]`, "error -32020"},
		{"the default", "getDefaultTopicAction", `[]`, "true"},
		{"another", "setDefaultTopicAction", `[false]`, "true"},
		{"is kept", "getDefaultTopicAction", `[]`, "false"},
		{"a topic", "addTopic", `["dA=="]`, "true"},
		{"no topic", "addTopic", `["dA"]`, "error -32021"},
		{"topics", "getTopics", `[]`, `["dA=="]`},
		{"a source", "addTopicSource", `["dA==","400::/7"]`, "true"},
		{"no source", "addTopicSource", `["dA==","x"]`, "error -32023"},
		{"sources", "getTopicSources", `["dA=="]`, `["400::/7"]`},
		{"sources of nothing", "getTopicSources", `["YQ=="]`, "error -32030"},
		{"a source less", "removeTopicSource", `["dA==","400::/7"]`, "true"},
		{"a socket", "setTopicForwardSocket", `["dA==","/x"]`, "true"},
		{"the socket", "getTopicForwardSocket", `["dA=="]`, `"/x"`},
		{"no socket", "removeTopicForwardSocket", `["dA=="]`, "true"},
		{"none", "getTopicForwardSocket", `["dA=="]`, "null"},
		{"a topic less", "removeTopic", `["dA=="]`, "true"},
		{"the node", "getInfo", `[]`, `"nodePubkey":"` + b.Key()},
		{"a key", "getPublicKeyFromIp", `["` + a.Address().String() + `"]`, a.Key()},
		{"the key of nobody", "getPublicKeyFromIp", `["400::1"]`, "error -32008"},
		{"the key of no address", "getPublicKeyFromIp", `["x"]`, "error -32007"},
		{"no method", "fly", `[]`, "error -32601"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := rpc(t, b, c.method, c.params); !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	if got := state(t, a, id); got != `"read"` {
		t.Errorf("what was popped: got %s", got)
	}
	if _, text := call(t, "POST", b.RPC(), "{"); !strings.Contains(text, "-32700") {
		t.Errorf("no JSON: got %s", text)
	}
	if status, _ := call(t, "GET", b.RPC(), ""); status != 405 {
		t.Errorf("GET: got %d, want 405", status)
	}
	// More than HTTP takes.
	big := strings.Repeat("x", 3<<20)
	call(t, "PUT", b.URL()+"/api/v1/messages/topics/default", `{"accept":true}`)
	if got := rpc(t, a, "pushMessage", `[`+pushBody(b, "big", big)+`]`); !strings.Contains(got, `"id"`) {
		t.Errorf("3 MiB: got %.100s", got)
	}
	if got := pop(t, b, "?topic="+url.QueryEscape(b64("big"))); got != big {
		t.Errorf("3 MiB: got %d bytes", len(got))
	}
}
