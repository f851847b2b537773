package natsstream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/natsstream"
)

// filesOf are those of the stream of [event].
const filesOf = "streams/jetstream/$G/streams/" + string(domain.AggregateEvents)

// harm does something to a file, at a part of it.
func harm(t *testing.T, dir, name string, change func(b []byte) []byte) {
	t.Helper()
	name = filepath.Join(dir, filesOf, name)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if b = change(b); b == nil {
		err = os.Remove(name)
	} else {
		err = os.WriteFile(name, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func flip(part float64) func([]byte) []byte {
	return func(b []byte) []byte {
		b[int(part*float64(len(b)-1))] ^= 0x40
		return b
	}
}

func half(b []byte) []byte { return b[:len(b)/2] }
func none([]byte) []byte   { return nil }

// filled is a folder with streams of 30 messages in three blocks: as a node left it
// that ended, and as it was while the node ran.
func filled(t *testing.T) (ended, killed string) {
	ended, killed = t.TempDir(), t.TempDir()
	l := open(t, natsstream.Config{DataDir: ended})
	var batch []stream.Message
	for i := range 30 {
		m := event(i)
		m.Data = bytes.Repeat([]byte{byte('a' + i)}, 600<<10)
		batch = append(batch, m)
	}
	for part := range slices.Chunk(batch, 6) {
		until(t, func(ctx context.Context) error { return l.Publish(ctx, part...) })
	}
	if err := os.CopyFS(killed, os.DirFS(ended)); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return ended, killed
}

// TestDamagedStreamsAreRefused harms each file of a stream. What was acknowledged is
// there, or the log is refused and says what is missing; and what can be read is read
// by who accepts the loss.
func TestDamagedStreamsAreRefused(t *testing.T) {
	t.Parallel()
	ended, killed := filled(t)
	for _, c := range []struct {
		name, file string
		change     func([]byte) []byte
		want       string // "": all is there
		gone       []int  // from, to
		ended      bool   // only what ended knows
	}{
		{"nothing", "msgs/1.blk", func(b []byte) []byte { return b }, "", nil, false},
		{"a byte in an early block", "msgs/1.blk", flip(.3), "1.blk cannot be read at byte 1843461; AGGREGATE_EVENTS is without message 4;", []int{4, 4}, false},
		{"the first byte", "msgs/1.blk", flip(0), "1.blk cannot be read at byte 0; AGGREGATE_EVENTS is without message 1;", []int{1, 1}, false},
		{"a byte in the last block", "msgs/3.blk", flip(.3), "AGGREGATE_EVENTS is without message 28;", []int{28, 28}, false},
		{"the last byte", "msgs/3.blk", flip(1), "AGGREGATE_EVENTS is without message 30;", []int{30, 30}, false},
		{"an early block cut", "msgs/1.blk", half, "AGGREGATE_EVENTS is without messages 7 to 13;", []int{7, 13}, false},
		{"the last block cut", "msgs/3.blk", half, "AGGREGATE_EVENTS is without messages 29 to 30;", []int{29, 30}, true},
		{"no first block", "msgs/1.blk", none, "AGGREGATE_EVENTS is without messages 1 to 13;", []int{1, 13}, false},
		{"no second block", "msgs/2.blk", none, "AGGREGATE_EVENTS is without messages 14 to 26;", []int{14, 26}, false},
		{"no last block", "msgs/3.blk", none, "AGGREGATE_EVENTS is without messages 27 to 30;", []int{27, 30}, true},
		{"a byte of the index", "msgs/index.db", flip(.5), "", nil, true},
		{"no index", "msgs/index.db", none, "", nil, true},
		{"no meta file", "meta.inf", none, "what says that there is a stream AGGREGATE_EVENTS:", []int{}, false},
		{"a byte of the meta file", "meta.inf", flip(.5), "meta.inf is not what meta.sum says", []int{}, false},
	} {
		for _, from := range []string{ended, killed} {
			if c.ended && from == killed {
				continue
			}
			t.Run(fmt.Sprintf("%s, ended: %t", c.name, from == ended), func(t *testing.T) {
				dir := t.TempDir()
				if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
					t.Fatal(err)
				}
				harm(t, dir, c.file, c.change)
				if c.want == "" {
					wantEvents(t, dir, nil)
					return
				}
				_, err := natsstream.Open(t.Context(), natsstream.Config{DataDir: dir})
				if !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--accept-loss") {
					t.Fatalf("got %v, want a refusal that says %q", err, c.want)
				}
				l := open(t, natsstream.Config{DataDir: dir, AcceptLoss: true})
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				if lost := strings.Join(l.Lost(), "; ") + ";"; !strings.Contains(lost, c.want) {
					t.Errorf("got %q as lost, want %q", lost, c.want)
				}
				wantEvents(t, dir, c.gone)
			})
		}
	}
}

// wantEvents opens the log and wants all messages but those that are gone, and the
// next to get a number of its own.
func wantEvents(t *testing.T, dir string, gone []int) {
	t.Helper()
	l := open(t, natsstream.Config{DataDir: dir})
	defer l.Close()
	until(t, func(ctx context.Context) error { return l.Publish(ctx, event(99)) })
	var want []uint64
	for seq := 1; seq <= 31; seq++ {
		if len(gone) == 0 || seq < gone[0] || seq > gone[1] {
			want = append(want, uint64(seq))
		}
	}
	var got []uint64
	until(t, func(ctx context.Context) error {
		list, err := l.Scan(ctx, domain.AggregateEvents, nil, 1, 40)
		got = nil
		for _, m := range list {
			got = append(got, m.Seq)
		}
		return err
	})
	if !slices.Equal(got, want) {
		t.Errorf("got messages %v, want %v", got, want)
	}
}

// TestWhatWasTrimmedIsNoDamage: messages that were let go are missing by right.
func TestWhatWasTrimmedIsNoDamage(t *testing.T) {
	t.Parallel()
	dir, killed := t.TempDir(), t.TempDir()
	l := open(t, natsstream.Config{DataDir: dir})
	for i := range 20 {
		until(t, func(ctx context.Context) error { return l.Publish(ctx, event(i)) })
	}
	until(t, func(ctx context.Context) error { return l.Trim(ctx, domain.AggregateEvents, "aggregate.account.3", 15) })
	until(t, func(ctx context.Context) error { return l.Trim(ctx, domain.AggregateEvents, "", 5) })
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{dir, killed} {
		open(t, natsstream.Config{DataDir: dir})
	}
}

// TestWhatMayBeLostIsGivenUp: streams that do not sync lose their end in a power cut,
// and go on by themselves.
func TestWhatMayBeLostIsGivenUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := open(t, natsstream.Config{DataDir: dir, MayLose: true})
	for i := range 20 {
		until(t, func(ctx context.Context) error { return l.Publish(ctx, event(i)) })
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	harm(t, dir, "msgs/1.blk", half)
	if _, err := natsstream.Open(t.Context(), natsstream.Config{DataDir: dir}); !errors.Is(err, domain.ErrUnavailable) {
		t.Fatalf("got %v of streams that may lose nothing, want unavailable", err)
	}
	if lost := open(t, natsstream.Config{DataDir: dir, MayLose: true}).Lost(); len(lost) == 0 {
		t.Error("got nothing as lost")
	}
}

// TestNoByteOfABlockChangesUnseen flips each byte of a block. Nothing is read over but
// the length of the very last record, which a power cut may have left so.
func TestNoByteOfABlockChangesUnseen(t *testing.T) {
	t.Parallel()
	dir, killed := t.TempDir(), t.TempDir()
	l := open(t, natsstream.Config{DataDir: dir})
	for i := range 5 {
		until(t, func(ctx context.Context) error { return l.Publish(ctx, event(i)) })
	}
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	block := filepath.Join(killed, filesOf, "msgs/1.blk")
	whole, err := os.ReadFile(block)
	if err != nil {
		t.Fatal(err)
	}
	last := len(whole) - bytes.LastIndex(whole, []byte("aggregate.account.")) + 22 // bytes of the last record
	if texts, err := natsstream.Damage(killed); err != nil || len(texts) > 0 {
		t.Fatalf("got %v, %v of what is whole", texts, err)
	}
	for at := range whole {
		for _, bit := range []byte{1, 0x80} {
			bad := bytes.Clone(whole)
			bad[at] ^= bit
			if err := os.WriteFile(block, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			texts, err := natsstream.Damage(killed)
			if err != nil {
				t.Fatal(err)
			}
			if end := at - (len(whole) - last); len(texts) == 0 && (end < 0 || end > 3) {
				t.Errorf("bit %x of byte %d of %d, %d from the last record's begin on: nothing is said", bit, at, len(whole), end)
			}
		}
	}
}
