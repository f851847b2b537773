package backup

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/blake3"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
)

// This file reads and writes blocks.

const (
	// Version is that of the format.
	Version = 1
	// Magic begins each backup that is not encrypted.
	Magic = "ramet backup "
	first = Magic + "1\n"

	// MaxBlock bounds a block, in bytes before compression: the largest item is a record
	// of the board, with names and lengths.
	MaxBlock = 80 << 20
	// wantBlock is how large blocks become where items are small.
	wantBlock = 512 << 10
	sumBytes  = 16
)

// Head says of what a backup is.
type Head struct {
	// At is the instant, in Unix ms, whose state it has.
	AtMs int64 `json:"at_ms"`
	// Board is the identity of the board, Kind its kind, Node the node that wrote the
	// backup, and Program its version.
	Board   string `json:"board"`
	Kind    string `json:"kind"`
	Node    string `json:"node"`
	Program string `json:"program"`
	// Whole says that the board is as it was at one instant; else it was read while it
	// went on.
	Whole bool `json:"whole"`
	// Archive and Streams say whether they are in it.
	Archive bool `json:"archive"`
	Streams bool `json:"streams"`
	Files   bool `json:"files"`
	// Artifacts says whether the files that jobs left are in it, and ArtifactsAt where they
	// are if they are elsewhere.
	Artifacts   bool   `json:"artifacts,omitzero"`
	ArtifactsAt string `json:"artifacts_at,omitzero"`
}

// Summary counts what a backup has.
type Summary struct {
	Head     Head  `json:"head"`
	Spaces   int   `json:"spaces"`
	Records  int64 `json:"records"`
	Lists    int64 `json:"lists"`
	Sets     int64 `json:"sets"`
	Alarms   int64 `json:"alarms"`
	Live     int64 `json:"live"`
	Counters int64 `json:"counters"`
	Leases   int64 `json:"leases"`
	Archived int64 `json:"archived"`
	Names    int64 `json:"names"`
	Streams  int   `json:"streams"`
	Files    int   `json:"files"`
	// Sealed are secrets of contexts and webhooks that open with the key of the node alone
	// that had the board for itself. That key is in no backup.
	Sealed int64 `json:"sealed,omitzero"`
	// Artifacts are blobs that jobs left, and Damaged those of them, at most 100, that were
	// not what they should be when they were backed up. Missing are files, at most 100, that
	// jobs left and the store had no more: who reads the backup has it from its end.
	Artifacts     int64    `json:"artifacts,omitzero"`
	ArtifactBytes int64    `json:"artifact_bytes,omitzero"`
	Damaged       []string `json:"damaged,omitzero"`
	Missing       []string `json:"missing,omitzero"`
	// SpoiltRecords is how many records of the archive were damaged in its file, and Spoilt names them, at
	// most 100.
	SpoiltRecords int64    `json:"damaged_records,omitzero"`
	Spoilt        []string `json:"damaged_record_keys,omitzero"`

	Bytes   int64  `json:"bytes"`            // before compression
	Skipped int64  `json:"skipped,omitzero"` // keys of a kind that no board has, or that cannot be read
	Digest  string `json:"digest"`           // of the board's items
}

// spoilt counts a record of the archive that was damaged there.
func (s *Summary) spoilt(r *archive.Record) {
	if r.Status != archive.Damaged {
		return
	}
	if s.SpoiltRecords++; len(s.Spoilt) < maxDamaged {
		s.Spoilt = append(s.Spoilt, fmt.Sprintf("%s of context %d", domain.PlainText(r.Key, archive.MaxHead), r.Context))
	}
}

// Items is how many items of the board there are.
func (s *Summary) Items() int64 {
	return s.Records + s.Lists + s.Sets + s.Alarms + s.Live + s.Counters
}

// Writer writes blocks.
type Writer struct {
	w     *bufio.Writer
	sum   *blake3.Hasher
	zip   *zstd.Encoder
	buf   []byte
	bytes int64 // before compression
	ended bool
}

// NewWriter begins a backup.
func NewWriter(to io.Writer) (*Writer, error) {
	zip, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	w := &Writer{sum: blake3.New(), zip: zip}
	w.w = bufio.NewWriterSize(io.MultiWriter(to, w.sum), 1<<20)
	_, err = w.w.WriteString(first)
	return w, err
}

// block writes one.
func (w *Writer) block(kind byte, payload []byte) error {
	w.bytes += int64(len(payload))
	w.buf = w.zip.EncodeAll(payload, w.buf[:0])
	var head [5]byte
	head[0] = kind
	binary.BigEndian.PutUint32(head[1:], uint32(len(w.buf)))
	_, _ = w.w.Write(head[:]) // an error stays in the buffer, for Flush
	_, _ = w.w.Write(w.buf)   //
	err := w.w.Flush()        // the sum is of what has come before
	_, more := w.w.Write(w.sum.Sum(nil)[:sumBytes])
	w.ended = kind == 'e'
	return errors.Join(err, more)
}

