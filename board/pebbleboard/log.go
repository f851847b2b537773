package pebbleboard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/bits"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// This file tells damage from what a power cut leaves. The store takes whatever
// it cannot read in its newest log for an end that was not written any more, and
// goes on without all that lies behind it. So logs are read before it opens them.
// What cannot be read is damage if what follows says that it was on the disk, or
// if one other byte would make it readable: a write that was cut short is not so
// close to a whole one. What follows says how far the log was on the disk only as of
// when it was written, which is some groups back. So it is damage, too, if something
// follows and no sector before it is as the disk has what was never written.
//
// Source: record/record.go of Pebble, whose chunks these are.

const (
	// logBlock is what a log consists of; no chunk goes beyond one.
	logBlock = 32 << 10
	// logTail is how many bytes at the end of a block are left at zero at most.
	logTail = 19
	// sector is what a disk writes whole or not at all; there are larger ones.
	sector = 512
)

// logHeads are the lengths of a chunk's header, by its kind: a checksum of four
// bytes, the length of what follows in two, the kind in one; the log's number in
// four; up to where the log was on the disk in eight.
var logHeads = [...]int{7, 11, 19}

// part is a record in a log, or a piece of one.
type part struct {
	begins, ends bool // it is the first, the last of its record
	payload      []byte
	size         int
	synced       int64 // the log was on the disk up to there when this was written; 0: it does not say
	plain        bool  // it does not say of which log it is
}

// readPart reads what p begins with, in the log with a number.
func readPart(p []byte, log uint32) (c part, ok bool) {
	head := headOf(p)
	if head == 0 || len(p) < head {
		return c, false
	}
	c.size = head + int(binary.LittleEndian.Uint16(p[4:]))
	c.plain = head == logHeads[0]
	if c.size > len(p) || !c.plain && binary.LittleEndian.Uint32(p[7:]) != log || sum(p[6:c.size]) != binary.LittleEndian.Uint32(p) {
		return c, false
	}
	if head == logHeads[2] {
		c.synced = int64(binary.LittleEndian.Uint64(p[11:]))
	}
	which := (p[6] - 1) % 4 // whole, first, middle, last
	c.begins, c.ends = which <= 1, which == 0 || which == 3
	c.payload = p[head:c.size]
	return c, true
}

// headOf is the length of the header that p begins with; 0: there is none.
func headOf(p []byte) int {
	if len(p) < logHeads[0] || p[6] == 0 || int(p[6]-1)/4 >= len(logHeads) {
		return 0
	}
	return logHeads[(p[6]-1)/4]
}

