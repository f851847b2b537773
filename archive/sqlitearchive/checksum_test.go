package sqlitearchive_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/sqlitearchive"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/watched"
)

// thousand are records of two contexts, with logs, names and reasons.
func thousand() (list []archive.Record) {
	for i := range 1000 {
		r := archive.Record{Context: domain.TenantID(7 + i%2), Kind: domain.ArchiveJob, Key: fmt.Sprint("job:1:", i+1), EndMs: int64(i + 1), BeginMs: 1,
			Status: "finished", ScriptType: "shell", Caller: 1, Body: json.RawMessage(fmt.Sprintf(`{"script":"echo number%d of them"}`, i)),
			Logs: []domain.Log{{AtMs: int64(i), Stream: "stdout", Line: fmt.Sprint("line of ", i)}}}
		if i%10 == 0 {
			r.Kind, r.Key, r.ScriptType, r.Blueprint, r.Trigger = domain.ArchiveFlow, fmt.Sprint("flow:", i+1), "", "nightly", fmt.Sprint("day", i)
		}
		if i%7 == 0 {
			r.Status, r.Reason = "error", "timeout"
		}
		list = append(list, r)
	}
	return list
}

// TestAChangedByteIsNoOtherRecord changes bytes all over a file, and reads everything in
// every way: what comes is what was put, or says that it is damaged.
func TestAChangedByteIsNoOtherRecord(t *testing.T) {
	ctx, all := t.Context(), thousand()
	whole := filepath.Join(t.TempDir(), "archive.db")
	a, err := sqlitearchive.Open(ctx, whole, sqlitearchive.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Put(ctx, all); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	put := map[string]archive.Record{}
	for _, r := range all {
		put[fmt.Sprint(r.Context, r.Key)] = r
	}
	file := filepath.Join(inMemory(t), "archive.db")
	tried := watched.Rounds(60, 10)
	damaged, unread, well := 0, 0, 0
	for n := range tried {
		at := (len(text)/tried)*n + n*37%(len(text)/tried)
		changed := append([]byte(nil), text...)
		changed[at] ^= 1 << (n % 8)
		for _, name := range []string{file, file + "-wal", file + "-shm"} {
			_ = os.Remove(name)
		}
		if err := os.WriteFile(file, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		got := look(t, fmt.Sprintf("byte %d of %d", at, len(text)), file, put)
		switch {
		case got.err != nil:
			unread++
		case got.damaged > 0:
			damaged++
		default:
			well++
		}
		if got.missing > 0 && got.err == nil && len(got.told) == 0 {
			t.Errorf("byte %d of %d: %d records are missed, and the check says nothing", at, len(text), got.missing)
		}
	}
	t.Logf("of %d changed files %d had records that say so, %d could not be read in part and said so, %d were well", tried, damaged, unread, well)
	if damaged < tried/10 {
		t.Errorf("%d files had damaged records: is anything checked?", damaged)
	}
}

// inMemory is a folder whose files are synced at no cost, where there is such.
func inMemory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "ramet-archive")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// looked is what was found in a file.
type looked struct {
	damaged, missing int
	err              error
	told             []string
}

// look reads everything of a file in every way.
func look(t *testing.T, what, file string, put map[string]archive.Record) (l looked) {
	t.Helper()
	ctx := t.Context()
	a, err := sqlitearchive.Open(ctx, file, sqlitearchive.Config{})
	if err != nil {
		return looked{err: err}
	}
	defer a.Close()
	note := func(err error) {
		if err == nil {
			return
		}
		l.err = err
		if !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), "damaged") && !strings.Contains(err.Error(), "malformed") {
			t.Errorf("%s: got %v, want one that says that the file is damaged", what, err)
		}
	}
	same := func(how string, r archive.Record, whole bool) {
		if r.Status == "damaged" {
			l.damaged++
			return
		}
		want := put[fmt.Sprint(r.Context, r.Key)]
		if !whole {
			want.Body, want.Logs = nil, nil
		}
		if diff := cmp.Diff(want, r); diff != "" {
			t.Errorf("%s, %s: another record (-want +got):\n%s", what, how, diff)
		}
	}
	for _, q := range []archive.Query{{}, {Whole: true}, {Status: "error"}, {Reason: "timeout", Whole: true}, {Kind: domain.ArchiveFlow}, {Blueprint: "nightly"},
		{ScriptType: "shell"}, {Caller: 1}, {Text: "them"}} {
		for tenant := range domain.TenantID(2) {
			q.Context, q.Limit, q.Cursor = 7+tenant, 500, ""
			page, err := a.Search(ctx, q)
			note(err)
			for _, r := range page.Records {
				if r.Context != q.Context {
					t.Errorf("%s: a record of context %d for one of context %d", what, r.Context, q.Context)
				}
				same(fmt.Sprintf("%+v", q), r, q.Whole)
			}
			if q == (archive.Query{Context: q.Context, Limit: 500}) && err == nil {
				l.missing += 500 - len(page.Records)
			}
		}
	}
	for _, r := range put {
		if r.EndMs%20 != 0 {
			continue // a Get for each takes its time
		}
		got, err := a.Get(ctx, r.Context, r.Key, 0)
		if errors.Is(err, domain.ErrNotFound) {
			l.missing++
			continue
		}
		if note(err); err == nil {
			same("Get", got, true)
		}
	}
	note(a.Check(ctx, 0))
	if l.told, err = a.Settings(ctx); err != nil {
		t.Error(err)
	}
	return l
}

