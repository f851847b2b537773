package main

import (
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/ramet-run/ramet/backup"
	"github.com/ramet-run/ramet/board/pebbleboard"
)

// copyRate copies a board with so many jobs to an embedded one, compares them, and backs it
// up to a file; beside it the disk takes as many bytes as the board has, plain and synced.
func copyRate(r *rig) figures {
	ctx := context.Background()
	r.fill(*jobs, *contexts)
	to, err := pebbleboard.Open(filepath.Join(r.dir, "copy"), pebbleboard.Config{})
	check(err)
	begun, cpu := time.Now(), selfCPU()+r.serverCPU()
	copied, err := backup.Copy(ctx, backup.Side{Board: r.bare, Name: "bench", Alone: true}, backup.Side{Board: to, Alone: true}, false, nil)
	check(err)
	took, used := time.Since(begun), selfCPU()+r.serverCPU()-cpu
	check(to.Close())
	f := figures{"items": copied.Items(), "copied_per_s": perSecond(int(copied.Items()), took),
		"copy_cpu_us_per_item": round(used * 1e6 / float64(copied.Items()))}

	maps.Copy(f, backupBesideDisk(ctx, r))
	return f
}

// write writes a file to the disk.
func write(name string, what func(out io.Writer)) {
	out, err := os.Create(name)
	check(err)
	what(out)
	check(out.Sync())
	check(out.Close())
}
