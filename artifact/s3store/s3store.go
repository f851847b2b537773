// Package s3store keeps artifacts in a bucket of S3, or of a server that speaks its
// protocol: MinIO, Ceph, Garage, versitygw and others.
//
//	<prefix>/<context>/<sum>
package s3store

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/ramet-run/ramet/artifact"
	"github.com/ramet-run/ramet/domain"
)

var _ artifact.Store = (*Store)(nil)

const (
	// partBytes is from what size on a file is put in parts of that size: the protocol
	// allows 10,000, and one is in memory.
	partBytes = 16 << 20
	// manyParts is how many files are put in parts at once.
	manyParts = 2
	// answerWithin bounds the wait for the beginning of an answer.
	answerWithin = time.Minute
	awsEndpoint  = "s3.amazonaws.com"
)

// Store is a bucket, or a prefix in one. It is safe for concurrent use.
type Store struct {
	core   minio.Core
	bucket string
	prefix string // "" or "a/b/"
	where  string
	large  chan struct{}
	clock  *serverClock
}

// serverClock knows by how much the server's clock is ahead of this machine's, as its last answer says.
type serverClock struct {
	http.RoundTripper
	ahead atomic.Pointer[time.Duration]
}

func (c *serverClock) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.RoundTripper.RoundTrip(r)
	if err != nil {
		return answer, err
	}
	if at, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		ahead := time.Until(at)
		c.ahead.Store(&ahead)
	}
	return answer, nil
}

// now is the server's time; it is not known where no answer has said it.
func (c *serverClock) now() (at time.Time, known bool) {
	ahead := c.ahead.Load()
	if ahead == nil {
		return at, false
	}
	return time.Now().Add(*ahead), true
}

// Open returns the store of an URL, s3://BUCKET/PREFIX. Its parameters are endpoint (a host,
// or an URL of one; default: that of AWS), region, and credentials: a file as the command
// line of AWS has it. Without that they are in $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY,
// in ~/.aws/credentials, or, at AWS, those of the machine. Nothing is asked of the bucket yet.
//
// Errors: [domain.ErrInvalid].
func Open(u *url.URL) (*Store, error) {
	wrong := func(format string, args ...any) error {
		return domain.Invalidf("artifacts: "+format+"; want s3://BUCKET/PREFIX?endpoint=HOST&region=NAME", args...)
	}
	q := u.Query()
	for name := range q {
		if name != "endpoint" && name != "region" && name != "credentials" {
			return nil, wrong("unknown parameter %.40q", name)
		}
	}
	if u.Host == "" || u.User != nil || u.Port() != "" {
		return nil, wrong("no bucket, or a login or port beside it, which belong elsewhere")
	}
	endpoint, secure := q.Get("endpoint"), true
	if strings.Contains(endpoint, "://") {
		e, err := url.Parse(endpoint)
		if err != nil || e.Scheme != "http" && e.Scheme != "https" || e.Host == "" || e.User != nil || strings.Trim(e.Path, "/") != "" {
			return nil, wrong("endpoint is neither a host nor http://HOST")
		}
		endpoint, secure = e.Host, e.Scheme == "https"
	}
	chain := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	if file := q.Get("credentials"); file != "" {
		chain = []credentials.Provider{&credentials.FileAWSCredentials{Filename: file}}
	}
	if endpoint == "" {
		endpoint = awsEndpoint
		chain = append(chain, &credentials.IAM{})
	}
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, wrong("%v", err)
	}
	transport.ResponseHeaderTimeout = answerWithin
	clock := &serverClock{RoundTripper: transport}
	c, err := minio.New(endpoint, &minio.Options{Creds: credentials.NewChainCredentials(chain), Secure: secure, Region: q.Get("region"),
		Transport: clock, MaxRetries: 3})
	if err != nil {
		return nil, wrong("%v", err)
	}
	s := &Store{core: minio.Core{Client: c}, bucket: u.Host, large: make(chan struct{}, manyParts), clock: clock}
	if s.prefix = strings.Trim(path.Clean("/"+u.Path), "/"); s.prefix != "" {
		s.prefix += "/"
	}
	s.where = (&url.URL{Scheme: "s3", Host: s.bucket, Path: "/" + s.prefix, RawQuery: url.Values{"endpoint": {endpoint}}.Encode()}).String()
	return s, nil
}

