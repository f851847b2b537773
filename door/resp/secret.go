package resp

import (
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/keyspace"
)

// visible is a field's value as the client may see it.
func (x *call) visible(l *leaf, name, text string) (string, error) {
	hide := keyspace.Of(x.s.space(), l.key).Secret(name)
	if hide == nil || text == "" {
		return text, nil
	}
	if sees, err := x.sees(l); sees || err != nil {
		return text, err
	}
	return hide(text), nil
}

// sees reports whether the client may read a record's secrets: with the right
// to, or as the executor who took the job from its queue and has it still.
func (x *call) sees(l *leaf) (bool, error) {
	kind := keyspace.Of(x.s.space(), l.key)
	if x.c.permits(x.s.now, domain.VerbReadEnv, kind.Group) {
		return true, nil
	}
	if kind.HolderNeeds == nil || !x.c.permits(x.s.now, domain.VerbFinish, kind.Group) {
		return false, nil
	}
	if err := x.s.load(l, kind.HolderNeeds...); err != nil {
		return false, err
	}
	return kind.Holds(x.c.who.Actor, keyspace.Seen{Fields: l}), nil
}
