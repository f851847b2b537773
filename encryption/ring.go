package encryption

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/aead/subtle"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Mark begins every encrypted value. Base64 follows it: values are texts
// wherever they go, and on Redis those without NULs are claimed at half the cost.
const Mark = "ramet:enc:v1:"

// text is the encoding behind the mark.
var text = base64.RawStdEncoding

// MaxValue is the longest plain value that fits encrypted into a field of a
// record: what is more are the mark, the id of the key, the nonce and the tag.
const MaxValue = (board.MaxField-len(Mark))/4*3 - prefixBytes - 24 - 16

// prefixBytes is Tink's prefix: a version and the id of the key.
const prefixBytes = 5

// Unreadable begins what stands in place of a value that does not open.
const Unreadable = "(unreadable: "

// Sealed reports whether a value bears the mark.
func Sealed(value string) bool { return strings.HasPrefix(value, Mark) }

// KeyOf is the id of the key that a sealed value names; 0 for others.
func KeyOf(value string) uint32 {
	coded, ok := strings.CutPrefix(value, Mark)
	if !ok || len(coded) < 8 {
		return 0
	}
	raw, err := text.DecodeString(coded[:8])
	if err != nil || len(raw) < prefixBytes || raw[0] != 1 { // shorter where there are line feeds: base64 passes over them
		return 0
	}
	return binary.BigEndian.Uint32(raw[1:prefixBytes])
}

// Ring is one context's open keyset. It does not change.
type Ring struct {
	tenant domain.TenantID
	handle *keyset.Handle
	aead   tink.AEAD
	has    map[uint32]bool
	// Primary is the id of the key that seals.
	Primary uint32
}

// ParseKey reads a key-encryption key: 32 bytes, in base64 or hex, as
// `openssl rand -base64 32` prints it. A passphrase is none: it could be tried.
//
// Errors: [domain.ErrInvalid], without the text.
func ParseKey(name, key string) (tink.AEAD, error) {
	const size = 32
	raw, err := hex.DecodeString(key)
	if err != nil || len(raw) != size {
		raw, err = base64.StdEncoding.DecodeString(key)
	}
	if err != nil || len(raw) != size {
		return nil, domain.Invalidf("secret %s is no key: want 32 random bytes in base64 or hex, as `openssl rand -base64 32` makes them", name)
	}
	kek, err := subtle.NewXChaCha20Poly1305(raw)
	if err != nil {
		return nil, domain.Invalidf("secret %s is no key: %v", name, err)
	}
	return kek, nil
}

// newRing makes a keyset with one key. With 24 random bytes of nonce no count
// of values comes near a repetition: see docs/decisions.
func newRing(tenant domain.TenantID) (*Ring, error) {
	h, err := keyset.NewHandle(aead.XChaCha20Poly1305KeyTemplate())
	if err != nil {
		return nil, domain.Unavailablef("make a key for context %d: %v", tenant, err)
	}
	return ringOf(tenant, h)
}

// rotated is a ring with one more key, which is the primary one.
func (r *Ring) rotated() (*Ring, error) {
	m := keyset.NewManagerFromHandle(r.handle)
	id, err := m.Add(aead.XChaCha20Poly1305KeyTemplate())
	if err == nil {
		err = m.SetPrimary(id)
	}
	if err != nil {
		return nil, domain.Unavailablef("make a key for context %d: %v", r.tenant, err)
	}
	h, err := m.Handle()
	if err != nil {
		return nil, domain.Unavailablef("make a key for context %d: %v", r.tenant, err)
	}
	return ringOf(r.tenant, h)
}

func ringOf(tenant domain.TenantID, h *keyset.Handle) (*Ring, error) {
	a, err := aead.New(h)
	if err != nil {
		return nil, domain.Invalidf("the keyset of context %d: %v", tenant, err)
	}
	primary, err := h.Primary()
	if err != nil {
		return nil, domain.Invalidf("the keyset of context %d: %v", tenant, err)
	}
	r := &Ring{tenant: tenant, handle: h, aead: a, has: map[uint32]bool{}, Primary: primary.KeyID()}
	for i := range h.Len() {
		if e, err := h.Entry(i); err == nil {
			r.has[e.KeyID()] = true
		}
	}
	return r, nil
}

