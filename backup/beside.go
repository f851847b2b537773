package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
)

// This file has what is filled beside a board: files of a node, its archive and event streams. Each bears the id of
// the half board from before the first is written there until the board is whole, so that the next run knows what it
// may lose. That the board is half says nothing of them: they may be others' by then, or be named for the first time.

// RestoringFile is in a folder that is filled: in that of a node, where it is a [note], and in that of the streams.
const RestoringFile = "restoring"

// archiveMark is the mark of an archive that is filled.
const archiveMark = "restoring"

// note is what a node's folder says of the restore into it. An empty one says that no more than the board's own
// folder may have been made there.
type note struct {
	ID    string            `json:"id"`
	Files map[string]string `json:"files"` // SHA-256 of what is written, by name
	// Whole says that nothing was left to do but to call the board whole.
	Whole bool `json:"whole"`
}

// readNote reads the note of a folder; one that cannot be read says nothing.
func readNote(folder string) (n note) {
	text, err := os.ReadFile(filepath.Join(folder, RestoringFile))
	if err != nil || json.Unmarshal(text, &n) != nil {
		return note{}
	}
	return n
}

func (r *restoring) writeNote() error {
	if r.Folder == "" {
		return nil
	}
	text, err := json.Marshal(r.note)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(r.Folder, RestoringFile), text)
}

// BrokenOff refuses a folder into which a restore was broken off. Of one that had come to its end the board knows
// whether it is whole, see [Unfinished].
//
// Errors: [domain.ErrConflict].
func BrokenOff(folder string) error {
	if _, err := os.Stat(filepath.Join(folder, RestoringFile)); err != nil || readNote(folder).Whole {
		return nil
	}
	return domain.Conflictf("a restore into %s was begun and broken off, and the folder is not whole: run the same command again", folder)
}

// OnlyBegun reports whether the note of a folder says no more than that the board's own folder may have been made there.
func OnlyBegun(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, RestoringFile))
	return err == nil && readNote(folder).ID == ""
}

