package pebbleboard

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"

	"github.com/ramet-run/ramet/board"
)

// damage is a log that was overwritten: what it holds behind the hole was
// acknowledged, and is lost with all later logs.
type damage struct {
	logs []logFile // the damaged one and all later
	hole hole
	gap  string // or, what is missing before the one log

	// What is known of what is lost.
	aside    string // where it is kept
	groups   int    // how many can be read
	counters map[string]int64
}

func (d *damage) Error() string {
	switch {
	case d.gap != "":
		return d.gap
	case d.hole.at < 0:
		return "writes before " + d.logs[0].name + " are missing"
	}
	return fmt.Sprintf("%s cannot be read from byte %d on", d.logs[0].name, d.hole.at)
}

func (d *damage) Unwrap() error { return errCorrupt }

// lossFile, beside the logs that are kept aside, has the keys that were written
// behind the hole.
const lossFile = "lost.txt"

// A loss that was accepted is written down, as the value of a marker in the
// folder, before anything is taken away: what was begun is ended at the next
// start, where the process died meanwhile. Each stage may be gone through again.
const (
	lossMarker = "loss"
	lossCut    = "cut-"  // and the folder aside: the logs are cut
	lossSkip   = "skip-" // and the folder aside: counters skip what was given out, and a new epoch begins
	lossDone   = "done"
)

// accept keeps the damaged log and all later ones aside, and writes down that what
// lies behind the hole is given up; resumeLoss does it.
func (d *damage) accept(disk vfs.FS, dir string) error {
	aside := "damaged-" + time.Now().UTC().Format("20060102T150405.000")
	if err := disk.MkdirAll(path.Join(dir, aside), 0o700); err != nil {
		return err
	}
	for _, l := range d.logs {
		if err := disk.Link(path.Join(dir, l.name), path.Join(dir, aside, l.name)); err != nil {
			return err
		}
	}
	if err := syncDir(disk, path.Join(dir, aside)); err != nil {
		return err
	}
	return markLoss(disk, dir, lossCut+aside)
}

// resumeLoss cuts the log before the hole, and takes the later ones away: they go
// on from what is lost. The keys that the readable part of that had written are
// listed aside. It returns nil where no loss was accepted that is not yet done.
func resumeLoss(disk vfs.FS, dir string) (*damage, error) {
	state, err := atomicfs.ReadMarker(disk, dir, lossMarker)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (state == "" || state == lossDone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	aside, cut := strings.CutPrefix(state, lossCut)
	d := &damage{aside: path.Join(dir, strings.TrimPrefix(aside, lossSkip))}
	if d.logs, _, err = logFiles(disk, d.aside); err != nil {
		return nil, err
	}
	if len(d.logs) == 0 {
		return nil, fmt.Errorf("%w: the logs that %s should hold are gone", errCorrupt, d.aside)
	}
	if err := d.list(disk); err != nil || !cut {
		return d, err
	}
	for _, l := range d.logs[1:] {
		if err := disk.Remove(path.Join(dir, l.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if err := d.cut(disk, dir); err != nil {
		return nil, err
	}
	return d, markLoss(disk, dir, lossSkip+path.Base(d.aside))
}

// markLoss writes down how far a loss is gone through.
func markLoss(disk vfs.FS, dir, state string) error {
	mark, _, err := atomicfs.LocateMarker(disk, dir, lossMarker)
	if err != nil {
		return err
	}
	defer mark.Close()
	return mark.Move(state)
}

// cut writes what is whole of the damaged log anew.
func (d *damage) cut(disk vfs.FS, dir string) error {
	name := path.Join(dir, d.logs[0].name)
	from, err := disk.Open(path.Join(d.aside, d.logs[0].name))
	if err != nil {
		return err
	}
	defer from.Close()
	err = writeFile(disk, name+".whole", io.LimitReader(from, d.hole.whole))
	if err != nil {
		return err
	}
	if err := disk.Rename(name+".whole", name); err != nil {
		return err
	}
	return syncDir(disk, dir)
}

func syncDir(disk vfs.FS, dir string) error {
	folder, err := disk.OpenDir(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}

func writeFile(disk vfs.FS, name string, from io.Reader) error {
	to, err := disk.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err == nil {
		err = to.Sync()
	}
	if closed := to.Close(); err == nil {
		err = closed
	}
	return err
}

// list writes down the keys of the groups behind the hole that can be read.
func (d *damage) list(disk vfs.FS) error {
	var keys strings.Builder
	known := map[string]bool{}
	d.counters = map[string]int64{}
	for i, l := range d.logs {
		var record []byte
		sound := false // its first chunk was there
		h, err := readLog(disk, path.Join(d.aside, l.name), l.number, func(c part, behind bool) {
			if i == 0 && !behind {
				return
			}
			if c.begins {
				record, sound = record[:0], true
			}
			if record = append(record, c.payload...); c.ends && sound {
				d.groups++
				sound = false
				for _, key := range d.keys(record) {
					if !known[key] {
						known[key] = true
						fmt.Fprintln(&keys, key)
					}
				}
			}
		})
		if err != nil {
			return err
		}
		if i == 0 {
			d.hole = h
		}
	}
	if err := writeFile(disk, path.Join(d.aside, lossFile), strings.NewReader(keys.String())); err != nil {
		return err
	}
	return syncDir(disk, d.aside)
}

// keys are the keys of the board that a group wrote, each after its space. The
// counters that it wrote are noted.
func (d *damage) keys(record []byte) (keys []string) {
	for r := batchrepr.Read(record); ; {
		_, key, value, ok, err := r.Next()
		if !ok || err != nil {
			return keys
		}
		if len(key) >= 5 && (key[0] == nsKey || key[0] == nsQueue || key[0] == nsAlarm) {
			keys = append(keys, fmt.Sprintf("%d %q", binary.BigEndian.Uint32(key[1:]), key[5:]))
		}
		if len(key) > 0 && key[0] == nsCounter {
			n, _ := binary.Varint(value)
			d.counters[string(key)] = max(n, d.counters[string(key)])
		}
	}
}

// skip lets no number be given out that was, behind the damage: somebody has it.
func (d *damage) skip(b *Board) error {
	err := b.scan(b.db, []byte{nsCounter}, []byte{nsCounter + 1}, func(key, value []byte) (bool, error) {
		n, _ := binary.Varint(value)
		d.counters[string(key)] = max(n, d.counters[string(key)])
		return true, nil
	})
	if err != nil {
		return err
	}
	batch := b.db.NewBatch()
	defer batch.Close()
	for key, n := range d.counters {
		if err := batch.Set([]byte(key), binary.AppendVarint(nil, n+board.EpochLeap), nil); err != nil {
			return err
		}
	}
	return batch.Commit(pebble.Sync)
}

// done begins a new epoch, and writes down that the loss is dealt with.
func (d *damage) done(b *Board) error {
	cause := "a damaged log was given up; what it had is kept in " + d.aside
	if err := b.Commit(context.Background(), *new(board.Batch).NextEpoch(time.Now(), cause)); err != nil {
		return err
	}
	return markLoss(b.disk(), b.dir, lossDone)
}
