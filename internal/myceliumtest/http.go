package myceliumtest

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxNoted bounds the calls that are kept for tests.
const maxNoted = 10_000

// maxBody is the web framework's default limit of a body, in bytes.
const maxBody = 2 << 20

// api is the HTTP API.
func (d *Daemon) api() http.Handler {
	mux := http.NewServeMux()
	// locked are the calls that take the daemon's lock for as long as they last.
	locked := func(pattern string, h http.HandlerFunc) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if d.lock(r.Context()) {
				defer d.unlock()
				d.note(r)
				h(w, r)
			}
		})
	}
	const base = "/api/v1"
	locked("GET "+base+"/messages", d.getMessage)
	mux.HandleFunc("POST "+base+"/messages", d.postMessage)
	locked("POST "+base+"/messages/reply/{id}", d.postReply)
	locked("GET "+base+"/messages/status/{id}", d.getStatus)

	const topics = base + "/messages/topics"
	locked("GET "+topics+"/default", d.getDefault)
	locked("PUT "+topics+"/default", d.putDefault)
	locked("GET "+topics, d.getTopics)
	locked("POST "+topics, d.postTopic)
	locked("DELETE "+topics+"/{topic}", d.deleteTopic)
	locked("GET "+topics+"/{topic}/sources", d.getSources)
	locked("POST "+topics+"/{topic}/sources", d.postSource)
	locked("DELETE "+topics+"/{topic}/sources/{subnet}", d.deleteSource)
	locked("GET "+topics+"/{topic}/forward", d.getForward)
	locked("PUT "+topics+"/{topic}/forward", d.putForward)
	locked("DELETE "+topics+"/{topic}/forward", d.deleteForward)

	locked("GET "+base+"/admin", d.getAdmin)
	locked("GET "+base+"/admin/peers", d.getPeers)
	locked("POST "+base+"/admin/peers", d.postPeer)
	locked("DELETE "+base+"/admin/peers/{endpoint}", d.deletePeer)
	locked("GET "+base+"/admin/routes/selected", d.getRoutes)
	locked("GET "+base+"/admin/routes/fallback", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, []any{}) })
	locked("GET "+base+"/pubkey/{ip}", d.getPubkey)

	mux.HandleFunc("PUT /stand-in/faults", d.putFaults)
	return mux
}

// note keeps a call for [Daemon.Requests].
func (d *Daemon) note(r *http.Request) {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	if len(d.requests) >= maxNoted {
		d.requests = slices.Delete(d.requests, 0, maxNoted/2)
	}
	d.requests = append(d.requests, r.Method+" "+r.URL.RequestURI())
}

// getMessage pops or peeks a message. It holds the lock all the time that it
// waits: the worst of the quirks.
func (d *Daemon) getMessage(w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		plain(w, http.StatusBadRequest, "Failed to deserialize query string")
		return
	}
	peek, ok1 := queryBool(query, "peek")
	seconds, ok2 := querySeconds(query, "timeout")
	topic, filtered, ok3 := queryTopic(query)
	if !ok1 || !ok2 || !ok3 {
		plain(w, http.StatusBadRequest, "Failed to deserialize query string")
		return
	}
	m, ok := d.next(r.Context(), topic, filtered, peek, seconds)
	if !ok {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	d.breakSome()
	answer(w, http.StatusOK, m)
}

