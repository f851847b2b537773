package domain

import (
	"fmt"
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

// CancelledFull stands in place of who cancelled a flow that found its key held.
const CancelledFull = "concurrency"

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
