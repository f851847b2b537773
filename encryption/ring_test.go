package encryption_test

import (
	"context"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/encryption"
)

// key is a source with one key.
type key string

func (k key) Read(context.Context, string) (string, error) { return string(k), nil }

// open is the ring of context 7.
func open(t testing.TB) *encryption.Ring {
	b := memboard.Open()
	t.Cleanup(func() { b.Close() })
	k, err := encryption.Open(t.Context(), b, key(encryption.NewKEK()), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Encrypt(t.Context(), 7, "disk", 1); err != nil {
		t.Fatal(err)
	}
	ring, err := k.Of(7).Ring()
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func TestTheLongestValueFitsIntoAField(t *testing.T) {
	ring := open(t)
	sealed, err := ring.Seal("job:1:1", "script", strings.Repeat("x", encryption.MaxValue))
	if err != nil || len(sealed) > 1<<20 {
		t.Errorf("got %d bytes, %v", len(sealed), err)
	}
	if sealed, err = ring.Seal("job:1:1", "script", strings.Repeat("x", encryption.MaxValue+3)); err != nil || len(sealed) <= 1<<20 {
		t.Errorf("got %d bytes, %v: the limit could be higher", len(sealed), err)
	}
	if again, err := ring.Seal("job:1:1", "script", "tea"); err != nil || again == sealed || encryption.KeyOf(again) != ring.Primary {
		t.Errorf("got %q, %v", again, err)
	}
}

// Whatever somebody puts into the store, only what was sealed there opens.
func FuzzOpen(f *testing.F) {
	ring := open(f)
	sealed, err := ring.Seal("job:1:1", "script", "echo tea")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{sealed, sealed[:30], encryption.Mark, "echo tea", encryption.Mark + "AQAAAAAA", sealed + "=", sealed + "\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		encryption.KeyOf(value)
		plain, err := ring.Open("job:1:1", "script", value)
		switch {
		case !encryption.Sealed(value) && (err != nil || plain != value):
			t.Errorf("got %q, %v of a plain value", plain, err)
		case encryption.Sealed(value) && err == nil && plain != "echo tea":
			t.Errorf("%q opened as %q", value, plain)
		}
	})
}

func BenchmarkRing(b *testing.B) {
	ring := open(b)
	for name, size := range map[string]int{"100B": 100, "64KiB": 64 << 10} {
		value := strings.Repeat("x", size)
		b.Run("seal/"+name, func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := ring.Seal("job:1:1", "script", value); err != nil {
					b.Fatal(err)
				}
			}
		})
		sealed, _ := ring.Seal("job:1:1", "script", value)
		b.Run("open/"+name, func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := ring.Open("job:1:1", "script", sealed); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
