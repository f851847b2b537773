package main

import (
	"context"
	"io"
	"path/filepath"
	"time"

	"github.com/ramet-run/ramet/backup"
)

// This file measures a backup: how fast it is beside the disk, and what a drain loses by
// one that is written meanwhile.

// backupRounds is how often both drains are measured; the one in the middle counts.
const backupRounds = 5

// backupCost backs a backlog up and has the disk take as many bytes; then it drains the backlog, and as
// many again in parts, half of them while backups are written one after the other.
func backupCost(r *rig) figures {
	ctx := context.Background()
	r.fill(*jobs, *contexts)
	f := backupBesideDisk(ctx, r)
	r.run()
	ended := *jobs
	r.waitEnded(ended)
	r.stop()
	n := *jobs / backupRounds
	var rates [2][]float64
	written := 0
	for i := range 2 * backupRounds {
		r.fill(n, *contexts)
		ctx, stop := context.WithCancel(ctx)
		done := make(chan int, 1)
		which := (i + i/2) % 2
		begun := time.Now()
		if which == 1 {
			go func() { done <- backups(ctx, r) }()
		} else {
			done <- 0
		}
		r.run()
		ended += n
		r.waitEnded(ended)
		rates[which] = append(rates[which], float64(n)/time.Since(begun).Seconds())
		stop()
		written += <-done
		r.stop()
	}
	alone, beside := median(rates[0]), median(rates[1])
	f["jobs_per_s"], f["jobs_per_s_beside_backups"], f["less_percent"] = round(alone), round(beside), round((1-beside/alone)*100)
	f["backups"] = written
	return f
}

// backupBesideDisk writes a backup to a file, and then as many bytes as the board has, both
// synced.
func backupBesideDisk(ctx context.Context, r *rig) figures {
	var kept backup.Summary
	begun, cpu := time.Now(), selfCPU()+r.serverCPU()
	write(filepath.Join(r.dir, "backup"), func(out io.Writer) {
		var err error
		kept, err = backup.Write(ctx, out, backup.Source{Board: r.bare, Head: backup.Head{Kind: "bench", Node: "bench"}})
		check(err)
	})
	took, used := time.Since(begun), selfCPU()+r.serverCPU()-cpu
	mb := float64(kept.Bytes) / (1 << 20)
	begun = time.Now()
	write(filepath.Join(r.dir, "plain"), func(out io.Writer) {
		chunk := make([]byte, 1<<20)
		for range int(mb) + 1 {
			_, err := out.Write(chunk)
			check(err)
		}
	})
	return figures{"backup_mb": round(mb), "backup_mb_per_s": round(mb / took.Seconds()), "backup_cpu_ms_per_mb": round(used * 1e3 / mb),
		"disk_mb_per_s": round((float64(int(mb)) + 1) / time.Since(begun).Seconds())}
}

// backups writes backups until ctx ends, and returns how many it has begun.
func backups(ctx context.Context, r *rig) (n int) {
	for ; ctx.Err() == nil; n++ {
		write(filepath.Join(r.dir, "backup"), func(out io.Writer) {
			_, err := backup.Write(ctx, out, backup.Source{Board: r.bare, Head: backup.Head{Kind: "bench", Node: "bench"}})
			if ctx.Err() == nil {
				check(err)
			}
		})
	}
	return n
}