func (w *Writer) object(kind byte, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.block(kind, text)
}

// end writes the last block.
func (w *Writer) end(s Summary) error {
	s.Bytes = w.bytes
	if err := w.object('e', s); err != nil {
		return err
	}
	return w.w.Flush()
}

// Reader reads blocks.
type Reader struct {
	r     *bufio.Reader
	sum   *blake3.Hasher
	zip   *zstd.Decoder
	at    int64 // bytes read
	buf   []byte
	plain []byte
	// within says what the blocks are part of, for people.
	within string
	ended  bool
}

// NewReader begins to read a backup.
//
// Errors: [domain.ErrInvalid] for what is none, or one of a newer program.
func NewReader(from io.Reader) (*Reader, error) {
	zip, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxBlock))
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	r := &Reader{r: bufio.NewReaderSize(from, 1<<20), sum: blake3.New(), zip: zip}
	line, err := r.r.Peek(len(first))
	switch text := string(line); {
	case text == first:
	case strings.HasPrefix(text, "age-encryption") || strings.HasPrefix(text, "-----BEGIN AGE"):
		return nil, domain.Invalidf("the backup is encrypted: give the key with --identity FILE, or --passphrase")
	case strings.HasPrefix(text, Magic):
		version, _, _ := strings.Cut(text[len(Magic):], "\n")
		return nil, domain.Invalidf("the backup has format %s, and this program knows up to %d: a newer Ramet wrote it; use that one", version, Version)
	case err != nil && err != io.EOF:
		return nil, domain.Unavailablef("read the backup: %v", err)
	case text == "":
		return nil, domain.Invalidf("the backup is empty: what wrote it was stopped, or the disk was full")
	case err != nil && strings.HasPrefix(first, text):
		return nil, domain.Invalidf("the backup is cut off at byte %d", len(line))
	default:
		return nil, domain.Invalidf("this is no backup of Ramet: it does not begin with %q", first)
	}
	_, err = r.take(len(first))
	return r, err
}

// take reads n bytes, which are good until the next call.
func (r *Reader) take(n int) ([]byte, error) {
	if cap(r.buf) < n {
		r.buf = make([]byte, max(n, 1<<20))
	}
	got, err := io.ReadFull(r.r, r.buf[:n])
	_, _ = r.sum.Write(r.buf[:got])
	r.at += int64(got)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil, domain.Invalidf("the backup is cut off at byte %d, and has no end: what wrote it was stopped, or the copy is not whole", r.at)
	}
	if err != nil {
		return nil, domain.Unavailablef("read the backup at byte %d: %v", r.at, err)
	}
	return r.buf[:n], nil
}

func (r *Reader) damaged(at int64, format string, args ...any) error {
	return domain.Invalidf("the backup is damaged in the block at byte %d%s: %s; use another copy of it", at, r.within, fmt.Sprintf(format, args...))
}

// next reads a block; its payload is good until the next call.
//
// Errors: [domain.ErrInvalid] for what is damaged or cut off, saying where.
func (r *Reader) next() (kind byte, payload []byte, err error) {
	began := r.at
	head, err := r.take(5)
	if err != nil {
		return 0, nil, err
	}
	kind = head[0]
	size := binary.BigEndian.Uint32(head[1:])
	if size > MaxBlock {
		return 0, nil, r.damaged(began, "a size of %d bytes", size)
	}
	packed, err := r.take(int(size))
	if err != nil {
		return 0, nil, err
	}
	r.plain, err = r.zip.DecodeAll(packed, r.plain[:0])
	want := [sumBytes]byte(r.sum.Sum(nil)[:sumBytes])
	got, short := r.take(sumBytes)
	switch {
	case short != nil:
		return 0, nil, short
	case [sumBytes]byte(got) != want:
		return 0, nil, r.damaged(began, "its sum is wrong")
	case err != nil:
		return 0, nil, r.damaged(began, "it cannot be decompressed: %v", err)
	}
	if kind == 'e' {
		r.ended = true
		if _, err := r.r.ReadByte(); err != io.EOF {
			return 0, nil, domain.Invalidf("there is something behind the end of the backup, at byte %d: it is not as it was written", r.at)
		}
	}
	return kind, r.plain, nil
}

// decode reads the JSON of a block.
func (r *Reader) decode(payload []byte, into any) error {
	if err := json.Unmarshal(payload, into); err != nil {
		return domain.Invalidf("the block before byte %d of the backup cannot be read: %v", r.at, err)
	}
	return nil
}

// head reads the first block.
func (r *Reader) head() (h Head, err error) {
	kind, payload, err := r.next()
	if err != nil {
		return h, err
	}
	if kind != 'h' {
		return h, domain.Invalidf("the backup begins with a block of kind %q, want its head", kind)
	}
	return h, r.decode(payload, &h)
}

// at is the instant of a backup, for people.
func (h Head) at() string { return time.UnixMilli(h.AtMs).UTC().Format("2006-01-02 15:04:05 UTC") }
