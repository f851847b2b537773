package layout

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// This file has the two records that tell of an actor's tokens, both in space 0
// and gone by themselves when the last token they are about has run out.
const (
	tokensPrefix  = "ramet:tokens:"
	revokedPrefix = "ramet:revoked:"
	// revokedID begins the fields of single tokens.
	revokedID = "id:"
	// RevokedBefore is the field that says (Unix seconds) until when tokens must
	// have been issued to be good for nothing any more.
	RevokedBefore = "before"
)

// Tokens is the record of the tokens that an actor has made known: a field for
// each, its id, with what it is as JSON.
func Tokens(actor domain.ActorID) string {
	return tokensPrefix + strconv.FormatUint(uint64(actor), 10)
}

// EncodeToken writes a token's field.
func EncodeToken(t domain.Token) board.Field {
	t.SeenMs, t.Revoked = 0, false
	return board.Field{Name: t.ID, Value: mustJSON(t)}
}

// DecodeTokens reads the record of an actor's tokens; what is none of ours is
// left out.
func DecodeTokens(actor domain.ActorID, r board.Record) []domain.Token {
	var list []domain.Token
	for _, f := range r {
		var t domain.Token
		if domain.ValidateTokenID(f.Name) == nil && json.Unmarshal([]byte(f.Value), &t) == nil {
			t.ID, t.Actor = f.Name, actor
			list = append(list, t)
		}
	}
	return list
}

// Revoked is the record of the tokens of an actor that were revoked: a field for
// each, with the instant (Unix seconds) at which it would have run out.
func Revoked(actor domain.ActorID) string {
	return revokedPrefix + strconv.FormatUint(uint64(actor), 10)
}

// RevokedID is the field of one token there.
func RevokedID(id string, until domain.UnixTime) board.Field {
	return board.Field{Name: revokedID + id, Value: strconv.FormatUint(uint64(until), 10)}
}

// DecodeRevoked reads that record: the ids with the instants at which they may
// be forgotten, and before. A number that cannot be read is the latest there is:
// what was revoked stays so.
func DecodeRevoked(r board.Record) (ids map[string]domain.UnixTime, before domain.UnixTime) {
	if len(r) == 0 {
		return nil, 0
	}
	ids = map[string]domain.UnixTime{}
	for _, f := range r {
		n, err := strconv.ParseUint(f.Value, 10, 32)
		if err != nil {
			n = 1<<32 - 1
		}
		if id, found := strings.CutPrefix(f.Name, revokedID); found {
			ids[id] = domain.UnixTime(n)
		} else if f.Name == RevokedBefore {
			before = domain.UnixTime(n)
		}
	}
	return ids, before
}
