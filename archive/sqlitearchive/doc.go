// Package sqlitearchive keeps the archive in one SQLite file: the embedded
// default. It needs nothing installed and no C.
//
// The file is written through one connection, so that no two writers wait for
// each other's locks, and read through a few others, which see the last commit
// (write-ahead log). Commits are synced to the disk before they return. Words
// stand in an FTS5 index that holds no text of its own; they are split in
// package archive. Room that removed records leave goes back to the disk (see shrink).
//
// The schema has a number, PRAGMA user_version. Open brings an older file up to
// date, step by step, each in a transaction, and refuses a newer one.
//
// The package has no goroutines of its own.
package sqlitearchive