// Settled takes the note off a folder whose board is not half, unless something is written there that is.
func Settled(folder string) error {
	if n := readNote(folder); n.ID != "" && !n.Whole {
		return nil
	}
	if err := os.Remove(filepath.Join(folder, RestoringFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return domain.FileErrorf(err, "%v", err)
	}
	return nil
}

// restoredAlready says of a board that is not empty that the same command had come to its end.
func (r *restoring) restoredAlready(err error) error {
	if full := (*notEmpty)(nil); r.Folder == "" || !errors.As(err, &full) || !readNote(r.Folder).Whole {
		return err
	}
	return domain.Conflictf("a restore into %s had come to its end, and its board is whole: start the node there. To restore again, and lose what the "+
		"board has, use --overwrite", r.Folder)
}

// unowned refuses to lose what no run has put there, unless whatever lies there may go. It changes nothing.
//
// Errors: [domain.ErrConflict].
func (r *restoring) unowned(ctx context.Context) error {
	if r.note = readNote(r.Folder); r.Folder == "" || r.note.ID != r.load.id {
		r.note = note{ID: r.load.id}
	}
	for _, f := range r.held {
		if !filepath.IsLocal(filepath.FromSlash(f.Name)) || strings.HasPrefix(f.Name, "board") {
			return domain.Invalidf("the backup has a file %q, which is none of a node's", f.Name)
		}
		was, err := os.ReadFile(r.path(f))
		if err == nil && !r.Overwrite && !bytes.Equal(was, f.Data) && r.note.Files[f.Name] != sum(was) {
			return domain.Conflictf("%s is there and not as in the backup: restore into a new folder, or lose it with --overwrite", r.path(f))
		}
	}
	if err := r.unownedStreams(); err != nil {
		return err
	}
	if r.Archive == nil || !r.head.Archive || r.Overwrite {
		return nil
	}
	var err error
	if r.rows, err = r.Archive(ctx, false); err != nil {
		return err
	}
	return r.unownedArchive(ctx)
}

func (r *restoring) path(f file) string { return filepath.Join(r.Folder, filepath.FromSlash(f.Name)) }

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

func (r *restoring) unownedStreams() error {
	if r.Streams == nil || r.StreamsFolder == "" || !r.head.Streams || r.Overwrite {
		return nil
	}
	has, err := os.ReadDir(r.StreamsFolder)
	if err != nil || len(has) == 0 || len(has) == 1 && has[0].Name() == filepath.Base(part(RestoringFile)) {
		return nil // whoever makes it says why it cannot be
	}
	if of, err := os.ReadFile(filepath.Join(r.StreamsFolder, RestoringFile)); err == nil && string(of) == r.load.id {
		return nil
	}
	return domain.Conflictf("%s is there, and is not of this restore: restore into a new data folder, or lose it with --overwrite", r.StreamsFolder)
}

// unownedArchive refuses an archive that has records or a board, but for what earlier runs have left there.
func (r *restoring) unownedArchive(ctx context.Context) error {
	marks, err := r.rows.Marks(ctx)
	if err != nil {
		return err
	}
	whose := marks[markBoard]
	if marks[archiveMark] == r.load.id && (whose == "" || whose == r.head.Board) {
		r.begun = true
		return nil
	}
	has, err := r.rows.Highest(ctx)
	switch {
	case err != nil:
		return err
	case len(has) > 0:
		return domain.Conflictf("the archive is not empty, and what it has is not of this restore: it has %ss of context %d, up to %d; name an empty one with "+
			"--archive, or lose what is there with --overwrite", has[0].Kind, has[0].Context, has[0].ID)
	case whose != "":
		return domain.Conflictf("the archive is that of another board, which has archived nothing yet or has it removed: name another one with --archive, " +
			"or take it away from that board with --overwrite")
	}
	return nil
}

// writeFiles writes the files of the node, after the note of what they will be.
func (r *restoring) writeFiles() error {
	r.note.Whole = false
	var write []file
	for _, f := range r.held {
		was, err := os.ReadFile(r.path(f))
		if err == nil && bytes.Equal(was, f.Data) {
			continue // it stays whose it is
		}
		if err == nil { // before the note says what it will be: that would not know it any more
			if err := os.Remove(r.path(f)); err != nil {
				return domain.FileErrorf(err, "restore %q: %v", r.path(f), err)
			}
		}
		if r.note.Files == nil {
			r.note.Files = map[string]string{}
		}
		r.note.Files[f.Name] = sum(f.Data)
		write = append(write, f)
	}
	if err := r.writeNote(); err != nil {
		return err
	}
	if err := r.clearParts(); err != nil {
		return err
	}
	for _, f := range write {
		if err := os.MkdirAll(filepath.Dir(r.path(f)), 0o700); err != nil {
			return domain.FileErrorf(err, "restore %q: %v", r.path(f), err)
		}
		if err := replaceFile(r.path(f), f.Data); err != nil {
			return err
		}
	}
	return nil
}

// clearParts removes what runs that were killed have left of files: nobody else has the folder.
func (r *restoring) clearParts() error {
	if r.Folder == "" {
		return nil
	}
	left, err := filepath.Glob(filepath.Join(r.Folder, artifactPart))
	for _, name := range slices.Sorted(maps.Keys(r.note.Files)) {
		left = append(left, part(filepath.Join(r.Folder, filepath.FromSlash(name))))
	}
	for _, path := range left {
		if gone := os.Remove(path); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	if err != nil {
		return domain.FileErrorf(err, "clear the folder: %v", err)
	}
	return nil
}

// makeArchive opens an archive that has nothing, and is marked.
func (r *restoring) makeArchive(ctx context.Context) (err error) {
	if r.Archive == nil || !r.head.Archive {
		return nil
	}
	if r.rows != nil && r.begun {
		if err := r.rows.Close(); err != nil {
			return err
		}
		r.rows = nil
	}
	if r.rows == nil { // what it has may go
		if r.rows, err = r.Archive(ctx, true); err != nil {
			return err
		}
	}
	marks, err := r.rows.Marks(ctx)
	if err != nil {
		return err
	}
	if _, err := r.rows.Mark(ctx, archiveMark, marks[archiveMark], r.load.id); err != nil {
		return err
	}
	for _, name := range []string{markBoard, markStep} {
		if _, err := r.rows.Mark(ctx, name, marks[name], ""); err != nil {
			return err
		}
	}
	for {
		n, err := r.rows.Delete(ctx, time.UnixMilli(math.MaxInt64), archive.MaxDelete)
		if err != nil || n < archive.MaxDelete {
			return err
		}
	}
}

// makeStreams makes the folder of the streams anew. It is marked before anything goes from it: whenever
// this ends, the next run knows what is left there.
func (r *restoring) makeStreams() error {
	if r.StreamsFolder == "" {
		return nil
	}
	err := os.MkdirAll(r.StreamsFolder, 0o700)
	if err == nil {
		err = replaceFile(filepath.Join(r.StreamsFolder, RestoringFile), []byte(r.load.id))
	}
	var has []fs.DirEntry
	if err == nil {
		has, err = os.ReadDir(r.StreamsFolder)
	}
	for _, e := range has {
		if e.Name() != RestoringFile {
			err = errors.Join(err, os.RemoveAll(filepath.Join(r.StreamsFolder, e.Name())))
		}
	}
	if err != nil {
		return domain.FileErrorf(err, "make the event streams anew: %v", err)
	}
	return nil
}

// ends says in the folder that all is there: what is left is to call the board whole.
func (r *restoring) ends() error {
	r.note.Whole = true
	return r.writeNote()
}

// unmark takes off what only half a board needs. Where it stays, it means nothing: no board will have that id again.
func (r *restoring) unmark(ctx context.Context) (err error) {
	if r.rows != nil {
		_, err = r.rows.Mark(ctx, archiveMark, r.load.id, "")
	}
	if r.streams != nil && r.StreamsFolder != "" {
		if gone := os.Remove(filepath.Join(r.StreamsFolder, RestoringFile)); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// part is the name of a file until it is whole. It is hidden, as are all that folders of nodes may have besides.
func part(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".part")
}

// replaceFile writes a file that is there wholly or as it was before.
func replaceFile(path string, data []byte) error {
	f, err := os.OpenFile(part(path), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err == nil {
		_, err = f.Write(data)
		err = errors.Join(err, f.Sync(), f.Close())
	}
	if err == nil {
		err = os.Rename(part(path), path)
	}
	if err != nil {
		return domain.FileErrorf(err, "restore %q: %v", path, err)
	}
	return nil
}
