package salscript_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

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

// daemon stands in for a Mycelium node: the endpoints as its code has them.
type daemon struct {
	mu    sync.Mutex // guards what follows
	peers []string
	inbox []map[string]string
	polls []string // the timeouts asked for
}

func (d *daemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	answer := func(status int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(body)
	}
	switch path := strings.TrimPrefix(r.URL.Path, "/api/v1"); {
	case r.Method == "GET" && path == "/admin":
		answer(200, map[string]string{"nodeSubnet": "5aa::/64", "nodePubkey": strings.Repeat("ab", 32)})
	case path == "/admin/peers" && r.Method == "GET":
		list := []map[string]string{}
		for _, p := range d.peers {
			list = append(list, map[string]string{"endpoint": p})
		}
		answer(200, list)
	case path == "/admin/peers" && r.Method == "POST":
		var body struct{ Endpoint string }
		json.NewDecoder(r.Body).Decode(&body)
		d.peers = append(d.peers, body.Endpoint)
		w.WriteHeader(http.StatusNoContent)
	case strings.HasPrefix(path, "/admin/peers/") && r.Method == "DELETE":
		if len(d.peers) == 0 || d.peers[0] != strings.TrimPrefix(path, "/admin/peers/") {
			http.Error(w, "no such peer", http.StatusNotFound)
			return
		}
		d.peers = nil
		w.WriteHeader(http.StatusNoContent)
	case path == "/admin/routes/selected", path == "/admin/routes/fallback":
		answer(200, []map[string]any{{"subnet": "5bb::/64", "metric": "20", "seqno": len(path)}})
	case path == "/messages" && r.Method == "POST":
		d.push(w, r, answer)
	case path == "/messages" && r.Method == "GET":
		d.polls = append(d.polls, r.URL.Query().Get("timeout"))
		for i, m := range d.inbox {
			if want := r.URL.Query().Get("topic"); want == "" || want == m["topic"] {
				d.inbox = append(d.inbox[:i], d.inbox[i+1:]...)
				answer(200, m)
				return
			}
		}
		w.WriteHeader(http.StatusNoContent)
	default:
		http.NotFound(w, r)
	}
}

// push takes a message for itself; who waits for a reply to "ping" gets it.
func (d *daemon) push(w http.ResponseWriter, r *http.Request, answer func(int, any)) {
	text, _ := io.ReadAll(r.Body)
	var body struct {
		Dst            struct{ IP, PK string }
		Topic, Payload string
	}
	payload, err := []byte(nil), json.Unmarshal(text, &body)
	if err == nil {
		payload, err = base64.StdEncoding.DecodeString(body.Payload)
	}
	if err != nil || r.Header.Get("Content-Type") != "application/json" || (body.Dst.IP == "") == (body.Dst.PK == "") {
		http.Error(w, "the JSON has the wrong shape", http.StatusUnprocessableEntity)
		return
	}
	message := map[string]string{"id": "0011223344556677", "srcIp": "5aa::1", "srcPk": body.Dst.PK, "dstIp": body.Dst.IP, "payload": body.Payload}
	if body.Topic != "" {
		message["topic"] = body.Topic
	}
	switch wait := r.URL.Query().Get("reply_timeout"); {
	case wait == "":
		d.inbox = append(d.inbox, message)
		answer(201, map[string]string{"id": message["id"]})
	case string(payload) == "ping":
		message["payload"] = base64.StdEncoding.EncodeToString([]byte("pong"))
		answer(200, message)
	default:
		answer(408, map[string]string{"id": message["id"]})
	}
}

// myceliumExamples are for a daemon at a URL and one at which nobody is.
func myceliumExamples(api, dead string) []example {
	key := strings.Repeat("ab", 32)
	list := []example{
		{"the node", `mycelium_get_node_info(API).nodeSubnet`, "5aa::/64"},
		{"peers come and go", `mycelium_add_peer(API, "tcp://1.2.3.4:9651"); let l = mycelium_list_peers(API); mycelium_remove_peer(API, "tcp://1.2.3.4:9651"); [l, mycelium_list_peers(API)]`,
			`[[{"endpoint":"tcp://1.2.3.4:9651"}],[]]`},
		{"a peer that there is not", fails(`mycelium_remove_peer(API, "tcp://none:1")`), "mycelium: 404 Not Found: no such peer"},
		{"routes", `[mycelium_list_selected_routes(API)[0].seqno, mycelium_list_fallback_routes(API)[0].subnet]`, `[22,"5bb::/64"]`},
		{"a message is sent to an address and received", `[mycelium_send_message(API, "5cc::1", "t/+", "hällo", 0).id, mycelium_receive_messages(API, "other", 0), mycelium_receive_messages(API, "t/+", 0)]`,
			`["0011223344556677",null,{"dstIp":"5cc::1","id":"0011223344556677","payload":"hällo","srcIp":"5aa::1","srcPk":"","topic":"t/+"}]`},
		{"to a key, without a topic", fmt.Sprintf(`mycelium_send_message(API, %q, "", "", 0); let m = mycelium_receive_messages(API, "", 1); [m.srcPk, m.payload, "topic" in m]`, key), `["` + key + `","",false]`},
		{"a reply is waited for", `mycelium_send_message(API, "5cc::1", "t", "ping", 5).payload`, "pong"},
		{"a reply that does not come", `mycelium_send_message(API, "5cc::1", "t", "?", 1).keys()`, `["id"]`},
		{"nothing comes", `mycelium_receive_messages(API, "nothing", 2) == ()`, "true"},
		{"a topic that is too long", fails(`let t = ""; t.pad(256, 't'); mycelium_send_message(API, "5cc::1", t, "", 0)`), "mycelium: the topic has 256 bytes; at most 255 are allowed"},
		{"a node that is not there", fails(`mycelium_get_node_info("` + dead + `")`), "mycelium: dial tcp ..."},
	}
	for i := range list {
		list[i].source = strings.ReplaceAll(list[i].source, "API", fmt.Sprintf("%q", api))
	}
	return list
}

func TestMycelium(t *testing.T) {
	d := &daemon{}
	server, gone := httptest.NewServer(d), httptest.NewServer(d)
	defer server.Close()
	gone.Close()
	examples(t, nil, myceliumExamples(server.URL, gone.URL))
	// Longer polls would hold up everybody else at the node.
	for _, timeout := range d.polls {
		if timeout != "0" && timeout != "1" {
			t.Errorf("polled with timeout=%s, want at most 1", timeout)
		}
	}
}
