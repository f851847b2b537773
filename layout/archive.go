package layout

import (
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// EncodeArchiveBacklog returns the fields of [Archive] that say what waits.
func EncodeArchiveBacklog(l domain.ArchiveBacklog) []board.Field {
	var e encoder
	e.num(archiveWaiting, int64(l.Waiting))
	e.num(archiveOldestMs, l.OldestMs)
	e.num(archivePerSecond, int64(l.PerSecond))
	e.num(archiveToldMs, l.ToldMs)
	return e
}

// DecodeArchiveBacklog reads them; nil where nobody has told yet.
func DecodeArchiveBacklog(r board.Record) *domain.ArchiveBacklog {
	if r.Get(archiveToldMs) == "" {
		return nil
	}
	number := func(name string) int64 { n, _ := board.Number(r.Get(name)); return n }
	return &domain.ArchiveBacklog{Waiting: int(number(archiveWaiting)), OldestMs: number(archiveOldestMs),
		PerSecond: int(number(archivePerSecond)), ToldMs: number(archiveToldMs)}
}
