// Package upgrade holds what versions of Ramet owe each other: what a released one has
// left opens in every later one, and all that was alive goes on. The same is held of what
// is restored from a backup: see TestRestoreDrill.
//
// testdata/golden has, for each format, a data folder and what lay on a Redis and on an etcd
// board, and a data folder with what lay in an archive on PostgreSQL, with one of
// everything: a job that waits, a flow in the midst, a schedule, instances of a saga that wait
// for an event and for an effect, a message, a ban, actors, a blueprint, what was
// archived, an audit log. A new format adds its own, and takes none away:
//
//	go test ./test/upgrade -run TestGolden -update
package upgrade
