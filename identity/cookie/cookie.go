package cookie

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// How a cookie is shown at a node's local sockets, beside tokens: at the HTTP
// door as `Authorization: Ramet-Cookie <cookie>`, at the Redis door as
// `AUTH operator <cookie>`.
const (
	Scheme = "Ramet-Cookie"
	User   = "operator"
)

// File is where a node's cookie lies in its data folder, mode 0600.
const File = "cookie"

const size = 32

// Cookie is a secret that a node makes at each start and writes into its data
// folder. Whoever shows it at a local socket can read that folder, and so is
// the operator: being a process of the same user proves nothing, for scripts
// are that as well. The zero Cookie is none, and nothing matches it.
type Cookie struct{ text string }

// errWrong does not say what was wrong, for all of it has one remedy.
var errWrong = domain.Unauthenticatedf("the cookie is not that of the running node: read the file %s in its data folder anew", File)

// New makes a cookie.
func New() Cookie {
	secret := make([]byte, size)
	rand.Read(secret) // it never fails: see crypto/rand
	return Cookie{hex.EncodeToString(secret)}
}

// Text is the cookie as it is sent: 64 hex digits.
func (c Cookie) Text() string { return c.text }

// String keeps it out of logs.
func (Cookie) String() string { return "cookie" }

// Verify compares what somebody showed, in a time that tells nothing.
//
// Errors: [domain.ErrUnauthenticated].
func (c Cookie) Verify(shown string) error {
	if c.text == "" || subtle.ConstantTimeCompare([]byte(c.text), []byte(shown)) != 1 {
		return errWrong
	}
	return nil
}

// Save writes the cookie into a data folder, in place of that of an earlier
// start. It appears as a whole, so that a reader never sees half of one.
//
// Errors: [domain.ErrUnavailable].
func (c Cookie) Save(dataDir string) error {
	f, err := os.CreateTemp(dataDir, ".cookie-*") // mode 0600
	if err != nil {
		return domain.Unavailablef("write the cookie: %v", err)
	}
	_, err = f.WriteString(c.text + "\n")
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(dataDir, File))
	}
	if err != nil {
		os.Remove(f.Name())
		return domain.Unavailablef("write the cookie: %v", err)
	}
	return nil
}

// Load reads a cookie file. Root reads those of other users, too, so what
// it is led to (a link, a pipe, any text) is looked at before it is sent.
//
// Errors: [domain.ErrNotFound]; [domain.ErrInvalid] for what is no cookie file;
// [domain.ErrForbidden] for one that this user may not read, or that others may.
func Load(path string) (Cookie, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|noFollow, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Cookie{}, domain.NotFoundf("there is no cookie file %s, which a running node writes: start the node anew if it is of an earlier version, "+
			"or send a token with --key", path)
	case errors.Is(err, errLink):
		return Cookie{}, domain.Invalidf("cookie file %s is a link: remove it, and start the node anew", path)
	case err != nil:
		return Cookie{}, domain.FileErrorf(err, "cookie file: %v", err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return Cookie{}, domain.FileErrorf(err, "cookie file: %v", err)
	case !info.Mode().IsRegular():
		return Cookie{}, domain.Invalidf("cookie file %s is no file: remove it, and start the node anew", path)
	case info.Mode().Perm()&0o077 != 0:
		return Cookie{}, domain.Forbiddenf("cookie file %s can be used by others (mode %04o): start the node anew, which makes another", path, info.Mode().Perm())
	}
	text, err := io.ReadAll(io.LimitReader(f, 2*size+2))
	if err != nil {
		return Cookie{}, domain.FileErrorf(err, "cookie file: %v", err)
	}
	line, ended := strings.CutSuffix(string(text), "\n")
	if _, err := hex.DecodeString(line); err != nil || !ended || len(line) != 2*size {
		return Cookie{}, domain.Invalidf("cookie file %s is damaged: start the node anew, which makes another", path)
	}
	return Cookie{line}, nil
}
