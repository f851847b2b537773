package myceliumtest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/netip"
	"time"
)

// This file is the JSON-RPC door: the same calls on the same messages. Params
// go by position; batches are not modelled.

// maxRPCBody is the RPC library's default limit of a body, in bytes.
const maxRPCBody = 10 << 20

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func serverError(code int) *rpcError { return &rpcError{code, "Server error"} }

var (
	errParse  = &rpcError{-32700, "Parse error"}
	errMethod = &rpcError{-32601, "Method not found"}
	errParams = &rpcError{-32602, "Invalid params"}
)

type params []json.RawMessage

// read reads the parameter at i; one that is absent or null leaves into as it is.
func (p params) read(i int, into any) bool {
	return i >= len(p) || json.Unmarshal(p[i], into) == nil
}

type rpcMethod func(d *Daemon, r *http.Request, p params) (any, *rpcError)

// rpcMethods are those that take the lock for as long as they last; pushMessage
// is not among them.
var rpcMethods = map[string]rpcMethod{
	"popMessage":       (*Daemon).rpcPop,
	"pushMessageReply": (*Daemon).rpcReply,
	"getMessageInfo":   (*Daemon).rpcInfo,
	"getInfo":          func(d *Daemon, _ *http.Request, _ params) (any, *rpcError) { return d.info(), nil },
	"getPeers":         func(d *Daemon, _ *http.Request, _ params) (any, *rpcError) { return d.peerInfos(), nil },
	"getSelectedRoutes": func(d *Daemon, _ *http.Request, _ params) (any, *rpcError) {
		return d.routes(), nil
	},
	"getPublicKeyFromIp": (*Daemon).rpcPubkey,
	"getDefaultTopicAction": func(d *Daemon, _ *http.Request, _ params) (any, *rpcError) {
		var accept bool
		d.rules(func(t *topics) { accept = t.accept })
		return accept, nil
	},
	"setDefaultTopicAction": func(d *Daemon, _ *http.Request, p params) (any, *rpcError) {
		var accept *bool
		if !p.read(0, &accept) || accept == nil {
			return nil, errParams
		}
		d.rules(func(t *topics) { t.accept = *accept })
		return true, nil
	},
	"getTopics": func(d *Daemon, _ *http.Request, _ params) (any, *rpcError) {
		var list [][]byte
		d.rules(func(t *topics) { list = t.list() })
		return list, nil
	},
	"addTopic": onTopic(func(d *Daemon, topic []byte, _ params) (any, *rpcError) {
		d.rules(func(t *topics) { t.add(topic) })
		return true, nil
	}),
	"removeTopic": onTopic(func(d *Daemon, topic []byte, _ params) (any, *rpcError) {
		d.rules(func(t *topics) { delete(t.rules, string(topic)) })
		return true, nil
	}),
	"getTopicSources": onTopic(func(d *Daemon, topic []byte, _ params) (any, *rpcError) {
		if list, known := d.sources(topic); known {
			return list, nil
		}
		return nil, serverError(-32030)
	}),
	"addTopicSource":    onSource((*topics).addSource),
	"removeTopicSource": onSource((*topics).removeSource),
	"getTopicForwardSocket": onTopic(func(d *Daemon, topic []byte, _ params) (any, *rpcError) {
		return d.forwardTo(topic), nil
	}),
	"setTopicForwardSocket": onTopic(func(d *Daemon, topic []byte, p params) (any, *rpcError) {
		var path *string
		if !p.read(1, &path) || path == nil {
			return nil, errParams
		}
		d.rules(func(t *topics) { t.setSocket(topic, *path) })
		return true, nil
	}),
	"removeTopicForwardSocket": onTopic(func(d *Daemon, topic []byte, _ params) (any, *rpcError) {
		d.rules(func(t *topics) { t.setSocket(topic, "") })
		return true, nil
	}),
}

func (d *Daemon) jsonrpc() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			plain(w, http.StatusMethodNotAllowed, "Used HTTP Method is not allowed. POST is required")
			return
		}
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRPCBody))
		if err != nil {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		var call struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params params          `json:"params"`
		}
		reply := map[string]any{"jsonrpc": "2.0", "id": nil}
		if json.Unmarshal(text, &call) != nil {
			reply["error"] = errParse
		} else if result, err := d.call(r, call.Method, call.Params); err != nil {
			reply["id"], reply["error"] = call.ID, err
		} else {
			reply["id"], reply["result"] = call.ID, result
		}
		answer(w, http.StatusOK, reply)
	})
}

