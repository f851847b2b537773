package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/artifact"
	"github.com/ramet-run/ramet/artifact/folderstore"
	"github.com/ramet-run/ramet/backup"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// living puts something of every kind onto a board: what waits, what runs, what expires.
func living(t *testing.T, b board.Board) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	set := func(name, value string) board.Field { return board.Field{Name: name, Value: value} }
	must(b.Commit(t.Context(), *new(board.Batch).Include(layout.Contexts, "7", "8").Set("ramet:identity", set("id", "B1"), set("step", "4")).
		Set(layout.Node("n1"), set(layout.NodeSeen, "0"))))
	for space := board.Space(7); space <= 8; space++ {
		for i := range 300 {
			key := fmt.Sprintf("job:1:%d", i)
			must(b.Commit(t.Context(), *(&board.Batch{Space: space}).Set(key, set("status", "dispatched"), set("script", strings.Repeat("\x00ü", i))).
				PushLeft("queue:python", key).Live(key, now.Add(time.Duration(i)*time.Millisecond)).SetAlarm("start:"+key, now.Add(time.Hour))))
		}
		long := board.Batch{Space: space}
		for i := range 700 {
			long.PushRight("ramet:logs:job:1:1", fmt.Sprint("line ", i))
			if len(long.Ops) == 1000 {
				break
			}
		}
		must(b.Commit(t.Context(), long))
		must(b.Commit(t.Context(), *(&board.Batch{Space: space}).Include("set", "", "a", "b").Set("brief", set("a", "1")).Expire("brief", time.Hour).
			Set("gone", set("a", "1")).Expire("gone", time.Millisecond).Set(board.LimitsKey, set("max", "5"))))
		_, err := b.Next(t.Context(), space, layout.Seq("job", 1), 300)
		must(err)
	}
	got, err := b.Claim(t.Context(), board.Ask{Queues: []board.Queue{{Lists: []string{"queue:python"}}}, Owner: "n1/1", Lease: time.Hour, Max: 9,
		Stamp: []string{"started_ms"}})
	must(err)
	if len(got) != 9 {
		t.Fatalf("claimed %d, want 9", len(got))
	}
	_, err = b.Occupy(t.Context(), 0, layout.Routine("leases"), "n1/1", time.Hour)
	must(err)
}

