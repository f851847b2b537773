package domain

// Archives is what of a context's ended work goes to the archive.
type Archives string

// The choices. A flow with a name, of a blueprint and a trigger, goes there whatever is
// chosen: its name stays taken.
const (
	ArchivesAll    Archives = "all" // also ""
	ArchivesErrors Archives = "errors"
	ArchivesNone   Archives = "none"
)

// Validate checks a choice that a person made; "" is all.
//
// Errors: [ErrInvalid].
func (a Archives) Validate() error {
	switch a {
	case "", ArchivesAll, ArchivesErrors, ArchivesNone:
		return nil
	}
	return Invalidf("archives %q: want all, errors or none", PlainText(string(a), MaxAlias))
}

// Take reports whether what has ended, well or badly, goes to the archive.
func (a Archives) Take(well bool) bool {
	switch a {
	case ArchivesNone:
		return false
	case ArchivesErrors:
		return !well
	}
	return true
}

// ArchiveBacklog is what of a board waits for its archive, as the node that archives
// told last.
type ArchiveBacklog struct {
	Waiting   int   `json:"waiting"`            // ends that are on the board only
	OldestMs  int64 `json:"oldest_ms,omitzero"` // when the oldest of them was, Unix ms
	PerSecond int   `json:"per_second"`         // how many were archived a second, lately
	ToldMs    int64 `json:"told_ms"`
}
