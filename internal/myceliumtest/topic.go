package myceliumtest

import (
	"context"
	"io"
	"maps"
	"net"
	"net/netip"
	"slices"
)

// topics is what a daemon lets in.
type topics struct {
	accept bool // what has no rule
	rules  map[string]*topicRule
}

// topicRule is who may send to a topic, and a socket that its messages go to.
// A rule without sources lets nobody in.
type topicRule struct {
	sources []netip.Prefix
	socket  string
}

func (t *topics) allow(topic []byte, from netip.Addr) bool {
	rule := t.rules[string(topic)]
	if rule == nil {
		return t.accept
	}
	return slices.ContainsFunc(rule.sources, func(p netip.Prefix) bool { return p.Contains(from) })
}

func (t *topics) socket(topic []byte) string {
	if rule := t.rules[string(topic)]; rule != nil {
		return rule.socket
	}
	return ""
}

// add makes a rule for a topic, if it has none.
func (t *topics) add(topic []byte) *topicRule {
	if t.rules[string(topic)] == nil {
		t.rules[string(topic)] = &topicRule{}
	}
	return t.rules[string(topic)]
}

func (t *topics) list() [][]byte {
	list := [][]byte{}
	for _, topic := range slices.Sorted(maps.Keys(t.rules)) {
		list = append(list, []byte(topic))
	}
	return list
}

// sources lists who may send to a topic; false when it has no rule.
func (t *topics) sources(topic []byte) ([]netip.Prefix, bool) {
	rule := t.rules[string(topic)]
	if rule == nil {
		return nil, false
	}
	return append([]netip.Prefix{}, rule.sources...), true
}

func (t *topics) addSource(topic []byte, source netip.Prefix) {
	rule := t.add(topic)
	rule.sources = append(rule.sources, source)
}

func (t *topics) removeSource(topic []byte, source netip.Prefix) {
	if rule := t.rules[string(topic)]; rule != nil {
		rule.sources = slices.DeleteFunc(rule.sources, func(p netip.Prefix) bool { return p == source })
	}
}

// setSocket does nothing for a topic without a rule, and tells nobody.
func (t *topics) setSocket(topic []byte, path string) {
	if rule := t.rules[string(topic)]; rule != nil {
		rule.socket = path
	}
}

// forward writes the bare payload to a socket, without saying where it ends,
// and reads until the other side closes. What it reads is the reply; if that is
// nothing, or something fails, the message goes to the inbox.
func (d *Daemon) forward(l *life, path string, m inbound) {
	answer, err := exchange(l, path, m.Payload)
	if err == nil && len(answer) > 0 {
		d.reply(m.ID, outgoing{dst: m.SrcIP, payload: answer})
		return
	}
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	if d.life == l {
		d.keep(m)
	}
}

func exchange(l *life, path string, payload []byte) ([]byte, error) {
	conn, err := (&net.Dialer{}).DialContext(l.ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(l.ctx, func() { conn.Close() })()
	if _, err := conn.Write(payload); err != nil {
		return nil, err
	}
	return io.ReadAll(conn)
}
