// Package encryption keeps what contexts entrust to the board and the archive
// unreadable for whoever has only the store: the disk, a backup, the database.
//
//	secret source ──> key-encryption key (32 bytes, on no disk of ours)
//	                        │ wraps
//	                        v
//	"ramet:encryption:<context>" in space 0: keyset, its primary and older keys
//	                        │ seals each value, bound to its place
//	                        v
//	"ramet:enc:v1:…" in fields of records, items of lists, bodies of the archive
//
// [Keys] knows the keysets of all contexts and follows their changes; a [Ring]
// is one that is open. Boards and archives are wrapped (encryptedboard,
// encryptedarchive), so nothing else in the house knows of it. What is
// encrypted says the table in layout/encrypted.go.
//
// # What a value is bound to
//
// Context, key and field are associated data of each value: moved to another
// field, record or context it does not open. An item of a list is bound to its
// list, not to its place in it. What does not open reads as [Unreadable], and a
// job that has it ends in error.
//
// # States
//
//	(none) ── encrypt ──> on ── rekey ──> on, with one more key
//	                      ^ │ off
//	                      │ v
//	                      off: older values are still read
//
// After each change the routine [Keys.Sweep] goes through the context's space
// and writes anew what is not as it is to be, value by value, each in a commit
// guarded by what stood there. A node that dies in the middle leaves both forms,
// which read alike. Keys are never taken out of a keyset: the archive, which
// cannot be written anew, may have values of any of them.
//
// # Without the key
//
// A node whose secret source does not have the key claims nothing in the
// context, refuses to read and write what is encrypted with
// [domain.ErrUnavailable], and tries the source again every few seconds.
//
// # Goroutines
//
// [Keys.Run] is one, started by package node with the other services.
package encryption
