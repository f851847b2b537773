package lib

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file has what chars do.

var charFns = []*value.Native{
	reads("to_upper", ofChar(upperChar), aChar),
	reads("to_lower", ofChar(lowerChar), aChar),
	changes("make_upper", makeChar(upperChar), aChar),
	changes("make_lower", makeChar(lowerChar), aChar),
}

func ofChar(f func(rune) rune) value.Func {
	return func(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
		return value.Char(f(this.AsChar()))
	}
}

func makeChar(f func(rune) rune) value.Func {
	return func(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
		replace(this, value.Char(f(this.AsChar())))
		return value.Unit
	}
}

// upperChar gives the upper case of r, r itself where that is more than one char.
func upperChar(r rune) rune {
	if _, ok := upperMany[r]; ok {
		return r
	}
	return unicode.ToUpper(r)
}

// lowerChar gives the lower case of r.
func lowerChar(r rune) rune {
	if r == 'İ' { // i and a dot above
		return r
	}
	return unicode.ToLower(r)
}

// upper gives the upper case of s.
func upper(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return upperMany[r] != "" }) < 0 {
		return strings.ToUpper(s)
	}
	var b strings.Builder
	for _, r := range s {
		if many := upperMany[r]; many != "" {
			b.WriteString(many)
		} else {
			b.WriteRune(unicode.ToUpper(r))
		}
	}
	return b.String()
}

// lower gives the lower case of s. A capital sigma at the end of a word has a
// form of its own.
func lower(s string) string {
	if !strings.ContainsAny(s, "İΣ") {
		return strings.ToLower(s)
	}
	var b strings.Builder
	for i, r := range s {
		switch r {
		case 'İ':
			b.WriteString("i\u0307")
		case 'Σ':
			b.WriteRune(sigma(s[:i], s[i+len("Σ"):]))
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// sigma gives the lower case of a capital sigma between two texts: the final
// form after a letter and not before one, whatever cannot have case left out.
// It looks no further than the next char with case to either side: a text may be all sigmas.
func sigma(before, after string) rune {
	last, had := utf8.DecodeLastRuneInString(strings.TrimRightFunc(before, caseless))
	next, has := utf8.DecodeRuneInString(strings.TrimLeftFunc(after, caseless))
	if had > 0 && cased(last) && (has == 0 || !cased(next)) {
		return 'ς'
	}
	return 'σ'
}

func cased(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

// caseless reports what the rule of the final sigma looks through.
func caseless(r rune) bool {
	return strings.ContainsRune("'.:^`·’‘․…", r) || unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}

// upperMany are the chars whose upper case is more than one char.
//
// Source: SpecialCasing.txt of Unicode, the unconditional mappings.
var upperMany = map[rune]string{
	'ß': "SS", 'ŉ': "ʼN", 'ǰ': "J\u030c", 'ΐ': "Ι\u0308\u0301", 'ΰ': "Υ\u0308\u0301", 'և': "ԵՒ",
	'ẖ': "H\u0331", 'ẗ': "T\u0308", 'ẘ': "W\u030a", 'ẙ': "Y\u030a", 'ẚ': "Aʾ",
	'ὐ': "Υ\u0313", 'ὒ': "Υ\u0313\u0300", 'ὔ': "Υ\u0313\u0301", 'ὖ': "Υ\u0313\u0342",
	'ᾀ': "ἈΙ", 'ᾁ': "ἉΙ", 'ᾂ': "ἊΙ", 'ᾃ': "ἋΙ", 'ᾄ': "ἌΙ", 'ᾅ': "ἍΙ", 'ᾆ': "ἎΙ", 'ᾇ': "ἏΙ",
	'ᾈ': "ἈΙ", 'ᾉ': "ἉΙ", 'ᾊ': "ἊΙ", 'ᾋ': "ἋΙ", 'ᾌ': "ἌΙ", 'ᾍ': "ἍΙ", 'ᾎ': "ἎΙ", 'ᾏ': "ἏΙ",
	'ᾐ': "ἨΙ", 'ᾑ': "ἩΙ", 'ᾒ': "ἪΙ", 'ᾓ': "ἫΙ", 'ᾔ': "ἬΙ", 'ᾕ': "ἭΙ", 'ᾖ': "ἮΙ", 'ᾗ': "ἯΙ",
	'ᾘ': "ἨΙ", 'ᾙ': "ἩΙ", 'ᾚ': "ἪΙ", 'ᾛ': "ἫΙ", 'ᾜ': "ἬΙ", 'ᾝ': "ἭΙ", 'ᾞ': "ἮΙ", 'ᾟ': "ἯΙ",
	'ᾠ': "ὨΙ", 'ᾡ': "ὩΙ", 'ᾢ': "ὪΙ", 'ᾣ': "ὫΙ", 'ᾤ': "ὬΙ", 'ᾥ': "ὭΙ", 'ᾦ': "ὮΙ", 'ᾧ': "ὯΙ",
	'ᾨ': "ὨΙ", 'ᾩ': "ὩΙ", 'ᾪ': "ὪΙ", 'ᾫ': "ὫΙ", 'ᾬ': "ὬΙ", 'ᾭ': "ὭΙ", 'ᾮ': "ὮΙ", 'ᾯ': "ὯΙ",
	'ᾲ': "ᾺΙ", 'ᾳ': "ΑΙ", 'ᾴ': "ΆΙ", 'ᾶ': "Α\u0342", 'ᾷ': "Α\u0342Ι", 'ᾼ': "ΑΙ",
	'ῂ': "ῊΙ", 'ῃ': "ΗΙ", 'ῄ': "ΉΙ", 'ῆ': "Η\u0342", 'ῇ': "Η\u0342Ι", 'ῌ': "ΗΙ",
	'ῒ': "Ι\u0308\u0300", '\u1fd3': "Ι\u0308\u0301", 'ῖ': "Ι\u0342", 'ῗ': "Ι\u0308\u0342",
	'ῢ': "Υ\u0308\u0300", '\u1fe3': "Υ\u0308\u0301", 'ῤ': "Ρ\u0313", 'ῦ': "Υ\u0342", 'ῧ': "Υ\u0308\u0342",
	'ῲ': "ῺΙ", 'ῳ': "ΩΙ", 'ῴ': "ΏΙ", 'ῶ': "Ω\u0342", 'ῷ': "Ω\u0342Ι", 'ῼ': "ΩΙ",
	'ﬀ': "FF", 'ﬁ': "FI", 'ﬂ': "FL", 'ﬃ': "FFI", 'ﬄ': "FFL", 'ﬅ': "ST", 'ﬆ': "ST",
	'ﬓ': "ՄՆ", 'ﬔ': "ՄԵ", 'ﬕ': "ՄԻ", 'ﬖ': "ՎՆ", 'ﬗ': "ՄԽ",
}