// Where implements [artifact.Store].
func (s *Store) Where() string { return s.where }

// Close implements [artifact.Store].
func (s *Store) Close() error { return nil }

func (s *Store) key(t domain.TenantID, sum string) string {
	return s.prefix + strconv.FormatUint(uint64(t), 10) + "/" + sum
}

// Put implements [artifact.Store]. It reads src twice: its sum is the object's name, and
// what has another never gets there.
func (s *Store) Put(ctx context.Context, t domain.TenantID, src io.ReadSeeker) (artifact.Blob, error) {
	sum, size, err := artifact.Sum(ctx, src)
	if err != nil {
		return artifact.Blob{}, err
	}
	if _, err := src.Seek(0, io.SeekStart); err != nil {
		return artifact.Blob{}, err
	}
	if size > partBytes {
		select {
		case s.large <- struct{}{}:
			defer func() { <-s.large }()
		case <-ctx.Done():
			return artifact.Blob{}, context.Cause(ctx)
		}
	}
	from := &expected{Reader: src, hash: sha256.New(), sum: sum, left: size}
	_, err = s.core.Client.PutObject(ctx, s.bucket, s.key(t, sum), from, size,
		minio.PutObjectOptions{ContentType: "application/octet-stream", PartSize: partBytes})
	if err != nil {
		return artifact.Blob{}, errors.Join(from.err, s.said(ctx, err))
	}
	return artifact.Blob{Sum: sum, Size: size, At: time.Now()}, nil
}

// expected withholds the last bytes of what has another sum: the object does not come to be.
type expected struct {
	io.Reader
	hash hash.Hash
	sum  string
	left int64
	err  error
}

func (e *expected) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n, err := e.Reader.Read(p[:min(int64(len(p)), e.left)])
	e.hash.Write(p[:n])
	e.left -= int64(n)
	if e.left == 0 && hex.EncodeToString(e.hash.Sum(nil)) != e.sum || err == io.EOF && e.left > 0 {
		e.err = artifact.Changed("what is put into the artifact store")
		return 0, e.err
	}
	return n, err
}

// Open implements [artifact.Store].
func (s *Store) Open(ctx context.Context, t domain.TenantID, sum string, offset int64) (io.ReadCloser, artifact.Blob, error) {
	if err := artifact.ValidateSum(sum); err != nil {
		return nil, artifact.Blob{}, err
	}
	var opts minio.GetObjectOptions
	if offset > 0 {
		st, err := s.core.Client.StatObject(ctx, s.bucket, s.key(t, sum), minio.StatObjectOptions{})
		if err != nil {
			return nil, artifact.Blob{}, s.said(ctx, err)
		}
		if offset >= st.Size { // which the protocol has as an error
			return io.NopCloser(bytes.NewReader(nil)), artifact.Blob{Sum: sum, Size: st.Size, At: st.LastModified}, nil
		}
		if err := opts.SetRange(offset, 0); err != nil {
			return nil, artifact.Blob{}, domain.Invalidf("offset %d: %v", offset, err)
		}
	}
	r, st, _, err := s.core.GetObject(ctx, s.bucket, s.key(t, sum), opts)
	if err != nil {
		return nil, artifact.Blob{}, s.said(ctx, err)
	}
	return &body{r, s, ctx}, artifact.Blob{Sum: sum, Size: offset + st.Size, At: st.LastModified}, nil
}

// body says which errors are those of the store.
type body struct {
	io.ReadCloser
	s   *Store
	ctx context.Context
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = b.s.said(b.ctx, err)
	}
	return n, err
}

