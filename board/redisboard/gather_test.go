package redisboard_test

import (
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/internal/redistest"
)

// Batches of one call that are alike go to the server as differences: what is
// written and who is refused must not depend on their neighbours.
func TestBatchesOfOneCallKeepTheirOwnValuesAndVerdicts(t *testing.T) {
	t.Parallel()
	b := open(t, redistest.Start(t), redisboard.Config{})
	const n = 200
	want := map[string]string{}
	var batches []board.Batch
	for i := range n {
		key := "r:" + strconv.Itoa(i/2*2) // every second meets the one before: refused
		value := strconv.Itoa(i)
		var batch board.Batch
		batch.Absent(key).Set(key, board.Field{Name: "v", Value: value})
		if i%7 == 0 {
			batch.PushLeft("other", value) // not like its neighbours
		}
		if i%2 == 0 {
			want[key] = value
		}
		batches = append(batches, batch)
	}
	var refused []int
	for i, err := range b.CommitEach(t.Context(), batches) {
		if err != nil {
			refused = append(refused, i)
		}
	}
	var odd []int
	for i := 1; i < n; i += 2 {
		odd = append(odd, i)
	}
	if diff := cmp.Diff(odd, refused); diff != "" {
		t.Errorf("refused batches (-want +got):\n%s", diff)
	}
	got := map[string]string{}
	for key := range want {
		recs, err := b.Get(t.Context(), 0, key)
		if err != nil {
			t.Fatal(err)
		}
		got[key] = recs[0].Get("v")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestNumbersDrawnAtOnceAreEachGivenOnce(t *testing.T) {
	t.Parallel()
	b := open(t, redistest.Start(t), redisboard.Config{})
	var mu sync.Mutex
	var got []int64
	each(16, func() {
		for i := range 50 {
			n := 1 + i%3
			first, err := b.Next(t.Context(), 0, "ramet:seq:job:1", n)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			for k := range n {
				got = append(got, first+int64(k))
			}
			mu.Unlock()
		}
	})
	slices.Sort(got)
	for i, number := range got {
		if number != int64(i+1) {
			t.Fatalf("number %d in order is %d, want %d: none twice, none left out", i+1, number, i+1)
		}
	}
}