// written is a backup of a board.
func written(t *testing.T, b board.Board) []byte {
	t.Helper()
	var to bytes.Buffer
	s, err := backup.Write(t.Context(), &to, backup.Source{Board: b, Head: backup.Head{Kind: "memory", Node: "n1", Program: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	if s.Leases != 9 || s.Lists < 4 || s.Sets != 3 || s.Alarms != 600 || s.Live != 600 {
		t.Errorf("got %+v", s)
	}
	return to.Bytes()
}

func drivers() map[string]func(t *testing.T) board.Board {
	return map[string]func(t *testing.T) board.Board{
		"memory": func(*testing.T) board.Board { return memboard.Open() },
		"embedded": func(t *testing.T) board.Board {
			b, err := pebbleboard.Open(t.TempDir(), pebbleboard.Config{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { b.Close() })
			return b
		},
	}
}

// TestRestored: whatever lay on a board lies on the restored one; who ran is run again with
// a new attempt; no number comes twice.
func TestRestored(t *testing.T) {
	for from, open := range drivers() {
		for to, openTo := range drivers() {
			t.Run(from+" to "+to, func(t *testing.T) {
				src, dst := open(t), openTo(t)
				living(t, src)
				text := written(t, src)
				if _, err := backup.Verify(t.Context(), bytes.NewReader(text), nil); err != nil {
					t.Fatal(err)
				}
				if _, err := backup.Restore(t.Context(), bytes.NewReader(text), backup.Target{Board: dst}); err != nil {
					t.Fatal(err)
				}
				lapsed(t, dst)
				if n, err := dst.Next(t.Context(), 7, layout.Seq("job", 1), 1); err != nil || n < 1_000_000 {
					t.Errorf("the next number is %d, %v; want one far beyond 300", n, err)
				}
				recs, err := dst.Get(t.Context(), 0, board.EpochKey, layout.Restoring)
				if e := board.EpochOf(recs[0]); err != nil || e.Number != 1 || !strings.Contains(e.Cause, "backup") || recs[1] != nil {
					t.Errorf("got epoch %+v, and %v, %v", e, recs[1], err)
				}
			})
		}
	}
}

// lapsed wants the nine that ran to have run out with the tokens that they had.
func lapsed(t *testing.T, b board.Board) {
	t.Helper()
	list, err := b.Expired(t.Context(), 100, 30*time.Second)
	if err != nil || len(list) != 9 {
		t.Fatalf("got %d leases that have run out, %v; want 9", len(list), err)
	}
	for _, l := range list {
		if l.Token != 1 {
			t.Errorf("%s has token %d, want 1", l.Item, l.Token)
		}
		if err := b.Commit(t.Context(), *(&board.Batch{Space: l.Space}).Held(l.Item, "n1/1", 1).Release(l.Item)); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("who had %s could end it: %v", l.Item, err)
		}
		if err := b.Commit(t.Context(), *(&board.Batch{Space: l.Space}).Lapsed(l.Item, 1).Release(l.Item).PushRight("queue:python", l.Item)); err != nil {
			t.Error(err)
		}
	}
	if n, err := b.Len(t.Context(), 7, "queue:python"); err != nil || n[0] < 290 {
		t.Errorf("got %v in the queue, %v", n, err)
	}
}

// TestDamaged: each byte of a backup counts, and so does its end.
func TestDamaged(t *testing.T) {
	src := memboard.Open()
	living(t, src)
	text := written(t, src)
	for at := 0; at < len(text); at += 1 + len(text)/60 {
		bad := bytes.Clone(text)
		bad[at] ^= 0x10
		if _, err := backup.Verify(t.Context(), bytes.NewReader(bad), nil); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("byte %d of %d changed: got %v", at, len(text), err)
		}
		if _, err := backup.Verify(t.Context(), bytes.NewReader(text[:at]), nil); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("cut at %d of %d: got %v", at, len(text), err)
		}
	}
	for _, c := range []struct{ text, want string }{
		{string(text) + "x", "behind the end"},
		{"ramet backup 2\nxxxx", "a newer Ramet"},
		{"PK\x03\x04 some other file", "no backup of Ramet"},
		{"", "the backup is empty"},
		{"age-encryption.org/v1\n-> X25519", "encrypted"},
	} {
		if _, err := backup.Verify(t.Context(), strings.NewReader(c.text), nil); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q: got %v, want %q", c.text, err, c.want)
		}
	}
}

// TestHalf: no node starts on a board that was filled half, and it can be filled again.
func TestHalf(t *testing.T) {
	src, dst := memboard.Open(), memboard.Open()
	living(t, src)
	text := written(t, src)
	cut := bytes.NewReader(text[:len(text)-100])
	if _, err := backup.Restore(t.Context(), cut, backup.Target{Board: dst, From: "x.backup"}); !errors.Is(err, domain.ErrInvalid) {
		t.Fatalf("got %v", err)
	}
	if err := backup.Unfinished(t.Context(), dst); !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "x.backup") {
		t.Errorf("got %v", err)
	}
	if _, err := backup.Restore(t.Context(), bytes.NewReader(text), backup.Target{Board: dst}); err != nil {
		t.Fatal(err)
	}
	if err := backup.Unfinished(t.Context(), dst); err != nil {
		t.Error(err)
	}
	lapsed(t, dst)
}

