//go:build !no_postgres

package sqleffect

import (
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestWhatMayGoWellAnotherTime has what no server of a test says at will.
func TestWhatMayGoWellAnotherTime(t *testing.T) {
	for code, retry := range map[string]bool{
		"08006": true, "25006": true, "28P01": true, "3D000": true, "40001": true, "40P01": true, "53300": true, "55P03": true, "57014": true, "57P01": true,
		"58030": true, "XX000": true, "22P02": false, "23505": false, "25P02": false, "42501": false, "42601": false, "42P01": false, "0A000": false, "P0001": false,
	} {
		f := postgresFault(fmt.Errorf("wrapped: %w", &pgconn.PgError{Code: code, Message: "a\nb", Detail: "Key (a)=(1) exists."}))
		if f == nil || f.retry != retry || f.Error() != code+": a b" {
			t.Errorf("PostgreSQL's %s: got %v, want to try again: %v", code, f, retry)
		}
	}
	for number, retry := range map[uint16]bool{1040: true, 1045: true, 1205: true, 1213: true, 1290: true, 1969: true, 1062: false, 1064: false,
		1146: false, 1366: false, 1452: false} {
		f := mysqlFault(fmt.Errorf("wrapped: %w", &mysql.MySQLError{Number: number, SQLState: [5]byte([]byte("HY000")), Message: "because"}))
		if f == nil || f.retry != retry || f.code != fmt.Sprint(number) {
			t.Errorf("MySQL's %d: got %v, want to try again: %v", number, f, retry)
		}
	}
	if f := mysqlFault(&mysql.MySQLError{Number: 9999, SQLState: [5]byte([]byte("08S01"))}); f == nil || !f.retry || f.code != "08S01" {
		t.Errorf("got %v of a connection that failed", f)
	}
}
