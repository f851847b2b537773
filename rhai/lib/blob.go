package lib

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file has what blobs do as lists of bytes. Ints become bytes by their
// lowest 8 bits; a byte that does not exist reads as 0.

var blobFns = slices.Concat(
	property("len", blobLen, aBlob),
	property("is_empty", blobIsEmpty, aBlob),
	[]*value.Native{
		reads("blob", newBlob),
		reads("blob", newBlob, anInt),
		reads("blob", newBlob, anInt, anInt),
		reads("to_array", blobToArray, aBlob),
		reads("as_string", blobAsString, aBlob),
		reads("contains", blobContains, aBlob, anInt),
		reads("get", blobGet, aBlob, anInt),
		changes("set", blobSet, aBlob, anInt, anInt),
		changes("push", blobPush, aBlob, anInt),
		changes("append", blobPush, aBlob, anInt),
		changes("append", blobAppendBlob, aBlob, aBlob),
		changes("append", blobAppendString, aBlob, aString),
		changes("append", blobAppendChar, aBlob, aChar),
		changes("insert", blobInsert, aBlob, anInt, anInt),
		changes("pad", blobPad, aBlob, anInt, anInt),
		changes("pop", blobPop, aBlob),
		changes("shift", blobShift, aBlob),
		changes("remove", blobRemove, aBlob, anInt),
		changes("clear", blobClear, aBlob),
		changes("truncate", blobTruncate, aBlob, anInt),
		changes("chop", blobChop, aBlob, anInt),
		changes("reverse", blobReverse, aBlob),
		changes("split", blobSplit, aBlob, anInt),
		changes("extract", blobTail, aBlob, anInt),
	},
	parts(changes, "extract", blobExtract, aBlob),
	parts(changes, "splice", blobSplice, aBlob, aBlob),
	parts(changes, "drain", blobDrain, aBlob),
	parts(changes, "retain", blobRetain, aBlob),
	blobNumbers,
)

func newBlob(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	if this == nil || this.AsInt() <= 0 {
		return value.NewBlob(nil)
	}
	n := int(min(this.AsInt(), mostItems+1))
	if !room(c, n, 1) {
		return value.Value{}
	}
	bytes := make([]byte, n)
	if len(args) > 0 {
		fill(bytes, byte(args[0].AsInt()))
	}
	return value.NewBlob(bytes)
}

func fill(bytes []byte, b byte) {
	if b == 0 {
		return // as they are when they are new
	}
	for i := range bytes {
		bytes[i] = b
	}
}

// byteValue gives byte i as a script sees it.
func byteValue(bytes []byte, i int) value.Value { return value.Int(int64(bytes[i])) }

func blobLen(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return value.Int(int64(len(this.AsBlob().Bytes)))
}

func blobIsEmpty(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return value.Bool(len(this.AsBlob().Bytes) == 0)
}

func blobToArray(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	bytes := this.AsBlob().Bytes
	if !room(c, len(bytes), itemBytes) {
		return value.Value{}
	}
	items := make([]value.Value, len(bytes))
	for i := range bytes {
		items[i] = byteValue(bytes, i)
	}
	return value.NewArray(items)
}

func blobAsString(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	text, ok := lossy(c, this.AsBlob().Bytes)
	if !ok || !c.FitsString(len(text)) {
		return value.Value{}
	}
	return value.Str(text)
}

// lossy makes text of bytes. Where they are no UTF-8, the start of a character
// that does not go on as it should becomes one replacement character, and so
// does each other wrong byte. When not ok, c has failed.
func lossy(c *value.Ctx, bytes []byte) (text string, ok bool) {
	valid := utf8.Valid(bytes)
	// A replacement character has three bytes, and the text grows as it is made.
	if n := len(bytes); n >= chargedFrom && !c.Host.Charge(c, chosen(valid, n, 6*n)) {
		return "", false
	}
	if valid {
		return string(bytes), true
	}
	var b strings.Builder
	for len(bytes) > 0 {
		r, n := utf8.DecodeRune(bytes)
		if r == utf8.RuneError && n == 1 {
			n = brokenPrefix(bytes)
		}
		b.WriteRune(r)
		bytes = bytes[n:]
	}
	return b.String(), true
}

