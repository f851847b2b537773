package postgresarchive

import (
	"context"
	"fmt"
)

// settingsOf is how the server is set, and how near it is to its bounds.
//
// Source: PostgreSQL 17, "Server Configuration", and "Preventing Transaction ID Wraparound Failures".
const settingsOf = `SELECT current_setting('fsync') = 'on', current_setting('full_page_writes') = 'on', current_setting('autovacuum') = 'on',
	current_setting('max_connections')::int, (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
	(SELECT max(age(datfrozenxid)) FROM pg_database), current_setting('server_version_num')::int,
	current_setting('data_checksums') = 'on'`

const (
	// oldServer is the first version that is still looked after by its makers.
	oldServer = 140000
	// oldNumbers is an age of transaction numbers that autovacuum does not let come about
	// where it works: it begins at 200 million, and the server stops at two billion.
	oldNumbers = 1_000_000_000
)

// Settings are sentences about how the server is set that cost something.
//
// Errors: [domain.ErrUnavailable].
func (a *Archive) Settings(ctx context.Context) (texts []string, err error) {
	var fsync, pages, vacuum, checksums bool
	var most, used, version int
	var age int64
	if err := a.prepare(ctx); err != nil {
		return nil, translate(ctx, "read", err)
	}
	if err := a.pool.QueryRow(ctx, settingsOf).Scan(&fsync, &pages, &vacuum, &most, &used, &age, &version, &checksums); err != nil {
		return nil, translate(ctx, "read", err)
	}
	if !fsync {
		texts = append(texts, "PostgreSQL has fsync off: a power cut may leave a database that cannot be read at all; set fsync = on")
	}
	if !pages {
		texts = append(texts, "PostgreSQL has full_page_writes off: a power cut may tear pages, unless the file system never does; set full_page_writes = on")
	}
	if !vacuum {
		texts = append(texts, "PostgreSQL has autovacuum off: what retention removes leaves no room, and the server stops when its transaction numbers run out; "+
			"set autovacuum = on")
	}
	if !checksums {
		texts = append(texts, "PostgreSQL has data_checksums off: a byte that changes on its disk is another record, and nobody is told; "+
			"stop the server and run `pg_checksums --enable`, or make it with `initdb --data-checksums`")
	}
	if age > oldNumbers {
		texts = append(texts, fmt.Sprintf("transaction numbers of PostgreSQL are %d million old, and it stops at 2,100: something keeps vacuum from its work, "+
			"such as an old transaction or replication slot; see pg_stat_activity and pg_replication_slots", age/1_000_000))
	}
	if used*10 > most*8 {
		texts = append(texts, fmt.Sprintf("PostgreSQL has %d of %d connections in use: with none left nothing is archived; set max_connections higher", used, most))
	}
	if version < oldServer {
		texts = append(texts, fmt.Sprintf("PostgreSQL %d gets no more repairs from its makers: upgrade it", version/10000))
	}
	return texts, nil
}
