package cluster

import (
	"bufio"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/leash"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/layout"
)

// rounds is how often a node is killed: few in every run, 200 by `make kill`.
func rounds(t *testing.T) int {
	t.Helper()
	if n, err := strconv.Atoi(os.Getenv("RAMET_KILL_ROUNDS")); err == nil {
		return n
	}
	if testing.Short() {
		return 3
	}
	return 15
}

func TestKillEmbedded(t *testing.T) {
	k := newKiller(t, filepath.Join(t.TempDir(), "board"))
	k.run(rounds(t), func(int) {})
}

func TestKillOnRedis(t *testing.T) {
	s := redistest.Start(t, "appendonly yes", "appendfsync always", "save \"\"")
	k := newKiller(t, s.URL())
	k.run(rounds(t), func(round int) {
		// At times the server dies as well.
		if round%4 == 3 {
			s.Kill()
			s.Restart()
		}
	})
}

// killer kills a node again and again and keeps the book of what was
// acknowledged.
type killer struct {
	*testing.T
	where string
	data  string
	rand  *rand.Rand
	acked map[string]bool
	told  string // the file of a witness; "" where there is none
}

func newKiller(t *testing.T, where string) *killer {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return &killer{T: t, where: where, data: t.TempDir(), rand: rand.New(rand.NewPCG(seed, 0)), acked: map[string]bool{}}
}

func (k *killer) run(rounds int, between func(round int)) {
	for round := range rounds {
		k.round(round)
		between(round)
	}
	k.Logf("%d jobs acknowledged over %d lives", len(k.acked), rounds)
	k.drain()
	k.verify()
}

// round is one life of the node: it is killed a random time after it began to
// work.
func (k *killer) round(round int) {
	k.Helper()
	node, lines := k.start(envFirst + "=" + strconv.Itoa(round*1_000_000+1))
	life := time.Duration(20+k.rand.IntN(280)) * time.Millisecond
	kill := sync.OnceFunc(func() { time.AfterFunc(life, func() { _ = node.Process.Kill() }) })
	ready := false
	for lines.Scan() {
		word, key, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "ready":
			ready = true
			kill()
		case "ack":
			k.acked[key] = true
		}
	}
	err := node.Wait()
	if st, ok := node.ProcessState.Sys().(syscall.WaitStatus); !ready || !ok || st.Signal() != syscall.SIGKILL {
		k.Fatalf("round %d: the node ended by itself: %v", round, err)
	}
}

func (k *killer) start(env ...string) (*exec.Cmd, *bufio.Scanner) {
	k.Helper()
	self, err := os.Executable()
	if err != nil {
		k.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), envBoard+"="+k.where, envData+"="+k.data)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		k.Fatal(err)
	}
	if err := leash.Start(cmd, syscall.SIGKILL); err != nil {
		k.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// drain lets a last node work until nothing is unfinished.
func (k *killer) drain() {
	k.Helper()
	if shared(k.where) {
		node, _ := k.start(envWitness + "=" + k.told)
		defer func() { _ = node.Process.Kill(); _ = node.Wait() }()
		b := k.open()
		defer b.Close()
		k.waitSettled(b)
		return
	}
	// The embedded board belongs to one process, so this node lives in ours.
	b := k.open()
	defer b.Close()
	n, err := newNode(k.Context(), b, k.data, k.told)
	if err != nil {
		k.Fatal(err)
	}
	ctx, stop := context.WithCancel(k.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = n.Run(ctx) })
	defer func() { stop(); running.Wait() }()
	k.waitSettled(b)
}

// waitSettled waits until nothing is marked as unfinished.
func (k *killer) waitSettled(b board.Board) {
	k.Helper()
	events, err := b.Watch(k.Context(), 1, layout.Finished)
	if err != nil {
		k.Fatal(err)
	}
	for quiet := 0; ; {
		left, err := b.Live(k.Context(), 1, board.LiveItem{}, 5)
		if err != nil {
			k.Fatal(err)
		}
		if len(left) == 0 {
			return
		}
		select {
		case <-events:
			quiet = 0
		case <-time.After(5 * time.Second): // what was half written is swept without a word
			if quiet++; quiet < 24 {
				continue
			}
			recs, _ := b.Get(context.Background(), 1, left[0].Item)
			k.Fatalf("does not drain: %v is still unfinished: %v", left, recs)
		}
	}
}

func (k *killer) open() board.Board {
	k.Helper()
	b, err := openBoard(k.Context(), k.where, nil)
	if err != nil {
		k.Fatal(err)
	}
	return b
}

// verify holds what is on the board against what was acknowledged.
func (k *killer) verify() {
	k.Helper()
	b := k.open()
	defer b.Close()
	ended := k.endedOnce(b)
	for key := range k.acked {
		if !ended[key] {
			recs, _ := b.Get(k.Context(), 1, key)
			k.Errorf("%s was acknowledged but has not ended: %v", key, recs)
		}
	}
	k.Logf("%d jobs ended, each once", len(ended))
}

// endedOnce reads the list of ended jobs: each end, and only it, puts its job
// there.
func (k *killer) endedOnce(b board.Board) map[string]bool {
	k.Helper()
	ended := map[string]bool{}
	const page = 1000
	for from := 0; ; from += page {
		keys, err := b.List(k.Context(), 1, layout.Finished, from, page)
		if err != nil {
			k.Fatal(err)
		}
		recs, err := b.Get(k.Context(), 1, keys...)
		if err != nil {
			k.Fatal(err)
		}
		for i, key := range keys {
			if ended[key] {
				k.Errorf("%s ended twice", key)
			}
			ended[key] = true
			if status := recs[i].Get(layout.JobStatus); status != string(domain.JobFinished) {
				k.Errorf("%s: status %q, reason %q, losses %s, want finished", key, status,
					recs[i].Get(layout.JobReason), recs[i].Get(layout.JobLosses))
			}
		}
		if len(keys) < page {
			return ended
		}
	}
}
