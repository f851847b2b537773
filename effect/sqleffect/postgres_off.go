//go:build no_postgres

package sqleffect

import "github.com/ramet-run/ramet/effect"

// This file stands for postgres.go in a program that is built without it.

func openPostgres(*Options, effect.Definition, effect.Host) (*database, error) {
	return nil, errNoPostgres
}

func postgresTooLarge(error) bool { return false }

func postgresConnecting(error) bool { return false }
