package rhai

import (
	"fmt"
	"strings"
)

func place(p Pos) string { return fmt.Sprintf("%d:%d", p.Line, p.Col) }

// maxSnippet bounds the part of a line that is shown, in characters.
const maxSnippet = 160

// snippet writes the line at pos and a caret under the place.
func snippet(b *strings.Builder, script string, pos Pos) {
	if pos.IsZero() {
		return
	}
	line := []rune(lineOf(script, int(pos.Line)))
	col := int(pos.Col)
	from := 0
	if col > maxSnippet {
		from = min(col-maxSnippet/2, len(line))
	}
	shown := line[from:min(len(line), from+maxSnippet)]
	number := fmt.Sprint(pos.Line)
	fmt.Fprintf(b, "%s | %s\n", number, strings.ReplaceAll(string(shown), "\t", " "))
	pad := max(col-1-from, 0)
	fmt.Fprintf(b, "%s | %s^\n", strings.Repeat(" ", len(number)), strings.Repeat(" ", pad))
}

func lineOf(text string, n int) string {
	for ; n > 1; n-- {
		i := strings.IndexByte(text, '\n')
		if i < 0 {
			return ""
		}
		text = text[i+1:]
	}
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSuffix(line, "\r")
}
