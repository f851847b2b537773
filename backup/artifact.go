package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/ramet-run/ramet/artifact"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// This file has the files that jobs left.

// blob is one of them, as the store has it: its bytes are the blocks that follow.
type blob struct {
	Context domain.TenantID `json:"context"`
	Sum     string          `json:"sum"`
}

func (b blob) String() string { return fmt.Sprintf("%s of context %d", b.Sum, b.Context) }

// maxDamaged bounds how many damaged blobs are named.
const maxDamaged = 100

// hasArtifacts finds out whether a store has anything of the board's contexts. It is asked
// after the board was read: what that names lies in the store by then.
func hasArtifacts(ctx context.Context, from artifact.Store, spaces []board.Space) (bool, error) {
	if from == nil {
		return false, nil
	}
	for _, s := range spaces {
		for _, err := range from.Blobs(ctx, domain.TenantID(s)) {
			return err == nil, err
		}
	}
	return false, nil
}

// artifacts writes what a store has of the board's contexts. What is put meanwhile may be
// there, too; what is swept meanwhile is nobody's.
func (w *Writer) artifacts(ctx context.Context, from artifact.Store, spaces []board.Space, s *Summary) error {
	if !s.Head.Artifacts {
		return nil
	}
	for _, space := range spaces {
		for b, err := range from.Blobs(ctx, domain.TenantID(space)) {
			if err != nil {
				return err
			}
			if err := w.artifact(ctx, from, blob{Context: domain.TenantID(space), Sum: b.Sum}, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// artifact writes a blob as it lies in the store. One that is damaged there is no reason to
// have no backup of the rest: whoever reads this finds it by its sum, and says so.
func (w *Writer) artifact(ctx context.Context, from artifact.Store, b blob, s *Summary) error {
	r, _, err := from.Open(ctx, b.Context, b.Sum, 0)
	if errors.Is(err, domain.ErrNotFound) {
		return nil // swept
	}
	if err != nil {
		return err
	}
	defer r.Close()
	if err := w.object('p', b); err != nil {
		return err
	}
	content := &summed{Reader: r, hash: sha256.New(), want: b.Sum}
	if _, err = artifact.Copy(ctx, chunks{w}, content); err != nil && !errors.Is(err, errDamaged) {
		return fmt.Errorf("back up the artifact %s: %w", b, err)
	}
	s.left(b, content.bytes, err == nil)
	return nil
}

// left counts a blob of which n bytes were read.
func (s *Summary) left(b blob, n int64, whole bool) {
	s.Artifacts++
	s.ArtifactBytes += n
	if !whole && len(s.Damaged) < maxDamaged {
		s.Damaged = append(s.Damaged, b.String())
	}
}

// artifact begins one, whose parts are the blocks that follow.
func (g *reading) artifact(payload []byte) error {
	var b blob
	if err := g.decode(payload, &b); err != nil {
		return err
	}
	if err := artifact.ValidateSum(b.Sum); err != nil {
		return err
	}
	g.within = ", in the artifact " + b.String()
	g.open = begins(func(from io.Reader) error {
		take := g.take.blob
		if take == nil {
			take = func(_ blob, from io.Reader) error {
				_, err := io.Copy(io.Discard, from)
				return err
			}
		}
		content := &summed{Reader: from, hash: sha256.New(), want: b.Sum}
		err := take(b, content)
		damaged := errors.Is(err, errDamaged)
		g.left(b, content.bytes, !damaged)
		if damaged {
			return nil
		}
		return err
	})
	return nil
}

// errDamaged ends a blob that is not what its job left.
var errDamaged = errors.New("the artifact is damaged")

// summed ends with errDamaged where what was read has not the sum it should.
type summed struct {
	io.Reader
	hash  hash.Hash
	want  string
	bytes int64
}

func (s *summed) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.hash.Write(p[:n])
	s.bytes += int64(n)
	if err == io.EOF && hex.EncodeToString(s.hash.Sum(nil)) != s.want {
		err = errDamaged
	}
	return n, err
}

// keep puts a blob into the store, when it has come whole: it lies in a file until then.
func (r *restoring) keep(ctx context.Context, b blob, from io.Reader) error {
	f, err := os.CreateTemp(r.Folder, ".artifact-*")
	if err != nil {
		return domain.FileErrorf(err, "restore an artifact: %v", err)
	}
	defer func() { _, _ = f.Close(), os.Remove(f.Name()) }()
	if _, err := io.Copy(f, from); err != nil {
		return err
	}
	_, err = r.Artifacts.Put(ctx, b.Context, f)
	return err
}
