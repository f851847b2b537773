package rows

import (
	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
)

// Everything and Names read whole tables.
const (
	Everything = "SELECT " + Whole + " FROM records"
	Names      = "SELECT context, blueprint, flow_trigger, key, claimed_ms FROM names"
)

// EachRecord calls f for the rows of [Everything].
func EachRecord(next func() bool, scan func(dest ...any) error, f func(archive.Record) error) error {
	for next() {
		r, err := Scan(scan, true)
		if err == nil {
			err = f(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// EachName calls f for the rows of [Names].
func EachName(next func() bool, scan func(dest ...any) error, f func(archive.Claimed) error) error {
	for next() {
		var tenant int64
		var c archive.Claimed
		if err := scan(&tenant, &c.Blueprint, &c.Trigger, &c.Key, &c.ClaimedMs); err != nil {
			return err
		}
		c.Context = domain.TenantID(tenant)
		if err := f(c); err != nil {
			return err
		}
	}
	return nil
}
