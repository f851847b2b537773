package salscript_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/internal/myceliumtest"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/scripttest"
)

func newTask(t *testing.T, source string, env map[string]string) (script.Task, *scripttest.Host) {
	task := scripttest.NewTask(t, source)
	for key, val := range env {
		task.Env[key] = val
	}
	return task, scripttest.NewHost()
}

// myceliumPlaces are what the examples speak of by name.
type myceliumPlaces struct{ A, B, Dead, KeyA, KeyB, AddressB string }

// myceliumExamples have two daemons that reach each other, A and B, and an API
// at which nobody is.
func myceliumExamples(p myceliumPlaces) []example {
	list := []example{
		{"the node", `mycelium_get_node_info(A).nodePubkey == KEY_A`, "true"},
		{"peers come and go", `mycelium_add_peer(A, "tcp://127.0.0.1:1"); let l = mycelium_list_peers(A); mycelium_remove_peer(A, "tcp://127.0.0.1:1"); ` +
			`[l[0].endpoint, mycelium_list_peers(A)]`,
			`[{"proto":"tcp","socketAddr":"127.0.0.1:1"},[]]`},
		{"a peer that there is not", fails(`mycelium_remove_peer(A, "tcp://127.0.0.1:2")`),
			"mycelium: 404 Not Found: A peer identified by that endpoint does not exist"},
		{"a peer that is none", fails(`mycelium_add_peer(A, "127.0.0.1:2")`), "mycelium: 400 Bad Request: missing leading protocol identifier"},
		{"a peer that there is already", fails(`mycelium_add_peer(A, "tcp://127.0.0.1:3"); mycelium_add_peer(A, "tcp://127.0.0.1:3")`),
			"mycelium: 409 Conflict: A peer identified by that endpoint already exists"},
		{"routes", `[mycelium_list_selected_routes(A)[0].seqno, mycelium_list_fallback_routes(A)]`, `[0,[]]`},
		{"a message is sent to an address and received", `let id = mycelium_send_message(A, ADDRESS_B, "t/+", "hällo", 0).id; let no = ` +
			`mycelium_receive_messages(B, "t/", 0); let m = mycelium_receive_messages(B, "t/+", 0); [no, m.id == id, m.topic, m.payload, m.srcPk == KEY_A, ` +
			`m.dstPk == KEY_B]`,
			`[null,true,"t/+","hällo",true,true]`},
		{"to a key, without a topic",
			`mycelium_send_message(A, KEY_B, "", "", 0); let m = mycelium_receive_messages(B, "", 1); [m.payload, "topic" in m]`, `["",false]`},
		{"to oneself", `mycelium_send_message(A, KEY_A, "self", "x", 0); mycelium_receive_messages(A, "self", 0).payload`, "x"},
		{"the oldest comes first", `for i in ["1", "2"] { mycelium_send_message(A, KEY_B, "order", i, 0); } [mycelium_receive_messages(B, "order", ` +
			`0).payload, mycelium_receive_messages(B, "order", 0).payload]`, `["1","2"]`},
		{"what other programs wait for stays there",
			`mycelium_send_message(A, KEY_B, "ramet.parcel", "x", 0); [mycelium_receive_messages(B, "", 0), mycelium_receive_messages(B, "ramet.parcel", ` +
				`0).payload]`, `[null,"x"]`},
		{"a reply is waited for", `let m = mycelium_send_message(A, KEY_B, "ask", "ping", 60); [m.payload, "topic" in m]`, `["ping, too",false]`},
		{"a reply that does not come", `let m = mycelium_send_message(A, KEY_B, "t", "?", 1); mycelium_receive_messages(B, "t", 0); m.keys()`, `["id"]`},
		{"nothing comes", `mycelium_receive_messages(A, "nothing", 1) == ()`, "true"},
		{"a topic that is too long", fails(`let t = ""; t.pad(256, 't'); mycelium_send_message(A, KEY_B, t, "", 0)`),
			"mycelium: the topic has 256 bytes; at most 255 are allowed"},
		{"waiting for a topic that is too long", fails(`let t = ""; t.pad(256, 't'); mycelium_receive_messages(A, t, 0)`),
			"mycelium: the topic has 256 bytes; at most 255 are allowed"},
		{"a text that is too long", fails(`let t = ""; t.pad(1572864, 't'); mycelium_send_message(A, KEY_B, "t", t, 0)`),
			"mycelium: 413 Request Entity Too Large: Failed to buffer the request body: length limit exceeded"},
		{"an address that messages never go to", fails(`mycelium_send_message(A, "10.0.0.1", "t", "", 0)`),
			`mycelium: "10.0.0.1" is neither a public key of 64 hex digits nor an IPv6 address`},
		{"half a key", fails(`mycelium_send_message(A, "abcd", "t", "", 0)`), `mycelium: "abcd" is neither a public key of 64 hex digits nor an IPv6 address`},
		{"waiting for ever", fails(`mycelium_receive_messages(A, "t", 9000000000000000000)`),
			"mycelium: 9000000000000000000 s are too long to wait; at most 86400 are allowed"},
		{"a node that is not there", fails(`mycelium_get_node_info(DEAD)`), "mycelium: dial tcp ..."},
		{"no node", fails(`mycelium_get_node_info("127.0.0.1:8989")`), "mycelium: the address is no URL such as https://host/path"},
	}
	names := strings.NewReplacer("(A", "("+quoted(p.A), "(B", "("+quoted(p.B), "DEAD", quoted(p.Dead), "KEY_A", quoted(p.KeyA),
		"KEY_B", quoted(p.KeyB), "ADDRESS_B", quoted(p.AddressB))
	for i := range list {
		list[i].source = names.Replace(list[i].source)
	}
	return list
}