func chosen(first bool, a, b int) int {
	if first {
		return a
	}
	return b
}

// brokenPrefix gives how many bytes belong to the broken character that bytes
// begin with: as many as some character begins with, at least 1.
func brokenPrefix(bytes []byte) int {
	n := 1
	// A prefix is not full as long as more bytes could make a character of it.
	for n < len(bytes) && !utf8.FullRune(bytes[:n]) && goesOn(bytes[:n+1]) {
		n++
	}
	return n
}

// goesOn reports that a character begins with bytes, or is them.
func goesOn(bytes []byte) bool {
	r, _ := utf8.DecodeRune(bytes)
	return r != utf8.RuneError || !utf8.FullRune(bytes)
}

func blobContains(_ *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return value.Bool(slices.Contains(this.AsBlob().Bytes, byte(args[0].AsInt())))
}

func blobGet(_ *value.Ctx, this *value.Value, args []value.Value) value.Value {
	bytes := this.AsBlob().Bytes
	if at, ok := place(len(bytes), args[0].AsInt()); ok {
		return byteValue(bytes, at)
	}
	return value.Int(0)
}

func blobSet(_ *value.Ctx, this *value.Value, args []value.Value) value.Value {
	if at, ok := place(len(this.AsBlob().Bytes), args[0].AsInt()); ok {
		value.MutBlob(this).Bytes[at] = byte(args[1].AsInt())
	}
	return value.Unit
}

func blobPush(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	b := value.MutBlob(this)
	if !extendBlob(c, b, 1) {
		return value.Value{}
	}
	b.Bytes = append(b.Bytes, byte(args[0].AsInt()))
	return value.Unit
}

func blobAppendBlob(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	more := args[0].AsBlob().Bytes // taken first: it may be the blob itself
	b := value.MutBlob(this)
	if !extendBlob(c, b, len(more)) {
		return value.Value{}
	}
	b.Bytes = append(b.Bytes, more...)
	return value.Unit
}

func blobAppendString(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return blobAppendText(c, this, args[0].AsString())
}

func blobAppendChar(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return blobAppendText(c, this, string(args[0].AsChar()))
}

func blobAppendText(c *value.Ctx, this *value.Value, text string) value.Value {
	b := value.MutBlob(this)
	if !extendBlob(c, b, len(text)) {
		return value.Value{}
	}
	b.Bytes = append(b.Bytes, text...)
	return value.Unit
}

func blobInsert(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	b := value.MutBlob(this)
	if !extendBlob(c, b, 1) {
		return value.Value{}
	}
	at, _ := place(len(b.Bytes), args[0].AsInt())
	b.Bytes = slices.Insert(b.Bytes, at, byte(args[1].AsInt()))
	return value.Unit
}

func blobPad(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	have, want := len(this.AsBlob().Bytes), args[0].AsInt()
	if limit := c.Limits.MaxArray; limit > 0 && want > int64(limit) {
		return c.Fail(&value.Error{Kind: value.ErrorDataTooLarge, Name: "Size of BLOB"})
	}
	if want <= int64(have) {
		return value.Unit
	}
	n := int(min(want, mostItems+1))
	if !room(c, n, 1) {
		return value.Value{}
	}
	b := value.MutBlob(this)
	b.Bytes = append(b.Bytes, make([]byte, n-have)...)
	fill(b.Bytes[have:], byte(args[1].AsInt()))
	return value.Unit
}

func blobPop(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return takeByte(this, len(this.AsBlob().Bytes)-1)
}

func blobShift(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return takeByte(this, 0)
}

func blobRemove(_ *value.Ctx, this *value.Value, args []value.Value) value.Value {
	at, ok := strictPlace(len(this.AsBlob().Bytes), args[0].AsInt())
	if !ok {
		return value.Int(0)
	}
	return takeByte(this, at)
}

