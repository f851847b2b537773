package board

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// KeyErrors say which of the keys of a [Board.Get] are no records, by their place
// among the keys, and what they are. It is a [domain.ErrInvalid], and beside it
// the records of all other keys are there. Who asks for one key may take it as any
// error; who asks for those of several takes [PerKey], or one stranger's list makes
// all of them unreadable.
type KeyErrors map[int]error

func (e KeyErrors) Error() string {
	var texts []string
	for _, i := range slices.Sorted(maps.Keys(e)) {
		texts = append(texts, e[i].Error())
	}
	return strings.Join(texts, "; ")
}

func (e KeyErrors) Unwrap() error { return domain.ErrInvalid }

// Add notes that the key at place i could not be read, if that is what err is.
// Any other error is returned: it is of no key.
func (e *KeyErrors) Add(i int, err error) error {
	if !errors.Is(err, domain.ErrInvalid) {
		return err
	}
	if *e == nil {
		*e = KeyErrors{}
	}
	(*e)[i] = err
	return nil
}

// Err is e as an error; nil where there are none.
func (e KeyErrors) Err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// Readable takes what [Board.Get] or [Board.GetFields] has returned, for whoever takes
// a key that is no record for one that is not there.
func Readable(recs []Record, err error) ([]Record, error) {
	recs, _, err = PerKey(recs, err)
	return recs, err
}

// PerKey takes what [Board.Get] or [Board.GetFields] has returned: bad are the
// keys that are no records, whose records are nil as if they were not there; err
// is what kept all from being read.
func PerKey(recs []Record, err error) (read []Record, bad KeyErrors, other error) {
	if errors.As(err, &bad) {
		return recs, bad, nil
	}
	return recs, nil, err
}
