package node

import (
	"log/slog"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// This file watches the disk that the board, the archive or the event streams of a node
// lie on. A store that cannot write any more ends the node, so what would be new is
// refused while there is still room for the end of what runs: first all that comes in,
// then the calls of effects. Jobs that run are never touched.
//
//	free   |########## all goes on ##########|== no intake ==|= no effects =|
//	                                 IntakeBytes       EffectsBytes         0

// DiskConfig says from when on a disk is nearly full. A zero is the default.
type DiskConfig struct {
	// IntakeBytes must be free for anything new to be taken in: jobs, flows, messages,
	// events, what clients of the Redis door write. Default: a tenth of the disk, at
	// least 128 MiB and at most 1 GiB, and never more than half of the disk. Less than 0:
	// no bound.
	IntakeBytes int64 `yaml:"intake_bytes"`
	// EffectsBytes must be free for effects to be called. Default: half of IntakeBytes.
	// Less than 0: no bound.
	EffectsBytes int64 `yaml:"effects_bytes"`
}

// What is kept free by default. The embedded board writes tables of 32 MiB at once, and
// has up to three of them in its log before.
const (
	leastIntake = 128 << 20
	mostIntake  = 1 << 30
)

// diskLook is for how long a look at the disk is good. Intake is asked at each write, and
// a fast one fills some 10 MiB in that time.
const diskLook = 50 * time.Millisecond

// on fills in the defaults for a disk.
func (c DiskConfig) on(total int64) DiskConfig {
	if c.IntakeBytes == 0 {
		c.IntakeBytes = min(max(min(total/10, mostIntake), leastIntake), total/2)
	}
	if c.EffectsBytes == 0 {
		c.EffectsBytes = c.IntakeBytes / 2
	}
	return c
}

// Check refuses what cannot hold.
//
// Errors: [domain.ErrInvalid] naming the field.
func (c DiskConfig) Check() error {
	if c.IntakeBytes > 0 && c.EffectsBytes > c.IntakeBytes {
		return domain.Invalidf("disk.effects_bytes is %d, want at most disk.intake_bytes, which is %d: intake is refused before effects are",
			c.EffectsBytes, c.IntakeBytes)
	}
	return nil
}

// Space is the bytes of the disk that a folder lies on: those that a program may still
// write, and all.
type Space func(dir string) (free, total int64, err error)

// Disk says what may go on by the room that is left on a disk. It is safe for concurrent
// use; nil watches nothing, and lets all go on.
type Disk struct {
	dir   string
	cfg   DiskConfig
	space Space
	log   *slog.Logger

	mu     sync.Mutex // guards what follows
	looked time.Time
	free   int64
	blind  bool // the last look failed
	// intake and effects are why nothing is taken in, and no effect called; nil where
	// they go on.
	intake, effects error
}

// NewDisk watches the disk of a folder.
func NewDisk(dir string, cfg DiskConfig, space Space, log *slog.Logger) *Disk {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Disk{dir: dir, cfg: cfg, space: space, log: log}
}

// Intake returns an error while nothing new is to be taken in.
//
// Errors: [domain.ErrExhausted], which says what to do.
func (d *Disk) Intake() error {
	intake, _ := d.look()
	return intake
}

// Effects returns an error while no effects are to be called.
//
// Errors: [domain.ErrExhausted].
func (d *Disk) Effects() error {
	_, effects := d.look()
	return effects
}

// Free is the bytes that are free; ok is false where nobody knows.
func (d *Disk) Free() (free int64, ok bool) {
	if d == nil {
		return 0, false
	}
	_, _ = d.look()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.free, !d.blind
}

// look looks at the disk, unless that has just been done.
func (d *Disk) look() (intake, effects error) {
	if d == nil {
		return nil, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if since := now.Sub(d.looked); !d.looked.IsZero() && since >= 0 && since < diskLook {
		return d.intake, d.effects
	}
	d.looked = now
	free, total, err := d.space(d.dir)
	if err != nil { // what cannot be looked at is let go on: whoever writes there says more
		if !d.blind {
			d.log.Warn("the room that is left on the disk of the data folder is not known", "dir", d.dir, "err", err)
		}
		d.blind, d.intake, d.effects = true, nil, nil
		return nil, nil
	}
	d.blind, d.free = false, free
	c := d.cfg.on(total)
	was := d.intake
	d.intake = d.short(d.intake, c.IntakeBytes, "nothing new is taken in")
	d.effects = d.short(d.effects, c.EffectsBytes, "nothing new is taken in, and no effect is called")
	switch {
	case was == nil && d.intake != nil:
		d.log.Error("the disk of the data folder is nearly full: nothing new is taken in until there is room; what runs goes on",
			"dir", d.dir, "free", free, "of", total)
	case was != nil && d.intake == nil:
		d.log.Info("there is room on the disk of the data folder again: all goes on", "dir", d.dir, "free", free, "of", total)
	}
	return d.intake, d.effects
}

// short is the error of a disk that has not least bytes free; where it had one before, it
// wants a little more than that, so that it does not come and go with each write.
func (d *Disk) short(was error, least int64, what string) error {
	want := least
	if was != nil {
		want += least / 16
	}
	if least < 0 || d.free >= want {
		return nil
	}
	return domain.Exhaustedf("the disk of the data folder %s is nearly full: %d MiB are free, and %s below %d MiB, so that what runs can end; "+
		"free some space, and it goes on by itself", d.dir, d.free>>20, what, least>>20)
}
