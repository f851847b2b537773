package natsstream

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// This file finds damage in the files of the embedded streams before the server
// opens them. The server says nothing of it: it cuts a block off where it cannot
// read a record, goes on without a block that is missing, and what it has so thrown
// away nobody can tell from what never was. No message of these streams is ever
// deleted but by Trim, so all numbers from 1 on have to be there, or to be known as
// gone.

const (
	indexFile = "index.db"
	// maxNamed is how many places an error names.
	maxNamed = 3
)

// streamFiles are the files of one stream.
type streamFiles struct {
	name   domain.StreamName
	folder string    // of the streams
	sums   checksums // of all but blocks

	last    uint64 // the number of the last message that is there, or of one that is said to be gone
	missing []span
	said    []span // those that records say are gone
	bad     []block
	end     int   // the number of the last block
	meta    error // why the server will not know the stream
}

// block is what can be read of one.
type block struct {
	number int
	at     int // the first byte that cannot be read and is damage; -1: none
	whole  []byte
}

func (k block) name() string { return fmt.Sprint(k.number, ".blk") }

func (k block) checksums(of domain.StreamName) (checksums, error) {
	return newChecksums(fmt.Sprintf("%s-%d", of, k.number))
}

func (s *streamFiles) path(parts ...string) string {
	return filepath.Join(append([]string{s.folder, "jetstream", "$G", "streams", string(s.name)}, parts...)...)
}

