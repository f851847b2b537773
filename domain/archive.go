package domain

// ArchiveKind is what a record of the archive is of.
type ArchiveKind string

// The kinds.
const (
	ArchiveJob     ArchiveKind = "job"
	ArchiveFlow    ArchiveKind = "flow"
	ArchiveMessage ArchiveKind = "message"
)

// Known reports whether k is one of the kinds.
func (k ArchiveKind) Known() bool { return k == ArchiveJob || k == ArchiveFlow || k == ArchiveMessage }