func quoted(s string) string { return fmt.Sprintf("%q", s) }

func TestMycelium(t *testing.T) {
	net := myceliumtest.NewNetwork()
	a, b, gone := net.Start(t), net.Start(t), net.Start(t)
	gone.Stop()
	go answerPings(t, b)
	examples(t, nil, myceliumExamples(myceliumPlaces{A: a.URL(), B: b.URL(), Dead: gone.URL(), KeyA: a.Key(), KeyB: b.Key(), AddressB: b.Address().String()}))
	// Calls that wait would hold up everybody else at the node.
	for _, call := range append(a.Requests(), b.Requests()...) {
		if strings.Contains(call, "timeout=") && !strings.Contains(call, "timeout=0&") && !strings.Contains(call, "reply_timeout=") {
			t.Errorf("called %s", call)
		}
	}
}

func TestMyceliumWaitsForWhatIsOnItsWay(t *testing.T) {
	net := myceliumtest.NewNetwork()
	a, b := net.Start(t), net.Start(t)
	net.SetFaults(myceliumtest.Faults{Delay: 60 * time.Millisecond})
	examples(t, nil, []example{{"a message that is late",
		fmt.Sprintf(`mycelium_send_message(%q, %q, "t", "x", 0); mycelium_receive_messages(%q, "t", 60).payload`, a.URL(), b.Key(), b.URL()), "x"}})
}

// answerPings is another program at a daemon: it replies to the topic "ask".
func answerPings(t *testing.T, d *myceliumtest.Daemon) {
	topic := base64.StdEncoding.EncodeToString([]byte("ask"))
	for t.Context().Err() == nil {
		resp, err := http.Get(d.URL() + "/api/v1/messages?timeout=0&topic=" + topic)
		if err != nil {
			return // the test is over
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		field := func(name string) string {
			_, rest, _ := strings.Cut(string(text), `"`+name+`":"`)
			val, _, _ := strings.Cut(rest, `"`)
			return val
		}
		body := fmt.Sprintf(`{"dst":{"pk":%q},"payload":%q}`, field("srcPk"), base64.StdEncoding.EncodeToString([]byte("ping, too")))
		if resp, err := http.Post(d.URL()+"/api/v1/messages/reply/"+field("id"), "application/json", strings.NewReader(body)); err == nil {
			resp.Body.Close()
		}
	}
}
