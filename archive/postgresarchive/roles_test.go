package postgresarchive_test

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/postgrestest"
)

// as is a URL for another role.
func as(t *testing.T, base, role string) string {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("user", role)
	u.RawQuery = q.Encode()
	return u.String()
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(t.Context()) })
	return c
}

// TestTheRolesOfDeploy makes an archive as the role that operators are given by
// deploy/postgres, then looks at what it and the reports' role may.
func TestTheRolesOfDeploy(t *testing.T) {
	s := postgrestest.Start(t, "fsync = off")
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "postgres", "archive.sql"))
	if err != nil {
		t.Fatal(err)
	}
	root := connect(t, s.URL())
	if _, err := root.Exec(t.Context(), string(text)); err != nil {
		t.Fatal(err)
	}
	a := open(t, as(t, s.URL(), "ramet_node"))
	record, err := archive.OfJob(1, &domain.Job{ID: 1, CallerID: 1, Status: domain.JobFinished, FinishedMs: 1000}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The first makes the tables; a second start finds them.
	for range 2 {
		if err := a.Put(t.Context(), []archive.Record{record}); err != nil {
			t.Fatal(err)
		}
		if n, err := a.Count(t.Context(), archive.Query{Context: 1}); err != nil || n != 1 {
			t.Fatal(n, err)
		}
		a = open(t, as(t, s.URL(), "ramet_node"))
	}
	reader := connect(t, as(t, s.URL(), "ramet_reader"))
	for command, may := range map[string]bool{
		"SELECT count(*) FROM ramet.records": true, "DELETE FROM ramet.records": false, "DROP TABLE ramet.records": false,
		"CREATE TABLE ramet.x ()": false, "INSERT INTO ramet.schema_version VALUES (9)": false,
	} {
		if _, err := reader.Exec(t.Context(), command); (err == nil) != may {
			t.Errorf("%s: got %v, want it allowed: %v", command, err, may)
		}
	}
	if _, err := connect(t, as(t, s.URL(), "ramet_node")).Exec(t.Context(), "CREATE SCHEMA other"); err == nil {
		t.Error("the nodes' role made a schema")
	}
}
