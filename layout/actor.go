package layout

import (
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// keyText lets a plain key be named in a decoder's errors.
type keyText string

func (k keyText) String() string { return string(k) }

var actorTable = newTable(
	number32("id", func(a *domain.Actor) *domain.ActorID { return &a.ID }),
	text("pubkey", func(a *domain.Actor) *string { return &a.Pubkey }),
	list("address", "a JSON list of strings", func(a *domain.Actor) *domain.List[domain.Address] { return &a.Address }),
	number32("created_at", func(a *domain.Actor) *domain.UnixTime { return &a.CreatedAt }),
	number32("updated_at", func(a *domain.Actor) *domain.UnixTime { return &a.UpdatedAt }),
)

// EncodeActor writes an actor's record.
func EncodeActor(a domain.Actor) []board.Field { return actorTable.encode(&a) }

// ChangeActor adds to a batch in space 0 what makes the record was that of a,
// if nobody has changed it meanwhile, and takes the entry of a key away that a
// has no more.
func ChangeActor(b *board.Batch, was board.Record, a domain.Actor) {
	key := a.Key()
	for _, name := range []string{"pubkey", "address"} {
		b.Equal(key, name, was.Get(name))
	}
	b.Set(key, EncodeActor(a)...)
	if old := was.Get("pubkey"); old != a.Pubkey && domain.ValidatePubkey(old) == nil {
		b.Delete(ActorOf(old))
	}
}

// DecodeActor reads an actor's record.
//
// Errors: [domain.ErrInvalid] naming the field.
func DecodeActor(key string, r board.Record) (a domain.Actor, err error) {
	err = actorTable.decode(decoder{key: keyText(key)}, &a, r)
	return a, err
}