// TestNotEmpty: what is on a board is not lost without a word.
func TestNotEmpty(t *testing.T) {
	src, dst := memboard.Open(), memboard.Open()
	living(t, src)
	text := written(t, src)
	if err := dst.Commit(t.Context(), *(&board.Batch{Space: 9}).Set("job:1:1", board.Field{Name: "a", Value: "1"}).SetAlarm("old", time.Now())); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Restore(t.Context(), bytes.NewReader(text), backup.Target{Board: dst}); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("over a board that has something: got %v", err)
	}
	if _, err := backup.Restore(t.Context(), bytes.NewReader(text), backup.Target{Board: dst, Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	if recs, err := dst.Get(t.Context(), 9, "job:1:1"); err != nil || recs[0] != nil {
		t.Errorf("got %v, %v", recs, err)
	}
	seen := new(board.Batch).Set(layout.Node("n1"), board.Field{Name: layout.NodeSeen, Value: fmt.Sprint(time.Now().UnixMilli())})
	if err := dst.Commit(t.Context(), *seen); err != nil {
		t.Fatal(err)
	}
	_, err := backup.Restore(t.Context(), bytes.NewReader(text), backup.Target{Board: dst, Overwrite: true})
	if !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "node n1") {
		t.Errorf("over a board in use: got %v", err)
	}
}

// TestCopied: a copy has no new epoch, and goes on with the very next number.
func TestCopied(t *testing.T) {
	for name, open := range drivers() {
		t.Run(name, func(t *testing.T) {
			src, dst := memboard.Open(), open(t)
			living(t, src)
			if _, err := backup.Copy(t.Context(), backup.Side{Board: src, Name: "mem:"}, backup.Side{Board: dst}, false, nil); err != nil {
				t.Fatal(err)
			}
			lapsed(t, dst)
			if n, err := dst.Next(t.Context(), 7, layout.Seq("job", 1), 1); err != nil || n != 301 {
				t.Errorf("the next number is %d, %v; want 301", n, err)
			}
			if recs, err := dst.Get(t.Context(), 0, board.EpochKey); err != nil || recs[0] != nil {
				t.Errorf("got epoch %v, %v", recs[0], err)
			}
		})
	}
}

// TestArtifacts: files that jobs left come back as they were; one that was damaged in the store
// already is named, keeps nobody from the rest, and comes back to nobody.
func TestArtifacts(t *testing.T) {
	src := memboard.Open()
	living(t, src)
	dir := t.TempDir()
	store := openFolder(t, dir)
	large := make([]byte, 1<<20) // it lies in the backup as it is, for nothing makes it smaller
	_, _ = rand.NewChaCha8([32]byte{}).Read(large)
	kept := map[string][]byte{}
	for _, data := range [][]byte{large, []byte("a report"), {}} {
		b, err := store.Put(t.Context(), 7, bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		kept[b.Sum] = data
	}
	bad, err := store.Put(t.Context(), 8, strings.NewReader("to be damaged"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "8", bad.Sum[:2], bad.Sum)
	if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte("was damaged  "), 0o400)); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	wrote, err := backup.Write(t.Context(), &text, backup.Source{Board: src, Artifacts: store})
	if err != nil {
		t.Fatal(err)
	}
	s, err := backup.Verify(t.Context(), bytes.NewReader(text.Bytes()), nil)
	named := []string{bad.Sum + " of context 8"}
	if err != nil || s.Artifacts != 4 || !slices.Equal(s.Damaged, named) || !slices.Equal(wrote.Damaged, named) {
		t.Fatalf("got %+v, %v; want %s to be named", s, err, named)
	}

	_, err = backup.Restore(t.Context(), bytes.NewReader(text.Bytes()), backup.Target{Board: memboard.Open()})
	if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "artifacts: none") {
		t.Errorf("without a place for them: got %v", err)
	}
	if _, err := backup.Restore(t.Context(), bytes.NewReader(text.Bytes()), backup.Target{Board: memboard.Open(), NoArtifacts: true}); err != nil {
		t.Error(err)
	}
	to := openFolder(t, t.TempDir())
	target := backup.Target{Board: memboard.Open(), Artifacts: to, Folder: t.TempDir()}
	if _, err := backup.Restore(t.Context(), bytes.NewReader(text.Bytes()), target); err != nil {
		t.Fatal(err)
	}
	for sum, want := range kept {
		r, err := artifact.Read(t.Context(), to, 7, sum)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes, %v; want %d", sum, len(got), err, len(want))
		}
		r.Close()
	}
	for b, err := range to.Blobs(t.Context(), 8) {
		t.Errorf("what was damaged is there as %+v, %v", b, err)
	}

	// What is damaged in the backup itself says which artifact it is in.
	broken := text.Bytes()
	broken[bytes.Index(broken, large[1000:1100])] ^= 1
	_, err = backup.Verify(t.Context(), bytes.NewReader(broken), nil)
	if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "in the artifact ") {
		t.Errorf("got %v, want the artifact named", err)
	}
}

