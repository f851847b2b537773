package myceliumtest

import "net/http"

// This file is the part of the HTTP API that says who may send what. Where the
// daemon's code and its api.yaml differ, it is as the code.

// rules gives f the rules to look at or to change. What they kept out until now
// may come in: its sender has been trying all the time.
func (d *Daemon) rules(f func(t *topics)) {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	f(&d.topics)
	d.network.retransmit()
}

func (d *Daemon) getDefault(w http.ResponseWriter, _ *http.Request) {
	var accept bool
	d.rules(func(t *topics) { accept = t.accept })
	answer(w, http.StatusOK, map[string]bool{"accept": accept})
}

func (d *Daemon) putDefault(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Accept *bool `json:"accept"`
	}
	if !readInto(w, r, &body) {
		return
	}
	if body.Accept == nil {
		unreadable(w, shapeError("missing field `accept`"))
		return
	}
	d.rules(func(t *topics) { t.accept = *body.Accept })
	w.WriteHeader(http.StatusNoContent)
}

func (d *Daemon) getTopics(w http.ResponseWriter, _ *http.Request) {
	var list [][]byte
	d.rules(func(t *topics) { list = t.list() })
	answer(w, http.StatusOK, list)
}

// postTopic wants an array of numbers, which api.yaml does not say.
func (d *Daemon) postTopic(w http.ResponseWriter, r *http.Request) {
	var numbers []uint8
	var list []uint16 // encoding/json takes []uint8 for base64
	if !readInto(w, r, &list) {
		return
	}
	for _, n := range list {
		if n > 255 {
			unreadable(w, shapeError("invalid value, expected u8"))
			return
		}
		numbers = append(numbers, uint8(n))
	}
	d.rules(func(t *topics) { t.add(numbers) })
	w.WriteHeader(http.StatusCreated)
}

func (d *Daemon) deleteTopic(w http.ResponseWriter, r *http.Request) {
	topic, ok := topicOf(w, r)
	if !ok {
		return
	}
	d.rules(func(t *topics) { delete(t.rules, string(topic)) })
	w.WriteHeader(http.StatusNoContent)
}

func (d *Daemon) getSources(w http.ResponseWriter, r *http.Request) {
	topic, ok := topicOf(w, r)
	if !ok {
		return
	}
	list, known := d.sources(topic)
	if !known {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	answer(w, http.StatusOK, list)
}

func (d *Daemon) sources(topic []byte) (list []string, known bool) {
	d.rules(func(t *topics) {
		prefixes, ok := t.sources(topic)
		list, known = []string{}, ok
		for _, p := range prefixes {
			list = append(list, p.String())
		}
	})
	return list, known
}

// postSource makes the rule if there is none.
func (d *Daemon) postSource(w http.ResponseWriter, r *http.Request) {
	topic, ok := topicOf(w, r)
	if !ok {
		return
	}
	var body struct {
		Subnet *string `json:"subnet"`
	}
	if !readInto(w, r, &body) {
		return
	}
	if body.Subnet == nil {
		unreadable(w, shapeError("missing field `subnet`"))
		return
	}
	subnet, ok := parseSubnet(*body.Subnet)
	if !ok {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	d.rules(func(t *topics) { t.addSource(topic, subnet) })
	w.WriteHeader(http.StatusCreated)
}

func (d *Daemon) deleteSource(w http.ResponseWriter, r *http.Request) {
	topic, ok := topicOf(w, r)
	if !ok {
		return
	}
	subnet, ok := parseSubnet(r.PathValue("subnet"))
	if !ok {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	d.rules(func(t *topics) { t.removeSource(topic, subnet) })
	w.WriteHeader(http.StatusNoContent)
}

func (d *Daemon) getForward(w http.ResponseWriter, r *http.Request) {
	topic, ok := topicOf(w, r)
	if !ok {
		return
	}
	answer(w, http.StatusOK, d.forwardTo(topic))
}

// forwardTo is the socket of a topic, nil when it has none.
func (d *Daemon) forwardTo(topic []byte) (path *string) {
	d.rules(func(t *topics) {
		if s := t.socket(topic); s != "" {
			path = &s
		}
	})
	return path
}

// putForward wants socketPath, where api.yaml says socket_path.
func (d *Daemon) putForward(w http.ResponseWriter, r *http.Request) {
	topic, ok := topicOf(w, r)
	if !ok {
		return
	}
	var body struct {
		Path *string `json:"socketPath"`
	}
	if !readInto(w, r, &body) {
		return
	}
	if body.Path == nil {
		unreadable(w, shapeError("missing field `socketPath`"))
		return
	}
	d.rules(func(t *topics) { t.setSocket(topic, *body.Path) })
	w.WriteHeader(http.StatusNoContent)
}

func (d *Daemon) deleteForward(w http.ResponseWriter, r *http.Request) {
	topic, ok := topicOf(w, r)
	if !ok {
		return
	}
	d.rules(func(t *topics) { t.setSocket(topic, "") })
	w.WriteHeader(http.StatusNoContent)
}