// checkFiles reads the blocks of a stream through.
func checkFiles(folder string, name domain.StreamName, known []span) (*streamFiles, error) {
	sums, err := newChecksums(string(name))
	if err != nil {
		return nil, err
	}
	s := &streamFiles{name: name, folder: folder, sums: sums}
	numbers, err := s.numbers()
	if err != nil {
		return nil, err
	}
	for i, n := range numbers {
		if err := s.read(n, i == len(numbers)-1); err != nil {
			return nil, err
		}
	}
	index, err := os.ReadFile(s.path("msgs", indexFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if was := s.sums.lastSeq(index); was > s.last {
		s.missing = append(s.missing, span{s.last + 1, was})
		s.last = was
	}
	if s.last > 0 {
		s.meta = s.checkMeta()
	}
	known = joined(append(slices.Clone(known), s.said...))
	var missing []span
	for _, m := range s.missing {
		missing = append(missing, m.without(known)...)
	}
	s.missing = joined(missing)
	return s, nil
}

// numbers are those of the blocks, in order.
func (s *streamFiles) numbers() (list []int, err error) {
	files, err := os.ReadDir(s.path("msgs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, f := range files {
		if text, ok := strings.CutSuffix(f.Name(), ".blk"); ok {
			if n, err := strconv.Atoi(text); err == nil {
				list = append(list, n)
			}
		}
	}
	slices.Sort(list)
	return list, nil
}

// read reads a block through. What a power cut may have left of the end of the last
// is no damage: nobody was told that it is there.
func (s *streamFiles) read(number int, last bool) error {
	k := block{number: number, at: -1}
	b, err := os.ReadFile(s.path("msgs", k.name()))
	if err != nil {
		return err
	}
	sums, err := k.checksums(s.name)
	if err != nil {
		return err
	}
	begin := 0 // where what can be read begins that whole does not have yet
	at, done := 0, false
	for !done && at < len(b) {
		if r, ok := sums.at(b[at:]); ok {
			s.take(r)
			at += r.size
			continue
		}
		k.whole = append(k.whole, b[begin:at]...)
		skip, more := sums.next(b[at:], s.last)
		if !more && last && torn(b, at) {
			begin, done = len(b), true
			continue
		}
		if k.at < 0 {
			k.at = at
		}
		if at += skip; !more {
			at, done = len(b), true
			if last { // one message was there, for all that is known
				s.missing = append(s.missing, span{s.last + 1, s.last + 1})
				s.last++
			}
		}
		begin = at
	}
	k.whole = append(k.whole, b[begin:]...)
	if k.at >= 0 {
		s.bad = append(s.bad, k)
	}
	s.end = number
	return nil
}

// take notes a record.
func (s *streamFiles) take(r record) {
	if r.gone && r.seq > 0 {
		s.said = append(s.said, span{r.seq, r.seq})
	}
	if r.seq <= s.last {
		return
	}
	if r.seq > s.last+1 {
		s.missing = append(s.missing, span{s.last + 1, r.seq - 1})
	}
	s.last = r.seq
}

// checkMeta looks at what tells the server that there is a stream.
func (s *streamFiles) checkMeta() error {
	text, err := os.ReadFile(s.path("meta.inf"))
	if err != nil {
		return err
	}
	sum, err := os.ReadFile(s.path("meta.sum"))
	if err != nil {
		return err
	}
	if hex.EncodeToString(s.sums.of(text)) != string(sum) {
		return errors.New("meta.inf is not what meta.sum says")
	}
	return nil
}

// texts say what is wrong.
func (s *streamFiles) texts() (list []string) {
	if s.meta != nil {
		list = append(list, fmt.Sprintf("what says that there is a stream %s: %v", s.name, s.meta))
	}
	for _, b := range s.bad {
		list = append(list, fmt.Sprintf("%s cannot be read at byte %d", filepath.Join(string(s.name), "msgs", b.name()), b.at))
	}
	for _, m := range s.missing {
		list = append(list, fmt.Sprintf("%s is without %s", s.name, m))
	}
	return list
}

// atEnd says whether all that is wrong lies at the end, which is not on the disk yet
// where messages may be lost.
func (s *streamFiles) atEnd() bool {
	earlier := slices.ContainsFunc(s.bad, func(b block) bool { return b.number != s.end })
	return s.meta == nil && !earlier && (len(s.missing) == 0 || len(s.bad) > 0 || len(s.missing) == 1 && s.lostEnd())
}

// lostEnd says whether the last messages are among those that are missing.
func (s *streamFiles) lostEnd() bool {
	n := len(s.missing)
	return n > 0 && s.missing[n-1].Last == s.last
}

// inspect refuses streams whose files are damaged, or gives up what is lost.
//
// Errors: [domain.ErrUnavailable].
func (c Config) inspect() (lost []string, err error) {
	folder := c.folder()
	known, err := readGone(folder)
	if err != nil {
		return nil, err
	}
	var all []*streamFiles
	accepted := true
	for _, name := range domain.StreamNames {
		s, err := checkFiles(folder, name, known[name])
		if err != nil {
			return nil, domain.Unavailablef("read the event streams: %v", err)
		}
		if texts := s.texts(); len(texts) > 0 {
			all, lost = append(all, s), append(lost, texts...)
			accepted = accepted && (c.AcceptLoss || c.MayLose && s.atEnd())
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	if !accepted {
		return nil, domain.Unavailablef("the event streams in %s are damaged: %s; what was there was acknowledged; restore a backup, or start with --accept-loss "+
			"to go on without it", folder, shortened(lost))
	}
	aside := filepath.Join(folder, "damaged-"+time.Now().UTC().Format("20060102T150405.000"))
	for _, s := range all {
		if err := s.giveUp(aside, known); err != nil {
			return nil, domain.Unavailablef("give up what the event streams have lost: %v", err)
		}
	}
	c.Logger.Error("the event streams go on without what they have lost, as --accept-loss or --may-lose says", "lost", lost, "the files as they were", aside)
	return lost, nil
}

// shortened is the first few of a list.
func shortened(list []string) string {
	if n := len(list); n > maxNamed {
		return strings.Join(list[:maxNamed], "; ") + fmt.Sprintf("; and %d more", n-maxNamed)
	}
	return strings.Join(list, "; ")
}

// giveUp keeps the files of a stream as they were that are damaged, and leaves the
// server what can be read.
func (s *streamFiles) giveUp(aside string, known gone) error {
	to := filepath.Join(aside, string(s.name))
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, b := range s.bad {
		if err := os.Link(s.path("msgs", b.name()), filepath.Join(to, b.name())); err != nil {
			return err
		}
	}
	if err := known.add(s.folder, s.name, s.missing...); err != nil {
		return err
	}
	for _, b := range s.bad {
		if err := replace(s.path("msgs", b.name()), b.whole); err != nil {
			return err
		}
	}
	if s.lostEnd() {
		if err := s.skipLost(); err != nil {
			return err
		}
	}
	if s.meta != nil { // the server writes them where there are none
		for _, name := range []string{"meta.inf", "meta.sum"} {
			if err := os.Rename(s.path(name), filepath.Join(to, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	// The server makes it anew from the blocks.
	if err := os.Remove(s.path("msgs", indexFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// skipLost has the server not give the numbers of the last messages, which are lost,
// to others: it goes on behind a block that says that they are gone.
func (s *streamFiles) skipLost() error {
	k := block{number: s.end + 1}
	sums, err := k.checksums(s.name)
	if err != nil {
		return err
	}
	return replace(s.path("msgs", k.name()), sums.tombstoneOf(s.last, time.Now().UnixNano()))
}
