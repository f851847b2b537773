package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/postgresarchive"
	"github.com/ramet-run/ramet/archive/sqlitearchive"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
)

// This file measures what it costs to archive a backlog, and to search the archive.

// archiveSizes are the backlogs, in records; the archive has all those before it.
var archiveSizes = []int{10_000, 100_000, 1_000_000}

// archiveCost measures the processor time of a record from the board to the archive,
// and of searches once the archive has all of them. Backlogs of more than -n are left out.
func archiveCost(r *rig) figures {
	ctx := context.Background()
	a, server := openArchive(ctx, r.dir)
	defer a.Close()
	out := figures{"archive": *archiveURL}
	var first float64
	there := 0
	for _, n := range archiveSizes {
		if n > *jobs {
			break
		}
		r.fill(n, *contexts)
		r.ended.Store(0)
		r.run()
		r.waitEnded(n)
		r.stop()
		cpu, served, begun := selfCPU()+r.serverCPU(), server(), time.Now()
		drainInto(ctx, r, a)
		took := time.Since(begun)
		served = server() - served
		each := (selfCPU() + r.serverCPU() - cpu + served) * 1e6 / float64(n)
		there += n
		size := "_" + strconv.Itoa(n)
		out["cpu_us_per_record"+size], out["records_per_s"+size] = round(each), perSecond(n, took)
		if served > 0 {
			out["server_cpu_us_per_record"+size] = round(served * 1e6 / float64(n))
		}
		if first == 0 {
			first = each
		}
		out["cost_ratio"] = round(each / first)
	}
	_, err := a.Search(ctx, archive.Query{Context: 1}) // what is done once is done
	check(err)
	for name, q := range map[string]archive.Query{
		"newest": {}, "type": {ScriptType: "absent"}, "caller": {Caller: 77}, "trigger": {Trigger: "absent"}, "status": {Status: "error"},
		"reason": {Reason: "timeout"}, "kind": {Kind: domain.ArchiveMessage}, "word": {Text: "absent"}, "word_that_all_have": {Text: "0"},
	} {
		q.Context = 1
		cpu, served := selfCPU(), server()
		page, err := a.Search(ctx, q)
		check(err)
		if found := len(page.Records) > 0; found != (name == "newest" || name == "word_that_all_have") {
			check(fmt.Errorf("search by %s: found %d", name, len(page.Records)))
		}
		out["search_"+name+"_ms"] = round((selfCPU() - cpu + server() - served) * 1e3)
	}
	out["records"] = there
	return out
}

// openArchive opens a fresh archive: a file in the folder, or tables in the database
// of -archive, which must have none. server tells the processor time of its server.
func openArchive(ctx context.Context, dir string) (a archive.Archive, server func() float64) {
	if *archiveURL == "sqlite" {
		a, err := sqlitearchive.Open(ctx, filepath.Join(dir, "archive.db"), sqlitearchive.Config{})
		check(err)
		return a, func() float64 { return 0 }
	}
	conn, err := pgx.Connect(ctx, *archiveURL)
	check(err)
	var backend int
	check(conn.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&backend))
	pg, err := postgresarchive.Open(*archiveURL)
	check(err)
	postmaster := parent(backend)
	return pg, func() float64 { return familyCPU(postmaster) }
}

// drainInto archives until nothing waits.
func drainInto(ctx context.Context, r *rig, a archive.Archive) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	routine := clockwork.Archives(r.board, r.engine, clockwork.ArchiverConfig{Archive: a, Keep: 1000 * time.Hour, Logger: log, Observer: drained(cancel)})
	if err := routine.Round(ctx); ctx.Err() == nil {
		check(err)
	}
}

// drained is an observer that is called when nothing waits any more.
type drained func()

func (d drained) ArchiveBacklog(n int, _ time.Duration) {
	if n == 0 {
		d()
	}
}
func (drained) Archived(int)    {}
func (drained) ArchiveFailed()  { check(domain.Unavailablef("the archive fails")) }
func (drained) ArchiveRefused() { check(domain.Invalidf("the archive refuses a record")) }

// stat are the fields of a process from its state on; nil where it is gone.
func stat(pid int) []string {
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	_, fields, _ := strings.Cut(string(text), ") ")
	return strings.Fields(fields)
}

func parent(pid int) int {
	p, err := strconv.Atoi(stat(pid)[1])
	check(err)
	return p
}

// familyCPU is the processor time of a server on this machine and its children,
// also of those that have ended, in seconds.
func familyCPU(server int) (seconds float64) {
	add := func(fields []string) {
		for _, f := range fields {
			ticks, _ := strconv.ParseFloat(f, 64)
			seconds += ticks / 100
		}
	}
	all, err := os.ReadDir("/proc")
	check(err)
	for _, p := range all {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		switch f := stat(pid); {
		case len(f) < 15:
		case pid == server:
			add(f[11:15])
		case f[1] == strconv.Itoa(server):
			add(f[11:13])
		}
	}
	return seconds
}
