package board

import (
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// Excerpt is what a record keeps of a text for people: at most n bytes of its [domain.PlainText], which end at a word
// and with " …" where that is not all.
func Excerpt(s string, n int) string {
	const more = " …"
	if len(s) <= n {
		return domain.PlainText(s, n)
	}
	s = domain.PlainText(s, n+1-len(more)) // with the space behind a last word that just fits
	if end := strings.LastIndexByte(s, ' '); end > 0 {
		return strings.TrimRight(s[:end], " ,;:") + more
	}
	return domain.CutText(s, n-len(more)) + more
}
