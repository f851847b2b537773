package redisboard

import "github.com/redis/rueidis"

// This file makes the batches of one call short. Those that come together are
// mostly alike: the same names, other keys. So a batch that is like the one
// before says only what differs, as lua/commit.lua reads it: an array of the
// empty string, and for each such batch the number of differences, then for
// each its place and the value. The script saves the time to read the rest.

// patched are the arguments for encoded batches: whole ones, and runs of those
// that say what differs from the one before.
func patched(batches []string) []string {
	args := make([]string, 0, 8)
	var run segment
	end := func() {
		if run.n > 0 {
			args = append(args, rueidis.BinaryString(append(packString(packArray(nil, 1+run.n), ""), run.b...)))
			run = segment{}
		}
	}
	for i, batch := range batches {
		if i > 0 && run.patch(batches[i-1], batch) {
			continue
		}
		end()
		args = append(args, batch)
	}
	end()
	return args
}

// patch adds what differs between two batches. It adds nothing, and returns
// false, where they are not alike.
func (s *segment) patch(old, batch string) bool {
	n, i := arrayHead(batch)
	m, j := arrayHead(old)
	if n != m {
		return false
	}
	start := *s
	s.num(0)
	count, most := 0, min(n/2, 127) // 127: the count is one byte
	for place := 1; place <= n; place++ {
		size := valueSize(batch[i:])
		value := batch[i : i+size]
		i += size
		// No value is the beginning of another: equal bytes are equal values.
		if j+size <= len(old) && old[j:j+size] == value {
			j += size
			continue
		}
		j += valueSize(old[j:])
		if count++; count > most {
			*s = start
			return false
		}
		s.num(place)
		s.b = append(s.b, value...)
		s.n++
	}
	s.b[len(start.b)] = byte(count)
	return true
}

// arrayHead returns the length of an array, and where its values begin.
func arrayHead(s string) (n, at int) {
	u := unpacker{in: s}
	n = u.array()
	return n, len(s) - len(u.in)
}

// valueSize is how many bytes the value takes that s begins with: a string or
// a number, as [segment] packs them.
func valueSize(s string) int {
	switch c := s[0]; {
	case c < 0x80:
		return 1
	case c&0xe0 == 0xa0:
		return 1 + int(c&0x1f)
	case c == 0xd9:
		return 2 + int(s[1])
	case c == 0xda:
		return 3 + (int(s[1])<<8 | int(s[2]))
	case c == 0xdb:
		return 5 + (int(s[1])<<24 | int(s[2])<<16 | int(s[3])<<8 | int(s[4]))
	}
	return 5 // a number
}
