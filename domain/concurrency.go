package domain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// WhenFull is what becomes of a flow whose key as many hold as may.
type WhenFull string

// What there is.
const (
	FullWait      WhenFull = "wait"       // it waits in line; the default
	FullSkip      WhenFull = "skip"       // it ends at once, as cancelled
	FullCancelOld WhenFull = "cancel_old" // the oldest are cancelled in its favour
)

// WhenFulls are all of them.
var WhenFulls = []WhenFull{FullWait, FullSkip, FullCancelOld}

const (
	// MaxConcurrency is how many flows may hold a key at once.
	MaxConcurrency = 1_000
	// MaxConcurrencyKey bounds a key, in bytes, with what stands for its params.
	MaxConcurrencyKey = 200
)

// Concurrency bounds how many flows of a context are under way at once that have the same
// key, whatever their blueprints. They go in the order in which they came.
type Concurrency struct {
	// Key names what is shared; ${params.name} in it stands for a param of the flow.
	Key string `json:"key"`
	// Max is how many may hold it, 1..[MaxConcurrency]. Default: 1.
	Max int `json:"max,omitzero"`
	// WhenFull is what becomes of one more. Default: wait.
	WhenFull WhenFull `json:"when_full,omitzero"`
}

// MaxOr is how many flows may hold the key.
func (c *Concurrency) MaxOr() int { return max(c.Max, 1) }

// KeyOf is the key of a flow with these params.
//
// Errors: [ErrInvalid].
func (c *Concurrency) KeyOf(params map[string]string) (string, error) {
	return keyOf("concurrency.key", c.Key, params)
}

// keyOf is what a key of flows is with the values of its params; field is where it stands.
func keyOf(field, text string, params map[string]string) (string, error) {
	filled, err := Fill(map[string]string{"key": strings.ReplaceAll(text, "${params.", "${")}, params)
	if err != nil {
		return "", err
	}
	key := filled["key"]
	switch missing := placeholder.FindString(key); {
	case missing != "" && !strings.Contains(strings.Join(valuesOf(params), "\n"), missing):
		return "", Invalidf("%s: the flow has no param %s; give it a value under params", field, strings.Trim(missing, "${}"))
	case len(key) > MaxConcurrencyKey || key == "" || strings.IndexByte(key, 0) >= 0:
		return "", Invalidf("%s %.80q: want 1 to %d bytes with the values of its params", field, key, MaxConcurrencyKey)
	}
	return key, nil
}

func valuesOf(m map[string]string) []string {
	list := make([]string, 0, len(m))
	for _, v := range m {
		list = append(list, v)
	}
	return list
}

// CancelledFull stands in place of who cancelled a flow that found its key held.
const CancelledFull = "concurrency"

// concurrency finds what is wrong with it.
func (c *checker) concurrency() {
	con := c.b.Concurrency
	if con == nil {
		return
	}
	c.sharedKey("concurrency.key", con.Key)
	if con.Max < 0 || con.Max > MaxConcurrency {
		c.fault("concurrency.max", "%d: want 1 to %d", con.Max, MaxConcurrency)
	}
	if w := con.WhenFull; w != "" && w != FullWait && w != FullSkip && w != FullCancelOld {
		c.fault("concurrency.when_full", "%q: want %s", w, meant(string(w), "wait, skip or cancel_old",
			[]string{string(FullWait), string(FullSkip), string(FullCancelOld)}))
	}
}

// sharedKey finds what is wrong with a key of flows, also params that no flow of the blueprint
// can have: a request may give only those that something in it has or names.
func (c *checker) sharedKey(field, key string) {
	if key == "" {
		c.fault(field, "want the name of what flows share, as crm or customer-${params.customer}")
	} else if len(key) > MaxConcurrencyKey || strings.IndexByte(key, 0) >= 0 {
		c.fault(field, "%d bytes, the limit is %d", len(key), MaxConcurrencyKey)
	}
	known := slices.Collect(maps.Keys(c.b.Params))
	for i := range c.b.Inputs {
		known = append(known, c.b.Inputs[i].Name)
	}
	for _, name := range ParseTemplate(key).Names() {
		name = strings.TrimPrefix(name, PlaceParams+".")
		if slices.Contains(known, name) || slices.ContainsFunc(c.b.Steps, func(s Step) bool { return s.mentions(name) }) || c.b.On.mention(name) {
			continue
		}
		text := "give it a value under params"
		if near := Nearest(name, known); near != "" {
			text = fmt.Sprintf("did you mean %q?", near)
		}
		c.fault(field, "the blueprint has no param %q; %s", name, text)
	}
}

// InLine says where a flow stands that waits for its key.
type InLine struct {
	Key string `json:"key"`
	// Ahead is how many stand before it, of which the first Max hold the key.
	Ahead int `json:"ahead"`
	Max   int `json:"max"`
	// Holders are some of the flows that hold it.
	Holders []string `json:"holders,omitzero"`
}

// String says it in a sentence.
func (l InLine) String() string {
	return fmt.Sprintf("it waits for its concurrency key %q, which %d may hold at once: %s of %d before it", l.Key, l.Max, strings.Join(l.Holders, ", "), l.Ahead)
}
