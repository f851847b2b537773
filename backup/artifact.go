package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"strconv"

	"github.com/ramet-run/ramet/artifact"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file has the files that jobs left.

// blob is one of them, as the store has it: its bytes are the blocks that follow.
type blob struct {
	Context domain.TenantID `json:"context"`
	Sum     string          `json:"sum"`
}

func (b blob) String() string { return fmt.Sprintf("%s of context %d", b.Sum, b.Context) }

// maxDamaged bounds how many damaged blobs are named, and how many that are missing.
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

// artifacts writes what a store has of the board's contexts, and names what it has lost. What is
// put meanwhile may be there, too; what is swept meanwhile is nobody's.
func (w *Writer) artifacts(ctx context.Context, src Source, b board.Board, spaces []board.Space, s *Summary) error {
	if src.Artifacts == nil {
		return nil
	}
	for _, space := range spaces {
		has := map[string]struct{}{}
		for at, err := range src.Artifacts.Blobs(ctx, domain.TenantID(space)) {
			if err != nil {
				return err
			}
			has[at.Sum] = struct{}{}
			if !s.Head.Artifacts {
				continue // it came since
			}
			if err := w.artifact(ctx, src.Artifacts, blob{Context: domain.TenantID(space), Sum: at.Sum}, s); err != nil {
				return err
			}
		}
		l := &losses{src: src, space: space, has: has, Summary: s}
		if err := l.look(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// losses looks for files of a context that the board names and the store has not.
type losses struct {
	src   Source
	space board.Space
	has   map[string]struct{}
	*Summary
}

// look goes through the jobs that left files, as the backup has them.
func (l *losses) look(ctx context.Context, b board.Board) error {
	for after := ""; ; {
		members, err := b.Members(ctx, l.space, layout.ArtifactIndex, after, membersPage)
		if errors.Is(err, domain.ErrInvalid) || err == nil && len(members) == 0 {
			return nil // it is no set
		}
		if err != nil {
			return err
		}
		after = members[len(members)-1]
		var jobs []domain.JobKey
		var keys []string
		for _, m := range members {
			if job, err := layout.ParseArtifactMember(m); err == nil {
				jobs, keys = append(jobs, job), append(keys, layout.Artifacts(job))
			}
		}
		recs, err := board.Listed(ctx, b, l.space, []string{layout.ArtifactManifest}, keys)
		if err != nil {
			return err
		}
		for i, r := range recs {
			if manifest := r.Get(layout.ArtifactManifest); artifact.ValidateSum(manifest) == nil {
				if err := l.of(ctx, jobs[i], manifest); err != nil || len(l.Missing) >= maxDamaged {
					return err
				}
			}
		}
		if len(members) < membersPage {
			return nil
		}
	}
}

// of names what is not there of the files of a job, or their list.
func (l *losses) of(ctx context.Context, job domain.JobKey, manifest string) error {
	if gone, err := l.lacks(ctx, job, manifest, manifest); err != nil || gone {
		return l.name(err, "the list of all files", manifest, job)
	}
	for f, err := range artifact.Files(ctx, l.src.Artifacts, domain.TenantID(l.space), manifest) {
		if errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrInvalid) {
			return nil // swept, or damaged, which is told by whoever reads its bytes
		}
		if err != nil {
			return err
		}
		gone, err := l.lacks(ctx, job, manifest, f.SHA256)
		if err != nil || gone {
			err = l.name(err, strconv.Quote(f.Path), f.SHA256, job)
		}
		if err != nil || len(l.Missing) >= maxDamaged {
			return err
		}
	}
	return nil
}

// lacks reports whether the store has not what a job left. It may have got it since, or may have
// given it up since with the job: so both are asked once more.
func (l *losses) lacks(ctx context.Context, job domain.JobKey, manifest, sum string) (bool, error) {
	if _, ok := l.has[sum]; ok {
		return false, nil
	}
	r, _, err := l.src.Artifacts.Open(ctx, domain.TenantID(l.space), sum, 0)
	if err == nil {
		return false, r.Close()
	}
	if !errors.Is(err, domain.ErrNotFound) {
		return false, err
	}
	recs, err := board.Readable(l.src.Board.Get(ctx, l.space, layout.Artifacts(job)))
	return err == nil && recs[0].Get(layout.ArtifactManifest) == manifest, err
}

// name says that one is missing, unless it is not known whether it is.
func (l *losses) name(err error, what, sum string, job domain.JobKey) error {
	if err == nil {
		l.Missing = append(l.Missing, fmt.Sprintf("%s of %s of context %d (%s)", what, job, l.space, sum))
	}
	return err
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

// artifactPart names a blob that comes.
const artifactPart = ".artifact-*"

// keep puts a blob into the store, when it has come whole: it lies in a file until then.
func (r *restoring) keep(ctx context.Context, b blob, from io.Reader) error {
	f, err := os.CreateTemp(r.Folder, artifactPart)
	if err != nil {
		return domain.FileErrorf(err, "restore an artifact: %v", err)
	}
	defer func() { _, _ = f.Close(), os.Remove(f.Name()) }()
	if _, err := io.Copy(f, from); err != nil {
		if disk := (*fs.PathError)(nil); errors.As(err, &disk) { // else it is the backup that cannot be read
			return domain.FileErrorf(err, "restore an artifact: %v", err)
		}
		return err
	}
	if _, err = r.Artifacts.Put(ctx, b.Context, f); errors.Is(err, domain.ErrExhausted) { // no job waits here until there is room
		err = domain.Unavailablef("restore an artifact: %v", err)
	}
	return err
}
