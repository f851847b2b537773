package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/backup"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/leash"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/node"
	"github.com/ramet-run/ramet/stream"
)

const (
	// endsAt tells a process of this test how many bytes of a backup it reads before it is gone.
	endsAt    = "RAMET_TEST_RESTORE_ENDS_AT"
	exitGone  = 9
	magicLine = "ramet backup 1\n"
)

// ending is a backup whose reader is gone when it asks for more than so many bytes: it has dealt with the blocks before.
type ending struct {
	io.Reader
	left int64
}

func (e *ending) Read(p []byte) (int, error) {
	if e.left == 0 {
		os.Exit(exitGone)
	}
	n, err := e.Reader.Read(p[:min(int64(len(p)), e.left)])
	e.left -= int64(n)
	return n, err
}

// blocks are the bytes at which a backup's blocks begin, and at which it ends.
func blocks(text []byte) (at []int64) {
	for n := len(magicLine); ; n += 5 + int(binary.BigEndian.Uint32(text[n+1:])) + 16 {
		if at = append(at, int64(n)); n == len(text) {
			return at
		}
	}
}

func restoreFrom(t *testing.T, from io.Reader, dir string) error {
	t.Helper()
	_, err := restore(t.Context(), cli.RestoreOptions{DataDir: dir, From: from, Name: "a backup"})
	return err
}

// backedUp is a backup of a node with something of everything.
func backedUp(t *testing.T) (text []byte, dir string) {
	t.Helper()
	dir = t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := identity.OpenKeyring(dir)
	must(err)
	src, err := openTarget(t.Context(), options{dataDir: dir, mayLose: true, log: quiet()}, func() error { return nil })
	must(err)
	must(src.board.Commit(t.Context(), *new(board.Batch).Include(layout.Contexts, "1").Set(layout.Identity, board.Field{Name: layout.IdentityID, Value: "B1"},
		board.Field{Name: layout.IdentityStep, Value: "4"})))
	must(src.board.Commit(t.Context(), *(&board.Batch{Space: 1}).Set("job:1:1", board.Field{Name: "status", Value: "dispatched"}).
		PushLeft("queue:python", "job:1:1").Set("mine", board.Field{Name: "a", Value: "1"})))
	rows, err := archivePlace{kind: "sqlite", file: filepath.Join(dir, archiveFile)}.open(t.Context(), src.options)
	must(err)
	r, err := archive.OfJob(1, &domain.Job{ID: 2, CallerID: 1, ContextID: 1, Script: "exit", ScriptType: "shell", Status: domain.JobFinished, CreatedAt: 1,
		FinishedMs: 1000}, nil)
	must(err)
	must(rows.Put(t.Context(), []archive.Record{r}))
	streams, err := src.openStreams(t.Context())
	must(err)
	files, err := folder(filepath.Join(dir, artifactFolder))
	must(err)
	_, err = files.Put(t.Context(), 1, strings.NewReader("a report"))
	must(err)
	var to bytes.Buffer
	_, err = backup.Write(t.Context(), &to, backup.Source{Head: backup.Head{Kind: "embedded", Node: "n"}, Board: src.board, Archive: rows,
		Streams: streams.(stream.Copier), Artifacts: files, Folder: dir, Names: kept})
	must(errors.Join(err, files.Close(), streams.Close(), rows.Close(), src.close()))
	return to.Bytes(), dir
}