// Len is how many keys the ring has.
func (r *Ring) Len() int { return r.handle.Len() }

// Has reports whether the ring has the key of a sealed value.
func (r *Ring) Has(value string) bool { return r.has[KeyOf(value)] }

// wrap writes the keyset, for who has the key-encryption key. on is bound to it:
// nobody else can turn encryption off.
func (r *Ring) wrap(kek tink.AEAD, on bool) (string, error) {
	var buf bytes.Buffer
	if err := r.handle.WriteWithAssociatedData(keyset.NewBinaryWriter(&buf), kek, wrapPlace(r.tenant, on)); err != nil {
		return "", domain.Unavailablef("wrap the keyset of context %d: %v", r.tenant, err)
	}
	return base64.StdEncoding.EncodeToString(buf.Bytes()), nil
}

// unwrap opens a keyset.
//
// Errors: [domain.ErrInvalid] for a wrong key, or a record that was changed.
func unwrap(tenant domain.TenantID, name, wrapped string, kek tink.AEAD, on bool) (*Ring, error) {
	raw, err := base64.StdEncoding.DecodeString(wrapped)
	if err != nil {
		return nil, domain.Invalidf("the keyset of context %d is no base64", tenant)
	}
	h, err := keyset.ReadWithAssociatedData(keyset.NewBinaryReader(bytes.NewReader(raw)), kek, wrapPlace(tenant, on))
	if err != nil {
		return nil, domain.Invalidf("secret %s does not open the keyset of context %d: it is another key, or the record was changed", name, tenant)
	}
	return ringOf(tenant, h)
}

func wrapPlace(tenant domain.TenantID, on bool) []byte {
	return []byte("ramet/keyset/v1\x00" + strconv.FormatUint(uint64(tenant), 10) + "\x00" + strconv.FormatBool(on))
}

// place is what a value is bound to. Keys and names of fields have no NUL.
func (r *Ring) place(key, field string) []byte {
	const tag = "ramet/enc/v1\x00"
	b := make([]byte, 0, len(tag)+len(key)+len(field)+12)
	b = append(b, tag...)
	b = strconv.AppendUint(b, uint64(r.tenant), 10)
	b = append(b, 0)
	b = append(b, key...)
	b = append(b, 0)
	return append(b, field...)
}

// Seal encrypts a value for its place. An empty one stays empty: that there is
// nothing is no secret, and guards ask for it.
func (r *Ring) Seal(key, field, value string) (string, error) {
	if value == "" {
		return "", nil
	}
	sealed, err := r.aead.Encrypt([]byte(value), r.place(key, field))
	if err != nil {
		return "", domain.Unavailablef("encrypt %s of %q: %v", field, key, err)
	}
	return Mark + text.EncodeToString(sealed), nil
}

// Open decrypts a sealed value.
//
// Errors: [domain.ErrInvalid] for one that was changed, or belongs elsewhere.
func (r *Ring) Open(key, field, value string) (string, error) {
	coded, ok := strings.CutPrefix(value, Mark)
	if !ok {
		return value, nil
	}
	raw, err := text.DecodeString(coded)
	var plain []byte
	if err == nil {
		plain, err = r.aead.Decrypt(raw, r.place(key, field))
	}
	if err != nil {
		return "", domain.Invalidf("%s of %q in context %d does not open with the context's keys: it was changed, or moved from elsewhere", field, key, r.tenant)
	}
	return string(plain), nil
}

// NewKEK makes a key-encryption key, as text.
func NewKEK() string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails: see crypto/rand
	return base64.StdEncoding.EncodeToString(raw)
}
