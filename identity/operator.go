package identity

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/ramet-run/ramet/domain"
)

// Operator is what a node knows of the actor that owns its own doors.
type Operator struct {
	// KeyFile is where the key lies.
	KeyFile string
	// Key is the operator's key; the zero Key where the operator was made by
	// another node of the board, whose data folder has it.
	Key Key
	// Made is true when this call registered the operator: a node's first
	// start on a fresh board.
	Made bool
}

// EnsureOperator makes actor 1 where there is none, with its key in
// <dataDir>/operator.key, and context 1 with that actor as admin where there
// is no context yet. Any number of nodes may start at once. The data folder
// must exist.
//
// Errors: [domain.ErrForbidden] for a key file that others may read; those of
// the registry.
func (r *Registry) EnsureOperator(ctx context.Context, dataDir string) (Operator, error) {
	op := Operator{KeyFile: filepath.Join(dataDir, OperatorKeyFile)}
	if err := r.ensureActor(ctx, &op); err != nil {
		return op, err
	}
	ids, err := r.Tenants(ctx, 0, listPage)
	if err != nil || len(ids) > 0 {
		return op, err
	}
	_, _, err = r.CreateTenant(ctx, domain.Tenant{ID: domain.DefaultTenant, Admins: []domain.ActorID{domain.Operator}})
	if errors.Is(err, domain.ErrConflict) {
		err = r.include(ctx, domain.DefaultTenant, noted{}) // a foreign program wrote it; now it is known
	}
	return op, err
}

func (r *Registry) ensureActor(ctx context.Context, op *Operator) error {
	key, err := LoadKey(op.KeyFile)
	if err != nil && !errors.Is(err, domain.ErrNotFound) {
		return err
	}
	there, errActor := r.Actor(ctx, domain.Operator)
	switch {
	case errActor == nil:
		if err == nil && key.Pubkey() == there.Pubkey {
			op.Key = key
		}
		return nil
	case !errors.Is(errActor, domain.ErrNotFound):
		return errActor
	}
	saved := false
	if err != nil {
		// The file comes before the record: the other way round a crash
		// between the two would leave an operator whose key nobody has.
		if key, err = NewKey(); err != nil {
			return err
		}
		key.Actor = domain.Operator
		if err := SaveKey(op.KeyFile, key); err != nil {
			return err
		}
		saved = true
	}
	_, existing, err := r.CreateActor(ctx, domain.Actor{ID: domain.Operator, Pubkey: key.Pubkey()})
	if errors.Is(err, domain.ErrConflict) {
		if saved {
			os.Remove(op.KeyFile) // another node was first, and has the key
		}
		return nil
	}
	op.Key, op.Made = key, err == nil && !existing
	return err
}
