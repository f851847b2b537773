package artifacttest

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"runtime"
	"testing"

	"github.com/ramet-run/ramet/artifact"
)

const (
	// largeBytes is the size of the large blob. With $RAMET_LARGE_ARTIFACTS it is hugeBytes, which does not fit
	// into 32 bits, nor into one part of S3: `make large`.
	largeBytes = 96<<20 + 17
	hugeBytes  = 5<<30 + 17
	// largeHeap is how much more may be in memory while it is put and read.
	largeHeap = 48 << 20
	// stripe is how often its bytes say where they are.
	stripe = 4 << 10
	// looks is how often the memory is looked at on the way.
	looks = 4
)

func large(t *testing.T, s artifact.Store) {
	size := int64(largeBytes)
	if os.Getenv("RAMET_LARGE_ARTIFACTS") != "" {
		size = hugeBytes
	}
	bound := heap() + largeHeap
	look := func() {
		if is := heap(); is > bound {
			t.Errorf("%d MiB are in memory, the bound is %d", is>>20, bound>>20)
		}
	}
	b, err := s.Put(t.Context(), 7, &stripes{size: size, look: look})
	if err != nil || b.Size != size {
		t.Fatalf("got %+v, %v, want %d bytes", b, err, size)
	}
	r, err := artifact.Read(t.Context(), s, 7, b.Sum)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n, err := io.Copy(&watched{every: size / looks, look: look}, r)
	if err != nil || n != size {
		t.Errorf("read %d bytes, %v, want %d", n, err, size)
	}
	const end = 3*stripe + 17 // behind what 32 bits can count, where it is huge
	last, _, err := s.Open(t.Context(), 7, b.Sum, size-end)
	if err != nil {
		t.Fatal(err)
	}
	defer last.Close()
	got, err := io.ReadAll(last)
	src := &stripes{size: size, at: size - end}
	want := make([]byte, end)
	if _, readErr := io.ReadFull(src, want); readErr != nil {
		t.Fatal(readErr)
	}
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("its end: got %d bytes, %v, or others", len(got), err)
	}
}

// heap is what is in memory and used.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// stripes are size bytes that are made as they are read: zeros, and where they are at the beginning of each stripe.
type stripes struct {
	size, at int64
	look     func() // is called now and then; nil: never
	looked   int64
}

func (s *stripes) Read(p []byte) (int, error) {
	if s.at == s.size {
		return 0, io.EOF
	}
	n := min(int64(len(p)), s.size-s.at)
	clear(p[:n])
	var stamp [8]byte
	for block := s.at / stripe; block*stripe < s.at+n; block++ {
		binary.LittleEndian.PutUint64(stamp[:], uint64(block))
		for i, c := range stamp {
			if at := block*stripe + int64(i) - s.at; at >= 0 && at < n {
				p[at] = c
			}
		}
	}
	if s.at += n; s.look != nil && s.at-s.looked > s.size/looks {
		s.looked = s.at
		s.look()
	}
	return int(n), nil
}

func (s *stripes) Seek(at int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		at += s.at
	case io.SeekEnd:
		at += s.size
	}
	s.at, s.looked = at, at
	return at, nil
}

// watched looks each time that so many bytes were written to it.
type watched struct {
	every, since int64
	look         func()
}

func (w *watched) Write(p []byte) (int, error) {
	if w.since += int64(len(p)); w.since >= w.every {
		w.since = 0
		w.look()
	}
	return len(p), nil
}