// TestADamagedRecordHarmsNoNeighbour: it is named, and the others are read as ever.
func TestADamagedRecordHarmsNoNeighbour(t *testing.T) {
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "archive.db")
	a, err := sqlitearchive.Open(ctx, file, sqlitearchive.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Put(ctx, thousand()); err != nil {
		t.Fatal(err)
	}
	byHand(t, file, `UPDATE records SET body = replace(body, 'number500', 'number5OO') WHERE key = 'flow:501'`)
	defer a.Close()
	if _, err := a.Get(ctx, 7, "flow:501", 0); !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), `"flow:501" of context 7`) {
		t.Errorf("got %v, want one that names the record", err)
	}
	page, err := a.Search(ctx, archive.Query{Context: 7, Limit: 500, Whole: true})
	if err != nil || len(page.Records) != 500 {
		t.Fatalf("got %d records, %v", len(page.Records), err)
	}
	for _, r := range page.Records {
		if (r.Status == "damaged") != (r.Key == "flow:501") {
			t.Errorf("%s is %s", r.Key, r.Status)
		}
	}
	backed := 0
	snapshot, err := a.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	if err := snapshot.Records(ctx, func(r archive.Record) error {
		if r.Key == "flow:501" && !strings.Contains(string(r.Body), "is damaged in the file") {
			t.Errorf("a copy of all has it as %s", r.Body)
		}
		backed++
		return r.Validate()
	}); err != nil || backed != 1000 {
		t.Errorf("a copy of all has %d records, %v", backed, err)
	}
	if err := a.Check(ctx, 0); err != nil {
		t.Error(err)
	}
	if told, _ := a.Settings(ctx); len(told) != 1 || !strings.Contains(told[0], `"flow:501" of context 7`) {
		t.Errorf("got %q, want one sentence that names the record", told)
	}
}

