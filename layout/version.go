package layout

import (
	"fmt"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// VersionKeys are the keys of documents of one kind that are kept with all
// their versions.
type VersionKeys struct {
	// Names is the set of the names of a context's documents.
	Names  string
	prefix string
}

// The kinds of document.
var (
	BlueprintKeys = VersionKeys{"ramet:blueprints", "ramet:blueprint:"}
	SagaDefKeys   = VersionKeys{"ramet:sagas", "ramet:saga:definition:"}
)

// Newest is the record that says which version is the newest.
func (k VersionKeys) Newest(name string) string { return k.prefix + name }

// At is the record of one version.
func (k VersionKeys) At(name string, version int) string {
	return k.Newest(name) + ":" + strconv.Itoa(version)
}

// Versions is the set of the versions of a document.
func (k VersionKeys) Versions(name string) string { return k.Newest(name) + ":versions" }

// VersionNumber is the field that writes of the newest version are guarded by.
const VersionNumber = "version"

const versionSummary = "summary"

var versionTable = newTable(
	number(VersionNumber, func(s *StoredVersion) *int { return &s.Version }),
	text("hash", func(s *StoredVersion) *string { return &s.Hash }),
	text("text", func(s *StoredVersion) *string { return &s.Text }).ours().secret().notInPages(),
	text(versionSummary, func(s *StoredVersion) *string { return &s.Summary }).secret(),
	number("updated_ms", func(s *StoredVersion) *int64 { return &s.UpdatedMs }),
	number32("by", func(s *StoredVersion) *domain.ActorID { return &s.By }),
)

// VersionHead are the fields without the text: all that the record of the
// newest version has. The text stands once, in the version's own record, so
// that a commit with a large one fits into what etcd takes at once.
var VersionHead = versionTable.line()

// VersionMember is a version as member of that set: sets are ordered as texts.
func VersionMember(version int) string { return fmt.Sprintf("%010d", version) }

// ParseVersionMember reads such a member.
//
// Errors: [domain.ErrInvalid].
func ParseVersionMember(s string) (int, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return 0, domain.Invalidf("member %q: want a version in ten digits", s)
	}
	return int(n), nil
}

// StoredVersion is what the board has of a version.
type StoredVersion struct {
	Version   int
	Hash      string
	Text      string // canonical JSON
	Summary   string
	UpdatedMs int64
	By        domain.ActorID
}

// EncodeVersion writes a version's record; without a text, the newest one's.
func EncodeVersion(s StoredVersion) []board.Field { return versionTable.encode(&s) }

// DecodeVersion reads a version's record, or as much of it as there is.
//
// Errors: [domain.ErrInvalid] naming the field.
func DecodeVersion(key string, r board.Record) (s StoredVersion, err error) {
	err = versionTable.decode(decoder{key: keyText(key)}, &s, r)
	return s, err
}
