package encryption

import (
	"context"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// Encrypt turns encryption of a context on, with the secret of that name as
// key-encryption key. Where it is on already, or was once, its keys stay and
// are wrapped with that secret from now on.
//
// Errors: [domain.ErrInvalid] for a secret that is none, or no key;
// [domain.ErrUnavailable] where the present key is not to be had here;
// [domain.ErrConflict] where somebody else changes it at this moment.
func (k *Keys) Encrypt(ctx context.Context, tenant domain.TenantID, secret string, by domain.ActorID) (domain.Encryption, error) {
	text, err := k.read(ctx, secret)
	if err != nil {
		return domain.Encryption{}, err
	}
	if _, err := ParseKey(secret, text); err != nil {
		return domain.Encryption{}, err
	}
	was, err := k.Refresh(ctx, tenant)
	if err != nil {
		return domain.Encryption{}, err
	}
	var ring *Ring
	if was == nil {
		ring, err = newRing(tenant)
	} else {
		ring, err = was.Ring()
	}
	if err != nil {
		return domain.Encryption{}, err
	}
	if was != nil && was.On && was.Key == secret {
		return was.Encryption, nil
	}
	return k.write(ctx, was, ring, secret, true, by)
}

// Rekey gives a context a new primary key.
//
// Errors: as of [Keys.Encrypt]; [domain.ErrConflict] where it is not encrypted.
func (k *Keys) Rekey(ctx context.Context, tenant domain.TenantID, by domain.ActorID) (domain.Encryption, error) {
	was, ring, err := k.present(ctx, tenant)
	if err != nil {
		return domain.Encryption{}, err
	}
	if ring, err = ring.rotated(); err != nil {
		return domain.Encryption{}, err
	}
	return k.write(ctx, was, ring, was.Key, true, by)
}

// Decrypt turns encryption off: what is written from now on is plain, and so is
// soon what lies on the board. The archive keeps what it has.
//
// Errors: as of [Keys.Rekey].
func (k *Keys) Decrypt(ctx context.Context, tenant domain.TenantID, by domain.ActorID) (domain.Encryption, error) {
	was, ring, err := k.present(ctx, tenant)
	if err != nil {
		return domain.Encryption{}, err
	}
	return k.write(ctx, was, ring, was.Key, false, by)
}

// present is a context that is encrypted now.
func (k *Keys) present(ctx context.Context, tenant domain.TenantID) (*Context, *Ring, error) {
	was, err := k.Refresh(ctx, tenant)
	if err != nil {
		return nil, nil, err
	}
	if was == nil || !was.On {
		return nil, nil, domain.Conflictf("context %d is not encrypted: see `ramet context encrypt`", tenant)
	}
	ring, err := was.Ring()
	return was, ring, err
}

// write replaces a context's record, unless it has changed meanwhile.
func (k *Keys) write(ctx context.Context, was *Context, ring *Ring, secret string, on bool, by domain.ActorID) (domain.Encryption, error) {
	text, err := k.read(ctx, secret)
	if err != nil {
		return domain.Encryption{}, err
	}
	kek, err := ParseKey(secret, text)
	if err != nil {
		return domain.Encryption{}, err
	}
	wrapped, err := ring.wrap(kek, on)
	if err != nil {
		return domain.Encryption{}, err
	}
	revision, old := int64(1), ""
	if was != nil {
		revision, old = was.Revision+1, strconv.FormatInt(was.Revision, 10)
	}
	key := layout.Encryption(ring.tenant)
	var b board.Batch
	b.Equal(key, layout.EncryptionRevision, old).Set(key,
		board.Field{Name: layout.EncryptionKey, Value: secret},
		board.Field{Name: layout.EncryptionKeyset, Value: wrapped},
		board.Field{Name: layout.EncryptionOn, Value: strconv.FormatBool(on)},
		board.Field{Name: layout.EncryptionRevision, Value: strconv.FormatInt(revision, 10)},
		board.Field{Name: layout.EncryptionSinceMs, Value: strconv.FormatInt(k.board.Now().UnixMilli(), 10)},
		board.Field{Name: layout.EncryptionBy, Value: strconv.FormatUint(uint64(by), 10)})
	if err := k.board.Commit(ctx, b); err != nil {
		return domain.Encryption{}, err
	}
	c, err := k.Refresh(ctx, ring.tenant)
	if err != nil {
		return domain.Encryption{}, err
	}
	return c.Encryption, nil
}
