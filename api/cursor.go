package api

import (
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// cursor is where a list of jobs goes on: on a page of the board's, behind one
// of its jobs where a caller wanted fewer than the page has.
type cursor struct {
	page  string // the board's own cursor
	after string // a job's key, or ""
}

// cursorCut parts the two; no job's key has it.
const cursorCut = "~"

func (c cursor) String() string {
	if c == (cursor{}) {
		return ""
	}
	return c.after + cursorCut + c.page
}

// parseCursor reads what String wrote.
//
// Errors: [domain.ErrInvalid].
func parseCursor(s string) (cursor, error) {
	if s == "" {
		return cursor{}, nil
	}
	after, page, found := strings.Cut(s, cursorCut)
	if _, err := domain.ParseJobKey(after); !found || after != "" && err != nil {
		return cursor{}, domain.Invalidf("cursor %q: want the next of the page before", s)
	}
	return cursor{page: page, after: after}, nil
}

// rest is what of the page comes behind the cursor; all of it where the job is
// gone meanwhile: better twice than never.
func (c cursor) rest(jobs []*domain.Job) []*domain.Job {
	i := slices.IndexFunc(jobs, func(j *domain.Job) bool { return j.Key().String() == c.after })
	return jobs[i+1:]
}
