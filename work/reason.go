package work

import (
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Reason is what follows from why something unfinished is as it is: explain says
// it, and the audit acts by it.
type Reason struct {
	// Lack is who would have to be there.
	Lack string `json:"-"`
	// Held is set where a person has to decide, or a ban forbids it now.
	Held bool `json:"-"`
	// Mend is what the audit does about what is stuck; nil where it knows no rule.
	Mend *Mend `json:"-"`
}

// Mend is how the audit brings back what nothing would move.
type Mend struct {
	Does, Did string // for who asks before it, and after it
	Add       func(b *board.Batch)
}

// Outlook is what becomes of it: otherwise, where nothing speaks against that.
func (r *Reason) Outlook(stuck bool, otherwise domain.Outlook) domain.Outlook {
	switch {
	case stuck && r.Mend != nil:
		return domain.OutlookMended
	case stuck:
		return domain.OutlookStuck
	case r.Lack != "":
		return domain.OutlookLacking
	case r.Held:
		return domain.OutlookHeld
	}
	return otherwise
}

// Audited says what the audit does about what is stuck; it is doubted from an
// instant on.
func (r *Reason) Audited(from time.Time) string {
	when := "the next audit"
	if time.Now().Before(from) {
		when = "an audit after " + from.UTC().Format(time.RFC3339)
	}
	if r.Mend == nil {
		return "; " + when + " reports it, and knows no rule for it"
	}
	return "; " + when + " " + r.Mend.Does
}
