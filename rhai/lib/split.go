package lib

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file takes strings apart.

var splitFns = []*value.Native{
	reads("split", splitWords, aString),
	reads("split", splitAt, aString, anInt),
	reads("split", splitBy(pieces), aString, textual),
	reads("split", splitBy(pieces), aString, textual, anInt),
	reads("split_rev", splitBy(piecesReversed), aString, textual),
	reads("split_rev", splitBy(piecesReversed), aString, textual, anInt),
	reads("to_chars", toChars, aString),
}

// textBytesEach is about what a string takes in an array of them.
const textBytesEach = 96

// texts makes an array of strings that are parts of whole.
func texts(c *value.Ctx, whole value.Value, list ...string) value.Value {
	bytes := 0
	for _, part := range list {
		bytes += len(part)
	}
	if !room(c, len(list), textBytesEach) || bytes >= chargedFrom && !c.Host.Charge(c, bytes) {
		return value.Value{}
	}
	items := make([]value.Value, len(list))
	for i, part := range list {
		items[i] = whole.Part(part)
	}
	return value.NewArray(items)
}

func splitWords(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	s := this.AsString()
	if s == "" {
		return texts(c, *this, s)
	}
	n := 0
	for range strings.FieldsSeq(s) {
		n++
	}
	// What is made is counted first: the list takes as much as many times the text.
	if !room(c, n, textBytesEach) {
		return value.Value{}
	}
	return texts(c, *this, strings.Fields(s)...)
}

// splitAt makes two parts. 0 counts from the end as negative numbers do: all
// is in the first part then.
func splitAt(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	all, i := this.Chars(), args[0].AsInt()
	at := int(min(max(i, 0), int64(all)))
	if i <= 0 {
		at = int(max(int64(all)+i, 0))
	}
	s := this.AsString()
	head := this.Substring(0, at)
	return texts(c, *this, head, s[len(head):])
}

// splitBy declares a splitting by a string or char, into at most so many
// pieces when that is said.
func splitBy(split func(s, by string, most int) []string) value.Func {
	return func(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
		s, by, most := this.AsString(), short(args[0]), int64(-1)
		if len(args) > 1 {
			most = args[1].AsInt()
			if most <= 1 {
				return texts(c, *this, s)
			}
		}
		if s == "" {
			return texts(c, *this, s)
		}
		n := int64(strings.Count(s, by)) + 1
		if most < 0 || most > n {
			most = n + 1 // between nothing there is one piece more than counted
		}
		if !room(c, int(min(most, n)), textBytesEach) {
			return value.Value{}
		}
		return texts(c, *this, split(s, by, int(most))...)
	}
}

// pieces splits s by a text. The empty text is found before each character and
// at the end.
func pieces(s, by string, most int) []string {
	if by != "" {
		return strings.SplitN(s, by, most)
	}
	out := []string{""}
	for len(out) < most-1 && s != "" {
		_, size := utf8.DecodeRuneInString(s)
		out = append(out, s[:size])
		s = s[size:]
	}
	return append(out, s)
}

// piecesReversed is pieces from the end: the last one comes first, and what is
// left over is the beginning of s.
func piecesReversed(s, by string, most int) []string {
	if by == "" {
		out := []string{""}
		for len(out) < most-1 && s != "" {
			_, size := utf8.DecodeLastRuneInString(s)
			out = append(out, s[len(s)-size:])
			s = s[:len(s)-size]
		}
		return append(out, s)
	}
	var out []string
	for len(out) < most-1 {
		at := strings.LastIndex(s, by)
		if at < 0 {
			break
		}
		out = append(out, s[at+len(by):])
		s = s[:at]
	}
	return append(out, s)
}

func toChars(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	if !room(c, this.Chars(), itemBytes) {
		return value.Value{}
	}
	items := make([]value.Value, 0, this.Chars())
	for _, r := range this.AsString() {
		items = append(items, value.Char(r))
	}
	return value.NewArray(slices.Clip(items))
}
