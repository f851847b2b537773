package identity

import (
	"encoding/hex"
	"fmt"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// AuditFindings is what was found of one chain of an audit log.
type AuditFindings struct {
	// Lines are those that are in the chain, from First to Last, and Unchained those of
	// before it began, for which nobody can answer.
	Lines, Unchained int
	First, Last      int64
	// Dropped is how many older ones were cut, which the node that did signed for.
	Dropped int64
	// Keys are the public keys that signed, with the name of the node that each said it is.
	Keys map[string]string
	// Faults is what is wrong, in the order of the lines; none: nothing was changed.
	Faults []AuditFault
}

// AuditFault is one thing that is wrong.
type AuditFault struct {
	// Seq is the number of the line that it is about, or after which it is.
	Seq  int64
	Text string
}

// maxFaults bounds those that are told of one chain.
const maxFaults = 100

// AuditVerifier looks through one chain, line by line, oldest first.
type AuditVerifier struct {
	name     chainName
	trusted  map[string]bool // nil: all keys
	found    AuditFindings
	begun    bool   // a line of the chain has come
	prev     string // its hash
	unsigned int64  // the first line that no signature covers yet; 0: none
	more     int    // faults that are not told one by one
}

// NewAuditVerifier begins with a chain: that of the list of what was done, or of what was
// denied, of a context. head is what the board says of it. Signatures by keys that
// are not among trusted (none given: by any) count for nothing.
func NewAuditVerifier(tenant domain.TenantID, outcome domain.AuditOutcome, head domain.AuditHead, trusted ...string) *AuditVerifier {
	v := &AuditVerifier{name: chainName{layout.SpaceOf(tenant), layout.AuditLogList(outcome)}}
	v.found.Keys = map[string]string{}
	if len(trusted) > 0 {
		v.trusted = map[string]bool{}
		for _, key := range trusted {
			v.trusted[key] = true
		}
	}
	v.found.Dropped = head.Dropped
	if a := head.Anchor; a != nil {
		v.anchor(*a)
	} else {
		v.found.First = 1
	}
	return v
}

// fault notes what is wrong.
func (v *AuditVerifier) fault(seq int64, format string, args ...any) {
	if len(v.found.Faults) >= maxFaults {
		v.more++
		return
	}
	v.found.Faults = append(v.found.Faults, AuditFault{seq, fmt.Sprintf(format, args...)})
}

// anchor begins behind lines that were cut.
func (v *AuditVerifier) anchor(a domain.AuditAnchor) {
	v.found.First, v.found.Last, v.prev, v.begun = a.Seq+1, a.Seq, a.Hash, true
	if why := v.doubt(a.Key, a.Node, anAnchor, anchorBody(v.name, a), a.Signature); why != "" {
		v.fault(a.Seq, "the lines up to %d were cut, and %s", a.Seq, why)
	} else if !v.believed(a.Key) {
		v.fault(a.Seq, "the lines up to %d were cut, and who signed for that is not to be believed: %s", a.Seq, a.Key)
	}
}

// believed is whether a key that signed is one of those that count.
func (v *AuditVerifier) believed(key string) bool { return v.trusted == nil || v.trusted[key] }

// doubt says why a signature proves nothing; "": it holds.
func (v *AuditVerifier) doubt(key, node string, s statement, body []byte, signature string) string {
	sig, err := hex.DecodeString(signature)
	switch {
	case key == "":
		return "no node has signed for that"
	case err != nil || !signed(key, s, body, sig):
		return "the signature is not that of the key " + domain.PlainText(key, 64)
	}
	v.found.Keys[key] = node
	return ""
}

// Line looks at the next line.
func (v *AuditVerifier) Line(text string) {
	l, ok := layout.DecodeAuditLine(text)
	switch {
	case (!ok || l.Seq < 1) && !v.begun:
		v.found.Unchained++
	case !ok || l.Seq < 1:
		v.fault(v.found.Last, "behind line %d stands one that has no number, and was not written there by a node", v.found.Last)
	default:
		v.next(l, text)
	}
}

// next goes on with a line of the chain.
func (v *AuditVerifier) next(l layout.AuditLine, text string) {
	last := v.found.Last
	switch {
	case l.Seq > last+1:
		v.fault(l.Seq, "%s before line %d %s missing", numbers(last+1, l.Seq-1), l.Seq, isAre(l.Seq-1-last))
	case l.Seq <= last:
		v.fault(l.Seq, "line %d stands behind line %d: it was put there, or moved", l.Seq, last)
	case l.Prev != v.prev && last == 0:
		v.fault(l.Seq, "line %d is not as it was written, or lines before it are gone", l.Seq)
	case l.Prev != v.prev:
		v.fault(last, "line %d is not as it was when line %d was written", last, l.Seq)
	}
	if v.unsigned == 0 {
		v.unsigned = l.Seq
	}
	if l.Key != "" || l.Signature != "" {
		if why := v.doubt(l.Key, l.Node, aLine, lineBody(v.name, l), l.Signature); why != "" {
			v.fault(l.Seq, "line %d is not as it was written: %s", l.Seq, why)
		} else if v.believed(l.Key) {
			v.unsigned = 0
		}
	}
	v.begun = true
	v.found.Lines++
	v.found.Last, v.prev = max(l.Seq, last), layout.AuditHash(text)
}

// Done ends with the chain; head is what the board said of it when its last lines were read.
func (v *AuditVerifier) Done(head domain.AuditHead) AuditFindings {
	last := v.found.Last
	switch {
	case head.Seq > last:
		v.fault(last, "%s at the end %s missing: the board says that line %d is the last", numbers(last+1, head.Seq), isAre(head.Seq-last), head.Seq)
	case head.Seq < last:
		v.fault(last, "the board says that line %d is the last, and there is line %d", head.Seq, last)
	case v.begun && head.Hash != v.prev:
		v.fault(last, "line %d, the last, is not as it was written", last)
	}
	if v.unsigned > 0 {
		who := "no node"
		if v.trusted != nil {
			who = "none of those that are to be believed"
		}
		v.fault(v.unsigned, "%s %s signed by %s", numbers(v.unsigned, last), isAre(last-v.unsigned+1), who)
	}
	if v.more > 0 {
		v.found.Faults = append(v.found.Faults, AuditFault{last, fmt.Sprintf("and %d more things that are wrong", v.more)})
	}
	return v.found
}

func numbers(from, to int64) string {
	if from == to {
		return fmt.Sprintf("line %d", from)
	}
	return fmt.Sprintf("lines %d to %d", from, to)
}

func isAre(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
