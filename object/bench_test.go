package object_test

import (
	"fmt"
	"testing"

	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/domain"
)

// BenchmarkFind reads one of many objects by an index: its cost must not grow
// with their number.
func BenchmarkFind(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			pebble, err := pebbleboard.Open(b.TempDir(), pebbleboard.Config{})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { pebble.Close() })
			s := openStore(b, pebble)
			if err := s.Index(b.Context(), people(admin), "n"); err != nil {
				b.Fatal(err)
			}
			fill(b, s, n)
			for i := 0; b.Loop(); i++ {
				found := 0
				q := domain.ObjectQuery{Where: map[string]string{"n": fmt.Sprint(i % n)}}
				err := s.Scan(b.Context(), people(reader), q, func(domain.Object) (bool, error) { found++; return true, nil })
				if err != nil || found != 1 {
					b.Fatal(found, err)
				}
			}
		})
	}
}

// BenchmarkUpdate changes an indexed field of one object.
func BenchmarkUpdate(b *testing.B) {
	pebble, err := pebbleboard.Open(b.TempDir(), pebbleboard.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { pebble.Close() })
	s := openStore(b, pebble)
	if err := s.Index(b.Context(), people(admin), "n"); err != nil {
		b.Fatal(err)
	}
	fill(b, s, 1)
	for i := 0; b.Loop(); i++ {
		if _, err := s.Change(b.Context(), people(admin), 1, data(fmt.Sprintf(`{"n":%d}`, i))); err != nil {
			b.Fatal(err)
		}
	}
}
