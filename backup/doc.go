// Package backup has the portable stream of a board, its archive, its event streams
// and the files of a node: it writes one, checks it, and fills a board with it. The
// same walk and the same load copy one board to another.
//
// # The file
//
// A file is a line, then blocks until the last, which is of kind "end":
//
//	file   "ramet backup 1\n" block…
//	block  kind (1 byte)  size (4 bytes, big endian)  payload (size bytes)  sum (16 bytes)
//
// The sum is the first 16 bytes of the BLAKE3 hash of everything before it, from the
// first byte of the file on: so what is changed, left out, doubled or put elsewhere is
// found at the block where it begins, and a file without its last block is cut off. The
// payload is compressed by Zstandard, and at most [MaxBlock] bytes before that.
//
//	kind  payload
//	h     the head: JSON, [Head]
//	b     items of the board, one behind the other
//	a     records of the archive, lines of JSON
//	n     names in the archive: lines of JSON
//	m     marks of the archive: JSON
//	s     the name of an event stream, which begins with this block
//	p     a file that a job left, which begins with this block: JSON, of which context and
//	      with which sum
//	c     bytes of that stream, as its broker copies it, or of that file
//	f     a file of the node: JSON
//	e     the end: JSON, [Summary]
//
// An item of the board is, with numbers as varints and texts as a length and bytes:
//
//	r space key expires n (name value)×n     a record; expires in Unix ms, 0 for never
//	l space key expires from n item×n        items of a list, from that index on
//	s space key expires from n member×n      members of a set, in order
//	a space name at                          an alarm, Unix ms
//	v space item at                          a live mark, Unix ms
//	n space key last                         a counter, with the number given out last
//	q space key group                        a claimed lease, by the cap group of its queue
//
// # What becomes of leases
//
// Nobody who had a lease can renew it on another board. A record comes without its
// owner; at the end of a load each that was claimed is claimed again in nobody's name
// and run out at once. So the engine finds it as after the end of a node, and whatever
// it was is taken again with a new attempt.
//
// # Half a board
//
// A board that is being filled has the record [layout.Restoring] from the first batch
// on until the last one, and no node starts on it. A restore that was interrupted is begun
// again, and writes each key as if it were not there; a copy reads what lies there, and
// writes the rest.
//
// Neither removes what it has not written, unless it is told to: keys that no node would
// write are noted on the board as they are written, in the sets [layout.Restored].
package backup
