package console

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"sync"

	"github.com/ramet-run/ramet/api"
)

// maxFragment bounds the text of a page that is sent as it changes, in bytes. Of a larger
// one it is only said that it has changed: browsers load it by themselves.
const maxFragment = 1 << 20

// fragment is a page at one time, as it is sent to all who look at it. It is written once,
// whoever many there are.
type fragment struct {
	id   string // names the text
	text string // "": there is no text, and event says what there is instead
	last bool   // nothing more comes
	from string // which text patch is for
	say  api.Event

	lines        []string
	before       []string // the lines of from
	patch, whole func() json.RawMessage
}

// newFragment is a page's text, which comes after another: nil where it is the first.
func newFragment(text []byte, before *fragment, last bool) *fragment {
	sum := sha256.Sum256(text)
	f := &fragment{id: hex.EncodeToString(sum[:6]), last: last}
	if len(text) > maxFragment {
		f.say = api.Event{Name: "change", Data: struct{}{}}
		return f
	}
	f.text = string(text)
	f.lines = strings.Split(f.text, "\n")
	f.whole = sync.OnceValue(func() json.RawMessage { return encoded(wholeEvent{f.id, f.text}) })
	if before != nil && before.text != "" {
		f.from, f.before = before.id, before.lines
		f.patch = sync.OnceValue(func() json.RawMessage {
			p := patchEvent{f.from, f.id, difference(f.before, f.lines)}
			f.before = nil // nobody needs it any more
			return encoded(p)
		})
	}
	return f
}

// away says that the page cannot be made now, and why.
func away(why string) *fragment {
	return &fragment{say: api.Event{Name: "away", Data: awayEvent{why}}}
}

// wholeEvent is all of a page, patchEvent what differs in it from another text of it,
// awayEvent why it cannot be had.
type (
	wholeEvent struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}
	patchEvent struct {
		From  string `json:"from"`
		ID    string `json:"id"`
		Lines []hunk `json:"lines"`
	}
	awayEvent struct {
		Why string `json:"why"`
	}
)

// event is what somebody is sent who has a text of the page: all of it, or what differs.
func (f *fragment) event(has string) api.Event {
	switch {
	case f.text == "":
		return f.say
	case has == f.id:
		return api.Event{Name: "patch", ID: f.id, Data: patchEvent{f.id, f.id, []hunk{}}}
	case has != "" && has == f.from:
		return api.Event{Name: "patch", ID: f.id, Data: f.patch()}
	}
	return api.Event{Name: "whole", ID: f.id, Data: f.whole()}
}

// nodeEvent is how the node stands, as the chip in the frame says it.
type nodeEvent struct {
	Away  bool   `json:"away"`
	Says  string `json:"says"`
	Title string `json:"title"`
}

func (n nodeChip) event() api.Event {
	return api.Event{Name: "node", Data: nodeEvent{n.Away != "", n.survives(), n.title()}}
}

// encoded is JSON in which markup stays as it is: what is sent in an event is no page.
func encoded(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("BUG: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// hunk says which lines stand in place of others: at an index, how many go, what comes.
type hunk struct {
	At   int      `json:"at"`
	Drop int      `json:"drop"`
	Add  []string `json:"add"`
}

// difference is what makes one text of another. Where both have as many lines it is those
// that differ, else all between what is the same at the beginning and at the end: the lines
// of a page seldom become more or fewer.
func difference(a, b []string) []hunk {
	list := []hunk{}
	if len(a) == len(b) {
		for i := 0; i < len(b); i++ {
			if a[i] == b[i] {
				continue
			}
			from := i
			for i < len(b) && a[i] != b[i] {
				i++
			}
			list = append(list, hunk{from, i - from, b[from:i]})
		}
		return list
	}
	most := min(len(a), len(b))
	head := 0
	for head < most && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < most-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return append(list, hunk{head, len(a) - tail - head, b[head : len(b)-tail]})
}
