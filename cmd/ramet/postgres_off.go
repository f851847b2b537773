//go:build no_postgres

package main

import "github.com/ramet-run/ramet/archive"

func init() { without = append(without, "postgres") }

func openPostgres(string) (archive.Archive, error) {
	return nil, leftOut("archive in PostgreSQL", "no_postgres")
}
