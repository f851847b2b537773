package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"iter"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// Grace is how long a blob stays that nobody names: what is put is committed by then.
const Grace = 24 * time.Hour

// Blob is what the store has under one sum.
type Blob struct {
	Sum  string // SHA-256, in hex
	Size int64
	At   time.Time // when it was put last, by the store's clock
}

// Store keeps blobs. It is safe for concurrent use, by several nodes too. It streams: what
// is in a blob is never in memory as a whole.
//
// Errors of every method: [domain.ErrUnavailable] when the store cannot be reached,
// [domain.ErrExhausted] when it is full, [domain.ErrInvalid] for what is no sum, and the
// context's own error.
type Store interface {
	// Put keeps what src has from its beginning on, durably. It may read it twice.
	//
	// Errors: [domain.ErrConflict] when src has changed meanwhile; those of src.
	Put(ctx context.Context, t domain.TenantID, src io.ReadSeeker) (Blob, error)

	// Open reads a blob from an offset on, 0 to its size. What it reads is not compared
	// with the sum: see [Read].
	//
	// Errors: [domain.ErrNotFound].
	Open(ctx context.Context, t domain.TenantID, sum string, offset int64) (io.ReadCloser, Blob, error)

	// Blobs are all of a context, in no order. Those that are put meanwhile may be missing.
	Blobs(ctx context.Context, t domain.TenantID) iter.Seq2[Blob, error]

	// Delete removes a blob that was put last before an instant; gone is false for one that
	// was put again since, or is not there.
	Delete(ctx context.Context, t domain.TenantID, sum string, before time.Time) (gone bool, err error)

	// Check finds out whether blobs can be put and read now.
	Check(ctx context.Context) error

	// Where says where it is, without secrets: "file:///data/artifacts".
	Where() string

	Close() error
}

// ValidateSum checks a sum.
//
// Errors: [domain.ErrInvalid].
func ValidateSum(sum string) error {
	if b, err := hex.DecodeString(sum); err != nil || len(b) != sha256.Size || hex.EncodeToString(b) != sum {
		return domain.Invalidf("%.80q is no SHA-256 in hex", sum)
	}
	return nil
}

// Read reads a blob as a whole, and ends with an error where that is not what was put.
//
// Errors: as of [Store.Open]; of reading [domain.ErrInvalid] for a blob that has changed.
func Read(ctx context.Context, s Store, t domain.TenantID, sum string) (io.ReadCloser, error) {
	r, _, err := s.Open(ctx, t, sum, 0)
	if err != nil {
		return nil, err
	}
	return &verified{ReadCloser: r, sum: sum, hash: sha256.New(), where: s.Where()}, nil
}

type verified struct {
	io.ReadCloser
	sum, where string
	hash       hash.Hash
}

func (v *verified) Read(p []byte) (int, error) {
	n, err := v.ReadCloser.Read(p)
	v.hash.Write(p[:n])
	if err == io.EOF && hex.EncodeToString(v.hash.Sum(nil)) != v.sum {
		return n, domain.Invalidf("blob %s of the artifact store %s is not what was put there: its file was changed or cut", v.sum, v.where)
	}
	return n, err
}

// Sum is the SHA-256 and the size of what src has from its beginning on.
func Sum(ctx context.Context, src io.ReadSeeker) (sum string, size int64, err error) {
	if _, err := src.Seek(0, io.SeekStart); err != nil {
		return "", 0, err
	}
	h := sha256.New()
	size, err = Copy(ctx, h, src)
	return hex.EncodeToString(h.Sum(nil)), size, err
}

// Copy is [io.Copy] that ends with ctx.
func Copy(ctx context.Context, to io.Writer, from io.Reader) (int64, error) {
	return io.CopyBuffer(onlyWriter{to}, &reader{ctx, from}, make([]byte, 256<<10))
}

type onlyWriter struct{ io.Writer }

type reader struct {
	ctx context.Context
	io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// Changed says that a file was written while it was put.
func Changed(what string) error {
	return fmt.Errorf("%s was changed while it was read: %w", what, domain.ErrConflict)
}
