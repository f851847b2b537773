package layout

import (
	"encoding/json"

	"github.com/ramet-run/ramet/domain"
)

// EncodeLog writes one line of a job's log as a list item; see [domain.LogText].
func EncodeLog(l domain.Log) string {
	l.Line = domain.LogText(l.Line)
	return mustJSON(l)
}

// DecodeLog reads one line of a job's log. What a foreign program has pushed
// there as plain text is taken as a line without a time. It is one line, whoever wrote it.
func DecodeLog(item string) domain.Log {
	var l domain.Log
	if err := json.Unmarshal([]byte(item), &l); err != nil || l.Stream == "" {
		l = domain.Log{Stream: "stdout", Line: item}
	}
	l.Stream, l.Line = domain.LogText(l.Stream), domain.LogText(l.Line)
	return l
}
