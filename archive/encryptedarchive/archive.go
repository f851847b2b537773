// Package encryptedarchive encrypts the bodies and logs of what goes to an
// archive and decrypts them on the way back, for the contexts that are
// encrypted: see package encryption. Heads (keys, times, states, names) stay
// plain: by them records are found.
//
// Texts of an encrypted context cannot be searched, and a query that wants it
// is refused, rather than answered with what happens to be plain.
package encryptedarchive

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/encryption"
)

// Archive is an archive whose encrypted contexts lie encrypted in the one below.
type Archive struct {
	archive.Archive
	keys *encryption.Keys
}

var _ archive.Archive = (*Archive)(nil)

// New puts encryption before a. Closing the one closes the other.
func New(a archive.Archive, keys *encryption.Keys) *Archive { return &Archive{Archive: a, keys: keys} }

// content is what is encrypted of a record.
type content struct {
	Body json.RawMessage `json:"body"`
	Logs []domain.Log    `json:"logs,omitzero"`
}

// field is what the content is bound to, beside its context and key: the end.
func field(r *archive.Record) string {
	return "archive/" + string(r.Kind) + "/" + strconv.FormatInt(r.EndMs, 10)
}

// Put keeps records.
func (a *Archive) Put(ctx context.Context, records []archive.Record) error {
	if a.keys.None() {
		return a.Archive.Put(ctx, records)
	}
	records = slices.Clone(records)
	for i := range records {
		if err := a.seal(&records[i]); err != nil {
			return err
		}
	}
	return a.Archive.Put(ctx, records)
}

func (a *Archive) seal(r *archive.Record) error {
	c := a.keys.Of(r.Context)
	if c == nil || !c.On {
		return nil
	}
	if err := r.Validate(); err != nil {
		return err // with the words of the plain record
	}
	ring, err := c.Ring()
	if err != nil {
		return err
	}
	text, err := json.Marshal(content{r.Body, r.Logs})
	if err != nil {
		return domain.Invalidf("record %q cannot be written as JSON: %v", r.Key, err)
	}
	sealed, err := ring.Seal(r.Key, field(r), string(text))
	if err != nil {
		return err
	}
	r.Body, r.Logs, r.Texts = json.RawMessage(`"`+sealed+`"`), nil, nil
	return nil
}

// Get reads a record.
func (a *Archive) Get(ctx context.Context, tenant domain.TenantID, key string, endMs int64) (archive.Record, error) {
	r, err := a.Archive.Get(ctx, tenant, key, endMs)
	if err == nil {
		err = a.open(ctx, &r)
	}
	return r, err
}

// Search returns a page of what the query finds.
func (a *Archive) Search(ctx context.Context, q archive.Query) (archive.Page, error) {
	if err := a.searchable(q); err != nil {
		return archive.Page{}, err
	}
	page, err := a.Archive.Search(ctx, q)
	for i := range page.Records {
		if err != nil {
			return page, err
		}
		err = a.open(ctx, &page.Records[i])
	}
	return page, err
}

// Count says how many records the query finds.
func (a *Archive) Count(ctx context.Context, q archive.Query) (int64, error) {
	if err := a.searchable(q); err != nil {
		return 0, err
	}
	return a.Archive.Count(ctx, q)
}

func (a *Archive) searchable(q archive.Query) error {
	if q.Text == "" || a.keys.Of(q.Context) == nil {
		return nil
	}
	return domain.Invalidf("text %q cannot be searched for: context %d is or was encrypted, so scripts, results, errors and logs lie unreadable in the archive; "+
		"search by kind, status, reason, script type, blueprint, trigger, caller or time", q.Text, q.Context)
}

// open decrypts a record. What does not open says so in its body.
//
// Errors: [domain.ErrUnavailable] where this node has not the key.
func (a *Archive) open(ctx context.Context, r *archive.Record) error {
	sealed := strings.Trim(string(r.Body), `"`)
	if !encryption.Sealed(sealed) {
		return nil
	}
	plain, err := a.keys.OpenValue(ctx, r.Context, r.Key, field(r), sealed)
	if err != nil && !errors.Is(err, domain.ErrInvalid) {
		return err
	}
	var c content
	if err == nil {
		err = json.Unmarshal([]byte(plain), &c)
	}
	if err != nil {
		c = content{}
		c.Body, _ = json.Marshal(map[string]string{"error": encryption.Unreadable + err.Error() + ")"})
	}
	r.Body, r.Logs = c.Body, c.Logs
	return nil
}