func (d *Daemon) call(r *http.Request, method string, p params) (any, *rpcError) {
	if method == "pushMessage" {
		return d.rpcPush(r, p)
	}
	h := rpcMethods[method]
	if h == nil {
		return nil, errMethod
	}
	if !d.lock(r.Context()) {
		panic(http.ErrAbortHandler)
	}
	defer d.unlock()
	return h(d, r, p)
}

func (d *Daemon) rpcPop(r *http.Request, p params) (any, *rpcError) {
	var peek *bool
	var seconds *uint32
	var coded *string
	if !p.read(0, &peek) || !p.read(1, &seconds) || !p.read(2, &coded) {
		return nil, errParams
	}
	var topic []byte
	if coded != nil {
		var ok bool
		if topic, ok = decodeBase64(*coded); !ok {
			return nil, serverError(-32013)
		}
	}
	var wait time.Duration
	if seconds != nil {
		wait = time.Duration(*seconds) * time.Second
	}
	if m, ok := d.next(r.Context(), topic, coded != nil, peek != nil && *peek, wait); ok {
		return m, nil
	}
	return nil, nil
}

// rpcPush answers as the reply, or with an id: then nobody can tell whether a
// reply was waited for in vain.
func (d *Daemon) rpcPush(r *http.Request, p params) (any, *rpcError) {
	var seconds *uint32
	if len(p) == 0 || !p.read(1, &seconds) {
		return nil, errParams
	}
	m, err := decodeOutgoing(p[0])
	if err != nil {
		return nil, errParams
	}
	if len(m.topic) > maxTopic {
		return nil, serverError(-32015)
	}
	if !d.lock(r.Context()) {
		panic(http.ErrAbortHandler)
	}
	id, reply := d.push(m, seconds != nil)
	d.unlock()
	if seconds != nil {
		if m, ok := d.awaitReply(r, id, reply, time.Duration(*seconds)*time.Second); ok {
			return m, nil
		}
	}
	return map[string]string{"id": id}, nil
}

func (d *Daemon) rpcReply(_ *http.Request, p params) (any, *rpcError) {
	var s *string
	if len(p) < 2 || !p.read(0, &s) || s == nil {
		return nil, errParams
	}
	id, ok := parseID(*s)
	if !ok {
		return nil, serverError(-32018)
	}
	m, err := decodeOutgoing(p[1])
	if err != nil {
		return nil, errParams
	}
	d.reply(id, m)
	return true, nil
}

func (d *Daemon) rpcInfo(_ *http.Request, p params) (any, *rpcError) {
	var s *string
	if !p.read(0, &s) || s == nil {
		return nil, errParams
	}
	id, ok := parseID(*s)
	if !ok {
		return nil, serverError(-32020)
	}
	if info := d.status(id); info != nil {
		return info, nil
	}
	return nil, serverError(-32019)
}

func (d *Daemon) rpcPubkey(_ *http.Request, p params) (any, *rpcError) {
	var s *string
	if !p.read(0, &s) || s == nil {
		return nil, errParams
	}
	a, ok := parseIP(*s)
	if !ok {
		return nil, serverError(-32007)
	}
	if key, ok := d.pubkeyOf(a); ok {
		return key, nil
	}
	return nil, serverError(-32008)
}

// onTopic reads the first parameter of the calls about a topic: base64.
func onTopic(h func(d *Daemon, topic []byte, p params) (any, *rpcError)) rpcMethod {
	return func(d *Daemon, _ *http.Request, p params) (any, *rpcError) {
		var s *string
		if !p.read(0, &s) || s == nil {
			return nil, errParams
		}
		topic, ok := decodeBase64(*s)
		if !ok {
			return nil, serverError(-32021)
		}
		return h(d, topic, p)
	}
}

// onSource reads the second one of those about who may send to it: a subnet.
func onSource(change func(t *topics, topic []byte, source netip.Prefix)) rpcMethod {
	return onTopic(func(d *Daemon, topic []byte, p params) (any, *rpcError) {
		var s *string
		if !p.read(1, &s) || s == nil {
			return nil, errParams
		}
		subnet, ok := parseSubnet(*s)
		if !ok {
			return nil, serverError(-32023)
		}
		d.rules(func(t *topics) { change(t, topic, subnet) })
		return true, nil
	})
}
