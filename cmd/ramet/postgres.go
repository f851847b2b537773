//go:build !no_postgres

package main

import (
	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/postgresarchive"
)

// openPostgres opens an archive in PostgreSQL.
func openPostgres(url string) (archive.Archive, error) {
	a, err := postgresarchive.Open(url)
	if err != nil {
		return nil, err // not a: a nil *Archive is no nil archive.Archive
	}
	return a, nil
}
