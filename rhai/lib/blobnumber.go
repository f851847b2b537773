package lib

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file reads numbers from parts of blobs and writes numbers and texts to
// them. A part has at most the 8 bytes of a number; of a shorter one the bytes
// that come first in the given byte order count, and the others are 0.

var blobNumbers = slices.Concat(
	parts(reads, "parse_le_int", parseInt(binary.LittleEndian), aBlob),
	parts(reads, "parse_be_int", parseInt(binary.BigEndian), aBlob),
	parts(reads, "parse_le_float", parseFloat(binary.LittleEndian), aBlob),
	parts(reads, "parse_be_float", parseFloat(binary.BigEndian), aBlob),
	parts(changes, "write_le", writeInt(binary.LittleEndian), aBlob, anInt),
	parts(changes, "write_be", writeInt(binary.BigEndian), aBlob, anInt),
	parts(changes, "write_le", writeFloat(binary.LittleEndian), aBlob, aFloat),
	parts(changes, "write_be", writeFloat(binary.BigEndian), aBlob, aFloat),
	parts(changes, "write_utf8", blobWriteText, aBlob, aString),
	parts(changes, "write_ascii", blobWriteASCII, aBlob, aString),
)

func parseInt(order binary.ByteOrder) partFunc {
	return func(_ *value.Ctx, this *value.Value, start, length int64, _ []value.Value) value.Value {
		return value.Int(int64(parseBits(order, this, start, length)))
	}
}

func parseFloat(order binary.ByteOrder) partFunc {
	return func(_ *value.Ctx, this *value.Value, start, length int64, _ []value.Value) value.Value {
		return value.Float(math.Float64frombits(parseBits(order, this, start, length)))
	}
}

func parseBits(order binary.ByteOrder, this *value.Value, start, length int64) uint64 {
	bytes := this.AsBlob().Bytes
	from, n := clip(len(bytes), start, length)
	var number [8]byte
	copy(number[:], bytes[from:from+n])
	return order.Uint64(number[:])
}

func writeInt(order binary.ByteOrder) partFunc {
	return func(_ *value.Ctx, this *value.Value, start, length int64, rest []value.Value) value.Value {
		return writeBits(order, this, start, length, uint64(rest[0].AsInt()))
	}
}

func writeFloat(order binary.ByteOrder) partFunc {
	return func(_ *value.Ctx, this *value.Value, start, length int64, rest []value.Value) value.Value {
		return writeBits(order, this, start, length, math.Float64bits(rest[0].AsFloat()))
	}
}

func writeBits(order binary.ByteOrder, this *value.Value, start, length int64, bits uint64) value.Value {
	var number [8]byte
	order.PutUint64(number[:], bits)
	copy(blobPart(this, start, length), number[:])
	return value.Unit
}

// blobPart gives a part of the blob at this for writing.
func blobPart(this *value.Value, start, length int64) []byte {
	from, n := clip(len(this.AsBlob().Bytes), start, length)
	if n == 0 {
		return nil
	}
	return value.MutBlob(this).Bytes[from : from+n]
}

// blobWriteText writes as many bytes of a text as fit, even if they end within a character.
func blobWriteText(_ *value.Ctx, this *value.Value, start, length int64, rest []value.Value) value.Value {
	copy(blobPart(this, start, length), rest[0].AsString())
	return value.Unit
}

// blobWriteASCII leaves out what is not ASCII.
func blobWriteASCII(_ *value.Ctx, this *value.Value, start, length int64, rest []value.Value) value.Value {
	part := blobPart(this, start, length)
	text := rest[0].AsString()
	for at, i := 0, 0; i < len(text) && at < len(part); i++ {
		if text[i] < 0x80 {
			part[at] = text[i]
			at++
		}
	}
	return value.Unit
}
