package http

import (
	"context"
	"fmt"
	"io"
	"mime"
	nethttp "net/http"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// WriteFile answers with a file, or with the part of it that is asked for. Whoever left it
// may have written anything: no browser is to show it as a page of this node, or to guess
// what it is.
//
// Errors: [domain.ErrInvalid] for a part that the file does not have; those of opening it.
// Nothing was written then.
func WriteFile(w nethttp.ResponseWriter, r *nethttp.Request, media string, file *api.File) error {
	h := w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Disposition", attachment(file.Name))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("ETag", `"`+file.Tag+`"`)
	h.Set("Cache-Control", "private, no-cache")
	from := &fileReader{ctx: r.Context(), file: file}
	defer from.close()
	to := &timedWriter{ResponseWriter: w, rc: nethttp.NewResponseController(w), from: from}
	nethttp.ServeContent(to, r, "", time.Time{}, from)
	switch {
	case !to.refused:
		return nil
	case from.err != nil: // what was said of the file is none of the error's
		for _, name := range []string{"Content-Disposition", "Content-Length", "Content-Range", "Accept-Ranges", "ETag"} {
			h.Del(name)
		}
		return from.err
	}
	h.Del("Content-Disposition")
	return &notInFile{asked: r.Header.Get("Range"), size: file.Size}
}

// notInFile is an ErrInvalid whose status is 416.
type notInFile struct {
	asked string
	size  int64
}

func (e *notInFile) Error() string {
	return fmt.Sprintf("Range %q: the file has %d bytes; want a part of them, as bytes=0-99, or leave it out for all", domain.PlainText(e.asked, 100), e.size)
}
func (*notInFile) Unwrap() error { return domain.ErrInvalid }
func (*notInFile) status() int   { return nethttp.StatusRequestedRangeNotSatisfiable }

// attachment has a browser keep what comes under a name.
func attachment(name string) string {
	if text := mime.FormatMediaType("attachment", map[string]string{"filename": name}); text != "" {
		return text
	}
	return "attachment"
}

// timedWriter lets each piece take its time, and keeps back the plain text with which the
// standard library refuses a part, and a status of success where the file cannot be opened.
type timedWriter struct {
	nethttp.ResponseWriter
	rc      *nethttp.ResponseController
	from    *fileReader
	refused bool
}

func (t *timedWriter) WriteHeader(status int) {
	switch status {
	case nethttp.StatusRequestedRangeNotSatisfiable:
		t.refused = true
	case nethttp.StatusOK, nethttp.StatusPartialContent:
		t.refused = t.from.open() != nil
	}
	if !t.refused {
		t.ResponseWriter.WriteHeader(status)
	}
}

func (t *timedWriter) Write(p []byte) (int, error) {
	if t.refused {
		return len(p), nil
	}
	_ = t.rc.SetWriteDeadline(time.Now().Add(streamWrite)) // a recorder in a test has no deadlines
	return t.ResponseWriter.Write(p)
}

// fileReader opens a file where it is first wanted.
type fileReader struct {
	ctx  context.Context
	file *api.File
	at   int64
	r    io.ReadCloser // nil: not opened yet
	err  error         // why it cannot be opened
}

// open has it ready to be read from where it is.
func (f *fileReader) open() error {
	if f.r == nil && f.err == nil {
		f.r, f.err = f.file.Open(f.ctx, f.at)
	}
	return f.err
}

func (f *fileReader) Read(p []byte) (n int, err error) {
	if f.at >= f.file.Size {
		return 0, io.EOF
	}
	if err := f.open(); err != nil {
		return 0, err
	}
	n, err = f.r.Read(p)
	f.at += int64(n)
	return n, err
}

func (f *fileReader) Seek(at int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		at += f.at
	case io.SeekEnd:
		at += f.file.Size
	}
	if at < 0 {
		return 0, domain.Invalidf("offset %d", at)
	}
	if at != f.at {
		f.close()
	}
	f.at = at
	return at, nil
}

func (f *fileReader) close() {
	if f.r != nil {
		f.r.Close()
		f.r = nil
	}
}