// TestMissingArtifacts: a file that a job left and the store has lost is named, and keeps nobody from
// the rest; one that went with its job is none.
func TestMissingArtifacts(t *testing.T) {
	src := &sweeping{Board: memboard.Open()}
	living(t, src)
	dir := t.TempDir()
	store := openFolder(t, dir)
	put := func(data io.ReadSeeker) string {
		t.Helper()
		b, err := store.Put(t.Context(), 7, data)
		if err != nil {
			t.Fatal(err)
		}
		return b.Sum
	}
	lose := func(sum string) {
		t.Helper()
		if err := os.Remove(filepath.Join(dir, "7", sum[:2], sum)); err != nil {
			t.Fatal(err)
		}
	}
	left := map[domain.JobID]string{} // manifests
	for job := domain.JobID(1); job <= 4; job++ {
		report := put(strings.NewReader(fmt.Sprint("report ", job)))
		kept := put(strings.NewReader("kept"))
		left[job] = put(artifact.Manifest([]domain.Artifact{{Path: "dist/report", SHA256: report, Size: 8}, {Path: "kept", SHA256: kept, Size: 4}}))
		set := &domain.ArtifactSet{Job: domain.JobKey{Caller: 1, ID: job}, Manifest: left[job], Files: 2, Bytes: 12}
		b := &board.Batch{Space: 7}
		b.Set(layout.Artifacts(set.Job), layout.EncodeArtifacts(set)...).Include(layout.ArtifactIndex, layout.ArtifactMember(set))
		if err := src.Commit(t.Context(), *b); err != nil {
			t.Fatal(err)
		}
		if job == 2 || job == 4 {
			lose(report)
		}
	}
	lose(left[3])
	src.swept = layout.Artifacts(domain.JobKey{Caller: 1, ID: 4})
	var text bytes.Buffer
	wrote, err := backup.Write(t.Context(), &text, backup.Source{Board: src, Artifacts: store})
	if err != nil {
		t.Fatal(err)
	}
	read, err := backup.Verify(t.Context(), bytes.NewReader(text.Bytes()), nil)
	if err != nil || !slices.Equal(read.Missing, wrote.Missing) || len(read.Damaged) > 0 {
		t.Errorf("got %+v, %v; want what was written", read, err)
	}
	if len(wrote.Missing) != 2 || !strings.HasPrefix(wrote.Missing[0], `"dist/report" of job:1:2 of context 7 (`) ||
		!strings.HasPrefix(wrote.Missing[1], "the list of all files of job:1:3 of context 7 ("+left[3]) {
		t.Errorf("named %q", wrote.Missing)
	}
	if _, err := backup.Restore(t.Context(), bytes.NewReader(text.Bytes()),
		backup.Target{Board: memboard.Open(), Artifacts: openFolder(t, t.TempDir()), Folder: t.TempDir()}); err != nil {
		t.Error(err)
	}
}

// sweeping is a board of which a record goes as soon as it was read whole.
type sweeping struct {
	board.Board
	swept string
}

func (s *sweeping) Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error) {
	recs, err := s.Board.Get(ctx, space, keys...)
	if len(keys) == 1 && keys[0] == s.swept {
		return []board.Record{nil}, err
	}
	return recs, err
}

