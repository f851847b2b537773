package layout

import (
	"fmt"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Blueprints is the set of the names of a context's blueprints.
const Blueprints = "ramet:blueprints"

// Fields of a blueprint's records.
const (
	BlueprintVersion = "version"
	BlueprintHash    = "hash"
	BlueprintText    = "text" // canonical JSON
	BlueprintSummary = "summary"
	BlueprintUpdated = "updated_ms"
	BlueprintBy      = "by"
)

// BlueprintHead are the fields without the text: all that the record of the
// newest version has. The text stands once, in the version's own record, so
// that a commit with a large one fits into what etcd takes at once.
var BlueprintHead = []string{BlueprintVersion, BlueprintHash, BlueprintSummary, BlueprintUpdated, BlueprintBy}

// Blueprint is the record that says which version of a blueprint is the newest.
func Blueprint(name string) string { return "ramet:blueprint:" + name }

// BlueprintAt is the record of one version.
func BlueprintAt(name string, version int) string {
	return Blueprint(name) + ":" + strconv.Itoa(version)
}

// BlueprintVersions is the set of the versions of a blueprint.
func BlueprintVersions(name string) string { return Blueprint(name) + ":versions" }

// BlueprintMember is a version as member of that set: sets are ordered as texts.
func BlueprintMember(version int) string { return fmt.Sprintf("%010d", version) }

// ParseBlueprintMember reads such a member.
//
// Errors: [domain.ErrInvalid].
func ParseBlueprintMember(s string) (int, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return 0, domain.Invalidf("member %q: want the version of a blueprint in ten digits", s)
	}
	return int(n), nil
}

// StoredBlueprint is what the board has of a version.
type StoredBlueprint struct {
	Version   int
	Hash      string
	Text      string
	Summary   string
	UpdatedMs int64
	By        domain.ActorID
}

// EncodeBlueprint writes a version's record; without a text, the newest one's.
func EncodeBlueprint(s StoredBlueprint) []board.Field {
	e := make(encoder, 0, 6)
	e.num(BlueprintVersion, int64(s.Version))
	e.str(BlueprintHash, s.Hash)
	e.strOpt(BlueprintText, s.Text)
	e.str(BlueprintSummary, s.Summary)
	e.num(BlueprintUpdated, s.UpdatedMs)
	e.num(BlueprintBy, int64(s.By))
	return e
}

// DecodeBlueprint reads a version's record, or as much of it as there is.
//
// Errors: [domain.ErrInvalid] naming the field.
func DecodeBlueprint(key string, r board.Record) (StoredBlueprint, error) {
	var s StoredBlueprint
	d := decoder{key: keyText(key)}
	for _, f := range r {
		switch f.Name {
		case BlueprintVersion:
			s.Version = int(d.int(f))
		case BlueprintHash:
			s.Hash = f.Value
		case BlueprintText:
			s.Text = f.Value
		case BlueprintSummary:
			s.Summary = f.Value
		case BlueprintUpdated:
			s.UpdatedMs = d.int(f)
		case BlueprintBy:
			s.By = domain.ActorID(d.u32(f))
		}
	}
	return s, d.err
}
