// Package simtest has what simulations share: seeds, luck, and nodes that are
// killed, stopped and cut off from their board. One seed is one run, in virtual time.
package simtest

import (
	"cmp"
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
)

var (
	seed  = flag.Uint64("seed", 0, "run the simulation of this seed only")
	seeds = flag.Int("seeds", 0, "how many seeds to simulate; default: as many as is usual")
)

// shortSeeds is how many there are under the race detector, where one costs ten
// times as much.
const shortSeeds = 4

// Only reports whether one seed was asked for alone: then a simulation may say more.
func Only() bool { return *seed != 0 }

// Seeds are the first and the last seed to run, where there are usually so many.
func Seeds(usual int) (first, last uint64) {
	if Only() {
		return *seed, *seed
	}
	return 1, uint64(cmp.Or(*seeds, usual))
}

// Run runs a simulation with each seed, where there are usually so many.
// RAMET_SIM_SEEDS in the environment has it run with more.
func Run(t *testing.T, usual int, simulate func(t *testing.T, seed uint64)) {
	first, last := Seeds(usual)
	if !Only() {
		if testing.Short() {
			last = min(last, shortSeeds)
		}
		if more, err := strconv.ParseUint(os.Getenv("RAMET_SIM_SEEDS"), 10, 64); err == nil {
			last = more
		}
	}
	for n := first; n <= last; n++ {
		t.Run(strconv.FormatUint(n, 10), func(t *testing.T) { simulate(t, n) })
	}
}

// Luck decides by chance until it ends. It is safe for concurrent use.
type Luck struct {
	mu   sync.Mutex
	rand *rand.Rand
	over bool
}

// NewLuck returns the luck of a seed; several of one seed differ by their stream.
func NewLuck(seed, stream uint64) *Luck { return &Luck{rand: rand.New(rand.NewPCG(seed, stream))} }

// N is 0 to n-1; n-1 when the luck has ended.
func (l *Luck) N(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return n - 1
	}
	return l.rand.IntN(n)
}

// Yes is true so often of a hundred times, and never when the luck has ended.
func (l *Luck) Yes(percent int) bool { return l.N(100) < percent }

// End ends it.
func (l *Luck) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
}