// Blobs implements [artifact.Store]. It removes on its way the parts that crashes left of what
// was being put.
func (s *Store) Blobs(ctx context.Context, t domain.TenantID) iter.Seq2[artifact.Blob, error] {
	return func(yield func(artifact.Blob, error) bool) {
		s.clear(ctx, t)
		listing, stop := context.WithCancel(ctx)
		defer stop()
		prefix := s.key(t, "")
		for o := range s.core.Client.ListObjects(listing, s.bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
			if o.Err != nil {
				yield(artifact.Blob{}, s.said(ctx, o.Err))
				return
			}
			sum := strings.TrimPrefix(o.Key, prefix)
			if artifact.ValidateSum(sum) != nil {
				continue
			}
			if !yield(artifact.Blob{Sum: sum, Size: o.Size, At: o.LastModified}, nil) {
				return
			}
		}
	}
}

// clear removes what was begun in parts long ago, by the server's clock, which says when it was begun: that of
// this machine need not agree, and what is being put would be removed. No list of a bucket shows such parts,
// and they are paid for as if they were files. What fails is tried by the next look: a login may
// have all rights but that to list them, and is told by nothing else that goes wrong.
func (s *Store) clear(ctx context.Context, t domain.TenantID) {
	for key, upload := "", ""; ; {
		page, err := s.core.ListMultipartUploads(ctx, s.bucket, s.key(t, ""), key, upload, "", 0)
		if err != nil {
			return
		}
		now, known := s.clock.now()
		for _, u := range page.Uploads {
			if known && u.Initiated.Before(now.Add(-artifact.Grace)) && artifact.ValidateSum(path.Base(u.Key)) == nil {
				_ = s.core.AbortMultipartUpload(ctx, s.bucket, u.Key, u.UploadID)
			}
		}
		if !page.IsTruncated || page.NextKeyMarker == key && page.NextUploadIDMarker == upload {
			return
		}
		key, upload = page.NextKeyMarker, page.NextUploadIDMarker
	}
}

// Delete implements [artifact.Store]. The protocol cannot remove on the condition that
// nothing was put again: between the look and the removal is one request. Who puts just
// then what nobody has named for a day loses it, and is told when it is read.
func (s *Store) Delete(ctx context.Context, t domain.TenantID, sum string, before time.Time) (bool, error) {
	if err := artifact.ValidateSum(sum); err != nil {
		return false, err
	}
	st, err := s.core.Client.StatObject(ctx, s.bucket, s.key(t, sum), minio.StatObjectOptions{})
	if err = s.said(ctx, err); errors.Is(err, domain.ErrNotFound) {
		return false, nil
	}
	if err != nil || !st.LastModified.Before(before) {
		return false, err
	}
	err = s.core.Client.RemoveObject(ctx, s.bucket, s.key(t, sum), minio.RemoveObjectOptions{})
	return err == nil, s.said(ctx, err)
}

// Check implements [artifact.Store].
func (s *Store) Check(ctx context.Context) error {
	key := s.prefix + "check-" + rand.Text()
	_, err := s.core.Client.PutObject(ctx, s.bucket, key, strings.NewReader("ramet"), 5, minio.PutObjectOptions{})
	if err == nil {
		err = s.core.Client.RemoveObject(ctx, s.bucket, key, minio.RemoveObjectOptions{})
	}
	return s.said(ctx, err)
}

// said is what the server says, or does not, as an error of the contract.
func (s *Store) said(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	r := minio.ToErrorResponse(err)
	switch {
	case r.Code == minio.NoSuchKey:
		return domain.NotFoundf("the blob is not in the artifact store %s", s.where)
	case r.StatusCode == http.StatusInsufficientStorage, strings.Contains(r.Code, "StorageFull"), strings.Contains(r.Code, "Quota"):
		return fmt.Errorf("artifact store %s: %w: %w", s.where, domain.ErrExhausted, err)
	}
	return fmt.Errorf("artifact store %s: %w: %w", s.where, domain.ErrUnavailable, err)
}