// sum is the checksum of a chunk.
func sum(p []byte) uint32 {
	c := crc32.Checksum(p, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// isEnd reports whether p begins with what a log that was closed ends in.
func isEnd(p []byte, log uint32) bool {
	return len(p) >= logHeads[1] && bytes.Equal(p[:7], []byte{0, 0, 0, 0, 0, 0, 5}) && binary.LittleEndian.Uint32(p[7:]) == log+1
}

// hole is a place in a log from which on nothing can be read.
type hole struct {
	at    int64
	whole int64 // up to where records are whole
	// damage says that what is there was on the disk once.
	damage bool
}

// findHole reads a log, and calls each for every chunk that can be read, also of
// those behind a hole.
func findHole(r io.Reader, log uint32, each func(c part, behind bool)) (h hole, err error) {
	h.at = -1
	var s stretch
	defer func() { h.damage = h.damage || h.at >= 0 && s.damaged() }()
	block := make([]byte, logBlock)
	for base := int64(0); ; base += logBlock {
		n, err := io.ReadFull(r, block)
		if errors.Is(err, io.EOF) {
			return h, nil
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return h, err
		}
		for p := block[:n]; len(p) > 0; {
			at := base + int64(n-len(p))
			c, ok := readPart(p, log)
			switch {
			case ok:
				each(c, h.at >= 0)
				p = p[c.size:]
				if h.at < 0 && c.ends {
					h.whole = base + int64(n-len(p))
				}
				h.damage = h.damage || h.at >= 0 && (c.synced > h.at || c.plain && c.begins)
				s.follows = s.follows || h.at >= 0
				continue
			case h.at < 0 && isEnd(p, log):
				return h, nil
			case h.at < 0 && n == logBlock && len(p) < logTail && len(bytes.Trim(p, "\x00")) == 0:
				p = nil
				continue
			case h.at < 0:
				h.at = at
				h.damage, s.oneByte = nearlyWhole(p, log)
			}
			next := nextPart(p, log)
			s.take(p[:next], at, next == len(p), log)
			p = p[next:]
		}
	}
}

// stretch is what cannot be read in a log, from a hole on.
type stretch struct {
	oneByte bool // one other byte would make its beginning readable
	follows bool // there is something readable behind it
	blank   bool // there is a sector in it, before that, that was never written
	reused  bool // the file was an older log, so such a sector has something of that
}

// take looks at the next piece of what cannot be read. It ends where something can be
// read, or else with a block or the log.
func (s *stretch) take(p []byte, at int64, ends bool, log uint32) {
	s.reused = s.reused || hasOlder(p, log)
	for len(p) > 0 && !s.follows {
		n := min(sector-int(at%sector), len(p))
		whole := ends || (at+int64(n))%sector == 0 // otherwise what follows was written with it
		s.blank = s.blank || whole && len(bytes.Trim(p[:n], "\x00")) == 0
		at, p = at+int64(n), p[n:]
	}
}

// damaged reports whether what cannot be read was written whole.
func (s *stretch) damaged() bool {
	if s.follows {
		return s.oneByte || !s.blank && !s.reused
	}
	return s.oneByte && !s.blank
}

// hasOlder reports whether there is a piece of an older log in p. The store writes new
// logs over old ones.
func hasOlder(p []byte, log uint32) bool {
	for ; len(p) >= logHeads[1]; p = p[1:] {
		if head := headOf(p); head <= logHeads[0] {
			continue
		}
		if older := binary.LittleEndian.Uint32(p[7:]); older > 0 && older < log {
			if _, ok := readPart(p, older); ok {
				return true
			}
		}
	}
	return false
}

// nextPart finds where the next piece begins in what begins with one that cannot be
// read. What that says of its length may be what is wrong.
func nextPart(p []byte, log uint32) int {
	for i := 1; i < len(p); i++ {
		if _, ok := readPart(p[i:], log); ok {
			return i
		}
	}
	return len(p)
}

// nearlyWhole reports whether p would begin with a piece if one of its bits, or one of
// its bytes, were another. Of a thousand bytes of noise one in half a million would
// by a bit, one in some ten thousand by a byte.
func nearlyWhole(p []byte, log uint32) (bit, byt bool) {
	if len(p) < logHeads[0] {
		return false, false
	}
	p = slices.Clone(p)
	try := func(i int, by byte) {
		p[i] ^= by
		if _, ok := readPart(p, log); ok {
			byt, bit = true, bit || bits.OnesCount8(by) == 1
		}
		p[i] ^= by
	}
	for by := 1; by < 256; by++ { // the length is not in the checksum
		try(4, byte(by))
		try(5, byte(by))
	}
	for _, head := range logHeads { // the kind may be what is wrong
		size := head + int(binary.LittleEndian.Uint16(p[4:]))
		if size > len(p) {
			continue
		}
		want, got := binary.LittleEndian.Uint32(p), sum(p[6:size])
		for i := range 4 { // the checksum itself may be
			if by := byte((want ^ got) >> (8 * i)); (want^got)&^(0xff<<(8*i)) == 0 {
				try(i, by)
			}
		}
		if i, by, ok := errorAt(size-6, plainSum(want)^plainSum(got)); ok && (i == 0 || head == headOf(p)) {
			try(6+i, by)
		}
	}
	return bit, byt
}

// plainSum undoes what sum does beyond the checksum.
func plainSum(s uint32) uint32 {
	s -= 0xa282ead8
	return s>>17 | s<<15
}

// errorAt finds the last byte of n that makes checksums differ by diff when it is
// another, and by what it is: diff is the checksum of that byte and zeros behind it,
// which are taken back one by one.
func errorAt(n int, diff uint32) (i int, by byte, ok bool) {
	for i = n - 1; i >= 0; i-- {
		top := lastOf[diff>>24]
		if diff == castagnoli[top] && top != 0 {
			return i, top, true
		}
		diff = (diff^castagnoli[top])<<8 | uint32(top)
	}
	return 0, 0, false
}

// lastOf has the index of the checksums' table by its entries' highest byte.
var lastOf = func() (of [256]byte) {
	for i, v := range castagnoli {
		of[v>>24] = byte(i)
	}
	return of
}()

// logFile is a log in the folder.
type logFile struct {
	name   string
	number uint32
}

// logFiles are the logs of a folder, the oldest first, and the newest of the
// store's lists of its files.
func logFiles(disk vfs.FS, dir string) (logs []logFile, manifest string, err error) {
	names, err := disk.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	newest := uint64(0)
	for _, name := range names {
		if text, is := strings.CutSuffix(name, ".log"); is {
			if n, err := strconv.ParseUint(text, 10, 64); err == nil {
				logs = append(logs, logFile{name, uint32(n)})
			}
		}
		if text, is := strings.CutPrefix(name, "MANIFEST-"); is {
			if n, err := strconv.ParseUint(text, 10, 64); err == nil && n >= newest {
				newest, manifest = n, name
			}
		}
	}
	slices.SortFunc(logs, func(a, b logFile) int { return int(a.number) - int(b.number) })
	return logs, manifest, err
}

// checkLogs looks for damage in the logs.
//
// Errors: errCorrupt; a [*damage] for what may be given up.
func checkLogs(disk vfs.FS, dir string) error {
	logs, manifest, err := logFiles(disk, dir)
	if err != nil {
		return err
	}
	var t tables
	if manifest != "" {
		h, err := records(disk, path.Join(dir, manifest), 0, t.take)
		if err != nil {
			return err
		}
		if h.damage {
			return fmt.Errorf("%w: %s cannot be read from byte %d on", errCorrupt, manifest, h.at)
		}
	}
	for i, l := range logs {
		gap, h, err := t.gap(disk, dir, l)
		if err != nil {
			return err
		}
		if gap != "" {
			return &damage{logs: logs[i : i+1], gap: gap + "; a log before it, or the end of " + manifest + ", is lost"}
		}
		if h.damage {
			return &damage{logs: logs[i:], hole: h}
		}
	}
	return nil
}

func readLog(disk vfs.FS, name string, number uint32, each func(c part, behind bool)) (hole, error) {
	f, err := disk.Open(name)
	if err != nil {
		return hole{}, err
	}
	defer f.Close()
	return findHole(f, number, each)
}