// TestABackupKeepsWhatIsLeftOfADamagedRecord and says of it that it is damaged, as does the archive that it is put into.
func TestABackupKeepsWhatIsLeftOfADamagedRecord(t *testing.T) {
	ctx := t.Context()
	of := thousand()[0] // a flow
	for _, tt := range []struct {
		name, change string
		body         bool // is what it was
	}{
		{"a number of the head", "begin_ms = begin_ms + 1", true},
		{"a text of the head", "reason = 'x'", true},
		{"its state", "status = 'finishee'", true},
		{"the body", `body = CAST('{"script":"echo number1 of them"}' AS BLOB)`, false},
		{"both", `begin_ms = 7, body = CAST('{}' AS BLOB)`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(inMemory(t), "archive.db")
			from, err := sqlitearchive.Open(ctx, file, sqlitearchive.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer from.Close()
			if err := from.Put(ctx, []archive.Record{of}); err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open("sqlite", file)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.ExecContext(ctx, "UPDATE records SET "+tt.change); err != nil {
				t.Fatal(err)
			}
			for _, place := range []string{"the backup", "a backup of what was restored"} {
				to, err := sqlitearchive.Open(ctx, filepath.Join(inMemory(t), "archive.db"), sqlitearchive.Config{})
				if err != nil {
					t.Fatal(err)
				}
				defer to.Close()
				snap, err := from.Snapshot(ctx)
				if err != nil {
					t.Fatal(err)
				}
				err = snap.Records(ctx, func(r archive.Record) error {
					kept := r.Kind == of.Kind && r.Blueprint == of.Blueprint && r.Trigger == of.Trigger && string(r.Body) == string(of.Body) && cmp.Equal(r.Logs, of.Logs)
					if r.Status != archive.Damaged || r.Key != of.Key || r.EndMs != of.EndMs || kept != tt.body || string(r.Body) == "{}" {
						t.Errorf("%s has %+v", place, r)
					}
					return to.Put(ctx, []archive.Record{r})
				})
				if err := errors.Join(err, snap.Close(), to.Check(ctx, 0)); err != nil {
					t.Fatal(err)
				}
				if told, err := to.Settings(ctx); err != nil || len(told) != 1 || !strings.Contains(told[0], of.Key) {
					t.Errorf("restored from %s, doctor says %q, %v", place, told, err)
				}
				if got, err := to.Get(ctx, of.Context, of.Key, 0); !errors.Is(err, domain.ErrUnavailable) {
					t.Errorf("restored from %s: got %+v, %v", place, got, err)
				}
				page, err := to.Search(ctx, archive.Query{Context: of.Context, Limit: 10, Whole: true})
				if err != nil || len(page.Records) != 1 || page.Records[0].Status != archive.Damaged || !strings.Contains(string(page.Records[0].Body), "is damaged") {
					t.Errorf("restored from %s, a list has %+v, %v", place, page.Records, err)
				}
				from = to
			}
		})
	}
}

// TestEarlierProgramsShareTheFile: one that knows of no checksums reads and writes it, and
// what it has written is read.
func TestEarlierProgramsShareTheFile(t *testing.T) {
	ctx := context.Background()
	file := filepath.Join(t.TempDir(), "archive.db")
	open := func() *sqlitearchive.Archive {
		t.Helper()
		a, err := sqlitearchive.Open(ctx, file, sqlitearchive.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	a := open()
	if err := a.Put(ctx, thousand()[:10]); err != nil {
		t.Fatal(err)
	}
	a.Close()
	byHand(t, file, `INSERT INTO records (seq, context, kind, key, end_ms, begin_ms, status, reason, script_type, blueprint, flow_trigger, caller, body, logs)
		VALUES (11, 7, 'job', 'job:1:99', 99, 1, 'finished', '', 'shell', '', '', 1, CAST('{}' AS BLOB), CAST('' AS BLOB))`)
	for range 2 {
		a = open()
		r, err := a.Get(ctx, 7, "job:1:99", 0)
		if err != nil || string(r.Body) != "{}" {
			t.Errorf("got %+v, %v", r, err)
		}
		a.Close()
		byHand(t, file, `ALTER TABLE records DROP COLUMN checksum`) // as a file of an earlier program is
	}
}

// byHand changes a file past the archive.
func byHand(t *testing.T, file, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}