// postMessage queues a message, and may wait for the reply; that is done
// without the lock.
func (d *Daemon) postMessage(w http.ResponseWriter, r *http.Request) {
	wait := r.URL.Query().Has("reply_timeout")
	seconds, ok := querySeconds(r.URL.Query(), "reply_timeout")
	if !ok {
		plain(w, http.StatusBadRequest, "Failed to deserialize query string")
		return
	}
	m, ok := readOutgoing(w, r)
	if !ok || !d.lock(r.Context()) {
		return
	}
	if len(m.topic) > maxTopic {
		d.unlock()
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	d.note(r)
	id, reply := d.push(m, wait)
	d.unlock()
	d.breakSome()
	if !wait {
		answer(w, http.StatusCreated, map[string]string{"id": id})
		return
	}
	if m, ok := d.awaitReply(r, id, reply, seconds); ok {
		answer(w, http.StatusOK, m)
		return
	}
	answer(w, http.StatusRequestTimeout, map[string]string{"id": id})
}

// awaitReply waits for the reply to a message, with no lock held.
func (d *Daemon) awaitReply(r *http.Request, id string, reply chan inbound, wait time.Duration) (inbound, bool) {
	defer d.forgo(id)
	over := time.NewTimer(wait)
	defer over.Stop()
	select {
	case m := <-reply:
		return m, true
	case <-over.C:
	case <-r.Context().Done():
	}
	return inbound{}, false
}

// postReply answers a message; the daemon checks nothing about it.
func (d *Daemon) postReply(w http.ResponseWriter, r *http.Request) {
	id, ok := pathID(w, r)
	if !ok {
		return
	}
	m, ok := readOutgoing(w, r)
	if !ok {
		return
	}
	d.reply(id, m)
	w.WriteHeader(http.StatusNoContent)
}

func (d *Daemon) getStatus(w http.ResponseWriter, r *http.Request) {
	id, ok := pathID(w, r)
	if !ok {
		return
	}
	if s := d.status(id); s != nil {
		answer(w, http.StatusOK, s)
		return
	}
	w.WriteHeader(http.StatusNotFound)
}

// breakSome ends a call without an answer, where faults want that.
func (d *Daemon) breakSome() {
	d.network.mu.Lock()
	breaks := d.network.befalls(d.network.faults.LoseAnswer)
	d.network.mu.Unlock()
	if breaks {
		panic(http.ErrAbortHandler)
	}
}

// putFaults sets the faults of a daemon in another process. The real daemon has
// nothing like it.
func (d *Daemon) putFaults(w http.ResponseWriter, r *http.Request) {
	var f Faults
	if err := json.NewDecoder(io.LimitReader(r.Body, maxBody)).Decode(&f); err != nil {
		plain(w, http.StatusBadRequest, err.Error())
		return
	}
	d.network.SetFaults(f)
	w.WriteHeader(http.StatusNoContent)
}

// readJSON reads a body that must say it is JSON. What is wrong it answers
// itself.
func readJSON(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" && !(strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")) {
		plain(w, http.StatusUnsupportedMediaType, "Expected request with `Content-Type: application/json`")
		return nil, false
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		plain(w, http.StatusRequestEntityTooLarge, "Failed to buffer the request body: length limit exceeded")
		return nil, false
	case err != nil:
		plain(w, http.StatusBadRequest, "Failed to buffer the request body")
		return nil, false
	}
	return text, true
}

func readOutgoing(w http.ResponseWriter, r *http.Request) (outgoing, bool) {
	text, ok := readJSON(w, r)
	if !ok {
		return outgoing{}, false
	}
	m, err := decodeOutgoing(text)
	if err != nil {
		unreadable(w, err)
		return outgoing{}, false
	}
	return m, true
}

// unreadable answers 400 for no JSON and 422 for JSON of another shape.
func unreadable(w http.ResponseWriter, err error) {
	if errors.Is(err, errSyntax) {
		plain(w, http.StatusBadRequest, "Failed to parse the request body as JSON")
		return
	}
	plain(w, http.StatusUnprocessableEntity, "Failed to deserialize the JSON body into the target type: "+err.Error())
}

// readInto is readOutgoing for other bodies.
func readInto(w http.ResponseWriter, r *http.Request, into any) bool {
	text, ok := readJSON(w, r)
	if !ok {
		return false
	}
	err := error(nil)
	if !json.Valid(text) {
		err = errSyntax
	} else if fault := json.Unmarshal(text, into); fault != nil {
		err = shapeError(fault.Error())
	}
	if err != nil {
		unreadable(w, err)
	}
	return err == nil
}

func pathID(w http.ResponseWriter, r *http.Request) (string, bool) {
	id, ok := parseID(r.PathValue("id"))
	if !ok {
		plain(w, http.StatusBadRequest, "Invalid URL: Message ID is 16 characters long")
	}
	return id, ok
}

// queryBool reads true or false, nothing else; false where it is not given.
func queryBool(q url.Values, name string) (val, ok bool) {
	switch s := q.Get(name); {
	case !q.Has(name) || s == "false":
		return false, true
	default:
		return true, s == "true"
	}
}

// querySeconds reads a number of seconds; 0 where it is not given.
func querySeconds(q url.Values, name string) (time.Duration, bool) {
	if !q.Has(name) {
		return 0, true
	}
	n, err := strconv.ParseUint(q.Get(name), 10, 32)
	return time.Duration(n) * time.Second, err == nil
}

// queryTopic reads the filter. An empty one is a filter too: for messages
// without a topic.
func queryTopic(q url.Values) (topic []byte, filtered, ok bool) {
	if !q.Has("topic") {
		return nil, false, true
	}
	topic, ok = decodeBase64(q.Get("topic"))
	return topic, true, ok
}

func answer(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic("BUG: an answer that is no JSON: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(text)
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	io.WriteString(w, text)
}
