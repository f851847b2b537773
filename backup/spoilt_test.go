package backup_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/backup"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
)

// spoilt is an archive that has one record as it was put, and one that is damaged.
type spoilt struct{ archive.Archive }

func (s spoilt) Snapshot(context.Context) (archive.Snapshot, error) { return s, nil }

func (spoilt) Records(_ context.Context, f func(archive.Record) error) error {
	for key, status := range map[string]string{"job:1:2": "finished", "flow:3": archive.Damaged} {
		r := archive.Record{Context: 7, Kind: domain.ArchiveJob, Key: key, EndMs: 1, Status: status, Body: json.RawMessage(`{}`)}
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

func (spoilt) Names(context.Context, func(archive.Claimed) error) error { return nil }
func (spoilt) Close() error                                             { return nil }

// TestABackupNamesDamagedRecords to who makes it, and to who reads it.
func TestABackupNamesDamagedRecords(t *testing.T) {
	var text bytes.Buffer
	wrote, err := backup.Write(t.Context(), &text, backup.Source{Board: memboard.Open(), Archive: spoilt{}})
	if err != nil {
		t.Fatal(err)
	}
	read, err := backup.Verify(t.Context(), bytes.NewReader(text.Bytes()), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []backup.Summary{wrote, read} {
		if s.Archived != 2 || s.SpoiltRecords != 1 || !slices.Equal(s.Spoilt, []string{"flow:3 of context 7"}) {
			t.Errorf("got %+v", s)
		}
	}
}
