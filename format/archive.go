package format

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/intake"
)

// mark is the mark of an archive that has its stamp.
const mark = "format"

// CheckArchive refuses an archive of a newer program. It writes nothing.
//
// Errors: as of OpenArchive.
func (f Formats) CheckArchive(ctx context.Context, a archive.Archive) error {
	_, _, err := f.archiveStamp(ctx, a)
	return err
}

// archiveStamp reads an archive's mark, and checks it; was is "" where there is none.
func (f Formats) archiveStamp(ctx context.Context, a archive.Archive) (is stamp, was string, err error) {
	marks, err := a.Marks(ctx)
	if err != nil {
		return is, "", err
	}
	is.Format = 1
	if was = marks[mark]; was != "" {
		if err := intake.Read([]byte(was), &is, intake.Limits{Bytes: maxFile}); err != nil {
			return is, was, domain.Invalidf("the archive's mark %q is damaged: want {\"format\": N}", mark)
		}
	}
	return is, was, f.check("the archive", is)
}

// OpenArchive checks the format of an archive and brings it up to date. What tables it has
// is its driver's own business, with a number of its own.
//
// Errors: [domain.ErrConflict] for one of a newer program; [domain.ErrInvalid] for a mark
// that is damaged; [domain.ErrUnavailable].
func (f Formats) OpenArchive(ctx context.Context, a archive.Archive, program string) error {
	is, was, err := f.archiveStamp(ctx, a)
	if err != nil || was != "" && is.Format == f.Newest() {
		return err
	}
	err = f.upgrade("the archive", is.Format, func(s Step) error {
		if s.Archive == nil {
			return nil
		}
		return s.Archive(ctx, a)
	})
	if err != nil {
		return err
	}
	text, err := json.Marshal(f.stamp(program, time.Now().UnixMilli()))
	if err != nil {
		return err
	}
	// Where another node was first, its stamp stays.
	_, err = a.Mark(ctx, mark, was, string(text))
	return err
}
