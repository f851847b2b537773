package lib

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file has what strings do, but for taking them apart: see split.go.
// Lengths and indices count characters.

// textual is what may stand for a short text: a string or a char.
var textual = aString | aChar

var textFns = slices.Concat(
	property("len", textLen, aString),
	property("bytes", textBytes, aString),
	property("is_empty", textIsEmpty, aString),
	[]*value.Native{
		changes("append", textAppend, aString, anything),
		changes("clear", textClear, aString),
		changes("truncate", textTruncate, aString, anInt),
		changes("trim", textTrim, aString),
		changes("pop", textPop, aString),
		changes("pop", textPopMany, aString, anInt),
		changes("remove", textRemove, aString, textual),
		changes("replace", textReplace, aString, textual, textual),
		changes("pad", textPad, aString, anInt, textual),
		changes("set", textSet, aString, anInt, aChar),
		changes("make_upper", makeText(upper), aString),
		changes("make_lower", makeText(lower), aString),
		changes("crop", textCropTail, aString, anInt),
		reads("to_upper", ofText(upper), aString),
		reads("to_lower", ofText(lower), aString),
		reads("contains", testText(strings.Contains), aString, textual),
		reads("starts_with", testText(strings.HasPrefix), aString, textual),
		reads("ends_with", testText(strings.HasSuffix), aString, textual),
		reads("index_of", textIndexOf, aString, textual),
		reads("index_of", textIndexOf, aString, textual, anInt),
		reads("get", textGet, aString, anInt),
		reads("sub_string", textTail, aString, anInt),
		reads("to_blob", textToBlob, aString),
	},
	parts(changes, "crop", textCrop, aString),
	parts(reads, "sub_string", subString, aString),
	splitFns,
)

// short gives the text of a string or char.
func short(v value.Value) string {
	if v.Is(charKind) {
		return string(v.AsChar())
	}
	return v.AsString()
}

// rewrite puts a text in the place of another, within the limits.
func rewrite(c *value.Ctx, this *value.Value, text string) value.Value {
	if old := this.AsString(); len(text) > len(old) && !roomForText(c, 0, len(text)) {
		return value.Value{}
	}
	replace(this, value.Str(text))
	return value.Unit
}

func textLen(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return value.Int(int64(this.Chars()))
}

func textBytes(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return value.Int(int64(len(this.AsString())))
}

func textIsEmpty(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return value.Bool(this.AsString() == "")
}

func textAppend(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	if text, ok := textOf(c, args[0]); !ok || !appendText(c, this, text) {
		return value.Value{}
	}
	return value.Unit
}

func textClear(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return rewrite(c, this, "")
}

func textTruncate(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	if n, all := args[0].AsInt(), this.Chars(); n < int64(all) {
		replace(this, this.Part(this.Substring(0, int(max(n, 0)))))
	}
	return value.Unit
}

func textTrim(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	replace(this, this.Part(trimmed(this.AsString())))
	return value.Unit
}

func textPop(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	s := this.AsString()
	if s == "" {
		return value.Unit
	}
	r, size := utf8.DecodeLastRuneInString(s)
	replace(this, this.Popped(size))
	return value.Char(r)
}

func textPopMany(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	if !worth(c, len(this.AsString())) {
		return value.Value{}
	}
	all := this.Chars()
	at := all - int(min(max(args[0].AsInt(), 0), int64(all)))
	tail := this.Substring(at, all)
	out := this.Part(tail)
	replace(this, this.Part(this.AsString()[:len(this.AsString())-len(tail)]))
	return out
}

func textRemove(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return rewrite(c, this, strings.ReplaceAll(this.AsString(), short(args[0]), ""))
}

func textReplace(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	s, old, by := this.AsString(), short(args[0]), short(args[1])
	if s == "" {
		return value.Unit
	}
	if more := len(by) - len(old); more > 0 && !roomForText(c, len(s), more*strings.Count(s, old)) {
		return value.Value{}
	}
	replace(this, value.Str(strings.ReplaceAll(s, old, by)))
	return value.Unit
}

// textPad adds a text over and over until the string has n characters.
func textPad(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	n, have, with := args[0].AsInt(), this.Chars(), args[1]
	if n <= 0 {
		return value.Unit
	}
	if !c.FitsString(int(min(n, mostText+1))) {
		return value.Value{}
	}
	text := short(with)
	if n <= int64(have) || text == "" {
		return value.Unit
	}
	if n > mostText {
		return c.Fail(&value.Error{Kind: value.ErrorDataTooLarge, Name: "Length of string"})
	}
	missing, unit := int(n)-have, utf8.RuneCountInString(text)
	rest := text[:value.ByteOffset(text, missing%unit)]
	if !roomForText(c, len(this.AsString()), missing/unit*len(text)+len(rest)) {
		return value.Value{}
	}
	value.AppendString(this, strings.Repeat(text, missing/unit)+rest)
	return value.Unit
}

func textSet(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	at, ok := strictPlace(this.Chars(), args[0].AsInt())
	if !ok {
		return value.Unit
	}
	s := this.AsString()
	if !worth(c, 4*len(s)) {
		return value.Value{}
	}
	from := value.ByteOffset(s, at)
	_, size := utf8.DecodeRuneInString(s[from:])
	return rewrite(c, this, s[:from]+string(args[1].AsChar())+s[from+size:])
}

func makeText(f func(string) string) value.Func {
	return func(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
		return rewrite(c, this, f(this.AsString()))
	}
}

func ofText(f func(string) string) value.Func {
	return func(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
		return textValue(c, f(this.AsString()))
	}
}

func testText(f func(s, part string) bool) value.Func {
	return func(_ *value.Ctx, this *value.Value, args []value.Value) value.Value {
		return value.Bool(f(this.AsString(), short(args[0])))
	}
}

// textIndexOf gives the index of the first occurrence, from a start on, or -1.
func textIndexOf(_ *value.Ctx, this *value.Value, args []value.Value) value.Value {
	from := 0
	if len(args) > 1 {
		from, _ = place(this.Chars(), args[1].AsInt())
	}
	if from >= this.Chars() {
		return value.Int(-1)
	}
	tail := this.Substring(from, this.Chars())
	at := strings.Index(tail, short(args[0]))
	if at < 0 {
		return value.Int(-1)
	}
	return value.Int(int64(from + utf8.RuneCountInString(tail[:at])))
}

func textGet(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	// Where characters have several bytes they are counted from the start.
	if !this.IsASCII() && !worth(c, 4*len(this.AsString())) {
		return value.Value{}
	}
	if at, ok := strictPlace(this.Chars(), args[0].AsInt()); ok {
		return value.Char(this.CharAt(at))
	}
	return value.Unit
}

// part gives a clipped part of a string.
func part(v value.Value, start, length int64) string {
	from, n := clip(v.Chars(), start, length)
	return v.Substring(from, from+n)
}

func subString(_ *value.Ctx, this *value.Value, start, length int64, _ []value.Value) value.Value {
	return this.Part(part(*this, start, length))
}

func textTail(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return subString(c, this, args[0].AsInt(), int64(this.Chars()), nil)
}

func textCrop(c *value.Ctx, this *value.Value, start, length int64, _ []value.Value) value.Value {
	replace(this, this.Part(part(*this, start, length)))
	return value.Unit
}

func textCropTail(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return textCrop(c, this, args[0].AsInt(), int64(this.Chars()), nil)
}

func textToBlob(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	s := this.AsString()
	if !room(c, len(s), 1) {
		return value.Value{}
	}
	return value.NewBlob([]byte(s))
}
