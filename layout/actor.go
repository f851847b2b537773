package layout

import (
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// keyText lets a plain key be named in a decoder's errors.
type keyText string

func (k keyText) String() string { return string(k) }

// EncodeActor writes an actor's record.
func EncodeActor(a domain.Actor) []board.Field {
	var e encoder
	e.num("id", int64(a.ID))
	e.str("pubkey", a.Pubkey)
	e.str("address", encodeList(a.Address))
	e.num("created_at", int64(a.CreatedAt))
	e.num("updated_at", int64(a.UpdatedAt))
	return e
}

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
func DecodeActor(key string, r board.Record) (domain.Actor, error) {
	var a domain.Actor
	d := decoder{key: keyText(key)}
	for _, f := range r {
		switch f.Name {
		case "id":
			a.ID = domain.ActorID(d.u32(f))
		case "pubkey":
			a.Pubkey = f.Value
		case "address":
			d.json(f, &a.Address, "a JSON list of strings")
		case "created_at":
			a.CreatedAt = domain.UnixTime(d.u32(f))
		case "updated_at":
			a.UpdatedAt = domain.UnixTime(d.u32(f))
		}
	}
	return a, d.err
}
