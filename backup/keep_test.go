package backup

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/ramet-run/ramet/artifact"
	"github.com/ramet-run/ramet/domain"
)

// fullStore is a store of artifacts without room.
type fullStore struct{ artifact.Store }

func (fullStore) Put(context.Context, domain.TenantID, io.ReadSeeker) (artifact.Blob, error) {
	return artifact.Blob{}, domain.Exhaustedf("no space left on device")
}

// fullDisk is a reader of what cannot be written to the disk.
type fullDisk struct{}

func (fullDisk) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: ".artifact-1", Err: syscall.ENOSPC}
}

// TestAFullDiskIsOneKindOfError wherever a restore meets it: of the file that an artifact lies in until it has come whole, and of
// the store. A backup that cannot be read stays what it is.
func TestAFullDiskIsOneKindOfError(t *testing.T) {
	r := &restoring{}
	r.Folder, r.Artifacts = t.TempDir(), fullStore{}
	for name, from := range map[string]io.Reader{"the file": fullDisk{}, "the store": strings.NewReader("a report")} {
		if err := r.keep(t.Context(), blob{Context: 1}, from); !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := r.keep(t.Context(), blob{Context: 1}, io.MultiReader(strings.NewReader("a"), brokenBackup{})); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("the backup: got %v", err)
	}
}

type brokenBackup struct{}

func (brokenBackup) Read([]byte) (int, error) { return 0, domain.Invalidf("the backup is cut") }
