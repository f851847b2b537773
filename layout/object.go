package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Fields of an object's record.
const (
	ObjectData    = "data"
	ObjectVersion = "version"
)

// Fields of a model's record.
const (
	ModelCount   = "count"   // of objects
	ModelIndexes = "indexes" // map of fields to IndexBuilding or IndexReady
)

// The states of an index. One that is being built has the objects written
// since it was declared; only a ready one has all.
const (
	IndexBuilding = "building"
	IndexReady    = "ready"
)

// pageIDs is how many ids share one set of a model's ids. On Redis a set is
// read as a whole.
const pageIDs = 1000

// Object is the record of an object.
func Object(model string, id domain.ObjectID) string {
	return "ramet:object:" + model + ":" + strconv.FormatUint(uint64(id), 10)
}

// Model is the record of a model.
func Model(name string) string { return "ramet:model:" + name }

// ModelPages is the set of the numbers of a model's pages of ids.
func ModelPages(name string) string { return "ramet:model:" + name + ":pages" }

// ModelPage is the set of those ids of a model that lie on a page.
func ModelPage(name string, page domain.ObjectID) string {
	return "ramet:model:" + name + ":page:" + strconv.FormatUint(uint64(page), 10)
}

// PageOf is the page that an id lies on.
func PageOf(id domain.ObjectID) domain.ObjectID { return id / pageIDs }

// ObjectSeq is the noun of the counter of a model's ids.
func ObjectSeq(model string) string { return Seq("object:"+model, 0) }

// maxIndexText is the longest value that stands in a key as it is.
const maxIndexText = 64

// ModelIndex is the set of the ids of the objects whose field has a value,
// given as canonical JSON. A long value stands there as its hash.
func ModelIndex(model, field, canonical string) string {
	if len(canonical) > maxIndexText {
		sum := sha256.Sum256([]byte(canonical))
		canonical = "#" + hex.EncodeToString(sum[:16]) // no JSON begins with '#'
	}
	return "ramet:model:" + model + ":index:" + field + ":" + canonical
}

// ObjectMember is an id, or the number of a page, as member of a set: sets are
// ordered as texts.
func ObjectMember(id domain.ObjectID) string { return fmt.Sprintf("%010d", id) }

// ParseObjectMember reads such a member.
//
// Errors: [domain.ErrInvalid].
func ParseObjectMember(s string) (domain.ObjectID, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return 0, domain.Invalidf("member %q: want the id of an object in ten digits", s)
	}
	return domain.ObjectID(n), nil
}

var objectTable = newTable(
	text(ObjectData, func(o *domain.Object) *string { return &o.Data }).secret(),
	number(ObjectVersion, func(o *domain.Object) *int64 { return &o.Version }),
	number32("created_by", func(o *domain.Object) *domain.ActorID { return &o.CreatedBy }),
	number32("updated_by", func(o *domain.Object) *domain.ActorID { return &o.UpdatedBy }),
	number32("created_at", func(o *domain.Object) *domain.UnixTime { return &o.CreatedAt }),
	number32("updated_at", func(o *domain.Object) *domain.UnixTime { return &o.UpdatedAt }),
)

// EncodeObject writes an object.
func EncodeObject(o domain.Object) []board.Field { return objectTable.encode(&o) }

// DecodeObject reads an object of a model.
//
// Errors: [domain.ErrInvalid].
func DecodeObject(model string, id domain.ObjectID, r board.Record) (domain.Object, error) {
	o := domain.Object{ID: id}
	err := objectTable.decode(decoder{key: keyText(Object(model, id))}, &o, r)
	return o, err
}

// EncodeIndexes writes a model's indexes; none is "".
func EncodeIndexes(m map[string]string) string {
	if len(m) == 0 {
		return ""
	}
	return encodeMap(m)
}

// DecodeIndexes reads them.
//
// Errors: [domain.ErrInvalid].
func DecodeIndexes(model string, s string) (map[string]string, error) {
	d := decoder{key: keyText(Model(model))}
	return d.strMap(board.Field{Name: ModelIndexes, Value: s}), d.err
}
