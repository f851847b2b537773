// Package artifacttest proves that a driver keeps the contract of package artifact. A
// driver's own test file is about 20 lines:
//
//	func TestStore(t *testing.T) { artifacttest.Run(t, open) }
package artifacttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/artifact"
	"github.com/ramet-run/ramet/domain"
)

// Factory makes an empty store. The suite closes it.
type Factory func(t *testing.T) artifact.Store

// Run runs the whole suite.
func Run(t *testing.T, open Factory) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, s artifact.Store)
	}{
		{"what is put is read, whatever its size", sizes},
		{"it is read from any place on", offsets},
		{"what is large is never in memory", large},
		{"contexts see nothing of each other", contexts},
		{"all blobs are listed, each once", listed},
		{"what was put again is young, and stays", young},
		{"what is no sum, or not there, is said so", strange},
		{"many put the same at once, while it is removed", together},
		{"a source that cannot be read leaves nothing", broken},
		{"what takes too long is left off", cancelled},
		{"a manifest is read as it was written", manifest},
		{"it checks itself, and says where it is", checks},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			t.Cleanup(func() { s.Close() })
			c.run(t, s)
		})
	}
}

func put(t *testing.T, s artifact.Store, of domain.TenantID, data []byte) artifact.Blob {
	t.Helper()
	b, err := s.Put(t.Context(), of, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if want, size, _ := artifact.Sum(t.Context(), bytes.NewReader(data)); b.Sum != want || b.Size != size {
		t.Fatalf("got %+v, want sum %s of %d bytes", b, want, size)
	}
	return b
}

func noise(n int) []byte {
	data := make([]byte, n)
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

func sizes(t *testing.T, s artifact.Store) {
	for _, n := range []int{0, 1, 255, 64 << 10, 9 << 20} {
		data := noise(n)
		b := put(t, s, 7, data)
		r, err := artifact.Read(t.Context(), s, 7, b.Sum)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		r.Close()
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes: got %d back, %v", n, len(got), err)
		}
	}
}

func offsets(t *testing.T, s artifact.Store) {
	data := noise(1000)
	b := put(t, s, 7, data)
	for _, from := range []int64{0, 1, 999, 1000} {
		r, blob, err := s.Open(t.Context(), 7, b.Sum, from)
		if err != nil {
			t.Fatalf("from %d: %v", from, err)
		}
		got, err := io.ReadAll(r)
		r.Close()
		if err != nil || !bytes.Equal(got, data[from:]) || blob.Size != 1000 {
			t.Errorf("from %d: got %d bytes of %d, %v", from, len(got), blob.Size, err)
		}
	}
}

func contexts(t *testing.T, s artifact.Store) {
	b := put(t, s, 7, []byte("secret"))
	if _, _, err := s.Open(t.Context(), 8, b.Sum, 0); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("got %v, want not found", err)
	}
	for other, err := range s.Blobs(t.Context(), 8) {
		t.Errorf("got %v, %v in the other context", other, err)
	}
	if gone, err := s.Delete(t.Context(), 8, b.Sum, time.Now().Add(time.Hour)); gone || err != nil {
		t.Errorf("removed there: %v, %v", gone, err)
	}
	if list := blobs(t, s, 7); len(list) != 1 {
		t.Errorf("got %v", list)
	}
}

func blobs(t *testing.T, s artifact.Store, of domain.TenantID) map[string]artifact.Blob {
	t.Helper()
	list := map[string]artifact.Blob{}
	for b, err := range s.Blobs(t.Context(), of) {
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := list[b.Sum]; twice {
			t.Errorf("%s comes twice", b.Sum)
		}
		list[b.Sum] = b
	}
	return list
}

func listed(t *testing.T, s artifact.Store) {
	want := map[string]bool{}
	for i := range 40 {
		want[put(t, s, 7, fmt.Append(nil, i%30)).Sum] = true
	}
	got := blobs(t, s, 7)
	if !maps.EqualFunc(want, got, func(bool, artifact.Blob) bool { return true }) {
		t.Errorf("got %d, want %d", len(got), len(want))
	}
	for _, b := range got {
		if since := time.Since(b.At); since < -time.Minute || since > time.Hour || b.Size == 0 {
			t.Fatalf("got %+v", b)
		}
	}
	for range s.Blobs(t.Context(), 7) {
		break // who has enough may stop
	}
}

