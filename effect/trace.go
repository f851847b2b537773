package effect

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// TraceParent is the header "traceparent" of W3C Trace Context for a call: of
// the trace that its metadata names as trace_id, in 32 hexadecimal digits or as
// such a header. The span in it is made of the command's id: attempts are of
// one. "": it names none.
//
// Source: W3C Trace Context, section 3.2.
func (c Call) TraceParent() string {
	trace := strings.ToLower(c.Metadata[domain.MetaTrace])
	if parts := strings.Split(trace, "-"); len(parts) == 4 {
		trace = parts[1]
	}
	if b, err := hex.DecodeString(trace); err != nil || len(b) != 16 || strings.Trim(trace, "0") == "" {
		return ""
	}
	span := sha256.Sum256([]byte(c.CommandID))
	return "00-" + trace + "-" + hex.EncodeToString(span[:8]) + "-01"
}
