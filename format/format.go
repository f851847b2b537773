package format

import (
	"context"
	"fmt"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
)

// Step is one version of the format, with what brings the one before to it. A function
// that is nil has nothing to do.
type Step struct {
	// Release is the first that knows the version.
	Release string

	Folder  func(dir string) error
	Streams func(dir string) error
	Board   func(ctx context.Context, b Board) error
	Archive func(ctx context.Context, a archive.Archive) error
}

// Formats are all versions that a program knows: the first is version 1.
type Formats []Step

// Ours are those of this program. What has been released is never changed, only added to.
var Ours = Formats{
	{Release: "0.1.0"},
}

// Newest is the version in which the program makes things.
func (f Formats) Newest() int { return len(f) }

// stamp is what is written beside things about their format.
type stamp struct {
	Format int `json:"format"`
	// Needs is the first release that knows it, for older programs to tell.
	Needs string `json:"needs"`
	// MadeBy is the program that made the thing, or brought it to this format, at MadeMs.
	MadeBy string `json:"made_by"`
	MadeMs int64  `json:"made_ms"`
}

// check refuses what is newer than the program, or has no version that can be.
//
// Errors: [domain.ErrConflict], [domain.ErrInvalid].
func (f Formats) check(what string, s stamp) error {
	if s.Format < 1 {
		return domain.Invalidf("%s says that it has format %d: want 1 or more; put back what said so, or restore a backup", what, s.Format)
	}
	if s.Format <= f.Newest() {
		return nil
	}
	return domain.Conflictf("%s has format %d, this program knows up to %d: it was made by ramet %s and needs ramet %s or newer; start that one, "+
		"or restore a backup from before the upgrade", what, s.Format, f.Newest(), domain.PlainText(s.MadeBy, 60), domain.PlainText(s.Needs, 60))
}

// upgrade does what there is to do from a version on; of takes the function out of a step.
func (f Formats) upgrade(what string, from int, run func(Step) error) error {
	for i, step := range f[from:] {
		if err := run(step); err != nil {
			return fmt.Errorf("bring %s from format %d to %d: %w", what, from+i, from+i+1, err)
		}
	}
	return nil
}

// stamp is what the program writes.
func (f Formats) stamp(program string, nowMs int64) stamp {
	return stamp{Format: f.Newest(), Needs: f[f.Newest()-1].Release, MadeBy: program, MadeMs: nowMs}
}
