package encryptedarchive_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/encryptedarchive"
	"github.com/ramet-run/ramet/archive/sqlitearchive"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/encryption"
)

// source is a source with one key; "" is that it is not there.
type source struct{ key string }

func (s *source) Read(context.Context, string) (string, error) {
	if s.key == "" {
		return "", domain.Unavailablef("secret disk: it is not there")
	}
	return s.key, nil
}

func record(key string) archive.Record {
	return archive.Record{Context: 7, Kind: domain.ArchiveJob, Key: key, EndMs: 5, BeginMs: 1, Status: "finished", Caller: 1,
		Body: json.RawMessage(`{"script":"echo canary"}`), Logs: []domain.Log{{Stream: "stdout", Line: "canary"}}}
}

func TestRecordsLieUnreadableAndCannotBeSwapped(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	has := &source{encryption.NewKEK()}
	open := func() *encryption.Keys {
		k, err := encryption.Open(t.Context(), b, has, nil)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	keys := open()
	if _, err := keys.Encrypt(t.Context(), 7, "disk", 1); err != nil {
		t.Fatal(err)
	}
	plain, err := sqlitearchive.Open(t.Context(), filepath.Join(t.TempDir(), "a.db"), sqlitearchive.Config{})
	if err != nil {
		t.Fatal(err)
	}
	a := encryptedarchive.New(plain, keys)
	defer a.Close()
	one, other := record("job:1:1"), record("job:1:2")
	other.Body = json.RawMessage(`{"script":"echo other"}`)
	if err := a.Put(t.Context(), []archive.Record{one, other}); err != nil {
		t.Fatal(err)
	}
	lies, err := plain.Get(t.Context(), 7, "job:1:1", 0)
	if err != nil || strings.Contains(string(lies.Body), "canary") || lies.Logs != nil || lies.Status != "finished" {
		t.Errorf("got %+v, %v in the archive below", lies, err)
	}
	got, err := a.Get(t.Context(), 7, "job:1:1", 0)
	if err != nil || string(got.Body) != string(one.Body) || len(got.Logs) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	page, err := a.Search(t.Context(), archive.Query{Context: 7, Whole: true})
	if err != nil || len(page.Records) != 2 || !strings.Contains(string(page.Records[1].Body), "canary") {
		t.Errorf("got %+v, %v", page, err)
	}
	for _, ask := range []func() error{
		func() error { _, err := a.Search(t.Context(), archive.Query{Context: 7, Text: "canary"}); return err },
		func() error { _, err := a.Count(t.Context(), archive.Query{Context: 7, Text: "canary"}); return err },
	} {
		if err := ask(); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "cannot be searched for") {
			t.Errorf("got %v of a search for words", err)
		}
	}
	// One body in place of another's.
	lies.Key = "job:1:3"
	if err := plain.Put(t.Context(), []archive.Record{lies}); err != nil {
		t.Fatal(err)
	}
	if got, err = a.Get(t.Context(), 7, "job:1:3", 0); err != nil || !strings.Contains(string(got.Body), "unreadable") {
		t.Errorf("got %s, %v of a body that is another's", got.Body, err)
	}
	has.key = ""
	if _, err := encryptedarchive.New(plain, open()).Get(t.Context(), 7, "job:1:1", 0); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("got %v without the key", err)
	}
}
