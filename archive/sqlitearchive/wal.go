package sqlitearchive

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// This file tells damage of SQLite's log from what a power cut leaves of it.
// SQLite goes on without all that lies behind the first frame whose checksum is
// wrong. Each commit is on the disk before the next is written, so a wrong frame is
// damage where its own commit was written to its end, and then another.
//
// Source: https://www.sqlite.org/fileformat2.html#walformat

const (
	walHeader   = 32
	frameHeader = 24
	maxPage     = 64 << 10
)

// errDamaged is a log that was overwritten.
var errDamaged = errors.New("is damaged, and what was written there was acknowledged")

// checkWAL looks for damage in the log of a database file.
//
// Errors: errDamaged.
func checkWAL(name string) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	head := make([]byte, walHeader)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil // nothing was committed in so short a log
	}
	w := wal{salts: [8]byte(head[16:]), order: binary.ByteOrder(binary.LittleEndian)}
	if head[3]&1 != 0 {
		w.order = binary.BigEndian
	}
	size := binary.BigEndian.Uint32(head[8:])
	w.add(head[:24])
	if binary.BigEndian.Uint32(head)&^1 != 0x377f0682 || size < 512 || size > maxPage || !w.is(head[24:]) {
		if len(trimZeros(head)) == 0 {
			return nil
		}
		return fmt.Errorf("%s %w: from its beginning on", name, errDamaged)
	}
	return w.check(r, name, int(size))
}

func trimZeros(b []byte) []byte {
	for len(b) > 0 && b[0] == 0 {
		b = b[1:]
	}
	return b
}

// wal is a log that is being read. The checksum goes on from frame to frame.
type wal struct {
	salts [8]byte
	order binary.ByteOrder
	sum   [2]uint32
}

func (w *wal) add(b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		w.sum[0] += w.order.Uint32(b) + w.sum[1]
		w.sum[1] += w.order.Uint32(b[4:]) + w.sum[0]
	}
}

func (w *wal) is(b []byte) bool {
	return binary.BigEndian.Uint32(b) == w.sum[0] && binary.BigEndian.Uint32(b[4:]) == w.sum[1]
}

// check reads the frames.
func (w *wal) check(r io.Reader, name string, page int) error {
	frame := make([]byte, frameHeader+page)
	wrong, ended := -1, false // the first frame that is wrong, and whether its commit was written to its end
	for n := 0; ; n++ {
		if _, err := io.ReadFull(r, frame); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil
			}
			return err
		}
		ours := [8]byte(frame[8:16]) == w.salts
		switch {
		case wrong < 0:
			w.add(frame[:8])
			w.add(frame[frameHeader:])
			if ours && w.is(frame[16:24]) {
				continue
			}
			wrong = n
		case !ours:
			continue // of a log before this one
		case ended:
			return fmt.Errorf("%s %w: from frame %d on", name, errDamaged, wrong)
		}
		if commit := binary.BigEndian.Uint32(frame[4:]) != 0; ours && commit {
			ended = true
		}
	}
}

// setAside keeps a copy of a log that is damaged: SQLite overwrites it.
func setAside(name string) (aside string, err error) {
	from, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer from.Close()
	aside = name + ".damaged-" + time.Now().UTC().Format("20060102T150405.000")
	to, err := os.OpenFile(aside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	if _, err = io.Copy(to, from); err == nil {
		err = to.Sync() // before SQLite writes over the other
	}
	return aside, errors.Join(err, to.Close())
}
