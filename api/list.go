package api

// This file has what lists share: by what they are narrowed down, and how what they would
// list is counted.

// Narrowing narrows down a list of what the board has, whatever its things are. Zero
// fields do not.
type Narrowing struct {
	// FromMs is when it was made at the earliest, in Unix milliseconds.
	FromMs int64 `json:"-" query:"from_ms"`
	// ToMs is before when it was made, in Unix milliseconds.
	ToMs int64 `json:"-" query:"to_ms"`
	// Text is a part of some text that the list shows of it. Capitals do not count.
	Text string `json:"-" query:"text"`
}

// Counted is how many things a filter fits.
type Counted struct {
	// Matching is how many were found.
	Matching int `json:"matching"`
	// More says that the count ended early, as there was too much to look through: there
	// may be more than that.
	More bool `json:"more,omitzero"`
}

// The orders of lists that have several.
const (
	// SortNewest is by when a thing was made, the newest first.
	SortNewest = "newest"
	// SortOldest is the order in which things began that have not ended.
	SortOldest = "oldest"
	// SortEnded is by when it ended, the newest end first, of what ended in error.
	SortEnded = "ended"
)