// TestARestoreThatIsKilledIsRepeated, wherever that is, by the same command, without losing what is of others.
func TestARestoreThatIsKilledIsRepeated(t *testing.T) {
	if at := os.Getenv(endsAt); at != "" {
		left, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(os.Getenv(endsAt + "_FILE"))
		if err != nil {
			t.Fatal(err)
		}
		t.Fatal(restoreFrom(t, &ending{f, left}, os.Getenv(endsAt+"_DATA")))
	}
	text, source := backedUp(t)
	file, dir := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	inDir := func(name string) string { return filepath.Join(dir, name) }
	for i, at := range blocks(text) {
		c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", endsAt, at), endsAt+"_FILE="+file, endsAt+"_DATA="+dir)
		var said bytes.Buffer
		c.Stdout, c.Stderr = &said, &said
		if gone := (*exec.ExitError)(nil); !errors.As(leash.Run(c, syscall.SIGKILL), &gone) || gone.ExitCode() != exitGone {
			t.Fatalf("killed after %d blocks, at byte %d: it ended by itself: %s", i, at, said.Bytes())
		}
		// Where it writes a key, it leaves a part of it: those of before left one by another name.
		for _, name := range []string{"." + identity.StreamKeyFile + ".part", identity.StreamKeyFile + ".part", ".artifact-1"} {
			if err := os.WriteFile(inDir(name), []byte("half"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := backup.BrokenOff(dir); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("a node would start on half a board: %v", err)
	}

	// Streams of others that lie there in the place of its own are not lost, nor are they in any way changed.
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	mine, theirs := inDir(streamsFolder), filepath.Join(source, streamsFolder)
	must(os.Rename(mine, mine+".mine"))
	must(os.CopyFS(mine, os.DirFS(theirs)))
	err := restoreFrom(t, bytes.NewReader(text), dir)
	if !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), mine) || !strings.Contains(err.Error(), "--overwrite") {
		t.Fatalf("over the streams of others: got %v", err)
	}
	if want, got := tree(t, theirs), tree(t, mine); !maps.Equal(want, got) {
		t.Errorf("the streams of others have changed: %v, want %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	must(os.RemoveAll(mine))
	must(os.Rename(mine+".mine", mine))

	must(restoreFrom(t, bytes.NewReader(text), dir))
	for _, name := range kept {
		want, got := tree(t, filepath.Join(source, name)), tree(t, inDir(name))
		if !maps.Equal(want, got) {
			t.Errorf("%s is not as it was", name)
		}
	}
	if list := slices.Sorted(maps.Keys(tree(t, dir))); slices.ContainsFunc(list, func(name string) bool {
		return strings.Contains(name, "restoring") || strings.HasPrefix(name, ".")
	}) {
		t.Errorf("something is left of it: %q", list)
	}
	l, err := begin(t, dir, false)
	must(err)
	if n, err := l.store.Count(t.Context(), archive.Query{Context: 1}); err != nil || n != 1 {
		t.Errorf("the archive has %d records, %v", n, err)
	}
	if recs, err := l.board.Get(t.Context(), 1, "mine", "job:1:1"); err != nil || recs[0] == nil || recs[1] == nil {
		t.Errorf("the board has %v, %v", recs, err)
	}
	must(errors.Join(l.store.Close(), l.board.Close()))

	// Killed when all was whole already, it has left the note: that keeps no node away, and the same command says so.
	note := inDir(backup.RestoringFile)
	must(os.WriteFile(note, []byte(`{"id":"X","whole":true}`), 0o600))
	if err := restoreFrom(t, bytes.NewReader(text), dir); !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "had come to its end") {
		t.Errorf("got %v", err)
	}
	must(os.WriteFile(note, []byte(`{"id":"X","whole":true}`), 0o600))
	must(errors.Join(backup.BrokenOff(dir), backup.Settled(dir)))
	if _, err := os.Stat(note); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the note is left: %v", err)
	}
}

// tree is what files have that are at a path or below it, but for what each process makes anew.
func tree(t *testing.T, path string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && !d.Type().IsRegular() {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := os.ReadFile(at)
		name, _ := filepath.Rel(path, at)
		all[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestNoNodeStartsWhereARestoreFailedEarly: there is a new board already, in which nothing stands, and nothing else. The same
// command goes on from there; one that fails once more leaves it as it is.
func TestNoNodeStartsWhereARestoreFailedEarly(t *testing.T) {
	text, _ := backedUp(t)
	dir := t.TempDir()
	inTheWay := filepath.Join(dir, archiveFile, "x") // no archive can be made
	if err := os.MkdirAll(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := restoreFrom(t, bytes.NewReader(text), dir); err == nil {
			t.Fatal("it is restored")
		}
		if _, err := os.Stat(filepath.Join(dir, boardFolder)); err != nil {
			t.Errorf("the test is of a folder with a board: %v", err)
		}
		if err := backup.BrokenOff(dir); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("a node would start there: got %v", err)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, archiveFile)); err != nil {
		t.Fatal(err)
	}
	if err := restoreFrom(t, bytes.NewReader(text), dir); err != nil {
		t.Error(err)
	}
	if err := backup.BrokenOff(dir); err != nil {
		t.Errorf("it is whole: got %v", err)
	}
}

// TestNoNodeStartsOnASharedBoardWhereARestoreFailedEarly: it would begin there as a new one, and the restore would be refused for that. One
// that is refused has failed for good, and the folder may be another node's.
func TestNoNodeStartsOnASharedBoardWhereARestoreFailedEarly(t *testing.T) {
	text, _ := backedUp(t)
	dir, rows := t.TempDir(), filepath.Join(t.TempDir(), archiveFile)
	config := filepath.Join(t.TempDir(), "ramet.yaml")
	if err := errors.Join(os.WriteFile(config, []byte("artifacts: none\n"), 0o600), os.MkdirAll(filepath.Join(rows, "x"), 0o700)); err != nil {
		t.Fatal(err)
	}
	server := redistest.Start(t)
	restored := func(text []byte) error {
		_, err := restore(t.Context(), cli.RestoreOptions{DataDir: dir, BoardURL: server.URL(), ArchiveURL: "sqlite:" + rows, ConfigFile: config,
			From: bytes.NewReader(text), Name: "a backup"})
		return err
	}
	noted := func(when string, want bool) {
		t.Helper()
		if err := backup.BrokenOff(dir); (err != nil) != want || err != nil && !errors.Is(err, domain.ErrConflict) {
			t.Errorf("%s: got %v, want that no node starts: %v", when, err, want)
		}
	}
	for range 2 {
		if err := restored(text); err == nil {
			t.Fatal("it is restored")
		}
		noted("no archive can be made", true)
	}
	if err := restored([]byte("nonsense")); err == nil {
		t.Error("no backup is restored")
	}
	noted("refused", false)
	if err := os.RemoveAll(rows); err != nil {
		t.Fatal(err)
	}
	if err := restored(text); err != nil {
		t.Error(err)
	}
	noted("it is whole", false)
	if err := restored(text); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("onto a board that has something: got %v", err)
	}
	noted("refused by the board", false)
	if err := errors.Join(beginRestore(dir), os.Mkdir(filepath.Join(dir, boardFolder), 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := restored(text); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("where one onto a board in the folder has begun: got %v", err)
	}
	noted("another has begun", true)
}

// TestARestoreOntoABoardThatCannotBeReachedNotesNothing: the address may be mistyped, and the folder is as good as before.
func TestARestoreOntoABoardThatCannotBeReachedNotesNothing(t *testing.T) {
	text, _ := backedUp(t)
	dir := t.TempDir()
	held, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := held.Addr().String()
	held.Close() // nobody listens there
	_, err = restore(t.Context(), cli.RestoreOptions{From: bytes.NewReader(text), DataDir: dir, BoardURL: "redis://" + address})
	if !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
	if err := backup.BrokenOff(dir); err != nil {
		t.Errorf("a node would not start there: %v", err)
	}
	lock, err := node.Lock(t.Context(), dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := restoreFrom(t, bytes.NewReader(text), dir); err == nil {
		t.Error("a folder that a node holds is restored into")
	}
	if err := backup.BrokenOff(dir); err != nil {
		t.Errorf("a folder that a node holds: %v", err)
	}
}

// TestARestoreThatIsRefusedLeavesTheFolder as it was: what is there may be a node's on another board, which would start no more. So is what
// an earlier one has left that was killed before it was refused.
func TestARestoreThatIsRefusedLeavesTheFolder(t *testing.T) {
	text, source := backedUp(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	inDir := func(name string) string { return filepath.Join(dir, name) }
	lock, err := node.Lock(t.Context(), dir, 0)
	must(errors.Join(err, lock.Close()))
	names := func() (names []string) {
		list, err := os.ReadDir(dir)
		must(err)
		for _, f := range list {
			names = append(names, f.Name())
		}
		return names
	}
	key, err := os.ReadFile(filepath.Join(source, identity.NodeKeyFile))
	must(err)
	must(os.WriteFile(inDir(identity.NodeKeyFile), key, 0o600))
	must(os.WriteFile(inDir(identity.BusKeyFile), []byte("of another"), 0o600))
	was := names()
	refused := func(from []byte, say string) {
		t.Helper()
		if err := restoreFrom(t, bytes.NewReader(from), dir); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("got %v, want %q", err, say)
		}
		if err := backup.BrokenOff(dir); err != nil {
			t.Errorf("%s: a node would not start there: %v", say, err)
		}
	}
	for _, killed := range []bool{false, true} {
		if killed {
			must(beginRestore(dir))
			at, err := openTarget(t.Context(), options{dataDir: dir, mayLose: true}, func() error { return nil })
			must(errors.Join(err, at.close()))
		}
		refused(text, identity.BusKeyFile+" is there and not as in the backup")
		if got := names(); !slices.Equal(was, got) {
			t.Errorf("killed before: %v: the folder has %q, and had %q", killed, got, was)
		}
	}
	refused([]byte("nonsense"), "no backup")
	if got := names(); !slices.Equal(was, got) {
		t.Errorf("after what is no backup the folder has %q, and had %q", got, was)
	}
	must(os.Remove(inDir(identity.BusKeyFile)))
	must(os.Mkdir(inDir(artifactFolder), 0o700))

	// A board that somebody has put there since is not lost.
	must(beginRestore(dir))
	must(os.CopyFS(inDir(boardFolder), os.DirFS(filepath.Join(source, boardFolder))))
	refused(text, "the board is not empty")
	l, err := begin(t, dir, false)
	must(err)
	if recs, err := l.board.Get(t.Context(), 1, "mine"); err != nil || recs[0] == nil {
		t.Errorf("the board has %v, %v", recs, err)
	}
	must(errors.Join(l.store.Close(), l.board.Close()))
	if _, err := os.Stat(inDir(artifactFolder)); err != nil {
		t.Errorf("the store that was there: %v", err)
	}
}