// takeByte takes byte at out of the blob at this, if there are any.
func takeByte(this *value.Value, at int) value.Value {
	if len(this.AsBlob().Bytes) == 0 {
		return value.Int(0)
	}
	b := value.MutBlob(this)
	out := byteValue(b.Bytes, at)
	if at == 0 {
		b.Bytes = b.Bytes[1:] // nothing is moved: so a blob may serve as a queue
	} else {
		b.Bytes = slices.Delete(b.Bytes, at, at+1)
	}
	return out
}

func blobClear(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	put(this, value.NewBlob(nil))
	return value.Unit
}

func blobTruncate(_ *value.Ctx, this *value.Value, args []value.Value) value.Value {
	keep := max(args[0].AsInt(), 0)
	if keep < int64(len(this.AsBlob().Bytes)) {
		b := value.MutBlob(this)
		b.Bytes = b.Bytes[:keep]
	}
	return value.Unit
}

func blobChop(_ *value.Ctx, this *value.Value, args []value.Value) value.Value {
	keep := max(args[0].AsInt(), 0)
	if n := len(this.AsBlob().Bytes); keep < int64(n) {
		b := value.MutBlob(this)
		b.Bytes = slices.Delete(b.Bytes, 0, n-int(keep))
	}
	return value.Unit
}

func blobReverse(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	slices.Reverse(value.MutBlob(this).Bytes)
	return value.Unit
}

func blobSplit(_ *value.Ctx, this *value.Value, args []value.Value) value.Value {
	n := len(this.AsBlob().Bytes)
	at, ok := place(n, args[0].AsInt())
	if !ok {
		return value.NewBlob(nil)
	}
	return cutBlob(this, at, n)
}

// cutBlob takes bytes from..to out of the blob at this.
func cutBlob(this *value.Value, from, to int) value.Value {
	b := value.MutBlob(this)
	out := slices.Clone(b.Bytes[from:to])
	b.Bytes = slices.Delete(b.Bytes, from, to)
	return value.NewBlob(out)
}

func blobTail(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	bytes := this.AsBlob().Bytes
	from, _ := clip(len(bytes), args[0].AsInt(), 0)
	return copiedBlob(c, bytes[from:])
}

func blobExtract(c *value.Ctx, this *value.Value, start, length int64, _ []value.Value) value.Value {
	bytes := this.AsBlob().Bytes
	from, n := clip(len(bytes), start, length)
	return copiedBlob(c, bytes[from:from+n])
}

func copiedBlob(c *value.Ctx, bytes []byte) value.Value {
	if !room(c, len(bytes), 1) {
		return value.Value{}
	}
	return value.NewBlob(slices.Clone(bytes))
}

// blobSplice replaces a part; an empty part stands for the end of the blob.
func blobSplice(c *value.Ctx, this *value.Value, start, length int64, rest []value.Value) value.Value {
	instead := slices.Clone(rest[0].AsBlob().Bytes) // a copy: it may be the blob itself
	b := value.MutBlob(this)
	from, n := clip(len(b.Bytes), start, length)
	if n == 0 {
		from = len(b.Bytes)
	}
	if more := len(instead) - n; more > 0 && !extendBlob(c, b, more) {
		return value.Value{}
	}
	b.Bytes = slices.Replace(b.Bytes, from, from+n, instead...)
	return value.Unit
}

func blobDrain(_ *value.Ctx, this *value.Value, start, length int64, _ []value.Value) value.Value {
	from, n := clip(len(this.AsBlob().Bytes), start, length)
	if n == 0 {
		return value.NewBlob(nil)
	}
	return cutBlob(this, from, from+n)
}

// blobRetain keeps a part and returns the rest. Unlike that of arrays it
// keeps nothing when the part lies past the end.
func blobRetain(_ *value.Ctx, this *value.Value, start, length int64, _ []value.Value) value.Value {
	bytes := this.AsBlob().Bytes
	if length <= 0 || len(bytes) == 0 {
		return value.NewBlob(nil)
	}
	from, n := clip(len(bytes), start, length)
	out := slices.Concat(bytes[:from], bytes[from+n:])
	put(this, value.NewBlob(slices.Clone(bytes[from:from+n])))
	return value.NewBlob(out)
}
