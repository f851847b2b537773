package domain

// LossOf is which of the stores of a board's nodes may have lost something.
type LossOf string

// Those stores.
const (
	LossOfBoard   LossOf = "board"
	LossOfArchive LossOf = "archive"
	LossOfStreams LossOf = "streams"
)
