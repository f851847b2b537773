package pebbleboard

import (
	"encoding/binary"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// damage is a log that was overwritten: what it holds behind the hole was
// acknowledged, and is lost with all later logs.
type damage struct {
	logs []logFile // the damaged one and all later
	hole hole

	// What is known of what is lost.
	aside    string // where it is kept
	groups   int    // how many can be read
	counters map[string]int64
}

func (d *damage) Error() string {
	return fmt.Sprintf("%s cannot be read from byte %d on", d.logs[0].name, d.hole.at)
}

func (d *damage) Unwrap() error { return errCorrupt }

// lossFile, beside the logs that are kept aside, has the keys that were written
// behind the hole.
const lossFile = "lost.txt"

// accept cuts the log before the hole, and takes the later ones away: they go on
// from what is lost. All of them are kept aside, with a list of the keys that the
// readable part of what is lost had written.
func (d *damage) accept(disk vfs.FS, dir string) error {
	d.aside = path.Join(dir, "damaged-"+time.Now().UTC().Format("20060102T150405.000"))
	if err := disk.MkdirAll(d.aside, 0o700); err != nil {
		return err
	}
	for _, l := range d.logs {
		if err := disk.Link(path.Join(dir, l.name), path.Join(d.aside, l.name)); err != nil {
			return err
		}
	}
	if err := d.list(disk); err != nil {
		return err
	}
	for _, l := range d.logs[1:] {
		if err := disk.Remove(path.Join(dir, l.name)); err != nil {
			return err
		}
	}
	return d.cut(disk, dir)
}

// cut writes what is whole of the damaged log anew.
func (d *damage) cut(disk vfs.FS, dir string) error {
	name := path.Join(dir, d.logs[0].name)
	from, err := disk.Open(name)
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
		_, err := readLog(disk, path.Join(d.aside, l.name), l.number, func(c part, behind bool) {
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
	}
	return writeFile(disk, path.Join(d.aside, lossFile), strings.NewReader(keys.String()))
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

// lostNumbers is more than a group that cannot be read has given out of a counter.
const lostNumbers = 10_000

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
		if err := batch.Set([]byte(key), binary.AppendVarint(nil, n+lostNumbers), nil); err != nil {
			return err
		}
	}
	return batch.Commit(pebble.Sync)
}