// TestSealed: who restores is told how many secrets want a key that is not in the backup.
func TestSealed(t *testing.T) {
	src := memboard.Open()
	living(t, src)
	b := board.Batch{Space: 7}
	for key, fields := range map[string][2]string{
		layout.Secret("own"):   {layout.SecretSealed, layout.SecretKey},
		layout.Webhook("own"):  {layout.WebhookSecret, layout.WebhookSecretKey},
		layout.Secret("disk"):  {layout.SecretSealed, layout.SecretKey},
		layout.Webhook("disk"): {layout.WebhookSecret, layout.WebhookSecretKey},
	} {
		b.Set(key, board.Field{Name: fields[0], Value: "sealed"})
		if strings.HasSuffix(key, "disk") {
			b.Set(key, board.Field{Name: fields[1], Value: "disk"})
		}
	}
	if err := src.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	s, err := backup.Verify(t.Context(), bytes.NewReader(written(t, src)), nil)
	if err != nil || s.Sealed != 2 {
		t.Errorf("got %d, %v, want the 2 that no operator's key seals", s.Sealed, err)
	}
}

// busy is a store in which others put and sweep while it is backed up.
type busy struct {
	artifact.Store
	swept string
}

func (s busy) Open(ctx context.Context, of domain.TenantID, sum string, offset int64) (io.ReadCloser, artifact.Blob, error) {
	if _, err := s.Put(ctx, of, strings.NewReader("put while "+sum+" was read")); err != nil {
		return nil, artifact.Blob{}, err
	}
	if sum == s.swept {
		if _, err := s.Delete(ctx, of, sum, time.Now().Add(time.Hour)); err != nil {
			return nil, artifact.Blob{}, err
		}
	}
	return s.Store.Open(ctx, of, sum, offset)
}

// TestArtifactsThatComeAndGo: jobs put files while a backup is written, and nodes sweep them; it
// has what was there from beginning to end.
func TestArtifactsThatComeAndGo(t *testing.T) {
	src := memboard.Open()
	living(t, src)
	store := openFolder(t, t.TempDir())
	var sums []string
	for i := range 3 {
		b, err := store.Put(t.Context(), 7, strings.NewReader(fmt.Sprint("file ", i)))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, b.Sum)
	}
	var text bytes.Buffer
	if _, err := backup.Write(t.Context(), &text, backup.Source{Board: src, Artifacts: busy{store, sums[1]}}); err != nil {
		t.Fatal(err)
	}
	to := openFolder(t, t.TempDir())
	s, err := backup.Restore(t.Context(), &text, backup.Target{Board: memboard.Open(), Artifacts: to, Folder: t.TempDir()})
	if err != nil || len(s.Damaged) > 0 {
		t.Fatalf("got %+v, %v", s, err)
	}
	for i, sum := range sums {
		r, err := artifact.Read(t.Context(), to, 7, sum)
		if swept := i == 1; swept != errors.Is(err, domain.ErrNotFound) || !swept && err != nil {
			t.Errorf("file %d: got %v", i, err)
		}
		if err == nil {
			r.Close()
		}
	}
}

func openFolder(t *testing.T, dir string) artifact.Store {
	t.Helper()
	s, err := folderstore.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// behind is a board whose time is two hours behind this machine's.
type behind struct{ *memboard.Board }

func (b behind) Now() time.Time { return b.Board.Now().Add(-2 * time.Hour) }

// TestARestoredBoardSaysWhenByItsOwnTime: that is what `ramet doctor` holds it against.
func TestARestoredBoardSaysWhenByItsOwnTime(t *testing.T) {
	src, dst := memboard.Open(), behind{memboard.Open()}
	living(t, src)
	if _, err := backup.Restore(t.Context(), bytes.NewReader(written(t, src)), backup.Target{Board: dst}); err != nil {
		t.Fatal(err)
	}
	recs, err := dst.Get(t.Context(), 0, board.EpochKey)
	if err != nil {
		t.Fatal(err)
	}
	if e := board.EpochOf(recs[0]); dst.Now().Sub(e.Since).Abs() > time.Hour {
		t.Errorf("got an epoch of %v, and it is %v", e.Since, dst.Now())
	}
}