func young(t *testing.T, s artifact.Store) {
	b := put(t, s, 7, []byte("again"))
	first := blobs(t, s, 7)[b.Sum].At
	for blobs(t, s, 7)[b.Sum].At.Equal(first) { // clocks of stores count in seconds, at worst
		put(t, s, 7, []byte("again"))
	}
	if gone, err := s.Delete(t.Context(), 7, b.Sum, first.Add(time.Nanosecond)); gone || err != nil {
		t.Errorf("removed: %v, %v", gone, err)
	}
	if gone, err := s.Delete(t.Context(), 7, b.Sum, time.Now().Add(time.Hour)); !gone || err != nil {
		t.Errorf("not removed: %v, %v", gone, err)
	}
	if gone, err := s.Delete(t.Context(), 7, b.Sum, time.Now().Add(time.Hour)); gone || err != nil {
		t.Errorf("removed again: %v, %v", gone, err)
	}
	if _, _, err := s.Open(t.Context(), 7, b.Sum, 0); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	put(t, s, 7, []byte("again"))
	if len(blobs(t, s, 7)) != 1 {
		t.Error("what was removed cannot be put again")
	}
}

func strange(t *testing.T, s artifact.Store) {
	for _, sum := range []string{"", "../../etc/passwd", "AB", strings.Repeat("A", 64), strings.Repeat("0", 63) + "/", strings.Repeat("0", 65)} {
		if _, _, err := s.Open(t.Context(), 7, sum, 0); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("open %q: got %v", sum, err)
		}
		if _, err := s.Delete(t.Context(), 7, sum, time.Now()); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("delete %q: got %v", sum, err)
		}
	}
	if _, _, err := s.Open(t.Context(), 7, strings.Repeat("0", 64), 0); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// together has some put what others try to remove as long as it is old: whoever has put
// it finds it.
func together(t *testing.T, s artifact.Store) {
	data := []byte("wanted")
	old := time.Now().Add(-time.Hour)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 10 {
				b, err := s.Put(t.Context(), 7, bytes.NewReader(data))
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := s.Delete(t.Context(), 7, b.Sum, old); err != nil {
					t.Error(err)
				}
				r, _, err := s.Open(t.Context(), 7, b.Sum, 0)
				if err != nil {
					t.Error(err)
					return
				}
				r.Close()
			}
		})
	}
	all.Wait()
}

var errBroken = errors.New("cannot be read")

// brokenSource fails behind its first bytes, at the second reading where that is said.
type brokenSource struct {
	bytes.Reader
	seeks, fails int
}

func (b *brokenSource) Seek(at int64, whence int) (int64, error) {
	b.seeks++
	return b.Reader.Seek(at, whence)
}

func (b *brokenSource) Read(p []byte) (int, error) {
	if b.seeks >= b.fails && b.Len() < 500 {
		return 0, errBroken
	}
	return b.Reader.Read(p[:min(len(p), 100)])
}

func broken(t *testing.T, s artifact.Store) {
	src := &brokenSource{fails: 1}
	src.Reset(noise(1000))
	if _, err := s.Put(t.Context(), 7, src); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
	if list := blobs(t, s, 7); len(list) > 0 {
		t.Errorf("got %v", list)
	}
}

func cancelled(t *testing.T, s artifact.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Put(ctx, 7, bytes.NewReader(noise(1<<20))); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if list := blobs(t, s, 7); len(list) > 0 {
		t.Errorf("got %v", list)
	}
}

func manifest(t *testing.T, s artifact.Store) {
	one := put(t, s, 7, []byte("x"))
	var files []domain.Artifact
	for i := range 3000 {
		files = append(files, domain.Artifact{Path: fmt.Sprintf("dist/%04d & <ünï>", 3000-i), Size: one.Size, SHA256: one.Sum, Mode: 0o644})
	}
	b, err := s.Put(t.Context(), 7, artifact.Manifest(files))
	if err != nil {
		t.Fatal(err)
	}
	var got []domain.Artifact
	for f, err := range artifact.Files(t.Context(), s, 7, b.Sum) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, f)
	}
	if !slices.Equal(got, files) || got[0].Path != "dist/0001 & <ünï>" {
		t.Errorf("got %d of %d", len(got), len(files))
	}
	x := put(t, s, 7, []byte("no manifest\n"))
	for _, err := range artifact.Files(t.Context(), s, 7, x.Sum) {
		if !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("got %v", err)
		}
	}
}

func checks(t *testing.T, s artifact.Store) {
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if s.Where() == "" {
		t.Error("it does not say where it is")
	}
}
